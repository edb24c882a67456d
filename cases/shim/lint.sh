#!/bin/sh
# lint.sh CALLS.DEF INCLUDE - every function of the toolkit's headers that allocates or launches stands in the table,
# or below with the reason why not.
set -eu
table=$1 include=$2
left_out='
cudaLaunchHostFunc runs a host function: no memory, no kernel
cudaLaunchKernelEx a C++ template over cudaLaunchKernelExC
cuLaunchHostFunc runs a host function: no memory, no kernel
'
missing=
for name in $(grep -hoE '\bcuda(Malloc|HostAlloc|HostRegister|Launch|GraphLaunch|MemPoolCreate)[A-Za-z0-9]*(_ptsz)?\(' \
    "$include/cuda_runtime_api.h" | tr -d '(' | sort -u); do
    grep -q "($name," "$table" && continue
    echo "$left_out" | grep -q "^$name " && continue
    missing="$missing $name"
done
for name in $(grep -hoE '^ *CUresult CUDAAPI cu(MemAlloc|MemHostAlloc|MemCreate|MemAddressReserve|MemMap|Launch|ModuleLoadData|LibraryLoadData)[A-Za-z0-9]*\(' \
    "$include/cuda.h" | sed 's/.* //' | tr -d '(' | sort -u); do
    grep -q "DRIVER_[A-Z]*($name[_v2]*, $name," "$table" && continue
    echo "$left_out" | grep -q "^$name " && continue
    missing="$missing $name"
done
[ -z "$missing" ] || { echo "calls.def lacks:$missing"; exit 1; }
