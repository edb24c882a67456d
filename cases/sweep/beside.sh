# beside.sh BUILD - runs beside each other, runs that do not end, and threads that a fork would leave behind.
. "$(dirname "$0")/lib.sh"
prog=$(realpath "$build/cases/sweep_subject")
bug=$build/cases/sweep_broken

# what meets in a state shares its verdict, also while the first that came to it is under way, and when it does not survive
swept 1 "5 once: crash" "signal 6" "5 runs (0 pairs), 3 pruned" ++ --once --jobs 4 -- "$prog" dies
mv "$dir/json" "$dir/a"
swept 1 "5 once: crash" " 0 pruned" ++ --once --no-prune -- "$prog" dies
same "$dir/a" "$dir/json" "pruning changes a verdict"
# one run after the other: the first waits for the fourth, which then never comes
swept 1 "1 once: hang" ++ --once --jobs 1 --timeout 1 -- "$prog" others
for way in "" --no-fork; do
    # beside each other, the others go on while it waits
    swept 0 "5 once: recovered exactly" "0 findings" "fired nothing" ++ $way --once --jobs 2 -- "$prog" others
    # hangs of either kind
    swept 1 "FINDING hang" "not at the end of its step: it waits, and nothing comes (1 s; --timeout)" ++ $way --once --timeout 1 -- "$prog" waits
    swept 1 "FINDING hang" "it has used the processor time of its limit (1 s; --timeout)" ++ $way --once --timeout 1 -- "$prog" spins
    # as many findings as were asked for, whatever was under way
    for most in 1 2; do
        BUG=leak swept 1 " $most findings" "NOT PROVED COMPLETE" ++ $way --jobs 4 --max-findings $most -- "$bug"
        [ "$(grep -c ^FINDING "$dir/out")" -eq $most ] || { echo "--max-findings $most $way"; cat "$dir/out"; bad=1; }
    done
    # a program whose other thread it needs cannot be forked, and need not be
    swept 0 "1 once: recovered exactly" "1 persistent: refused cleanly" "0 findings" "fired nothing" ++ $way -- "$prog" threads
    grep -q "oomproof: 1 other threads (sweep_subject) at a fault point: .*a run of its own" "$dir/out" && told=1 || told=0
    [ $told -eq $([ -z "$way" ] && echo 1 || echo 0) ] || { echo "what is said of the threads ($way):"; cat "$dir/out"; bad=1; }
    grep -q '"fork":false' "$dir/json" || { echo "it was forked"; bad=1; }
done
swept 2 "error: 1 other threads (sweep_subject)" "--pairs are made by forking" ++ --pairs -- "$prog" threads
swept 2 "--budgets are made by forking" ++ --budgets 4 -- "$prog" threads
# those of the simulated device are no obstacle
OOMPROOF_SIM_THREADS=2
export OOMPROOF_SIM_THREADS
swept 0 "once: recovered exactly" "0 findings" "fired nothing" ++ --once --shard 1/24 -- \
    "$build/bin/pointtrain" train --data rooms:2,max=900 --batch 2 --steps 1 --quiet --allocator direct
grep -q '"fork":true' "$dir/json" || { echo "the simulated device's own threads are taken for the program's"; cat "$dir/out"; bad=1; }
exit $bad
