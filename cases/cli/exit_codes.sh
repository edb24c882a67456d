# exit_codes.sh - what ends a run, by exit code and cause; and that an OOM does not end it.
. "$(dirname "$0")/lib.sh"
train() { sim --faults "$1" -- "$bin/pointtrain" train --data rooms:4,max=900 --steps 2 --allocator direct; }
expect 0 "1 of 1 rules fired" train 'cudaMalloc nth=40 -> oom'
expect 3 "fired 0" train 'cudaMalloc nth=999999 -> oom'
expect 11 "CUBLAS_STATUS_INVALID_VALUE" train 'cublas*gemm* nth=3 -> shape(ldc=m-1)'
expect 11 "CUDNN_STATUS_NOT_SUPPORTED" train 'cudnn*Forward nth=2 -> status(CUDNN_STATUS_NOT_SUPPORTED)'
expect 11 "cudaErrorIllegalAddress" train 'cudaLaunchKernel nth=40 -> error(cudaErrorIllegalAddress)'
expect 12 "the loss is nan" train 'cudaMemcpyAsync kind=d2h phase=loss nth=1 -> poison(nan, type=f64)'
expect 12 "the loss is nan" train 'cudaLaunchKernel kernel=*cross_entropy* nth=1 -> poison(nan, arg=7, type=f64)'
expect 13 "more than --max-dropped" train 'cudaMalloc phase=forward -> oom'
expect 10 "cudaMalloc of" train 'cudaMalloc nth=2 -> oom'
expect 3 "nothing was poisoned" train 'cudaLaunchKernel nth=5 -> poison(nan, arg=999)'
expect 3 "nothing was poisoned" train 'cudaLaunchKernel nth=5 -> poison(nan, arg=0)'

# files that cannot be written or read
train_here() { sim -- "$bin/pointtrain" train --data rooms:2,max=700 --steps 1 "$@"; }
d=$(mktemp -d) || exit 7
expect 2 "the run goes on without its log" train_here --log /dev/full
expect 14 "cannot be written there" train_here --checkpoint "$d/no/such/folder"
expect 0 "1 batches" train_here --checkpoint "$d/c"
expect 14 "of another net or norm" train_here --norm batch --checkpoint "$d/c"
head -c 1000 "$d/c" >"$d/short"
expect 14 "a whole checkpoint of this net has" train_here --checkpoint "$d/short"
cp "$d/c" "$d/flipped"
printf X | dd of="$d/flipped" bs=1 seek=5000 conv=notrunc 2>/dev/null
expect 14 "damaged: the checksum does not fit" train_here --checkpoint "$d/flipped"
rm -r "$d"
exit $bad
