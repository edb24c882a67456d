/* moments.cu - count, mean and M2 of the rows that a piece owns, a channel at a time: of chunks of
 * rows first, which are then put together by the formula of net/moments.h in a fixed order. */
#include "kernels/launch.cuh"

#define ROWS 128 /* of a chunk */

/* out[i] = own[index[first[i]]]: whether the first of what lies in cell i is owned */
__global__ void first_own_kernel(int64_t v, const int32_t *first, const int32_t *index,
                                 const uint8_t *own, uint8_t *out)
{
    int64_t i = pt_item();
    if (i < v) out[i] = own[index[first[i]]];
}

/* Partial sets [chunks, 3, c]: n, mean, M2. A thread takes one channel of ROWS rows. */
__global__ void moment_partials_kernel(int64_t items, int64_t v, int c, const real *x,
                                       const uint8_t *own, double *partial)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t chunk = i / c, begin = chunk * ROWS, end = begin + ROWS < v ? begin + ROWS : v;
    int k = (int)(i - chunk * c);
    double n = 0, sum = 0, m2 = 0;
    for (int64_t r = begin; r < end; r++) {
        if (!own[r]) continue;
        n += 1;
        sum += (double)x[r * c + k];
    }
    double mean = n > 0 ? sum / n : 0;
    for (int64_t r = begin; r < end; r++) {
        double d = (double)x[r * c + k] - mean;
        if (own[r]) m2 += d * d;
    }
    double *p = partial + chunk * 3 * c;
    p[k] = n;
    p[c + k] = mean;
    p[2 * c + k] = m2;
}

__global__ void moment_total_kernel(int64_t c, int64_t chunks, const double *partial,
                                    const real *used_mean, const real *used_inv, double *out)
{
    int64_t k = pt_item();
    if (k >= c) return;
    double na = 0, mean = 0, m2 = 0;
    for (int64_t j = 0; j < chunks; j++) {
        const double *p = partial + j * 3 * c;
        double nb = p[k];
        if (!(nb > 0)) continue;
        double n = na + nb, d = p[c + k] - mean;
        mean += d * (nb / n);
        m2 += p[2 * c + k] + d * d * (na * nb / n);
        na = n;
    }
    if (k == 0) out[0] = na;
    out[1 + k] = mean;
    out[1 + c + k] = m2;
    out[1 + 2 * c + k] = (double)used_mean[k];
    out[1 + 3 * c + k] = (double)used_inv[k];
}

extern "C" pt_status pt_k_first_own(pt_device *d, int64_t v, const int32_t *first,
                                    const int32_t *index, const uint8_t *own, uint8_t *out)
{
    return LAUNCH(first_own_kernel, v, first, index, own, out);
}

extern "C" size_t pt_k_moments_room(int64_t v, int c)
{
    return (size_t)((v + ROWS - 1) / ROWS) * 3 * (size_t)c;
}

extern "C" pt_status pt_k_moments(pt_device *d, int64_t v, int c, const real *x, const uint8_t *own,
                                  const real *used_mean, const real *used_inv, double *out,
                                  double *tmp)
{
    int64_t chunks = (v + ROWS - 1) / ROWS;
    pt_status st = LAUNCH(moment_partials_kernel, chunks * c, v, c, x, own, tmp);
    return st == PT_OK
               ? LAUNCH(moment_total_kernel, (int64_t)c, chunks, tmp, used_mean, used_inv, out)
               : st;
}
