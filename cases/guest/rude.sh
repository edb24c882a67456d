#!/bin/sh
# rude.sh BUILD WHAT - the shim in programs that close its descriptors, fork, cancel and unload (rude.c); recordings that are
# asked for at bad places, or hold odd things.
. "$(dirname "$0")/../cli/lib.sh"
build=$1
rude=$build/cases/guest_rude
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }
record() { "$bin/oomproof" record --device sim "$@"; }
replay() { "$bin/oomproof" replay --device sim "$@"; }
case $2 in
descriptors) # a program may close any descriptor: the shim keeps none
    expect 0 "calls intercepted" sim --trace "$d/t" -- "$rude" closes "$d/own"
    [ "$("$bin/oomproof" trace "$d/t" --csv | grep -c cudaStreamQuery)" -eq 5001 ] || fail "calls are not in the trace"
    expect 0 " events" record -o "$d/r" -- "$rude" closes "$d/own"
    [ "$(cat "$d/own")" = "nine byte" ] || fail "the program's own file was written to"
    (cd "$d" && OOMPROOF_TRACE=env "$bin/oomproof" run --device sim -- "$rude" closes "$d/own") >"$out" 2>&1
    [ "$("$bin/oomproof" trace "$d/env" --csv | grep -c cudaStreamQuery)" -eq 5001 ] || fail "after chdir: $(cat "$out")"
    cd "$d" && expect 0 "calls intercepted" sim --trace relative -- sh -c "mkdir sub && cd sub && '$rude' calls 3000"
    [ "$("$bin/oomproof" trace relative --csv | grep -c cudaStreamQuery)" -eq 3000 ] || fail "another folder, another trace" ;;
forks)
    for i in 1 2 3 4 5; do
        expect 0 "calls intercepted" sim --timeout 100 --trace "$d/t" -- "$rude" forks
    done
    expect 3 "matched 0" sim --timeout 100 --faults 'cudaFree site=*nowhere* -> error(cudaErrorUnknown)' -- "$rude" forks
    expect 0 " events" record -o "$d/r" -- "$rude" forks
    expect 0 " events" record -o "$d/r" -- "$rude" child-first
    for i in 1 2 3; do
        rm -f "$d"/t*
        expect 0 "matched 40001, fired 0" sim --allow-unfired --trace "$d/t" --faults 'cuda* nth=99999 -> delay(0)' -- "$rude" clones
        for f in "$d"/t*; do "$bin/oomproof" trace "$f" --csv | tail -n +2 | cut -d, -f4 | sort | uniq -c | tr -s ' \n' ' '; done >"$out"
        [ "$(cat "$out")" = " 20000 cudaFree 1 cudaStreamQuery  20000 cudaStreamQuery " ] || fail "clone: $(cat "$out")"
    done
    for i in 1 2 3 4 5; do # each process counts in a row of its own
        expect 0 "40001 calls intercepted" sim -- "$rude" clones the-same-call
    done
    [ -z "$(ls "$d"/r.ring.* 2>/dev/null)" ] || fail "rings of children in which nothing failed are left" ;;
cancels)
    expect 0 "calls intercepted" sim --timeout 100 --trace "$d/t" -- "$rude" cancels
    expect 0 "calls intercepted" sim --timeout 100 -- "$rude" cancels ;;
unloads) # another library where one was
    a=$build/cases/libguest_plugin.so b=$build/cases/libguest_other.so
    expect 0 "rule 1 'cudaMalloc site=libguest_other.so:plugin_one* -> delay(0)' matched 1, fired 1" sim --trace "$d/t" \
        --faults 'cudaMalloc site=libguest_other.so:plugin_one* -> delay(0)' -- "$rude" loads "$a" "$b" "$a"
    "$bin/oomproof" trace "$d/t" --csv | grep cudaMalloc | cut -d, -f10 | cut -d: -f1 | tr '\n' ' ' >"$d/sites"
    [ "$(cat "$d/sites")" = "libguest_plugin.so libguest_other.so libguest_plugin.so " ] ||
        fail "call sites: $(cat "$d/sites")" ;;
early) # a constructor holds the loader's lock
    for i in $(seq 10); do
        expect 0 "calls intercepted" sim --timeout 100 --trace "$d/t" -- "$rude" early "$build/cases/libguest_early.so"
    done ;;
budgets)
    expect 0 "fired" sim --faults 'cudaMalloc budget=1MiB -> oom' -- "$rude" budgets ;;
leaves) # a call that is left by siglongjmp or by an exception is over, and so is a request that a budget let through
    for depth in 0 3 40; do
        expect 0 "matched 2, fired 1" sim --faults 'cudaMalloc nth=2 -> oom' -- "$rude" leaves $depth
    done
    expect 0 "matched 2, fired 1" sim --faults 'cudaMalloc nth=2 -> oom' -- "$build/cases/guest_any" throws
    for how in '' exits; do
        expect 0 "fired 0" sim --allow-unfired --faults 'cudaMalloc nth=1 -> delay(1); * budget=10MiB -> oom' -- "$rude" promises $how
    done ;;
sites) # more than the first table has room for
    for i in $(seq 5000); do echo "static void g$i(void) { cudaStreamQuery(0); }"; done >"$d/g"
    for i in $(seq 5000); do echo "g$i();"; done >"$d/m"
    { echo 'int cudaStreamQuery(void *);'; cat "$d/g"; echo 'int main(void) {'; cat "$d/m"; echo 'return 0; }'; } >"$d/sites.c"
    cc -O0 -fno-omit-frame-pointer -o "$d/sites" "$d/sites.c" -L"$build/sim" -l:libcudart.so.13 || exit 7
    expect 0 "matched 1, fired 1" sim --trace "$d/t" --faults 'cudaStreamQuery site=sites:g4900#1 -> error(cudaErrorUnknown)' -- "$d/sites"
    "$bin/oomproof" trace "$d/t" --csv | tail -n +2 | cut -d, -f10 | sort -u >"$d/all"
    [ "$(grep -c '^sites:g[0-9]*#1$' "$d/all")" -eq 5000 ] || fail "sites: $(wc -l <"$d/all")" ;;
frees) # one that failed has changed nothing: the block keeps its number
    expect 0 "calls intercepted" sim --trace "$d/t" -- "$rude" frees
    "$bin/oomproof" trace "$d/t" --csv | grep 'cudaMalloc\|cudaFree' | cut -d, -f4-6 | tr '\n' ' ' >"$out"
    [ "$(cat "$out")" = "cudaMalloc,1000,1 cudaFree,1024,1 cudaFree,1024,1 cudaFree,1024,1 " ] || fail "$(cat "$out")" ;;
hooks) # a malloc that calls CUDA, also where the shim allocates
    expect 0 "calls intercepted" sim --timeout 100 -- "$build/cases/guest_hooks"
    expect 0 "calls intercepted" sim --timeout 100 --trace "$d/t" -- "$build/cases/guest_hooks"
    expect 0 "calls intercepted" sim --timeout 100 --allow-unfired --faults 'cudaMalloc site=*:nothing* -> oom' -- "$build/cases/guest_hooks" ;;
limits) # a limit on the size of files is an error, not the end of the program
    for blocks in 1 60 100 300 1000 5000; do
        sh -c "ulimit -f $blocks; exec '$bin/oomproof' run --device sim --trace '$d/t$blocks' -- '$rude' calls 9000" >"$out" 2>&1
        code=$?
        [ $code -eq 0 ] || { [ $blocks -eq 1 ] && [ $code -eq 7 ] && grep -q "oomproof: error" "$out"; } ||
            fail "ulimit -f $blocks: exit code $code: $(cat "$out")"
        sh -c "ulimit -f $blocks; exec '$bin/oomproof' record --device sim -o '$d/r$blocks' -- '$rude' calls 9000" >"$out" 2>&1
        code=$?
        [ $code -le 7 ] && [ $code -ne 5 ] || fail "ulimit -f $blocks: record ends with $code: $(cat "$out")"
    done ;;
lost) # two that want one place: said, and refused before anything runs
    OOMPROOF_RECORD=$d/rec sim --trace "$d/t" -- "$rude" calls 3 >"$out" 2>&1
    [ $? -eq 0 ] && grep -q "trace takes the place of OOMPROOF_RECORD" "$out" || fail "not said: $(cat "$out")"
    [ "$("$bin/oomproof" trace "$d/t" --csv | grep -c cudaStreamQuery)" -eq 3 ] && [ ! -e "$d/rec" ] || fail "the trace is lost"
    OOMPROOF_RECORD=$d/rec OOMPROOF_TRACE=$d/t2 sim -- "$rude" calls 3 >"$out" 2>&1
    grep -q "both set: $d/rec is a recording, and no trace" "$out" || fail "not said: $(cat "$out")"
    ln -s "$d" "$d/here"
    echo 'cudaFree -> delay(0)' >"$d/rules"
    for json in "$d/z" "$d/./z" "$d/here/z"; do
        expect 2 "--json would be written over --trace" sim --trace "$d/z" --json "$json" -- "$rude" calls 3
    done
    [ -e "$d/z" ] && fail "it ran"
    expect 2 "--json would be written over --faults" sim --faults "@$d/rules" --json "$d/here/rules" -- "$rude" calls 3
    [ -s "$d/rules" ] || fail "the rules are gone"
    (cd "$d" && sim --trace z --json /dev/stdout -- "$rude" calls 3) >"$out" 2>&1 || fail "what is no file: $(cat "$out")" ;;
places) # what is there stays, where it is no recording
    OOMPROOF_RECORD=$d/same.ring sim -- "$rude" calls 3 >"$out" 2>&1
    expect 2 "it is what is read" record -o "$d/same.ring" --finish "$d/same.ring"
    mkfifo "$d/fifo"
    expect 2 "not a regular file" record -o "$d/fifo" -- "$rude" calls 1
    expect 2 "not a regular file" record -o /dev/null -- "$rude" calls 1
    expect 4 "not a file" record -o "$d/x" --finish "$d/fifo"
    expect 2 "not a file" replay "$d/fifo"
    ln -s target "$d/link"
    expect 0 "3 events" record -o "$d/link" -- "$rude" odd
    [ -L "$d/link" ] && [ -s "$d/target" ] || fail "a link is replaced: $(ls -l "$d")"
    expect 2 "names the same file" "$bin/oomproof" import "$d/target" -o "$d/target"
    echo "CUDA out of memory. Tried to allocate 2.00 GiB" >"$d/log"
    expect 2 "not a regular file" "$bin/oomproof" import "$d/log" -o /dev/null
    OOMPROOF_RECORD=$d/same.ring expect 0 "same.ring is there already; this process writes" sim -- "$rude" calls 3
    mv "$d/same.ring" "$d/y.ring"
    expect 2 "of a run that did not end" record -o "$d/y" -- "$rude" calls 1
    [ -s "$d/y.ring" ] || fail "the ring of an earlier run is gone" ;;
nulls) # a pointer to nothing is as much as none
    "$rude" nulls 2>"$out" || LD_LIBRARY_PATH=$build/sim "$rude" nulls >"$out" 2>&1 || fail "without the shim: $(cat "$out")"
    expect 0 "3 calls intercepted" sim --trace "$d/t" -- "$rude" nulls
    expect 0 "events" record -o "$d/r" -- "$rude" nulls
    "$bin/oomproof" sweep --device sim -- "$rude" nulls >"$out" 2>&1
    grep -q "fault points" "$out" || fail "a step without a summary: $(cat "$out")"
    grep -q crash "$out" && fail "a step without a summary: $(cat "$out")"
    "$bin/oomproof" sweep --device sim --part part --calls '*' -- "$rude" nulls >"$out" 2>&1
    grep -q "fault points" "$out" || fail "a part without a summary: $(cat "$out")"
    grep -q crash "$out" && fail "a part without a summary: $(cat "$out")" ;;
odd) # what a recording holds can be read again
    expect 0 "3 events (1 failures)" record -o "$d/r" -- "$rude" odd
    grep -q '"ph":"a?b?c"' "$d/r" && grep -q '"size":9223372036854775807' "$d/r" || fail "$(cat "$d/r")"
    expect 0 "as recorded" replay "$d/r" -- "$rude" odd
    expect 0 "1 events" record -o "$d/w" --with-command --faults 'cudaStreamQuery -> error(cudaErrorUnknown)' -- \
        "$rude" says '' "it's" 'x  y' 'back\slash' '$HOME' -
    OOMPROOF_PROGRAMS=$build/cases "$bin/oomproof" replay --device sim --own "$d/w" 2>/dev/null >"$out"
    [ "$(cat "$out")" = "<>
<it's>
<x  y>
<back\\slash>
<\$HOME>
<->" ] || fail "other words are started: $(head -1 "$d/w") $(cat "$out")"
    expect 2 "a control character" record -o "$d/v" --with-command -- "$rude" says "a
b"
    expect 0 "a process that it started has a recording of its own, with 1 failures" record -o "$d/c" -- "$rude" child-fails
    [ "$(ls "$d"/c.ring.* | wc -l)" -eq 1 ] || fail "rings: $(ls "$d")"
    expect 0 "(1 failures)" record -o "$d/c2" --finish "$d"/c.ring.* ;;
esac
exit $bad
