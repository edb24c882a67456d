# norms.sh BUILD - batch norm of batches that are split: the log says by which statistics, and how far off they were.
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
train() {
    sim --faults 'cudaMalloc phase=forward times=3 -> oom' -- "$bin/pointtrain" train --data rooms:4,max=3000 --voxel 0.2 \
        --batch 2 --steps 2 --seed 3 --allocator direct --log "$d/log" "$@"
}
expect 0 "statistics of pieces in 1 batches" train --norm batch
grep -q '"norm_on_split":"batch","norm_bias_mean":[0-9.e-]*,"norm_bias_scale":[0-9.e-]*,"norm_bias_first_mean":' "$d/log" ||
    { echo "the log has no bias"; cat "$d/log"; bad=1; }
[ "$(grep -c norm_bias "$d/log")" = 1 ] || { echo "a batch that was not split has a bias"; bad=1; }
expect 0 "statistics of pieces in 1 batches" train --norm batch --norm-on-split frozen
grep -q '"norm_on_split":"frozen"' "$d/log" || { echo "the log does not say frozen"; bad=1; }
expect 0 "2 optimiser steps" train --norm layer
grep -q norm_bias "$d/log" && { echo "layer norm has no bias"; bad=1; }
# too few voxels to learn from are said once
expect 0 "batch norm over" sim -- "$bin/pointtrain" train --data rooms:2,max=600 --voxel 2 --batch 1 --steps 2 --norm batch
[ "$(grep -c "batch norm over" "$out")" = 1 ] || { echo "said again"; bad=1; }
exit $bad
