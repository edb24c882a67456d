#!/bin/sh
# ending.sh BUILD - a command under a terminal, with daemons, and when oomproof itself is told of signals.
. "$(dirname "$0")/../cli/lib.sh"
follow=$1/cases/guest_follow hangs=$1/cases/guest_hangs
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; cat "$out"; bad=1; }

# on a terminal the command reads what is typed, with --timeout as without
for limit in '' '--timeout 100'; do
    python3 "$(dirname "$0")/terminal.py" hello "$bin/oomproof" run --device sim $limit -- sh -c "read x; echo got \$x; '$follow' calls" >"$out" 2>&1
    [ $? -eq 0 ] && grep -q "got hello" "$out" && grep -q "2 calls intercepted" "$out" || fail "on a terminal, $limit"
done

# a daemon of a command that does not end is stopped with it: its own session, its parents gone
mkfifo "$d/up"
expect 6 "did not end within 3 seconds" sim --timeout 3 -- \
    sh -c "(setsid sh -c 'echo \$\$ >\"$d/up\"; exec \"$hangs\"' &); cat '$d/up' >'$d/pid'; while :; do sleep 9; done"
pid=$(cat "$d/pid")
grep -q "process $pid (" "$out" || fail "the daemon's stacks are not shown"
[ -n "$pid" ] && [ ! -e "/proc/$pid" ] || fail "the daemon is left: $(cat "/proc/$pid/stat")"

# so it is of a replay; and of a recording, signals go to the command
rm -f "$d/pid"
expect 0 " events" "$bin/oomproof" record --device sim -o "$d/r" -- "$follow" calls
expect 6 "did not end within 3 seconds" "$bin/oomproof" replay --device sim --timeout 3 "$d/r" -- \
    sh -c "(setsid sh -c 'echo \$\$ >\"$d/up\"; exec \"$hangs\"' &); cat '$d/up' >'$d/pid'; while :; do sleep 9; done"
pid=$(cat "$d/pid")
grep -q "process $pid (" "$out" || fail "the daemon's stacks are not shown by a replay"
[ -n "$pid" ] && [ ! -e "/proc/$pid/stat" ] || fail "the daemon is left by a replay"
for s in HUP USR1 TERM; do
    expect 0 " events" "$bin/oomproof" record --device sim -o "$d/r.$s" -- \
        sh -c "'$follow' calls; trap 'exit 0' $s; kill -$s \$PPID; while :; do sleep 0.01; done"
done

# signals go to the command, and the closing lines are there
for s in HUP INT TERM QUIT USR1 USR2; do
    expect 0 "2 calls intercepted" sim -- sh -c "'$follow' calls; trap 'exit 0' $s; kill -$s \$PPID; while :; do sleep 0.01; done"
done
# once it has ended, they end oomproof, as where a report has no reader
mkfifo "$d/json"
"$bin/oomproof" run --device sim --json "$d/json" -- sh -c "'$follow' calls; echo \$PPID >'$d/up'" >"$out" 2>&1 &
pid=$(cat "$d/up")
until grep -q "rules fired" "$out"; do :; done
kill "$pid"
wait $!
[ $? -eq 143 ] || fail "no end by SIGTERM"
exit $bad
