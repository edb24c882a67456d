/* ptsz.c - the entries that `nvcc --default-stream per-thread` makes programs call: the same calls,
 * with the thread's own stream in the place of the default one. _ptsz takes a stream, _ptds does
 * not and waits. */
#include "state.h"

/* the headers declare these only for programs that are built so */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static cudaStream_t own(cudaStream_t s)
{
    return s ? s : cudaStreamPerThread;
}

#define PTSZ(name, parameters, arguments)  \
    API cudaError_t name##_ptsz parameters \
    {                                      \
        return name arguments;             \
    }
#define PTDS(name, async, parameters, ...)                                        \
    API cudaError_t name##_ptds parameters                                        \
    {                                                                             \
        cudaError_t e = async(__VA_ARGS__, cudaStreamPerThread);                  \
        return e == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : e; \
    }

typedef enum cudaMemcpyKind kind;
typedef size_t bytes;

PTSZ(cudaMemcpyAsync, (void *to, const void *from, bytes n, kind k, cudaStream_t s),
     (to, from, n, k, own(s)))
PTSZ(cudaMemcpy2DAsync,
     (void *to, bytes tp, const void *from, bytes fp, bytes w, bytes h, kind k, cudaStream_t s),
     (to, tp, from, fp, w, h, k, own(s)))
PTSZ(cudaMemcpyToSymbolAsync,
     (const void *to, const void *from, bytes n, bytes at, kind k, cudaStream_t s),
     (to, from, n, at, k, own(s)))
PTSZ(cudaMemcpyFromSymbolAsync,
     (void *to, const void *from, bytes n, bytes at, kind k, cudaStream_t s),
     (to, from, n, at, k, own(s)))
PTSZ(cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p, cudaStream_t s), (p, own(s)))
PTSZ(cudaMemsetAsync, (void *p, int v, bytes n, cudaStream_t s), (p, v, n, own(s)))
PTSZ(cudaMemset2DAsync, (void *p, bytes pitch, int v, bytes w, bytes h, cudaStream_t s),
     (p, pitch, v, w, h, own(s)))
PTSZ(cudaMemset3DAsync, (struct cudaPitchedPtr p, int v, struct cudaExtent e, cudaStream_t s),
     (p, v, e, own(s)))
PTSZ(cudaMallocAsync, (void **p, bytes n, cudaStream_t s), (p, n, own(s)))
PTSZ(cudaMallocFromPoolAsync, (void **p, bytes n, cudaMemPool_t o, cudaStream_t s),
     (p, n, o, own(s)))
PTSZ(cudaFreeAsync, (void *p, cudaStream_t s), (p, own(s)))
PTSZ(cudaMemPrefetchAsync,
     (const void *p, bytes n, struct cudaMemLocation w, unsigned f, cudaStream_t s),
     (p, n, w, f, own(s)))
PTSZ(cudaEventRecord, (cudaEvent_t e, cudaStream_t s), (e, own(s)))
PTSZ(cudaEventRecordWithFlags, (cudaEvent_t e, cudaStream_t s, unsigned f), (e, own(s), f))
PTSZ(cudaStreamQuery, (cudaStream_t s), (own(s)))
PTSZ(cudaStreamSynchronize, (cudaStream_t s), (own(s)))
PTSZ(cudaStreamWaitEvent, (cudaStream_t s, cudaEvent_t e, unsigned f), (own(s), e, f))
PTSZ(cudaStreamGetFlags, (cudaStream_t s, unsigned *out), (own(s), out))
PTSZ(cudaStreamGetPriority, (cudaStream_t s, int *out), (own(s), out))
PTSZ(cudaStreamGetId, (cudaStream_t s, unsigned long long *out), (own(s), out))
PTSZ(cudaStreamGetDevice, (cudaStream_t s, int *out), (own(s), out))
PTSZ(cudaStreamBeginCapture, (cudaStream_t s, enum cudaStreamCaptureMode m), (own(s), m))
PTSZ(cudaStreamEndCapture, (cudaStream_t s, cudaGraph_t *out), (own(s), out))
PTSZ(cudaStreamIsCapturing, (cudaStream_t s, enum cudaStreamCaptureStatus *out), (own(s), out))
PTSZ(cudaStreamGetCaptureInfo,
     (cudaStream_t s, enum cudaStreamCaptureStatus *out, unsigned long long *id, cudaGraph_t *g,
      const cudaGraphNode_t **after, const cudaGraphEdgeData **edges, size_t *n),
     (own(s), out, id, g, after, edges, n))
PTSZ(cudaStreamAddCallback, (cudaStream_t s, cudaStreamCallback_t fn, void *data, unsigned f),
     (own(s), fn, data, f))
PTSZ(cudaLaunchHostFunc, (cudaStream_t s, cudaHostFn_t fn, void *data), (own(s), fn, data))
PTSZ(cudaGraphLaunch, (cudaGraphExec_t x, cudaStream_t s), (x, own(s)))
PTSZ(cudaGraphUpload, (cudaGraphExec_t x, cudaStream_t s), (x, own(s)))
PTSZ(cudaLaunchKernel, (const void *f, dim3 g, dim3 b, void **args, bytes shared, cudaStream_t s),
     (f, g, b, args, shared, own(s)))
PTSZ(cudaLaunchCooperativeKernel,
     (const void *f, dim3 g, dim3 b, void **args, bytes shared, cudaStream_t s),
     (f, g, b, args, shared, own(s)))

API cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *c, const void *f, void **args)
{
    cudaLaunchConfig_t mine = c ? *c : (cudaLaunchConfig_t){0};
    mine.stream = own(mine.stream);
    return cudaLaunchKernelExC(c ? &mine : NULL, f, args);
}

/* Of compiled code; no header declares it. */
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 g, dim3 b, void **args, size_t shared,
                               cudaStream_t stream);
PTSZ(__cudaLaunchKernel,
     (cudaKernel_t f, dim3 g, dim3 b, void **args, bytes shared, cudaStream_t s),
     (f, g, b, args, shared, own(s)))

PTDS(cudaMemcpy, cudaMemcpyAsync, (void *to, const void *from, bytes n, kind k), to, from, n, k)
PTDS(cudaMemcpy2D, cudaMemcpy2DAsync,
     (void *to, bytes tp, const void *from, bytes fp, bytes w, bytes h, kind k), to, tp, from, fp,
     w, h, k)
PTDS(cudaMemcpy3D, cudaMemcpy3DAsync, (const struct cudaMemcpy3DParms *p), p)
PTDS(cudaMemcpyToSymbol, cudaMemcpyToSymbolAsync,
     (const void *to, const void *from, bytes n, bytes at, kind k), to, from, n, at, k)
PTDS(cudaMemcpyFromSymbol, cudaMemcpyFromSymbolAsync,
     (void *to, const void *from, bytes n, bytes at, kind k), to, from, n, at, k)
PTDS(cudaMemset, cudaMemsetAsync, (void *p, int v, bytes n), p, v, n)
PTDS(cudaMemset2D, cudaMemset2DAsync, (void *p, bytes pitch, int v, bytes w, bytes h), p, pitch, v,
     w, h)
PTDS(cudaMemset3D, cudaMemset3DAsync, (struct cudaPitchedPtr p, int v, struct cudaExtent box), p, v,
     box)
