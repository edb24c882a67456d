/* settings.c - calls that set or ask for what hardly matters here: limits, caches, flags, peers,
 * profilers; and those that are refused by name: sharing between processes, cooperative grids. */
#include "state.h"
#include <cuda_profiler_api.h>
#include <stdio.h>
#include <string.h>

/* name's argument is checked, and that is all. */
#define CHECKED(name, parameters, ok)                      \
    API cudaError_t name parameters                        \
    {                                                      \
        ENTER();                                           \
        LEAVE((ok) ? cudaSuccess : cudaErrorInvalidValue); \
    }
CHECKED(cudaProfilerStart, (void), 1)
CHECKED(cudaProfilerStop, (void), 1)
CHECKED(cudaDeviceSetCacheConfig, (enum cudaFuncCache c), (unsigned)c <= cudaFuncCachePreferEqual)
CHECKED(cudaSetValidDevices, (int *list, int n), (list || !n) && n >= 0)
CHECKED(cudaCtxResetPersistingL2Cache, (void), 1)

API cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *out)
{
    ENTER();
    if (out) *out = cudaFuncCachePreferNone;
    LEAVE(out ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaFuncSetCacheConfig(const void *f, enum cudaFuncCache c)
{
    ENTER();
    (void)c;
    LEAVE(sim_function_find(f) ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

API cudaError_t cudaFuncGetName(const char **out, const void *f)
{
    ENTER();
    sim_function *x = sim_function_find(f);
    if (!out || !x) LEAVE(out ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue);
    *out = x->name;
    LEAVE(cudaSuccess);
}

/* ---- the device ---- */
/* Everything the program has made is gone, and so is an error that stuck. */
API cudaError_t cudaDeviceReset(void)
{
    ENTER();
    sim_run_all();
    sim_sticky = sim_pending = cudaSuccess;
    sim_streams_reset();
    sim_modules_reset();
    sim_pools_reset();
    sim_memory_reset();
    LEAVE(cudaSuccess);
}

static unsigned device_flags;

API cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    ENTER();
    if (flags & ~(unsigned)cudaDeviceMask) LEAVE(cudaErrorInvalidValue);
    device_flags = flags;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaGetDeviceFlags(unsigned *out)
{
    ENTER();
    if (out) *out = device_flags | cudaDeviceMapHost;
    LEAVE(out ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaInitDevice(int device, unsigned flags, unsigned which)
{
    ENTER();
    if (device != 0) LEAVE(cudaErrorInvalidDevice);
    if (which & cudaInitDeviceFlagsAreValid) device_flags = flags;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaChooseDevice(int *out, const struct cudaDeviceProp *wanted)
{
    ENTER();
    if (!out || !wanted) LEAVE(cudaErrorInvalidValue);
    *out = 0;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceGetPCIBusId(char *out, int room, int device)
{
    ENTER();
    if (!out || room < 13 || device != 0)
        LEAVE(device ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    snprintf(out, (size_t)room, "0000:00:00.0");
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceGetByPCIBusId(int *out, const char *id)
{
    ENTER();
    if (!out || !id) LEAVE(cudaErrorInvalidValue);
    if (strcmp(id, "0000:00:00.0")) LEAVE(cudaErrorInvalidDevice);
    *out = 0;
    LEAVE(cudaSuccess);
}

static size_t limits[] = {[cudaLimitStackSize] = 1024,
                          [cudaLimitPrintfFifoSize] = 1 << 20,
                          [cudaLimitMallocHeapSize] = 8 << 20};

API cudaError_t cudaDeviceGetLimit(size_t *out, enum cudaLimit which)
{
    ENTER();
    if (!out) LEAVE(cudaErrorInvalidValue);
    if ((unsigned)which >= sizeof limits / sizeof *limits) LEAVE(cudaErrorUnsupportedLimit);
    *out = limits[which];
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceSetLimit(enum cudaLimit which, size_t value)
{
    ENTER();
    if ((unsigned)which >= sizeof limits / sizeof *limits) LEAVE(cudaErrorUnsupportedLimit);
    limits[which] = value;
    LEAVE(cudaSuccess);
}

/* ---- there is one device: no peers ---- */
API cudaError_t cudaDeviceCanAccessPeer(int *out, int device, int peer)
{
    ENTER();
    if (!out) LEAVE(cudaErrorInvalidValue);
    if (device != 0 || peer != 0) LEAVE(cudaErrorInvalidDevice);
    *out = 0;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    (void)peer, (void)flags;
    ENTER();
    LEAVE(cudaErrorInvalidDevice);
}

API cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    (void)peer;
    ENTER();
    LEAVE(peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice);
}

API cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t n)
{
    if (to_device || from_device) return sim_return(cudaErrorInvalidDevice);
    return cudaMemcpy(to, from, n, cudaMemcpyDeviceToDevice);
}

API cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                    size_t n, cudaStream_t s)
{
    if (to_device || from_device) return sim_return(cudaErrorInvalidDevice);
    return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToDevice, s);
}

/* ---- refused ---- */
static cudaError_t refused(const char *what)
{
    ENTER();
    sim_say("%s", what);
    LEAVE(cudaErrorNotSupported);
}

static const char *const no_ipc = "memory and events are not shared between processes here: "
                                  "cudaIpc* and shareable pool handles are not supported";

API cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *out, void *p)
{
    (void)out, (void)p;
    return refused(no_ipc);
}
API cudaError_t cudaIpcOpenMemHandle(void **out, cudaIpcMemHandle_t h, unsigned flags)
{
    (void)out, (void)h, (void)flags;
    return refused(no_ipc);
}
API cudaError_t cudaIpcCloseMemHandle(void *p)
{
    (void)p;
    return refused(no_ipc);
}
API cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *out, cudaEvent_t e)
{
    (void)out, (void)e;
    return refused(no_ipc);
}
API cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *out, cudaIpcEventHandle_t h)
{
    (void)out, (void)h;
    return refused(no_ipc);
}
API cudaError_t cudaMemPoolExportToShareableHandle(void *out, cudaMemPool_t o,
                                                   enum cudaMemAllocationHandleType t, unsigned f)
{
    (void)out, (void)o, (void)t, (void)f;
    return refused(no_ipc);
}

/* Blocks run one after the other, so a barrier over the grid would never be passed. A grid of one
 * block has none to wait for. */
API cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **args,
                                            size_t shared, cudaStream_t s)
{
    if (g.x == 1 && g.y == 1 && g.z == 1) return cudaLaunchKernel(f, g, b, args, shared, s);
    return refused("cooperative grids of more than one block are not supported: blocks run one "
                   "after the other");
}

static cudaError_t no_driver(const char *name, void **out, enum cudaDriverEntryPointQueryResult *r)
{
    ENTER();
    if (!name || !out) LEAVE(cudaErrorInvalidValue);
    *out = NULL;
    if (r) *r = cudaDriverEntryPointSymbolNotFound;
    LEAVE(r ? cudaSuccess : cudaErrorSymbolNotFound);
}

API cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                        enum cudaDriverEntryPointQueryResult *r);
API cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                        enum cudaDriverEntryPointQueryResult *r)
{
    (void)flags;
    return no_driver(name, out, r);
}

API cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                                 unsigned long long flags,
                                                 enum cudaDriverEntryPointQueryResult *r)
{
    (void)version, (void)flags;
    return no_driver(name, out, r);
}
