#!/bin/sh
# torch.sh BUILD SOURCE - the net in PyTorch, that bench/torch_step.py times, has the parameters of a checkpoint: read here
# without PyTorch, where one place off would be another net.
set -eu
build=$1 source=$2
d=$(mktemp -d) || exit 7
trap 'rm -rf "$d"' EXIT
"$build/bin/oomproof" run --device sim -- "$build/bin/pointtrain" train --data rooms:1,max=900 --batch 1 --steps 1 --lr 0 \
    --augment 0 --quiet --checkpoint "$d/start" >"$d/out" 2>&1 || { cat "$d/out"; exit 1; }
python3 "$source/bench/parameters.py" "$d/start"
