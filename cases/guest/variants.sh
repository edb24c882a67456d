#!/bin/sh
# variants.sh BUILD - a program that is compiled for per-thread default streams has the calls that it has without.
. "$(dirname "$0")/../cli/lib.sh"
to=$1/cases
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }
for how in "" _per_thread; do
    sim --json "$d/j$how" -- "$to/guest_variants$how" >"$d/out$how" 2>/dev/null || fail "exit code $? of $how"
    sed 's/.*"by_call":{\([^}]*\)}.*/\1/; s/,/\n/g; s/_pt[ds][sz]//g' "$d/j$how" | sort >"$d/calls$how"
    # a context that died stays dead, for each of them
    sim --faults 'cudaEventCreate nth=1 -> error(cudaErrorIllegalAddress)' -- "$to/guest_variants$how" >"$d/dead$how" 2>/dev/null
    sed 's/.*://; s/ //g; s/700//g' "$d/dead$how" | grep -q '^1*$' || fail "a dead context answers: $(cat "$d/dead$how")"
done
grep -c _pt[ds][sz] "$d/j_per_thread" >/dev/null || fail "nothing is of per-thread streams: $(cat "$d/j_per_thread")"
[ "$(wc -l <"$d/calls")" -eq 22 ] || fail "calls: $(cat "$d/calls")"
diff "$d/calls" "$d/calls_per_thread" || fail "not the same calls"
diff "$d/out" "$d/out_per_thread" || fail "not the same results"
"$bin/oomproof" sweep --device sim --calls '*' --once -- "$to/guest_variants_per_thread" >"$out" 2>&1
grep -q "22 fault points" "$out" || fail "$(tail -1 "$out")"
exit $bad
