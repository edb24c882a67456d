/* level1more.c - vectors, the rest: swap, asum, iamax, iamin, rot, rotg, rotm, rotmg. */
#include "handle.h"
#include <cblas.h>
#include <math.h>

/* An argument that is read and written where the pointer mode says; NULL leaves 700 pending. */
static void *place(cublasHandle_t h, void *p, size_t bytes)
{
    return h->pointer_mode == CUBLAS_POINTER_MODE_DEVICE ? RANGE(p, bytes, 1) : p;
}

/* The first of the largest (or smallest) magnitudes, counted from 1; 0 of an empty vector. */
#define EXTREME(p, type)                                                                    \
    static int64_t extreme_##p(const type *x, int64_t n, int64_t inc, int smallest)         \
    {                                                                                       \
        int64_t best = 0;                                                                   \
        for (int64_t i = 1; i < n; i++) {                                                   \
            type a = (type)fabs((double)x[i * inc]), b = (type)fabs((double)x[best * inc]); \
            if (smallest ? a < b : a > b) best = i;                                         \
        }                                                                                   \
        return best + 1;                                                                    \
    }
EXTREME(s, float)
EXTREME(d, double)

#define INDEX(P, p, type, which, smallest)                                                      \
    API cublasStatus_t cublasI##p##which##_v2(cublasHandle_t h, int n, const type *x, int incx, \
                                              int *result)                                      \
    {                                                                                           \
        int r = 0;                                                                              \
        LIVE();                                                                                 \
        if (!result) return CUBLAS_STATUS_INVALID_VALUE;                                        \
        x = n > 0 && incx > 0 ? RANGE(x, sim_blas_span(n, incx, sizeof *x), 0) : NULL;          \
        if (x) r = (int)extreme_##p(x, n, incx, smallest);                                      \
        return sim_blas_give(h, result, &r, sizeof r);                                          \
    }

#define MORE(P, p, type)                                                                        \
    INDEX(P, p, type, amax, 0)                                                                  \
    INDEX(P, p, type, amin, 1)                                                                  \
    API cublasStatus_t cublas##P##asum_v2(cublasHandle_t h, int n, const type *x, int incx,     \
                                          type *result)                                         \
    {                                                                                           \
        type r = 0;                                                                             \
        LIVE();                                                                                 \
        if (!result) return CUBLAS_STATUS_INVALID_VALUE;                                        \
        x = n > 0 && incx > 0 ? RANGE(x, sim_blas_span(n, incx, sizeof r), 0) : NULL;           \
        if (x) r = cblas_##p##asum(n, x, incx);                                                 \
        return sim_blas_give(h, result, &r, sizeof r);                                          \
    }                                                                                           \
    API cublasStatus_t cublas##P##swap_v2(cublasHandle_t h, int n, type *x, int incx, type *y,  \
                                          int incy)                                             \
    {                                                                                           \
        LIVE();                                                                                 \
        if (n <= 0) return st;                                                                  \
        x = RANGE(x, sim_blas_span(n, incx, sizeof *x), 1);                                     \
        y = RANGE(y, sim_blas_span(n, incy, sizeof *x), 1);                                     \
        if (x && y) cblas_##p##swap(n, x, incx, y, incy);                                       \
        return st;                                                                              \
    }                                                                                           \
    API cublasStatus_t cublas##P##rot_v2(cublasHandle_t h, int n, type *x, int incx, type *y,   \
                                         int incy, const type *c, const type *s)                \
    {                                                                                           \
        type co, si;                                                                            \
        LIVE();                                                                                 \
        TRY(sim_blas_scalar(h, c, sizeof co, &co));                                             \
        TRY(sim_blas_scalar(h, s, sizeof si, &si));                                             \
        if (n <= 0) return st;                                                                  \
        x = RANGE(x, sim_blas_span(n, incx, sizeof *x), 1);                                     \
        y = RANGE(y, sim_blas_span(n, incy, sizeof *x), 1);                                     \
        if (x && y) cblas_##p##rot(n, x, incx, y, incy, co, si);                                \
        return st;                                                                              \
    }                                                                                           \
    API cublasStatus_t cublas##P##rotg_v2(cublasHandle_t h, type *a, type *b, type *c, type *s) \
    {                                                                                           \
        LIVE();                                                                                 \
        if (!a || !b || !c || !s) return CUBLAS_STATUS_INVALID_VALUE;                           \
        a = place(h, a, sizeof *a), b = place(h, b, sizeof *a);                                 \
        c = place(h, c, sizeof *a), s = place(h, s, sizeof *a);                                 \
        if (a && b && c && s) cblas_##p##rotg(a, b, c, s);                                      \
        return st;                                                                              \
    }                                                                                           \
    API cublasStatus_t cublas##P##rotm_v2(cublasHandle_t h, int n, type *x, int incx, type *y,  \
                                          int incy, const type *param)                          \
    {                                                                                           \
        type m[5];                                                                              \
        LIVE();                                                                                 \
        TRY(sim_blas_scalar(h, param, sizeof m, m));                                            \
        if (n <= 0) return st;                                                                  \
        x = RANGE(x, sim_blas_span(n, incx, sizeof *x), 1);                                     \
        y = RANGE(y, sim_blas_span(n, incy, sizeof *x), 1);                                     \
        if (x && y) cblas_##p##rotm(n, x, incx, y, incy, m);                                    \
        return st;                                                                              \
    }                                                                                           \
    API cublasStatus_t cublas##P##rotmg_v2(cublasHandle_t h, type *d1, type *d2, type *x1,      \
                                           const type *y1, type *param)                         \
    {                                                                                           \
        type y;                                                                                 \
        LIVE();                                                                                 \
        if (!d1 || !d2 || !x1 || !param) return CUBLAS_STATUS_INVALID_VALUE;                    \
        TRY(sim_blas_scalar(h, y1, sizeof y, &y));                                              \
        d1 = place(h, d1, sizeof *d1), d2 = place(h, d2, sizeof *d1);                           \
        x1 = place(h, x1, sizeof *d1), param = place(h, param, 5 * sizeof *d1);                 \
        if (d1 && d2 && x1 && param) cblas_##p##rotmg(d1, d2, x1, y, param);                    \
        return st;                                                                              \
    }
MORE(S, s, float)
MORE(D, d, double)
