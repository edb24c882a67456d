/* prelude.h - what translated kernels are written in: helpers with the exact meaning of PTX
 * instructions where C's differs. Compiled into every kernel, with -ffp-contract=off -fwrapv
 * -fno-strict-aliasing; comes after simrt.h. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#define HOT  static inline __attribute__((always_inline, unused))
#define COLD static __attribute__((noinline, unused))

HOT float u2f(uint32_t u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}
HOT uint32_t f2u(float f)
{
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
HOT double u2d(uint64_t u)
{
    double f;
    memcpy(&f, &u, 8);
    return f;
}
HOT uint64_t d2u(double f)
{
    uint64_t u;
    memcpy(&u, &f, 8);
    return u;
}

/* ---- addresses ---- */
/* Every access of global or generic space goes through here: one subtraction, one compare, one add.
 * A misaligned distance has its low bits turned to the top and so is too large. What is rare is a
 * call: the compiler would spend a third of its time over it. */
COLD char *far_(sim_ctx *C, uint64_t a, uint32_t n, int access, uint32_t site, int line)
{
    if (n > 1 && (a & (n - 1)) != 0)
        C->rt->raise(C, SIM_MISALIGNED, NULL, line, "misaligned address");
    sim_near *near = C->near + site;
    if (__builtin_expect(a - near->from < near->room, 1))
        return (char *)(a + (uint64_t)near->delta);
    return C->rt->address(C, a, n, access, near);
}
HOT char *ga_(sim_ctx *C, uint64_t base, uint64_t bytes, int64_t delta, uint64_t a, uint32_t n,
              int access, uint32_t site, const char *kernel, int line)
{
    const int k = n > 1 ? __builtin_ctz(n) : 0;
    uint64_t d = a - base;
    (void)kernel;
    if (n > 1) d = d >> k | d << (64 - k);
    if (__builtin_expect(d < bytes >> k, 1)) return (char *)(a + (uint64_t)delta);
    return far_(C, a, n, access, site, line);
}
/* Shared space: offsets from 0; the window is bounded. */
HOT char *sa_(sim_ctx *C, uint64_t a, uint32_t n, const char *kernel, int line)
{
    if (n > 1 && __builtin_expect((a & (n - 1)) != 0, 0))
        C->rt->raise(C, SIM_MISALIGNED, kernel, line, "misaligned shared address");
    if (__builtin_expect((uint64_t)(uint32_t)a + n > C->shared_bytes, 0))
        C->rt->raise(C, SIM_ILLEGAL_ADDRESS, kernel, line, "shared address out of bounds");
    return C->shared + (uint32_t)a;
}

/* Local space: the thread's own stack. */
HOT char *la_(sim_ctx *C, uint64_t a, uint32_t n, const char *kernel, int line)
{
    if (n > 1 && __builtin_expect((a & (n - 1)) != 0, 0))
        C->rt->raise(C, SIM_MISALIGNED, kernel, line, "misaligned local address");
    if (__builtin_expect(a - C->stack >= C->stack_bytes, 0))
        C->rt->raise(C, SIM_ILLEGAL_ADDRESS, kernel, line, "local address out of bounds");
    return (char *)a;
}

/* ---- integers ---- */
HOT uint32_t brev32(uint32_t v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}
HOT uint64_t brev64(uint64_t v)
{
    return (uint64_t)brev32((uint32_t)v) << 32 | brev32((uint32_t)(v >> 32));
}
HOT uint32_t shl32(uint32_t a, uint32_t n)
{
    return n > 31 ? 0 : a << n;
}
HOT uint64_t shl64(uint64_t a, uint32_t n)
{
    return n > 63 ? 0 : a << n;
}
HOT uint16_t shl16(uint16_t a, uint32_t n)
{
    return n > 15 ? 0 : (uint16_t)(a << n);
}
HOT uint32_t shru32(uint32_t a, uint32_t n)
{
    return n > 31 ? 0 : a >> n;
}
HOT uint64_t shru64(uint64_t a, uint32_t n)
{
    return n > 63 ? 0 : a >> n;
}
HOT uint16_t shru16(uint16_t a, uint32_t n)
{
    return n > 15 ? 0 : (uint16_t)(a >> n);
}
HOT int32_t shrs32(int32_t a, uint32_t n)
{
    return a >> (n > 31 ? 31 : n);
}
HOT int64_t shrs64(int64_t a, uint32_t n)
{
    return a >> (n > 63 ? 63 : n);
}
HOT int16_t shrs16(int16_t a, uint32_t n)
{
    return (int16_t)(a >> (n > 15 ? 15 : n));
}
HOT uint32_t shf_l(uint32_t lo, uint32_t hi, uint32_t n)
{
    n &= 31;
    return n ? hi << n | lo >> (32 - n) : hi;
}
HOT uint32_t shf_r(uint32_t lo, uint32_t hi, uint32_t n)
{
    n &= 31;
    return n ? hi << (32 - n) | lo >> n : lo;
}
HOT uint32_t shf_lc(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n >= 32 ? lo : shf_l(lo, hi, n);
}
HOT uint32_t shf_rc(uint32_t lo, uint32_t hi, uint32_t n)
{
    return n >= 32 ? hi : shf_r(lo, hi, n);
}
HOT uint32_t bfi32(uint32_t a, uint32_t b, uint32_t p, uint32_t l)
{
    p &= 255, l &= 255;
    if (p > 31 || l == 0) return b;
    uint32_t m = (l > 31 ? ~0u : (1u << l) - 1) << p;
    return (b & ~m) | (a << p & m);
}
HOT uint64_t bfi64(uint64_t a, uint64_t b, uint32_t p, uint32_t l)
{
    p &= 255, l &= 255;
    if (p > 63 || l == 0) return b;
    uint64_t m = (l > 63 ? ~0ull : (1ull << l) - 1) << p;
    return (b & ~m) | (a << p & m);
}
HOT uint64_t bfe_(uint64_t a, uint32_t p, uint32_t l, int bits, int sign)
{
    p &= 255, l &= 255;
    if (l == 0) return 0;
    uint32_t msb = p + l - 1 < (uint32_t)bits - 1 ? p + l - 1 : (uint32_t)bits - 1;
    int s = sign && (a >> msb & 1);
    uint64_t r = p > 63 ? 0 : a >> p;
    uint32_t have = p < (uint32_t)bits ? (uint32_t)bits - p : 0;
    if (have < 64) r &= have ? (1ull << have) - 1 : 0;
    if (have < l && s) r |= have < 64 ? ~0ull << have : 0;
    if (l < 64) {
        r &= (1ull << l) - 1;
        if (s) r |= ~0ull << l;
    }
    return r;
}
HOT uint32_t bfind_(uint64_t a, int bits, int sign, int shift)
{
    if (bits == 32) a = sign ? (uint64_t)(int64_t)(int32_t)a : (uint32_t)a;
    if (sign && (int64_t)a < 0) a = ~a;
    if (bits == 32) a = (uint32_t)a;
    if (!a) return ~0u;
    uint32_t at = 63 - (uint32_t)__builtin_clzll(a);
    return shift ? (uint32_t)bits - 1 - at : at;
}
HOT uint32_t prmt_(uint32_t a, uint32_t b, uint32_t s)
{
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t k = s >> (4 * i), byte = (uint32_t)(v >> 8 * (k & 7)) & 255;
        if (k & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << 8 * i;
    }
    return r;
}
HOT uint32_t lop3_(uint32_t a, uint32_t b, uint32_t c, uint32_t t)
{
    uint32_t r = 0;
    if (t & 1) r |= ~a & ~b & ~c;
    if (t & 2) r |= ~a & ~b & c;
    if (t & 4) r |= ~a & b & ~c;
    if (t & 8) r |= ~a & b & c;
    if (t & 16) r |= a & ~b & ~c;
    if (t & 32) r |= a & ~b & c;
    if (t & 64) r |= a & b & ~c;
    if (t & 128) r |= a & b & c;
    return r;
}
#define DIVU(a, b, all) ((b) == 0 ? (all) : (a) / (b))
/* x86 traps on MIN / -1; the device wraps */
HOT int32_t divs32(int32_t a, int32_t b)
{
    return b == 0 ? -1 : b == -1 ? -a : a / b;
}
HOT int64_t divs64(int64_t a, int64_t b)
{
    return b == 0 ? -1 : b == -1 ? -a : a / b;
}
HOT int16_t divs16(int16_t a, int16_t b)
{
    return b == 0 ? -1 : (int16_t)(a / b);
}
HOT int32_t rems32(int32_t a, int32_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}
HOT int64_t rems64(int64_t a, int64_t b)
{
    return b == 0 ? a : b == -1 ? 0 : a % b;
}
HOT int16_t rems16(int16_t a, int16_t b)
{
    return b == 0 ? a : (int16_t)(a % b);
}

/* ---- floating point ---- */
HOT float ftz_(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
HOT double ftzd_(double x)
{
    return fabs(x) < 0x1p-1022 ? copysign(0, x) : x;
}
HOT float satf(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
} /* NaN becomes 0 */
HOT double satd(double x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}
/* PTX min/max: the number when one side is NaN; -0 below +0 */
HOT float minf_(float a, float b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
HOT float maxf_(float a, float b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && signbit(b)) ? a : b;
}
HOT double mind_(double a, double b)
{
    return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
HOT double maxd_(double a, double b)
{
    return a != a ? b : b != b ? a : a > b || (a == b && signbit(b)) ? a : b;
}

/* Directed rounding: the mode is set around one operation that the compiler cannot move. */
#define MODE_rz FE_TOWARDZERO
#define MODE_rm FE_DOWNWARD
#define MODE_rp FE_UPWARD
#define DIRECTED(name, type, mode, expression)      \
    COLD type name##_##mode(type a, type b, type c) \
    {                                               \
        volatile type x = a, y = b, z = c, r;       \
        int before = fegetround();                  \
        (void)y, (void)z;                           \
        fesetround(MODE_##mode);                    \
        r = (expression);                           \
        fesetround(before);                         \
        return r;                                   \
    }
#define DIRECTED3(name, type, expression) \
    DIRECTED(name, type, rz, expression)  \
    DIRECTED(name, type, rm, expression)  \
    DIRECTED(name, type, rp, expression)
DIRECTED3(addf, float, x + y)
DIRECTED3(addd, double, x + y)
DIRECTED3(mulf, float, x *y)
DIRECTED3(muld, double, x *y)
DIRECTED3(divf, float, x / y)
DIRECTED3(divd, double, x / y)
DIRECTED3(sqrtf_, float, __builtin_sqrtf(x))
DIRECTED3(sqrtd_, double, __builtin_sqrt(x))
DIRECTED3(fmaf_, float, fmaf(x, y, z))
DIRECTED3(fmad_, double, fma(x, y, z))
/* Conversions that round in a direction; `via` holds every value of the source exactly. */
#define CONVERT(name, from, via, to, mode) \
    COLD to name##_##mode(from a)          \
    {                                      \
        volatile via x = (via)a;           \
        volatile to r;                     \
        int before = fegetround();         \
        fesetround(MODE_##mode);           \
        r = (to)x;                         \
        fesetround(before);                \
        return r;                          \
    }
#define CONVERT3(name, from, via, to) \
    CONVERT(name, from, via, to, rz)  \
    CONVERT(name, from, via, to, rm)  \
    CONVERT(name, from, via, to, rp)
CONVERT3(d2f, double, double, float)
CONVERT3(s642f, int64_t, int64_t, float)
CONVERT3(s642d, int64_t, int64_t, double)
CONVERT3(u642f, uint64_t, long double, float)
CONVERT3(u642d, uint64_t, long double, double)

/* float -> integer: saturates. NaN becomes 0, and the highest bit where either side has 64 bits: of
 * the source see emit_convert. */
HOT int64_t d2s_(double x, double lo, double hi, int64_t min, int64_t max)
{
    return x != x ? 0 : x <= lo ? min : x >= hi ? max : (int64_t)x;
}
HOT int32_t cvt_s32(double x)
{
    return (int32_t)d2s_(x, -2147483648.0, 2147483647.0, INT32_MIN, INT32_MAX);
}
HOT int64_t cvt_s64(double x)
{
    return x != x ? INT64_MIN : d2s_(x, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
}
HOT int16_t cvt_s16(double x)
{
    return (int16_t)d2s_(x, -32768.0, 32767.0, INT16_MIN, INT16_MAX);
}
HOT int8_t cvt_s8(double x)
{
    return (int8_t)d2s_(x, -128.0, 127.0, INT8_MIN, INT8_MAX);
}
HOT uint32_t cvt_u32(double x)
{
    return (uint32_t)d2s_(x, 0.0, 4294967295.0, 0, 4294967295ll);
}
HOT uint16_t cvt_u16(double x)
{
    return (uint16_t)d2s_(x, 0.0, 65535.0, 0, 65535);
}
HOT uint8_t cvt_u8(double x)
{
    return (uint8_t)d2s_(x, 0.0, 255.0, 0, 255);
}
HOT uint64_t cvt_u64(double x)
{
    return x != x        ? 1ull << 63
           : !(x > 0)    ? 0
           : x >= 0x1p64 ? UINT64_MAX
           : x >= 0x1p63 ? (uint64_t)(x - 0x1p63) | 1ull << 63
                         : (uint64_t)x;
}
/* integer -> narrower integer with .sat */
HOT int64_t clamp_(int64_t x, int64_t lo, int64_t hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}
HOT uint64_t clampu_(uint64_t x, uint64_t hi)
{
    return x > hi ? hi : x;
}
