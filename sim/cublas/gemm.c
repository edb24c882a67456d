/* gemm.c - matrix products over OpenBLAS, column major. Arguments are checked before memory is
 * touched, as the documentation of the real library lists them. */
#include "handle.h"
#include <cblas.h>

static int op_ok(cublasOperation_t t)
{
    return t == CUBLAS_OP_N || t == CUBLAS_OP_T || t == CUBLAS_OP_C;
}
static int at_least_one(int x)
{
    return x > 1 ? x : 1;
}

/* bytes of a column-major matrix */
static size_t extent(int rows, int columns, int ld, size_t size)
{
    return rows > 0 && columns > 0 ? ((size_t)ld * (size_t)(columns - 1) + (size_t)rows) * size : 0;
}

static cublasStatus_t check(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            int lda, int ldb, int ldc)
{
    if (!op_ok(ta) || !op_ok(tb) || m < 0 || n < 0 || k < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (lda < at_least_one(ta == CUBLAS_OP_N ? m : k)) return CUBLAS_STATUS_INVALID_VALUE;
    if (ldb < at_least_one(tb == CUBLAS_OP_N ? k : n)) return CUBLAS_STATUS_INVALID_VALUE;
    if (ldc < at_least_one(m)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static CBLAS_TRANSPOSE to_cblas(cublasOperation_t t)
{
    return t == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

/* beta == 0 must not read C, which may hold NaN: OpenBLAS keeps that promise. k == 0 scales C. */
#define GEMM(P, p, type)                                                                           \
    static cublasStatus_t gemm_##p(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,   \
                                   int m, int n, int k, const type *alpha, const type *A, int lda, \
                                   const type *B, int ldb, const type *beta, type *C, int ldc)     \
    {                                                                                              \
        type a, b;                                                                                 \
        cublasStatus_t st = sim_blas_check(h);                                                     \
        if (st != CUBLAS_STATUS_SUCCESS) return st;                                                \
        if ((st = check(ta, tb, m, n, k, lda, ldb, ldc)) != CUBLAS_STATUS_SUCCESS) return st;      \
        if ((st = sim_blas_scalar(h, alpha, sizeof a, &a)) != CUBLAS_STATUS_SUCCESS) return st;    \
        if ((st = sim_blas_scalar(h, beta, sizeof b, &b)) != CUBLAS_STATUS_SUCCESS) return st;     \
        if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;                                        \
        if (!C && b != 0 && h->pointer_mode == CUBLAS_POINTER_MODE_HOST)                           \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        int ra = ta == CUBLAS_OP_N ? m : k, ca = ta == CUBLAS_OP_N ? k : m;                        \
        int rb = tb == CUBLAS_OP_N ? k : n, cb = tb == CUBLAS_OP_N ? n : k;                        \
        const type *hA = RANGE(A, extent(ra, ca, lda, sizeof a), 0);                               \
        const type *hB = RANGE(B, extent(rb, cb, ldb, sizeof a), 0);                               \
        type *hC = RANGE(C, extent(m, n, ldc, sizeof a), 1);                                       \
        if (!hA || !hB || !hC) return CUBLAS_STATUS_SUCCESS; /* asynchronous: 700 is pending */    \
        cblas_##p##gemm(CblasColMajor, to_cblas(ta), to_cblas(tb), m, n, k, a, hA, lda, hB, ldb,   \
                        b, hC, ldc);                                                               \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemm_v2(                                                         \
        cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,         \
        const type *alpha, const type *A, int lda, const type *B, int ldb, const type *beta,       \
        type *C, int ldc)                                                                          \
    {                                                                                              \
        return gemm_##p(h, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);                  \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemmStridedBatched(                                              \
        cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,         \
        const type *alpha, const type *A, int lda, long long int sa, const type *B, int ldb,       \
        long long int sb, const type *beta, type *C, int ldc, long long int sc, int count)         \
    {                                                                                              \
        cublasStatus_t st = sim_blas_check(h); /* a batch of 0 is checked too */                   \
        if (st != CUBLAS_STATUS_SUCCESS) return st;                                                \
        if (count < 0 || !alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;                      \
        if ((st = check(ta, tb, m, n, k, lda, ldb, ldc)) != CUBLAS_STATUS_SUCCESS) return st;      \
        for (int i = 0; i < count; i++) {                                                          \
            st = gemm_##p(h, ta, tb, m, n, k, alpha, A + i * sa, lda, B + i * sb, ldb, beta,       \
                          C + i * sc, ldc);                                                        \
            if (st != CUBLAS_STATUS_SUCCESS) return st;                                            \
        }                                                                                          \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemv_v2(                                                         \
        cublasHandle_t h, cublasOperation_t t, int m, int n, const type *alpha, const type *A,     \
        int lda, const type *x, int incx, const type *beta, type *y, int incy)                     \
    {                                                                                              \
        type a, b;                                                                                 \
        cublasStatus_t st = sim_blas_check(h);                                                     \
        if (st != CUBLAS_STATUS_SUCCESS) return st;                                                \
        if (!op_ok(t) || m < 0 || n < 0 || lda < at_least_one(m) || !incx || !incy)                \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        if ((st = sim_blas_scalar(h, alpha, sizeof a, &a)) != CUBLAS_STATUS_SUCCESS) return st;    \
        if ((st = sim_blas_scalar(h, beta, sizeof b, &b)) != CUBLAS_STATUS_SUCCESS) return st;     \
        if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;                                        \
        int nx = t == CUBLAS_OP_N ? n : m, ny = t == CUBLAS_OP_N ? m : n;                          \
        const type *hA = RANGE(A, extent(m, n, lda, sizeof a), 0);                                 \
        const type *hx = RANGE(x, extent(1, nx, incx < 0 ? -incx : incx, sizeof a), 0);            \
        type *hy = RANGE(y, extent(1, ny, incy < 0 ? -incy : incy, sizeof a), 1);                  \
        if (!hA || !hx || !hy) return CUBLAS_STATUS_SUCCESS;                                       \
        cblas_##p##gemv(CblasColMajor, to_cblas(t), m, n, a, hA, lda, hx, incx, b, hy, incy);      \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }
GEMM(S, s, float)
GEMM(D, d, double)

API cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m,
                                int n, int k, const void *alpha, const void *A, cudaDataType at,
                                int lda, const void *B, cudaDataType bt, int ldb, const void *beta,
                                void *C, cudaDataType ct, int ldc, cublasComputeType_t compute,
                                cublasGemmAlgo_t algo)
{
    (void)algo;
    if (at == CUDA_R_32F && bt == CUDA_R_32F && ct == CUDA_R_32F &&
        (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC))
        return gemm_s(h, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    if (at == CUDA_R_64F && bt == CUDA_R_64F && ct == CUDA_R_64F &&
        (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC))
        return gemm_d(h, ta, tb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    return sim_blas_check(h) == CUBLAS_STATUS_NOT_INITIALIZED ? CUBLAS_STATUS_NOT_INITIALIZED
                                                              : CUBLAS_STATUS_NOT_SUPPORTED;
}
