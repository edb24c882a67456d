/* half_forms.c - f16 and bf16: what the modifiers do to a result, comparisons, integers, functions;
 * and that pairs are two of the same. */
#include "halfkit.h"
#include <math.h>
#include <string.h>

/* ---- the modifiers, by their definition ---- */
enum { FTZ = 1, SAT = 2, RELU = 4, NANS = 8, XORSIGN = 16 };

static unsigned flushed(unsigned h, int m, int flags)
{
    double x = fabs(ref_value(h, m));
    return flags & FTZ && x < ref_value(1u << m, m) ? h & 0x8000 : h;
}

static unsigned modified(unsigned h, int m, int flags)
{
    h = flushed(h, m, flags);
    double x = ref_value(h, m);
    if (flags & SAT) return isnan(x) || x <= 0 ? 0 : ref_bits(fmin(x, 1), m);
    if (flags & RELU) return isnan(x) ? REF_NAN : x <= 0 ? 0 : h;
    return h;
}

static unsigned extreme(unsigned a, unsigned b, int m, int flags, int most)
{
    unsigned sign = flags & XORSIGN ? (a ^ b) & 0x8000 : 0;
    a = flushed(a, m, flags), b = flushed(b, m, flags);
    if (flags & XORSIGN) a &= 0x7fff, b &= 0x7fff;
    double x = ref_value(a, m), y = ref_value(b, m);
    if (isnan(x) && isnan(y)) return REF_NAN;
    if (isnan(x) || isnan(y)) return flags & NANS ? REF_NAN : (isnan(x) ? b : a) | sign;
    int less = x < y || (x == y && signbit(x) && !signbit(y)); /* -0 before +0 */
    return (less != most ? a : b) | sign;
}

static const struct form {
    const char *op, *mods;
    int operands, flags, bf16; /* bf16: this type has it too */
} forms[] = {
    {"add", "ftz.", 2, FTZ, 0},
    {"add", "sat.", 2, SAT, 0},
    {"sub", "rn.ftz.sat.", 2, FTZ | SAT, 0},
    {"mul", "ftz.", 2, FTZ, 0},
    {"mul", "rn.sat.", 2, SAT, 0},
    {"fma", "rn.ftz.", 3, FTZ, 0},
    {"fma", "rn.sat.", 3, SAT, 0},
    {"fma", "rn.relu.", 3, RELU, 1},
    {"fma", "rn.ftz.relu.", 3, FTZ | RELU, 0},
    {"neg", "", 1, 0, 1},
    {"neg", "ftz.", 1, FTZ, 0},
    {"abs", "", 1, 0, 1},
    {"abs", "ftz.", 1, FTZ, 0},
    {"min", "", 2, 0, 1},
    {"max", "", 2, 0, 1},
    {"min", "NaN.", 2, NANS, 1},
    {"max", "ftz.NaN.", 2, FTZ | NANS, 0},
    {"min", "xorsign.abs.", 2, XORSIGN, 1},
    {"max", "NaN.xorsign.abs.", 2, NANS | XORSIGN, 1},
    {"tanh", "approx.", 1, 0, 1},
};

static unsigned expected(const struct form *f, unsigned a, unsigned b, unsigned c, int m)
{
    if (!strcmp(f->op, "neg")) return flushed(a, m, f->flags) ^ 0x8000;
    if (!strcmp(f->op, "abs")) return flushed(a, m, f->flags) & 0x7fff;
    if (!strcmp(f->op, "tanh")) return ref_tanh(ref_value(a, m), m);
    if (f->op[0] == 'm' && f->op[1] != 'u') return extreme(a, b, m, f->flags, f->op[1] == 'a');
    a = flushed(a, m, f->flags), b = flushed(b, m, f->flags), c = flushed(c, m, f->flags);
    unsigned r = !strcmp(f->op, "add")   ? ref_add(a, b, m)
                 : !strcmp(f->op, "sub") ? ref_add(a, b ^ 0x8000, m)
                 : !strcmp(f->op, "mul") ? ref_mul(a, b, m)
                                         : ref_fma(a, b, c, m);
    return modified(r, m, f->flags);
}

/* All values with one operand; the edges with each other, and anything. */
static void operands(vector *v, const kind *k, int n)
{
    size_t i = 0, e = k->edges;
    if (n == 1) {
        all_values(v);
        return;
    }
    vector_make(v, e * e * e + 60000);
    for (size_t x = 0; x < e; x++)
        for (size_t y = 0; y < e; y++)
            for (size_t z = 0; z < e; z++, i++)
                v->a[i] = k->edge[x], v->b[i] = k->edge[y], v->c[i] = k->edge[z];
    for (; i < v->n; i++) v->a[i] &= 0xffff, v->b[i] &= 0xffff, v->c[i] &= 0xffff;
}

START_TEST(modifiers_change_operands_and_results_as_defined)
{
    EACH(k)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (k->m == 7 && !forms[f].bf16) continue;
        vector v;
        operands(&v, k, forms[f].operands);
        const char *code = scalar(forms[f].op, forms[f].mods, k, forms[f].operands);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++)
            same(&v, i,
                 expected(&forms[f], (unsigned)v.a[i], (unsigned)v.b[i], (unsigned)v.c[i], k->m),
                 code);
        vector_free(&v);
    }
}
END_TEST

START_TEST(powers_of_two_are_rounded_once)
{
    EACH(k)
    {
        vector v;
        all_values(&v);
        int flags = k->m == 7 ? FTZ : 0;
        const char *code = scalar("ex2", k->m == 7 ? "approx.ftz." : "approx.", k, 1);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++)
            same(&v, h,
                 flushed(ref_exp2(ref_value(flushed(h, k->m, flags), k->m), k->m), k->m, flags),
                 code);
        vector_free(&v);
    }
}
END_TEST

START_TEST(pairs_are_two_of_the_same)
{
    static const char *const more[] = {"", ", %r3", ", %r3, %r4"};
    EACH(k)
    for (size_t f = 0; f <= sizeof forms / sizeof *forms; f++) {
        static const struct form plain = {"fma", "rn.", 3, 0, 1};
        const struct form *o = f ? &forms[f - 1] : &plain;
        if (k->m == 7 && !o->bf16) continue;
        vector v;
        vector_make(&v, 30000);
        for (size_t i = 0; i < v.n; i++) { /* one half in three an edge */
            uint64_t *at[] = {&v.a[i], &v.b[i], &v.c[i]};
            for (int x = 0; x < 3; x++) {
                *at[x] &= 0xffffffff;
                if (i % 3 < 2)
                    *at[x] = (*at[x] & 0xffff0000u >> 16 * (i % 3 == 0 ? 0 : 1)) |
                             (uint64_t)k->edge[vector_random() % k->edges] << 16 * (i % 3);
            }
        }
        const char *code = text("%s.%s%sx2 %%r5, %%r2%s; cvt.u64.u32 %%rd1, %%r5;", o->op, o->mods,
                                k->name, more[o->operands - 1]);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++) {
            unsigned a = (unsigned)v.a[i], b = (unsigned)v.b[i], c = (unsigned)v.c[i];
            same(&v, i,
                 (uint64_t)expected(o, a >> 16, b >> 16, c >> 16, k->m) << 16 |
                     expected(o, a & 0xffff, b & 0xffff, c & 0xffff, k->m),
                 code);
        }
        vector_free(&v);
    }
}
END_TEST

/* ---- comparisons ---- */
static int holds(const char *c, double x, double y)
{
    int unordered = isnan(x) || isnan(y);
    if (!strcmp(c, "num")) return !unordered;
    if (!strcmp(c, "nan")) return unordered;
    if (unordered) return c[2] == 'u';
    return !strncmp(c, "eq", 2)   ? x == y
           : !strncmp(c, "ne", 2) ? x != y
           : !strncmp(c, "lt", 2) ? x < y
           : !strncmp(c, "le", 2) ? x <= y
           : !strncmp(c, "gt", 2) ? x > y
                                  : x >= y;
}

static const char *const compared[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ",
                                       "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};

/* All at once: bit c is the comparison by itself, 14 + c with a predicate, 28 + c as a number, 42 +
 * c as a half; bit 63: neither yes nor no. */
static void all_comparisons(char *code, size_t room, const kind *k, int ftz)
{
    size_t n = (size_t)snprintf(code, room, "setp.ne.b16 %%p1, %%rs4, 0;\n");
    for (int c = 0; c < 14; c++) {
        const char *op = text("%s%s", compared[c], ftz ? ".ftz" : "");
        n += (size_t)snprintf(code + n, room - n,
                              "setp.%s.%s %%p2, %%rs2, %%rs3;\n"
                              "setp.%s.xor%s.%s %%p3, %%rs2, %%rs3, %%p1;\n"
                              "set.%s.u32.%s %%r5, %%rs2, %%rs3; setp.ne.u32 %%p4, %%r5, 0;\n"
                              "set.%s.%s.%s %%rs5, %%rs2, %%rs3; setp.ne.b16 %%p5, %%rs5, 0;\n"
                              "setp.ne.and.u32 %%p6, %%r5, 0xffffffff, %%p4;\n"
                              "setp.ne.and.b16 %%p7, %%rs5, %u, %%p5;\n"
                              "@%%p6 or.b64 %%rd1, %%rd1, 0x8000000000000000;\n"
                              "@%%p7 or.b64 %%rd1, %%rd1, 0x8000000000000000;\n",
                              op, k->name, compared[c], ftz ? ".ftz" : "", k->name, op, k->name, op,
                              k->name, k->name, ref_bits(1, k->m));
        for (int i = 0; i < 4; i++)
            n += (size_t)snprintf(code + n, room - n, "@%%p%d or.b64 %%rd1, %%rd1, %llu;\n", i + 2,
                                  1ull << (14 * i + c));
    }
    ck_assert_uint_lt(n, room);
}

START_TEST(comparisons_know_unordered_numbers)
{
    static char code[16000];
    EACH(k)
    for (int ftz = 0; ftz <= (k->m == 10); ftz++) {
        vector v;
        operands(&v, k, 2);
        all_comparisons(code, sizeof code, k, ftz);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++) {
            double x = ref_value(flushed((unsigned)v.a[i], k->m, ftz), k->m),
                   y = ref_value(flushed((unsigned)v.b[i], k->m, ftz), k->m);
            uint64_t want = 0;
            for (int c = 0; c < 14; c++) {
                int yes = holds(compared[c], x, y);
                want |= (yes ? 1ull | 1ull << 28 | 1ull << 42 : 0) << c;
                want |= (uint64_t)(yes ^ (v.c[i] != 0)) << (14 + c);
            }
            same(&v, i, want, "comparisons");
        }
        vector_free(&v);
    }
}
END_TEST

START_TEST(comparisons_of_pairs_give_two_answers)
{
    EACH(k)
    for (size_t c = 1; c < 14; c += 3) {
        vector v;
        vector_make(&v, 40000);
        for (size_t i = 0; i < v.n; i++) {
            v.a[i] &= 0xffffffff, v.b[i] &= 0xffffffff, v.c[i] &= 1;
            if (i % 4 == 0) v.b[i] = v.a[i];
            if (i % 4 == 1) v.b[i] = v.a[i] ^ 0x80000000u;
            if (i % 4 == 2) v.a[i] = k->edge[v.a[i] % k->edges] << 16 | k->edge[v.b[i] % k->edges];
        }
        const char *code = text(
            "setp.ne.b32 %%p1, %%r4, 0; setp.%s.and.%sx2 %%p2|%%p3, %%r2, %%r3, %%p1; selp.u32 "
            "%%r5, 1, 0, %%p2; @%%p3 or.b32 %%r5, %%r5, 2; set.%s.%sx2.%sx2 %%r6, %%r2, %%r3; "
            "set.%s.u32.%sx2 %%r7, %%r2, %%r3; and.b32 %%r7, %%r7, 0x80008000; or.b32 %%r5, %%r5, "
            "%%r7; mov.b64 %%rd1, {%%r5, %%r6};",
            compared[c], k->name, compared[c], k->name, k->name, compared[c], k->name);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++) {
            uint64_t want = 0;
            for (int s = 0; s < 2; s++)
                if (holds(compared[c], ref_value(v.a[i] >> 16 * s & 0xffff, k->m),
                          ref_value(v.b[i] >> 16 * s & 0xffff, k->m)))
                    want |= v.c[i] << s | 0x8000ull << 16 * s |
                            (uint64_t)ref_bits(1, k->m) << (32 + 16 * s);
            same(&v, i, want, code);
        }
        vector_free(&v);
    }
}
END_TEST

static const case_entry cases[] = {
#include "half_forms.def"
};
CASE_MAIN("half_forms")
