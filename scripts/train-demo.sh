#!/bin/sh
# train-demo.sh [STEPS] - trains on generated rooms of 8 classes, two of which neither height nor colour tells from others,
# once with all memory and once on a card on which most batches must be split, and measures both on rooms not learnt from.
# Exit 1 unless both reach a mIoU of 0.80, lie within 0.01 of each other, and most batches of the second were split.
set -eu
cd "$(dirname "$0")/.."
steps=${1:-240}
dir=build/train-demo
mkdir -p "$dir"
run() {
    name=$1
    shift
    rm -f "$dir/$name.ckpt"
    build/bin/oomproof run --device "${DEVICE:-sim}" "$@" -- build/bin/pointtrain train \
        --data rooms8:200,min=8000,max=20000 --val rooms8:20,min=8000,max=20000 --batch 2 --steps "$steps" --lr 0.003 \
        --warmup 30 --weight-decay 0.05 --clip 1 --augment 0 --allocator direct --quiet \
        --checkpoint "$dir/$name.ckpt" --log "$dir/$name.jsonl"
}
echo "all memory: $steps batches of 2 rooms"
run whole
echo "a card of 40 MB beside the context: one room of a batch fits, two often do not"
run small --faults 'cudaMalloc budget=40000000 -> oom'
python3 - "$dir/whole.jsonl" "$dir/small.jsonl" <<'END'
import json, sys
runs = []
for path in sys.argv[1:]:
    lines = [json.loads(l) for l in open(path)]
    batches = [l for l in lines if "batch" in l]
    v = [l["validation"] for l in lines if "validation" in l][-1]
    split = sum(b["splits_scene"] + b["splits_space"] > 0 for b in batches)
    runs.append((v["miou"], split, len(batches), sum(b["dropped"] for b in batches), sum(b["seconds"] for b in batches)))
for name, (miou, split, n, dropped, seconds) in zip(("all memory", "small card"), runs):
    print(f"{name}: mIoU {miou:.4f}, {split} of {n} batches split, {dropped} points dropped, {seconds:.0f} s")
(a, _, _, _, _), (b, split, n, dropped, _) = runs
good = a >= 0.8 and b >= 0.8 and abs(a - b) <= 0.01 and 2 * split > n and dropped == 0
print("reached" if good else "NOT reached: at least 0.80, within 0.01, most batches split, nothing dropped")
sys.exit(not good)
END
