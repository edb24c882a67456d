/* arithmetic.c - sums, products, quotients, extremes and functions of one operand, of integers and
 * floats. */
#include "ops.h"
#include <string.h>

static const char *letter(const char *t)
{
    return bits_of(t) == 64 ? "d" : "f";
}

void op_addsub(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *b = in(e, s, 2, t), *d = direction(s);
    char c = s->op[0] == 'a' ? '+' : '-';
    if (is_float(t)) {
        if (d)
            put(e, s, t, fmt(e, "add%s_%s(%s, %s%s, 0)", letter(t), d, a, c == '-' ? "-" : "", b));
        else
            put(e, s, t, fmt(e, "%s %c %s", a, c, b));
    } else if (has(s, "cc")) {
        const char *u = bits_of(t) == 64 ? "u64" : "u32",
                   *w = bits_of(t) == 64 ? "unsigned __int128" : "uint64_t";
        fprintf(e->out, "%s w_ = (%s)%s %c %s; ", w, w, rd(e, s->arg[1], u), c,
                rd(e, s->arg[2], u));
        fprintf(e->out, "carry = %s(w_ >> %d) & 1; ", c == '-' ? "~" : "", bits_of(t));
        put(e, s, u, fmt(e, "(%s)w_", ctype(u)));
    } else if (has(s, "sat")) {
        if (strcmp(t, "s32")) refuse(e, ".sat of .%s", t);
        wr(e, s->arg[0], t,
           fmt(e, "(int32_t)clamp_((int64_t)%s %c (int64_t)%s, INT32_MIN, INT32_MAX)", a, c, b));
    } else
        put(e, s, t, fmt(e, "(uint%d_t)%s %c (uint%d_t)%s", bits_of(t), a, c, bits_of(t), b));
}

/* addc subc madc: with the carry in, and out when .cc. After a subtraction the flag is the carry of
 * a + ~b + 1, so 1 where nothing was borrowed: nvcc divides 128-bit integers by sub.cc and addc. */
void op_carry(emit *e, const stmt *s)
{
    const char *t = type_of(s), *u = bits_of(t) == 64 ? "u64" : "u32";
    const char *w = bits_of(t) == 64 ? "unsigned __int128" : "uint64_t";
    int mad = s->op[0] == 'm';
    if (mad) {
        const char *sign = has(s, "hi") ? t : u;
        const char *ww = bits_of(t) == 64 ? (sign[0] == 's' ? "__int128" : "unsigned __int128")
                                          : (sign[0] == 's' ? "int64_t" : "uint64_t");
        fprintf(e->out, "%s p_ = (%s)%s * %s; ", ww, ww, rd(e, s->arg[1], sign),
                rd(e, s->arg[2], sign));
        fprintf(e->out, "%s w_ = (%s)(%s)(p_%s) + %s", w, w, ctype(u),
                has(s, "hi") ? fmt(e, " >> %d", bits_of(t)) : "", rd(e, s->arg[3], u));
        if (!strcmp(s->op, "madc")) fprintf(e->out, " + carry");
    } else {
        char c = s->op[0] == 'a' ? '+' : '-';
        fprintf(e->out, "%s w_ = (%s)%s %c %s %c %scarry", w, w, rd(e, s->arg[1], u), c,
                rd(e, s->arg[2], u), c, c == '-' ? "!" : "");
    }
    fprintf(e->out, "; ");
    if (has(s, "cc"))
        fprintf(e->out, "carry = %s(w_ >> %d) & 1; ", s->op[0] == 's' ? "~" : "", bits_of(t));
    wr(e, s->arg[0], u, fmt(e, "(%s)w_", ctype(u)));
}

void op_mul(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a, *b, *d = direction(s);
    int w = bits_of(t), mad = s->op[1] == 'a', fma = s->op[0] == 'f';
    if (has(s, "cc")) {
        op_carry(e, s);
        return;
    }
    a = in(e, s, 1, t);
    b = in(e, s, 2, t);
    if (is_float(t)) {
        if (mad || fma) {
            const char *c = in(e, s, 3, t);
            if (d)
                put(e, s, t, fmt(e, "fma%s__%s(%s, %s, %s)", letter(t), d, a, b, c));
            else
                put(e, s, t, fmt(e, "__builtin_fma%s(%s, %s, %s)", w == 32 ? "f" : "", a, b, c));
        } else if (d)
            put(e, s, t, fmt(e, "mul%s_%s(%s, %s, 0)", letter(t), d, a, b));
        else
            put(e, s, t, fmt(e, "%s * %s", a, b));
        return;
    }
    if (has(s, "sat")) refuse(e, ".sat of an integer product");
    const char *wide = t[0] == 's' ? (w == 64 ? "__int128" : "int64_t")
                       : w == 64   ? "unsigned __int128"
                                   : "uint64_t";
    if (has(s, "wide")) {
        const char *dt = fmt(e, "%c%d", t[0], 2 * w);
        wr(e, s->arg[0], dt,
           fmt(e, "(%s)%s * (%s)%s%s", wide, a, wide, b,
               mad ? fmt(e, " + %s", rd(e, s->arg[3], dt)) : ""));
    } else if (has(s, "hi"))
        wr(e, s->arg[0], t,
           fmt(e, "(%s)((%s)%s * (%s)%s >> %d)%s", ctype(t), wide, a, wide, b, w,
               mad ? fmt(e, " + %s", rd(e, s->arg[3], t)) : ""));
    else if (has(s, "lo"))
        wr(e, s->arg[0], t,
           fmt(e, "(uint64_t)%s * (uint64_t)%s%s", a, b,
               mad ? fmt(e, " + (uint64_t)%s", rd(e, s->arg[3], t)) : ""));
    else
        refuse(e, "an integer product needs .lo, .hi or .wide");
}

void op_mul24(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    int sign = t[0] == 's', mad = s->op[1] == 'a';
    const char *half =
        sign ? "((int64_t)((int32_t)(%s << 8) >> 8))" : "((uint64_t)(%s & 0xffffffu))";
    char f[128];
    const char *x[2];
    for (int i = 0; i < 2; i++) {
        snprintf(f, sizeof f, "%.*s%s%s", (int)(strstr(half, "%s") - half), half,
                 rd(e, s->arg[1 + i], "u32"), strstr(half, "%s") + 2);
        x[i] = fmt(e, "%s", f);
    }
    wr(e, s->arg[0], t,
       fmt(e, "(%s)((%s * %s)%s)%s", ctype(t), x[0], x[1], has(s, "hi") ? " >> 16" : "",
           mad ? fmt(e, " + %s", rd(e, s->arg[3], t)) : ""));
}

void op_div(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *b = in(e, s, 2, t), *d = direction(s);
    if (is_float(t))
        put(e, s, t,
            d ? fmt(e, "div%s_%s(%s, %s, 0)", letter(t), d, a, b) : fmt(e, "%s / %s", a, b));
    else if (t[0] == 's')
        put(e, s, t, fmt(e, "divs%d(%s, %s)", bits_of(t), a, b));
    else
        put(e, s, t, fmt(e, "DIVU(%s, %s, (%s)-1)", a, b, ctype(t)));
}

void op_rem(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *b = in(e, s, 2, t);
    if (t[0] == 's')
        put(e, s, t, fmt(e, "rems%d(%s, %s)", bits_of(t), a, b));
    else
        put(e, s, t, fmt(e, "(%s == 0 ? %s : %s %% %s)", b, a, a, b));
}

void op_minmax(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *b = in(e, s, 2, t);
    int min = s->op[1] == 'i';
    if (is_float(t)) {
        const char *x = fmt(e, "%s%s_(%s, %s)", s->op, letter(t), a, b);
        if (has(s, "NaN")) x = fmt(e, "(isunordered(%s, %s) ? NAN : %s)", a, b, x);
        put(e, s, t, x);
    } else
        put(e, s, t, fmt(e, "%s %c %s ? %s : %s", a, min ? '<' : '>', b, a, b));
}

void op_unary(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *f = bits_of(t) == 64 ? "" : "f",
               *d = direction(s);
    const char *o = s->op;
    if (!strcmp(o, "neg"))
        put(e, s, t, is_float(t) ? fmt(e, "-%s", a) : fmt(e, "-(uint64_t)%s", a));
    else if (!strcmp(o, "abs"))
        put(e, s, t,
            is_float(t) ? fmt(e, "fabs%s(%s)", f, a) : fmt(e, "(%s < 0 ? -%s : %s)", a, a, a));
    else if (!strcmp(o, "sqrt"))
        put(e, s, t,
            d ? fmt(e, "sqrt%s__%s(%s, 0, 0)", letter(t), d, a)
              : fmt(e, "__builtin_sqrt%s(%s)", f, a));
    else if (!strcmp(o, "rcp"))
        put(e, s, t, d ? fmt(e, "div%s_%s(1, %s, 0)", letter(t), d, a) : fmt(e, "1 / %s", a));
    else if (!strcmp(o, "rsqrt"))
        put(e, s, t, fmt(e, "1 / __builtin_sqrt%s(%s)", f, a));
    else if (!strcmp(o, "ex2"))
        put(e, s, t, fmt(e, "exp2%s(%s)", f, a));
    else if (!strcmp(o, "lg2"))
        put(e, s, t, fmt(e, "log2%s(%s)", f, a));
    else
        put(e, s, t, fmt(e, "%s%s(%s)", o, f, a)); /* sin cos tanh */
}

void op_copysign(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    wr(e, s->arg[0], t,
       fmt(e, "copysign%s(%s, %s)", bits_of(t) == 64 ? "" : "f", rd(e, s->arg[2], t),
           rd(e, s->arg[1], t)));
}

void op_dp4a(emit *e, const stmt *s)
{
    /* d = c + sum of four byte products; types of a and b are the two last modifiers */
    if (s->nmod != 2) {
        refuse(e, "a form of dp4a");
        return;
    }
    const char *ca = s->mod[0][0] == 's' ? "int8_t" : "uint8_t",
               *cb = s->mod[1][0] == 's' ? "int8_t" : "uint8_t";
    fprintf(e->out,
            "int32_t d_ = %s; for (int i = 0; i < 4; i++) d_ += (int32_t)(%s)(%s >> 8 * i) * "
            "(int32_t)(%s)(%s >> 8 * i); ",
            rd(e, s->arg[3], "s32"), ca, rd(e, s->arg[1], "u32"), cb, rd(e, s->arg[2], "u32"));
    wr(e, s->arg[0], "s32", "d_");
}
