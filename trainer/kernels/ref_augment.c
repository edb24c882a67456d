/* ref_augment.c - reference of augment.cu. Philox 4x32-10 is written out from Salmon et al., SC'11,
 * table 2 and figure 4: two 32 x 32 products a round, the key bumped by two Weyl constants. */
#include "kernels/ref.h"
#include "recovery/fragment.h"
#include <math.h>

void ref_philox(uint32_t c[4], uint32_t k0, uint32_t k1)
{
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        uint64_t p = (uint64_t)0xD2511F53u * c[0], q = (uint64_t)0xCD9E8D57u * c[2];
        uint32_t r[4] = {(uint32_t)(q >> 32) ^ c[1] ^ k0, (uint32_t)q,
                         (uint32_t)(p >> 32) ^ c[3] ^ k1, (uint32_t)p};
        for (int i = 0; i < 4; i++) c[i] = r[i];
    }
}

static void draw(uint64_t seed, uint64_t step, uint32_t scene, uint32_t point, uint32_t out[4])
{
    out[0] = point, out[1] = scene, out[2] = (uint32_t)step, out[3] = (uint32_t)(step >> 32);
    ref_philox(out, (uint32_t)seed, (uint32_t)(seed >> 32));
}

static wide uniform(uint32_t u)
{
    return ((wide)(u >> 8) + 0.5L) / 16777216;
}

/* Trilinear in a grid of 16 voxels, whose vertices are drawn. */
static void distort(uint64_t seed, uint64_t step, uint32_t scene, float voxel, float elastic,
                    wide *x)
{
    wide edge = 16 * (wide)voxel, at[3], add[3] = {0};
    for (int a = 0; a < 3; a++) at[a] = floorl(x[a] / edge);
    for (int c = 0; c < 8; c++) {
        int32_t v[3];
        wide w = 1;
        for (int a = 0; a < 3; a++) {
            wide t = x[a] / edge - at[a];
            v[a] = (int32_t)at[a] + (c >> a & 1);
            w *= c >> a & 1 ? t : 1 - t;
        }
        uint32_t r[4] = {((uint32_t)v[0] & 0xffffu) | (uint32_t)v[1] << 16, scene, (uint32_t)step,
                         (uint32_t)(step >> 32)};
        ref_philox(r, (uint32_t)seed ^ 0x85ebca6bu,
                   (uint32_t)(seed >> 32) ^ (uint32_t)v[2] * 0x9e3779b9u);
        for (int a = 0; a < 3; a++) add[a] += w * (uniform(r[a]) - 0.5L);
    }
    for (int a = 0; a < 3; a++) x[a] += 2 * (wide)elastic * voxel * add[a];
}

void ref_augment(int64_t n, uint64_t seed, uint64_t step, uint32_t scene, int64_t point0,
                 float strength, float voxel, wide *coord, wide *feature, float elastic,
                 float colour_drop)
{
    uint32_t s[4], u[4];
    draw(seed, step, scene, UINT32_MAX, s);
    draw(seed ^ 0xc2b2ae35u, step, scene, UINT32_MAX, u);
    wide angle = 2 * acosl(-1) * strength * uniform(s[0]);
    wide scale = 1 + 0.2L * strength * (uniform(s[1]) - 0.5L);
    wide shift = 0.1L * strength * (uniform(s[3]) - 0.5L), jitter = 0.2L * voxel * strength;
    for (int64_t i = 0; i < n; i++) {
        uint32_t p[4], q[4];
        draw(seed, step, scene, (uint32_t)(point0 + i), p);
        draw(seed ^ 0x5bd1e995u, step, scene, (uint32_t)(point0 + i), q);
        wide *x = coord + 3 * i;
        if (elastic > 0) distort(seed, step, scene, voxel, elastic, x);
        wide a = x[0], b = x[1];
        if (strength > 0 && s[2] % 2) a = -a;
        if (strength > 0 && s[2] / 2 % 2) b = -b;
        x[0] = scale * (cosl(angle) * a - sinl(angle) * b) + jitter * (uniform(p[0]) - 0.5L);
        x[1] = scale * (sinl(angle) * a + cosl(angle) * b) + jitter * (uniform(p[1]) - 0.5L);
        x[2] = scale * x[2] + jitter * (uniform(p[2]) - 0.5L);
        for (int c = 0; c < 3; c++)
            feature[i * PT_FEATURES + c] += shift + 0.05L * strength * (uniform(q[c]) - 0.5L);
        if (uniform(u[0]) < colour_drop)
            for (int c = 0; c < 3; c++) feature[i * PT_FEATURES + c] = 0;
    }
}
