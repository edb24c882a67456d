/* half.c - f16 and bf16 against MPFR: all values where there is one operand, all values against the
 * edges where there are two. */
#include "halfref.h"
#include "vector.h"
#include <math.h>
#include <string.h>

typedef struct kind {
    const char *name; /* "f16" */
    int m;
    unsigned edge[32]; /* NaN twice, infinity, zeros, the smallest, ones, the largest, odd ones */
    size_t edges;
} kind;

static const kind kinds[] = {
    {"f16",
     10,
     {0x7fff, 0xfe01, 0x7c01, 0x7c00, 0xfc00, 0,      0x8000, 1,      0x8001, 2,
      0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401, 0x1400, 0x1001, 0x3800, 0x3bff, 0x3c00,
      0xbc00, 0x3c01, 0x4248, 0x6800, 0xe801, 0x77ff, 0x7800, 0x7bfe, 0x7bff, 0xfbff},
     30},
    {"bf16",
     7,
     {0x7fff, 0xffc1, 0x7f81, 0x7f80, 0xff80, 0,      0x8000, 1,      0x8001, 2,
      0x007f, 0x807f, 0x0080, 0x8080, 0x0081, 0x1e80, 0x3b81, 0x3f00, 0x3f7f, 0x3f80,
      0xbf80, 0x3f81, 0x4049, 0x4380, 0xc381, 0x7eff, 0x7f00, 0x7f7e, 0x7f7f, 0xff7f},
     30}};

#define EACH(k) for (const kind *k = kinds; k < kinds + 2; k++)

/* printf into one of a few buffers */
static const char *text(const char *format, ...)
{
    static char all[8][400];
    static int at;
    char *s = all[at++ & 7];
    va_list ap;
    va_start(ap, format);
    vsnprintf(s, sizeof all[0], format, ap);
    va_end(ap);
    return s;
}

static void same(const vector *v, size_t i, uint64_t want, const char *code)
{
    if (v->out[i] == want) return; /* an assertion writes to a file each time */
    ck_abort_msg("%s of %#llx, %#llx, %#llx gave %#llx, not %#llx", code,
                 (unsigned long long)v->a[i], (unsigned long long)(v->b ? v->b[i] : 0),
                 (unsigned long long)(v->c ? v->c[i] : 0), (unsigned long long)v->out[i],
                 (unsigned long long)want);
}

/* All values, each with every edge, and half as many random pairs. */
static void pairs(vector *v, const kind *k)
{
    size_t n = 65536 * k->edges, i = 0;
    vector_make(v, n + n / 2);
    for (size_t e = 0; e < k->edges; e++)
        for (unsigned h = 0; h < 65536; h++, i++) v->a[i] = h, v->b[i] = k->edge[e];
    for (; i < v->n; i++) v->a[i] &= 0xffff, v->b[i] &= 0xffff;
}

static const char *scalar(const char *op, const char *mods, const kind *k, int operands)
{
    static const char *const more[] = {"", ", %rs3", ", %rs3, %rs4"};
    return text("%s.%s%s %%rs5, %%rs2%s; cvt.u64.u16 %%rd1, %%rs5;", op, mods, k->name,
                more[operands - 1]);
}

START_TEST(sums_and_products_are_rounded_once)
{
    EACH(k)
    {
        vector v;
        pairs(&v, k);
        const char *code = scalar("add", "", k, 2);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++)
            same(&v, i, ref_add((unsigned)v.a[i], (unsigned)v.b[i], k->m), code);
        code = scalar("sub", "rn.", k, 2);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++)
            same(&v, i, ref_add((unsigned)v.a[i], (unsigned)v.b[i] ^ 0x8000, k->m), code);
        code = scalar("mul", "", k, 2);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++)
            same(&v, i, ref_mul((unsigned)v.a[i], (unsigned)v.b[i], k->m), code);
        vector_free(&v);
    }
}
END_TEST

/* Edges thrice, then products close to half way between two numbers with a third operand that is
 * too small for double to see beside them, then anything. */
static void triples(vector *v, const kind *k)
{
    size_t e = k->edges, i = 0, ties = 200000;
    vector_make(v, e * e * e + ties + 500000);
    for (size_t x = 0; x < e; x++)
        for (size_t y = 0; y < e; y++)
            for (size_t z = 0; z < e; z++, i++)
                v->a[i] = k->edge[x], v->b[i] = k->edge[y], v->c[i] = k->edge[z];
    for (size_t n = 0; n < ties;) {
        unsigned a = (unsigned)vector_random() & 0xffff, b = (unsigned)vector_random() & 0xffff;
        double p = fabs(ref_value(a, k->m) * ref_value(b, k->m)), f;
        int x;
        if (!isfinite(p) || p == 0) continue;
        f = ldexp(frexp(p, &x), k->m + 2); /* m + 2 bits: the last is the tie */
        if (f != floor(f) || fmod(f, 2) != 1) continue;
        v->a[i] = a, v->b[i] = b;
        v->c[i++] = (vector_random() & 0x8000) | (vector_random() & 0x7fff) >> vector_random() % 12;
        n++;
    }
    for (; i < v->n; i++) v->a[i] &= 0xffff, v->b[i] &= 0xffff, v->c[i] &= 0xffff;
}

START_TEST(fma_is_rounded_once)
{
    EACH(k)
    {
        vector v;
        triples(&v, k);
        const char *code = scalar("fma", "rn.", k, 3);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++)
            same(&v, i, ref_fma((unsigned)v.a[i], (unsigned)v.b[i], (unsigned)v.c[i], k->m), code);
        vector_free(&v);
    }
}
END_TEST

static const struct {
    const char *name;
    mpfr_rnd_t r;
} modes[] = {{"rn", MPFR_RNDN}, {"rz", MPFR_RNDZ}, {"rm", MPFR_RNDD}, {"rp", MPFR_RNDU}};

static uint64_t bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
static uint64_t bits32(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* Every value of the type, half way to the next, a little beside, and anything. */
static void wide_values(vector *v, const kind *k, int f64)
{
    size_t i = 0;
    vector_make(v, 65536 * 4 + 300000);
    for (unsigned h = 0; h < 65536; h++) {
        double x = ref_value(h, k->m), y = ref_value((h + 1) & 0xffff, k->m), mid = x / 2 + y / 2;
        if (isinf(y)) mid = x + (x - ref_value(h - 1, k->m)) / 2; /* where overflow begins */
        uint64_t at = f64 ? bits64(mid) : bits32(mid);
        v->a[i++] = f64 ? bits64(x) : bits32(x);
        v->a[i++] = at, v->a[i++] = at + 1, v->a[i++] = at - 1;
    }
    for (; i < v->n; i++)
        if (!f64) v->a[i] &= 0xffffffff;
    for (i = 65536 * 4; i < v->n; i += 2) /* half of the rest in the type's range */
        if (f64)
            v->a[i] = (v->a[i] & ~(0x7ffull << 52)) | (990 + v->a[i] % 50) << 52;
        else
            v->a[i] = (v->a[i] & ~(0xffull << 23)) | (98 + v->a[i] % 48) << 23;
}

static double wide_value(uint64_t u, int f64)
{
    double d;
    float f;
    uint32_t low = (uint32_t)u;
    memcpy(&d, &u, 8);
    memcpy(&f, &low, 4);
    return f64 ? d : f;
}

START_TEST(floats_become_halves_in_every_rounding)
{
    EACH(k)
    for (int f64 = 0; f64 < 2; f64++) {
        vector v;
        wide_values(&v, k, f64);
        for (int r = 0; r < 4; r++) {
            const char *code = text("cvt.%s.%s.%s %%rs5, %%%s2; cvt.u64.u16 %%rd1, %%rs5;",
                                    modes[r].name, k->name, f64 ? "f64" : "f32", f64 ? "fd" : "f");
            vector_run(&v, code);
            for (size_t i = 0; i < v.n; i++)
                same(&v, i, ref_round(wide_value(v.a[i], f64), k->m, modes[r].r), code);
        }
        vector_free(&v);
    }
}
END_TEST

/* All values of the type. */
static void all_values(vector *v)
{
    vector_make(v, 65536);
    for (unsigned h = 0; h < 65536; h++) v->a[h] = h;
}

START_TEST(halves_become_floats_exactly)
{
    EACH(k)
    {
        vector v;
        all_values(&v);
        const char *code =
            text("cvt.f32.%s %%f5, %%rs2; mov.b32 %%r5, %%f5; cvt.u64.u32 %%rd1, %%r5;", k->name);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++)
            same(&v, h, ref_isnan(h, k->m) ? 0x7fffffff : bits32(ref_value(h, k->m)), code);
        code = text("cvt.f64.%s %%fd5, %%rs2; mov.b64 %%rd1, %%fd5;", k->name);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++)
            if (ref_isnan(h, k->m))
                ck_assert(isnan(wide_value(v.out[h], 1)));
            else
                same(&v, h, bits64(ref_value(h, k->m)), code);
        vector_free(&v);
    }
}
END_TEST

static const case_entry cases[] = {
#include "half.def"
};
CASE_MAIN("half")
