/* level1ex.c - vectors of a type that the caller names: AxpyEx, ScalEx, DotEx, Nrm2Ex, AsumEx,
 * CopyEx, SwapEx, IamaxEx, IaminEx. 16-bit floats are computed as float, each type otherwise as
 * itself. */
#include "element.h"
#include "handle.h"
#include <math.h>

/* A floating type and the type that it is computed in, as the documentation's tables pair them. */
static int pair(cudaDataType t, cudaDataType in)
{
    return t == CUDA_R_64F
               ? in == CUDA_R_64F
               : (t == CUDA_R_32F || t == CUDA_R_16F || t == CUDA_R_16BF) && in == CUDA_R_32F;
}

/* Scalars of 16-bit vectors may be float or of the vector's own type. */
static int scalar_of(cudaDataType scalar, cudaDataType vector, cudaDataType in)
{
    return pair(vector, in) && (scalar == in || scalar == vector);
}

static double rounded(cudaDataType in, double x)
{
    return in == CUDA_R_32F ? (double)(float)x : x;
}

static const void *view(const void *p, int64_t n, int64_t inc, cudaDataType t, int write)
{
    return RANGE(p, sim_blas_span(n, inc, sim_element_size(t)), write);
}

static cublasStatus_t give(cublasHandle_t h, void *to, cudaDataType t, double value)
{
    double room = 0;
    sim_element_put(t, &room, 0, value);
    return sim_blas_give(h, to, &room, sim_element_size(t));
}

API cublasStatus_t cublasAxpyEx(cublasHandle_t h, int n, const void *alpha, cudaDataType at,
                                const void *x, cudaDataType xt, int incx, void *y, cudaDataType yt,
                                int incy, cudaDataType in)
{
    double a = 0;
    LIVE();
    if (xt != yt || !scalar_of(at, xt, in)) return CUBLAS_STATUS_NOT_SUPPORTED;
    TRY(sim_blas_scalar(h, alpha, sim_element_size(at), &a));
    a = sim_element(at, &a, 0);
    if (n <= 0) return st;
    x = view(x, n, incx, xt, 0), y = (void *)view(y, n, incy, yt, 1);
    for (int64_t i = 0; x && y && i < n; i++) {
        int64_t to = sim_blas_nth(i, n, incy);
        double t = rounded(in, a * sim_element(xt, x, sim_blas_nth(i, n, incx)));
        sim_element_put(yt, y, to, t + sim_element(yt, y, to));
    }
    return st;
}

API cublasStatus_t cublasScalEx(cublasHandle_t h, int n, const void *alpha, cudaDataType at,
                                void *x, cudaDataType xt, int incx, cudaDataType in)
{
    double a = 0;
    LIVE();
    if (!scalar_of(at, xt, in)) return CUBLAS_STATUS_NOT_SUPPORTED;
    TRY(sim_blas_scalar(h, alpha, sim_element_size(at), &a));
    a = sim_element(at, &a, 0);
    if (n <= 0 || incx <= 0) return st;
    x = (void *)view(x, n, incx, xt, 1);
    for (int64_t i = 0; x && i < n; i++)
        sim_element_put(xt, x, i * incx, a * sim_element(xt, x, i * incx));
    return st;
}

API cublasStatus_t cublasDotEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                               const void *y, cudaDataType yt, int incy, void *result,
                               cudaDataType rt, cudaDataType in)
{
    double sum = 0;
    LIVE();
    if (xt != yt || xt != rt || !pair(xt, in)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!result) return CUBLAS_STATUS_INVALID_VALUE;
    x = view(x, n, incx, xt, 0), y = view(y, n, incy, yt, 0);
    for (int64_t i = 0; x && y && i < n; i++)
        sum += sim_element(xt, x, sim_blas_nth(i, n, incx)) *
               sim_element(yt, y, sim_blas_nth(i, n, incy));
    return give(h, result, rt, sum);
}

/* Of real numbers the same. */
API cublasStatus_t cublasDotcEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                const void *y, cudaDataType yt, int incy, void *result,
                                cudaDataType rt, cudaDataType in)
{
    return cublasDotEx(h, n, x, xt, incx, y, yt, incy, result, rt, in);
}

API cublasStatus_t cublasNrm2Ex(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                void *result, cudaDataType rt, cudaDataType in)
{
    double norm = 0;
    LIVE();
    if (xt != rt || !pair(xt, in)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!result) return CUBLAS_STATUS_INVALID_VALUE;
    x = n > 0 && incx > 0 ? view(x, n, incx, xt, 0) : NULL;
    for (int64_t i = 0; x && i < n; i++) norm = hypot(norm, sim_element(xt, x, i * incx));
    return give(h, result, rt, norm);
}

API cublasStatus_t cublasAsumEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                void *result, cudaDataType rt, cudaDataType in)
{
    double sum = 0;
    LIVE();
    if (xt != rt || !pair(xt, in)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!result) return CUBLAS_STATUS_INVALID_VALUE;
    x = n > 0 && incx > 0 ? view(x, n, incx, xt, 0) : NULL;
    for (int64_t i = 0; x && i < n; i++) sum += fabs(sim_element(xt, x, i * incx));
    return give(h, result, rt, sum);
}

/* Elements of any of these types, moved as they are. */
static int known(cudaDataType t)
{
    return t == CUDA_R_64F || t == CUDA_R_32F || t == CUDA_R_16F || t == CUDA_R_16BF;
}

API cublasStatus_t cublasCopyEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                void *y, cudaDataType yt, int incy)
{
    LIVE();
    if (xt != yt || !known(xt)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (n <= 0) return st;
    x = view(x, n, incx, xt, 0), y = (void *)view(y, n, incy, yt, 1);
    size_t size = sim_element_size(xt);
    for (int64_t i = 0; x && y && i < n; i++)
        memcpy((char *)y + sim_blas_nth(i, n, incy) * (int64_t)size,
               (const char *)x + sim_blas_nth(i, n, incx) * (int64_t)size, size);
    return st;
}

API cublasStatus_t cublasSwapEx(cublasHandle_t h, int n, void *x, cudaDataType xt, int incx,
                                void *y, cudaDataType yt, int incy)
{
    LIVE();
    if (xt != yt || !known(xt)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (n <= 0) return st;
    x = (void *)view(x, n, incx, xt, 1), y = (void *)view(y, n, incy, yt, 1);
    size_t size = sim_element_size(xt);
    for (int64_t i = 0; x && y && i < n; i++) {
        char *a = (char *)x + sim_blas_nth(i, n, incx) * (int64_t)size, t[8];
        char *b = (char *)y + sim_blas_nth(i, n, incy) * (int64_t)size;
        memcpy(t, a, size), memcpy(a, b, size), memcpy(b, t, size);
    }
    return st;
}

/* The first of the largest (sign 1) or smallest (-1) magnitudes, counted from 1. */
static cublasStatus_t extreme(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                              int *result, double sign)
{
    int best = 0;
    LIVE();
    if (!known(xt)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!result) return CUBLAS_STATUS_INVALID_VALUE;
    x = n > 0 && incx > 0 ? view(x, n, incx, xt, 0) : NULL;
    for (int i = 0; x && i < n; i++)
        if (i == 0 || sign * fabs(sim_element(xt, x, (int64_t)i * incx)) >
                          sign * fabs(sim_element(xt, x, (int64_t)(best - 1) * incx)))
            best = i + 1;
    return sim_blas_give(h, result, &best, sizeof best);
}

API cublasStatus_t cublasIamaxEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                 int *result)
{
    return extreme(h, n, x, xt, incx, result, 1);
}

API cublasStatus_t cublasIaminEx(cublasHandle_t h, int n, const void *x, cudaDataType xt, int incx,
                                 int *result)
{
    return extreme(h, n, x, xt, incx, result, -1);
}
