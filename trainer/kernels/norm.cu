/* norm.cu - layer norm over the channels of a voxel (Ba, Kiros, Hinton 2016), forward and backward;
 * the backward of a norm with frozen statistics; column sums for gamma and beta in a fixed order.
 */
#include "kernels/launch.cuh"

#define EPSILON 1e-5
#define ROWS    128 /* of a partial column sum */

__global__ void layer_norm_kernel(int64_t v, int c, const real *x, const real *gamma,
                                  const real *beta, real *y, real *mean, real *inv)
{
    int64_t i = pt_item();
    if (i >= v) return;
    const real *row = x + i * c;
    real sum = 0, square = 0;
    for (int k = 0; k < c; k++) sum += row[k];
    real m = sum / (real)c;
    for (int k = 0; k < c; k++) square += (row[k] - m) * (row[k] - m);
    real s = (real)1 / sqrt(square / (real)c + (real)EPSILON);
    for (int k = 0; k < c; k++) y[i * c + k] = (row[k] - m) * s * gamma[k] + beta[k];
    mean[i] = m;
    inv[i] = s;
}

/* dx = inv * (g - mean(g) - xhat * mean(g * xhat)), g = dy * gamma */
__global__ void layer_norm_back_kernel(int64_t v, int c, const real *x, const real *gamma,
                                       const real *mean, const real *inv, const real *dy, real *dx)
{
    int64_t i = pt_item();
    if (i >= v) return;
    real m = mean[i], s = inv[i], a = 0, b = 0;
    for (int k = 0; k < c; k++) {
        real g = dy[i * c + k] * gamma[k];
        a += g;
        b += g * (x[i * c + k] - m) * s;
    }
    a /= (real)c;
    b /= (real)c;
    for (int k = 0; k < c; k++) {
        real h = (x[i * c + k] - m) * s;
        dx[i * c + k] = s * (dy[i * c + k] * gamma[k] - a - h * b);
    }
}

__global__ void frozen_inv_kernel(int64_t c, const real *var, real *inv)
{
    int64_t k = pt_item();
    if (k < c) inv[k] = (real)1 / sqrt(var[k] + (real)EPSILON);
}

__global__ void frozen_norm_back_kernel(int64_t v, int c, const real *gamma, const real *inv,
                                        const real *dy, real *dx)
{
    int64_t i = pt_item();
    if (i >= v) return;
    for (int k = 0; k < c; k++) dx[i * c + k] = dy[i * c + k] * gamma[k] * inv[k];
}

/* Partial sums [chunks, 2, c] in double. A thread takes one channel of ROWS rows. */
__global__ void column_partials_kernel(int64_t items, int64_t v, int c, int per_row, const real *x,
                                       const real *mean, const real *inv, const real *dy,
                                       double *partial)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t chunk = i / c;
    int k = (int)(i - chunk * c);
    double g = 0, b = 0;
    for (int64_t r = chunk * ROWS, end = r + ROWS < v ? r + ROWS : v; r < end; r++) {
        double t = (double)dy[r * c + k];
        b += t;
        if (x) g += t * (double)((x[r * c + k] - mean[per_row ? r : k]) * inv[per_row ? r : k]);
    }
    partial[chunk * 2 * c + k] = g;
    partial[chunk * 2 * c + c + k] = b;
}

__global__ void column_total_kernel(int64_t c, int64_t chunks, const double *partial, real *dgamma,
                                    real *dbeta)
{
    int64_t k = pt_item();
    if (k >= c) return;
    double g = 0, b = 0;
    for (int64_t j = 0; j < chunks; j++) {
        g += partial[j * 2 * c + k];
        b += partial[j * 2 * c + c + k];
    }
    if (dgamma) dgamma[k] += (real)g;
    dbeta[k] += (real)b;
}

extern "C" pt_status pt_k_layer_norm(pt_device *d, int64_t v, int c, const real *x,
                                     const real *gamma, const real *beta, real *y, real *mean,
                                     real *inv)
{
    return LAUNCH(layer_norm_kernel, v, c, x, gamma, beta, y, mean, inv);
}

extern "C" pt_status pt_k_layer_norm_back(pt_device *d, int64_t v, int c, const real *x,
                                          const real *gamma, const real *mean, const real *inv,
                                          const real *dy, real *dx)
{
    return LAUNCH(layer_norm_back_kernel, v, c, x, gamma, mean, inv, dy, dx);
}

extern "C" pt_status pt_k_frozen_inv(pt_device *d, int c, const real *var, real *inv)
{
    return LAUNCH(frozen_inv_kernel, (int64_t)c, var, inv);
}

extern "C" pt_status pt_k_frozen_norm_back(pt_device *d, int64_t v, int c, const real *gamma,
                                           const real *inv, const real *dy, real *dx)
{
    return LAUNCH(frozen_norm_back_kernel, v, c, gamma, inv, dy, dx);
}

extern "C" size_t pt_k_columns_room(int64_t v, int c)
{
    return (size_t)((v + ROWS - 1) / ROWS) * 2 * (size_t)c;
}

extern "C" pt_status pt_k_norm_columns(pt_device *d, int64_t v, int c, int per_row, const real *x,
                                       const real *mean, const real *inv, const real *dy,
                                       real *dgamma, real *dbeta, double *tmp)
{
    int64_t chunks = (v + ROWS - 1) / ROWS;
    pt_status st = LAUNCH(column_partials_kernel, chunks * c, v, c, per_row, x, mean, inv, dy, tmp);
    return st == PT_OK ? LAUNCH(column_total_kernel, (int64_t)c, chunks, tmp, dgamma, dbeta) : st;
}
