/* rows.cu - moving rows of features. A thread has enough work that its cost on the simulated device
 * does not dominate, and little enough to fill a card. */
#include "kernels/launch.cuh"

#define WIDE  8
#define LANES 2
struct alignas(4 * sizeof(real)) quad {
    real x, y, z, w;
};

/* Each lane of a row takes every LANES-th quad: the two of floats are a sector of a card's memory.
 */
template <int ADD>
static __device__ __forceinline__ void move_row(int c, int lane, const real *from, real *to)
{
    if (c % 4 == 0) { /* rows are aligned */
        const quad *f = (const quad *)from;
        quad *t = (quad *)to;
#pragma unroll 4
        for (int i = lane; i < c / 4; i += LANES) {
            quad q = f[i];
            if (ADD) {
                quad o = t[i];
                q.x += o.x, q.y += o.y, q.z += o.z, q.w += o.w;
            }
            t[i] = q;
        }
        return;
    }
    for (int k = lane; k < c; k += LANES) to[k] = ADD ? to[k] + from[k] : from[k];
}

__global__ void gather_kernel(int64_t items, int c, const real *from, const int32_t *row, real *to)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t r = i / LANES;
    move_row<0>(c, (int)(i % LANES), from + (int64_t)row[r] * c, to + r * c);
}

/* Each row of `to` occurs once in a list, so nothing is added twice at a time. */
__global__ void scatter_add_kernel(int64_t items, int c, const real *from, const int32_t *row,
                                   real *to)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t r = i / LANES;
    move_row<1>(c, (int)(i % LANES), from + r * c, to + (int64_t)row[r] * c);
}

__global__ void concat_kernel(int64_t v, int ca, int cb, const real *a, const real *b, real *out)
{
    int64_t i = pt_item();
    if (i >= v) return;
    for (int c = 0; c < ca; c++) out[i * (ca + cb) + c] = a[i * ca + c];
    for (int c = 0; c < cb; c++) out[i * (ca + cb) + ca + c] = b[i * cb + c];
}

__global__ void split_kernel(int64_t v, int ca, int cb, const real *in, real *a, real *b)
{
    int64_t i = pt_item();
    if (i >= v) return;
    for (int c = 0; c < ca; c++) a[i * ca + c] = in[i * (ca + cb) + c];
    for (int c = 0; c < cb; c++) b[i * cb + c] = in[i * (ca + cb) + ca + c];
}

__global__ void add_kernel(int64_t items, int64_t n, const real *from, real *to)
{
    int64_t i = pt_item();
    if (i >= items) return;
    for (int64_t k = i * WIDE, end = k + WIDE < n ? k + WIDE : n; k < end; k++) to[k] += from[k];
}

__global__ void add_bias_kernel(int64_t v, int c, const real *bias, real *x)
{
    int64_t i = pt_item();
    if (i >= v) return;
    for (int k = 0; k < c; k++) x[i * c + k] += bias[k];
}

extern "C" pt_status pt_k_gather(pt_device *d, int64_t r, int c, const real *from,
                                 const int32_t *row, real *to)
{
    return LAUNCH(gather_kernel, r * LANES, c, from, row, to);
}

extern "C" pt_status pt_k_scatter_add(pt_device *d, int64_t r, int c, const real *from,
                                      const int32_t *row, real *to)
{
    return LAUNCH(scatter_add_kernel, r * LANES, c, from, row, to);
}

extern "C" pt_status pt_k_concat(pt_device *d, int64_t v, int ca, int cb, const real *a,
                                 const real *b, real *out)
{
    return LAUNCH(concat_kernel, v, ca, cb, a, b, out);
}

extern "C" pt_status pt_k_split(pt_device *d, int64_t v, int ca, int cb, const real *in, real *a,
                                real *b)
{
    return LAUNCH(split_kernel, v, ca, cb, in, a, b);
}

extern "C" pt_status pt_k_add(pt_device *d, int64_t n, const real *from, real *to)
{
    return LAUNCH(add_kernel, (n + WIDE - 1) / WIDE, n, from, to);
}

extern "C" pt_status pt_k_add_bias(pt_device *d, int64_t v, int c, const real *bias, real *x)
{
    return LAUNCH(add_bias_kernel, v, c, bias, x);
}
