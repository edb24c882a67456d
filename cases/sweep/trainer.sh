# trainer.sh BUILD WHAT - the trainer itself, a step of two small rooms: every fault point, every way.
. "$(dirname "$0")/lib.sh"
small="train --data rooms:2,max=900 --batch 2 --steps 2 --quiet"
train="$build/bin/pointtrain $small"
double="$build/bin/pointtrain-double $small"
clean="0 findings"
case $2 in
oom)
    swept 0 "142 fault points" "142 once: recovered exactly" "142 persistent: recovered with declared loss" "$clean" \
        "fired nothing" ++ -- $train --allocator direct ;;
second_step) swept 0 "142 once: recovered exactly" "$clean" ++ --step 2 -- $double --allocator direct --split alternate ;;
norms)
    swept 0 "once: recovered exactly" "$clean" ++ --shard 1/2 -- $train --allocator direct --norm frozen
    swept 0 "once: recovered exactly" "$clean" ++ --shard 2/2 -- $train --allocator direct --norm batch
    swept 0 "once: recovered exactly" "$clean" ++ -- $train --allocator caching ;;
every_call)
    swept 0 "once: recovered exactly" "$clean" ++ --once --calls '*' --shard 7/16 -- $train --allocator direct ;;
other_errors)
    swept 0 "once: refused cleanly" "$clean" ++ --status --calls '*' --shard 3/8 -- $train --allocator direct
    swept 0 "once: refused cleanly" "$clean" ++ --sticky --calls 'cuda*' --shard 5/8 -- $train --allocator direct ;;
kinds) # another error that is no memory, in the same sweep; and only what is asked for
    few="--site */enc1*/gather --sample 9"
    swept 0 "once: recovered exactly" "shape once: refused cleanly" "$clean" "fired nothing" \
        ++ --once --kinds oom,shape --shard 1/6 -- $train --allocator direct
    grep -q '"kinds":\["oom","shape"\]' "$dir/json" || { echo "the kinds are not in the JSON"; bad=1; }
    swept 0 "shape once: refused cleanly" "$clean" "fired nothing" ++ --once --shape $few -- $train --allocator direct
    mv "$dir/json" "$dir/a"
    swept 0 "shape once: refused cleanly" "$clean" ++ --once --shape --no-fork $few -- $train --allocator direct
    same "$dir/a" "$dir/json" "without forking it is otherwise"
    swept 0 "nan once: refused cleanly" "$clean" "fired nothing" ++ --nan -- $train --allocator direct ;;
validation) # what lies between the steps; by forking and by runs the same, pruned or not
    val="--val rooms:2,max=900"
    swept 0 "236 fault points" "once: recovered exactly" "persistent: recovered with declared loss" "$clean" "fired nothing" \
        ++ --part validate --shard 1/4 -- $train --allocator direct $val
    swept 0 "once: recovered exactly" "$clean" ++ --part validate --shard 2/24 -- $double --allocator direct $val
    mv "$dir/json" "$dir/a"
    swept 0 " 0 pruned" "$clean" ++ --part validate --shard 2/24 --no-prune -- $double --allocator direct $val
    same "$dir/a" "$dir/json" "without pruning it is otherwise"
    swept 0 "$clean" ++ --part validate --shard 2/24 --no-fork -- $double --allocator direct $val
    same "$dir/a" "$dir/json" "without forking it is otherwise"
    swept 0 "status once: refused cleanly" "$clean" ++ --part validate --status --calls '*' --shard 3/16 -- $train --allocator direct $val
    swept 0 "1 once: recovered exactly" "1 runs" ++ --part validate:1 --point 30 --once -- $train --allocator direct $val
    swept 0 "shape once: refused cleanly" "$clean" ++ --part validate --kinds shape,nan --shard 2/8 -- $train --allocator direct $val
    swept 0 "2 nan once: refused cleanly" "$clean" ++ --part validate --nan -- $train --allocator direct $val
    swept 0 "budget: recovered with declared loss" "$clean" ++ --part validate:1 --budgets 8 -- $train --allocator direct $val
    swept 4 "before the part that --part names was over" ++ --part validate:2 -- $train --allocator direct $val
    swept 4 "does it mark one" ++ --part 'a b' -- $train $val
    swept 2 "one of them" ++ --part validate --step 1 -- $train ;;
checkpoint) # the second of them, which must leave the first or be whole
    file="--checkpoint $dir/check --checkpoint-every 1"
    swept 0 "6 once: recovered exactly" "6 persistent: refused cleanly" "6 status once: refused cleanly" \
        "6 sticky once: refused cleanly" "$clean" "fired nothing" \
        ++ --part checkpoint:2 --kinds oom,status,sticky --calls '*' -- $train --steps 3 --allocator direct $file
    mv "$dir/json" "$dir/a"
    swept 0 "$clean" ++ --part checkpoint:2 --kinds oom,status,sticky --calls '*' --no-fork -- $train --steps 3 --allocator direct $file
    same "$dir/a" "$dir/json" "without forking it is otherwise"
    [ ! -e "$dir/check" ] || { echo "the runs of a sweep write where they read"; bad=1; }
    swept 4 "no fault point" ++ --part checkpoint -- $train --allocator direct $file ;;
pairs) # each pair of distinct sites once; with every ordinal, in `make torture`
    swept 0 "at 80 sites" "$clean" "fired nothing" ++ --pairs --once --by site -- $train --allocator direct
    # 80 second sites for each state that a first fault leads to; which runs find theirs judged depends on how they overlap
    pairs=$(sed -n 's/.*"pairs":\([0-9]*\).*/\1/p' "$dir/json")
    [ "$pairs" -ge 400 ] && [ $((pairs % 80)) -eq 0 ] || { echo "$pairs pairs"; bad=1; } ;;
pairs_*_of_8) swept 0 "pairs)" "$clean" ++ --pairs --shard "$(echo "$2" | sed 's/pairs_\(.\)_of_8/\1/')/8" -- $train --allocator direct ;;
budgets)
    swept 0 "budget: recovered exactly" "budget: recovered with declared loss" "16 runs" "$clean" \
        ++ --budgets 16 -- $double --allocator direct
    grep -q '"dropped":[1-9].*"measure":[0-9.e-]*,"worst":"grad/' "$dir/json" ||
        { echo "no gradient of a batch that lost some points was compared"; bad=1; }
    one=$(sed -n 's/.*"verdict":"recovered with declared loss".*"budget":\([0-9]*\).*/\1/p' "$dir/json" | head -1)
    swept 0 "1 budget: recovered with declared loss" "$clean" ++ --budget "$one" -- $double --allocator direct
    swept 0 "1 budget: recovered with declared loss" "$clean" ++ --budget "$one" --no-fork -- $double --allocator direct
    swept 0 "budget: recovered exactly" "$clean" ++ --budgets 12 -- $train --allocator caching --norm batch ;;
accum) # a step of two batches, either of which loses points, or all of them; products of 16 bits
    for step in 1 2; do
        swept 0 "80 persistent: recovered with declared loss" "budget: recovered with declared loss" "$clean" \
            ++ --step $step --persistent --by site --budgets 8 -- $train --steps 4 --accum 2 --allocator direct
    done
    for amp in fp16 bf16; do
        swept 0 "budget: recovered exactly" "budget: recovered with declared loss" "$clean" \
            ++ --step 2 --budgets 12 -- $train --steps 4 --accum 2 --amp $amp --allocator direct
    done ;;
chosen)
    swept 0 "142 fault points at 80 sites, 80 runs" "$clean" ++ --once --by site -- $train --allocator direct
    swept 0 " 9 runs" ++ --once --sample 9 --seed 4 -- $train --allocator direct
    mv "$dir/json" "$dir/a"
    swept 7 "error: /nowhere/x" ++ --once --sample 2 --html /nowhere/x -- $train --allocator direct
    swept 0 " 9 runs" ++ --html "$dir/page" --once --sample 9 --seed 5 -- $train --allocator direct
    grep -q "9 runs, 0 findings" "$dir/page" || { echo "the page does not say what was swept"; bad=1; }
    swept 0 " 9 runs" ++ --once --sample 9 --seed 4 -- $train --allocator direct
    same "$dir/a" "$dir/json" "the same seed draws other points" ;;
resumed)
    swept 0 "$clean" ++ --shard 3/4 -- $train --allocator direct
    mv "$dir/json" "$dir/a"
    # wherever the kill comes, what is missing is made good
    for moment in 0.3 0.6 0.9; do
        rm -rf "$dir/kept"
        timeout -s KILL $moment "$build/bin/oomproof" sweep --device sim --keep "$dir/kept" --shard 3/4 -- \
            $train --allocator direct >"$dir/out" 2>&1 </dev/null
        swept 0 "$clean" "fired nothing" ++ --resume "$dir/kept" --shard 3/4 -- $train --allocator direct
        same "$dir/a" "$dir/json" "a resumed sweep has another table"
    done
    swept 0 "70 runs are there, 0 had not ended" "$clean" ++ --resume "$dir/kept" --shard 3/4 -- $train --allocator direct
    swept 2 "is of another sweep" ++ --resume "$dir/kept" --shard 2/4 -- $train --allocator direct ;;
stopped)
    # told to stop after its first runs, it says what it has found so far, and ends by the signal
    for signal in 15 2; do
        rm -rf "$dir/kept" "$dir/json"
        # shellcheck disable=SC2086
        env --default-signal=INT "$build/bin/oomproof" sweep --device sim --keep "$dir/kept" --json "$dir/json" --junit "$dir/junit" \
            --shard 1/3 --no-prune -- $train --allocator direct >"$dir/out" 2>&1 </dev/null &
        pid=$!
        while kill -0 $pid 2>/dev/null && ! ls "$dir"/kept/12.out >/dev/null 2>&1; do :; done
        kill -s $signal $pid
        wait $pid
        got=$?
        [ $got -eq $((signal + 128)) ] || { echo "SIG$signal: exit code $got"; cat "$dir/out"; bad=1; }
        for text in "stopped by signal" "--resume $dir/kept" "0 findings" "NOT PROVED COMPLETE"; do
            grep -qF -- "$text" "$dir/out" || { echo "SIG$signal: no \"$text\""; cat "$dir/out"; bad=1; }
        done
        python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); n = len(d["results"]); sys.exit(not (
            3 < n < 2 * d["fault_points"] and not d["proof"] and not d["findings"] and n == d["runs"]))' "$dir/json" ||
            { echo "the JSON of a sweep that was stopped"; cat "$dir/json"; bad=1; }
        "$build/bin/oomproof" report -o "$dir/page" "$dir/json" "$dir/junit" >"$dir/said" 2>&1
        [ $? -eq 1 ] && grep -q "not proved complete: it was stopped" "$dir/page/index.html" ||
            { echo "the page of a sweep that was stopped"; cat "$dir/said"; bad=1; }
    done
    swept 0 "runs are there" "$clean" "fired nothing" ++ --resume "$dir/kept" --shard 1/3 --no-prune -- $train --allocator direct ;;
budget)
    swept 0 "$clean" ++ --faults 'cudaMalloc phase=forward nth=30 -> oom' -- $train --allocator direct ;;
ways)
    swept 0 "$clean" ++ --shard 2/12 -- $train --allocator direct
    mv "$dir/json" "$dir/a"
    swept 0 " 0 pruned" "$clean" ++ --shard 2/12 --no-prune -- $train --allocator direct
    same "$dir/a" "$dir/json" "pruning changes a verdict"
    swept 0 "$clean" ++ --shard 2/12 --no-fork -- $train --allocator direct
    same "$dir/a" "$dir/json" "forking changes a verdict" ;;
*)
    echo "trainer.sh: no such case: $2"
    exit 2 ;;
esac
exit $bad
