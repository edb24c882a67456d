/* device.c - whether there is a device, what it is, and the lock around every call. */
#define _GNU_SOURCE
#include "state.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

API const char sim_device_marker[] = "oomproof simulated device";

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth; /* a kernel's launch holds the lock; nothing inside it comes back in */

/* A child must not inherit a lock that another thread held. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}
static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}
static void __attribute__((constructor)) at_load(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

/* A program that found this library only through its run path did not ask for a simulation. */
int sim_active(void)
{
    static int active = -1;
    if (active >= 0) return active;
    const char *device = getenv("OOMPROOF_DEVICE"), *path = getenv("LD_LIBRARY_PATH");
    const char *preload = getenv("LD_PRELOAD"), *memory = getenv("OOMPROOF_SIM_MEMORY");
    active = (device && !strcmp(device, "sim")) || (memory && *memory) ||
             (preload && strstr(preload, "libcudart.so.13"));
    Dl_info here;
    if (!active && path && dladdr(sim_device_marker, &here) && here.dli_fname) {
        char *mine = realpath(here.dli_fname, NULL), *slash = mine ? strrchr(mine, '/') : NULL;
        if (slash) *slash = 0;
        char *copy = strdup(path), *save = NULL;
        for (char *d = copy ? strtok_r(copy, ":", &save) : NULL; d && slash;
             d = strtok_r(NULL, ":", &save)) {
            char *real = realpath(d, NULL);
            active |= real && !strcmp(real, mine);
            free(real);
        }
        free(copy);
        free(mine);
    }
    return active;
}

cudaError_t sim_enter(void)
{
    if (!sim_active()) return cudaErrorNoDevice;
    if (depth++ == 0) pthread_mutex_lock(&lock);
    cudaError_t e = sim_memory_start();
    if (e != cudaSuccess) sim_leave();
    return e;
}

void sim_leave(void)
{
    if (--depth == 0) pthread_mutex_unlock(&lock);
}

API cudaError_t cudaGetDeviceCount(int *count)
{
    if (!count) return sim_return(cudaErrorInvalidValue);
    cudaError_t e = sim_enter();
    *count = e == cudaSuccess;
    if (e == cudaSuccess) sim_leave();
    return sim_return(e);
}

API cudaError_t cudaSetDevice(int device)
{
    ENTER();
    LEAVE(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

API cudaError_t cudaGetDevice(int *device)
{
    ENTER();
    if (device) *device = 0;
    LEAVE(device ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
{
    size_t unused;
    ENTER();
    if (!p || device != 0) LEAVE(p ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "oomproof simulated device");
    sim_memory_info(&unused, &p->totalGlobalMem);
    p->sharedMemPerBlock = 48 * 1024;
    p->sharedMemPerBlockOptin = 227 * 1024;
    p->sharedMemPerMultiprocessor = 228 * 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxBlocksPerMultiProcessor = 32;
    p->totalConstMem = 65536;
    p->memPitch = INT32_MAX;
    p->textureAlignment = 512;
    p->major = 9;
    p->multiProcessorCount = 1;
    p->unifiedAddressing = 1;
    p->asyncEngineCount = 1;
    p->managedMemory = p->concurrentManagedAccess = p->canMapHostMemory = 1;
    p->memoryPoolsSupported = p->concurrentKernels = p->streamPrioritiesSupported = 1;
    p->l2CacheSize = 50 << 20;
    p->memoryBusWidth = 512;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    ENTER();
    if (!value || device != 0) LEAVE(value ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = INT32_MAX; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = 227 * 1024; break;
    case cudaDevAttrMultiProcessorCount: *value = 1; break;
    case cudaDevAttrComputeCapabilityMajor: *value = 9; break;
    case cudaDevAttrComputeCapabilityMinor: *value = 0; break;
    case cudaDevAttrUnifiedAddressing: *value = 1; break;
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrPageableMemoryAccess: *value = attr != cudaDevAttrPageableMemoryAccess; break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPciBusId:
    case cudaDevAttrPciDeviceId:
    case cudaDevAttrPciDomainId: *value = 0; break;
    case cudaDevAttrTotalConstantMemory: *value = 65536; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: *value = 65536; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 * 1024; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrClockRate: *value = 1000000; break; /* kHz; nothing is timed by it */
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 512; break;
    case cudaDevAttrL2CacheSize: *value = 50 << 20; break;
    case cudaDevAttrAsyncEngineCount: *value = 1; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = 1; break;
    case cudaDevAttrConcurrentKernels: *value = 1; break;
    default: LEAVE(cudaErrorNotSupported);
    }
    LEAVE(cudaSuccess);
}

API cudaError_t cudaRuntimeGetVersion(int *v)
{
    if (!v) return sim_return(cudaErrorInvalidValue);
    *v = CUDART_VERSION;
    return cudaSuccess;
}

API cudaError_t cudaDriverGetVersion(int *v)
{
    if (!v) return sim_return(cudaErrorInvalidValue);
    *v = sim_active() ? CUDART_VERSION : 0;
    return cudaSuccess;
}

API cudaError_t cudaDeviceSynchronize(void)
{
    ENTER();
    cudaError_t e = sim_capture_unsafe();
    if (e == cudaSuccess) sim_settle();
    LEAVE(e);
}
