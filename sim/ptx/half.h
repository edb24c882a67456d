/* half.h - f16 and bf16 in translated kernels: their bits in an integer, their arithmetic in double
 * with one rounding at the end. Stands behind prelude.h in kernels that use either type. m is the
 * number of bits behind the point: 10 of f16, 7 of bf16; flags are those of the instruction. */
enum { H_FTZ = 1, H_SAT = 2, H_RELU = 4, H_NAN = 8, H_XORSIGN = 16, H_FINITE = 32 };
enum { H_RN, H_RZ, H_RM, H_RP };

#define H_NOTHING 0x7fffu /* NaN, as results have it */
HOT uint32_t h_infinity(int m)
{
    return 0x7fffu >> m << m;
}
HOT int h_isnan(uint32_t h, int m)
{
    return (h & 0x7fff) > h_infinity(m);
}
HOT uint32_t h_flush(uint32_t h, int m, int flags)
{
    return flags & H_FTZ && (h & 0x7fff) < 1u << m ? h & 0x8000 : h;
}

/* Exact: double has all values of both. */
HOT double h2d(uint32_t h, int m)
{
    if (m == 7) return u2f(h << 16);
    uint64_t sign = (uint64_t)(h & 0x8000) << 48, low = h & 0x7fff;
    if (low >= 0x7c00) return u2d(sign | 0x7ffull << 52 | (low & 0x3ff) << 42);
    if (low < 0x400) return copysign((double)low * 0x1p-24, u2d(sign));
    return u2d(sign | (low << 42) + (1008ull << 52));
}

/* The one rounding. Behind the bits that stay lie 52 - m others, with the exponent in front, so
 * that a carry goes into it; below the smallest exponent they are shifted out, and leave a one
 * behind. */
HOT uint32_t d2h(double x, int m, int mode, int flags)
{
    const int bias = (1 << (14 - m)) - 1, drop = 52 - m;
    uint64_t u = d2u(x);
    uint32_t sign = (uint32_t)(u >> 63) << 15, inf = h_infinity(m), r;
    int exponent = (int)(u >> 52 & 0x7ff) - 1023,
        up = mode == H_RM ? sign != 0 : mode == H_RP && !sign;
    u &= ~0ull >> 1;
    if (x != x) return H_NOTHING;
    if (u == 0x7ffull << 52)
        r = inf;
    else {
        if (exponent >= 1 - bias)
            u -= (uint64_t)(1023 - bias) << 52;
        else {
            int shift = 1 - bias - exponent;
            u = exponent == -1023 ? u : (u & ~0ull >> 12) | 1ull << 52;
            u = shift > 54 ? u != 0 : u >> shift | ((u & ((1ull << shift) - 1)) != 0);
        }
        uint64_t rest = u & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
        u >>= drop;
        u += mode == H_RN ? rest > tie || (rest == tie && u & 1) : up && rest;
        r = u < inf ? (uint32_t)u : inf - (mode != H_RN && !up);
    }
    return sign | (flags & H_FINITE && r == inf ? inf - 1 : r);
}

/* What .ftz .sat .relu make of a result. */
HOT uint32_t h_out(double x, int m, int mode, int flags)
{
    uint32_t h = h_flush(d2h(x, m, mode, flags), m, flags), one = h_infinity(m) / 2 >> m << m;
    if (flags & H_SAT) h = h_isnan(h, m) || h & 0x8000 ? 0 : h > one ? one : h;
    if (flags & H_RELU && h & 0x8000) h = 0;
    return h;
}
HOT double h_in(uint32_t h, int m, int flags)
{
    return h2d(h_flush(h, m, flags), m);
}

/* a + b, and where double cannot hold it the neighbour whose last bit is one (Boldo and Melquiond,
 * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008):
 * rounded again it gives what one rounding of a + b would. The error is Knuth's TwoSum. */
HOT double h_odd(double a, double b)
{
    double s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
    uint64_t u = d2u(s);
    return isfinite(s) && e != 0 && !(u & 1) ? u2d((e > 0) == (s > 0) ? u + 1 : u - 1) : s;
}
/* An integer of up to 64 bits likewise. */
HOT double h_odd_integer(uint64_t u, int negative)
{
    if (negative) u = -u;
    if (u >> 53) u = (u >> 11 | ((u & 0x7ff) != 0)) << 11;
    return negative ? -(double)u : (double)u;
}

HOT uint32_t h_add(uint32_t a, uint32_t b, int m, int f)
{
    return h_out(h_odd(h_in(a, m, f), h_in(b, m, f)), m, H_RN, f);
}
HOT uint32_t h_sub(uint32_t a, uint32_t b, int m, int f)
{
    return h_out(h_odd(h_in(a, m, f), -h_in(b, m, f)), m, H_RN, f);
}
HOT uint32_t h_mul(uint32_t a, uint32_t b, int m, int f)
{
    return h_out(h_in(a, m, f) * h_in(b, m, f), m, H_RN, f);
}
HOT uint32_t h_fma(uint32_t a, uint32_t b, uint32_t c, int m, int f)
{
    return h_out(h_odd(h_in(a, m, f) * h_in(b, m, f), h_in(c, m, f)), m, H_RN, f);
}
HOT uint32_t h_neg(uint32_t a, int m, int f)
{
    return h_flush(a, m, f) ^ 0x8000;
}
HOT uint32_t h_abs(uint32_t a, int m, int f)
{
    return h_flush(a, m, f) & 0x7fff;
}
HOT uint32_t h_ex2(uint32_t a, int m, int f)
{
    return h_out(exp2(h_in(a, m, f)), m, H_RN, f);
}
HOT uint32_t h_tanh(uint32_t a, int m, int f)
{
    return h_out(tanh(h_in(a, m, f)), m, H_RN, f);
}

/* PTX min and max: the number when one side is NaN, unless .NaN; -0 below +0 */
HOT uint32_t h_least(uint32_t a, uint32_t b, int m, int f, int most)
{
    uint32_t sign = f & H_XORSIGN ? (a ^ b) & 0x8000 : 0;
    a = h_flush(a, m, f), b = h_flush(b, m, f);
    if (f & H_XORSIGN) a &= 0x7fff, b &= 0x7fff;
    int an = h_isnan(a, m), bn = h_isnan(b, m);
    if ((an && bn) || (f & H_NAN && (an || bn))) return H_NOTHING;
    /* the order of the numbers, as integers */
    int32_t x = a & 0x8000 ? -(int32_t)(a & 0x7fff) - 1 : (int32_t)a,
            y = b & 0x8000 ? -(int32_t)(b & 0x7fff) - 1 : (int32_t)b;
    return (an ? b : bn ? a : (x < y) != most ? a : b) | sign;
}
HOT uint32_t h_min(uint32_t a, uint32_t b, int m, int f)
{
    return h_least(a, b, m, f, 0);
}
HOT uint32_t h_max(uint32_t a, uint32_t b, int m, int f)
{
    return h_least(a, b, m, f, 1);
}

/* f32 of a half: NaN as the headers of the toolkit write it */
HOT float h2f(uint32_t h, int m)
{
    return h_isnan(h, m) ? u2f(0x7fffffffu) : (float)h2d(h, m);
}
