#!/bin/sh
# faultlines.sh BUILD OUT.json [SWEEP OPTION...] [-- TRAIN OPTION...] - fails every allocation of a step of the trainer built
# with gcov's counters, and joins each fault with the lines and branches of the recovery path that it reached.
set -eu
cd "$(dirname "$0")/.."
build=$1 out=$2
shift 2
options="" train="--data rooms:4,max=60000 --seed 21 --batch 4" # the step of the demo
while [ $# -gt 0 ] && [ "$1" != -- ]; do options="$options $1" && shift; done
[ $# -gt 1 ] && shift && train="$*"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/notes" "$dir/plain"
find "$build/cases/coverage/CMakeFiles/covered.dir" -name '*.gcno' -exec cp {} "$dir/notes" \;
code=0
# shellcheck disable=SC2086
OOMPROOF_COUNTERS="$dir" GCOV_PREFIX="$dir/plain" GCOV_PREFIX_STRIP=99 "$build/bin/oomproof" sweep --device sim $options \
    --json "$dir/sweep.json" -- "$build/cases/covered_pointtrain" train $train --steps 1 --allocator direct --quiet \
    >"$dir/said" 2>&1 || code=$?
[ $code -le 1 ] || { cat "$dir/said"; exit $code; } # findings are the sweep's own to tell
python3 scripts/faultlines.py "$dir" "$dir/notes" "$dir/sweep.json" "$out"
