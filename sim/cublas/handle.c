/* handle.c - handles, modes, names of status codes. The handle's own workspace is 4 MiB where the
 * card has at least 256 MiB, nothing on smaller test cards; callers give theirs with
 * cublasSetWorkspace. */
#include "handle.h"
#include <string.h>

/* OpenBLAS: one thread, so that a run is the same every time and a fork is safe. */
void openblas_set_num_threads(int n);
int openblas_get_num_threads(void);

cublasStatus_t sim_blas_check(cublasHandle_t h)
{
    HANDLE();
    return sim_device_error() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_blas_scalar(cublasHandle_t h, const void *p, size_t bytes, void *out)
{
    if (!p) return CUBLAS_STATUS_INVALID_VALUE;
    if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE && !(p = RANGE(p, bytes, 0)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    memcpy(out, p, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_blas_give(cublasHandle_t h, void *to, const void *value, size_t bytes)
{
    if (h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE && !(to = RANGE(to, bytes, 1)))
        return CUBLAS_STATUS_EXECUTION_FAILED;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    sim_memory_figures m;
    if (!out) return CUBLAS_STATUS_INVALID_VALUE;
    *out = NULL;
    openblas_set_num_threads(1);
    if (openblas_get_num_threads() != 1) return CUBLAS_STATUS_INTERNAL_ERROR;
    struct cublasContext *h = sim_live_new(SIM_BLAS_HANDLE, sizeof *h);
    if (!h) return CUBLAS_STATUS_ALLOC_FAILED;
    sim_memory_read(&m);
    /* the first call may come before the runtime has looked at its memory */
    int e = sim_device_alloc(&h->workspace, m.capacity >= (256u << 20) ? 4u << 20 : 512);
    if (e) {
        sim_live_take(h, SIM_BLAS_HANDLE);
        sim_live_free(h);
        return e == cudaErrorMemoryAllocation ? CUBLAS_STATUS_ALLOC_FAILED
                                              : CUBLAS_STATUS_NOT_INITIALIZED;
    }
    *out = h;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
    if (!sim_live_take(h, SIM_BLAS_HANDLE)) return CUBLAS_STATUS_NOT_INITIALIZED;
    sim_device_free(h->workspace);
    sim_live_free(h);
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t stream)
{
    HANDLE();
    h->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetStream_v2(cublasHandle_t h, cudaStream_t *stream)
{
    HANDLE();
    if (!stream) return CUBLAS_STATUS_INVALID_VALUE;
    *stream = h->stream;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t bytes)
{
    HANDLE();
    if ((uintptr_t)workspace % 256 || (!workspace && bytes)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
    int base = mode & ~CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    HANDLE();
    if ((base < CUBLAS_DEFAULT_MATH || base > CUBLAS_FP32_EMULATED_BF16X9_MATH) &&
        base != CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH)
        return CUBLAS_STATUS_INVALID_VALUE;
    h->math_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t *mode)
{
    HANDLE();
    if (!mode) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h->math_mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t mode)
{
    HANDLE();
    if (mode != CUBLAS_POINTER_MODE_HOST && mode != CUBLAS_POINTER_MODE_DEVICE)
        return CUBLAS_STATUS_INVALID_VALUE;
    h->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t *mode)
{
    HANDLE();
    if (!mode) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *version)
{
    (void)h;
    if (!version) return CUBLAS_STATUS_INVALID_VALUE;
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

static const struct {
    cublasStatus_t code;
    const char *name, *text;
} names[] = {
    {CUBLAS_STATUS_SUCCESS, "CUBLAS_STATUS_SUCCESS", "success"},
    {CUBLAS_STATUS_NOT_INITIALIZED, "CUBLAS_STATUS_NOT_INITIALIZED",
     "the library was not initialized"},
    {CUBLAS_STATUS_ALLOC_FAILED, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {CUBLAS_STATUS_INVALID_VALUE, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was given"},
    {CUBLAS_STATUS_ARCH_MISMATCH, "CUBLAS_STATUS_ARCH_MISMATCH",
     "the device does not have this feature"},
    {CUBLAS_STATUS_MAPPING_ERROR, "CUBLAS_STATUS_MAPPING_ERROR",
     "an access to device memory failed"},
    {CUBLAS_STATUS_EXECUTION_FAILED, "CUBLAS_STATUS_EXECUTION_FAILED",
     "the work failed on the device"},
    {CUBLAS_STATUS_INTERNAL_ERROR, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {CUBLAS_STATUS_NOT_SUPPORTED, "CUBLAS_STATUS_NOT_SUPPORTED", "the function is not supported"},
    {CUBLAS_STATUS_LICENSE_ERROR, "CUBLAS_STATUS_LICENSE_ERROR", "a license problem"},
};

API const char *cublasGetStatusName(cublasStatus_t s)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == s) return names[i].name;
    return "CUBLAS_STATUS_unknown";
}

API const char *cublasGetStatusString(cublasStatus_t s)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == s) return names[i].text;
    return "an unknown status";
}
