/* gemm.c - the entries of the matrix products: by type and by the types that the caller names; one,
 * at a stride, and by lists of addresses. product.c does the work. */
#include "handle.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* of Hgemm, which only C++ knows */

#define DIMS cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k

#define GEMM(name, one, type, T, COMPUTE)                                                      \
    API cublasStatus_t cublas##one(cublasHandle_t h, DIMS, const type *alpha, const type *A,   \
                                   int lda, const type *B, int ldb, const type *beta, type *C, \
                                   int ldc)                                                    \
    {                                                                                          \
        sim_gemm g = {ta, tb, m, n, k, alpha, beta, lda, ldb, ldc, T, T, T, COMPUTE};          \
        return sim_gemm_one(h, &g, A, B, C);                                                   \
    }                                                                                          \
    API cublasStatus_t cublas##name##StridedBatched(                                           \
        cublasHandle_t h, DIMS, const type *alpha, const type *A, int lda, long long int sa,   \
        const type *B, int ldb, long long int sb, const type *beta, type *C, int ldc,          \
        long long int sc, int count)                                                           \
    {                                                                                          \
        sim_gemm g = {ta, tb, m, n, k, alpha, beta, lda, ldb, ldc, T, T, T, COMPUTE};          \
        return sim_gemm_strided(h, &g, A, sa, B, sb, C, sc, count);                            \
    }                                                                                          \
    API cublasStatus_t cublas##name##Batched(                                                  \
        cublasHandle_t h, DIMS, const type *alpha, const type *const A[], int lda,             \
        const type *const B[], int ldb, const type *beta, type *const C[], int ldc, int count) \
    {                                                                                          \
        sim_gemm g = {ta, tb, m, n, k, alpha, beta, lda, ldb, ldc, T, T, T, COMPUTE};          \
        return sim_gemm_listed(h, &g, (const void *const *)A, (const void *const *)B,          \
                               (void *const *)C, count);                                       \
    }
GEMM(Sgemm, Sgemm_v2, float, CUDA_R_32F, CUBLAS_COMPUTE_32F)
GEMM(Dgemm, Dgemm_v2, double, CUDA_R_64F, CUBLAS_COMPUTE_64F)
/* __half is a type of C++ alone; to C it is 16 bits. */
GEMM(Hgemm, Hgemm, uint16_t, CUDA_R_16F, CUBLAS_COMPUTE_16F)

#define TYPED                                                            \
    {                                                                    \
        ta, tb, m, n, k, alpha, beta, lda, ldb, ldc, at, bt, ct, compute \
    }

API cublasStatus_t cublasGemmEx(cublasHandle_t h, DIMS, const void *alpha, const void *A,
                                cudaDataType at, int lda, const void *B, cudaDataType bt, int ldb,
                                const void *beta, void *C, cudaDataType ct, int ldc,
                                cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    sim_gemm g = TYPED;
    (void)algo;
    return sim_gemm_one(h, &g, A, B, C);
}

API cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, DIMS, const void *alpha,
                                              const void *A, cudaDataType at, int lda,
                                              long long int sa, const void *B, cudaDataType bt,
                                              int ldb, long long int sb, const void *beta, void *C,
                                              cudaDataType ct, int ldc, long long int sc, int count,
                                              cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    sim_gemm g = TYPED;
    (void)algo;
    return sim_gemm_strided(h, &g, A, sa, B, sb, C, sc, count);
}

API cublasStatus_t cublasGemmBatchedEx(cublasHandle_t h, DIMS, const void *alpha,
                                       const void *const A[], cudaDataType at, int lda,
                                       const void *const B[], cudaDataType bt, int ldb,
                                       const void *beta, void *const C[], cudaDataType ct, int ldc,
                                       int count, cublasComputeType_t compute,
                                       cublasGemmAlgo_t algo)
{
    sim_gemm g = TYPED;
    (void)algo;
    return sim_gemm_listed(h, &g, A, B, C, count);
}

/* Float sums of what may be stored narrower. */
API cublasStatus_t cublasSgemmEx(cublasHandle_t h, DIMS, const float *alpha, const void *A,
                                 cudaDataType at, int lda, const void *B, cudaDataType bt, int ldb,
                                 const float *beta, void *C, cudaDataType ct, int ldc)
{
    cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
    sim_gemm g = TYPED;
    return sim_gemm_one(h, &g, A, B, C);
}
