/* half.h - the 16-bit floats of the simulated libraries: IEEE half and bfloat16, to and from float,
 * rounded to the nearest, ties to even, a NaN to 0x7fff as on the device. */
#ifndef SIM_HALF_H
#define SIM_HALF_H
#include <stdint.h>
#include <string.h>

static inline uint32_t sim_float_bits(float x)
{
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static inline float sim_bits_float(uint32_t b)
{
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

static inline float sim_half_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
    if (e == 31) return sim_bits_float(sign | 0x7f800000u | m << 13);
    if (e) return sim_bits_float(sign | (e + 112) << 23 | m << 13);
    float tiny = (float)m * 0x1p-24f;
    return sign ? -tiny : tiny;
}

static inline uint16_t sim_float_half(float x)
{
    uint32_t b = sim_float_bits(x), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
    if (a > 0x7f800000u) return 0x7fff;
    if (a >= 0x47800000u) return (uint16_t)(sign | 0x7c00); /* from 2^16 on */
    if (a < 0x38800000u) /* below 2^-14: a sum at 0.5 rounds to units of 2^-24 */
        return (uint16_t)(sign | (sim_float_bits(sim_bits_float(a) + 0.5f) - 0x3f000000u));
    a -= 112u << 23;
    return (uint16_t)(sign | (a + 0xfff + (a >> 13 & 1)) >> 13);
}

static inline float sim_bfloat_float(uint16_t h)
{
    return sim_bits_float((uint32_t)h << 16);
}

static inline uint16_t sim_float_bfloat(float x)
{
    uint32_t b = sim_float_bits(x);
    if ((b & 0x7fffffff) > 0x7f800000u) return 0x7fff;
    return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

#endif
