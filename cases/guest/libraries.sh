#!/bin/sh
# libraries.sh BUILD NVCC CUDA-INCLUDE - what doctor finds in the libraries of a program, and of the device that is asked for
. "$(dirname "$0")/../cli/lib.sh"
build=$1 nvcc=$2 include=$3
d=$(mktemp -d) || exit 7
trap 'rm -rf "$out" "$d"' EXIT
doctor() { "$bin/oomproof" doctor --device "$@"; }
uses='#include <cuda_runtime_api.h>\nint part(void);\nint main(void) { void *p; return cudaMalloc(&p, 9) || part(); }\n'
program() { # NAME: uses libNAME.so
    printf "$uses" | cc -I"$include" -x c - -o "$d/$1" -L"$d" -l"$1" -L"$build/sim" -l:libcudart.so.13 -Wl,-rpath,"$d" \
        -Wl,--unresolved-symbols=ignore-all || exit 7
}
# kernels of a library that only a card can run
printf '#include <cuda_runtime.h>\n__global__ void k(int *p) { *p = 1; }
extern "C" int part(void) { int *p; if (cudaMalloc(&p, 4)) return 1; k<<<1, 1>>>(p); return cudaDeviceSynchronize(); }\n' >"$d/k.cu"
"$nvcc" -cudart shared -gencode arch=compute_90,code=sm_90 -shared -Xcompiler -fPIC -o "$d/libkernels.so" "$d/k.cu" \
    -L"$build/sim" || exit 7
program kernels
expect 1 "libkernels.so: its kernels carry no PTX" doctor sim -- "$d/kernels"
"$nvcc" -cudart shared -arch=compute_75 -shared -Xcompiler -fPIC -o "$d/libkernels.so" "$d/k.cu" -L"$build/sim" || exit 7
expect 0 "it can be tested" doctor sim -- "$d/kernels"
# a library that calls what the simulated device has not, or only a stub of
printf 'int cudaNoSuchThing(void), cudaFreeArray(void *);
int part(void) { return cudaNoSuchThing() + cudaFreeArray(0); }\n' >"$d/c.c"
cc -fPIC -shared -o "$d/libcalls.so" "$d/c.c" || exit 7
program calls
expect 1 "libcalls.so: the simulated device lacks: cudaNoSuchThing" doctor sim -- "$d/calls"
expect 1 "libcalls.so: the simulated device has only stubs of some calls:" doctor sim -- "$d/calls"

# NVIDIA's own runtime is as it is
mkdir "$d/nvidia"
printf 'void *dlopen(const char *, int);\nint cudaMalloc(void **p, unsigned long n) { return p && n ? 0 : dlopen("x", 1) != 0; }
int cudaFree(void *p) { return cudaMalloc(&p, 1); }\n' | cc -x c - -fPIC -shared -Wl,-Bsymbolic -Wl,-soname,libcudart.so.13 \
    -o "$d/nvidia/libcudart.so.13" || exit 7
echo 'int cudaMalloc(void **, unsigned long); int main(void) { void *p; return cudaMalloc(&p, 9); }' |
    cc -x c - -o "$d/plain" -L"$d/nvidia" -l:libcudart.so.13 || exit 7
on_gpu() { OOMPROOF_CUDA_LIB=$d/nvidia doctor gpu -- "$@"; }
if [ -e /dev/nvidiactl ]; then
    expect 0 "it can be tested" on_gpu "$d/plain"
else
    expect 4 "there is no GPU here" on_gpu "$d/plain"
fi
grep -q "note" "$out" && { echo "NVIDIA's library is said to be wrong:"; cat "$out"; bad=1; }
# the simulated libraries, which a RUNPATH finds, are no GPU
expect 4 "is the simulated runtime" doctor gpu -- "$build/bin/pointtrain" train
exit $bad
