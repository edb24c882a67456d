/* ref_half.c - reference of half.cu: by arithmetic, not by bits. */
#include "kernels/ref.h"
#include <math.h>

/* A binary format of `digits` bits after the leading one, exponents from least to most. */
static uint16_t narrow(double x, int digits, int least, int most)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0, infinite = (uint16_t)((most - least + 2) << digits);
    if (isnan(x)) return 0x7fff;
    double a = fabs(x);
    if (a == 0) return sign;
    int e = isinf(a) ? most + 1 : ilogb(a);
    if (e < least) e = least;
    if (e > most) return sign | infinite;
    long m = lrint(ldexp(a, digits - e)); /* to nearest, ties to even */
    long bits = ((long)(e - least + 1) << digits) + (m - (1L << digits)); /* m may carry */
    return sign | (uint16_t)(bits > infinite ? infinite : bits);
}

void ref_narrow(int64_t n, pt_amp as, const real *from, uint16_t *to)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = as == PT_AMP_FP16 ? narrow((float)from[i], 10, -14, 15)
                                  : narrow((float)from[i], 7, -126, 127);
}
