/* lanes.h - what strips of a kernel's threads are written in: eight lanes of 32 bits in one vector,
 * of 64 bits in two. Included behind prelude.h where strips are emitted; only with vectors of 32
 * bytes, as narrower ones would live in memory. */
typedef uint32_t v8u __attribute__((vector_size(32), may_alias));
typedef int32_t v8i __attribute__((vector_size(32), may_alias));
typedef float v8f __attribute__((vector_size(32), may_alias));
typedef uint16_t v8h __attribute__((vector_size(16), may_alias));
typedef uint64_t v4q __attribute__((vector_size(32), may_alias));
typedef int64_t v4l __attribute__((vector_size(32), may_alias));
typedef double v4d __attribute__((vector_size(32), may_alias));
typedef uint32_t v4u __attribute__((vector_size(16), may_alias));
typedef int32_t v4i __attribute__((vector_size(16), may_alias));
typedef float v4f __attribute__((vector_size(16), may_alias));
/* as they lie in memory */
typedef v8u v8u_at __attribute__((aligned(4)));
typedef v8f v8f_at __attribute__((aligned(4)));
typedef v4q v4q_at __attribute__((aligned(8)));
typedef v4d v4d_at __attribute__((aligned(8)));

#define ALL8(x) x, x, x, x, x, x, x, x
#define ALL4(x) x, x, x, x
HOT v8u b8u(uint32_t x)
{
    return (v8u){ALL8(x)};
}
HOT v8i b8i(int32_t x)
{
    return (v8i){ALL8(x)};
}
HOT v8f b8f(float x)
{
    return (v8f){ALL8(x)};
}
HOT v4q b4q(uint64_t x)
{
    return (v4q){ALL4(x)};
}
HOT v4l b4l(int64_t x)
{
    return (v4l){ALL4(x)};
}
HOT v4d b4d(double x)
{
    return (v4d){ALL4(x)};
}
/* the first four and the last four lanes, and together again */
HOT v4u low4(v8u x)
{
    return __builtin_shufflevector(x, x, 0, 1, 2, 3);
}
HOT v4u high4(v8u x)
{
    return __builtin_shufflevector(x, x, 4, 5, 6, 7);
}
HOT v8u both(v4u a, v4u b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
#define low4i(x)     ((v4i)low4((v8u)(x)))
#define high4i(x)    ((v4i)high4((v8u)(x)))
#define low4f(x)     ((v4f)low4((v8u)(x)))
#define high4f(x)    ((v4f)high4((v8u)(x)))
#define WIDEN(x, to) __builtin_convertvector(x, to)
/* a mask of 64-bit lanes as one of 32-bit lanes, and back */
HOT v8i mask8(v4l a, v4l b)
{
    return (v8i)both((v4u)WIDEN(a, v4i), (v4u)WIDEN(b, v4i));
}
HOT v4l mask4(v8i m, int half)
{
    return WIDEN(half ? high4i(m) : low4i(m), v4l);
}
#define PICK(type, m, a, b) ((type)(((v8u)(m) & (v8u)(a)) | (~(v8u)(m) & (v8u)(b))))
HOT uint32_t lanes_set(v8i m)
{
    return (uint32_t)__builtin_ia32_movmskps256((v8f)m);
}

HOT v8f fma8(v8f a, v8f b, v8f c)
{
#if defined __FMA__ && !defined __clang__
    return __builtin_ia32_vfmaddps256(a, b, c);
#else
    for (int i = 0; i < 8; i++) a[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return a;
#endif
}
HOT v4d fma4(v4d a, v4d b, v4d c)
{
#if defined __FMA__ && !defined __clang__
    return __builtin_ia32_vfmaddpd256(a, b, c);
#else
    for (int i = 0; i < 4; i++) a[i] = __builtin_fma(a[i], b[i], c[i]);
    return a;
#endif
}
HOT v8f sqrt8(v8f a)
{
#ifndef __clang__
    return __builtin_ia32_sqrtps256(a);
#else
    for (int i = 0; i < 8; i++) a[i] = __builtin_sqrtf(a[i]);
    return a;
#endif
}

/* ---- addresses: as ga_ in prelude.h, for all lanes at once; what is not plain ends the strip ----
 */
/* Eight accesses of n bytes side by side, the first at a: are they plain, and how far off? */
HOT int row_at(sim_ctx *C, uint64_t base, uint64_t bytes, int64_t delta, uint64_t a, uint32_t n,
               uint32_t site, int64_t *off)
{
    const int k = n > 1 ? __builtin_ctz(n) : 0;
    const uint64_t most = bytes >> k > 7 ? (bytes >> k) - 7 : 0;
    uint64_t d = a - base;
    if (n > 1) d = d >> k | d << (64 - k);
    *off = delta;
    if (__builtin_expect(d < most, 1)) return 1;
    const sim_near *near = C->near + site;
    *off = near->delta;
    return !(a & (n - 1)) && a - near->from < near->room &&
           a + 7 * (uint64_t)n - near->from < near->room;
}
/* A distance is too large, or negative, where the highest bit of this is set; a misaligned one has
 * its low bits on top. */
HOT v4q beyond(v4q a, uint64_t from, uint64_t room, int k)
{
    v4q d = a - b4q(from);
    if (k) d = d >> k | d << (64 - k);
    return d | (b4q((room >> k) - 1) - d);
}
HOT int lanes_at(sim_ctx *C, uint64_t base, uint64_t bytes, int64_t delta, v4q a, v4q b, uint32_t n,
                 uint32_t site, int64_t *off)
{
    const int k = n > 1 ? __builtin_ctz(n) : 0;
    if (bytes) {
        *off = delta;
        if (__builtin_expect(!__builtin_ia32_movmskpd256(
                                 (v4d)(beyond(a, base, bytes, k) | beyond(b, base, bytes, k))),
                             1))
            return 1;
    }
    const sim_near *near = C->near + site;
    *off = near->delta;
    return near->room && !(near->from & (n - 1)) &&
           !__builtin_ia32_movmskpd256((v4d)(beyond(a, near->from, near->room, 0) |
                                             beyond(b, near->from, near->room, 0))) &&
           !__builtin_ia32_movmskpd256((v4d)(((a | b) & b4q(n - 1)) != b4q(0)));
}

/* Do strips pay? Those that end early cost twice; looked at again now and then. */
static struct {
    uint32_t tried, left, not_;
} strips;
/* for a row of n threads */
HOT int strips_pay(uint32_t n)
{
    if (strips.tried < 16 || strips.left < strips.tried / 4) {
        strips.tried += n / 8;
        return 1;
    }
    strips.not_ += n;
    if (strips.not_ > 1 << 16) strips.tried = strips.left = strips.not_ = 0;
    return 0;
}
