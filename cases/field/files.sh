# files.sh BUILD SOURCE WHAT - recordings: made, kept through a kill and a full disk, replayed, reduced, refused.
build=$1 source=$2
. "$(dirname "$0")/../cli/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }
small="$bin/pointtrain train --data rooms:2,max=900 --batch 2 --steps 2 --quiet --allocator direct"
record() { "$bin/oomproof" record --device sim -o "$d/r.oomt" "$@"; }
replay() { "$bin/oomproof" replay --device sim "$@"; }
case $3 in
record) # what was recorded comes again: site, ordinal, size, attempts; a broken recovery is noticed
    demo="train --data rooms:4,max=60000 --seed 21 --batch 4 --steps 1 --quiet --allocator direct"
    expect 0 "3 failures), 0 before them not kept; recovered" record --faults 'cudaMalloc budget=56MiB -> oom' -- \
        "$bin/pointtrain" $demo
    expect 0 "as recorded, recovered" replay "$d/r.oomt" -- "$bin/pointtrain" $demo
    expect 0 "as recorded" replay --repeat 2 --quiet "$d/r.oomt" -- "$bin/pointtrain" $demo
    # an event has one number: of its line in the file, the head apart
    at() { grep -n "\"e\":\"$1\"" "$d/r.oomt" | sed -n "$2s/:.*//p"; }
    third=$(($(at fail 3) - 1)) first=$(($(at fail 1) - 1))
    expect 1 "event $third of the recording differs" replay "$d/r.oomt" -- "$build/cases/field_broken" $demo
    expect 1 "event $first of the recording differs" replay "$d/r.oomt" -- "$bin/pointtrain" ${demo%21*}22${demo#*21}
    expect 0 "event $third failed: cudaMalloc of" replay "$d/r.oomt"
    expect 0 "driver " replay "$d/r.oomt" --capacity 56MiB
    n=$(sed -n 's/^driver .*event \([0-9]*\),.*/\1/p' "$out")
    size=$(sed -n 's/^driver .*event [0-9]*, \([0-9]*\) bytes.*/\1/p' "$out")
    sed -n "$((n + 1))p" "$d/r.oomt" | grep -q "\"size\":$size," || fail "event $n has not $size bytes: $(cat "$out")"
    grep -q "$HOME\|$build" "$d/r.oomt" && fail "a recording names a folder of this machine"
    expect 0 "12345" sh -c "OOMPROOF_RECORD=$d/env.ring '$bin/oomproof' run --device sim -- $small && echo 12345"
    expect 0 "0 failures" "$bin/oomproof" record -o "$d/env.oomt" --finish "$d/env.ring" ;;
triples) # 12 at least, each with a phase, a call and a kind of error that no other has
    n=$(cd "$source/fixtures/field" && for f in *.oomt; do
        sed -n '/"e":"fail"/{s/.*"call":"\([A-Za-z0-9_]*\)".*"ph":"\([a-z]*\)".*"code":\([0-9]*\).*/\2 \1 \3/p
                s/.*"call":"\([A-Za-z0-9_]*\)".*"code":\([0-9]*\).*/none \1 \2/p}' "$f" | tail -1
    done | sort -u | wc -l)
    [ "$n" -ge 12 ] || fail "only $n different (phase, call, code)" ;;
walk) # the five commands of fixtures/README.md, as they stand there, for a job that ends without a message
    mkdir "$d/field" "$d/bin"
    sed "s#$source/fixtures#$d#" "$build/cases/field/each.cmake" >"$d/CTestTestfile.cmake"
    sed '/^```$/,/^```$/!d; /^```$/d' "$source/fixtures/README.md" | head -5 |
        sed "s#\$HOME#$d#g; s#/usr/local/lib#$build/lib#; s#\./train --data \.\.\.#$small#
            s#fixtures/field/#$d/field/#; s#--test-dir build#--test-dir $d#" >"$d/commands"
    [ "$(wc -l <"$d/commands")" -eq 5 ] || fail "not five commands: $(cat "$d/commands")"
    PATH=$bin:$PATH
    export OOMPROOF_DEVICE=sim
    cd "$d" || exit 7
    (
        eval "$(sed -n 1p commands)"
        export LD_LIBRARY_PATH="$build/sim" OOMPROOF_FAULTS='cudaMalloc phase=backward nth=3 -> oom'
        $small
    ) || fail "the job does not end by itself"
    expect 0 "(1 failures), 0 before them not kept; recovered" sh -c "$(sed -n 2p commands)"
    expect 0 "driver              0" sh -c "$(sed -n 3p commands)"
    expect 0 "as recorded, recovered" sh -c "$(sed -n 4p commands)"
    expect 0 "100% tests passed, 0 tests failed out of 1" sh -c "$(sed -n 5p commands)"
    expect 8 "field.job" sh -c "sed -i 's/\"expect\":\"recovered\"/\"expect\":\"loss\"/' field/job.oomt; $(
        sed -n 5p commands | sed 's/.*&& //')" ;;
said) # what a recording shows of itself, and what record says of rules and rings
    export OOMPROOF_FAULTS='cudaMalloc phase=backward nth=3 -> oom'
    expect 0 "(1 failures)" record -- $small
    unset OOMPROOF_FAULTS
    echo 'cudaMalloc phase=backward nth=3 -> oom' >"$d/rules"
    expect 0 "(1 failures)" record --faults "@$d/rules" -- $small
    expect 2 "none: No such file" record --faults "@$d/none" -- $small
    expect 2 "none: No such file" "$bin/oomproof" sweep --faults "@$d/none" -- $small
    expect 0 " failed: cudaMalloc of" replay "$d/r.oomt"
    expect 0 "1 of the failures were made by rules" replay "$d/r.oomt"
    expect 2 "it is a recording: oomproof replay FILE" "$bin/oomproof" trace "$d/r.oomt"
    expect 0 "no rule made a call fail" record --faults 'cudaMalloc phase=nosuch -> oom' -- $small
    expect 2 "OOMPROOF_FAULTS): line 1" env OOMPROOF_FAULTS=garbage "$bin/oomproof" record -o "$d/x" -- $small
    expect 2 "--capacity and --threads are of the models" replay --capacity 1GiB "$d/r.oomt" -- $small
    expect 2 "./nowhere cannot be started" replay "$d/r.oomt" -- ./nowhere
    expect 4 "nothing was recorded" record --finish "$d/none.ring"
    rm -f "$d/new"
    "$bin/oomproof" record -o "$d/new" --finish "$d/none.ring" 2>/dev/null
    [ -e "$d/new" ] && fail "an empty recording is left"
    guest=$build/cases/guest_any
    OOMPROOF_RECORD=$d/live.ring "$bin/oomproof" run --device sim -- "$guest" for-ever "$d" >"$out" 2>&1 &
    while [ ! -s "$d/live.ring" ] || [ "$("$bin/oomproof" trace "$d/live.ring" 2>/dev/null | wc -l)" -lt 50 ]; do :; done
    expect 2 "still writes it" "$bin/oomproof" record -o "$d/x" --finish "$d/live.ring"
    kill -9 "$(pgrep -f "^$guest for-ever $d")"
    wait
    expect 0 "failures" "$bin/oomproof" record -o "$d/x" --finish "$d/live.ring" ;;
ring) # a kill and a full disk leave what was recorded
    guest=$build/cases/guest_any
    OOMPROOF_RECORD=$d/k.ring OOMPROOF_RECORD_EVENTS=500 "$bin/oomproof" run --device sim -- "$guest" for-ever "$d" >"$out" 2>&1 &
    while [ ! -s "$d/k.ring" ] || [ "$("$bin/oomproof" trace "$d/k.ring" 2>/dev/null | wc -l)" -lt 400 ]; do :; done
    kill -9 $(pgrep -f "^$guest for-ever $d")
    wait
    expect 0 " events (0 failures)" "$bin/oomproof" record -o "$d/k.oomt" --finish "$d/k.ring"
    [ "$(grep -c '"e":"alloc"' "$d/k.oomt")" -ge 200 ] || fail "too few events: $(wc -l "$d/k.oomt")"
    expect 0 "driver" replay "$d/k.oomt"
    (
        trap '' XFSZ
        ulimit -f 512
        record -- "$guest" one
        echo "exit code $?"
    ) 2>&1 | cat >"$out"
    grep -q "the run goes on" "$out" || fail "a full disk is not said: $(cat "$out")"
    grep -q "the ring could not be written" "$out" || fail "why nothing was recorded is not said: $(cat "$out")"
    [ -e "$d/r.oomt.ring" ] && fail "an empty ring is left"
    (
        trap '' XFSZ
        ulimit -f 5000 # of 512 bytes
        record -- "$guest" one
        echo "exit code $?"
    ) 2>&1 | cat >"$out"
    grep -q "no room for the last 65536 events; 16384 are kept" "$out" || fail "a smaller ring is not said: $(cat "$out")"
    grep -q "exit code 0" "$out" || fail "a smaller ring is no recording: $(cat "$out")"
    OOMPROOF_RECORD=$d/full.ring sim "$guest" one >"$out" 2>&1
    (
        trap '' XFSZ
        ulimit -f 0
        "$bin/oomproof" record -o "$d/full.oomt" --finish "$d/full.ring"
    ) 2>&1 | cat >"$out"
    grep -q "the ring is still there" "$out" || fail "where the ring is, is not said: $(cat "$out")"
    [ -e "$d/full.oomt" ] && fail "an empty recording is left on the full disk"
    expect 0 "0 failures" "$bin/oomproof" record -o "$d/full.oomt" --finish "$d/full.ring"
    grep -q '"program":"guest_any"' "$d/full.oomt" || fail "whose ring it was, is not in it: $(head -1 "$d/full.oomt")"
    [ ! -e "$d/full.ring" ] || fail "the ring stays when it has become a recording"
    record --last 16 --faults 'cudaMalloc phase=forward nth=40 -> oom' -- $small >"$out" 2>&1
    expect 0 "as recorded" replay "$d/r.oomt" -- $small
    grep -q '"cublas":[0-9]*,"cudnn":[0-9]' "$d/r.oomt" || fail "no versions of the libraries: $(head -1 "$d/r.oomt")"
    sed '1s/"total":./"total":7/' "$d/r.oomt" >"$d/edited.oomt"
    expect 2 "the card" replay "$d/edited.oomt"
    sed '1s/"expect":"[a-z]*"/"expect":"any"/' "$d/r.oomt" >"$d/edited.oomt"
    expect 0 "driver" replay "$d/edited.oomt"
    [ "$(wc -l <"$d/r.oomt")" -le 40 ] || fail "16 events were to be kept, not $(wc -l <"$d/r.oomt")" ;;
died) # a job that recovers at first, and dies later: of that failure is the recording
    rules='cudaMalloc phase=forward nth=5 -> oom; cublasSgemm phase=backward nth=500 -> status(CUBLAS_STATUS_INVALID_VALUE)'
    expect 11 "refused" record --last 200 --faults "$rules" -- $small --steps 4
    [ "$(grep '"e":"fail"' "$d/r.oomt" | grep -c cublasSgemm)" -eq 1 ] && [ "$(grep -c '"e":"fail"' "$d/r.oomt")" -eq 1 ] ||
        fail "the failure it died of is not what is kept: $(grep '"e":"fail"' "$d/r.oomt")"
    grep '"e":"step"' "$d/r.oomt" | tail -1 | grep -q '"failed":1' || fail "its step is not there: $(grep step "$d/r.oomt")"
    expect 0 "as recorded, refused" replay --quiet "$d/r.oomt" -- $small --steps 4
    expect 11 "1 failures" record --first --last 200 --faults "$rules" -- $small --steps 4
    grep '"e":"fail"' "$d/r.oomt" | grep -q cudaMalloc || fail "the first failure does not stay: $(grep fail "$d/r.oomt")"
    grep -q '"e":"step".*"attempts":2.*"n":1' "$d/r.oomt" || fail "its step is not there: $(grep step "$d/r.oomt")"
    grep -q '"expect":"any"' "$d/r.oomt" || fail "what is not in it, is expected of it: $(head -1 "$d/r.oomt")"
    expect 0 "as recorded" replay --quiet "$d/r.oomt" -- $small --steps 4 ;;
lost) # failures that the ring has gone over: the calls after them come again only if they do too
    rules='cudaMalloc phase=forward nth=5 -> oom; cudaMalloc phase=forward nth=40 -> oom
        cublasSgemm phase=forward nth=300 -> status(CUBLAS_STATUS_INVALID_VALUE)'
    expect 11 "refused" record --last 150 --faults "$rules" -- $small --steps 9
    [ "$(grep -c '"e":"lost".*cudaMalloc' "$d/r.oomt")" -ge 1 ] || fail "no earlier failure is in it: $(grep -c lost "$d/r.oomt")"
    expect 0 "as recorded, refused" replay --quiet "$d/r.oomt" -- $small --steps 9
    sed 's/\("e":"lost".*"o":\)[0-9]*/\177777/' "$d/r.oomt" >"$d/other.oomt"
    expect 2 "damaged" replay --quiet "$d/other.oomt" -- $small --steps 9
    expect 0 "driver              0" replay --capacity 1GiB "$d/r.oomt" ;;
killed) # a job that is killed while it is recorded: its ring, and a recording that says what is known of its end
    guest=$build/cases/guest_any
    "$bin/oomproof" record --device sim -o "$d/k.oomt" -- "$guest" for-ever "$d" >"$out" 2>&1 &
    while [ ! -s "$d/k.oomt.ring" ] || [ "$("$bin/oomproof" trace "$d/k.oomt.ring" 2>/dev/null | wc -l)" -lt 50 ]; do :; done
    kill -9 "$(pgrep -f "^$guest for-ever $d")"
    wait
    grep -q '"expect":"none"' "$d/k.oomt" || fail "more than nothing is expected: $(head -1 "$d/k.oomt")"
    grep -q "nothing failed: a replay tests only that nothing does" "$out" || fail "$(cat "$out")"
    "$bin/oomproof" record --device sim -o "$d/l.oomt" -- "$guest" for-ever "$d" >"$out" 2>&1 &
    pid=$!
    while [ ! -s "$d/l.oomt.ring" ] || [ "$("$bin/oomproof" trace "$d/l.oomt.ring" 2>/dev/null | wc -l)" -lt 50 ]; do :; done
    kill -9 "$(pgrep -f "^$guest for-ever $d")" $pid
    wait
    [ ! -e "$d/l.oomt" ] || fail "an empty recording is left"
    while ! "$bin/oomproof" record -o "$d/l.oomt" --finish "$d/l.oomt.ring" 2>"$out"; do :; done
    grep -q '(0 failures)' "$out" || fail "$(cat "$out")" ;;
junit) # what CI reads: as recorded, not as recorded, not started; and the page has it beside the recording
    record --faults 'cudaMalloc phase=backward nth=3 -> oom' --note 'a <note>' -- $small >"$out" 2>&1
    has() { # PATTERN...: each is in the file
        for p; do grep -q "$p" "$d/j.xml" || fail "no '$p' in the JUnit: $(cat "$d/j.xml")"; done
        python3 -c "import sys, xml.etree.ElementTree as x; x.parse(sys.argv[1])" "$d/j.xml" || fail "no XML"
    }
    expect 0 "as recorded" replay --junit "$d/j.xml" --repeat 2 --quiet "$d/r.oomt" -- $small
    has 'tests="2" failures="0" errors="0" skipped="0"' 'name="r, run 1"' 'name="r, run 2"'
    expect 1 "differs" replay --junit "$d/j.xml" --repeat 3 --quiet "$d/r.oomt" -- ${small%--allocator*}
    has 'tests="3" failures="1" errors="0" skipped="2"' '<failure message="exit code 1">event [0-9]* of the recording differs&#10;' \
        'recorded: a &#60;note&#62;</failure>' '<skipped'
    expect 2 "cannot be started" replay --junit "$d/j.xml" "$d/r.oomt" -- "$d/none"
    has 'failures="0" errors="1"' '<testcase classname="replay" name="r"' '<error message="exit code 2">the command cannot be started'
    replay --junit "$d/j.xml" --quiet "$d/r.oomt" -- $small >"$out" 2>&1
    expect 0 "nothing was found wrong" "$bin/oomproof" report -o "$d/page" "$d/j.xml" "$d/r.oomt"
    grep -q '>passed</td>' "$d/page/index.html" || fail "the page does not have the replay beside its recording"
    expect 7 "cannot be written" replay --junit /nowhere/j.xml --quiet "$d/r.oomt" -- $small
    expect 2 "is of a program that is run again" replay --junit "$d/j.xml" "$d/r.oomt" ;;
reduce)
    demo="$bin/pointtrain train --data rooms:4,max=60000 --seed 21 --batch 4 --steps 1 --quiet --allocator direct"
    record --faults 'cudaMalloc budget=56MiB -> oom' -- $demo >"$out" 2>&1
    expect 0 "1 of 3 failures" "$bin/oomproof" reduce "$d/r.oomt" --device sim -o "$d/s.oomt" -- $demo
    expect 0 "as recorded" replay "$d/s.oomt" -- $demo
    expect 2 "--sim-memory is a size" "$bin/oomproof" reduce "$d/r.oomt" --sim-memory x -o "$d/s.oomt" -- $demo
    expect 0 "2 failures" "$bin/oomproof" record --device sim --sim-memory 64MiB -o "$d/own.oomt" -- $demo
    expect 0 "1 of 2 failures" "$bin/oomproof" reduce "$d/own.oomt" --device sim -o "$d/s.oomt" -- $demo
    expect 0 "as recorded, recovered" replay "$d/s.oomt" -- $demo
    expect 0 "events" "$bin/oomproof" reduce "$d/r.oomt" --capacity 60MiB -o "$d/s.oomt"
    [ "$(wc -l <"$d/s.oomt")" -lt 60 ] || fail "not reduced: $(wc -l <"$d/s.oomt") lines"
    expect 0 "driver              1" replay "$d/s.oomt"
    grep -q '"expect":"any"' "$d/s.oomt" && ! grep -q '"command"' "$d/s.oomt" || fail "a stream has a program: $(head -1 "$d/s.oomt")"
    few="$bin/pointtrain train --data rooms:2,max=900 --batch 2 --steps 2 --quiet --allocator direct"
    expect 13 "loss" record --with-command --faults 'cudaMalloc budget=25.0MiB -> oom' -- $few
    expect 0 "of 12 failures" "$bin/oomproof" reduce "$d/r.oomt" --device sim -o "$d/s.oomt" -- $few
    expect 0 "as recorded, loss" replay "$d/s.oomt" -- $few # with fewer before them, failures are of other sizes
    expect 1 "nothing fails in it" "$bin/oomproof" reduce "$d/r.oomt" -o "$d/s.oomt" ;;
stream) # capacity and scale
    record -- $small >"$out" 2>&1
    expect 0 "driver              0" replay "$d/r.oomt"
    expect 0 "none" replay --capacity 64MiB "$d/r.oomt"
    replay --capacity 26MiB "$d/r.oomt" >"$d/table"
    [ "$(grep -c ' 0  ' "$d/table")" -eq 0 ] && [ "$(grep -c 'event [0-9]' "$d/table")" -eq 4 ] ||
        fail "a card that is too small suits some model: $(cat "$d/table")"
    replay --capacity 64MiB --scale 4 "$d/r.oomt" >"$d/table"
    [ "$(grep -c 'event [0-9]' "$d/table")" -eq 4 ] || fail "four times as large still fits: $(cat "$d/table")"
    replay --capacity 64MiB --threads 3 "$d/r.oomt" >"$d/table"
    [ "$(grep -c 'event [0-9]' "$d/table")" -eq 4 ] || fail "three on one card still fit: $(cat "$d/table")" ;;
scenes) # the sizes of the batches, without the program that had them: the same ones fail
    printf '7 8\n1 0\n' >"$d/zero"
    printf '# sizes\n9000 8000 7000\n800 700\n\n6000 6000 6000 6000\n' >"$d/shapes"
    train="train --data shapes:$d/shapes --steps 4 --quiet --allocator direct --plan-ahead off"
    expect 0 "(0 failures)" record -- "$bin/pointtrain" $train
    [ "$(sed -n 's/.*"e":"sample".*"points":\([0-9]*\).*/\1/p' "$d/r.oomt" | tr '\n' ' ')" = \
        "9000 8000 7000 800 700 6000 6000 6000 6000 9000 8000 7000 " ] || fail "other sizes: $(grep sample "$d/r.oomt")"
    expect 0 "4 batches, none of which failed" replay --scenes "$d/r.oomt"
    expect 0 "recovered" record --faults 'cudaMalloc budget=36MiB -> oom' -- "$bin/pointtrain" $train
    failed=$(grep -c '"e":"fail"' "$d/r.oomt")
    [ "$failed" -ge 1 ] || fail "nothing failed: $(cat "$d/r.oomt" | tail -3)"
    expect 0 "as scenes: recovered" replay --scenes "$d/r.oomt"
    for k in 1 3 4; do # and the second, of 1,500 points, did not
        grep -q "^ *$k .* [1-9][0-9]* failures, [0-9]* splits, 0 points dropped" "$out" || fail "batch $k: $(cat "$out")"
    done
    grep -q "1 others failed neither" "$out" || fail "$(cat "$out")"
    expect 0 "as scenes: recovered" replay --scenes --scale 0.5 --repeat 2 "$d/r.oomt" -- --norm batch
    expect 1 "0 of 4 batches came through pointtrain, which ended with 14" replay --scenes "$d/r.oomt" -- \
        --checkpoint /nowhere/x
    expect 2 "--norm none: expected one of" replay --scenes "$d/r.oomt" -- --norm none
    expect 2 "does not say what its batches were" replay --scenes "$source/fixtures/field/pinned-host.oomt"
    expect 2 "batch 1 has 3 samples, one of 9000000 points" replay --scenes --scale 1000 "$d/r.oomt"
    expect 2 "line 2: 0: not a number of points" sim "$bin/pointtrain" train --data "shapes:$d/zero" ;;
ends) # how a run ended is part of what was recorded, and what fails after that
    expect 3 "1 failures" record --faults 'cudaMalloc phase=backward nth=3 -> oom' -- sh -c "$small; exit 3"
    expect 0 "as recorded, refused" replay --quiet "$d/r.oomt" -- sh -c "$small; exit 3"
    expect 1 "it ended with exit code 0, and 3 when it was recorded" replay --quiet "$d/r.oomt" -- sh -c "$small"
    expect 1 "recorded: nothing" replay --quiet "$d/r.oomt" -- sh -c "$small --steps 3; exit 3"
    guest=$build/cases/guest_any
    record -- "$guest" one >"$out" 2>&1
    for what in "replay $d/r.oomt" "reduce $source/fixtures/field/backward.oomt -o $d/s.oomt"; do
        # shellcheck disable=SC2086
        "$bin/oomproof" $what --device sim -- "$guest" for-ever "$d" >"$out" 2>&1 &
        until pgrep -f "^$guest for-ever $d" >/dev/null; do :; done
        kill -TERM $!
        wait $!
        [ $? -eq 143 ] || fail "$what is not stopped by SIGTERM: $(cat "$out")"
        pgrep -f "^$guest for-ever $d" >/dev/null && fail "what it started goes on"
    done ;;
places) # files that are no rings of ours stay; what is read is not written over
    guest=$build/cases/guest_any
    "$bin/oomproof" run --device sim --trace "$d/t" -- "$guest" one >"$out" 2>&1
    expect 4 "a trace, and no ring" record --finish "$d/t"
    [ -s "$d/t" ] || fail "the trace is gone"
    for ring in job.ring job.ring.20261202; do
        OOMPROOF_RECORD="$d/$ring" "$bin/oomproof" run --device sim -- "$guest" one >"$out" 2>&1
    done
    expect 0 "0 failures" record --finish "$d/job.ring"
    [ -s "$d/job.ring.20261202" ] || fail "the ring of another job is gone"
    expect 0 "0 failures" record -- "$guest" one
    cp "$d/r.oomt" "$d/same.oomt"
    expect 2 "is what is read" replay "$d/r.oomt" --junit "$d/r.oomt" -- "$guest" one
    expect 7 "is what is read" "$bin/oomproof" reduce "$source/fixtures/field/fragmented.oomt" -o \
        "$source/fixtures/field/fragmented.oomt"
    cmp -s "$d/r.oomt" "$d/same.oomt" || fail "a recording is written over"
    expect 2 "a program has its sizes" replay --scale 2 "$d/r.oomt" -- "$guest" one
    sed 's/"e":"alloc"\(.*\)"call":"cudaMalloc"/"e":"fail"\1"code":2,"call":"cudaMallocNew"/; $d' "$d/r.oomt" >"$d/n.oomt"
    python3 - "$d/n.oomt" <<'END'
import sys
lines = open(sys.argv[1]).read().splitlines(True)[1:]
h = 14695981039346656037
for b in "".join(lines).encode():
    h = (h ^ b) * 1099511628211 % 2**64
open(sys.argv[1], "w").write('{"oomt":1,"expect":"any"}\n' + "".join(lines) +
    '{"end":{"events":%d,"lost":0,"peak":%d,"sum":"%016x"}}\n' % (len(lines),
    max(int(l.split('"live":')[1].rstrip("}\n")) if '"live"' in l else 0 for l in lines), h))
END
    expect 2 "cudaMallocNew failed, which this version does not know" replay "$d/n.oomt" -- "$guest" one ;;
scratch) # what a killed command left, the next removes; what is in use stays, however old
    guest=$build/cases/guest_any
    export TMPDIR="$d"
    mkdir "$d/oomproof.old.backup" # not one of ours
    touch -d '1 hour ago' "$d/oomproof.old.backup"
    folders() { find "$d" -maxdepth 1 -name 'oomproof.*.??????' ! -name '*backup' | wc -l; }
    wait_for() { until [ "$(folders)" -ge "$1" ] && [ "$(pgrep -fc "^$guest for-ever $d")" -ge "$1" ]; do :; done; }
    "$bin/oomproof" run --device sim -- "$guest" for-ever "$d" >"$out" 2>&1 &
    wait_for 1
    kill -9 $! # of the command, not of the guest
    wait
    "$bin/oomproof" run --device sim -- "$guest" for-ever "$d" >"$out" 2>&1 &
    wait_for 2
    expect 0 "" sim "$guest" one
    [ "$(folders)" -eq 2 ] || fail "one that may not be locked yet is removed: $(ls "$d")"
    touch -d '1 hour ago' "$d"/oomproof.*
    expect 0 "" sim "$guest" one
    [ "$(folders)" -eq 1 ] || fail "not just that of the killed one is removed: $(ls "$d")"
    pkill -9 -f "^$guest for-ever $d"
    wait
    [ -d "$d/oomproof.old.backup" ] || fail "a folder of somebody else is removed"
    [ "$(folders)" -eq 0 ] || fail "left by one that ended: $(ls "$d")"
    expect 7 "TMPDIR names another place" env TMPDIR=/nowhere "$bin/oomproof" run --device sim -- "$guest" one ;;
usage)
    expect 2 "which recording" "$bin/oomproof" replay
    expect 2 "No such file" replay "$d/none" -- true
    expect 2 "line 1: not a recording" replay "$source/README.md" -- true
    expect 2 "one fixture at a time" replay a b
    expect 2 "where to" "$bin/oomproof" record -- true
    expect 2 "cannot be written" "$bin/oomproof" record -o /nowhere/x -- true
    expect 2 "--finish runs nothing" "$bin/oomproof" record -o "$d/x" --finish "$d/none" -- true
    expect 2 "which?" "$bin/oomproof" record -o "$d/x" --finish "$d/none" --with-command
    expect 2 "no command to record" "$bin/oomproof" record -o "$d/x"
    expect 4 "nothing was recorded" record -- true
    expect 2 "names no command" sh -c "grep -v nothing '$source/fixtures/field/backward.oomt' |
        sed '1s/,\"command\":\"[^\"]*\"//' >'$d/x'; '$bin/oomproof' replay --own '$d/x'"
    expect 2 "cut short" sh -c "head -5 '$source/fixtures/field/backward.oomt' >'$d/x'; '$bin/oomproof' replay '$d/x'"
    expect 2 "damaged" sh -c "sed 's/\"size\":512/\"size\":513/' '$source/fixtures/field/backward.oomt' >'$d/x'; \
        '$bin/oomproof' replay '$d/x'"
    sed '1s/"command":"[^"]*"/"command":"touch harmed"/' "$source/fixtures/field/backward.oomt" >"$d/x"
    expect 2 "not a program of ours: touch" replay --own "$d/x"
    [ -e harmed ] && fail "a recording started what it wanted"
    mkdir "$d/bin"
    printf '#!/bin/sh\necho started by its folder\n' >"$d/bin/touch"
    chmod +x "$d/bin/touch"
    expect 4 "started by its folder" env OOMPROOF_PROGRAMS="$d/bin" "$bin/oomproof" replay --own --device sim "$d/x"
    expect 2 "see oomproof replay --help" replay --repeat 0 x
    expect 0 "usage" "$bin/oomproof" reduce --help ;;
*)
    echo "files.sh: no such case: $3"
    exit 2 ;;
esac
exit $bad
