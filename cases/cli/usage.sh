# usage.sh - what is wrong is said in one line, with exit code 2.
. "$(dirname "$0")/lib.sh"
expect 0 "exit codes" "$bin/pointtrain" --help
expect 0 "exit codes" "$bin/oomproof" --help
expect 2 "expected the command train" "$bin/pointtrain"
expect 2 "nothing to train on" "$bin/pointtrain" train
expect 2 "--steps -5: expected a whole number" "$bin/pointtrain" train --data rooms:2 --steps -5
expect 2 "--allocator async: expected caching or direct" "$bin/pointtrain" train --data rooms:2 --allocator async
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
exit $bad
