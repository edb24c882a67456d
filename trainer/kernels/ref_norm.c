/* ref_norm.c - reference of norm.cu. The scales follow the errors to first order: c terms are
 * summed for a mean, so it is off by c roundings of the mean of |x|; a relative error of the
 * inverse deviation follows from that of the mean. */
#include "kernels/ref.h"
#include <math.h>

#define EPSILON 1e-5L

void ref_layer_norm(int64_t v, int c, const real *x, const real *gamma, const real *beta, wide *y,
                    wide *scale)
{
    for (int64_t i = 0; i < v; i++) {
        wide mean = 0, size = 0, var = 0;
        for (int k = 0; k < c; k++) mean += x[i * c + k], size += fabs((double)x[i * c + k]);
        mean /= c, size /= c;
        for (int k = 0; k < c; k++) var += (x[i * c + k] - mean) * (x[i * c + k] - mean);
        wide inv = 1 / sqrtl(var / c + EPSILON);
        for (int k = 0; k < c; k++) {
            wide hat = (x[i * c + k] - mean) * inv;
            y[i * c + k] = hat * gamma[k] + beta[k];
            scale[i * c + k] =
                fabsl(gamma[k]) * (inv * size + fabsl(hat) * (1 + inv * size)) + fabsl(beta[k]);
        }
    }
}

void ref_layer_norm_back(int64_t v, int c, const real *x, const real *gamma, const real *mean,
                         const real *inv, const real *dy, wide *dx, wide *scale)
{
    for (int64_t i = 0; i < v; i++) {
        wide a = 0, b = 0, size_a = 0, size_b = 0, s = inv[i];
        for (int k = 0; k < c; k++) {
            wide g = (wide)dy[i * c + k] * gamma[k], hat = ((wide)x[i * c + k] - mean[i]) * s;
            a += g / c, size_a += fabsl(g) / c;
            b += g * hat / c, size_b += fabsl(g * hat) / c;
        }
        for (int k = 0; k < c; k++) {
            wide g = (wide)dy[i * c + k] * gamma[k], hat = ((wide)x[i * c + k] - mean[i]) * s;
            dx[i * c + k] = s * (g - a - hat * b);
            scale[i * c + k] = s * (fabsl(g) + size_a + fabsl(hat) * size_b);
        }
    }
}

void ref_frozen_inv(int c, const real *var, wide *inv)
{
    for (int k = 0; k < c; k++) inv[k] = 1 / sqrtl((wide)var[k] + EPSILON);
}

void ref_frozen_norm_back(int64_t v, int c, const real *gamma, const real *inv, const real *dy,
                          wide *dx)
{
    for (int64_t i = 0; i < v * c; i++) dx[i] = (wide)dy[i] * gamma[i % c] * inv[i % c];
}

void ref_norm_columns(int64_t v, int c, int per_row, const real *x, const real *mean,
                      const real *inv, const real *dy, wide *dgamma, wide *dbeta, wide *scale_gamma,
                      wide *scale_beta)
{
    for (int k = 0; k < c; k++) {
        wide g = 0, b = 0;
        scale_gamma[k] = fabsl(dgamma[k]), scale_beta[k] = fabsl(dbeta[k]);
        for (int64_t i = 0; i < v; i++) {
            int64_t s = per_row ? i : k;
            wide t = dy[i * c + k], hat = x ? ((wide)x[i * c + k] - mean[s]) * inv[s] : 0;
            b += t, scale_beta[k] += fabsl(t);
            g += t * hat, scale_gamma[k] += fabsl(t * hat);
        }
        dgamma[k] += g;
        dbeta[k] += b;
    }
}
