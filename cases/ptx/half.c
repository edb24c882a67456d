/* half.c - f16 and bf16 against MPFR: all values where there is one operand, all values against
 * edges where there are two. */
#include "halfkit.h"
#include <math.h>
#include <string.h>

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
    vector_make(v, e * e * e + ties + 200000);
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

START_TEST(floats_become_halves_in_every_rounding)
{
    EACH(k)
    for (int f64 = 0; f64 < 2; f64++) {
        vector v;
        wide_values(&v, k, f64);
        for (int r = 0; r < 4; r++) {
            const char *code =
                text("cvt.%s.%s.%s %%rs5, %%%s2; cvt.u64.u16 %%rd1, %%rs5;", half_modes[r].name,
                     k->name, f64 ? "f64" : "f32", f64 ? "fd" : "f");
            vector_run(&v, code);
            for (size_t i = 0; i < v.n; i++)
                same(&v, i, ref_round(wide_value(v.a[i], f64), k->m, half_modes[r].r), code);
        }
        vector_free(&v);
    }
}
END_TEST

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
