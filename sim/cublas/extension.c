/* extension.c - what cuBLAS has beyond BLAS: sums of matrices (geam), products with a diagonal one
 * (dgmm). */
#include "handle.h"

#define VIEW(p, rows, columns, ld, write) \
    RANGE(p, sim_blas_extent(rows, columns, ld, sizeof *(p)), write)

#define EXTENSION(P, type)                                                                       \
    API cublasStatus_t cublas##P##geam(cublasHandle_t h, cublasOperation_t ta,                   \
                                       cublasOperation_t tb, int m, int n, const type *alpha,    \
                                       const type *A, int lda, const type *beta, const type *B,  \
                                       int ldb, type *C, int ldc)                                \
    {                                                                                            \
        type a, b;                                                                               \
        int na = ta == CUBLAS_OP_N, nb = tb == CUBLAS_OP_N;                                      \
        LIVE();                                                                                  \
        if (!sim_blas_op(ta) || !sim_blas_op(tb) || m < 0 || n < 0 ||                            \
            lda < sim_blas_one(na ? m : n) || ldb < sim_blas_one(nb ? m : n) ||                  \
            ldc < sim_blas_one(m))                                                               \
            return CUBLAS_STATUS_INVALID_VALUE;                                                  \
        if ((C == A && (!na || lda != ldc)) || (C == B && (!nb || ldb != ldc)))                  \
            return CUBLAS_STATUS_INVALID_VALUE; /* in place only as it lies */                   \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                            \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                             \
        if (m == 0 || n == 0) return st;                                                         \
        /* what is multiplied by 0 is not read, and may be NULL */                               \
        A = a == 0 ? NULL : VIEW(A, na ? m : n, na ? n : m, lda, 0);                             \
        B = b == 0 ? NULL : VIEW(B, nb ? m : n, nb ? n : m, ldb, 0);                             \
        C = VIEW(C, m, n, ldc, 1);                                                               \
        if ((a != 0 && !A) || (b != 0 && !B) || !C) return st; /* 700 is pending */              \
        for (int64_t j = 0; j < n; j++)                                                          \
            for (int64_t i = 0; i < m; i++) {                                                    \
                type x = A ? a * A[na ? j * lda + i : i * lda + j] : 0;                          \
                C[j * ldc + i] = B ? x + b * B[nb ? j * ldb + i : i * ldb + j] : x;              \
            }                                                                                    \
        return st;                                                                               \
    }                                                                                            \
    API cublasStatus_t cublas##P##dgmm(cublasHandle_t h, cublasSideMode_t side, int m, int n,    \
                                       const type *A, int lda, const type *x, int incx, type *C, \
                                       int ldc)                                                  \
    {                                                                                            \
        int left = side == CUBLAS_SIDE_LEFT, order = left ? m : n;                               \
        LIVE();                                                                                  \
        if ((!left && side != CUBLAS_SIDE_RIGHT) || m < 0 || n < 0 || lda < sim_blas_one(m) ||   \
            ldc < sim_blas_one(m) || (C == A && lda != ldc))                                     \
            return CUBLAS_STATUS_INVALID_VALUE;                                                  \
        if (m == 0 || n == 0) return st;                                                         \
        A = VIEW(A, m, n, lda, 0), C = VIEW(C, m, n, ldc, 1);                                    \
        x = RANGE(x, sim_blas_span(order, incx, sizeof *x), 0);                                  \
        if (!A || !C || !x) return st;                                                           \
        for (int64_t j = 0; j < n; j++)                                                          \
            for (int64_t i = 0; i < m; i++)                                                      \
                C[j * ldc + i] = A[j * lda + i] * x[sim_blas_nth(left ? i : j, order, incx)];    \
        return st;                                                                               \
    }
EXTENSION(S, float)
EXTENSION(D, double)
