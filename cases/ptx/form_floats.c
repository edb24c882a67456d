/* form_floats.c - arithmetic of f32 and f64 by GNU MPFR, rounded once in the direction asked for.
 * What PTX only approximates may be off by two units of the last place. */
#include "formkit.h"
#include <math.h>
#include <mpfr.h>
#include <string.h>

#define IS(name) (!strcmp(f->op, name))

static int float_code(const form *f, char *out, size_t room)
{
    if (!type_float(form_type(f, 1))) return 0;
    if (IS("testp")) return form_plain(f, "pred T", out, room);
    if (IS("fma") || IS("mad")) return form_plain(f, "T T T T", out, room);
    if (strstr(" add sub mul div min max copysign ", f->op))
        return form_plain(f, "T T T", out, room);
    return form_plain(f, "T T", out, room);
}

static mpfr_rnd_t direction(const form *f)
{
    return form_has(f, "rz")   ? MPFR_RNDZ
           : form_has(f, "rm") ? MPFR_RNDD
           : form_has(f, "rp") ? MPFR_RNDU
                               : MPFR_RNDN;
}

static uint64_t bits_of(double x, int wide)
{
    uint64_t u = 0;
    float s = (float)x;
    if (wide)
        memcpy(&u, &x, 8);
    else
        memcpy(&u, &s, 4);
    return u;
}

/* One operation in the precision and range of the type. */
static double exactly(const form *f, double x, double y, double z, int wide)
{
    mpfr_rnd_t r = direction(f);
    mpfr_t p, a, b, c;
    int t;
    mpfr_set_emin(wide ? -1073 : -148);
    mpfr_set_emax(wide ? 1024 : 128);
    mpfr_init2(p, wide ? 53 : 24);
    mpfr_inits2(53, a, b, c, (mpfr_ptr)0);
    mpfr_set_d(a, x, MPFR_RNDN), mpfr_set_d(b, y, MPFR_RNDN), mpfr_set_d(c, z, MPFR_RNDN);
    if (IS("add"))
        t = mpfr_add(p, a, b, r);
    else if (IS("sub"))
        t = mpfr_sub(p, a, b, r);
    else if (IS("mul"))
        t = mpfr_mul(p, a, b, r);
    else if (IS("div"))
        t = mpfr_div(p, a, b, r);
    else if (IS("fma") || IS("mad"))
        t = mpfr_fma(p, a, b, c, r);
    else if (IS("sqrt"))
        t = mpfr_sqrt(p, a, r);
    else if (IS("rcp"))
        t = mpfr_ui_div(p, 1, a, r);
    else if (IS("rsqrt"))
        t = mpfr_rec_sqrt(p, a, r);
    else if (IS("ex2"))
        t = mpfr_exp2(p, a, r);
    else if (IS("lg2"))
        t = mpfr_log2(p, a, r);
    else if (IS("sin"))
        t = mpfr_sin(p, a, r);
    else if (IS("cos"))
        t = mpfr_cos(p, a, r);
    else
        t = mpfr_tanh(p, a, r);
    mpfr_subnormalize(p, t, r);
    double d = mpfr_get_d(p, MPFR_RNDN);
    mpfr_clears(p, a, b, c, (mpfr_ptr)0);
    if (IS("rsqrt") && x == 0 && signbit(x)) d = -INFINITY; /* mpfr: +inf */
    return d;
}

static double flush(double x, int on, int wide)
{
    return on && fabs(x) < (wide ? 0x1p-1022 : 0x1p-126) ? copysign(0, x) : x;
}

static wanted float_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1);
    int wide = !strcmp(t, "f64"), ftz = form_has(f, "ftz");
    double x[3], r = 0;
    const uint64_t *in[] = {o->a, o->b, o->c};
    for (int k = 0; k < 3; k++)
        x[k] = flush(wide ? as_double(in[k][i]) : as_float(in[k][i]), ftz, wide);
    wanted w = {.number = t};
    if (IS("testp")) {
        int c = fpclassify(x[0]), normal = wide ? c == FP_NORMAL : fabs(x[0]) >= 0x1p-126;
        normal &= isfinite(x[0]) != 0;
        return (wanted){.bits = form_has(f, "finite")       ? isfinite(x[0])
                                : form_has(f, "infinite")   ? isinf(x[0]) != 0
                                : form_has(f, "number")     ? !isnan(x[0])
                                : form_has(f, "notanumber") ? isnan(x[0])
                                : form_has(f, "normal")     ? normal
                                                        : isfinite(x[0]) && x[0] != 0 && !normal};
    }
    if (IS("copysign")) { /* the sign of a, the rest of b */
        uint64_t sign = 1ull << (type_bits(t) - 1);
        w.bits = type_mask(t, (__int128)((o->b[i] & ~sign) | (o->a[i] & sign)));
        return w;
    }
    if (IS("neg") || IS("abs")) {
        r = IS("neg") ? -x[0] : fabs(x[0]);
    } else if (IS("min") || IS("max")) {
        int first = isnan(x[0])    ? 0
                    : isnan(x[1])  ? 1
                    : x[0] == x[1] ? (signbit(x[0]) != 0) == IS("min")
                                   : (x[0] < x[1]) == IS("min");
        r = x[first ? 0 : 1];
        if (form_has(f, "NaN") && (isnan(x[0]) || isnan(x[1]))) r = NAN;
    } else {
        r = exactly(f, x[0], x[1], x[2], wide);
        w.ulps = form_has(f, "approx") || form_has(f, "full") ? 2 : 0;
    }
    r = flush(r, ftz, wide);
    if (form_has(f, "sat")) r = !(r > 0) ? 0 : r < 1 ? r : 1;
    w.bits = bits_of(r, wide);
    return w;
}

const family form_floats = {
    " add sub mul mad fma div min max neg abs sqrt rcp rsqrt ex2 lg2 sin cos "
    "tanh copysign testp ",
    float_code, float_reference};

/* ---- comparisons ---- */
static const char *logic_of(const form *f)
{
    return form_has(f, "and")   ? "and"
           : form_has(f, "or")  ? "or"
           : form_has(f, "xor") ? "xor"
                                : NULL;
}

static int compare_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1), *r = form_register(t), *p = logic_of(f) ? ", %p4" : "";
    if (type_half(t)) return 0;
    if (IS("set")) {
        char bring[200];
        const char *d = form_type(f, 2);
        form_bring(d, bring, sizeof bring);
        snprintf(out, room, "%s %s5, %s2, %s3%s; %s", f->name, form_register(d), r, r, p, bring);
    } else
        snprintf(out, room,
                 "%s %%p5|%%p8, %s2, %s3%s; %s %%p9, %s2, %s3%s; selp.u64 %%rd1, 1, 0, %%p5; @%%p8 "
                 "or.b64 %%rd1, %%rd1, 2; @%%p9 or.b64 %%rd1, %%rd1, 4;",
                 f->name, r, r, p, f->name, r, r, p);
    return 1;
}

/* The comparison by its name: which of less, equal, greater, unordered make it true */
static int holds(const char *c, int less, int equal, int greater, int unordered)
{
    static const struct {
        const char *name;
        int l, e, g, u;
    } rows[] = {{"eq", 0, 1, 0, 0},  {"ne", 1, 0, 1, 0},  {"lt", 1, 0, 0, 0},  {"le", 1, 1, 0, 0},
                {"gt", 0, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"lo", 1, 0, 0, 0},  {"ls", 1, 1, 0, 0},
                {"hi", 0, 0, 1, 0},  {"hs", 0, 1, 1, 0},  {"equ", 0, 1, 0, 1}, {"neu", 1, 0, 1, 1},
                {"ltu", 1, 0, 0, 1}, {"leu", 1, 1, 0, 1}, {"gtu", 0, 0, 1, 1}, {"geu", 0, 1, 1, 1},
                {"num", 1, 1, 1, 0}, {"nan", 0, 0, 0, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, c))
            return (rows[i].l && less) || (rows[i].e && equal) || (rows[i].g && greater) ||
                   (rows[i].u && unordered);
    ck_abort_msg("no comparison %s", c);
}

static int with_logic(const char *logic, int x, int p)
{
    return !logic ? x : !strcmp(logic, "and") ? x & p : !strcmp(logic, "or") ? x | p : x ^ p;
}

static wanted compare_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1), *logic = logic_of(f);
    int x, p = (int)(o->c[i] & 1);
    if (type_float(t)) {
        int wide = !strcmp(t, "f64"), ftz = form_has(f, "ftz");
        double a = flush(wide ? as_double(o->a[i]) : as_float(o->a[i]), ftz, wide),
               b = flush(wide ? as_double(o->b[i]) : as_float(o->b[i]), ftz, wide);
        x = holds(f->mod[0], a<b, a == b, a> b, isnan(a) || isnan(b));
    } else {
        __int128 a = type_value(t, o->a[i]), b = type_value(t, o->b[i]);
        x = holds(f->mod[0], a<b, a == b, a> b, 0);
    }
    int yes = with_logic(logic, x, p), no = with_logic(logic, !x, p);
    if (IS("setp")) return (wanted){.bits = (uint64_t)(yes | no << 1 | yes << 2)};
    if (!strcmp(form_type(f, 2), "f32")) return (wanted){.bits = yes ? 0x3f800000 : 0};
    return (wanted){.bits = yes ? 0xffffffff : 0};
}

const family form_compares = {" set setp ", compare_code, compare_reference};

/* ---- conversions ---- */
static const char *rounding(const form *f)
{
    return f->n > 2 && f->mod[0][0] == 'r' && strcmp(f->mod[0], "relu") ? f->mod[0] : "";
}

static int convert_code(const form *f, char *out, size_t room)
{
    const char *d = form_type(f, 2), *t = form_type(f, 1);
    if (type_half(d) || type_half(t)) return 0;
    if (type_bits(d) > 16) return form_plain(f, "D T", out, room);
    /* into a wider register: extended as the type says */
    snprintf(out, room, "%s %%r5, %s2; cvt.u64.u32 %%rd1, %%r5;", f->name, form_register(t));
    return 1;
}

static mpfr_rnd_t direction_of(const char *r)
{
    return r[0] != 'r'   ? MPFR_RNDN
           : r[1] == 'z' ? MPFR_RNDZ
           : r[1] == 'm' ? MPFR_RNDD
           : r[1] == 'p' ? MPFR_RNDU
                         : MPFR_RNDN;
}

/* A whole number within the type's range, as a register of at least 32 bits holds it */
static uint64_t clamped(const char *d, mpfr_t x)
{
    int w = type_bits(d), sign = *d == 's';
    mpfr_t lo, hi;
    mpfr_inits2(80, lo, hi, (mpfr_ptr)0);
    mpfr_set_si(lo, sign ? -1 : 0, MPFR_RNDN);
    mpfr_mul_2si(lo, lo, w - 1, MPFR_RNDN);
    mpfr_set_ui_2exp(hi, 1, sign ? w - 1 : w, MPFR_RNDN);
    mpfr_sub_ui(hi, hi, 1, MPFR_RNDN);
    if (mpfr_less_p(x, lo)) mpfr_set(x, lo, MPFR_RNDN);
    if (mpfr_greater_p(x, hi)) mpfr_set(x, hi, MPFR_RNDN);
    uint64_t u = sign ? (uint64_t)mpfr_get_sj(x, MPFR_RNDN) : mpfr_get_uj(x, MPFR_RNDN);
    mpfr_clears(lo, hi, (mpfr_ptr)0);
    return w < 32 ? (uint32_t)u : type_mask(d, (__int128)u);
}

static wanted to_integer(const form *f, double x, int wide)
{
    const char *d = form_type(f, 2);
    int w = type_bits(d);
    if (isnan(x)) /* 0; the highest bit where either side has 64 bits */
        return (wanted){.bits = !wide && w < 64 ? 0
                                : w >= 32       ? 1ull << (w - 1)
                                : *d == 's'     ? ~0u << (w - 1)
                                                : 1u << (w - 1)};
    mpfr_t p;
    mpfr_set_emin(-1073), mpfr_set_emax(1024);
    mpfr_init2(p, 80);
    mpfr_set_d(p, x, MPFR_RNDN);
    mpfr_rint(p, p, direction_of(rounding(f)));
    wanted r = {.bits = clamped(d, p)};
    mpfr_clear(p);
    return r;
}

static wanted to_float(const form *f, const operands *o, size_t i)
{
    const char *d = form_type(f, 2), *t = form_type(f, 1), *r = rounding(f);
    int wide = !strcmp(d, "f64"), ftz = form_has(f, "ftz"), inexact;
    mpfr_t x, p;
    mpfr_set_emin(-1073), mpfr_set_emax(1024);
    mpfr_init2(x, 64), mpfr_init2(p, wide ? 53 : 24);
    if (!type_float(t)) {
        __int128 v = type_value(t, o->a[i]);
        if (*t == 's')
            mpfr_set_sj(x, (intmax_t)v, MPFR_RNDN);
        else
            mpfr_set_uj(x, (uintmax_t)v, MPFR_RNDN);
    } else
        mpfr_set_d(x, !strcmp(t, "f64") ? as_double(o->a[i]) : flush(as_float(o->a[i]), ftz, 0),
                   MPFR_RNDN);
    if (*r && r[2] == 'i') mpfr_rint(x, x, direction_of(r));
    mpfr_set_emin(wide ? -1073 : -148), mpfr_set_emax(wide ? 1024 : 128);
    inexact = mpfr_set(p, x, direction_of(r));
    inexact = mpfr_check_range(p, inexact, direction_of(r));
    mpfr_subnormalize(p, inexact, direction_of(r));
    double v = mpfr_get_d(p, MPFR_RNDN);
    mpfr_clears(x, p, (mpfr_ptr)0);
    if (!wide) v = flush(v, ftz, 0);
    if (form_has(f, "sat")) v = !(v > 0) ? 0 : v < 1 ? v : 1;
    return (wanted){.bits = bits_of(v, wide), .number = d};
}

static wanted convert_reference(const form *f, const operands *o, size_t i)
{
    const char *d = form_type(f, 2), *t = form_type(f, 1);
    if (type_float(d)) return to_float(f, o, i);
    if (type_float(t)) {
        int wide = !strcmp(t, "f64");
        double x = wide ? as_double(o->a[i]) : flush(as_float(o->a[i]), form_has(f, "ftz"), 0);
        return to_integer(f, x, wide);
    }
    __int128 v = type_value(t, o->a[i]);
    int w = type_bits(d);
    if (form_has(f, "sat")) {
        __int128 hi = ((__int128)1 << (*d == 's' ? w - 1 : w)) - 1, lo = *d == 's' ? -hi - 1 : 0;
        v = v < lo ? lo : v > hi ? hi : v;
    }
    v = type_value(d, (uint64_t)v);
    return (wanted){.bits = w < 32 ? (uint32_t)v : type_mask(d, v)};
}

const family form_converts = {" cvt ", convert_code, convert_reference};
