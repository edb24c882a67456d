#!/bin/sh
# asan.sh BUILD CUDA-INCLUDE - a program that is built with AddressSanitizer runs under the shim, and what it finds is its own. 77: the
# compiler has none
. "$(dirname "$0")/../cli/lib.sh"
build=$1
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
printf '#include <cuda_runtime_api.h>\n#include <stdlib.h>
int main(int n, char **v) {
    void *p; char *h = malloc(8);
    if (n > 1) h[8] = 1, v[0][0] = h[8];
    cudaError_t e = cudaMalloc(&p, 100);
    if (e == cudaErrorMemoryAllocation) cudaGetLastError(), e = cudaMalloc(&p, 50);
    free(h);
    return e != cudaSuccess || cudaFree(p) != cudaSuccess;
}\n' >"$d/a.c"
cc -fsanitize=address -g -I"$2" -o "$d/a" "$d/a.c" -L"$build/sim" -l:libcudart.so.13 2>"$d/why" || { cat "$d/why"; exit 77; }
expect 0 "2 calls intercepted" sim -- "$d/a"
expect 0 "1 of 1 rules fired" sim --faults 'cudaMalloc nth=1 -> oom' -- "$d/a"
expect 1 "heap-buffer-overflow" sim -- "$d/a" overflow
expect 99 "heap-buffer-overflow" env ASAN_OPTIONS=exitcode=99 "$bin/oomproof" run --device sim -- "$d/a" overflow
expect 0 "1 of 1 rules fired" sim --faults 'cudaMalloc nth=1 -> oom' -- sh -c "'$d/a'"
expect 0 "the run after the last point fired nothing" "$bin/oomproof" sweep --device sim -- "$d/a"
expect 0 "it can be tested" "$bin/oomproof" doctor --device sim -- "$d/a"
exit $bad
