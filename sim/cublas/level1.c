/* level1.c - vectors: axpy, scal, copy, dot, nrm2, in float and double. */
#include "handle.h"
#include <cblas.h>

#define LEVEL1(P, p, type)                                                                         \
    API cublasStatus_t cublas##P##axpy_v2(cublasHandle_t h, int n, const type *alpha,              \
                                          const type *x, int incx, type *y, int incy)              \
    {                                                                                              \
        type a;                                                                                    \
        LIVE();                                                                                    \
        if ((st = sim_blas_scalar(h, alpha, sizeof a, &a)) != CUBLAS_STATUS_SUCCESS || n <= 0)     \
            return st;                                                                             \
        const type *hx = RANGE(x, sim_blas_span(n, incx, sizeof a), 0);                            \
        type *hy = RANGE(y, sim_blas_span(n, incy, sizeof a), 1);                                  \
        if (!hx || !hy) return CUBLAS_STATUS_SUCCESS; /* asynchronous: 700 is pending */           \
        cblas_##p##axpy(n, a, hx, incx, hy, incy);                                                 \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    API cublasStatus_t cublas##P##scal_v2(cublasHandle_t h, int n, const type *alpha, type *x,     \
                                          int incx)                                                \
    {                                                                                              \
        type a;                                                                                    \
        LIVE();                                                                                    \
        if ((st = sim_blas_scalar(h, alpha, sizeof a, &a)) != CUBLAS_STATUS_SUCCESS || n <= 0)     \
            return st;                                                                             \
        type *hx = RANGE(x, sim_blas_span(n, incx, sizeof a), 1);                                  \
        if (hx) cblas_##p##scal(n, a, hx, incx);                                                   \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    API cublasStatus_t cublas##P##copy_v2(cublasHandle_t h, int n, const type *x, int incx,        \
                                          type *y, int incy)                                       \
    {                                                                                              \
        LIVE();                                                                                    \
        if (n <= 0) return st;                                                                     \
        const type *hx = RANGE(x, sim_blas_span(n, incx, sizeof *x), 0);                           \
        type *hy = RANGE(y, sim_blas_span(n, incy, sizeof *x), 1);                                 \
        if (hx && hy) cblas_##p##copy(n, hx, incx, hy, incy);                                      \
        return CUBLAS_STATUS_SUCCESS;                                                              \
    }                                                                                              \
    API cublasStatus_t cublas##P##dot_v2(cublasHandle_t h, int n, const type *x, int incx,         \
                                         const type *y, int incy, type *result)                    \
    {                                                                                              \
        type r = 0;                                                                                \
        LIVE();                                                                                    \
        if (!result) return CUBLAS_STATUS_INVALID_VALUE;                                           \
        const type *hx = n > 0 ? RANGE(x, sim_blas_span(n, incx, sizeof r), 0) : NULL;             \
        const type *hy = n > 0 ? RANGE(y, sim_blas_span(n, incy, sizeof r), 0) : NULL;             \
        if (hx && hy) r = cblas_##p##dot(n, hx, incx, hy, incy);                                   \
        return sim_blas_give(h, result, &r, sizeof r);                                             \
    }                                                                                              \
    API cublasStatus_t cublas##P##nrm2_v2(cublasHandle_t h, int n, const type *x, int incx,        \
                                          type *result)                                            \
    {                                                                                              \
        type r = 0;                                                                                \
        LIVE();                                                                                    \
        if (!result) return CUBLAS_STATUS_INVALID_VALUE;                                           \
        const type *hx = n > 0 && incx > 0 ? RANGE(x, sim_blas_span(n, incx, sizeof r), 0) : NULL; \
        if (hx) r = cblas_##p##nrm2(n, hx, incx);                                                  \
        return sim_blas_give(h, result, &r, sizeof r);                                             \
    }
LEVEL1(S, s, float)
LEVEL1(D, d, double)
