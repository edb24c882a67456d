#!/bin/sh
# doctor.sh BUILD - what doctor says of programs that would run if they were asked, of many libraries, and of itself in a
# folder with a blank.
. "$(dirname "$0")/../cli/lib.sh"
follow=$1/cases/guest_follow
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; cat "$out"; bad=1; }
doctor() { "$bin/oomproof" doctor --device sim -- "$@"; }

# linked statically with a dynamic section of its own: no loader that could be asked
printf '#include <stdio.h>\nint main(void) { return fclose(fopen("%s/ran", "w")); }\n' "$d" >"$d/main.c"
for how in -static-pie -static; do
    cc "$how" -fPIE -o "$d/own" "$d/main.c" 2>"$out" || { cat "$out"; exit 7; }
    expect 4 "statically linked: nothing can be preloaded" doctor "$d/own"
    [ -e "$d/ran" ] && fail "$how: its main function was run"
done
# another loader, which may know nothing of the question
cc -o "$d/other" "$d/main.c" || exit 7
ln -s "$(readelf -l "$d/other" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')" "$d/ld-other.so.1"
cc -Wl,--dynamic-linker="$d/ld-other.so.1" -o "$d/other" "$d/main.c" || exit 7
expect 4 "is not the GNU C library's" doctor "$d/other"
[ -e "$d/ran" ] && fail "another loader: main was run"

# the last of many libraries is missing: the loader's answer is read to its end
echo 'int f(void) { return 0; }' | cc -x c - -shared -fPIC -o "$d/one.so" || exit 7
for i in $(seq 1 150); do
    cp "$d/one.so" "$d/libof_a_name_that_is_rather_long_$i.so"
    libraries="$libraries -lof_a_name_that_is_rather_long_$i"
done
cc -o "$d/many" "$d/main.c" -Wl,--no-as-needed -L"$d" $libraries -Wl,-rpath,"$d" || exit 7
expect 1 "it can be tested" doctor "$d/many"
rm "$d/libof_a_name_that_is_rather_long_150.so"
expect 4 "rather_long_150.so => not found" doctor "$d/many"

# installed in a folder with a blank
mkdir -p "$d/a b:c" && cp -r "$1/bin" "$1/lib" "$d/a b:c" && mkdir "$d/a b:c/sim" && cp "$1"/sim/*.so* "$d/a b:c/sim" || exit 7
there="$d/a b:c/bin/oomproof" export TMPDIR="$d"
expect 0 "it can be tested" "$there" doctor --device sim -- "$follow"
expect 0 "matched 1, fired 1" "$there" run --device sim --faults 'cudaMalloc -> oom' -- "$follow" calls
expect 0 " events" "$there" record --device sim -o "$d/r" -- "$follow" calls
[ -z "$(ls -d "$d"/oomproof.* 2>/dev/null)" ] || fail "left behind: $(ls -d "$d"/oomproof.*)"
TMPDIR="$d/a b:c"
for what in "doctor --device sim --" "run --device sim --"; do
    expect 7 "install oomproof elsewhere, or let TMPDIR" "$there" $what "$follow" calls
done
exit $bad
