/* libcuda.c - a stand-in for libcuda.so.1: hands its functions out as the driver does, in versions,
 * and for per-thread default streams apart; each call says by its result which one it was. */
#include <cuda.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#undef cuGetProcAddress
#undef cuMemAlloc
#undef cuMemFree

int standin_calls;   /* of any of its functions */
int standin_lenient; /* a lookup that finds nothing succeeds, and the function is NULL */

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    *p = 0x100000 + 512 * (CUdeviceptr)standin_calls;
    return n > 1 << 30 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemAlloc(unsigned *p, unsigned n) /* of CUDA 2: 32 bits */
{
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    *p = n;
    return (CUresult)1002;
}
/* Rows of 1024 bytes each. */
CUresult cuMemAllocPitch_v2(CUdeviceptr *p, size_t *pitch, size_t w, size_t h, unsigned element)
{
    (void)element;
    *pitch = (w + 1023) / 1024 * 1024;
    return cuMemAlloc_v2(p, *pitch * h);
}
CUresult cuMemFree_v2(CUdeviceptr p)
{
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    return p ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s)
{
    (void)n, (void)s;
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    *p = 0x200000;
    return (CUresult)0;
}
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *p, size_t n, CUstream s);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *p, size_t n, CUstream s)
{
    (void)n, (void)s;
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    *p = 0x300000;
    return (CUresult)0;
}
/* Physical memory, which is mapped later; not exported, as by a driver that only answers lookups.
 */
uint64_t standin_created; /* bytes of a device */
static struct {
    uint64_t bytes;
    int on_device;
} created[1024];
static CUresult create(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *d,
                       unsigned long long f)
{
    static unsigned k;
    (void)f;
    k = k + 1 < 1024 ? k + 1 : 1;
    *h = k;
    created[k].bytes = n;
    created[k].on_device = !d || d->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (created[k].on_device) standin_created += n;
    return CUDA_SUCCESS;
}
static CUresult release(CUmemGenericAllocationHandle h)
{
    if (h >= 1024 || !created[h].bytes) return CUDA_ERROR_INVALID_VALUE;
    if (created[h].on_device) standin_created -= created[h].bytes;
    created[h].bytes = 0;
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream s, void **values,
                        void **extra)
{
    (void)f, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)s;
    (void)values, (void)extra;
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    return CUDA_SUCCESS;
}
CUresult cuInit(unsigned flags)
{
    __atomic_fetch_add(&standin_calls, 1, __ATOMIC_RELAXED);
    return (CUresult)flags;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status);
CUresult cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags)
{
    return cuGetProcAddress_v2(symbol, fn, version, flags, NULL);
}
CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    void *p = NULL;
    if (!strcmp(symbol, "cuMemAlloc"))
        p = version >= 3020 ? (void *)cuMemAlloc_v2 : (void *)cuMemAlloc;
    if (!strcmp(symbol, "cuMemFree")) p = (void *)cuMemFree_v2;
    if (!strcmp(symbol, "cuMemAllocPitch")) p = (void *)cuMemAllocPitch_v2;
    if (!strcmp(symbol, "cuInit")) p = (void *)cuInit;
    if (!strcmp(symbol, "cuMemCreate")) p = (void *)create;
    if (!strcmp(symbol, "cuMemRelease")) p = (void *)release;
    if (!strcmp(symbol, "cuMemAllocAsync"))
        p = flags & 2 ? (void *)cuMemAllocAsync_ptsz : (void *)cuMemAllocAsync;
    if (!strcmp(symbol, "cuGetProcAddress"))
        p = version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
    if (status) *status = p ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    *fn = p;
    return p || standin_lenient ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
/* By a name that nobody wraps. */
CUresult (*standin_lookup)(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *) = cuGetProcAddress_v2;
