/* augment.cu - random changes of points, each keyed by what it belongs to (Philox 4x32-10, Salmon
 * et al. 2011, from cuRAND's header), never by the order of calls: a retry, a piece and a resumed
 * run draw the same numbers. Of a scene: rotation about z, scale 0.9..1.1, flips of x and y, a
 * colour shift. Of a point: jitter of a tenth of a voxel, colour noise. strength scales all of
 * them; 0 changes nothing. */
#include "kernels/launch.cuh"
#include <curand_philox4x32_x.h>

static __device__ __forceinline__ uint4 draw(uint64_t seed, uint64_t step, uint32_t scene,
                                             uint32_t point)
{
    uint4 counter = make_uint4(point, scene, (unsigned)step, (unsigned)(step >> 32));
    return curand_Philox4x32_10(counter, make_uint2((unsigned)seed, (unsigned)(seed >> 32)));
}

static __device__ __forceinline__ float uniform(unsigned u)
{
    return ((float)(u >> 8) + 0.5f) * (1.0f / 16777216.0f);
}

__global__ void augment_kernel(int64_t n, uint64_t seed, uint64_t step, uint32_t scene,
                               int64_t point0, float strength, float voxel, float *coord,
                               real *feature)
{
    int64_t i = pt_item();
    if (i >= n) return;
    uint4 s = draw(seed, step, scene, 0xffffffffu),
          p = draw(seed, step, scene, (uint32_t)(point0 + i));
    uint4 q = draw(seed ^ 0x5bd1e995u, step, scene, (uint32_t)(point0 + i));
    float angle = 6.2831853f * strength * uniform(s.x),
          scale = 1.0f + 0.2f * strength * (uniform(s.y) - 0.5f);
    float fx = s.z & 1 && strength > 0 ? -1.0f : 1.0f, fy = s.z & 2 && strength > 0 ? -1.0f : 1.0f;
    float shift = 0.1f * strength * (uniform(s.w) - 0.5f), jitter = 0.2f * voxel * strength;
    float c = cosf(angle), sn = sinf(angle);
    float x = coord[3 * i] * fx, y = coord[3 * i + 1] * fy, z = coord[3 * i + 2];
    coord[3 * i] = __fmaf_rn(scale, __fmaf_rn(c, x, -__fmul_rn(sn, y)),
                             __fmul_rn(jitter, uniform(p.x) - 0.5f));
    coord[3 * i + 1] =
        __fmaf_rn(scale, __fmaf_rn(sn, x, __fmul_rn(c, y)), __fmul_rn(jitter, uniform(p.y) - 0.5f));
    coord[3 * i + 2] = __fmaf_rn(scale, z, __fmul_rn(jitter, uniform(p.z) - 0.5f));
    unsigned noise[3] = {q.x, q.y, q.z};
    for (int k = 0; k < 3; k++)
        feature[i * PT_FEATURES + k] +=
            (real)(shift + 0.05f * strength * (uniform(noise[k]) - 0.5f));
}

extern "C" pt_status pt_k_augment(pt_device *d, int64_t n, uint64_t seed, uint64_t step,
                                  uint32_t scene, int64_t point0, float strength, float voxel,
                                  float *coord, real *feature)
{
    return LAUNCH(augment_kernel, n, seed, step, scene, point0, strength, voxel, coord, feature);
}
