/* wideproduct.c - the _64 variants of the calls on matrices. */
#include "wide.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* of Hgemm_64, which only C++ knows */

#define LEVEL3(P, type)                                                                            \
    API cublasStatus_t cublas##P##gemm_v2_64(                                                      \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const type *alpha, const type *A, int64_t lda, const type *B,        \
        int64_t ldb, const type *beta, type *C, int64_t ldc)                                       \
    {                                                                                              \
        return FIT(m, n, k, lda, ldb, ldc)                                                         \
                   ? cublas##P##gemm_v2(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A,  \
                                        (int)lda, B, (int)ldb, beta, C, (int)ldc)                  \
                   : too_large("cublas" #P "gemm_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemmBatched_64(                                                  \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const type *alpha, const type *const A[], int64_t lda,               \
        const type *const B[], int64_t ldb, const type *beta, type *const C[], int64_t ldc,        \
        int64_t batchCount)                                                                        \
    {                                                                                              \
        return FIT(m, n, k, lda, ldb, ldc, batchCount)                                             \
                   ? cublas##P##gemmBatched(handle, transa, transb, (int)m, (int)n, (int)k, alpha, \
                                            A, (int)lda, B, (int)ldb, beta, C, (int)ldc,           \
                                            (int)batchCount)                                       \
                   : too_large("cublas" #P "gemmBatched_64");                                      \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemmStridedBatched_64(                                           \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, int64_t k, const type *alpha, const type *A, int64_t lda,                       \
        long long int strideA, const type *B, int64_t ldb, long long int strideB,                  \
        const type *beta, type *C, int64_t ldc, long long int strideC, int64_t batchCount)         \
    {                                                                                              \
        return FIT(m, n, k, lda, ldb, ldc, batchCount)                                             \
                   ? cublas##P##gemmStridedBatched(handle, transa, transb, (int)m, (int)n, (int)k, \
                                                   alpha, A, (int)lda, strideA, B, (int)ldb,       \
                                                   strideB, beta, C, (int)ldc, strideC,            \
                                                   (int)batchCount)                                \
                   : too_large("cublas" #P "gemmStridedBatched_64");                               \
    }                                                                                              \
    API cublasStatus_t cublas##P##symm_v2_64(                                                      \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo, int64_t m, int64_t n, \
        const type *alpha, const type *A, int64_t lda, const type *B, int64_t ldb,                 \
        const type *beta, type *C, int64_t ldc)                                                    \
    {                                                                                              \
        return FIT(m, n, lda, ldb, ldc)                                                            \
                   ? cublas##P##symm_v2(handle, side, uplo, (int)m, (int)n, alpha, A, (int)lda, B, \
                                        (int)ldb, beta, C, (int)ldc)                               \
                   : too_large("cublas" #P "symm_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##syrk_v2_64(cublasHandle_t handle, cublasFillMode_t uplo,         \
                                             cublasOperation_t trans, int64_t n, int64_t k,        \
                                             const type *alpha, const type *A, int64_t lda,        \
                                             const type *beta, type *C, int64_t ldc)               \
    {                                                                                              \
        return FIT(n, k, lda, ldc) ? cublas##P##syrk_v2(handle, uplo, trans, (int)n, (int)k,       \
                                                        alpha, A, (int)lda, beta, C, (int)ldc)     \
                                   : too_large("cublas" #P "syrk_v2_64");                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr2k_v2_64(                                                     \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int64_t n,          \
        int64_t k, const type *alpha, const type *A, int64_t lda, const type *B, int64_t ldb,      \
        const type *beta, type *C, int64_t ldc)                                                    \
    {                                                                                              \
        return FIT(n, k, lda, ldb, ldc)                                                            \
                   ? cublas##P##syr2k_v2(handle, uplo, trans, (int)n, (int)k, alpha, A, (int)lda,  \
                                         B, (int)ldb, beta, C, (int)ldc)                           \
                   : too_large("cublas" #P "syr2k_v2_64");                                         \
    }                                                                                              \
    API cublasStatus_t cublas##P##syrkx_64(                                                        \
        cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans, int64_t n,          \
        int64_t k, const type *alpha, const type *A, int64_t lda, const type *B, int64_t ldb,      \
        const type *beta, type *C, int64_t ldc)                                                    \
    {                                                                                              \
        return FIT(n, k, lda, ldb, ldc)                                                            \
                   ? cublas##P##syrkx(handle, uplo, trans, (int)n, (int)k, alpha, A, (int)lda, B,  \
                                      (int)ldb, beta, C, (int)ldc)                                 \
                   : too_large("cublas" #P "syrkx_64");                                            \
    }                                                                                              \
    API cublasStatus_t cublas##P##trmm_v2_64(                                                      \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n, const type *alpha,   \
        const type *A, int64_t lda, const type *B, int64_t ldb, type *C, int64_t ldc)              \
    {                                                                                              \
        return FIT(m, n, lda, ldb, ldc)                                                            \
                   ? cublas##P##trmm_v2(handle, side, uplo, trans, diag, (int)m, (int)n, alpha, A, \
                                        (int)lda, B, (int)ldb, C, (int)ldc)                        \
                   : too_large("cublas" #P "trmm_v2_64");                                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##trsm_v2_64(                                                      \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n, const type *alpha,   \
        const type *A, int64_t lda, type *B, int64_t ldb)                                          \
    {                                                                                              \
        return FIT(m, n, lda, ldb) ? cublas##P##trsm_v2(handle, side, uplo, trans, diag, (int)m,   \
                                                        (int)n, alpha, A, (int)lda, B, (int)ldb)   \
                                   : too_large("cublas" #P "trsm_v2_64");                          \
    }                                                                                              \
    API cublasStatus_t cublas##P##trsmBatched_64(                                                  \
        cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,                       \
        cublasOperation_t trans, cublasDiagType_t diag, int64_t m, int64_t n, const type *alpha,   \
        const type *const A[], int64_t lda, type *const B[], int64_t ldb, int64_t batchCount)      \
    {                                                                                              \
        return FIT(m, n, lda, ldb, batchCount)                                                     \
                   ? cublas##P##trsmBatched(handle, side, uplo, trans, diag, (int)m, (int)n,       \
                                            alpha, A, (int)lda, B, (int)ldb, (int)batchCount)      \
                   : too_large("cublas" #P "trsmBatched_64");                                      \
    }                                                                                              \
    API cublasStatus_t cublas##P##geam_64(                                                         \
        cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m,      \
        int64_t n, const type *alpha, const type *A, int64_t lda, const type *beta, const type *B, \
        int64_t ldb, type *C, int64_t ldc)                                                         \
    {                                                                                              \
        return FIT(m, n, lda, ldb, ldc)                                                            \
                   ? cublas##P##geam(handle, transa, transb, (int)m, (int)n, alpha, A, (int)lda,   \
                                     beta, B, (int)ldb, C, (int)ldc)                               \
                   : too_large("cublas" #P "geam_64");                                             \
    }                                                                                              \
    API cublasStatus_t cublas##P##dgmm_64(cublasHandle_t handle, cublasSideMode_t mode, int64_t m, \
                                          int64_t n, const type *A, int64_t lda, const type *x,    \
                                          int64_t incx, type *C, int64_t ldc)                      \
    {                                                                                              \
        return FIT(m, n, lda, incx, ldc) ? cublas##P##dgmm(handle, mode, (int)m, (int)n, A,        \
                                                           (int)lda, x, (int)incx, C, (int)ldc)    \
                                         : too_large("cublas" #P "dgmm_64");                       \
    }

LEVEL3(S, float)
LEVEL3(D, double)

API cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                   cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                   const void *alpha, const void *A, cudaDataType Atype,
                                   int64_t lda, const void *B, cudaDataType Btype, int64_t ldb,
                                   const void *beta, void *C, cudaDataType Ctype, int64_t ldc,
                                   cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    return FIT(m, n, k, lda, ldb, ldc)
               ? cublasGemmEx(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A, Atype,
                              (int)lda, B, Btype, (int)ldb, beta, C, Ctype, (int)ldc, computeType,
                              algo)
               : too_large("cublasGemmEx_64");
}

API cublasStatus_t cublasGemmBatchedEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                          const void *alpha, const void *const A[],
                                          cudaDataType Atype, int64_t lda, const void *const B[],
                                          cudaDataType Btype, int64_t ldb, const void *beta,
                                          void *const C[], cudaDataType Ctype, int64_t ldc,
                                          int64_t batchCount, cublasComputeType_t computeType,
                                          cublasGemmAlgo_t algo)
{
    return FIT(m, n, k, lda, ldb, ldc, batchCount)
               ? cublasGemmBatchedEx(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A,
                                     Atype, (int)lda, B, Btype, (int)ldb, beta, C, Ctype, (int)ldc,
                                     (int)batchCount, computeType, algo)
               : too_large("cublasGemmBatchedEx_64");
}

API cublasStatus_t cublasGemmStridedBatchedEx_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const void *alpha, const void *A, cudaDataType Atype, int64_t lda,
    long long int strideA, const void *B, cudaDataType Btype, int64_t ldb, long long int strideB,
    const void *beta, void *C, cudaDataType Ctype, int64_t ldc, long long int strideC,
    int64_t batchCount, cublasComputeType_t computeType, cublasGemmAlgo_t algo)
{
    return FIT(m, n, k, lda, ldb, ldc, batchCount)
               ? cublasGemmStridedBatchedEx(handle, transa, transb, (int)m, (int)n, (int)k, alpha,
                                            A, Atype, (int)lda, strideA, B, Btype, (int)ldb,
                                            strideB, beta, C, Ctype, (int)ldc, strideC,
                                            (int)batchCount, computeType, algo)
               : too_large("cublasGemmStridedBatchedEx_64");
}

API cublasStatus_t cublasSgemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                                    cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                    const float *alpha, const void *A, cudaDataType Atype,
                                    int64_t lda, const void *B, cudaDataType Btype, int64_t ldb,
                                    const float *beta, void *C, cudaDataType Ctype, int64_t ldc)
{
    return FIT(m, n, k, lda, ldb, ldc)
               ? cublasSgemmEx(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A, Atype,
                               (int)lda, B, Btype, (int)ldb, beta, C, Ctype, (int)ldc)
               : too_large("cublasSgemmEx_64");
}

/* __half is a type of C++ alone; to C a half is 16 bits. */
#define DIMS cublasOperation_t, cublasOperation_t
cublasStatus_t cublasHgemm(cublasHandle_t, DIMS, int, int, int, const uint16_t *, const uint16_t *,
                           int, const uint16_t *, int, const uint16_t *, uint16_t *, int);
cublasStatus_t cublasHgemmBatched(cublasHandle_t, DIMS, int, int, int, const uint16_t *,
                                  const uint16_t *const *, int, const uint16_t *const *, int,
                                  const uint16_t *, uint16_t *const *, int, int);
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t, DIMS, int, int, int, const uint16_t *,
                                         const uint16_t *, int, long long, const uint16_t *, int,
                                         long long, const uint16_t *, uint16_t *, int, long long,
                                         int);

API cublasStatus_t cublasHgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                                  cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                  const uint16_t *alpha, const uint16_t *A, int64_t lda,
                                  const uint16_t *B, int64_t ldb, const uint16_t *beta, uint16_t *C,
                                  int64_t ldc)
{
    return FIT(m, n, k, lda, ldb, ldc)
               ? cublasHgemm(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A, (int)lda, B,
                             (int)ldb, beta, C, (int)ldc)
               : too_large("cublasHgemm_64");
}

API cublasStatus_t cublasHgemmBatched_64(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int64_t m, int64_t n, int64_t k,
                                         const uint16_t *alpha, const uint16_t *const A[],
                                         int64_t lda, const uint16_t *const B[], int64_t ldb,
                                         const uint16_t *beta, uint16_t *const C[], int64_t ldc,
                                         int64_t batchCount)
{
    return FIT(m, n, k, lda, ldb, ldc, batchCount)
               ? cublasHgemmBatched(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A,
                                    (int)lda, B, (int)ldb, beta, C, (int)ldc, (int)batchCount)
               : too_large("cublasHgemmBatched_64");
}

API cublasStatus_t cublasHgemmStridedBatched_64(
    cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int64_t m, int64_t n,
    int64_t k, const uint16_t *alpha, const uint16_t *A, int64_t lda, long long int strideA,
    const uint16_t *B, int64_t ldb, long long int strideB, const uint16_t *beta, uint16_t *C,
    int64_t ldc, long long int strideC, int64_t batchCount)
{
    return FIT(m, n, k, lda, ldb, ldc, batchCount)
               ? cublasHgemmStridedBatched(handle, transa, transb, (int)m, (int)n, (int)k, alpha, A,
                                           (int)lda, strideA, B, (int)ldb, strideB, beta, C,
                                           (int)ldc, strideC, (int)batchCount)
               : too_large("cublasHgemmStridedBatched_64");
}
