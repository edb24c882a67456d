# accum.sh BUILD - steps of several batches as a user meets them: what is refused, what a batch that failed is said to be left out of.
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
train() {
    sim --faults "$1" -- "$bin/pointtrain" train --data rooms:4,max=1500 --voxel 0.2 --batch 1 --seed 3 --allocator direct \
        --accum 2 --log "$d/log" $2
}
expect 2 "--steps is no multiple of --accum" "$bin/pointtrain" train --data rooms:2 --steps 5 --accum 2
expect 2 "--accum 0: expected a whole number" "$bin/pointtrain" train --data rooms:2 --accum 0
expect 0 "4 batches, 2 optimiser steps" train 'cudaMalloc phase=forward nth=3 -> oom' "--steps 4"
[ "$(sed -n 's/.*"stepped":\([a-z]*\),\{0,1\}.*/\1/p' "$d/log" | tr '\n' ' ')" = "false true false true " ] ||
    { echo "which batches took a step?"; cat "$d/log"; bad=1; }
bad_param='cudnnSoftmaxForward nth=2 -> status(CUDNN_STATUS_BAD_PARAM)'
expect 0 "batch 1 is left out of the optimiser step of the batches 0 to 1, which was taken" train "$bad_param" \
    "--steps 4 --on-error skip --max-dropped 100%"
nan='cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)'
expect 0 "the batches 0 to 1 take no optimiser step" train "$nan" "--steps 4 --on-nan skip --max-dropped 100%"
grep -q '"voided":' "$d/log" || { echo "the log names no voided points"; bad=1; }
expect 13 "1 optimiser steps" train "$nan" "--steps 4 --on-nan skip"
# a run that is stopped by a failure within a step and goes on from its checkpoint
expect 11 "batch 0 is left out" train 'cudnnSoftmaxForward nth=1 -> status(CUDNN_STATUS_BAD_PARAM)' "--steps 4 --checkpoint $d/c"
expect 0 "resumed from $d/c at batch 1" train 'cudaMalloc phase=forward nth=3 -> oom' "--steps 4 --checkpoint $d/c"
expect 14 "of a run with --accum 2, not 1" sim -- "$bin/pointtrain" train --data rooms:4,max=1500 --seed 3 --steps 6 --checkpoint "$d/c"
expect 0 "mIoU" sim -- "$bin/pointtrain" eval --data rooms:2,max=1500 --voxel 0.2 --checkpoint "$d/c"
exit $bad
