/* typed.h - arrays of the types that a call is told by name: 16-bit floats, bytes, float, double;
 * on the device, and as doubles. The decoders are written from the formats' definitions. */
#ifndef CASES_LIBS_TYPED_H
#define CASES_LIBS_TYPED_H
#include "libs.h"
#include <library_types.h>
#include <stdint.h>

typedef struct typed {
    cudaDataType type;
    size_t n, size; /* n with the slack */
    void *dev, *raw;
    double *h;
} typed;

static inline size_t typed_size(cudaDataType t)
{
    return t == CUDA_R_64F ? 8 : t == CUDA_R_8I ? 1 : t == CUDA_R_32F || t == CUDA_R_32I ? 4 : 2;
}
static inline const char *typed_name(cudaDataType t)
{
    return t == CUDA_R_64F    ? "f64"
           : t == CUDA_R_32F  ? "f32"
           : t == CUDA_R_16F  ? "f16"
           : t == CUDA_R_16BF ? "bf16"
           : t == CUDA_R_8I   ? "i8"
                              : "i32";
}
/* unit roundoff, and the distance of the smallest numbers */
static inline double typed_u(cudaDataType t)
{
    return t == CUDA_R_64F   ? 0x1p-53
           : t == CUDA_R_32F ? 0x1p-24
           : t == CUDA_R_16F ? 0x1p-11
                             : 0x1p-8;
}
static inline double typed_tiny(cudaDataType t)
{
    return t == CUDA_R_64F ? 0x1p-1022 : t == CUDA_R_16F ? 0x1p-24 : 0x1p-126;
}

static inline double typed_decode(cudaDataType t, const void *raw, size_t i)
{
    if (t == CUDA_R_64F) return ((const double *)raw)[i];
    if (t == CUDA_R_32F) return ((const float *)raw)[i];
    if (t == CUDA_R_8I) return ((const int8_t *)raw)[i];
    if (t == CUDA_R_32I) return ((const int32_t *)raw)[i];
    uint16_t b = ((const uint16_t *)raw)[i];
    int bits = t == CUDA_R_16F ? 10 : 7, top = t == CUDA_R_16F ? 31 : 255, bias = top / 2;
    int e = b >> bits & top, m = b & ((1 << bits) - 1);
    double v = e == top ? (m ? NAN : INFINITY)
               : e      ? ldexp(m + (1 << bits), e - bias - bits)
                        : ldexp(m, 1 - bias - bits);
    return b & 0x8000 ? -v : v;
}

static inline void typed_pull(typed *a)
{
    CUDA(cudaMemcpy(a->raw, a->dev, a->n * a->size, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < a->n; i++) a->h[i] = typed_decode(a->type, a->raw, i);
}

static inline void typed_push(typed *a)
{
    CUDA(cudaMemcpy(a->dev, a->raw, a->n * a->size, cudaMemcpyHostToDevice));
    typed_pull(a);
}

/* Random numbers of the type: floats of magnitude 1/16 to 2, integers of -9 to 9. */
static inline typed typed_new(cudaDataType t, size_t n)
{
    typed a = {.type = t, .n = n + SLACK, .size = typed_size(t)};
    a.raw = malloc(a.n * a.size), a.h = malloc(a.n * sizeof *a.h);
    ck_assert(a.raw && a.h);
    CUDA(cudaMalloc(&a.dev, a.n * a.size));
    for (size_t i = 0; i < a.n; i++) {
        int sign = uniform(0, 1) < 0.5, e = (int)uniform(0, 5), whole = (int)uniform(-9.99, 9.99);
        double x = ldexp(uniform(1, 2), e - 4) * (sign ? -1 : 1);
        if (t == CUDA_R_64F) ((double *)a.raw)[i] = x;
        if (t == CUDA_R_32F) ((float *)a.raw)[i] = (float)x;
        if (t == CUDA_R_8I) ((int8_t *)a.raw)[i] = (int8_t)whole;
        if (t == CUDA_R_32I) ((int32_t *)a.raw)[i] = whole;
        if (t == CUDA_R_16F)
            ((uint16_t *)a.raw)[i] =
                (uint16_t)(sign << 15 | (e + 11) << 10 | (int)uniform(0, 1023.99));
        if (t == CUDA_R_16BF)
            ((uint16_t *)a.raw)[i] =
                (uint16_t)(sign << 15 | (e + 123) << 7 | (int)uniform(0, 127.99));
    }
    typed_push(&a);
    return a;
}

/* Every byte 0xff: a NaN in each of the floating types. */
static inline void typed_nan(typed *a)
{
    memset(a->raw, 0xff, a->n * a->size);
    typed_push(a);
}

static inline void typed_free(typed *a)
{
    CUDA(cudaFree(a->dev));
    free(a->raw), free(a->h);
}

/* What the whole array holds; it must still hold it where the tolerance stays 0. */
static inline ref typed_ref(const typed *a)
{
    ref r = {a->n, malloc(a->n * sizeof(double)), calloc(a->n, sizeof(double))};
    ck_assert(r.want && r.tol);
    memcpy(r.want, a->h, a->n * sizeof(double));
    return r;
}

static inline void typed_expect(typed *a, ref *r, const char *what)
{
    typed_pull(a);
    for (size_t i = 0; i < a->n; i++) {
        double got = a->h[i], want = r->want[i];
        int same = isnan(want) ? isnan(got) : got == want || fabs(got - want) <= r->tol[i];
        ck_assert_msg(same, "%s: %s[%zu] of %zu: got %.9g, wanted %.9g, allowed %.3g", where, what,
                      i, a->n - SLACK, got, want, r->tol[i]);
    }
    ref_free(r);
}

#endif
