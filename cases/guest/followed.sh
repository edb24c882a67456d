#!/bin/sh
# followed.sh BUILD - which programs of a run are counted, whoever starts them and as whom; the others are told.
. "$(dirname "$0")/../cli/lib.sh"
guest=$1/cases/guest_any static=$1/cases/guest_static follow=$1/cases/guest_follow
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; cat "$out"; bad=1; }
never() { grep -qF -- "$1" "$out" && fail "\"$1\" is said"; :; }
oom='cudaMalloc nth=1 -> oom'

# each program is judged by itself, whatever the order
for what in "'$guest' handle; '$follow' calls; true" "'$follow' calls; '$guest' handle; true"; do
    expect 4 "of 1 program(s) that ran no CUDA call was seen, though they used the device" sim --faults "$oom" -- sh -c "$what"
done
for what in "'$static' one; '$follow' calls" "'$follow' calls; '$static' one; true"; do
    expect 4 "of 1 program(s) that ran no CUDA call was seen: the CUDA runtime is linked" sim --faults "$oom" -- sh -c "$what"
done
# one that only loads the runtime, and whose children call it, is none of them
expect 0 "2 calls intercepted" sim -- "$follow" children
never "no CUDA call was seen"

# children that were started without the library
for how in clearenv spawn execle unset; do
    expect 4 "was started with an environment that lacks LD_PRELOAD" sim --faults "$oom" -- "$follow" "$how"
done
expect 4 "was started with an environment that lacks LD_PRELOAD" sim -- env -i "$follow" calls
expect 0 "whether it uses CUDA is not known" sim -- env -i /bin/true
for how in execl execlp execv execvp execvpe execle-kept fexecve spawnp; do
    expect 0 "2 calls intercepted" sim -- "$follow" "$how"
    never "lacks LD_PRELOAD"
done
expect 4 "was started by another oomproof, whose closing lines count its calls" sim -- "$bin/oomproof" run --device sim -- "$follow" calls
never "linked into the program statically"

# a scratch folder that is named from where the command stood
mkdir "$d/tmp"
(cd "$d" && TMPDIR=tmp "$bin/oomproof" run --device sim --faults "$oom" -- sh -c "cd / && '$follow' calls") >"$out" 2>&1
[ $? -eq 0 ] && grep -q "matched 1, fired 1" "$out" || fail "TMPDIR=tmp, and a program in another folder"
[ -z "$(ls "$d/tmp")" ] || fail "left behind: $(ls "$d/tmp")"

# what outlives the program that started it is waited for, and told where it takes too long
mkfifo "$d/go"
expect 0 "2 calls intercepted" sim -- sh -c "(cat '$d/go' >/dev/null; exec '$follow' calls) & (echo >'$d/go') & :"
mkfifo "$d/up"
"$bin/oomproof" run --device sim --timeout 3 -- sh -c "'$follow' waits >'$d/up' 2>/dev/null & echo \$! >'$d/pid'; cat '$d/up'" >"$out" 2>&1
[ $? -eq 0 ] && grep -q "1 process(es) that the command started still run" "$out" || fail "a daemon: exit code"
kill "$(cat "$d/pid")" || fail "a daemon was stopped, though the command had ended"

# another user
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
    echo "not root, or no setpriv: other users were left out"
else
    nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
    mkdir "$d/open" "$d/shut"
    cp "$follow" "$d/follow" && chmod 755 "$d" "$d/follow" && chmod 1777 "$d/open" && chmod 700 "$d/shut"
    export OOMPROOF_SIM_CACHE=$d/cache
    if $nobody sh -c "LD_LIBRARY_PATH='$1/sim' '$d/follow' no && test -r '$1/lib/liboomproof.so'" 2>/dev/null; then
        expect 0 "matched 1, fired 1" env TMPDIR="$d/open" "$bin/oomproof" run --device sim --faults "$oom" -- $nobody "$d/follow" calls
        expect 4 "cannot open the run's counters" env TMPDIR="$d/shut" "$bin/oomproof" run --device sim --faults "$oom" -- $nobody "$d/follow" calls
        expect 4 "cannot open the run's counters" env TMPDIR="$d/shut" "$bin/oomproof" run --device sim -- $nobody "$d/follow" calls
        grep -q "its calls are intercepted, but not counted" "$out" || fail "the process itself does not say it"
        never "carries CUDA code"
        chown 65534 "$d/follow" && chmod 4755 "$d/follow"
        expect 4 "is set-user-id or set-group-id" sim -- sh -c "'$d/follow' calls; true"
        expect 4 "set-user-id" sim -- "$d/follow" calls
        never "it carries no CUDA code"
    else
        echo "this build cannot be read by other users: left out"
    fi
fi
exit $bad
