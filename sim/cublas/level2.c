/* level2.c - a matrix and vectors: gemv and its batches, ger, symv, syr, syr2, trmv, trsv. */
#include "handle.h"
#include "letters.h"

#define VIEW(p, rows, columns, ld, write) \
    RANGE(p, sim_blas_extent(rows, columns, ld, sizeof *(p)), write)
#define VECTOR(p, n, inc, write) RANGE(p, sim_blas_span(n, inc, sizeof *(p)), write)

#define GEMV(P, p, type)                                                                           \
    static cublasStatus_t check_##p(cublasOperation_t t, int m, int n, int lda, int incx,          \
                                    int incy)                                                      \
    {                                                                                              \
        int bad = !sim_blas_op(t) || m < 0 || n < 0 || lda < sim_blas_one(m) || !incx || !incy;    \
        return bad ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;                          \
    }                                                                                              \
    static void gemv_##p(cublasOperation_t t, int m, int n, type a, const type *A, int lda,        \
                         const type *x, int incx, type b, type *y, int incy)                       \
    {                                                                                              \
        if (m == 0 || n == 0) return;                                                              \
        int nx = t == CUBLAS_OP_N ? n : m, ny = t == CUBLAS_OP_N ? m : n;                          \
        A = VIEW(A, m, n, lda, 0), x = VECTOR(x, nx, incx, 0), y = VECTOR(y, ny, incy, 1);         \
        if (!A || !x || !y) return; /* asynchronous: 700 is pending */                             \
        cblas_##p##gemv(CblasColMajor, sim_trans(t), m, n, a, A, lda, x, incx, b, y, incy);        \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemv_v2(                                                         \
        cublasHandle_t h, cublasOperation_t t, int m, int n, const type *alpha, const type *A,     \
        int lda, const type *x, int incx, const type *beta, type *y, int incy)                     \
    {                                                                                              \
        type a, b;                                                                                 \
        LIVE();                                                                                    \
        TRY(check_##p(t, m, n, lda, incx, incy));                                                  \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        gemv_##p(t, m, n, a, A, lda, x, incx, b, y, incy);                                         \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemvStridedBatched(                                              \
        cublasHandle_t h, cublasOperation_t t, int m, int n, const type *alpha, const type *A,     \
        int lda, long long int sa, const type *x, int incx, long long int sx, const type *beta,    \
        type *y, int incy, long long int sy, int count)                                            \
    {                                                                                              \
        type a, b;                                                                                 \
        LIVE();                                                                                    \
        TRY(check_##p(t, m, n, lda, incx, incy));                                                  \
        if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;                                         \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        for (int i = 0; i < count; i++)                                                            \
            gemv_##p(t, m, n, a, A + i * sa, lda, x + i * sx, incx, b, y + i * sy, incy);          \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##gemvBatched(cublasHandle_t h, cublasOperation_t t, int m, int n, \
                                              const type *alpha, const type *const A[], int lda,   \
                                              const type *const x[], int incx, const type *beta,   \
                                              type *const y[], int incy, int count)                \
    {                                                                                              \
        type a, b;                                                                                 \
        LIVE();                                                                                    \
        TRY(check_##p(t, m, n, lda, incx, incy));                                                  \
        if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;                                         \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        if (count == 0) return st;                                                                 \
        A = VECTOR(A, count, 1, 0), x = VECTOR(x, count, 1, 0), y = VECTOR(y, count, 1, 0);        \
        for (int i = 0; A && x && y && i < count; i++)                                             \
            gemv_##p(t, m, n, a, A[i], lda, x[i], incx, b, y[i], incy);                            \
        return st;                                                                                 \
    }

#define SYMMETRIC(P, p, type)                                                                      \
    API cublasStatus_t cublas##P##ger_v2(cublasHandle_t h, int m, int n, const type *alpha,        \
                                         const type *x, int incx, const type *y, int incy,         \
                                         type *A, int lda)                                         \
    {                                                                                              \
        type a;                                                                                    \
        LIVE();                                                                                    \
        if (m < 0 || n < 0 || !incx || !incy || lda < sim_blas_one(m))                             \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        if (m == 0 || n == 0) return st;                                                           \
        x = VECTOR(x, m, incx, 0), y = VECTOR(y, n, incy, 0), A = VIEW(A, m, n, lda, 1);           \
        if (x && y && A) cblas_##p##ger(CblasColMajor, m, n, a, x, incx, y, incy, A, lda);         \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##symv_v2(                                                         \
        cublasHandle_t h, cublasFillMode_t uplo, int n, const type *alpha, const type *A, int lda, \
        const type *x, int incx, const type *beta, type *y, int incy)                              \
    {                                                                                              \
        type a, b;                                                                                 \
        LIVE();                                                                                    \
        if (!sim_blas_fill(uplo) || n < 0 || !incx || !incy || lda < sim_blas_one(n))              \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        TRY(sim_blas_scalar(h, beta, sizeof b, &b));                                               \
        if (n == 0) return st;                                                                     \
        A = VIEW(A, n, n, lda, 0), x = VECTOR(x, n, incx, 0), y = VECTOR(y, n, incy, 1);           \
        if (!A || !x || !y) return st;                                                             \
        for (int i = 0; b == 0 && i < n; i++) y[sim_blas_nth(i, n, incy)] = 0; /* may be NaN */    \
        cblas_##p##symv(CblasColMajor, sim_uplo(uplo), n, a, A, lda, x, incx, b, y, incy);         \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr_v2(cublasHandle_t h, cublasFillMode_t uplo, int n,           \
                                         const type *alpha, const type *x, int incx, type *A,      \
                                         int lda)                                                  \
    {                                                                                              \
        type a;                                                                                    \
        LIVE();                                                                                    \
        if (!sim_blas_fill(uplo) || n < 0 || !incx || lda < sim_blas_one(n))                       \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        if (n == 0) return st;                                                                     \
        x = VECTOR(x, n, incx, 0), A = VIEW(A, n, n, lda, 1);                                      \
        if (x && A) cblas_##p##syr(CblasColMajor, sim_uplo(uplo), n, a, x, incx, A, lda);          \
        return st;                                                                                 \
    }                                                                                              \
    API cublasStatus_t cublas##P##syr2_v2(cublasHandle_t h, cublasFillMode_t uplo, int n,          \
                                          const type *alpha, const type *x, int incx,              \
                                          const type *y, int incy, type *A, int lda)               \
    {                                                                                              \
        type a;                                                                                    \
        LIVE();                                                                                    \
        if (!sim_blas_fill(uplo) || n < 0 || !incx || !incy || lda < sim_blas_one(n))              \
            return CUBLAS_STATUS_INVALID_VALUE;                                                    \
        TRY(sim_blas_scalar(h, alpha, sizeof a, &a));                                              \
        if (n == 0) return st;                                                                     \
        x = VECTOR(x, n, incx, 0), y = VECTOR(y, n, incy, 0), A = VIEW(A, n, n, lda, 1);           \
        if (x && y && A)                                                                           \
            cblas_##p##syr2(CblasColMajor, sim_uplo(uplo), n, a, x, incx, y, incy, A, lda);        \
        return st;                                                                                 \
    }

#define TRIANGLE(P, p, type, name)                                                             \
    API cublasStatus_t cublas##P##name##_v2(cublasHandle_t h, cublasFillMode_t uplo,           \
                                            cublasOperation_t t, cublasDiagType_t diag, int n, \
                                            const type *A, int lda, type *x, int incx)         \
    {                                                                                          \
        LIVE();                                                                                \
        if (!sim_blas_fill(uplo) || !sim_blas_op(t) || !sim_diag_ok(diag) || n < 0 || !incx || \
            lda < sim_blas_one(n))                                                             \
            return CUBLAS_STATUS_INVALID_VALUE;                                                \
        if (n == 0) return st;                                                                 \
        A = VIEW(A, n, n, lda, 0), x = VECTOR(x, n, incx, 1);                                  \
        if (A && x)                                                                            \
            cblas_##p##name(CblasColMajor, sim_uplo(uplo), sim_trans(t), sim_diag(diag), n, A, \
                            lda, x, incx);                                                     \
        return st;                                                                             \
    }

#define LEVEL2(P, p, type)     \
    GEMV(P, p, type)           \
    SYMMETRIC(P, p, type)      \
    TRIANGLE(P, p, type, trmv) \
    TRIANGLE(P, p, type, trsv)
LEVEL2(S, s, float)
LEVEL2(D, d, double)
