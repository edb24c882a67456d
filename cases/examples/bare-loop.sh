#!/bin/sh
# bare-loop.sh BUILD EXAMPLE NVCC - builds the example in an empty folder and runs the lines of its README: the weights
# must be those of the run that never failed (1e-9: sums of halves are rounded differently), a real bug must end it.
set -eu
build=$1 example=$2 nvcc=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$nvcc" -cudart shared -arch=compute_75 -code=compute_75,sm_90 --no-compress -L"$build/sim" -o bare-loop "$example/loop.cu" \
    -lcudart 2>log || { cat log; exit 1; }
run() { "$build/bin/oomproof" run --device sim "$@" -- ./bare-loop; }
run >want 2>log
same() {
    awk 'NR == FNR { split($0, w); next } { for (i = 1; i <= NF; i++) { d = $i - w[i]; if (d * d > 1e-18) exit 1 } }' \
        want got || { echo "different weights under: $1"; cat want got; exit 1; }
}
for rule in 'cudaMalloc nth=7 -> oom' 'cudaMalloc size>64KiB -> oom' 'cudaMalloc skip=2 interval=5 -> oom'; do
    run --faults "$rule" >got 2>log || { echo "not recovered: $rule"; cat log; exit 1; }
    grep -q '^[1-9][0-9]* halvings' log || { echo "nothing was halved under: $rule"; cat log; exit 1; }
    same "$rule"
done
for rule in 'cudaMemcpy nth=3 -> status(cudaErrorInvalidValue)' 'cudaMalloc nth>=3 -> oom'; do
    if run --faults "$rule" >got 2>log; then
        echo "swallowed: $rule"
        exit 1
    fi
done
