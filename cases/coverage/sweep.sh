#!/bin/sh
# sweep.sh BUILD - the children of a sweep end with _exit, and only they run the recovery: its counters must have
# survived them. A run without faults is the control.
set -eu
build=$1
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
find "$build/cases/coverage/CMakeFiles/covered.dir" -name '*.gcno' -exec cp {} "$dir" \;
export GCOV_PREFIX="$dir" GCOV_PREFIX_STRIP=99 # all counters into this folder
train="$build/cases/covered_pointtrain train --data rooms:2,max=900 --batch 2 --steps 1 --quiet --allocator direct"
"$build/bin/oomproof" run --device sim -- $train >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
python3 scripts/coverage.py --ran pt_recover_batch "$dir" || { echo "a plain run wrote no counters"; exit 1; }
if python3 scripts/coverage.py --ran after_failure "$dir"; then echo "a run without faults recovered"; exit 1; fi
"$build/bin/oomproof" sweep --device sim --once --shard 2/24 -- $train >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
python3 scripts/coverage.py --ran after_failure "$dir" || { echo "the children's counters are lost"; exit 1; }
