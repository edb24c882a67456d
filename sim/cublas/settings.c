/* settings.c - calls that only set or ask, beside those of handle.c: atomics, the count of
 * multiprocessors, the logger, versions. What is set changes nothing here, and is told when asked.
 */
#include "handle.h"

API cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode)
{
    HANDLE();
    if (mode != CUBLAS_ATOMICS_ALLOWED && mode != CUBLAS_ATOMICS_NOT_ALLOWED)
        return CUBLAS_STATUS_INVALID_VALUE;
    h->atomics_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t *mode)
{
    HANDLE();
    if (!mode) return CUBLAS_STATUS_INVALID_VALUE;
    *mode = h->atomics_mode;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetSmCountTarget(cublasHandle_t h, int count)
{
    HANDLE();
    if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    h->sm_target = count;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetSmCountTarget(cublasHandle_t h, int *count)
{
    HANDLE();
    if (!count) return CUBLAS_STATUS_INVALID_VALUE;
    *count = h->sm_target;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasLogCallback logger;

API cublasStatus_t cublasLoggerConfigure(int on, int to_out, int to_err, const char *file)
{
    (void)on, (void)to_out, (void)to_err, (void)file; /* nothing is logged */
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback)
{
    logger = callback;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetLoggerCallback(cublasLogCallback *callback)
{
    if (!callback) return CUBLAS_STATUS_INVALID_VALUE;
    *callback = logger;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasGetProperty(libraryPropertyType which, int *value)
{
    if (!value) return CUBLAS_STATUS_INVALID_VALUE;
    switch (which) {
    case MAJOR_VERSION: *value = CUBLAS_VER_MAJOR; return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION: *value = CUBLAS_VER_MINOR; return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL: *value = CUBLAS_VER_PATCH; return CUBLAS_STATUS_SUCCESS;
    default: return CUBLAS_STATUS_INVALID_VALUE;
    }
}

API size_t cublasGetCudartVersion(void)
{
    return CUDART_VERSION;
}
