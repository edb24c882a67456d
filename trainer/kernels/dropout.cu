/* dropout.cu - leaves channels of voxels out (Srivastava et al. 2014), what is kept scaled by 1 /
 * (1 - rate). Each is drawn by what it belongs to (Philox 4x32-10): seed, step, scene, voxel and
 * channel, never by the order of calls or rows: a retry, a piece and a resumed run draw the same
 * mask, and the backward pass draws it again instead of keeping it. */
#include "kernels/launch.cuh"
#include <curand_philox4x32_x.h>

#define VOXEL_BITS 54 /* of a voxel key: z y x, under the scene's slot */

__global__ void dropout_kernel(int64_t items, int groups, int c, const uint64_t *key,
                               const int32_t *scene, uint64_t seed, uint64_t step, double rate,
                               real *x)
{
    int64_t item = pt_item();
    if (item >= items) return;
    int64_t i = item / groups;
    unsigned group = (unsigned)(item % groups);
    uint64_t voxel = key[i] & (((uint64_t)1 << VOXEL_BITS) - 1);
    unsigned of = (unsigned)scene[key[i] >> VOXEL_BITS];
    uint4 u = curand_Philox4x32_10(
        make_uint4((unsigned)voxel, (unsigned)(voxel >> 32) | of << (VOXEL_BITS - 32),
                   (unsigned)step, ((unsigned)(step >> 32) & 0xffffu) | group << 16),
        make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
    unsigned draw[4] = {u.x, u.y, u.z, u.w};
    real scale = (real)(1 / (1 - rate));
    for (int k = 0; k < 4 && 4 * (int)group + k < c; k++) {
        real *at = x + i * c + 4 * (int)group + k;
        *at = (double)draw[k] < rate * 4294967296.0 ? (real)0 : *at * scale;
    }
}

extern "C" pt_status pt_k_dropout(pt_device *d, int64_t v, int c, const uint64_t *key,
                                  const int32_t *scene, uint64_t seed, uint64_t step, double rate,
                                  real *x)
{
    int groups = (c + 3) / 4;
    return LAUNCH(dropout_kernel, v * groups, groups, c, key, scene, seed, step, rate, x);
}
