# overfit.sh BUILD SOURCE - learns a real scan by heart: the mean class accuracy (classes with 20 points at least) passes
# 0.8, with all memory and on a card on which the scan must be split. Skipped (77) where the scans do not lie.
. "$(dirname "$0")/lib.sh"
scan=$2/../shared/data/pdal/las/sample_c.las
[ -e "$scan" ] || { echo "skipped: $scan is not there"; exit 77; }
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
for rule in 'cudaMalloc budget=1TiB -> oom' 'cudaMalloc budget=33MiB -> oom'; do
    "$bin/oomproof" run --device sim --allow-unfired --faults "$rule" -- "$bin/pointtrain" train --data "$scan" \
        --class-map "$2/fixtures/classes/real-scans.map" --voxel 0.82 --batch 1 --steps 150 --lr 0.003 --augment 0 \
        --clip 1 --warmup 5 --allocator direct --val "$scan" --quiet --log "$d/log" >"$out" 2>&1 ||
        { echo "training failed under: $rule"; cat "$out"; bad=1; }
    python3 - "$d/log" "$rule" <<'END' || bad=1
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
v = [l["validation"] for l in lines if "validation" in l][-1]
batches = [l for l in lines if "batch" in l]
split = sum(b["splits_space"] > 0 for b in batches)
print(f"{sys.argv[2]}: mean class accuracy {v['mean_accuracy']:.3f}, accuracy {v['accuracy']:.3f}, {split} of {len(batches)} batches split in space")
sys.exit(not v["mean_accuracy"] > 0.8 or ("33MiB" in sys.argv[2] and not split) or any(b["dropped"] for b in batches))
END
done
exit $bad
