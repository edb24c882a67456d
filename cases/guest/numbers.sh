#!/bin/sh
# numbers.sh BUILD - sites, threads and streams have the same numbers with and without a trace, whatever the rules name.
. "$(dirname "$0")/../cli/lib.sh"
numbers=$1/cases/guest_numbers
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }

# what the trace calls the site of 2000 bytes fails this call and no other, with a trace and without
expect 0 "5 calls" sim --trace "$d/t" -- "$numbers" sites
site=$("$bin/oomproof" trace "$d/t" --csv | sed -n 's/.*,cudaMalloc,2000,.*,\([^,]*\)$/\1/p')
case $site in guest_numbers:sites#*) ;; *) fail "no site: $site" ;; esac
for trace in "" "--trace $d/t2"; do
    for other in "" "; cudaFree -> delay(0)" "; cudaStreamQuery nth=9 -> oom"; do
        sim --allow-unfired $trace --faults "cudaMalloc site=$site -> oom$other" -- "$numbers" sites >"$out" 2>/dev/null
        [ "$(tr '\n' ' ' <"$out")" = "A 0 B 2 C 0 " ] || fail "site=$site $trace $other: $(cat "$out")"
    done
done
# a sweep and a recording number them likewise
"$bin/oomproof" sweep --device sim --once --json "$d/s" -- "$numbers" sites >"$out" 2>&1
grep -qF "\"$site\"" "$d/s" || fail "the sweep has no site $site: $(cat "$out")"
"$bin/oomproof" record --device sim -o "$d/r" --faults "cudaMalloc site=$site -> oom" -- "$numbers" sites >"$out" 2>&1
grep -F "$site" "$d/r" >/dev/null || fail "the recording has no site $site: $(cat "$d/r")"
expect 0 "as recorded" "$bin/oomproof" replay --device sim "$d/r" -- "$numbers" sites

# threads and streams: by their first call, not by the first that a rule names
for trace in "" "--trace $d/t3"; do
    for other in "" "; cudaStreamSynchronize nth=7 -> oom"; do
        sim --allow-unfired $trace --faults "cudaMalloc thread=2 -> oom; cudaMallocAsync stream=1 -> oom$other" -- \
            "$numbers" users >"$out" 2>/dev/null
        [ "$(tr '\n' ' ' <"$out")" = "thread 2 2 thread 3 0 stream 2 0 stream 1 2 " ] ||
            fail "threads and streams $trace $other: $(cat "$out")"
    done
done
exit $bad
