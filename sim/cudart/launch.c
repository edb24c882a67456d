/* launch.c - launches, by <<<>>> and by name. A kernel that fails is asynchronous: the launch
 * succeeds and a later call that waits returns the error, for ever. */
#include "state.h"

/* called by code that nvcc makes; no public header declares them */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include <stdlib.h>
#include <string.h>

typedef struct config {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} config;
static __thread config pushed[16];
static __thread int npushed;

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                         struct CUstream_st *stream)
{
    if (npushed == 16) return 1;
    pushed[npushed++] = (config){grid, block, shared, stream};
    return 0;
}

API cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (npushed == 0) return sim_return(cudaErrorInvalidConfiguration);
    config *c = &pushed[--npushed];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(cudaStream_t *)stream = c->stream;
    return cudaSuccess;
}

/* A launch that waits: the values of its arguments are kept. */
typedef struct waiting {
    const sim_function *f;
    dim3 grid, block;
    size_t shared;
    void **args;
    void *kept; /* args, malloc'ed together with the values they point to; NULL: the caller's */
} waiting;

static void run(void *arg)
{
    const waiting *w = arg;
    if (!sim_pending && !sim_sticky) /* behind a kernel that has failed nothing runs */
        sim_pending = (cudaError_t)sim_grid_run(w->f, w->grid, w->block, w->shared, w->args);
}

static void drop(void *arg)
{
    free(((waiting *)arg)->kept);
}

static const sim_work launching = {cudaGraphNodeTypeKernel, run, drop};

static void **keep(const sim_kernel_info *k, void **args)
{
    size_t bytes = sizeof(void *) * (size_t)k->nparam;
    for (int i = 0; i < k->nparam; i++) bytes += (k->param_bytes[i] + 15u) & ~15u;
    void **kept = malloc(bytes + 16);
    char *at =
        kept ? (char *)kept + ((sizeof(void *) * (size_t)k->nparam + 15) & ~(size_t)15) : NULL;
    for (int i = 0; kept && i < k->nparam; i++) {
        kept[i] = memcpy(at, args[i], k->param_bytes[i]);
        at += (k->param_bytes[i] + 15u) & ~15u;
    }
    return kept;
}

/* OOMPROOF_SIM_NO_PTX=skip: for programs whose numbers do not matter, a kernel that has no PTX does
 * nothing; how often is told at the end. */
static unsigned long long skipped;

static void tell_skipped(void)
{
    sim_say("%llu launches of kernels without PTX were skipped (OOMPROOF_SIM_NO_PTX=skip): results "
            "are not to be trusted",
            skipped);
}

int sim_skips_missing(void)
{
    static int skips = -1;
    const char *s = getenv("OOMPROOF_SIM_NO_PTX");
    if (skips >= 0) return skips;
    skips = s && !strcmp(s, "skip");
    if (s && *s && !skips && strcmp(s, "fail"))
        sim_say("OOMPROOF_SIM_NO_PTX=%s: expected fail or skip; fail is taken", s);
    return skips;
}

static cudaError_t skip(void)
{
    if (!skipped++) atexit(tell_skipped);
    return cudaSuccess;
}

/* Whether this could run on a card; loads the kernel. */
static cudaError_t possible(sim_function *f, dim3 g, dim3 b, size_t shared)
{
    size_t threads = (size_t)b.x * b.y * b.z;
    if (sim_sticky) return sim_sticky;
    if (!f) return cudaErrorInvalidDeviceFunction;
    if (!g.x || !g.y || !g.z || !threads || g.x > INT32_MAX || g.y > 65535 || g.z > 65535 ||
        b.x > 1024 || b.y > 1024 || b.z > 64 || threads > 1024)
        return cudaErrorInvalidConfiguration;
    cudaError_t e = f->info ? cudaSuccess : sim_jit(f);
    if (e != cudaSuccess) return e;
    sim_strips(f, threads * g.x * g.y * g.z);
    if (shared > (size_t)f->dynamic_limit || shared + f->info->static_shared > 227 * 1024)
        return cudaErrorInvalidValue;
    return sim_host_has(0) ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t launch(sim_function *f, dim3 g, dim3 b, void **args, size_t shared,
                          cudaStream_t stream)
{
    struct CUstream_st *s = sim_stream(stream);
    cudaError_t e = possible(f, g, b, shared);
    if (e == cudaErrorInvalidDeviceFunction || !s) return s ? e : cudaErrorInvalidResourceHandle;
    if (e == cudaErrorNoKernelImageForDevice && sim_skips_missing()) return skip();
    if (e != cudaSuccess) return e;
    waiting w = {f, g, b, shared, args, NULL};
    if (sim_lazy() || sim_capturing(s)) w.args = w.kept = keep(f->info, args);
    if (!w.args && f->info->nparam) return cudaErrorMemoryAllocation;
    return sim_submit(s, &launching, &w, sizeof w);
}

cudaError_t sim_launch_work(const struct cudaKernelNodeParams *p, const sim_work **work, void **arg,
                            size_t *bytes)
{
    sim_function *f = sim_function_find(p->func);
    cudaError_t e = possible(f, p->gridDim, p->blockDim, p->sharedMemBytes);
    if (e != cudaSuccess) return e;
    if (!p->kernelParams && f->info->nparam) return cudaErrorInvalidValue;
    void **kept = keep(f->info, p->kernelParams);
    waiting w = {f, p->gridDim, p->blockDim, p->sharedMemBytes, kept, kept};
    if (!kept || !(*arg = malloc(sizeof w))) {
        free(kept);
        return cudaErrorMemoryAllocation;
    }
    memcpy(*arg, &w, *bytes = sizeof w);
    *work = &launching;
    return cudaSuccess;
}

API cudaError_t cudaLaunchKernel(const void *host, dim3 g, dim3 b, void **args, size_t shared,
                                 cudaStream_t stream)
{
    ENTER();
    LEAVE(launch(sim_function_find(host), g, b, args, shared, stream));
}

/* A launch stub keeps the handle of its first call for ever, so a failure must not be kept: the
 * host function goes into the handle, and a launch takes either. */
API cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    if (!out) return sim_return(cudaErrorInvalidValue);
    *out = (cudaKernel_t)(uintptr_t)host;
    ENTER();
    LEAVE(sim_function_find(host) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 g, dim3 b, void **args, size_t shared,
                                   cudaStream_t stream)
{
    ENTER();
    LEAVE(launch(sim_function_find(kernel), g, b, args, shared, stream));
}

/* What a launch may be asked for beside its sizes: where it only allows work to overlap, or says
 * what is kept near, each grid behind the other is right. */
static int allowed(const cudaLaunchAttribute *a)
{
    switch (a->id) {
    case cudaLaunchAttributeIgnore:
    case cudaLaunchAttributeAccessPolicyWindow:
    case cudaLaunchAttributeSynchronizationPolicy:
    case cudaLaunchAttributeProgrammaticStreamSerialization:
    case cudaLaunchAttributePriority:
    case cudaLaunchAttributeMemSyncDomainMap:
    case cudaLaunchAttributeMemSyncDomain:
    case cudaLaunchAttributePreferredSharedMemoryCarveout: return 1;
    case cudaLaunchAttributeCooperative:
        if (!a->val.cooperative) return 1;
        sim_say("cudaLaunchKernelExC: cooperative launches are not supported");
        return 0;
    case cudaLaunchAttributeClusterDimension:
        if (a->val.clusterDim.x * a->val.clusterDim.y * a->val.clusterDim.z <= 1) return 1;
        sim_say("cudaLaunchKernelExC: clusters of blocks are not supported");
        return 0;
    default:
        sim_say("cudaLaunchKernelExC: the launch attribute %d is not supported", (int)a->id);
        return 0;
    }
}

API cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *host, void **args)
{
    ENTER();
    if (!c) LEAVE(cudaErrorInvalidValue);
    for (unsigned i = 0; i < c->numAttrs; i++)
        if (!allowed(&c->attrs[i])) LEAVE(cudaErrorNotSupported);
    LEAVE(launch(sim_function_find(host), c->gridDim, c->blockDim, args, c->dynamicSmemBytes,
                 c->stream));
}

API cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *host)
{
    ENTER();
    sim_function *f = sim_function_find(host);
    if (!a || !f) LEAVE(a ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
    cudaError_t e = f->info ? cudaSuccess : sim_jit(f);
    if (e != cudaSuccess) LEAVE(e);
    memset(a, 0, sizeof *a);
    a->sharedSizeBytes = f->info->static_shared;
    a->localSizeBytes = f->info->local_bytes;
    a->maxThreadsPerBlock = 1024;
    a->numRegs = 32;
    a->ptxVersion = sim_ptx_target(f->module->ptx);
    a->binaryVersion = 90;
    a->maxDynamicSharedSizeBytes = f->dynamic_limit;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attr, int value)
{
    ENTER();
    sim_function *f = sim_function_find(host);
    if (!f) LEAVE(cudaErrorInvalidDeviceFunction);
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || value > 227 * 1024) LEAVE(cudaErrorInvalidValue);
        f->dynamic_limit = value;
        LEAVE(cudaSuccess);
    }
    LEAVE(attr == cudaFuncAttributePreferredSharedMemoryCarveout ? cudaSuccess
                                                                 : cudaErrorNotSupported);
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *out, const void *host,
                                                                       int block, size_t shared,
                                                                       unsigned flags)
{
    (void)flags;
    ENTER();
    if (!out || block <= 0 || block > 1024) LEAVE(cudaErrorInvalidValue);
    sim_function *f = sim_function_find(host);
    if (!f) LEAVE(cudaErrorInvalidDeviceFunction);
    int by_threads = 2048 / ((block + 31) / 32 * 32),
        by_shared = shared ? (int)(228 * 1024 / (shared + 1024)) : 32;
    *out = by_threads < by_shared ? by_threads : by_shared;
    if (*out > 32) *out = 32;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *out, const void *host, int block,
                                                              size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, host, block, shared, 0);
}
