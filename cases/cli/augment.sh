# augment.sh BUILD - what is drawn at random is drawn the same by a retry, by pieces and by a resumed run.
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
all="--augment 1 --elastic 3 --colour-drop 0.5 --point-dropout 0.3"
train() { # RULES LOG STEPS OPTIONS
    rules=$1 log=$2 steps=$3
    shift 3
    sim --faults "$rules" -- "$bin/pointtrain-double" train --data rooms:4,max=1500 --voxel 0.2 --batch 2 --seed 3 \
        --allocator direct --schedule constant --log "$d/$log" --steps "$steps" "$@"
}
losses() { sed -n 's/.*"points":\([0-9]*\),.*"loss":\([^,]*\),.*/\1:\2/p' "$d/$1" | tr '\n' ' '; }
once='cudaMalloc phase=backward nth=3 -> oom'
expect 0 "4 optimiser steps" train "$once" retried 4 $all
expect 0 "4 optimiser steps" sim -- "$bin/pointtrain-double" train --data rooms:4,max=1500 --voxel 0.2 --batch 2 --seed 3 \
    --allocator direct --schedule constant --log "$d/clean" --steps 4 $all
[ "$(losses clean)" = "$(losses retried)" ] || { echo "retried: $(losses retried), clean: $(losses clean)"; bad=1; }
expect 0 "2 optimiser steps" train "$once" first 2 $all --checkpoint "$d/c"
expect 0 "2 optimiser steps" train "$once" second 4 $all --checkpoint "$d/c"
[ "$(losses clean)" = "$(losses first)$(losses second)" ] || { echo "resumed: $(losses first)$(losses second)"; bad=1; }
# and each of the three does something
for option in "--elastic 3" "--colour-drop 0.5" "--point-dropout 0.3"; do
    expect 0 "2 optimiser steps" train "$once" with 2 --augment 0 $option
    expect 0 "2 optimiser steps" train "$once" without 2 --augment 0
    [ "$(losses with)" != "$(losses without)" ] || { echo "$option does nothing"; bad=1; }
done
expect 2 "--elastic 9: expected a number from 0 to 7" "$bin/pointtrain" train --data rooms:2 --elastic 9
exit $bad
