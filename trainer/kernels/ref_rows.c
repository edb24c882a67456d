/* ref_rows.c - reference of rows.cu: moves, and sums of two numbers, which have one rounding. */
#include "kernels/ref.h"
#include <string.h>

void ref_gather(int64_t r, int c, const real *from, const int32_t *row, real *to)
{
    for (int64_t i = 0; i < r; i++)
        memcpy(to + i * c, from + (int64_t)row[i] * c, sizeof(real) * (size_t)c);
}

void ref_scatter_add(int64_t r, int c, const real *from, const int32_t *row, real *to)
{
    for (int64_t i = 0; i < r; i++)
        for (int k = 0; k < c; k++) to[(int64_t)row[i] * c + k] += from[i * c + k];
}

void ref_concat(int64_t v, int ca, int cb, const real *a, const real *b, real *out)
{
    for (int64_t i = 0; i < v; i++, out += ca + cb) {
        memcpy(out, a + i * ca, sizeof(real) * (size_t)ca);
        memcpy(out + ca, b + i * cb, sizeof(real) * (size_t)cb);
    }
}

void ref_split(int64_t v, int ca, int cb, const real *in, real *a, real *b)
{
    for (int64_t i = 0; i < v; i++, in += ca + cb) {
        memcpy(a + i * ca, in, sizeof(real) * (size_t)ca);
        memcpy(b + i * cb, in + ca, sizeof(real) * (size_t)cb);
    }
}

void ref_add(int64_t n, const real *from, real *to)
{
    for (int64_t i = 0; i < n; i++) to[i] += from[i];
}

void ref_add_bias(int64_t v, int c, const real *bias, real *x)
{
    for (int64_t i = 0; i < v * c; i++) x[i] += bias[i % c];
}
