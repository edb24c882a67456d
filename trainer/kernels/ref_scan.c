/* ref_scan.c - reference of scan.cu. */
#include "kernels/ref.h"
#include <math.h>

void ref_scan(int64_t n, const int32_t *in, int32_t *out)
{
    out[0] = 0;
    for (int64_t i = 0; i < n; i++) out[i + 1] = out[i] + in[i];
}

void ref_sum(int64_t n, const double *x, wide *sum, wide *scale)
{
    *sum = *scale = 0;
    for (int64_t i = 0; i < n; i++) *sum += x[i], *scale += fabs(x[i]);
}

void ref_sum_squares(int64_t n, const real *x, wide *sum)
{
    *sum = 0;
    for (int64_t i = 0; i < n; i++) *sum += (wide)x[i] * x[i];
}
