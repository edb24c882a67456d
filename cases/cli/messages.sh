# messages.sh - what somebody does wrong the first time is told with what would be right
. "$(dirname "$0")/lib.sh"
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
rule() { text=$1; rule=$2; expect 2 "$text" sim --faults "$rule" -- true; }
rule "did you mean probability?" 'cudaMalloc prob=5% -> oom'
rule "from 0% to 100%, with its %" 'cudaMalloc probability=5 -> oom'
rule "nth is compared by = and >= only, as nth>=4" 'cudaMalloc nth>3 -> oom'
rule "nth is compared by = and >= only" 'cudaMalloc nth<=3 -> oom'
rule "only size and nth are compared" 'cudaMalloc skip>3 -> oom'
rule "expected a code: a name like cudaErrorMemoryAllocation, or its number" 'cudaMalloc -> status()'
rule "expected a code: a name like" 'cudaMalloc -> error(-1)'
rule "a code of cuDNN, which this call cannot return" 'cudaMalloc -> status(CUDNN_STATUS_BAD_PARAM)'
rule "a code of cuBLAS, which" 'cudnnCreate -> status(CUBLAS_STATUS_ALLOC_FAILED)'
yes 'cudaMalloc nth=9 -> oom' | head -33 >"$d/many"
expect 2 "the rules in $d/many: line 33 column 1: there may be 32 rules" sim --faults "@$d/many" -- true
printf '\357\273\277cudaMalloc nth=1 -> oom\n' >"$d/bom"
expect 4 "rule 1 'cudaMalloc nth=1 -> oom' matched 0" sim --faults "@$d/bom" -- true

rule "did you mean nan?" 'cudaMemcpy -> poison(nna)'
rule "did you mean type=f64?" 'cudaMemcpy -> poison(nan, tipe=f64)'
rule "did you mean count=N?" 'cudaMemcpy -> poison(inf, cuont=3)'

rule "no fault has this name; an error that stays until the process ends: error(cudaErrorIllegalAddress)" 'cudaMalloc -> sticky'
rule "a fault's argument is in parentheses: status(1)" 'cudaMalloc -> status=1'
rule "a fault's argument is in parentheses: status(cudaErrorInvalidValue)" 'cudaMalloc -> status=cudaErrorInvalidValue'
rule "a result that becomes NaN: poison(nan)" 'cublasSgemm_v2 -> nan'
rule "unknown fault; there are oom, status(CODE)" 'cudaMalloc -> wumpus'
rule "did you mean cudaErrorIllegalState, cudaErrorIllegalAddress or cudaErrorIllegalInstruction?" 'cudaMalloc -> error(illegal)'
rule "unknown error code (a number works too; \`oomproof calls\` lists those of a call)" 'cudaMalloc -> status(cudaErrorFoo)'
grep -q "did you mean" "$out" && { echo "cudaErrorFoo: a name far from it is offered"; bad=1; }
rule "64MB: sizes are in KiB, MiB, GiB and TiB, as 64MiB" 'cudaMalloc size>=64MB -> oom'
rule "1.5gb: sizes are in KiB, MiB, GiB and TiB, as 1.5GiB" 'cudaMalloc budget=1.5gb -> oom'
rule "seed= is for probability=, which this rule has not" 'cudaMalloc seed=7 -> oom'
rule "a name ends at a space, and there are no quotes: in site= and kernel= a ? stands for the space" 'cudaMalloc site=my tag -> oom'
rule "no intercepted call has this name; did you mean cudaMalloc?" 'cudaMaloc -> oom'
rule "no intercepted call has this name" 'wumpus -> oom'
grep -q "did you mean" "$out" && { echo "wumpus: a call far from it is offered"; bad=1; }

# a rule that never fired for its kernel's or site's name is told those that there were
two='import ctypes; l = ctypes.CDLL(None); ctypes.CDLL("libcudart.so.13"); p = ctypes.byref(ctypes.c_void_p())
for tag in (b"net/enc0", b"net/enc1", b"loss/sum"): l.op_tag(tag); l.cudaMalloc(p, 512)'
expect 3 "rule 1: site=net/enc3 is none that its calls had; near to it are net/enc0, net/enc1 or loss/sum" \
    sim --faults 'cudaMalloc site=net/enc3 -> oom' -- python3 -c "$two"
expect 3 "matched 1, fired 0" sim --faults 'cudaMalloc site=loss* nth=2 -> oom' -- python3 -c "$two"
grep -q "near to it" "$out" && { echo "a name that was there is said not to be"; bad=1; }
expect 3 "kernel=_Z4grow is none that its calls had; near to it are" \
    sim --faults 'cudaLaunchKernel kernel=_Z4grow -> oom' -- "$bin/pointtrain" train --data rooms:1,max=300 --steps 1 --quiet

# commands and options
expect 2 "not a command of this version: runn; did you mean run?" "$bin/oomproof" runn
expect 2 "not a command of this version: wumpus. See oomproof --help" "$bin/oomproof" wumpus
expect 2 "report" "$bin/oomproof"
expect 0 "oomproof COMMAND --help says more" "$bin/oomproof" help
expect 0 "usage: oomproof run" "$bin/oomproof" help run
expect 2 "did you mean --budgets? see oomproof sweep --help" "$bin/oomproof" sweep --bugets 3 -- true
expect 2 "did you mean --timeout? see oomproof run --help" "$bin/oomproof" run --tiemout=3 -- true
for command in run doctor record replay reduce trace sweep; do
    expect 2 "oomproof $command: unrecognized option '--tiemout'" "$bin/oomproof" $command --tiemout 9
    grep -qF "oomproof $command --help" "$out" || { echo "$command: no word of --help"; bad=1; }
done

for command in run record sweep; do
    expect 2 "a value is missing before the --: --faults" "$bin/oomproof" $command --faults -- true
done
expect 2 "a value is missing before the --: --trace" sim --trace -- touch "$d/ran"
expect 2 "no intercepted call has this name: cudaMaloc; did you mean cudaMalloc?" "$bin/oomproof" sweep --calls cudaMaloc -- touch "$d/ran"
expect 2 "none of these calls can be failed so" "$bin/oomproof" sweep --calls 'cudaFree*' -- touch "$d/ran"
expect 0 '{"exit":0,' sim --json - -- true
[ ! -e ./- ] || { echo "a file named -"; bad=1; }
"$bin/oomproof" run --device sim --json - -- echo first >"$d/both" 2>/dev/null
head -1 "$d/both" | grep -q first && tail -1 "$d/both" | grep -q '^{"exit":0,' || { echo "not both:"; cat "$d/both"; bad=1; }

# what cannot be, before the command starts
for json in "$d" "$d/nowhere/x" /dev/null/x; do
    expect 7 "$json cannot be written" sim --json "$json" -- touch "$d/ran"
done
[ ! -e "$d/ran" ] || { echo "the command ran"; bad=1; }

# a command that cannot be started: that, and nothing else
for how in "run --faults cudaMalloc->oom --" "sweep --" "record -o $d/r --"; do
    for program in no-such-command "$d/none" /etc/passwd; do
        expect 127 "cannot be started" "$bin/oomproof" $how $program
        [ "$(wc -l <"$out")" -eq 1 ] || { echo "more than one line:"; cat "$out"; bad=1; }
    done
done
expect 4 "no program that ran carries CUDA code" "$bin/oomproof" sweep --device sim -- true
grep -q cudart "$out" && { echo "a program without CUDA: $(cat "$out")"; bad=1; }

# what an earlier run left goes, and nothing else
calls='import ctypes, os; ctypes.CDLL("libcudart.so.13"); l = ctypes.CDLL(None); l.cudaFree(None)'
expect 0 "2 calls intercepted" sim --trace "$d/t" -- python3 -c "$calls; os.fork() or (l.cudaFree(None), os._exit(0)); os.wait()"
[ "$(ls "$d"/t.* | wc -l)" -eq 1 ] || { echo "no trace of the child"; bad=1; }
echo mine >"$d/t.77" && cp "$d/t" "$d/t.old"
expect 0 "1 calls intercepted" sim --trace "$d/t" -- python3 -c "$calls"
[ "$(cd "$d" && echo t.*)" = "t.77 t.old" ] || { echo "beside the trace: $(cd "$d" && ls t.*)"; bad=1; }

# files
printf '#!/nowhere/interpreter\n' >"$d/script" && chmod +x "$d/script"
expect 127 "is there, but not the interpreter after its #!, or its loader" sim -- "$d/script"
expect 127 "check the path" sim -- "$d/none"
expect 4 "a folder; name the program in it" "$bin/oomproof" doctor --device sim -- "$d"
: >"$d/empty"
expect 2 "oomproof run --trace FILE writes one" "$bin/oomproof" trace "$d/empty"
expect 2 "oomproof run --trace FILE writes one" "$bin/oomproof" trace "$d/none"

# a site is the same in CSV, whatever is in it
call='import ctypes; l = ctypes.CDLL(None); ctypes.CDLL("libcudart.so.13"); l.op_tag(b"a,b\"c"); l.cudaMalloc(ctypes.byref(ctypes.c_void_p()), 512)'
expect 0 "1 calls intercepted" sim --trace "$d/t" -- python3 -c "$call"
"$bin/oomproof" trace "$d/t" --csv >"$d/csv"
python3 -c 'import csv, sys; sys.exit(list(csv.DictReader(open(sys.argv[1])))[0]["site"] != "a,b\"c")' "$d/csv" ||
    { echo "not the site in CSV:"; cat "$d/csv"; bad=1; }
exit $bad
