/* augment.cu - random changes of points, each keyed by what it belongs to (Philox 4x32-10, Salmon
 * et al. 2011, from cuRAND's header), never by the order of calls: a retry, a piece and a resumed
 * run draw the same numbers. Of a scene: rotation about z, scale 0.9..1.1, flips of x and y, a
 * colour shift. Of a point: jitter of a tenth of a voxel, colour noise. strength scales all of
 * them; 0 changes nothing. Before them, elastic distortion: a displacement at each vertex of a grid
 * of 16 voxels, up to `elastic` voxels an axis, and in between linear; it depends on where a point
 * is, and on nothing else of the scene. After them, colour_drop is the chance that a scene has no
 * colour. */
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

/* The displacement at a vertex of the grid, each axis -0.5 .. 0.5 */
static __device__ __forceinline__ float3 vertex(uint64_t seed, uint64_t step, uint32_t scene, int x,
                                                int y, int z)
{
    uint4 counter = make_uint4((unsigned)x & 0xffffu | (unsigned)y << 16, scene, (unsigned)step,
                               (unsigned)(step >> 32));
    uint4 r = curand_Philox4x32_10(counter,
                                   make_uint2((unsigned)seed ^ 0x85ebca6bu,
                                              (unsigned)(seed >> 32) ^ (unsigned)z * 0x9e3779b9u));
    return make_float3(uniform(r.x) - 0.5f, uniform(r.y) - 0.5f, uniform(r.z) - 0.5f);
}

static __device__ void distort(uint64_t seed, uint64_t step, uint32_t scene, float edge,
                               float reach, float *x, float *y, float *z)
{
    float ax = *x / edge, ay = *y / edge, az = *z / edge;
    float fx = floorf(ax), fy = floorf(ay), fz = floorf(az);
    float tx = ax - fx, ty = ay - fy, tz = az - fz, dx = 0, dy = 0, dz = 0;
    for (int c = 0; c < 8; c++) {
        float w = __fmul_rn(__fmul_rn(c & 1 ? tx : 1.0f - tx, c & 2 ? ty : 1.0f - ty),
                            c & 4 ? tz : 1.0f - tz);
        float3 v = vertex(seed, step, scene, (int)fx + (c & 1), (int)fy + (c >> 1 & 1),
                          (int)fz + (c >> 2));
        dx = __fmaf_rn(w, v.x, dx);
        dy = __fmaf_rn(w, v.y, dy);
        dz = __fmaf_rn(w, v.z, dz);
    }
    *x = __fmaf_rn(reach, dx, *x);
    *y = __fmaf_rn(reach, dy, *y);
    *z = __fmaf_rn(reach, dz, *z);
}

__global__ void augment_kernel(int64_t n, uint64_t seed, uint64_t step, uint32_t scene,
                               int64_t point0, float strength, float voxel, float *coord,
                               real *feature, float elastic, float colour_drop)
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
    float x = coord[3 * i], y = coord[3 * i + 1], z = coord[3 * i + 2];
    if (elastic > 0) distort(seed, step, scene, 16.0f * voxel, 2.0f * elastic * voxel, &x, &y, &z);
    x *= fx;
    y *= fy;
    coord[3 * i] = __fmaf_rn(scale, __fmaf_rn(c, x, -__fmul_rn(sn, y)),
                             __fmul_rn(jitter, uniform(p.x) - 0.5f));
    coord[3 * i + 1] =
        __fmaf_rn(scale, __fmaf_rn(sn, x, __fmul_rn(c, y)), __fmul_rn(jitter, uniform(p.y) - 0.5f));
    coord[3 * i + 2] = __fmaf_rn(scale, z, __fmul_rn(jitter, uniform(p.z) - 0.5f));
    unsigned noise[3] = {q.x, q.y, q.z};
    for (int k = 0; k < 3; k++)
        feature[i * PT_FEATURES + k] +=
            (real)(shift + 0.05f * strength * (uniform(noise[k]) - 0.5f));
    if (!(colour_drop > 0)) return;
    if (uniform(draw(seed ^ 0xc2b2ae35u, step, scene, 0xffffffffu).x) < colour_drop)
        for (int k = 0; k < 3; k++) feature[i * PT_FEATURES + k] = 0;
}

extern "C" pt_status pt_k_augment(pt_device *d, int64_t n, uint64_t seed, uint64_t step,
                                  uint32_t scene, int64_t point0, float strength, float voxel,
                                  float *coord, real *feature, float elastic, float colour_drop)
{
    return LAUNCH(augment_kernel, n, seed, step, scene, point0, strength, voxel, coord, feature,
                  elastic, colour_drop);
}
