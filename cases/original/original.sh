# original.sh BUILD - what a sweep says of the loop that this project grew out of.
. "$(dirname "$0")/../sweep/lib.sh"
loop=$build/cases/original_loop
swept 1 "once: wrong gradient" "only the gradient of the pieces that ran last is left" ++ \
    --once --shard 1/4 -- "$loop" rooms
swept 1 "once: swallowed" "an error was taken for an out-of-memory, or not noticed" ++ --once --status --calls 'cublas*' --shard 1/40 \
    -- "$loop" rooms
swept 1 "persistent: unbounded retries" "the pieces do not get smaller" ++ --persistent --shard 1/8 -- "$loop" pole
exit $bad
