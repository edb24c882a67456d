#!/usr/bin/env python3
"""lint.py [--itself] SHIM INCLUDE - every function of the toolkit's headers stands in the table (SHIM/calls*.def), or below
with the reason why not. --itself: with any row of the table away, or a function more in a header, it says so."""
import glob
import os
import re
import sys

HEADERS = (("cuda_runtime_api.h", "CUDARTAPI"), ("crt/device_functions.h", "CUDARTAPI"), ("cuda.h", "CUDAAPI"),
           ("cublas_api.h", "CUBLASWINAPI"), ("cublasLt.h", "CUBLASWINAPI"), ("cudnn_graph.h", "CUDNNWINAPI"),
           ("cudnn_ops.h", "CUDNNWINAPI"), ("cudnn_cnn.h", "CUDNNWINAPI"), ("cudnn_adv.h", "CUDNNWINAPI"))

# a pattern of whole names, with or without _ptsz and _ptds, then the reason
LEFT_OUT = """
api the argument of a macro
__cudaGetKernel written by hand in runtime.c
__cudaPushCallConfiguration keeps the shape of a launch
cudaHostGet[A-Za-z]* asks
cuda(Func|Library|Occupancy|Pointer|Ipc|Array|MipmappedArray|Device|Runtime|Driver|Logs|Kernel)(?!.*(Alloc|Launch|Synchronize|LoadD|LoadF|OpenMem))[A-Za-z0-9]* asks, sets or describes
cuda(Get|Set|Choose|Create|Destroy|CtxReset|Init)[A-Z][A-Za-z0-9]* asks, sets or describes: no memory of its own
cudaPeekAtLastError written by hand in runtime.c
cuda(Stream|Event|Graph|MemPool|UserObject)[A-Za-z0-9]*(Get|Set|Copy)[A-Z][A-Za-z0-9]* asks or sets a property
cudaMem(Get|Set)[A-Z][A-Za-z0-9]* asks or sets a property
cudaMemRangeGetAttributes? asks
cudaMem(Advise|Discard(AndPrefetch)?BatchAsync|PrefetchBatchAsync) of managed memory, which only moves
cudaMemPoolExport[A-Za-z]* of memory that is there
cudaDeviceGraphMemTrim gives back what graphs keep
cudaDevice(Unr|R)egisterAsyncNotification no memory of the device
cudaDeviceReset written by hand in runtime.c
cudaLaunchHostFunc runs a host function: no memory, no kernel
cudaGraph(?!AddMemAllocNode|Instantiate|Launch|Upload)[A-Za-z0-9]* builds a graph: it is failed when it is instantiated or launched
cudaUserObject[A-Za-z]* host memory
cudaGraphics[A-Za-z]* drawing
cuda(Import|Signal|Wait|Destroy)ExternalSemaphores?(Async)? a handle: no memory
cudaDestroyExternalMemory gives back
cudaExternalMemory[A-Za-z]* another name for memory that is there
cudaIpcOpenMemHandle memory of another process
cudaLibraryLoad(Data|FromFile) failed at the driver (cuLibraryLoadData)
cudaStream(AddCallback|AttachMemAsync|IsCapturing|UpdateCaptureDependencies|BeginCaptureToGraph) no memory, no work on the device
cudaThreadExchangeStreamCaptureMode asks or sets
cudaEvent(ElapsedTime|RecordWithFlags) asks; a rule on cudaEventRecord is the same failure
cudaMemcpy(2D)?(To|From)Array(Async)? deprecated since CUDA 10.1
cudaMemcpy(2D)?ArrayToArray deprecated since CUDA 10.1
cudaMemcpy3D(Peer|PeerAsync|BatchAsync) between two cards, or of a driver newer than what is simulated: one card here
cuMem(cpy|set)[A-Za-z0-9_]* of the driver: no memory is allocated; failed at the runtime, which is what programs call
cuMem(Retain|Export|Get|Set|Address(Free)|Free(Host)|HostGet|HostUnregister|Unmap|Advise|RangeGet|Discard|Prefetch|BatchDecompress)[A-Za-z0-9_]* asks, gives back or moves what is there
cuMemPool(Import|Export|Get|Set|Destroy|Trim)[A-Za-z]* failed at the runtime, or gives back
cuMemImportFromShareableHandle memory of another process
cuLaunch(Grid|GridAsync)? deprecated since CUDA 4
cuLaunchHostFunc(_v2)? runs a host function: no memory, no kernel
cuLaunchCooperativeKernelMultiDevice removed with CUDA 13: several cards
cuGraphInstantiate_v2 before CUDA 12; cuGraphInstantiate now is a macro: cuGraphInstantiateWithFlags
cuGraph(?!AddMemAllocNode|Instantiate|Launch|Upload)[A-Za-z0-9_]* builds a graph: it is failed when it is instantiated or launched
cu(Checkpoint|Ctx|Dev|GreenCtx|Event|Stream|UserObject|ThreadExchange|Surf|Tex|TensorMap|Occupancy|Param|Link|Logs|Flush|Init|Get|Profiler|Coredump|Multicast|Ipc|Func|Kernel|Pointer|Driver)(?!.*(Alloc|Launch))[A-Za-z0-9_]* no memory of the device, no launch; failed at the runtime
cu(Module|Library)(Get|Enumerate|Unload)[A-Za-z0-9_]* asks or gives back
cu(Array|MipmappedArray)(3D)?(Get|Destroy)[A-Za-z0-9_]* asks or gives back
cu(Import|Signal|Wait|Destroy)?External[A-Za-z]* failed at the runtime, or a handle
cublas(Get(?!Vector|Matrix)|Set(?!Stream|Workspace|Vector|Matrix)|Destroy|Xerbla|LoggerC)[A-Za-z0-9_]* asks, sets or gives back
cublas[SD](tbmv|tbsv|tpmv|tpsv|gbmv|sbmv|spmv|spr|spr2)(_v2)?(_64)? matrix by vector, of bands and packed triangles
cublas[CZ](gemv|ger|geru|gerc|hemv|symv|trmv|trsv|tbmv|tbsv|tpmv|tpsv|gbmv|hbmv|hpmv|sbmv|spmv|her|her2|hpr|hpr2|spr|spr2|syr|syr2)(_v2)?(_64)? matrix by vector, complex: not of the families of products
cublas[CZ](axpy|copy|dotu|dotc|scal|swap|symm|hemm|herk|her2k|herkx|syrk|syr2k|syrkx|trmm|trsm|geam|dgmm|rot|rotg|srot|drot|sscal|dscal|cherk|gelsBatched)(Ex|3mEx)?(_v2)?(_64)? complex numbers: not of the families of products
cublas[CZ](herk|syrk)(3m)?Ex(_64)? complex numbers: not of the families of products
cublas(Sc|Dz)(asum|nrm2)(_v2)?(_64)? complex numbers
cublasI[cz]a(max|min)(_v2)?(_64)? complex numbers
cublas[CZ](?!gemm)[a-z]+(Strided)?Batched(_64)? complex numbers: of these the products are in the table
cublas[SD](gels|geqrf|getrf|getri|getrs|matinv)Batched factorisations: not of the families of products
cublasRotm?g?Ex(_64)? rotations of vectors
cublas[SDCZ](tpttr|trttp) another layout of a triangle
cublas(HSH|HSS|TST|TSS)gemv[A-Za-z0-9_]* matrix by vector, half precision: not of the families of products
cublasUint8gemmBias undocumented
cublasLtMatmul(Desc|Preference|AlgoConfig|AlgoCap|AlgoCheck|AlgoInit|AlgoGetIds)[A-Za-z_]* describes a product: host memory
cublasLtMatrix(LayoutCreate|LayoutInit|LayoutDestroy|LayoutGet|LayoutSet|TransformDesc)[A-Za-z_]* describes: host memory
cublasLt(LayoutCreate|EmulationDesc|Destroy|Get|Logger|HeuristicsCache|DisableCpu)[A-Za-z_]* asks, sets, describes or gives back
cudnn(Get|Destroy|Query|Derive)[A-Za-z0-9_]* asks, describes or gives back
cudnn(Graph|Ops|Cnn|Adv)VersionCheck asks
cudnnSet(?!Stream$|Tensor$|TensorNdDescriptor$|Tensor4dDescriptor$|ActivationDescriptor$|DropoutDescriptor$)[A-Za-z0-9_]* describes: host memory; the table has those that a network calls for every tensor, or that take memory
cudnn(RNN(Get|Set)|DropoutGet)[A-Za-z0-9_]* asks or describes
cudnnBackend(Get|Set|Destroy)[A-Za-z]* asks, describes or gives back
"""

ROW = re.compile(r"^(ALLOC|PITCHED|PINNED|RELEASE|COPY|SET|LAUNCH|CALL|BLAS|DNN|GEMM|DESCRIPTOR|DRIVER_[A-Z]+)"
                 r"\(\s*(\w+),\s*(\w+)?", re.M)


def rows(shim):
    """{name: every name that the row answers to}: a row of the driver has the word for lookups as well."""
    out = {}
    for path in glob.glob(os.path.join(shim, "calls*.def")):
        with open(path) as f:
            for kind, name, word in ROW.findall(f.read()):
                out[name] = {name, word} if kind.startswith("DRIVER") else {name}
    return out


def declared(text, mark):
    """The functions of a header's text, and what it makes of them for per-thread default streams."""
    names = {name: {name} for name in re.findall(mark + r"\s+((?:__)?cu\w+)\s*\(", text)}
    for name, made in re.findall(r"#define\s+(cu\w+)\s+(?:__CUDA_API_PT\w+\()?(cu\w+)", text):
        if name in names:
            names[name].add(made)
    for kind, name in re.findall(r"__CUDA(?:RT)?_API_PT(SZ|DS)\((\w+)\)", text):
        names[name + "_pt" + kind.lower()] = {name + "_pt" + kind.lower()}
    return names


def lacks(table, names, patterns):
    """names: {a function that a header declares: its name, and what the header's macros make of it}"""
    known = set().union(*table.values())
    plain = {n[:-3] for n in known if n.endswith("_v2")}
    return [name for name, made in sorted(names.items()) if not made & (known | plain)
            and not patterns.fullmatch(name) and not patterns.fullmatch(re.sub("_pt[sd][sz]$", "", name))]


def main():
    itself = sys.argv[1] == "--itself"
    shim, include = sys.argv[-2:]
    table = rows(shim)
    patterns = re.compile("|".join("(?:%s)" % line.split(" ")[0] for line in LEFT_OUT.strip().split("\n")))
    texts, every, bad = {}, {}, []
    for header, mark in HEADERS:
        with open(os.path.join(include, header), errors="replace") as f:
            texts[header] = f.read()
        names = declared(texts[header], mark)
        if not names:
            bad.append("%s: no function was found in it" % header)
        for name, made in names.items():
            every.setdefault(name, set()).update(made)
        bad += ["calls.def lacks %s (%s)" % (name, header) for name in lacks(table, names, patterns)]
    if itself:
        for name in table:
            rest = {k: v for k, v in table.items() if k != name}
            if not any((every[lost] | {lost + "_v2"}) & table[name] for lost in lacks(rest, every, patterns)):
                bad.append("without %s nothing is missed" % name)
        for header, mark in HEADERS:
            for new in ("cudaMallocFuture", "cuMemAllocFuture", "cudaLaunchFuture", "cublasHgemmFuture", "cudnnFutureForward"):
                if new not in lacks(table, declared("%s\nextern x %s %s(void);" % (texts[header], mark, new), mark), patterns):
                    bad.append("%s of %s would not be missed" % (new, header))
        print("%d rows, %d functions" % (len(table), len(every)))
    for line in bad:
        print(line)
    return bool(bad)


sys.exit(main())
