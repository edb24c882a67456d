/* blas.h - what the suites of cuBLAS share: the handle, scalars by pointer mode, calls by type. */
#ifndef CASES_LIBS_BLAS_H
#define CASES_LIBS_BLAS_H
#include "libs.h"
#include <cublas_v2.h>

static cublasHandle_t handle;

#define OK(call) ck_assert_msg((call) == CUBLAS_STATUS_SUCCESS, "%s: %s failed", where, #call)
#define BOTH(p, name, ...) \
    ((p) == F32 ? cublasS##name(handle, __VA_ARGS__) : cublasD##name(handle, __VA_ARGS__))
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static inline void open_handle(unsigned s)
{
    seed(s);
    at("cublasCreate");
    OK(cublasCreate(&handle));
}

static inline void pointers_on(int device)
{
    OK(cublasSetPointerMode(handle,
                            device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST));
}

/* A scalar in the type and the place that the pointer mode asks for. */
typedef struct scalar {
    float f;
    double d;
    arr device;
    void *p;
} scalar;

static inline void scalar_make(scalar *s, prec p, int on_device, double value)
{
    *s = (scalar){.f = (float)value, .d = value};
    s->p = p == F32 ? (void *)&s->f : &s->d;
    if (!on_device) return;
    s->device = arr_new(p, 1, 0, 0);
    s->device.h[0] = value;
    arr_push(&s->device);
    s->p = s->device.dev;
}

static inline double scalar_value(scalar *s, prec p)
{
    if (s->device.dev) {
        arr_pull(&s->device);
        return s->device.h[0];
    }
    return p == F32 ? (double)s->f : s->d;
}

static inline void scalar_free(scalar *s)
{
    if (s->device.dev) arr_free(&s->device);
}

/* Element i of n in a vector with a stride; a negative one runs from the far end, as in Fortran. */
static inline size_t nth(int i, int n, int inc)
{
    return (size_t)(inc > 0 ? i * inc : (i - (n - 1)) * inc);
}
static inline size_t span(int n, int inc)
{
    return n > 0 ? (size_t)((n - 1) * abs(inc) + 1) : 1;
}

#endif
