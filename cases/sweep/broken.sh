# broken.sh BUILD - a program that knows nothing of oomproof: right, it is clean; with each of the usual mistakes, the
# sweep names it; and what it prints repeats it.
. "$(dirname "$0")/lib.sh"
prog=$build/cases/sweep_broken
swept 0 "recovered exactly" "refused cleanly" "7 fault points" "0 findings" "fired nothing" ++ -- "$prog"
swept 0 "refused cleanly" "0 findings" ++ --status --calls 'cuda*' -- "$prog"
swept 0 "1 fault points" "1 nan once: refused cleanly" "0 findings" ++ --nan -- "$prog" # an integer is none
printf '#!/bin/sh\ncmp "$1" "$2" && grep -qx 6048 "$2"\n' >"$dir/compare"
chmod +x "$dir/compare"
swept 0 "0 findings" ++ --compare "$dir/compare" -- "$prog"
swept 0 "0 findings" ++ --no-fork --compare "$dir/compare" -- "$prog"
swept 1 "FINDING state drift" "it printed something else" ++ --once --compare false -- "$prog"
# behind whatever starts it
for way in "env A=1 $prog" "sh -c $prog" "sh -c true;$prog"; do
    # shellcheck disable=SC2086
    set -- $way
    [ "$1" = sh ] && set -- sh -c "${way#sh -c }"
    swept 0 "7 fault points" "recovered exactly" "0 findings" "fired nothing" ++ -- "$@"
done
# a second fault has what the first printed before it, and its repetition has both
swept 0 "pairs)" "0 findings" "fired nothing" ++ --pairs -- "$prog"
swept 4 "no run is left" ++ --site nosuch -- "$prog"
# the way to each point, for the report; the shim's own functions are not in it
"$build/bin/oomproof" sweep --device sim --json "$dir/way.json" -- "$prog" >"$dir/out" 2>&1
grep -q '^"[a-z_].*main"' "$dir/way.json" && grep -q '"point":1,.*"stack":0' "$dir/way.json" || { echo "no way to the points:"; cat "$dir/way.json"; bad=1; }
grep '^"' "$dir/way.json" | grep -q 'op_\|cudaMalloc' && { echo "the shim is in the way to a point"; cat "$dir/way.json"; bad=1; }
BUG=leak
export BUG
swept 1 " 1 findings" "NOT PROVED COMPLETE" ++ --once --jobs 1 --max-findings 1 -- "$prog"
swept 1 "FINDING leak" ++ --once --max-findings 1 --keep-going --site '*add_all*' -- "$prog"
swept 1 "FINDING leak" "512 device bytes more" ++ --once -- "$prog"
repeat=$(sed -n 's/^  repeat: oomproof //p' "$dir/out" | head -1)
eval "\"$build/bin/oomproof\" $repeat" >"$dir/out" 2>&1 && { echo "the repeat line finds nothing: $repeat"; bad=1; }
grep -q "FINDING leak" "$dir/out" || { echo "the repeat line finds something else: $repeat"; cat "$dir/out"; bad=1; }
# what CI reads: each run a test, a finding with its reason and the command that repeats it
swept 1 "FINDING leak" ++ --once --junit "$dir/junit.xml" -- "$prog"
python3 - "$dir/junit.xml" "$dir/json" <<'E' || { cat "$dir/junit.xml"; bad=1; }
import json, sys, xml.etree.ElementTree as xml
suite, sweep = xml.parse(sys.argv[1]).getroot(), json.load(open(sys.argv[2]))
tests, failures = suite.findall("testcase"), suite.findall("testcase/failure")
assert len(tests) == int(suite.get("tests")) == len(sweep["results"]) > 1, suite.attrib
assert len(failures) == int(suite.get("failures")) == len(sweep["findings"]) > 0, suite.attrib
for f, x in zip(failures, sweep["findings"]):
    assert f.get("message") == x["verdict"] and x["why"] in f.text and x["repeat"] in f.text, f.text
E
swept 1 "FINDING leak" "--then" ++ --once --pairs -- "$prog"
repeat=$(sed -n 's/^  repeat: oomproof \(.*--then.*\)/\1/p' "$dir/out" | head -1)
eval "\"$build/bin/oomproof\" $repeat" >"$dir/out" 2>&1 && { echo "the repeat line of a pair finds nothing: $repeat"; bad=1; }
grep -q "FINDING leak.*then at" "$dir/out" || { echo "the repeat line of a pair finds something else: $repeat"; cat "$dir/out"; bad=1; }
BUG=swallow
swept 1 "FINDING state drift" "it printed something else" ++ --once -- "$prog"
BUG=loses-half
swept 1 "FINDING state drift" ++ --once -- "$prog"
BUG=catches-everything
swept 1 "FINDING swallowed" ++ --status -- "$prog"
BUG=gives-up
swept 0 "none of the 7 out-of-memories that came once was recovered from" "7 once: refused cleanly" ++ -- "$prog"
swept 1 "FINDING state drift" "was not recovered: exit code" "--must-recover" ++ --once --must-recover -- "$prog"
BUG=
swept 1 "FINDING state drift" ++ --once --must-recover -- "$prog" # what it needs to start
BUG=nan-blind
swept 1 "FINDING swallowed" "cudaMemcpy" "--kinds nan --point 1" ++ --nan -- "$prog"
BUG=crash
swept 1 "FINDING crash" "signal 11" ++ --once -- "$prog"
BUG=never-ends
swept 1 "FINDING" ++ --persistent --timeout 2 -- "$prog"
swept 1 "FINDING wrong gradient" "gradient is off by inf" ++ --once -- "$build/cases/sweep_infinite"
NAN=1
export NAN
swept 1 "FINDING wrong gradient" "gradient is off by nan" ++ --once -- "$build/cases/sweep_infinite"
unset NAN
for way in --no-fork; do
    BUG=leak
    swept 1 "FINDING leak" "512 device bytes more" ++ --once $way -- "$prog"
    BUG=crash
    swept 1 "FINDING crash" ++ --once $way -- "$prog"
done
BUG=
swept 4 "no fault point" ++ --calls cudaMallocManaged -- "$prog"
swept 4 "nothing was intercepted" ++ -- true
swept 5 "the run without faults failed, exit code 1; nothing was intercepted, \`oomproof doctor\` says more" ++ -- false
swept 5 "the run without faults failed, by signal 9" ++ -- sh -c 'kill -9 $$'
swept 2 "expected a whole number" ++ --step 0 -- "$prog"
swept 2 "no command" ++
swept 2 "--kinds are oom, status" ++ --kinds oom,memory -- "$prog"
swept 2 "--kinds needs one" ++ --kinds '' -- "$prog"
swept 2 "--shard is I/N" ++ --shard 3/2 -- "$prog"
exit $bad
