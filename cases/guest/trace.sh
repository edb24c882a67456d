#!/bin/sh
# trace.sh BUILD NVCC - traces survive a kill, a full disk, forks and damage; sites survive a rebuild.
. "$(dirname "$0")/../cli/lib.sh"
build=$1 nvcc=$2
guest=$build/cases/guest_any
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
events() { "$bin/oomproof" trace "$1" --csv | tail -n +2 | wc -l; }
fail() { echo "$*"; bad=1; }

expect 0 "2 calls" sim --trace "$d/t" -- "$guest" one
[ "$(events "$d/t")" -eq 2 ] || fail "2 calls made, $(events "$d/t") in the trace"
expect 0 "cudaMalloc,1000,1,0,0,,guest_any:" "$bin/oomproof" trace "$d/t" --csv
expect 0 '"call":"cudaFree","bytes":1024,"pointer":1' "$bin/oomproof" trace "$d/t" --json
sim --faults 'cudaMalloc -> oom' --trace "$d/t" -- "$guest" one >"$out" 2>&1
expect 0 "-> 2 INJECTED" "$bin/oomproof" trace "$d/t"
expect 0 "_Z7nothingv" sh -c "\"$bin/oomproof\" run --device sim --trace $d/l -- $guest launch && \"$bin/oomproof\" trace $d/l"

# a killed process: all but the event in flight
"$bin/oomproof" run --device sim --trace "$d/k" -- "$guest" for-ever "$d" >"$out" 2>&1 &
while [ ! -s "$d/k" ] || [ "$(events "$d/k")" -lt 1000 ]; do :; done
kill -9 $(pgrep -f "^$guest for-ever $d")
wait
[ "$(events "$d/k")" -ge 1000 ] || fail "the trace of a killed process lost its events"
grep -q "signal 9" "$out" || { fail "the kill is not said"; cat "$out"; }

# no room for the trace: the program goes on, what is lost is counted
(
    trap '' XFSZ
    ulimit -f 64 # of 512 bytes
    "$bin/oomproof" run --device sim --trace "$d/full" -- "$guest" one
    echo "exit code $?"
) 2>&1 | cat >"$out"
for text in "the run goes on" "2 calls are not in the trace" "exit code 0"; do
    grep -q "$text" "$out" || fail "a full disk: no \"$text\" in: $(cat "$out")"
done
[ -e "$d/full" ] && fail "a file without a record is left"
(
    trap '' XFSZ
    ulimit -f 400
    "$bin/oomproof" run --device sim --trace "$d/fills" -- "$bin/pointtrain" train --quiet --data rooms:1,max=900 --steps 2
    echo "exit code $?"
) 2>&1 | cat >"$out"
for text in "the run goes on" " calls are not in the trace" "exit code 0"; do
    grep -q "$text" "$out" || fail "a disk that fills: no \"$text\" in: $(cat "$out")"
done
"$bin/oomproof" trace "$d/fills" >"$d/fills.text" 2>&1 || fail "a full disk damages the trace: $(tail -1 "$d/fills.text")"
lost=$(sed -n 's/.*: \([0-9]*\) calls are not in the trace/\1/p' "$out")
made=$(sed -n 's/.*: \([0-9]*\) calls intercepted.*/\1/p' "$out")
[ "$(events "$d/fills")" -ge 1024 ] && [ $(($(events "$d/fills") + lost)) -eq "$made" ] ||
    fail "of $made calls $(events "$d/fills") are in the trace and $lost are not"
expect 0 "2 calls are not in the trace" sim --trace /nowhere/t -- "$guest" one

# each process has its own file
expect 0 "4 calls" sim --trace "$d/f" -- "$guest" fork
[ "$(ls "$d"/f*[0-9]* | wc -l)" -eq 1 ] && [ "$(events "$d/f")" -eq 2 ] && [ "$(events "$d"/f.*)" -eq 2 ] ||
    fail "fork: $(ls "$d"/f*)"

# damage is an exit code, never a crash
head -c 1024 "$d/l" >"$d/small"
for at in $(seq 0 31 1023); do
    cp "$d/small" "$d/x"
    printf '\377' | dd of="$d/x" bs=1 seek="$at" conv=notrunc 2>/dev/null
    "$bin/oomproof" trace "$d/x" >"$out" 2>&1
    [ $? -le 2 ] || fail "byte $at damaged: exit code $?"
    head -c "$at" "$d/small" >"$d/x"
    "$bin/oomproof" trace "$d/x" >"$out" 2>&1
    [ $? -le 2 ] || fail "cut to $at bytes: exit code $?"
done
expect 7 "cannot be written" sh -c "'$bin/oomproof' trace $d/l >/dev/full"
expect 2 "not a trace" "$bin/oomproof" trace "$guest"
expect 2 "No such file" "$bin/oomproof" trace "$d/none"
expect 2 "expected one trace" "$bin/oomproof" trace

# the same sites from two folders, and after a rebuild with a comment more
src=$(dirname "$0")/guest.cu
list() { # FOLDER SOURCE
    mkdir -p "$1"
    "$nvcc" -cudart shared -arch=compute_75 --no-compress -I"${src%/*}/../../shim" -L"$build/sim" -Xcompiler -fno-omit-frame-pointer -o "$1/g" "$2" \
        -lcudart 2>"$out" || fail "$(cat "$out")"
    "$bin/oomproof" run --device sim --trace "$1/t" -- "$1/g" fork >"$out" 2>&1
    "$bin/oomproof" trace "$1/t" --csv | cut -d, -f4,5,9,10
}
sed 's,^static int one,/* a comment\n more */ static int one,' "$src" >"$d/commented.cu"
list "$d/a" "$src" >"$d/1"
list "$d/a" "$src" >"$d/2"
list "$d/b" "$src" >"$d/3"
list "$d/c" "$d/commented.cu" >"$d/4"
[ -s "$d/1" ] && grep -q "g:" "$d/1" || fail "no sites"
for i in 2 3 4; do diff "$d/1" "$d/$i" || fail "sites differ in build $i"; done

# a program without symbols: functions by their addresses, distinct, the same in every run
sites() { "$bin/oomproof" trace "$1" --csv | tail -n +2 | cut -d, -f10; }
cp "$build/cases/guest_sites" "$d/named" && strip -o "$d/bare" "$d/named" || fail "strip"
expect 0 "8 calls" sim --trace "$d/named.t" -- "$d/named"
expect 0 "8 calls" sim --trace "$d/bare.t" -- "$d/bare"
expect 0 "8 calls" sim --trace "$d/again.t" -- "$d/bare"
sites "$d/named.t" | sort -u >"$d/named.s"
sites "$d/bare.t" | sort -u >"$d/bare.s"
[ "$(wc -l <"$d/named.s")" -eq 6 ] || fail "sites of three functions: $(cat "$d/named.s")"
[ "$(wc -l <"$d/bare.s")" -eq 6 ] || fail "stripped, sites are not distinct: $(cat "$d/bare.s")"
[ "$(grep -c '^bare:+0x[0-9a-f]*#[12]$' "$d/bare.s")" -eq 6 ] || fail "stripped: $(cat "$d/bare.s")"
[ "$(sites "$d/bare.t")" = "$(sites "$d/again.t")" ] || fail "stripped, another run has other sites"
# each is where nm says that the function begins
for f in first second third; do
    at=$(nm "$d/named" | sed -n "s/^0*\([0-9a-f]*\) t $f$/\1/p")
    grep -q "^bare:+0x$at#1$" "$d/bare.s" || fail "$f is at $at, not in: $(cat "$d/bare.s")"
done
expect 0 "fired 2" sim --faults "cudaMalloc site=bare:+0x$(nm "$d/named" | sed -n 's/^0*\([0-9a-f]*\) t second$/\1/p')#1 -> delay(0)" -- "$d/bare"
exit $bad
