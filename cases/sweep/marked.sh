# marked.sh BUILD - a program that marks its steps: what goes wrong within one is found, named and measured.
. "$(dirname "$0")/lib.sh"
prog=$(realpath "$build/cases/sweep_subject")
bin=$(realpath "$build/bin/oomproof")
swept 0 "2 once: recovered exactly" "2 status once: refused cleanly" "0 findings" "fired nothing" \
    ++ --kinds oom,status --once --calls 'cudaM*' -- "$prog" right
# a part that fails and keeps memory, whatever it failed by; a call that frees and fails cannot be blamed for that
swept 0 "0 findings" ++ --part work --kinds oom,status,sticky --calls 'cuda*' -- "$prog" right work
swept 1 "FINDING leak" "512 device bytes more" "1 status once: leak" "sticky once: refused cleanly" \
    ++ --part work --kinds status,sticky --calls cudaMemcpy -- "$prog" leaks work
# what differed first within a part, and by how much
swept 1 "FINDING" "scores was changed: off by 0.125 (bound 0), first at number 2 of 4" ++ --once --part work -- "$prog" off work
swept 1 "state was changed: 1 of its 8 bytes, the first at 3" ++ --once --part work -- "$prog" differs work
# a step of few bits that was split is held against what its roundings do: twice as far as it is from the wider one
for way in "" --no-fork; do
    swept 0 "1 once: recovered exactly" "0 findings" ++ $way --once -- "$prog" rounds
    swept 1 "FINDING wrong gradient" "scores is off by 0.0375 (bound 0.0001)" ++ $way --once -- "$prog" rounds-exactly
    swept 1 "FINDING wrong gradient" "scores is off by 0.125 (bound 0.05)" ++ $way --once -- "$prog" rounds-more
    swept 1 "FINDING wrong gradient" "off by 0.0474 of its length (bound 0.0364)" ++ $way --once -- "$prog" rounds-all
    swept 0 "1 persistent: recovered with declared loss" "0 findings" ++ $way --persistent -- "$prog" rounds-drops
done
# what a program says of its step is held against the one that never failed
swept 1 "FINDING state drift" "0 points, 0 trained and 0 dropped; without a failure 1" ++ --once -- "$prog" fewer-points
swept 1 "FINDING swallowed" "the exit code that this leads to (oomproof_step) is 0" ++ --persistent -- "$prog" fails-with-0
swept 1 "FINDING state drift" "state differs, which a split does not excuse" ++ --once -- "$prog" splits-differs
swept 0 "recovered with declared loss" "0 findings" ++ --persistent -- "$prog" unmoved
swept 0 "1 once: recovered exactly" "0 findings" ++ --once -- "$prog" endless
swept 0 "note: oomproof_buffer: there are too many: one is not compared" ++ --once -- "$prog" many
swept 1 "FINDING hang" "it stopped itself (SIGSTOP)" ++ --once -- "$prog" stops
swept 0 "note: oomproof_buffer: one was given within the step: it is not compared" ++ --once -- "$prog" late
swept 2 "--compare: \`/nonexistent' cannot be run; nothing was judged" ++ --once --compare /nonexistent -- "$prog" right
swept 0 "no call of it can have the fault shape: none was tried" ++ --kinds oom,shape -- "$prog" right
swept 0 "--resume $dir/none: nothing is there: the sweep begins anew" ++ --resume "$dir/none" -- "$prog" right
swept 0 "no buffer was compared" ++ -- "$prog" bare
swept 0 "note: oomproof_buffer: a type is none of f, d, b, x and s" ++ --once -- "$prog" mistyped
swept 0 "note: oomproof_step_end: none had begun" ++ -- "$prog" unbegun
swept 0 "1 runs lost points, and their gradient was not compared" ++ --persistent -- "$prog" lost-unsaid
rm -f "$dir/runs"
swept 1 "does not go the same way each time" "NOT PROVED COMPLETE" ++ --once -- "$prog" third "$dir/runs"
# the way to the fault, at the finding
swept 1 "  stack: work (sweep_subject) < main (sweep_subject)" ++ --once --junit "$dir/junit" -- "$prog" off
grep -q "stack: work (sweep_subject) &#60; main (sweep_subject)" "$dir/junit" || { echo "no stack in the JUnit:"; cat "$dir/junit"; bad=1; }
swept 1 "  stack of the second: work (sweep_subject) < main (sweep_subject)" ++ --pairs --once --part work -- "$prog" off work
# one that ends within its step: what cannot be recovered may, by a message and a code
for way in "" --no-fork; do
    swept 1 "FINDING state drift" "a transient out-of-memory was not recovered: ended within its step with exit code 3" \
        "1 once: state drift" "1 persistent: refused cleanly" ++ $way -- "$prog" exits
    swept 0 "2 status once: refused cleanly" "2 sticky once: refused cleanly" "0 findings" \
        ++ $way --kinds status,sticky --calls 'cudaM*' -- "$prog" exits
    swept 1 "FINDING swallowed" "with exit code 3, and said nothing" ++ $way --status --calls 'cudaMe*' -- "$prog" exits-silently
    swept 1 "FINDING swallowed" "with exit code 0, as if it were done" ++ $way --status --calls 'cudaMe*' -- "$prog" exits-0
    swept 1 "FINDING swallowed" "retried, though it was no out-of-memory; then ended within its part" \
        ++ $way --part work --status --calls 'cudaMe*' -- "$prog" retries-exits work
    # what a program that marks its steps printed is compared where a command for it is given
    swept 0 "1 once: recovered exactly" "0 findings" ++ $way --once -- "$prog" prints
    swept 1 "FINDING state drift" "what it printed until the step ended is not right" ++ $way --once --compare cmp -- "$prog" prints
    swept 0 "1 once: recovered exactly" "0 findings" ++ $way --once --compare cmp -- "$prog" right
done
# any name of a part, and the line that repeats a finding can be pasted
for name in 'a b' "it's" 'x;touch hurt' '$(touch hurt)' 'q"uote' 'n:3' '`touch hurt`'; do
    swept 1 "FINDING state drift" ++ --once --part "$name:1" -- "$prog" off "$name"
    repeat=$(sed -n 's/^  repeat: oomproof //p' "$dir/out" | head -1)
    (cd "$dir" && eval "\"$bin\" $repeat" >"$dir/out" 2>&1)
    grep -q "FINDING state drift" "$dir/out" && [ ! -e "$dir/hurt" ] || { echo "the repeat line of the part $name: $repeat"; cat "$dir/out"; bad=1; }
done
swept 2 "a control character" ++ --part "a
b" -- "$prog" off
swept 2 "1 to 63 bytes" ++ --part '' -- "$prog" off
# what is said by nothing is told, not guessed
swept 0 "note: oomproof_buffer: its name is NULL" "note: oomproof_part_begin: the name is NULL" \
    "note: oomproof_part_end: the name is NULL" "note: oomproof_step_end: the summary is NULL" ++ -- "$prog" nameless
swept 0 "note: oomproof_part_end: the summary is NULL" ++ --part work -- "$prog" nameless work
"$build/bin/oomproof" run --device sim -- "$prog" nameless >"$dir/out" 2>&1
[ "$(grep -c "oomproof: oomproof_step_end: the summary is NULL" "$dir/out")" -eq 1 ] || { echo "not told outside of a sweep:"; cat "$dir/out"; bad=1; }
swept 2 "--part was given already" ++ --part work --part other -- "$prog" right work
exit $bad
