/* half.cu - rows of features as 16-bit floats, rounded to nearest, for products that sum in 32
 * bits: f16 (IEEE 754 binary16: 11 bits, up to 65504, past which it is infinite) or bf16 (8 bits,
 * the range of a float). */
#include "kernels/launch.cuh"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define WIDE 8

struct as_f16 {
    static __device__ __forceinline__ uint16_t of(float x)
    {
        return __half_as_ushort(__float2half_rn(x));
    }
};
struct as_bf16 {
    static __device__ __forceinline__ uint16_t of(float x)
    {
        return __bfloat16_as_ushort(__float2bfloat16_rn(x));
    }
};

template <class T>
__global__ void narrow_kernel(int64_t items, int64_t n, const real *from, uint16_t *to)
{
    int64_t i = pt_item();
    if (i >= items) return;
    for (int64_t k = i * WIDE, end = k + WIDE < n ? k + WIDE : n; k < end; k++)
        to[k] = T::of((float)from[k]);
}

template <class T>
__global__ void gather_narrow_kernel(int64_t items, int c, int per_row, const real *from,
                                     const int32_t *row, uint16_t *to)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t r = i / per_row;
    int k = (int)(i - r * per_row) * WIDE;
    for (int end = k + WIDE < c ? k + WIDE : c; k < end; k++)
        to[r * c + k] = T::of((float)from[(int64_t)row[r] * c + k]);
}

extern "C" pt_status pt_k_narrow(pt_device *d, int64_t n, pt_amp as, const real *from, uint16_t *to)
{
    int64_t items = (n + WIDE - 1) / WIDE;
    return as == PT_AMP_FP16 ? LAUNCH(narrow_kernel<as_f16>, items, n, from, to)
                             : LAUNCH(narrow_kernel<as_bf16>, items, n, from, to);
}

extern "C" pt_status pt_k_gather_narrow(pt_device *d, int64_t r, int c, pt_amp as, const real *from,
                                        const int32_t *row, uint16_t *to)
{
    int per_row = (c + WIDE - 1) / WIDE;
    return as == PT_AMP_FP16
               ? LAUNCH(gather_narrow_kernel<as_f16>, r * per_row, c, per_row, from, row, to)
               : LAUNCH(gather_narrow_kernel<as_bf16>, r * per_row, c, per_row, from, row, to);
}
