# apply.sh BUILD - a trained net: measured, used, resumed; what is split says the same as what is whole.
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }
net="$bin/pointtrain-double"
data="--data rooms8:6,max=9000 --seed 5"
run() { "$bin/oomproof" run --device sim -- "$@"; }
expect 0 "mIoU" run $net train $data --val rooms8:3,max=2000 --val-every 6 --batch 3 --steps 12 --warmup 3 --clip 1 \
    --checkpoint "$d/c" --log "$d/log" --tensorboard "$d/charts"
for tag in recover/retries recover/wasted_passes recover/dropped_points memory/peak_bytes validation/miou train/loss train/lr Data/load \
    transf/upload transf/augment transf/voxelise net/forward net/backward recover/seconds recover/stage recover/split; do
    grep -aq "$tag" "$d"/charts/* || fail "no chart $tag: $(ls "$d/charts")"
done
# the timers of a batch are within its time
python3 - "$d/log" <<'END' || fail "the timers are not those of the batches"
import json, sys
for b in [b for b in map(json.loads, open(sys.argv[1])) if "batch" in b]:
    t = b["timers"]
    inside = sum(v for k, v in t.items() if k not in ("Data.load", "recover.seconds"))
    assert min(t.values()) >= 0 and inside <= b["seconds"], (inside, b["seconds"], t)
    assert all(t[k] > 0 for k in ("transf.voxelise", "net.forward", "net.loss", "net.backward", "net.step")), t
END
expect 2 "cannot" run $net train $data --steps 1 --tensorboard /proc/nowhere
[ "$(grep -c '"validation":{"step":[0-9]*,"miou":0\.' "$d/log")" -eq 2 ] || fail "validation is not in the log twice"

# the same table, whole and on a card on which a scene must be split
large="--data rooms8:1,max=60000 --seed 702"
run $net eval --checkpoint "$d/c" $large --quiet >"$d/whole" 2>"$out" || fail "eval: $(cat "$out")"
grep -q "1 scenes, 60000 points" "$d/whole" || fail "no scores: $(cat "$d/whole")"
"$bin/oomproof" run --device sim --faults 'cudaMalloc budget=80MiB -> oom' -- $net eval --checkpoint "$d/c" $large \
    --allocator direct --quiet >"$d/split" 2>"$out" || fail "eval on a small card: $(cat "$out")"
grep -q "recovery: .* splits, 0 points dropped" "$d/split" || fail "nothing was split: $(cat "$d/split")"
grep -v "recovery\|loss" "$d/split" >"$d/a"
grep -v "recovery\|loss" "$d/whole" >"$d/b"
cmp -s "$d/a" "$d/b" || { fail "a split scene scores otherwise:"; diff "$d/a" "$d/b"; }

# labelled files: the same accuracy, read by somebody else; and a scene that we read
run $net eval --checkpoint "$d/c" $data --quiet >"$d/whole" 2>"$out" || fail "eval: $(cat "$out")"
expect 0 "6 scenes" run $net predict --checkpoint "$d/c" $data --out "$d/out"
[ "$(ls "$d/out" | wc -l)" -eq 6 ] || fail "not six files: $(ls "$d/out")"
python3 - "$d/out" "$d/whole" <<'END' || fail "the predicted classes are not those of eval"
import glob, re, struct, sys
right = labelled = 0
for path in glob.glob(sys.argv[1] + "/*.ply"):
    head, body = open(path, "rb").read().split(b"end_header\n", 1)
    n = int(re.search(rb"vertex (\d+)", head).group(1))
    assert len(body) == n * 35, path
    for x, y, z, r, g, b, label, predicted in struct.iter_unpack("<dddBBBii", body):
        labelled += label >= 0
        right += label >= 0 and label == predicted
said = float(re.search(r"accuracy ([0-9.]+)", open(sys.argv[2]).read()).group(1))
assert abs(right / labelled - said) < 5e-5, (right / labelled, said)
END
expect 0 "points" "$bin/pointtrain" info "$d/out/room-0.ply"

# stopped at any moment, whatever is there is a whole checkpoint, and the end is that of the run that was never stopped
learning="--batch 2 --steps 8 --warmup 3 --label-smoothing 0.1 --class-weights inverse --dropout 0.3 --quiet"
run $net train $data $learning --checkpoint "$d/never" 2>"$out" || fail "$(cat "$out")"
for moment in 0.2 0.4 0.7 1.1; do
    timeout -s KILL $moment "$bin/oomproof" run --device sim -- $net train $data $learning \
        --checkpoint "$d/killed" --checkpoint-every 1 >"$out" 2>&1
    pkill -9 -f -- "--checkpoint $d/killed"
    while pgrep -f -- "--checkpoint $d/killed" >"$out"; do :; done
done
expect 0 "" run $net train $data $learning --checkpoint "$d/killed" --checkpoint-every 1
cmp -s "$d/never" "$d/killed" || fail "a run that was killed and resumed ended elsewhere"
[ "$(ls "$d" | grep -c 'killed\..*tmp')" -eq 0 ] || fail "files of the killed runs are left: $(ls "$d")"

# refusals
expect 2 "of a net with 8 classes; the data has 6" run $net eval --checkpoint "$d/c" --data rooms:2
expect 14 "not a checkpoint" run $net eval --checkpoint "$d/log" $data
expect 14 "cannot be opened" run $net eval --checkpoint "$d/none" $data
head -c 2000 "$d/c" >"$d/short"
expect 14 "bytes, a whole checkpoint" run $net eval --checkpoint "$d/short" $data
expect 14 "made by a build with 8-byte numbers" run "$bin/pointtrain" eval --checkpoint "$d/c" $data
expect 2 "by which net" "$bin/pointtrain" eval --data rooms:2
expect 2 "where to? Give --out" "$bin/pointtrain" predict --checkpoint "$d/c" --data rooms:2
expect 2 "cannot be made" run $net predict --checkpoint "$d/c" $data --out "$d/no/such"
expect 2 "--val-every needs scenes" "$bin/pointtrain" train --data rooms:2 --val-every 2
expect 2 "--val has 8 classes, --data 6" run "$bin/pointtrain" train --data rooms:2 --val rooms8:2
expect 2 "--lr is not an option of eval" "$bin/pointtrain" eval --lr 1
expect 2 "unknown option --stps; did you mean --steps?" "$bin/pointtrain" train --stps 4
expect 2 "--steps needs N" "$bin/pointtrain" train --data rooms:2 --steps
expect 2 "No such file" "$bin/pointtrain" info "$d/none.las"
exit $bad
