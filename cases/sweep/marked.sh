# marked.sh BUILD - a program that marks its steps: what goes wrong within one is found, named and measured.
. "$(dirname "$0")/lib.sh"
prog=$build/cases/sweep_subject
swept 0 "2 once: recovered exactly" "2 status once: refused cleanly" "0 findings" "fired nothing" \
    ++ --kinds oom,status --once --calls 'cudaM*' -- "$prog" right
# a part that fails and keeps memory, whatever it failed by; a call that frees and fails cannot be blamed for that
swept 0 "0 findings" ++ --part work --kinds oom,status,sticky --calls 'cuda*' -- "$prog" right work
swept 1 "FINDING leak" "512 device bytes more" "1 status once: leak" "sticky once: refused cleanly" \
    ++ --part work --kinds status,sticky --calls cudaMemcpy -- "$prog" leaks work
# what is said by nothing is told, not guessed
swept 0 "note: oomproof_buffer: its name is NULL" "note: oomproof_part_begin: the name is NULL" \
    "note: oomproof_part_end: the name is NULL" "note: oomproof_step_end: the summary is NULL" ++ -- "$prog" nameless
swept 0 "note: oomproof_part_end: the summary is NULL" ++ --part work -- "$prog" nameless work
"$build/bin/oomproof" run --device sim -- "$prog" nameless >"$dir/out" 2>&1
[ "$(grep -c "oomproof: oomproof_step_end: the summary is NULL" "$dir/out")" -eq 1 ] || { echo "not told outside of a sweep:"; cat "$dir/out"; bad=1; }
swept 2 "--part was given already" ++ --part work --part other -- "$prog" right work
exit $bad
