# import.sh BUILD - logs of RMM, snapshots and messages of PyTorch, and files that mean harm.
build=$1
. "$(dirname "$0")/../cli/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
fail() { echo "$*"; bad=1; }
import() { "$bin/oomproof" import "$@"; }

cat >"$d/rmm.csv" <<'END'
Thread,Time,Action,Pointer,Size,Stream
7,11:32:57:000001,allocate,0x7f01,1048576,0x0
7,11:32:57:000105,allocate,0x7f02,3145728,0x2
8,11:32:58:000007,allocate failure,0x0,9437184,0x2
7,11:32:59:000000,free,0x7f01,1048576,0x0
7,11:32:59:000001,free,0x6fff,2097152,0x0
END
expect 0 "6 events (1 failures), from rmm" import "$d/rmm.csv" -o "$d/r"
grep -q '"e":"hold","size":2097152' "$d/r" || fail "a block from before the log is not held: $(cat "$d/r")"
grep -q '"e":"fail".*"size":9437184.*"code":2.*"live":6291456' "$d/r" || fail "the failure is wrong: $(cat "$d/r")"
expect 0 "driver              1" "$bin/oomproof" replay --capacity 12MiB "$d/r"
expect 0 "driver              0" "$bin/oomproof" replay --capacity 32MiB "$d/r"

python3 - "$d" <<'END'
import json, pickle, sys
d = sys.argv[1]
frames = [{"filename": "/usr/lib/python3/torch/nn/linear.py", "line": 3, "name": "forward"},
          {"filename": "/home/somebody/secret/net.py", "line": 41, "name": "block"}]
trace = [{"action": "alloc", "addr": 10, "size": 4194304, "stream": 0, "time_us": 100, "frames": frames},
         {"action": "segment_alloc", "addr": 10, "size": 20971520, "stream": 0, "time_us": 101},
         {"action": "free_requested", "addr": 10, "size": 4194304, "stream": 0, "time_us": 102},
         {"action": "free_completed", "addr": 10, "size": 4194304, "stream": 0, "time_us": 103},
         {"action": "oom", "size": 83886080, "stream": 0, "device_free": 4194304, "time_us": 104, "frames": frames}]
segment = {"address": 5000, "total_size": 20971520, "device": 0,
           "blocks": [{"size": 2097152, "state": "active_allocated"}, {"size": 18874368, "state": "inactive"}]}
snapshot = {"segments": [segment], "device_traces": [trace, []]}
json.dump(snapshot, open(d + "/snap.json", "w"))
pickle.dump(snapshot, open(d + "/snap.pickle", "wb"))
for protocol in 0, 1:
    pickle.dump(snapshot, open(f"{d}/snap{protocol}.pickle", "wb"), protocol)
class Harm:
    def __reduce__(self):
        import os
        return os.system, ("touch " + d + "/harmed",)
pickle.dump({"segments": [], "device_traces": Harm()}, open(d + "/harm.pickle", "wb"))
pickle.dump({"segments": [], "device_traces": Harm()}, open(d + "/harm0.pickle", "wb"), 0)
open(d + "/cut.pickle", "wb").write(pickle.dumps(snapshot)[:100])
json.dump({"segments": []}, open(d + "/empty.json", "w"))
open(d + "/deep.json", "w").write('{"a":' * 100000)
snapshot["device_traces"][0][0]["size"] = 1 << 60
json.dump(snapshot, open(d + "/huge.json", "w"))
END
for f in snap.json snap.pickle snap0.pickle snap1.pickle; do
    expect 0 "4 events (1 failures), from torch" import "$d/$f" -o "$d/r" --note "a job of mine"
    grep -q '"site":"block (net.py:41)"' "$d/r" || fail "$f: the site is wrong: $(cat "$d/r")"
    grep -q 'somebody' "$d/r" && fail "$f: a folder is in the recording"
    grep -q '"total":25165824' "$d/r" || fail "$f: the card is wrong: $(head -1 "$d/r")"
    expect 0 "caching             1" "$bin/oomproof" replay "$d/r"
done
expect 2 "names posix.system" import "$d/harm.pickle" -o "$d/x"
expect 2 "names posix.system" import "$d/harm0.pickle" -o "$d/x"
[ -e "$d/harmed" ] && fail "a pickle ran code"
expect 2 "damaged pickle" import "$d/cut.pickle" -o "$d/x"
expect 2 "no device_traces" import "$d/empty.json" -o "$d/x"
expect 2 "damaged JSON" import "$d/deep.json" -o "$d/x"
expect 2 "no card has them" import "$d/huge.json" -o "$d/x"
for odd in '{"device_traces":[3]}' '{"device_traces":[[{"action":"alloc","size":1e400,"addr":1}]]}' \
    '{"device_traces":[[]],"segments":[3]}' '{"device_traces":[[]],"segments":[{"total_size":null,"device":0}]}' \
    '{"device_traces":[[]],"segments":[{"total_size":1,"device":0,"address":"x","blocks":[{"size":1}]}]}'; do
    echo "$odd" >"$d/odd.json"
    expect 2 "error: $d/odd.json: " import "$d/odd.json" -o "$d/x"
    grep -q Traceback "$out" && fail "$odd: $(cat "$out")"
done
expect 2 "has the devices 0 to 1" import "$d/snap.json" --gpu 2 -o "$d/x"
[ -e "$d/x" ] && fail "a refused file left something"

echo "RuntimeError: CUDA out of memory. Tried to allocate 2.26 GiB (GPU 0; 6.00 GiB total capacity; 781.59 MiB already
allocated; 1.03 GiB free; 1.24 GiB reserved in total by PyTorch)" >"$d/old.txt"
expect 0 "cudaMalloc size>=2426656522 -> oom" import "$d/old.txt" -o "$d/r"
grep -q '"total":6442450944,"free":1105954078' "$d/r" || fail "the old message is misread: $(head -1 "$d/r")"
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 226.00 MiB. GPU 0 has a total capacity of 15.70 GiB of
which 210.38 MiB is free. Of the allocated memory 14.81 GiB is allocated by PyTorch" >"$d/new.txt"
expect 0 "cudaMalloc size>=236978176 -> oom" import "$d/new.txt" -o "$d/r"
expect 0 "driver              1" "$bin/oomproof" replay "$d/r"
grep -q '"size":236978176' "$d/r" || fail "$(cat "$d/r")"
echo "CUDA out of memory. Tried to allocate 1.00 GiB (GPU 0; 6.00 GiB total capacity; 3.00 GiB already allocated; 512.00 MiB
free; 4.00 GiB reserved in total by PyTorch)" >"$d/kept.txt"
expect 0 "cudaMalloc budget=4831838208 -> oom" import "$d/kept.txt" -o "$d/r"
expect 0 "cudaMalloc size>=1073741824 -> oom" sh -c "'$bin/oomproof' import - -o '$d/r' <'$d/kept.txt'"
echo "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 2147483648 bytes." >"$d/xla.txt"
expect 0 "cudaMalloc size>=2147483648 -> oom" import "$d/xla.txt" -o "$d/r"
echo "Out of memory allocating 4,096,000 bytes (allocated so far: 8,192 bytes)." >"$d/cupy.txt"
expect 0 "cudaMalloc size>=4096000 -> oom" import "$d/cupy.txt" -o "$d/r"
echo "RuntimeError: CUDA error: out of memory" >"$d/bare.txt"
expect 2 "a message without sizes; add a line of nvidia-smi" import "$d/bare.txt" -o "$d/x"
expect 2 "standard input: neither" sh -c "echo no | '$bin/oomproof' import - -o '$d/x'"
cat "$d/kept.txt" "$d/old.txt" >"$d/two.txt"
expect 0 "more than one out-of-memory message; the first is taken" import "$d/two.txt" -o "$d/r"
expect 0 "for oomproof run --faults, to come near to it: the card as it was or requests as large" import "$d/kept.txt" -o "$d/r"
echo "| 30%   45C    P8    20W / 350W |  10240MiB / 24576MiB |      0%      Default |" >"$d/smi.txt"
expect 0 "cudaMalloc budget=25769803776 -> oom" import "$d/smi.txt" -o "$d/r"
expect 0 "cudaMalloc size>=15032385537 -> oom" import "$d/smi.txt" -o "$d/r" # larger than what was free
echo "| 30%   45C    P8    20W / 350W |  12000MiB / 12288MiB |      0%      Default |" >>"$d/smi.txt"
expect 0 "2 cards; the fullest is taken, --gpu 1" import "$d/smi.txt" -o "$d/r"
expect 0 "cudaMalloc budget=25769803776 -> oom" import "$d/smi.txt" --gpu 0 -o "$d/r"
expect 2 "the text has the cards 0 to 1" import "$d/smi.txt" --gpu 2 -o "$d/x"
{ echo "CUDA out of memory. Tried to allocate 15.00 GiB (GPU 0)"; cat "$d/smi.txt"; } >"$d/both.txt"
expect 0 "cudaMalloc budget=25769803776 -> oom" import "$d/both.txt" -o "$d/r"
printf 'index, memory.used [MiB], memory.total [MiB]\n0, 100 MiB, 8192 MiB\n1, 8000 MiB, 8192 MiB\n' >"$d/smi.csv"
expect 0 "cudaMalloc size>=201326593 -> oom" import "$d/smi.csv" -o "$d/r"
printf 'memory.total [MiB], memory.free [MiB]\n8192, 92\n' >"$d/smi.csv" # nounits
expect 0 "cudaMalloc size>=96468993 -> oom" import "$d/smi.csv" -o "$d/r"
printf '\357\273\277' | cat - "$d/rmm.csv" >"$d/bom.csv"
expect 0 "from rmm" import "$d/bom.csv" -o "$d/r"
iconv -t UTF-16 "$d/new.txt" >"$d/wide.txt"
expect 0 "cudaMalloc size>=236978176 -> oom" import "$d/wide.txt" -o "$d/r"
echo "CUDA out of memory. Tried to allocate 1..2 GiB" >"$d/dots.txt"
expect 2 "a message without sizes" import "$d/dots.txt" -o "$d/x"
echo "nothing of the kind" >"$d/no.txt"
expect 2 "neither an RMM log" import "$d/no.txt" -o "$d/x"
expect 2 "Tried to allocate" sh -c "'$bin/oomproof' import $d/no.txt -o $d/x"
expect 2 "no card has them" sh -c "echo 'Tried to allocate 1048475.00 GiB' >$d/no.txt; '$bin/oomproof' import $d/no.txt -o $d/x"
printf 'Thread,Time,Action,Pointer,Size,Stream\n1,2,allocate,0x1,many,0x0\n' >"$d/bad.csv"
expect 2 "line 2: not a row" import "$d/bad.csv" -o "$d/x"
expect 2 "No such file" import "$d/none" -o "$d/x"
expect 2 "cannot be written" import "$d/rmm.csv" -o /nowhere/x
expect 0 "usage" import --help
exit $bad
