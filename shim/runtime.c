/* runtime.c - wrappers around the CUDA runtime. A failing fault comes before the real call: nothing
 * leaks and outputs stay as they were. */
#define _GNU_SOURCE
#include "state.h"
#include <math.h>
#include <string.h>

/* the stubs that nvcc makes call some of these; no public header declares them */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
/* no card has it: the real function fails, with the real error */
#define IMPOSSIBLE ((size_t)1 << 62)

static __thread cudaError_t overlay; /* last error where the real one could not be made */

static int is_sticky(int code)
{
    return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719 && code != 711);
}

/* A runtime code returned without the real call. */
static cudaError_t injected(int code)
{
    if (is_sticky(code)) op_sticky = code;
    overlay = (cudaError_t)code;
    return (cudaError_t)code;
}

#define STICKY() \
    if (op_sticky) return (cudaError_t)op_sticky

static cudaError_t allocation_fault(const op_rule *r)
{
    if (r->action == OP_CODE) return injected(r->code);
    return injected(cudaErrorMemoryAllocation);
}

API cudaError_t cudaMalloc(void **out, size_t bytes)
{
    PASS_IF_INSIDE(REAL(cudaMalloc)(out, bytes));
    STICKY();
    op_rule r =
        op_seen((op_call){.lib = OP_CUDA, .name = "cudaMalloc", .size = bytes, .allocates = 1});
    if (r.action == OP_OOM) {
        void *unused;
        return OUTER(REAL(cudaMalloc)(&unused, IMPOSSIBLE));
    }
    if (r.action == OP_CODE) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMalloc)(out, bytes));
    if (e == cudaSuccess && *out) op_allocated(*out, bytes);
    return e;
}

API cudaError_t cudaFree(void *p)
{
    PASS_IF_INSIDE(REAL(cudaFree)(p));
    STICKY();
    op_rule r = op_seen((op_call){.lib = OP_CUDA, .name = "cudaFree"});
    if (r.action == OP_CODE || r.action == OP_OOM) return allocation_fault(&r);
    uint64_t bytes = p ? op_freeing(p) : 0;
    cudaError_t e = OUTER(REAL(cudaFree)(p));
    if (e != cudaSuccess && bytes) op_allocated(p, bytes);
    return e;
}

API cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    PASS_IF_INSIDE(REAL(cudaMallocHost)(out, bytes));
    STICKY();
    op_rule r = op_seen((op_call){.lib = OP_CUDA, .name = "cudaMallocHost", .size = bytes});
    if (r.action == OP_CODE || r.action == OP_OOM) return allocation_fault(&r);
    return OUTER(REAL(cudaMallocHost)(out, bytes));
}

static op_kind kind_of(enum cudaMemcpyKind k)
{
    return k >= 0 && k <= 3 ? (op_kind)(k + 1) : OP_ANY_KIND;
}

static void fill_poison(const op_rule *r, void *to, size_t bytes)
{
    double d = r->infinite ? INFINITY : NAN;
    float f = (float)d;
    size_t size = r->f64 ? sizeof d : sizeof f;
    for (int i = 0; i < r->count && (size_t)(i + 1) * size <= bytes; i++)
        memcpy((char *)to + (size_t)i * size, r->f64 ? (void *)&d : (void *)&f, size);
}

/* After the copy, in stream order: a copy to the host is waited for first. */
static void poison_copy(const op_rule *r, void *to, size_t bytes, enum cudaMemcpyKind kind,
                        cudaStream_t stream)
{
    char pattern[4096];
    size_t n = bytes < sizeof pattern ? bytes : sizeof pattern;
    op_inside++;
    REAL(cudaStreamSynchronize)(stream);
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        fill_poison(r, to, bytes);
    else if (REAL(cudaMemcpy)(pattern, to, n, cudaMemcpyDeviceToHost) == cudaSuccess) {
        fill_poison(r, pattern, n);
        REAL(cudaMemcpy)(to, pattern, n, cudaMemcpyHostToDevice);
    }
    op_inside--;
}

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    PASS_IF_INSIDE(REAL(cudaMemcpyAsync)(to, from, bytes, kind, stream));
    STICKY();
    op_rule r = op_seen(
        (op_call){.lib = OP_CUDA, .name = "cudaMemcpyAsync", .size = bytes, .kind = kind_of(kind)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMemcpyAsync)(to, from, bytes, kind, stream));
    if (r.action == OP_POISON && e == cudaSuccess) poison_copy(&r, to, bytes, kind, stream);
    return e;
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    PASS_IF_INSIDE(REAL(cudaMemcpy)(to, from, bytes, kind));
    STICKY();
    op_rule r = op_seen(
        (op_call){.lib = OP_CUDA, .name = "cudaMemcpy", .size = bytes, .kind = kind_of(kind)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMemcpy)(to, from, bytes, kind));
    if (r.action == OP_POISON && e == cudaSuccess) poison_copy(&r, to, bytes, kind, NULL);
    return e;
}

#define RUNTIME(fn_name, parameters, arguments)                           \
    API cudaError_t fn_name parameters                                    \
    {                                                                     \
        PASS_IF_INSIDE(REAL(fn_name) arguments);                          \
        STICKY();                                                         \
        op_rule r = op_seen((op_call){.lib = OP_CUDA, .name = #fn_name}); \
        if (FAULTED(r)) return allocation_fault(&r);                      \
        return OUTER(REAL(fn_name) arguments);                            \
    }
RUNTIME(cudaMemsetAsync, (void *p, int v, size_t n, cudaStream_t s), (p, v, n, s))
RUNTIME(cudaMemset, (void *p, int v, size_t n), (p, v, n))
RUNTIME(cudaMemcpy2DAsync,
        (void *t, size_t tp, const void *f, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k,
         cudaStream_t s),
        (t, tp, f, fp, w, h, k, s))
RUNTIME(cudaStreamSynchronize, (cudaStream_t s), (s))
RUNTIME(cudaDeviceSynchronize, (void), ())
RUNTIME(cudaStreamCreate, (cudaStream_t * s), (s))

static void poison_launch(const op_rule *r, void **args, cudaStream_t stream)
{
    if (r->arg < 0) return;
    void *p = *(void **)args[r->arg];
    poison_copy(r, p, (size_t)r->count * (r->f64 ? 8 : 4), cudaMemcpyDeviceToDevice, stream);
}

API cudaError_t cudaLaunchKernel(const void *host, dim3 g, dim3 b, void **args, size_t smem,
                                 cudaStream_t s)
{
    PASS_IF_INSIDE(REAL(cudaLaunchKernel)(host, g, b, args, smem, s));
    STICKY();
    op_rule r = op_seen(
        (op_call){.lib = OP_CUDA, .name = "cudaLaunchKernel", .kernel = op_kernel_name(host)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaLaunchKernel)(host, g, b, args, smem, s));
    if (r.action == OP_POISON && e == cudaSuccess) poison_launch(&r, args, s);
    return e;
}

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 g, dim3 b, void **args, size_t smem,
                                   cudaStream_t s)
{
    static __typeof__(__cudaLaunchKernel) *real;
    if (!real) real = (__typeof__(real))op_resolve("__cudaLaunchKernel");
    PASS_IF_INSIDE(real(kernel, g, b, args, smem, s));
    STICKY();
    op_rule r = op_seen(
        (op_call){.lib = OP_CUDA, .name = "__cudaLaunchKernel", .kernel = op_kernel_name(kernel)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(real(kernel, g, b, args, smem, s));
    if (r.action == OP_POISON && e == cudaSuccess) poison_launch(&r, args, s);
    return e;
}

/* Never failed: a stub keeps the handle of its first call for ever. */
API cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    static __typeof__(__cudaGetKernel) *real;
    if (!real) real = (__typeof__(real))op_resolve("__cudaGetKernel");
    cudaError_t e = real(out, host);
    const char *name = op_kernel_name(host);
    if (e == cudaSuccess && name) op_learn_kernel(*out, name);
    return e;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *fun, const char *name,
                                int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                int *warp)
{
    static __typeof__(__cudaRegisterFunction) *real;
    if (!real) real = (__typeof__(real))op_resolve("__cudaRegisterFunction");
    op_learn_kernel(host, name);
    real(handle, host, fun, name, limit, tid, bid, block, grid, warp);
}

API cudaError_t cudaGetLastError(void)
{
    PASS_IF_INSIDE(REAL(cudaGetLastError)());
    STICKY();
    cudaError_t e = REAL(cudaGetLastError)();
    if (overlay) e = overlay;
    overlay = cudaSuccess;
    return e;
}

API cudaError_t cudaPeekAtLastError(void)
{
    PASS_IF_INSIDE(REAL(cudaPeekAtLastError)());
    STICKY();
    return overlay ? overlay : REAL(cudaPeekAtLastError)();
}

API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    PASS_IF_INSIDE(REAL(cudaMemGetInfo)(free_bytes, total));
    STICKY();
    cudaError_t e = REAL(cudaMemGetInfo)(free_bytes, total);
    uint64_t budget = 0, live;
    if (e == cudaSuccess && op_budget(&budget, &live)) { /* the smaller card */
        size_t room = live < budget ? budget - live : 0;
        if (*total > budget) *total = budget;
        if (*free_bytes > room) *free_bytes = room;
    }
    return e;
}
