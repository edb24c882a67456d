/* ref_dropout.c - reference of dropout.cu: channel by channel, with the counter laid out as
 * dropout.cu says: voxel 54 bits, scene 10, step 48, group of four channels 16. */
#include "kernels/ref.h"

void ref_dropout(int64_t v, int c, const uint64_t *key, const int32_t *scene, uint64_t seed,
                 uint64_t step, double rate, real *x)
{
    for (int64_t i = 0; i < v; i++)
        for (int k = 0; k < c; k++) {
            uint64_t low = key[i] % (UINT64_C(1) << 54) + ((uint64_t)scene[key[i] >> 54] << 54);
            uint64_t high = step % (UINT64_C(1) << 48) + ((uint64_t)(k / 4) << 48);
            uint32_t u[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                             (uint32_t)(high >> 32)};
            ref_philox(u, (uint32_t)seed, (uint32_t)(seed >> 32));
            real *at = x + i * c + k;
            *at = u[k % 4] < rate * 4294967296.0 ? 0 : *at * (real)(1 / (1 - rate));
        }
}
