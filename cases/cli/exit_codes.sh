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
exit $bad
