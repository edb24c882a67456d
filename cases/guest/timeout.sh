#!/bin/sh
# timeout.sh BUILD TOOL - a command that does not end: every thread of each of its processes is shown by TOOL (eu-stack, gdb,
# or neither), and none of them is left. 77: TOOL is not installed.
. "$(dirname "$0")/../cli/lib.sh"
hangs=$1/cases/guest_hangs
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; cat "$out"; bad=1; }
[ "$2" = neither ] || {
    tool=$(command -v "$2") || { echo "$2 is not installed: skipped"; exit 77; }
    ln -s "$tool" "$d/$2"
}
# the shell starts two: one in its process group, one that left it
PATH=$d $1/bin/oomproof run --device sim --timeout 5 -- /bin/sh -c "'$hangs' away & '$hangs'; :" >"$out" 2>&1 </dev/null
[ $? -eq 6 ] || fail "not exit code 6"
[ "$(grep -c '^oomproof: process [0-9]* (guest_hangs), state' "$out")" -eq 2 ] || fail "not both of the program's processes"
grep -q '^oomproof: process [0-9]* (sh), state' "$out" || fail "the shell is not shown"
if [ "$2" = neither ]; then
    [ "$(grep -c '^  thread [0-9]* (guest_hangs) state S' "$out")" -eq 4 ] || fail "not each of the four threads"
    grep -q "install elfutils (eu-stack) or gdb" "$out" || fail "what to install is not said"
else
    [ "$(grep -c hangs_in_the_second_thread "$out")" -ge 2 ] || fail "the second threads' stacks are not there"
    [ "$(grep -c '[^a-z_]main[^a-z_]*' "$out")" -ge 2 ] || fail "the first threads' stacks are not there"
fi
for pid in $(sed -n 's/^oomproof: process \([0-9]*\) .*/\1/p' "$out"); do
    case $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) in
    '' | Z* | X*) ;;
    *) fail "process $pid is left" ;;
    esac
done
exit $bad
