# outputs.sh BUILD - where a sweep writes: links, devices and pipes stay what they are, nothing that is read is written over,
# and what an earlier sweep left does not pass for the result of one that was killed.
. "$(dirname "$0")/lib.sh"
prog=$build/cases/sweep_broken
want() { # what is said, and a command that must succeed
    says=$1
    shift
    "$@" >/dev/null 2>&1 || { echo "not so: $says"; bad=1; }
}
# sweeps CODE OPTIONS...: of the program that is right
sweeps() {
    code=$1
    shift
    "$build/bin/oomproof" sweep --device sim --once "$@" -- "$prog" >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    [ $got -eq "$code" ] || { echo "exit code $got, not $code: oomproof sweep $*"; cat "$dir/err"; bad=1; }
}
ln -s /proc/self/fd/1 "$dir/stdout" # as /dev/stdout, which a mistake would do away with for everybody
for option in json junit html; do
    rm -rf "$dir/real" "$dir/link" "$dir/other" "$dir/null" "$dir/pipe" "$dir/folder"
    echo old >"$dir/real"
    chmod 640 "$dir/real"
    ln "$dir/real" "$dir/other"
    ln -s real "$dir/link"
    ln -s /dev/null "$dir/null"
    mkfifo "$dir/pipe"
    mkdir "$dir/folder"
    sweeps 0 --$option "$dir/link"
    want "--$option: a link stays a link" test -L "$dir/link"
    want "--$option: what it leads to is written" grep -q "recovered exactly\|point 1" "$dir/real"
    want "--$option: the file is replaced as a whole" grep -qx old "$dir/other"
    want "--$option: it keeps its mode" test "$(stat -c %a "$dir/real")" = 640
    sweeps 0 --$option "$dir/null"
    want "--$option: a link to a device stays" test -L "$dir/null" -a -c /dev/null
    timeout 60 cat "$dir/pipe" >"$dir/piped" &
    sweeps 0 --$option "$dir/pipe"
    wait $!
    want "--$option: a pipe is written into" test -p "$dir/pipe" -a -s "$dir/piped"
    sweeps 0 --$option "$dir/stdout"
    want "--$option: what /dev/stdout is, is written into" grep -q "recovered exactly\|point 1" "$dir/out"
    sweeps 2 --$option "$dir/folder"
    want "--$option: a folder is refused, by name" grep -q "this is a folder: $dir/folder" "$dir/err"
    sweeps 7 --$option "$dir/none/file"
    want "--$option: it is said before anything runs" grep -q "cannot be written: No such file" "$dir/err"
    want "--$option: nothing ran" test "$(wc -l <"$dir/err")" -eq 1
done
sweeps 0 --json "$dir/a" --html "$dir/page"
want "the page is of the JSON" grep -q "7 calls" "$dir/page"

# what is read, or written by another option, is not written over
printf '#!/bin/sh\nexit 0\n' >"$dir/rules"
chmod +x "$dir/rules"
cp "$dir/rules" "$dir/before"
for option in json junit html; do
    sweeps 2 --compare "$dir/rules" --$option "$dir/rules"
    want "--$option: over the comparison" cmp "$dir/rules" "$dir/before"
    want "--$option: that is said" grep -q "what the sweep reads: $dir/rules" "$dir/err"
done
ln -sf rules "$dir/rules-link"
sweeps 2 --compare "$dir/rules" --json "$dir/rules-link"
want "nor by another name" cmp "$dir/rules" "$dir/before"
cp "$prog" "$dir/prog"
"$build/bin/oomproof" sweep --device sim --json "$dir/prog" -- "$dir/prog" >/dev/null 2>&1
want "nor the program" cmp "$prog" "$dir/prog"
rm -f "$dir/x"
sweeps 2 --json "$dir/x" --junit "$dir/./x"
want "two outputs are two files" test ! -e "$dir/x"

# killed: what an earlier sweep left is gone, and what is there says so
sweeps 0 --json "$dir/json" --junit "$dir/junit" --html "$dir/html"
# shellcheck disable=SC2016
"$build/bin/oomproof" sweep --device sim --json "$dir/json" --junit "$dir/junit" --html "$dir/html" -- sh -c 'kill -9 $PPID' \
    >/dev/null 2>&1
want "the JSON of a killed sweep" grep -q '"finished":false,"proof":false' "$dir/json"
want "the JUnit of a killed sweep" grep -q '<error message="not finished">' "$dir/junit"
want "the page of a killed sweep" grep -q "has not finished" "$dir/html"
"$build/bin/oomproof" report -o "$dir/report" "$dir/json" 2>"$dir/said"
[ $? -eq 1 ] && grep -q "not finished" "$dir/said" && grep -q "it is still running, or it was killed" "$dir/report/index.html" ||
    { echo "the report of a killed sweep"; cat "$dir/said"; bad=1; }
"$build/bin/oomproof" report -o "$dir/report" "$dir/junit" 2>"$dir/said"
[ $? -eq 1 ] || { echo "the report of a killed sweep's JUnit"; cat "$dir/said"; bad=1; }
exit $bad
