/* form_halves.c - f16, bf16 and pairs of them, against halfref.h. Suites half* go through all
 * values of the main forms; here is every form, on the operands that all forms have. */
#include "formkit.h"
#include "halfref.h"
#include <math.h>
#include <string.h>

#define IS(name) (!strcmp(f->op, name))

static int digits(const char *t)
{
    return t[0] == 'b' ? 7 : 10;
}
static int is_pair(const char *t)
{
    return t[strlen(t) - 2] == 'x';
}
static const char *logic_of(const form *f)
{
    return form_has(f, "and")   ? "and"
           : form_has(f, "or")  ? "or"
           : form_has(f, "xor") ? "xor"
                                : NULL;
}

static int half_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1), *d = form_type(f, 2), *p = logic_of(f) ? ", %p4" : "";
    if (!type_half(t) && !(IS("cvt") && type_half(d))) return 0;
    if (IS("cvt") && type_half(d) && is_pair(d)) return form_plain(f, "D T T", out, room);
    if (IS("cvt") && type_bits(d) == 8) {
        snprintf(out, room, "%s %%r5, %s2; cvt.u64.u32 %%rd1, %%r5;", f->name, form_register(t));
        return 1;
    }
    if (IS("cvt")) return form_plain(f, "D T", out, room);
    if (IS("setp"))
        snprintf(out, room, "%s %%p5%s, %s2, %s3%s; selp.u64 %%rd1, 1, 0, %%p5; %s", f->name,
                 is_pair(t) ? "|%p8" : "", form_register(t), form_register(t), p,
                 is_pair(t) ? "@%p8 or.b64 %rd1, %rd1, 2;" : "");
    else if (IS("set")) {
        char bring[200];
        form_bring(d, bring, sizeof bring);
        snprintf(out, room, "%s %s5, %s2, %s3%s; %s", f->name, form_register(d), form_register(t),
                 form_register(t), p, bring);
    } else
        form_plain(f,
                   IS("fma")                                                      ? "T T T T"
                   : strstr(" add sub mul min max ", f->op) && strlen(f->op) == 3 ? "T T T"
                                                                                  : "T T",
                   out, room);
    return 1;
}

static unsigned flushed(const form *f, unsigned h, int m)
{
    return form_has(f, "ftz") && fabs(ref_value(h, m)) < ref_value(1u << m, m) ? h & 0x8000 : h;
}

static unsigned modified(const form *f, unsigned h, int m)
{
    double x = ref_value(h, m);
    if (form_has(f, "sat")) return isnan(x) || x <= 0 ? 0 : x > 1 ? ref_bits(1, m) : h;
    if (form_has(f, "relu")) return isnan(x) ? REF_NAN : x <= 0 ? 0 : h;
    return h;
}

static unsigned extreme(const form *f, unsigned a, unsigned b, int m)
{
    int cross = form_has(f, "xorsign");
    unsigned sign = cross ? (a ^ b) & 0x8000 : 0;
    a = flushed(f, a, m), b = flushed(f, b, m);
    if (cross) a &= 0x7fff, b &= 0x7fff;
    double x = ref_value(a, m), y = ref_value(b, m);
    if (isnan(x) && isnan(y)) return REF_NAN;
    if (isnan(x) || isnan(y)) return form_has(f, "NaN") ? REF_NAN : (isnan(x) ? b : a) | sign;
    int less = x < y || (x == y && signbit(x) && !signbit(y));
    return (less == IS("min") ? a : b) | sign;
}

static unsigned one_half(const form *f, unsigned a, unsigned b, unsigned c, int m)
{
    if (IS("min") || IS("max")) return extreme(f, a, b, m);
    a = flushed(f, a, m), b = flushed(f, b, m), c = flushed(f, c, m);
    if (IS("neg")) return a ^ 0x8000;
    if (IS("abs")) return a & 0x7fff;
    unsigned r = IS("add")   ? ref_add(a, b, m)
                 : IS("sub") ? ref_add(a, b ^ 0x8000, m)
                 : IS("mul") ? ref_mul(a, b, m)
                 : IS("fma") ? ref_fma(a, b, c, m)
                 : IS("ex2") ? ref_exp2(ref_value(a, m), m)
                             : ref_tanh(ref_value(a, m), m);
    return modified(f, flushed(f, r, m), m);
}

static int holds(const form *f, unsigned a, unsigned b, int m, int p)
{
    const char *c = f->mod[0], *logic = logic_of(f);
    double x = ref_value(flushed(f, a, m), m), y = ref_value(flushed(f, b, m), m);
    int unordered = isnan(x) || isnan(y), is = unordered              ? c[2] == 'u'
                                               : !strncmp(c, "eq", 2) ? x == y
                                               : !strncmp(c, "ne", 2) ? x != y
                                               : !strncmp(c, "lt", 2) ? x < y
                                               : !strncmp(c, "le", 2) ? x <= y
                                               : !strncmp(c, "gt", 2) ? x > y
                                                                      : x >= y;
    if (!strcmp(c, "num")) is = !unordered;
    if (!strcmp(c, "nan")) is = unordered;
    return !logic ? is : !strcmp(logic, "and") ? is & p : !strcmp(logic, "or") ? is | p : is ^ p;
}

static mpfr_rnd_t direction(const form *f)
{
    for (int i = 0; i < f->n; i++)
        if (f->mod[i][0] == 'r' && strcmp(f->mod[i], "relu"))
            return f->mod[i][1] == 'z'   ? MPFR_RNDZ
                   : f->mod[i][1] == 'm' ? MPFR_RNDD
                   : f->mod[i][1] == 'p' ? MPFR_RNDU
                                         : MPFR_RNDN;
    return MPFR_RNDN;
}

/* x as a half, with what the modifiers make of it */
static unsigned narrowed(const form *f, double x, int m)
{
    unsigned h = ref_round(x, m, direction(f));
    if (form_has(f, "satfinite") && isinf(ref_value(h, m))) h -= 1;
    return modified(f, h, m);
}

static double single(const form *f, uint64_t x)
{
    float s = as_float(x);
    return form_has(f, "ftz") && fabsf(s) < 0x1p-126f ? copysign(0, s) : s;
}

static uint64_t number_bits(double x, int wide)
{
    uint64_t u = 0;
    float s = (float)x;
    if (wide)
        memcpy(&u, &x, 8);
    else
        memcpy(&u, &s, 4);
    return u;
}

static wanted convert_reference(const form *f, uint64_t a, uint64_t b)
{
    const char *d = form_type(f, 2), *t = form_type(f, 1);
    int m = digits(d), n = digits(t);
    wanted w = {0};
    if (type_half(d) && is_pair(d))
        w.bits = (uint64_t)narrowed(f, single(f, a), m) << 16 | narrowed(f, single(f, b), m);
    else if (type_half(d) && !strcmp(t, "f32"))
        w.bits = narrowed(f, single(f, a), m);
    else if (type_half(d) && !strcmp(t, "f64"))
        w.bits = narrowed(f, as_double(a), m);
    else if (type_half(d) && !strcmp(t, d))
        w.bits = modified(f,
                          f->mod[0][0] == 'r' ? ref_whole((unsigned)a & 0xffff, m, direction(f))
                                              : (unsigned)a & 0xffff,
                          m);
    else if (type_half(d) && type_half(t))
        w.bits = narrowed(f, ref_value((unsigned)a & 0xffff, n), m);
    else if (type_half(d)) {
        __int128 v = type_value(t, a);
        w.bits = modified(
            f, ref_integer((unsigned long long)(v < 0 ? -v : v), v < 0, m, direction(f)), m);
    } else if (type_float(d)) {
        double x = ref_value((unsigned)a & 0xffff, n);
        if (form_has(f, "ftz") && fabs(x) < 0x1p-126) x = copysign(0, x);
        if (form_has(f, "sat")) x = !(x > 0) ? 0 : x < 1 ? x : 1;
        w.bits = number_bits(x, !strcmp(d, "f64"));
        w.number = d;
    } else {
        unsigned long long u =
            ref_to_integer((unsigned)a & 0xffff, n, direction(f), type_bits(d), *d == 's');
        w.bits = type_bits(d) == 8 ? (uint32_t)u : type_mask(d, (__int128)u);
    }
    return w;
}

static wanted half_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1), *d = form_type(f, 2);
    uint64_t a = o->a[i], b = o->b[i], c = o->c[i], r = 0;
    if (IS("cvt")) return convert_reference(f, a, b);
    for (int k = 0; k <= 16 * is_pair(t); k += 16) {
        unsigned x = a >> k & 0xffff, y = b >> k & 0xffff, z = c >> k & 0xffff;
        int m = digits(t);
        if (IS("setp"))
            r |= (uint64_t)holds(f, x, y, m, (int)(c & 1)) << (k / 16);
        else if (!IS("set"))
            r |= (uint64_t)one_half(f, x, y, z, m) << k;
        else if (holds(f, x, y, m, (int)(c & 1)))
            r |= type_half(d) ? (uint64_t)ref_bits(1, m) << k
                 : is_pair(t) ? 0xffffull << k
                              : type_mask(d, -1);
    }
    return (wanted){.bits = r};
}

const family form_halves = {" add sub mul fma neg abs min max ex2 tanh setp set cvt ", half_code,
                            half_reference};
