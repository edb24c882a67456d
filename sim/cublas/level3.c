/* level3.c - symmetric and triangular matrices: symm, syrk, syr2k, syrkx, trmm, trsm and its batch.
 */
#include "handle.h"
#include "letters.h"
#include <string.h>

#define VIEW(p, rows, columns, ld, write) \
    RANGE(p, sim_blas_extent(rows, columns, ld, sizeof *(p)), write)

/* The arguments of a product that writes a triangle of order n out of n x k matrices. */
static cublasStatus_t triangle_ok(cublasFillMode_t uplo, cublasOperation_t t, int n, int k, int lda,
                                  int ldb, int ldc)
{
    int least = sim_blas_one(t == CUBLAS_OP_N ? n : k);
    int bad = !sim_blas_fill(uplo) || !sim_blas_op(t) || n < 0 || k < 0 || lda < least ||
              ldb < least || ldc < sim_blas_one(n);
    return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

/* Those of trmm and trsm. */
static cublasStatus_t side_ok(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,
                              cublasDiagType_t diag, int m, int n, int lda, int ldb)
{
    int bad = !sim_side_ok(side) || !sim_blas_fill(uplo) || !sim_blas_op(t) || !sim_diag_ok(diag) ||
              m < 0 || n < 0 || lda < sim_blas_one(side == CUBLAS_SIDE_LEFT ? m : n) ||
              ldb < sim_blas_one(m);
    return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}

#define TRIANGLES(P, p, type)                                                                      \
    API cublasStatus_t cublas##P##syrk_v2(                                                         \
        cublasHandle_t h, cublasFillMode_t uplo, cublasOperation_t t, int n, int k,                \
        const type *alpha, const type *A, int lda, const type *beta, type *C, int ldc)             \
    {                                                                                              \
        type a, b;                                                                                 \
        int plain = t == CUBLAS_OP_N;                                                              \
        LIVE();                                                                                    \
        TRY(triangle_ok(uplo, t, n, k, lda, lda, ldc));                                            \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        if (n == 0) return st;                                                                     \
        A = VIEW(A, plain ? n : k, plain ? k : n, lda, 0), C = VIEW(C, n, n, ldc, 1);              \
        if (A && C)                                                                                \
            cblas_##p##syrk(CblasColMajor, sim_uplo(uplo), sim_trans(t), n, k, a, A, lda, b, C,    \
                            ldc);                                                                  \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr2k_v2(cublasHandle_t h, cublasFillMode_t uplo,                \
                                           cublasOperation_t t, int n, int k, const type *alpha,   \
                                           const type *A, int lda, const type *B, int ldb,         \
                                           const type *beta, type *C, int ldc)                     \
    {                                                                                              \
        type a, b;                                                                                 \
        int plain = t == CUBLAS_OP_N;                                                              \
        LIVE();                                                                                    \
        TRY(triangle_ok(uplo, t, n, k, lda, ldb, ldc));                                            \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        if (n == 0) return st;                                                                     \
        A = VIEW(A, plain ? n : k, plain ? k : n, lda, 0), C = VIEW(C, n, n, ldc, 1);              \
        B = VIEW(B, plain ? n : k, plain ? k : n, ldb, 0);                                         \
        if (A && B && C)                                                                           \
            cblas_##p##syr2k(CblasColMajor, sim_uplo(uplo), sim_trans(t), n, k, a, A, lda, B, ldb, \
                             b, C, ldc);                                                           \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##syrkx(cublasHandle_t h, cublasFillMode_t uplo,                   \
                                        cublasOperation_t t, int n, int k, const type *alpha,      \
                                        const type *A, int lda, const type *B, int ldb,            \
                                        const type *beta, type *C, int ldc)                        \
    {                                                                                              \
        type a, b;                                                                                 \
        int plain = t == CUBLAS_OP_N;                                                              \
        LIVE();                                                                                    \
        TRY(triangle_ok(uplo, t, n, k, lda, ldb, ldc));                                            \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        if (n == 0) return st;                                                                     \
        A = VIEW(A, plain ? n : k, plain ? k : n, lda, 0), C = VIEW(C, n, n, ldc, 1);              \
        B = VIEW(B, plain ? n : k, plain ? k : n, ldb, 0);                                         \
        if (!A || !B || !C) return st;                                                             \
        for (int j = 0; j < n; j++) { /* column by column, the part inside the triangle */         \
            int lower = uplo == CUBLAS_FILL_MODE_LOWER, i = lower ? j : 0;                         \
            int rows = lower ? n - j : j + 1;                                                      \
            const type *from = A + (plain ? i : (int64_t)i * lda);                                 \
            const type *column = B + (plain ? j : (int64_t)j * ldb);                               \
            cblas_##p##gemm(CblasColMajor, sim_trans(t), plain ? CblasTrans : CblasNoTrans, rows,  \
                            1, k, a, from, lda, column, ldb, b, C + (int64_t)j * ldc + i, ldc);    \
        }                                                                                          \
        return st;                                                                                 \
    }

#define SIDES(P, p, type)                                                                         \
    API cublasStatus_t cublas##P##symm_v2(cublasHandle_t h, cublasSideMode_t side,                \
                                          cublasFillMode_t uplo, int m, int n, const type *alpha, \
                                          const type *A, int lda, const type *B, int ldb,         \
                                          const type *beta, type *C, int ldc)                     \
    {                                                                                             \
        type a, b;                                                                                \
        int order = side == CUBLAS_SIDE_LEFT ? m : n;                                             \
        LIVE();                                                                                   \
        TRY(side_ok(side, uplo, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, lda, ldb));                  \
        if (ldc < sim_blas_one(m)) return CUBLAS_STATUS_INVALID_VALUE;                            \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                             \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                              \
        if (m == 0 || n == 0) return st;                                                          \
        A = VIEW(A, order, order, lda, 0), B = VIEW(B, m, n, ldb, 0), C = VIEW(C, m, n, ldc, 1);  \
        if (A && B && C)                                                                          \
            cblas_##p##symm(CblasColMajor, sim_side(side), sim_uplo(uplo), m, n, a, A, lda, B,    \
                            ldb, b, C, ldc);                                                      \
        return st;                                                                                \
    }                                                                                             \
    /* not in place as BLAS has it, unless B is C */                                              \
    API cublasStatus_t cublas##P##trmm_v2(                                                        \
        cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,      \
        cublasDiagType_t diag, int m, int n, const type *alpha, const type *A, int lda,           \
        const type *B, int ldb, type *C, int ldc)                                                 \
    {                                                                                             \
        type a;                                                                                   \
        int order = side == CUBLAS_SIDE_LEFT ? m : n;                                             \
        LIVE();                                                                                   \
        TRY(side_ok(side, uplo, t, diag, m, n, lda, ldb));                                        \
        if (ldc < sim_blas_one(m) || (B == C && ldb != ldc)) return CUBLAS_STATUS_INVALID_VALUE;  \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                             \
        if (m == 0 || n == 0) return st;                                                          \
        A = VIEW(A, order, order, lda, 0), B = VIEW(B, m, n, ldb, 0), C = VIEW(C, m, n, ldc, 1);  \
        if (!A || !B || !C) return st;                                                            \
        for (int64_t j = 0; B != C && j < n; j++)                                                 \
            memmove(C + j * ldc, B + j * ldb, (size_t)m * sizeof *C);                             \
        cblas_##p##trmm(CblasColMajor, sim_side(side), sim_uplo(uplo), sim_trans(t),              \
                        sim_diag(diag), m, n, a, A, lda, C, ldc);                                 \
        return st;                                                                                \
    }                                                                                             \
    static void trsm_##p(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,       \
                         cublasDiagType_t diag, int m, int n, type a, const type *A, int lda,     \
                         type *B, int ldb)                                                        \
    {                                                                                             \
        int order = side == CUBLAS_SIDE_LEFT ? m : n;                                             \
        if (m == 0 || n == 0) return;                                                             \
        A = VIEW(A, order, order, lda, 0), B = VIEW(B, m, n, ldb, 1);                             \
        if (A && B)                                                                               \
            cblas_##p##trsm(CblasColMajor, sim_side(side), sim_uplo(uplo), sim_trans(t),          \
                            sim_diag(diag), m, n, a, A, lda, B, ldb);                             \
    }                                                                                             \
    API cublasStatus_t cublas##P##trsm_v2(cublasHandle_t h, cublasSideMode_t side,                \
                                          cublasFillMode_t uplo, cublasOperation_t t,             \
                                          cublasDiagType_t diag, int m, int n, const type *alpha, \
                                          const type *A, int lda, type *B, int ldb)               \
    {                                                                                             \
        type a;                                                                                   \
        LIVE();                                                                                   \
        TRY(side_ok(side, uplo, t, diag, m, n, lda, ldb));                                        \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                             \
        trsm_##p(side, uplo, t, diag, m, n, a, A, lda, B, ldb);                                   \
        return st;                                                                                \
    }                                                                                             \
    API cublasStatus_t cublas##P##trsmBatched(                                                    \
        cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t t,      \
        cublasDiagType_t diag, int m, int n, const type *alpha, const type *const A[], int lda,   \
        type *const B[], int ldb, int count)                                                      \
    {                                                                                             \
        type a;                                                                                   \
        LIVE();                                                                                   \
        TRY(side_ok(side, uplo, t, diag, m, n, lda, ldb));                                        \
        if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;                                        \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                             \
        if (count == 0) return st;                                                                \
        A = RANGE(A, (size_t)count * sizeof *A, 0), B = RANGE(B, (size_t)count * sizeof *B, 0);   \
        for (int i = 0; A && B && i < count; i++)                                                 \
            trsm_##p(side, uplo, t, diag, m, n, a, A[i], lda, B[i], ldb);                         \
        return st;                                                                                \
    }

TRIANGLES(S, s, float)
TRIANGLES(D, d, double)
SIDES(S, s, float)
SIDES(D, d, double)
