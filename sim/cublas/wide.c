/* wide.c - the _64 variants of the calls on vectors, and on a matrix and vectors. */
#include "wide.h"

#define VECTORS(P, type)                                                                           \
    API cublasStatus_t cublas##P##axpy_v2_64(cublasHandle_t handle, int64_t n, const type *alpha,  \
                                             const type *x, int64_t incx, type *y, int64_t incy)   \
    {                                                                                              \
        return FIT(n, incx, incy)                                                                  \
                   ? cublas##P##axpy_v2(handle, (int)n, alpha, x, (int)incx, y, (int)incy)         \
                   : too_large("cublas" #P "axpy_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##scal_v2_64(cublasHandle_t handle, int64_t n, const type *alpha,  \
                                             type *x, int64_t incx)                                \
    {                                                                                              \
        return FIT(n, incx) ? cublas##P##scal_v2(handle, (int)n, alpha, x, (int)incx)              \
                            : too_large("cublas" #P "scal_v2_64");                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##copy_v2_64(cublasHandle_t handle, int64_t n, const type *x,      \
                                             int64_t incx, type *y, int64_t incy)                  \
    {                                                                                              \
        return FIT(n, incx, incy) ? cublas##P##copy_v2(handle, (int)n, x, (int)incx, y, (int)incy) \
                                  : too_large("cublas" #P "copy_v2_64");                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##swap_v2_64(cublasHandle_t handle, int64_t n, type *x,            \
                                             int64_t incx, type *y, int64_t incy)                  \
    {                                                                                              \
        return FIT(n, incx, incy) ? cublas##P##swap_v2(handle, (int)n, x, (int)incx, y, (int)incy) \
                                  : too_large("cublas" #P "swap_v2_64");                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##dot_v2_64(cublasHandle_t handle, int64_t n, const type *x,       \
                                            int64_t incx, const type *y, int64_t incy,             \
                                            type *result)                                          \
    {                                                                                              \
        return FIT(n, incx, incy)                                                                  \
                   ? cublas##P##dot_v2(handle, (int)n, x, (int)incx, y, (int)incy, result)         \
                   : too_large("cublas" #P "dot_v2_64");                                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##nrm2_v2_64(cublasHandle_t handle, int64_t n, const type *x,      \
                                             int64_t incx, type *result)                           \
    {                                                                                              \
        return FIT(n, incx) ? cublas##P##nrm2_v2(handle, (int)n, x, (int)incx, result)             \
                            : too_large("cublas" #P "nrm2_v2_64");                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##asum_v2_64(cublasHandle_t handle, int64_t n, const type *x,      \
                                             int64_t incx, type *result)                           \
    {                                                                                              \
        return FIT(n, incx) ? cublas##P##asum_v2(handle, (int)n, x, (int)incx, result)             \
                            : too_large("cublas" #P "asum_v2_64");                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##rot_v2_64(cublasHandle_t handle, int64_t n, type *x,             \
                                            int64_t incx, type *y, int64_t incy, const type *c,    \
                                            const type *s)                                         \
    {                                                                                              \
        return FIT(n, incx, incy)                                                                  \
                   ? cublas##P##rot_v2(handle, (int)n, x, (int)incx, y, (int)incy, c, s)           \
                   : too_large("cublas" #P "rot_v2_64");                                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##rotm_v2_64(cublasHandle_t handle, int64_t n, type *x,            \
                                             int64_t incx, type *y, int64_t incy,                  \
                                             const type *param)                                    \
    {                                                                                              \
        return FIT(n, incx, incy)                                                                  \
                   ? cublas##P##rotm_v2(handle, (int)n, x, (int)incx, y, (int)incy, param)         \
                   : too_large("cublas" #P "rotm_v2_64");                                          \
    }

VECTORS(S, float)
VECTORS(D, double)

#define LEVEL2(P, type)                                                                            \
    API cublasStatus_t cublas##P##gemv_v2_64(                                                      \
        cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const type *alpha,   \
        const type *A, int64_t lda, const type *x, int64_t incx, const type *beta, type *y,        \
        int64_t incy)                                                                              \
    {                                                                                              \
        return FIT(m, n, lda, incx, incy)                                                          \
                   ? cublas##P##gemv_v2(handle, trans, (int)m, (int)n, alpha, A, (int)lda, x,      \
                                        (int)incx, beta, y, (int)incy)                             \
                   : too_large("cublas" #P "gemv_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemvBatched_64(                                                  \
        cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const type *alpha,   \
        const type *const A[], int64_t lda, const type *const x[], int64_t incx, const type *beta, \
        type *const y[], int64_t incy, int64_t batchCount)                                         \
    {                                                                                              \
        return FIT(m, n, lda, incx, incy, batchCount)                                              \
                   ? cublas##P##gemvBatched(handle, trans, (int)m, (int)n, alpha, A, (int)lda, x,  \
                                            (int)incx, beta, y, (int)incy, (int)batchCount)        \
                   : too_large("cublas" #P "gemvBatched_64");                                      \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemvStridedBatched_64(                                           \
        cublasHandle_t handle, cublasOperation_t trans, int64_t m, int64_t n, const type *alpha,   \
        const type *A, int64_t lda, long long int strideA, const type *x, int64_t incx,            \
        long long int stridex, const type *beta, type *y, int64_t incy, long long int stridey,     \
        int64_t batchCount)                                                                        \
    {                                                                                              \
        return FIT(m, n, lda, incx, incy, batchCount)                                              \
                   ? cublas##P##gemvStridedBatched(handle, trans, (int)m, (int)n, alpha, A,        \
                                                   (int)lda, strideA, x, (int)incx, stridex, beta, \
                                                   y, (int)incy, stridey, (int)batchCount)         \
                   : too_large("cublas" #P "gemvStridedBatched_64");                               \
    }                                                                                              \
    API cublasStatus_t cublas##P##ger_v2_64(cublasHandle_t handle, int64_t m, int64_t n,           \
                                            const type *alpha, const type *x, int64_t incx,        \
                                            const type *y, int64_t incy, type *A, int64_t lda)     \
    {                                                                                              \
        return FIT(m, n, incx, incy, lda)                                                          \
                   ? cublas##P##ger_v2(handle, (int)m, (int)n, alpha, x, (int)incx, y, (int)incy,  \
                                       A, (int)lda)                                                \
                   : too_large("cublas" #P "ger_v2_64");                                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##symv_v2_64(                                                      \
        cublasHandle_t handle, cublasFillMode_t uplo, int64_t n, const type *alpha, const type *A, \
        int64_t lda, const type *x, int64_t incx, const type *beta, type *y, int64_t incy)         \
    {                                                                                              \
        return FIT(n, lda, incx, incy)                                                             \
                   ? cublas##P##symv_v2(handle, uplo, (int)n, alpha, A, (int)lda, x, (int)incx,    \
                                        beta, y, (int)incy)                                        \
                   : too_large("cublas" #P "symv_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr_v2_64(cublasHandle_t handle, cublasFillMode_t uplo,          \
                                            int64_t n, const type *alpha, const type *x,           \
                                            int64_t incx, type *A, int64_t lda)                    \
    {                                                                                              \
        return FIT(n, incx, lda)                                                                   \
                   ? cublas##P##syr_v2(handle, uplo, (int)n, alpha, x, (int)incx, A, (int)lda)     \
                   : too_large("cublas" #P "syr_v2_64");                                           \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr2_v2_64(                                                      \
        cublasHandle_t handle, cublasFillMode_t uplo, int64_t n, const type *alpha, const type *x, \
        int64_t incx, const type *y, int64_t incy, type *A, int64_t lda)                           \
    {                                                                                              \
        return FIT(n, incx, incy, lda) ? cublas##P##syr2_v2(handle, uplo, (int)n, alpha, x,        \
                                                            (int)incx, y, (int)incy, A, (int)lda)  \
                                       : too_large("cublas" #P "syr2_v2_64");                      \
    }                                                                                              \
    API cublasStatus_t cublas##P##trmv_v2_64(                                                      \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,                     \
        cublasDiagType_t diag, int64_t n, const type *A, int64_t lda, type *x, int64_t incx)       \
    {                                                                                              \
        return FIT(n, lda, incx) ? cublas##P##trmv_v2(handle, uplo, trans, diag, (int)n, A,        \
                                                      (int)lda, x, (int)incx)                      \
                                 : too_large("cublas" #P "trmv_v2_64");                            \
    }                                                                                              \
    API cublasStatus_t cublas##P##trsv_v2_64(                                                      \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,                     \
        cublasDiagType_t diag, int64_t n, const type *A, int64_t lda, type *x, int64_t incx)       \
    {                                                                                              \
        return FIT(n, lda, incx) ? cublas##P##trsv_v2(handle, uplo, trans, diag, (int)n, A,        \
                                                      (int)lda, x, (int)incx)                      \
                                 : too_large("cublas" #P "trsv_v2_64");                            \
    }

LEVEL2(S, float)
LEVEL2(D, double)

API cublasStatus_t cublasAxpyEx_64(cublasHandle_t handle, int64_t n, const void *alpha,
                                   cudaDataType alphaType, const void *x, cudaDataType xType,
                                   int64_t incx, void *y, cudaDataType yType, int64_t incy,
                                   cudaDataType executiontype)
{
    return FIT(n, incx, incy) ? cublasAxpyEx(handle, (int)n, alpha, alphaType, x, xType, (int)incx,
                                             y, yType, (int)incy, executiontype)
                              : too_large("cublasAxpyEx_64");
}

API cublasStatus_t cublasScalEx_64(cublasHandle_t handle, int64_t n, const void *alpha,
                                   cudaDataType alphaType, void *x, cudaDataType xType,
                                   int64_t incx, cudaDataType executionType)
{
    return FIT(n, incx)
               ? cublasScalEx(handle, (int)n, alpha, alphaType, x, xType, (int)incx, executionType)
               : too_large("cublasScalEx_64");
}

API cublasStatus_t cublasDotEx_64(cublasHandle_t handle, int64_t n, const void *x,
                                  cudaDataType xType, int64_t incx, const void *y,
                                  cudaDataType yType, int64_t incy, void *result,
                                  cudaDataType resultType, cudaDataType executionType)
{
    return FIT(n, incx, incy) ? cublasDotEx(handle, (int)n, x, xType, (int)incx, y, yType,
                                            (int)incy, result, resultType, executionType)
                              : too_large("cublasDotEx_64");
}

API cublasStatus_t cublasDotcEx_64(cublasHandle_t handle, int64_t n, const void *x,
                                   cudaDataType xType, int64_t incx, const void *y,
                                   cudaDataType yType, int64_t incy, void *result,
                                   cudaDataType resultType, cudaDataType executionType)
{
    return FIT(n, incx, incy) ? cublasDotcEx(handle, (int)n, x, xType, (int)incx, y, yType,
                                             (int)incy, result, resultType, executionType)
                              : too_large("cublasDotcEx_64");
}

API cublasStatus_t cublasNrm2Ex_64(cublasHandle_t handle, int64_t n, const void *x,
                                   cudaDataType xType, int64_t incx, void *result,
                                   cudaDataType resultType, cudaDataType executionType)
{
    return FIT(n, incx) ? cublasNrm2Ex(handle, (int)n, x, xType, (int)incx, result, resultType,
                                       executionType)
                        : too_large("cublasNrm2Ex_64");
}

API cublasStatus_t cublasAsumEx_64(cublasHandle_t handle, int64_t n, const void *x,
                                   cudaDataType xType, int64_t incx, void *result,
                                   cudaDataType resultType, cudaDataType executiontype)
{
    return FIT(n, incx) ? cublasAsumEx(handle, (int)n, x, xType, (int)incx, result, resultType,
                                       executiontype)
                        : too_large("cublasAsumEx_64");
}

API cublasStatus_t cublasCopyEx_64(cublasHandle_t handle, int64_t n, const void *x,
                                   cudaDataType xType, int64_t incx, void *y, cudaDataType yType,
                                   int64_t incy)
{
    return FIT(n, incx, incy)
               ? cublasCopyEx(handle, (int)n, x, xType, (int)incx, y, yType, (int)incy)
               : too_large("cublasCopyEx_64");
}

API cublasStatus_t cublasSwapEx_64(cublasHandle_t handle, int64_t n, void *x, cudaDataType xType,
                                   int64_t incx, void *y, cudaDataType yType, int64_t incy)
{
    return FIT(n, incx, incy)
               ? cublasSwapEx(handle, (int)n, x, xType, (int)incx, y, yType, (int)incy)
               : too_large("cublasSwapEx_64");
}

/* The index is of 64 bits too, and lies where the pointer mode says. */
#define INDEX(name, type, GIVEN, ...)                                                 \
    API cublasStatus_t name##_64(cublasHandle_t handle, int64_t n, const type *x,     \
                                 GIVEN int64_t incx, int64_t *result)                 \
    {                                                                                 \
        int narrow = 0;                                                               \
        int64_t wide;                                                                 \
        if (!FIT(n, incx)) return too_large(#name "_64");                             \
        cublasStatus_t st = sim_blas_check(handle);                                   \
        if (st != CUBLAS_STATUS_SUCCESS) return st;                                   \
        cublasPointerMode_t mode = handle->pointer_mode;                              \
        handle->pointer_mode = CUBLAS_POINTER_MODE_HOST;                              \
        st = name(handle, (int)n, x, __VA_ARGS__(int) incx, result ? &narrow : NULL); \
        handle->pointer_mode = mode;                                                  \
        if (st != CUBLAS_STATUS_SUCCESS) return st;                                   \
        wide = narrow;                                                                \
        return sim_blas_give(handle, result, &wide, sizeof wide);                     \
    }
#define NOTHING
#define TYPE_OF_X cudaDataType xType,
INDEX(cublasIsamax_v2, float, NOTHING, )
INDEX(cublasIdamax_v2, double, NOTHING, )
INDEX(cublasIsamin_v2, float, NOTHING, )
INDEX(cublasIdamin_v2, double, NOTHING, )
INDEX(cublasIamaxEx, void, TYPE_OF_X, xType, )
INDEX(cublasIaminEx, void, TYPE_OF_X, xType, )
