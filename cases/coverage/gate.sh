#!/bin/sh
# gate.sh BUILD - the gate of the coverage closes when a line of the recovery loses its test: without the cases of what does
# not hold (cases/recovery/broken.def) it names the lines that only they run, and ends with 1. A case that nothing but
# SIGKILL ends is counted as one whose counters are lost.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
want() {
    grep -q "$1" "$dir/said" || { echo "no \"$1\" in:"; cat "$dir/said"; bad=1; }
}
grep -v '^covered_broken ' "$build/cases/coverage/runs" >"$dir/runs"
[ "$(wc -l <"$dir/runs")" -lt "$(wc -l <"$build/cases/coverage/runs")" ] || { echo "nothing was removed"; exit 1; }
printf '#!/bin/sh\nkill -9 $$\n' >"$dir/killed"
chmod +x "$dir/killed"
echo "$(realpath --relative-to="$build/cases" "$dir")/killed it" >>"$dir/runs"
code=0
OOMPROOF_COVERAGE_RUNS=$dir/runs OOMPROOF_COVERAGE_OUT=$dir/coverage.json sh "$here/../../scripts/coverage.sh" "$build" \
    >"$dir/said" 2>&1 || code=$?
[ $code -eq 1 ] || { echo "exit code $code"; cat "$dir/said"; bad=1; }
want '^trainer/recovery/recover.c:[0-9]*: did not run: '
want '^trainer/recovery/.*: branch [0-9]* of [0-9]* not taken: '
want '^failed: .*/killed it'
want 'the counters of 1 cases were lost'
code=0
"$build/bin/oomproof" report -o "$dir/out" "$dir/coverage.json" >"$dir/said" 2>&1 || code=$?
[ $code -eq 1 ] || { echo "a report of that ends with $code"; bad=1; }
want 'coverage: lines not run'
exit $bad
