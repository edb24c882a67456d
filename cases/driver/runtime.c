/* runtime.c - a stand-in for a runtime, and a library above it, in front of the stand-in for
 * libcuda: it hands the driver's functions out, its cudaMalloc is the driver's, its cublasCreate
 * allocates, and it has arrays, of which it keeps its own count. */
#define _GNU_SOURCE
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#undef cudaGetDriverEntryPoint

typedef CUresult lookup(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef enum cudaDriverEntryPointQueryResult answer;

uint64_t runtime_bytes; /* of arrays */

static void *from_driver(const char *name)
{
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    return h ? dlsym(h, name) : NULL;
}

/* The driver's own lookup: by its name, it would be the shim's. */
static cudaError_t look(const char *symbol, void **fn, int version, int per_thread, answer *status)
{
    lookup **f = from_driver("standin_lookup");
    (*f)(symbol, fn, version, per_thread ? 2 : 0, NULL);
    if (status) *status = *fn ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess; /* also where there is none, as NVIDIA's */
}
cudaError_t cudaGetDriverEntryPoint(const char *s, void **fn, unsigned long long flags, answer *a)
{
    return look(s, fn, CUDART_VERSION, (flags & cudaEnablePerThreadDefaultStream) != 0, a);
}
cudaError_t cudaGetDriverEntryPoint_ptsz(const char *s, void **fn, unsigned long long flags,
                                         answer *a)
{
    (void)flags;
    return look(s, fn, CUDART_VERSION, 1, a);
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *s, void **fn, unsigned version,
                                             unsigned long long flags, answer *a)
{
    return look(s, fn, (int)version, (flags & cudaEnablePerThreadDefaultStream) != 0, a);
}
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *s, void **fn, unsigned version,
                                                  unsigned long long flags, answer *a)
{
    (void)flags;
    return look(s, fn, (int)version, 1, a);
}

/* ---- calls within calls ---- */
cudaError_t cudaMalloc(void **p, size_t n)
{
    CUresult (*f)(CUdeviceptr *, size_t);
    CUdeviceptr at = 0;
    *(void **)&f = from_driver("cuMemAlloc_v2");
    CUresult e = f(&at, n);
    *p = (void *)(uintptr_t)at;
    return e ? cudaErrorMemoryAllocation : cudaSuccess;
}
cublasStatus_t cublasCreate_v2(cublasHandle_t *h)
{
    return cudaMalloc((void **)h, 1 << 20) ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

/* ---- arrays ---- */
static struct {
    uint64_t bytes;
    int mipmapped;
} arrays[64];

static void *new_array(uint64_t bytes, int mipmapped)
{
    for (uintptr_t i = 0; i < 64; i++)
        if (!arrays[i].bytes) {
            arrays[i].bytes = (bytes + 511) / 512 * 512;
            arrays[i].mipmapped = mipmapped;
            runtime_bytes += arrays[i].bytes;
            return (void *)(0x700000 + (i << 12));
        }
    return NULL;
}
static cudaError_t give_back(uintptr_t p, int mipmapped)
{
    uintptr_t i = (p - 0x700000) >> 12;
    if (i >= 64 || !arrays[i].bytes || arrays[i].mipmapped != mipmapped)
        return cudaErrorInvalidResourceHandle;
    runtime_bytes -= arrays[i].bytes;
    arrays[i].bytes = 0;
    return cudaSuccess;
}
static uint64_t elements(struct cudaExtent e)
{
    return e.width * (e.height ? e.height : 1) * (e.depth ? e.depth : 1);
}
static uint64_t element(const struct cudaChannelFormatDesc *d)
{
    return (uint64_t)(d->x + d->y + d->z + d->w) / 8;
}
cudaError_t cudaMallocArray(cudaArray_t *p, const struct cudaChannelFormatDesc *d, size_t w,
                            size_t h, unsigned f)
{
    (void)f;
    *p = new_array(w * (h ? h : 1) * element(d), 0);
    return cudaSuccess;
}
cudaError_t cudaMalloc3DArray(cudaArray_t *p, const struct cudaChannelFormatDesc *d,
                              struct cudaExtent e, unsigned f)
{
    (void)f;
    *p = new_array(elements(e) * element(d), 0);
    return cudaSuccess;
}
/* at most twice the first level */
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *p, const struct cudaChannelFormatDesc *d,
                                     struct cudaExtent e, unsigned levels, unsigned f)
{
    (void)f, (void)levels;
    *p = new_array(2 * elements(e) * element(d), 1);
    return cudaSuccess;
}
cudaError_t cudaFreeArray(cudaArray_t p)
{
    return give_back((uintptr_t)p, 0);
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t p)
{
    return give_back((uintptr_t)p, 1);
}
