#!/bin/sh
# lint.sh CALLS.DEF INCLUDE - every function of the toolkit's headers that allocates, launches, copies or multiplies stands in
# the table, or below with the reason why not.
set -eu
table=$(dirname "$1") include=$2
# a pattern of whole names, then the reason
left_out='
cuda[A-Za-z]*(Get|Set)[A-Z][A-Za-z0-9]* asks or sets a property
cu[A-Z][A-Za-z]*(Get|Set)[A-Z][A-Za-z0-9]*(_v2)? asks or sets a property
(cuda|cu)GraphAdd(Memcpy|Memset)Node[A-Za-z0-9]* describes a node: the graph is failed when it is instantiated or launched
(cuda|cu)LaunchHostFunc(_v2)? runs a host function: no memory, no kernel
cudaLaunchKernelEx a C++ template over cudaLaunchKernelExC
(cuda|cu)[A-Za-z]*Register(AsyncNotification|Callback) no memory of the device
(cuda|cu)ImportExternalSemaphore a handle: no memory
(cuda|cu)MemRetainAllocationHandle another name for memory that is there
cudaMemcpy(2D)?(To|From)Array(Async)? deprecated since CUDA 10.1
cudaMemcpy(2D)?ArrayToArray deprecated since CUDA 10.1
cudaMemcpy3D(Peer|PeerAsync|BatchAsync) between two cards, or of a driver newer than what is simulated: one card here
cudaMem(PrefetchBatch|DiscardAndPrefetchBatch)Async of managed memory, which only moves
cuMem(cpy|set)[A-Za-z0-9]*(_v2|_ptsz)? of the driver: no memory is allocated; failed at the runtime, which is what programs call
cuLaunch(Grid|GridAsync)? deprecated since CUDA 4
cuLaunchCooperativeKernelMultiDevice removed with CUDA 13: several cards
cuImportExternalMemory failed at the runtime (cudaImportExternalMemory)
cuMemImportFromShareableHandle memory of another process
cuMemPoolImport[A-Za-z]* failed at the runtime (cudaMemPoolImport*)
cuGraphInstantiate(_v2)? a macro: cuGraphInstantiateWithFlags
cublasGet[A-Za-z0-9_]* asks
cublasSet[A-Za-z0-9_]* sets
cublas[CZ](gemv|ger|geru|gerc|hemv|symv|trmv|trsv|tbmv|tbsv|tpmv|tpsv|gbmv|hbmv|hpmv|sbmv|spmv)[A-Za-z0-9_]* matrix by vector: not of the families of products
cublas(HSH|HSS|TST|TSS)gemv[A-Za-z0-9_]* matrix by vector, half precision: not of the families of products
cublasUint8gemmBias undocumented
cublasLtMatmul(Desc|Preference|AlgoConfig|AlgoCap|AlgoCheck|AlgoInit|AlgoGetIds)[A-Za-z_]* describes a product: host memory
cublasLtMatrix(LayoutCreate|LayoutInit[A-Za-z_]*|LayoutDestroy|TransformDesc[A-Za-z_]*) describes: host memory
cublasLt(LayoutCreate|EmulationDesc[A-Za-z]*) describes: host memory
cudnn(Get|Set|Destroy)[A-Za-z0-9_]* asks, describes or gives back
cudnnBackend(Get|Set|Destroy)[A-Za-z]* asks, describes or gives back
'
bad=0
# HEADER MARK NAMES: the functions of a header that match are in the table
look() {
    header=$include/$1 mark=$2 wanted=$3
    [ -e "$header" ] || { echo "no $header"; bad=1; return; }
    found=$(tr '\n' ' ' <"$header" | grep -oE "$mark +cu[A-Za-z0-9_]+ *\(" | sed 's/ *($//; s/.* //' | sort -u)
    [ -n "$found" ] || { echo "$1: no function was found in it"; bad=1; return; }
    for name in $(echo "$found" | grep -E "$wanted"); do
        cat "$table"/calls*.def | tr '\n' ' ' | grep -qE "[A-Z_]+\( *($name|[A-Za-z0-9_]+, *$name|${name}_v[0-9]), " && continue
        echo "$left_out" | sed -n 's/ .*//p' | grep -v '^$' >"$patterns"
        echo "$name" | grep -qxE -f "$patterns" && continue
        echo "calls.def lacks $name ($1)"
        bad=1
    done
}
# HEADER MARK MACRO: of what stands in the table, the variants too: for per-thread default streams, which a MACRO renames,
# further versions, and of 64 bits
variants() {
    header=$include/$1 mark=$2 macro=$3
    [ -e "$header" ] || return 0 # said above
    {
        [ -z "$macro" ] || sed -nE "s/^ *# *define +cu[A-Za-z0-9_]+ +${macro}_(PTDS|PTSZ)\\((cu[A-Za-z0-9_]+)\\).*/\\2 \\2_\\1/p" "$header" |
            sed 's/_PTDS$/_ptds/; s/_PTSZ$/_ptsz/'
        tr '\n' ' ' <"$header" | grep -oE "$mark +cu[A-Za-z0-9_]+ *\(" | sed 's/ *($//; s/.* //' |
            awk '{ b = $1; sub(/_64$/, "", b); sub(/_v[0-9]+$/, "", b); if (b != $1) print b " " $1 "\n" b "_v2 " $1 }'
    } | sort -u >"$pairs"
    [ -z "$macro" ] || grep -q _pts "$pairs" || { echo "$1: no variant was found in it"; bad=1; }
    lacking=$(awk 'NR == FNR { has[$1] = 1; next } has[$1] && !has[$2] { print $2 " beside " $1 }' "$names" "$pairs")
    [ -z "$lacking" ] || { echo "$lacking" | sed "s/^/calls.def lacks /; s/$/ ($1)/"; bad=1; }
}
patterns=$(mktemp) names=$(mktemp) pairs=$(mktemp)
trap 'rm -f "$patterns" "$names" "$pairs"' EXIT
cat "$table"/calls*.def | tr '\n' ' ' | grep -oE '[A-Z_]+\( *(__)?cu[A-Za-z0-9_]+,' | sed 's/.*( *//; s/,$//' | sort -u >"$names"
look cuda_runtime_api.h CUDARTAPI 'Alloc|Launch|MemPool(Create|Import)|Register|Instantiate|Upload|Import|Prefetch|Memcpy|Memset|(Stream|Event)Create'
look cuda.h CUDAAPI 'Alloc|Launch|MemCreate|MemMap|MemPool(Create|Import)|Reserve|ModuleLoad|LibraryLoad|ArrayCreate|Array3DCreate|Instantiate|Upload|Import|HostRegister|Memcpy|Memset'
look cublas_api.h CUBLASWINAPI '(gemm|gemv|Gemm)|Create|Workspace'
look cublasLt.h CUBLASWINAPI 'Matmul|Create|Transform'
for header in cudnn_graph.h cudnn_ops.h cudnn_cnn.h cudnn_adv.h; do
    look $header CUDNNWINAPI 'Forward|Backward|Execute|Finalize|Create|Im2Col|Transform|CTCLoss|MakeFusedOps|BuildRNN|CudaGraph|Reorder|RestoreDropout|Conv'
done
variants cuda_runtime_api.h CUDARTAPI __CUDART_API
variants cuda.h CUDAAPI __CUDA_API
variants cublas_api.h CUBLASWINAPI ''
variants cublasLt.h CUBLASWINAPI ''
exit $bad
