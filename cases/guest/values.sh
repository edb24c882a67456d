#!/bin/sh
# values.sh BUILD - a rule has fired when it did what it says; where it could not, that is told.
. "$(dirname "$0")/../cli/lib.sh"
values=$1/cases/guest_values
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
# CODE RULES WHICH WORDS...: all of these are printed
rule() {
    code=$1 rules=$2 which=$3
    shift 3
    sim --faults "$rules" -- "$values" "$which" >"$out" 2>&1 </dev/null
    got=$?
    for words; do
        grep -qF -- "$words" "$out" && [ $got -eq "$code" ] && continue
        echo "expected exit code $code and \"$words\", got $got from $rules -- $which"
        cat "$out"
        bad=1
        break
    done
}
nothing="nothing was poisoned"

# poison: the whole of it, in the rows, whichever way the direction is said
rule 0 'cudaMemcpy -> poison(nan)' default "code 0 poisoned 1 last error 0" "fired 1"
rule 0 'cudaMemcpy kind=d2h -> poison(nan)' default "code 0 poisoned 1 last error 0" "fired 1"
rule 3 'cudaMemcpy kind=d2h -> poison(nan)' up "matched 0" "last error 0"
rule 0 'cudaMemcpy kind=h2d -> poison(nan)' up "matched 1" "poisoned 0 last error 0"
rule 0 'cudaMemcpy kind=h2d -> poison(nan,count=2000)' whole "poisoned 2000"
rule 0 'cudaMemcpy2D -> poison(nan,count=8)' rows "poisoned 8" "outside 0"
rule 0 'cudaMemset2D size=32 -> poison(nan,count=8)' sets "fired 1"
rule 0 'cudaMemset3D size=64 -> poison(nan,count=16)' sets "poisoned 16" "fired 1"
rule 0 'cudaMemcpy kind=d2h -> poison(nan,count=9)' default "4 of its 9 values have room" "poisoned 4"
# poison: nothing there
rule 3 'cudaMemcpy kind=d2h size=4 -> poison(nan,type=f64)' four "$nothing" "fired 0" "poisoned 0"
rule 3 'cudaMemcpy kind=d2h -> poison(nan)' none "a result of 0 bytes" "$nothing" "fired 0"
rule 3 'cudaMemcpy kind=d2h -> poison(nan)' odd "a result of 2 bytes" "$nothing" "fired 0"
rule 3 'cudaMemcpy kind=d2h -> poison(nan)' fails "the call itself returned" "$nothing" "fired 0"
rule 3 'cudaMemcpyAsync -> poison(nan)' captured "copy 0 end 0 graph 1" "$nothing" "fired 0"
# out of memory: where the program got something else, that is said
rule 3 'cudaMalloc nth=2 -> oom' captured-alloc "the call returned 900 and not out of memory" "fired 0"
rule 0 'cudaMalloc nth=1 -> oom' default "fired 1"
# a budget counts what will be counted: rows of 512 bytes
rule 0 '* budget=1MiB -> oom' pitch "exactly 0 over 2 3D 2 live 0"
# a crash, where the signal is blocked and ignored
rule 5 'cudaMalloc -> crash' crash "signal 11"
grep -q "not crashed" "$out" && { cat "$out"; bad=1; }
# rules of the program are not those of the command line
rule 3 'cudaMalloc nth=1 -> oom' armed "malloc 0 query 2" "rule 1 'cudaMalloc nth=1 -> oom' matched 0, fired 0" \
    "the program armed rules of its own 1 time: matched 1, fired 1"
# a delay makes no result
expect 0 "fired 2" sim --trace "$d/t" --faults 'cudaMemcpy -> delay(0)' -- "$values" whole
"$bin/oomproof" trace "$d/t" | grep INJECTED && { echo "a delay is no result"; bad=1; }
# another kernel where one was: each by its own name
a=$1/cases/libguest_alpha.so b=$1/cases/libguest_bravo.so
expect 0 "matched 2, fired 2" sim --faults 'cudaLaunchKernel kernel=*bravo* -> oom' -- "$1/cases/guest_rude" loads "$a" "$b" "$a" "$b"
sim --trace "$d/k" -- "$1/cases/guest_rude" loads "$a" "$b" >"$out" 2>&1
[ "$("$bin/oomproof" trace "$d/k" --csv | sed -n 's/.*cudaLaunch.*,_Z5\(.*\)Pf$/\1/p' | tr '\n' ' ')" = "alpha bravo " ] ||
    { "$bin/oomproof" trace "$d/k"; bad=1; }
expect 2 "a rule begins with the name of a call, or * for any" sim --faults 'nth=1 -> oom' -- "$values" whole
expect 2 "a rule begins with the name of a call, or * for any" sim --faults '-> oom' -- "$values" whole
# a command that fails hides no rule that never fired
expect 3 "matched" sim --faults 'cudaMalloc nth=99 -> oom' -- sh -c "'$values' whole; exit 1"
# a value of 8 bytes is a double where nothing else is said
cat >"$d/double.c" <<'E'
#include <math.h>
#include <string.h>
int cudaMalloc(void **p, unsigned long n);
int cudaMemcpy(void *to, const void *from, unsigned long n, int kind);
int main(int n, char **words) {
    double x = 3.25, y = 0;
    void *p;
    for (int i = 0; n > 1 && !strcmp(words[1], "sticky") && i < 4; i++) cudaMalloc(&p, 8);
    if (cudaMalloc(&p, 8) || cudaMemcpy(p, &x, 8, 1) || cudaMemcpy(&y, p, 8, 2)) return 2;
    return n > 1 && !strcmp(words[1], "float") ? isnan(y) || y == 3.25 : !isnan(y);
}
E
cc -o "$d/double" "$d/double.c" -L"$1/sim" -l:libcudart.so.13 -lm || exit 7
expect 0 "fired 1" sim --faults 'cudaMemcpy kind=d2h -> poison(nan)' -- "$d/double"
expect 0 "fired 1" sim --faults 'cudaMemcpy kind=d2h -> poison(nan, type=f32)' -- "$d/double" float
# calls that return the code of a context that is dead are events as well
expect 2 "5 calls intercepted" sim --trace "$d/t" --faults 'cudaMalloc nth=2 -> error(cudaErrorIllegalAddress)' -- "$d/double" sticky
[ "$("$bin/oomproof" trace "$d/t" --csv | grep -c ',cudaMalloc,.*,700,')" -eq 4 ] || { "$bin/oomproof" trace "$d/t" --csv; bad=1; }
# to where standard output has come, and on from there
{ sim --json - -- "$values" whole; echo after; } >"$d/both" 2>/dev/null
{ grep -q '^{"exit":0' "$d/both" && tail -1 "$d/both" | grep -qx after; } || { echo "--json -:"; cat "$d/both"; bad=1; }
# rules that were asked for and are none; how they may be written
printf '# only this\n' >"$d/none"
: >"$d/empty"
for text in '' ' ; ' "@$d/none" "@$d/empty"; do
    expect 2 "has no rule" sim --faults "$text" -- "$values" whole
done
expect 2 "$d/none" sim --faults "@$d/none" -- "$values" whole
expect 0 "0 of 0 rules" env OOMPROOF_FAULTS= "$bin/oomproof" run --device sim -- "$values" whole
printf '\357\273\277cudaMalloc->oom\n' >"$d/marked"
expect 0 "fired 1" sim --faults "@$d/marked" -- "$values" whole
expect 0 "fired 1" sim --faults 'cudaMalloc nth=1->oom' -- "$values" whole
printf 'cudaMalloc -> ooom\n' >"$d/wrong"
expect 2 "the rules in $d/wrong: line 1 column 15" sim --faults "@$d/wrong" -- "$values" whole
expect 2 "skip= lets pass" sim --faults 'cudaMalloc skip=5 nth=3 -> oom' -- "$values" whole
expect 2 "size<0" sim --faults 'cudaMalloc size<0 -> oom' -- "$values" whole
# a rule of any bytes, in a JSON that can be read
sim --allow-unfired --json "$d/j" --faults "$(printf 'cudaMalloc site=a\377b -> oom')" -- "$values" whole >"$out" 2>&1
python3 -c 'import json, sys; sys.exit(json.load(open(sys.argv[1], encoding="utf-8"))["rules"][0]["rule"] != "cudaMalloc site=a?b -> oom")' \
    "$d/j" || { cat "$d/j"; bad=1; }
exit $bad
