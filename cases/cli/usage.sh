# usage.sh - what is wrong is said in one line, with exit code 2.
. "$(dirname "$0")/lib.sh"
expect 0 "exit codes" "$bin/pointtrain" --help
expect 0 "exit codes" "$bin/oomproof" --help
expect 2 "expected the command train, eval, predict or info" "$bin/pointtrain"
expect 2 "nothing to train on" "$bin/pointtrain" train
expect 2 "--steps -5: expected a whole number" "$bin/pointtrain" train --data rooms:2 --steps -5
expect 2 "--allocator pool: expected one of caching direct async" "$bin/pointtrain" train --data rooms:2 --allocator pool
expect 2 "--optimizer adam: expected one of adamw sgd" "$bin/pointtrain" train --data rooms:2 --optimizer adam
expect 2 "--momentum needs --optimizer sgd" "$bin/pointtrain" train --data rooms:2 --momentum 0.8
expect 2 "--norm-on-split needs --norm batch" "$bin/pointtrain" train --data rooms:2 --norm-on-split frozen
expect 2 "--dropout 1: expected a number from 0 to 0.99" "$bin/pointtrain" train --data rooms:2 --dropout 1
expect 2 "rooms:0" "$bin/pointtrain" train --data rooms:0
expect 2 "No such file" "$bin/pointtrain" train --data /nowhere.las
expect 11 "oomproof run --device sim" env -u LD_LIBRARY_PATH -u OOMPROOF_DEVICE "$bin/pointtrain" train --data rooms:2
expect 2 "line 1 column 12: unknown selector; did you mean nth?" sim --faults 'cudaMalloc ntj=3 -> oom' -- true
expect 2 "column 19: a negative number" sim --faults 'cudaMalloc budget=-1 -> oom' -- true
expect 2 "unknown fault; did you mean oom?" sim --faults 'cudaMalloc nth=3 -> oop' -- true
expect 2 "read out of bounds" sim --faults 'cublas*gemm* -> shape(lda=m+5)' -- true
expect 2 "no command to run" sim
expect 4 "no CUDA call was seen" sim --faults 'cudaMalloc nth=1 -> oom' -- true
expect 0 "0 calls intercepted" sim -- true
# a rule that could never act is found before anything runs
expect 2 "did you mean cudaMalloc?" sim --faults 'cudaMaloc nth=1 -> oom' -- true
expect 2 "this call cannot run out of memory" sim --faults 'cudaFree -> oom' -- true
expect 2 "this call has no such dimension" sim --faults 'cudaMalloc -> shape(ldc=m-1)' -- true
expect 2 "no result to poison" sim --faults 'cudaMalloc -> poison(nan)' -- true
expect 2 "no result to poison" sim --faults 'cudaLaunchKernel -> poison(nan)' -- true
expect 2 "a code of cuDNN, which this call cannot return" sim --faults 'cudaMalloc -> status(CUDNN_STATUS_BAD_PARAM)' -- true
expect 2 "did you mean cudaErrorIllegalAddress?" sim --faults 'cudaMalloc -> status(cudaErrorIlegalAddress)' -- true
expect 2 "success is not an error" sim --faults 'cudnn* -> status(CUDNN_STATUS_SUCCESS)' -- true
expect 2 "unknown error code" sim --faults 'cudaMalloc -> status(99999999999)' -- true
expect 2 "line 2 column 16: not a number of 64 bits" sim --faults '# a card
cudaMalloc nth=99999999999999999999999 -> oom' -- true
expect 2 "not a number of 64 bits" sim --faults 'cudaMalloc size>=99999999999GiB -> oom' -- true
expect 2 "a name too long" sim --faults "cudaMalloc phase=$(printf 'a%.0s' $(seq 40)) -> oom" -- true
expect 2 "more than 63 characters" sim --faults "cudaMalloc$(printf 'a%.0s' $(seq 90)) -> oom" -- true
expect 2 "from 0% to 100%" sim --faults 'cudaMalloc probability=120% -> oom' -- true
expect 2 "--sim-memory" sim --sim-memory -5 -- true
expect 2 "--sim-memory" sim --sim-memory 1KiB -- true
# so is one with a selector that its calls do not have
expect 2 "column 1: kernel= selects launches" sim --faults 'cudaMalloc kernel=foo -> oom' -- true
expect 2 "kernel= selects launches" sim --faults 'cuLaunchKernel kernel=foo -> error(1)' -- true
expect 2 "stream= selects calls" sim --faults 'cudaMalloc stream=1 -> oom' -- true
expect 2 "stream= selects calls" sim --faults 'cudnnCreate stream=0 -> oom' -- true
expect 2 "kind= selects copies" sim --faults 'cudaMalloc* kind=h2d -> oom' -- true
expect 2 "kind= selects copies" sim --faults 'cudaLaunchKernel kind=h2d -> oom' -- true
expect 2 "size selects calls that are given bytes" sim --faults 'cudaDeviceSynchronize size>=1 -> error(1)' -- true
expect 2 "size selects calls that are given bytes" sim --faults 'cublas* size=0 -> oom' -- true
expect 2 "size selects calls that are given bytes" sim --faults 'cudaFree size<5 -> error(1)' -- true
expect 2 "budget= selects allocations of device memory" sim --faults 'cudaMemcpy budget=1MiB -> oom' -- true
expect 2 "budget= selects allocations of device memory" sim --faults 'cudaMallocHost budget=1MiB -> oom' -- true
expect 4 "of 4 rules" sim --faults '* kernel=foo -> oom; cudaMallocAsync stream=1 -> oom; cudaFreeAsync stream=1 -> error(1)
cudaStreamSynchronize stream=2 -> error(1)' -- true
# words that nearly are right
expect 2 "column 15: 0 is success, which is no fault" sim --faults 'cudaMalloc -> status(0)' -- true
for arrow in '=>' '-->' '→' '=' '>' ':'; do
    expect 2 "expected -> before the fault" sim --faults "cudaMalloc nth=3 $arrow oom" -- true
done
expect 2 "column 12: expected -> before the fault" sim --faults "cudaMalloc => oom" -- true
for name in cudaMemGetInfo cudaGetLastError cudamemgetinfo cuInit cublasGetVersion cudnnGetVersion cudaStreamGetFlags; do
    expect 2 "not intercepted as a fault point" sim --faults "$name -> error(1)" -- true
done
expect 2 "reads rules from a file that is there" sim --faults '@/nonexistent' -- true
expect 2 "reads rules from a file that is there" sim --faults '@/' -- true
expect 127 "No such file or directory; check the path" sim -- ./nosuch
expect 127 "it is in no folder of PATH" sim -- no-such-command
expect 127 "chmod +x" sim -- /etc/passwd
expect 0 "127 it cannot be started" "$bin/oomproof" run --help
# rules from a file and from the environment; the calls that they can name
rules=$(mktemp)
printf '# comment\ncudaMalloc nth=1 -> oom\n' >"$rules"
expect 4 "of 1 rules" sim --faults "@$rules" -- true
expect 4 "of 1 rules" env OOMPROOF_FAULTS='cudaMalloc nth=1 -> oom' "$bin/oomproof" run --device sim -- true
expect 2 "line 1 column 1" env OOMPROOF_FAULTS='x -> oom' "$bin/oomproof" run --device sim -- true
rm "$rules"
expect 2 "No such file" sim --faults "@$rules" -- true
expect 0 "cudaMalloc                                 cuda    oom: 2" "$bin/oomproof" calls cudaMalloc
expect 0 "never out of memory" "$bin/oomproof" calls 'cudaFree*'
expect 2 "no intercepted call has this name" "$bin/oomproof" calls nonsense
expect 2 "--timeout: not a number" sim --timeout soon -- true
expect 7 "cannot be written" sim --json /nowhere/x -- true
# what a breaker tried
expect 1 "0 calls intercepted" sh -c "trap '' CHLD; exec '$bin/oomproof' run --device sim -- false"
expect 5 "signal 9" sh -c "trap '' CHLD; exec '$bin/oomproof' run --device sim -- sh -c 'kill -9 \$\$'"
expect 2 "from 2MiB to 3TiB" sim --sim-memory 99999TiB -- true
expect 2 "was there before" sim --faults 'cudaMalloc size<1 size>=1 -> oom' -- true
expect 2 "never acts" sim --faults 'cudaMalloc times=0 -> oom' -- true
expect 2 "within a million" sim --faults 'cublas*gemm* -> shape(ldc=m-4294967296)' -- true
d=$(mktemp -d)
printf 'cudaMalloc nth=1 -> oom\n\0cudaMalloc -> oom\n' >"$d/nul"
expect 2 "a NUL byte" sim --faults "@$d/nul" -- true
yes '# comment' | head -c 200000 >"$d/long"
expect 2 "more than 100000 characters" sim --faults "@$d/long" -- true
echo precious >"$d/precious"
expect 2 "is there and is no trace" sim --trace "$d/precious" -- true
[ "$(cat "$d/precious")" = precious ] || { echo "--trace destroyed a file"; bad=1; }
expect 2 "is there and is no trace" sim --trace /dev/null -- true
mkfifo "$d/fifo"
expect 2 "not a regular file" "$bin/oomproof" trace "$d/fifo"
"$bin/oomproof" run --device sim --json "$d/json" -- true 2>&-
grep -q '"calls":0,' "$d/json" || { echo "a closed stderr: $(head -c 300 "$d/json")"; bad=1; }
rm -r "$d"
exit $bad
