/* ops.c - arithmetic, logic, comparison, moves: one row an opcode. Which
 * modifiers it may have is in forms.c. */
#include "emit.h"
#include <stdlib.h>
#include <string.h>

static const char *type_of(const stmt *s)
{
    return s->nmod ? s->mod[s->nmod - 1] : "";
}

/* rz, rm or rp when the instruction rounds in a direction, else NULL */
static const char *direction(const stmt *s)
{
    static const char *const d[] = {"rz", "rm", "rp"};
    for (int i = 0; i < 3; i++)
        if (has(s, d[i])) return d[i];
    return NULL;
}

/* x as .ftz has it; .f64 has that in approximations only */
static const char *flushed(emit *e, const stmt *s, const char *t, const char *x)
{
    if (!has(s, "ftz") || !is_float(t)) return x;
    return fmt(e, "%s(%s)", bits_of(t) == 64 ? "ftzd_" : "ftz_", x);
}

/* x with .ftz and .sat of the instruction applied; inputs are flushed by in(). */
static const char *result(emit *e, const stmt *s, const char *t, const char *x)
{
    x = flushed(e, s, t, x);
    if (has(s, "sat")) x = fmt(e, "%s(%s)", bits_of(t) == 64 ? "satd" : "satf", x);
    return x;
}

static const char *in(emit *e, const stmt *s, int i, const char *t)
{
    if (i >= s->narg) {
        refuse(e, "%d operands", s->narg);
        return "0";
    }
    return flushed(e, s, t, rd(e, s->arg[i], t));
}

static void put(emit *e, const stmt *s, const char *t, const char *x)
{
    if (!s->narg)
        refuse(e, "no destination");
    else
        wr(e, s->arg[0], t, result(e, s, t, x));
}

static const char *letter(const char *t)
{
    return bits_of(t) == 64 ? "d" : "f";
}

static void op_addsub(emit *e, const stmt *s)
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
        fprintf(e->out, "carry = (w_ >> %d) & 1; ", bits_of(t));
        put(e, s, u, fmt(e, "(%s)w_", ctype(u)));
    } else if (has(s, "sat")) {
        if (strcmp(t, "s32")) refuse(e, ".sat of .%s", t);
        wr(e, s->arg[0], t,
           fmt(e, "(int32_t)clamp_((int64_t)%s %c (int64_t)%s, INT32_MIN, INT32_MAX)", a, c, b));
    } else
        put(e, s, t, fmt(e, "(uint%d_t)%s %c (uint%d_t)%s", bits_of(t), a, c, bits_of(t), b));
}

/* addc subc madc: with the carry in, and out when .cc */
static void op_carry(emit *e, const stmt *s)
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
        fprintf(e->out, "%s w_ = (%s)%s %c %s %c carry", w, w, rd(e, s->arg[1], u), c,
                rd(e, s->arg[2], u), c);
    }
    fprintf(e->out, "; ");
    if (has(s, "cc")) fprintf(e->out, "carry = (w_ >> %d) & 1; ", bits_of(t));
    wr(e, s->arg[0], u, fmt(e, "(%s)w_", ctype(u)));
}

static void op_mul(emit *e, const stmt *s)
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

static void op_mul24(emit *e, const stmt *s)
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

static void op_div(emit *e, const stmt *s)
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

static void op_rem(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t), *b = in(e, s, 2, t);
    if (t[0] == 's')
        put(e, s, t, fmt(e, "rems%d(%s, %s)", bits_of(t), a, b));
    else
        put(e, s, t, fmt(e, "(%s == 0 ? %s : %s %% %s)", b, a, a, b));
}

static void op_logic(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = in(e, s, 1, t);
    if (!strcmp(s->op, "not"))
        put(e, s, t, fmt(e, "%s%s", strcmp(t, "pred") ? "~" : "!", a));
    else if (!strcmp(s->op, "cnot"))
        put(e, s, t, fmt(e, "%s == 0", a));
    else
        put(e, s, t,
            fmt(e, "%s %c %s", a,
                s->op[0] == 'a'   ? '&'
                : s->op[0] == 'o' ? '|'
                                  : '^',
                in(e, s, 2, t)));
}

static void op_shift(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = rd(e, s->arg[1], t), *n = rd(e, s->arg[2], "u32");
    if (!strcmp(s->op, "shl"))
        wr(e, s->arg[0], t, fmt(e, "shl%d(%s, %s)", bits_of(t), a, n));
    else
        wr(e, s->arg[0], t, fmt(e, "shr%c%d(%s, %s)", t[0] == 's' ? 's' : 'u', bits_of(t), a, n));
}

static void op_shf(emit *e, const stmt *s)
{
    if (s->narg != 4 || has(s, "l") == has(s, "r") || has(s, "wrap") == has(s, "clamp")) {
        refuse(e, "a form of shf");
        return;
    }
    wr(e, s->arg[0], "u32",
       fmt(e, "shf_%s%s(%s, %s, %s)", has(s, "l") ? "l" : "r", has(s, "clamp") ? "c" : "",
           rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"), rd(e, s->arg[3], "u32")));
}

static void op_minmax(emit *e, const stmt *s)
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

static void op_unary(emit *e, const stmt *s)
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

static void op_copysign(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    wr(e, s->arg[0], t,
       fmt(e, "copysign%s(%s, %s)", bits_of(t) == 64 ? "" : "f", rd(e, s->arg[2], t),
           rd(e, s->arg[1], t)));
}

static void op_testp(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = rd(e, s->arg[1], t), *x = NULL;
    if (has(s, "finite"))
        x = fmt(e, "isfinite(%s)", a);
    else if (has(s, "infinite"))
        x = fmt(e, "isinf(%s)", a);
    else if (has(s, "number"))
        x = fmt(e, "!isnan(%s)", a);
    else if (has(s, "notanumber"))
        x = fmt(e, "isnan(%s)", a);
    else if (has(s, "normal"))
        x = fmt(e, "isnormal(%s)", a);
    else if (has(s, "subnormal"))
        x = fmt(e, "(fpclassify(%s) == FP_SUBNORMAL)", a);
    if (x)
        wr(e, s->arg[0], "pred", x);
    else
        refuse(e, "a form of testp");
}

static void op_bits(emit *e, const stmt *s)
{
    const char *t = type_of(s), *o = s->op;
    int w = bits_of(t);
    const char *u = w == 64 ? "u64" : "u32", *ll = w == 64 ? "ll" : "", *a = rd(e, s->arg[1], u);
    if (!strcmp(o, "popc"))
        wr(e, s->arg[0], "u32", fmt(e, "__builtin_popcount%s(%s)", ll, a));
    else if (!strcmp(o, "clz"))
        wr(e, s->arg[0], "u32", fmt(e, "(%s ? __builtin_clz%s(%s) : %d)", a, ll, a, w));
    else if (!strcmp(o, "brev"))
        wr(e, s->arg[0], u, fmt(e, "brev%d(%s)", w, a));
    else if (!strcmp(o, "bfind"))
        wr(e, s->arg[0], "u32",
           fmt(e, "bfind_(%s, %d, %d, %d)", a, w, t[0] == 's', has(s, "shiftamt")));
    else if (!strcmp(o, "bfi"))
        wr(e, s->arg[0], u,
           fmt(e, "bfi%d(%s, %s, %s, %s)", w, a, rd(e, s->arg[2], u), rd(e, s->arg[3], "u32"),
               rd(e, s->arg[4], "u32")));
    else if (!strcmp(o, "bfe"))
        wr(e, s->arg[0], u,
           fmt(e, "(%s)bfe_(%s, %s, %s, %d, %d)", ctype(u), a, rd(e, s->arg[2], "u32"),
               rd(e, s->arg[3], "u32"), w, t[0] == 's'));
}

static void op_prmt(emit *e, const stmt *s)
{
    wr(e, s->arg[0], "u32",
       fmt(e, "prmt_(%s, %s, %s)", rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"),
           rd(e, s->arg[3], "u32")));
}

static void op_lop3(emit *e, const stmt *s)
{
    if (s->narg != 5)
        refuse(e, "lop3 with a predicate");
    else
        wr(e, s->arg[0], "u32",
           fmt(e, "lop3_(%s, %s, %s, %s)", rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"),
               rd(e, s->arg[3], "u32"), rd(e, s->arg[4], "u32")));
}

static void op_dp4a(emit *e, const stmt *s)
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

/* comparison of a and b under PTX's names; t decides between ordered and unordered */
const char *emit_compare(emit *e, const char *c, const char *t, const char *a, const char *b)
{
    static const char *const ordered[][2] = {{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="},
                                             {"gt", ">"},  {"ge", ">="}, {"lo", "<"}, {"ls", "<="},
                                             {"hi", ">"},  {"hs", ">="}};
    char base[4] = "";
    size_t n = strlen(c);
    int unordered = 0;
    if (is_float(t)) {
        if (!strcmp(c, "num")) return fmt(e, "!isunordered(%s, %s)", a, b);
        if (!strcmp(c, "nan")) return fmt(e, "isunordered(%s, %s)", a, b);
        unordered = n == 3 && c[2] == 'u';
    }
    snprintf(base, sizeof base, "%.*s", unordered ? 2 : 3, c);
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
        if (strcmp(ordered[i][0], base)) continue;
        const char *x = fmt(e, "(%s %s %s)", a, ordered[i][1], b);
        if (!is_float(t)) return x;
        if (unordered) return fmt(e, "(isunordered(%s, %s) || %s)", a, b, x);
        return !strcmp(base, "ne") ? fmt(e, "(!isunordered(%s, %s) && %s)", a, b, x) : x;
    }
    refuse(e, "comparison .%s", c);
    return "0";
}

static void op_setp(emit *e, const stmt *s)
{
    const char *t = type_of(s), *logic = NULL;
    if (s->nmod < 2) {
        refuse(e, "a comparison without type");
        return;
    }
    const char *x = emit_compare(e, s->mod[0], t, in(e, s, 1, t), in(e, s, 2, t)), *q = NULL;
    for (int i = 1; i < s->nmod; i++)
        if (!strcmp(s->mod[i], "and"))
            logic = "&";
        else if (!strcmp(s->mod[i], "or"))
            logic = "|";
        else if (!strcmp(s->mod[i], "xor"))
            logic = "^";
    if (logic && s->narg == 4)
        q = rd(e, s->arg[3], "pred");
    else if (logic || s->narg != 3)
        refuse(e, "%d operands", s->narg);
    if (!strcmp(s->op, "set")) {
        const char *d = s->mod[s->nmod - 2];
        wr(e, s->arg[0], d,
           is_float(d) ? fmt(e, "(%s%s%s) ? 1.0f : 0.0f", x, q ? logic : "", q ? q : "")
                       : fmt(e, "(%s%s%s) ? (%s)-1 : 0", x, q ? logic : "", q ? q : "", ctype(d)));
        return;
    }
    char *both = fmt(e, "%s", s->arg[0]), *bar = strchr(both, '|');
    fprintf(e->out, "int x_ = %s; ", x);
    if (bar) {
        *bar = 0;
        wr(e, bar + 1, "pred", q ? fmt(e, "!x_ %s %s", logic, q) : "!x_");
    }
    wr(e, both, "pred", q ? fmt(e, "x_ %s %s", logic, q) : "x_");
}

static void op_select(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    if (!strcmp(s->op, "selp")) {
        wr(e, s->arg[0], t,
           fmt(e, "%s ? %s : %s", rd(e, s->arg[3], "pred"), rd(e, s->arg[1], t),
               rd(e, s->arg[2], t)));
        return;
    }
    const char *d = s->nmod > 1 ? s->mod[s->nmod - 2] : "";
    wr(e, s->arg[0], d,
       fmt(e, "%s >= 0 ? %s : %s", rd(e, s->arg[3], t), rd(e, s->arg[1], d), rd(e, s->arg[2], d)));
}

static void op_mov(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    char *v[8];
    int w = bits_of(t), pack = *s->arg[1] == '{', unpack = !pack && *s->arg[0] == '{',
        n = pack || unpack ? split_vector(e, s->arg[pack], v) : 1;
    if ((pack || unpack) && (n == 0 || !ctype(fmt(e, "u%d", w / n)))) {
        refuse(e, "a vector of %d in .%s", n, t);
    } else if (pack) {
        const char *x = "0", *part = fmt(e, "u%d", w / n);
        for (int i = 0; i < n; i++)
            x = fmt(e, "%s | (uint64_t)%s << %d", x, rd(e, v[i], part), i * (w / n));
        wr(e, s->arg[0], fmt(e, "u%d", w), fmt(e, "(%s)", x));
    } else if (unpack) {
        const char *part = fmt(e, "u%d", w / n);
        fprintf(e->out, "uint64_t t_ = %s; ", rd(e, s->arg[1], fmt(e, "u%d", w)));
        for (int i = 0; i < n; i++)
            wr(e, v[i], part, fmt(e, "(%s)(t_ >> %d)", ctype(part), i * (w / n)));
    } else
        wr(e, s->arg[0], t, rd(e, s->arg[1], t));
}

static void op_cvta(emit *e, const stmt *s)
{
    const char *x = rd(e, s->arg[1], "u64");
    if (has(s, "shared"))
        x = fmt(e, "%s %c (uint64_t)(uintptr_t)C->shared", x, has(s, "to") ? '-' : '+');
    wr(e, s->arg[0], "u64", x);
}

static void op_isspacep(emit *e, const stmt *s)
{
    const char *a = rd(e, s->arg[1], "u64");
    if (has(s, "shared"))
        wr(e, s->arg[0], "pred",
           fmt(e, "(%s - (uint64_t)(uintptr_t)C->shared < C->shared_bytes)", a));
    else if (has(s, "global")) /* what no other window claims, as PTX says; C->bytes is 0 under
                                  OOMPROOF_SIM_CHECK */
        wr(e, s->arg[0], "pred",
           fmt(e,
               "(%s - (uint64_t)(uintptr_t)C->shared >= C->shared_bytes && %s - C->stack >= "
               "C->stack_bytes)",
               a, a));
    else if (has(s, "local"))
        wr(e, s->arg[0], "pred", fmt(e, "(%s - C->stack < C->stack_bytes)", a));
    else
        refuse(e, "a form of isspacep");
}

/* by opcode: how many operands (0: several numbers of them are right) */
static const struct {
    const char *op;
    int operands;
    void (*fn)(emit *, const stmt *);
} table[] = {
    {"add", 3, op_addsub},       {"sub", 3, op_addsub},        {"addc", 3, op_carry},
    {"subc", 3, op_carry},       {"madc", 4, op_carry},        {"mul", 3, op_mul},
    {"mad", 4, op_mul},          {"fma", 4, op_mul},           {"mul24", 3, op_mul24},
    {"mad24", 4, op_mul24},      {"div", 3, op_div},           {"rem", 3, op_rem},
    {"and", 3, op_logic},        {"or", 3, op_logic},          {"xor", 3, op_logic},
    {"not", 2, op_logic},        {"cnot", 2, op_logic},        {"shl", 3, op_shift},
    {"shr", 3, op_shift},        {"shf", 4, op_shf},           {"min", 3, op_minmax},
    {"max", 3, op_minmax},       {"neg", 2, op_unary},         {"abs", 2, op_unary},
    {"sqrt", 2, op_unary},       {"rcp", 2, op_unary},         {"rsqrt", 2, op_unary},
    {"ex2", 2, op_unary},        {"lg2", 2, op_unary},         {"sin", 2, op_unary},
    {"cos", 2, op_unary},        {"tanh", 2, op_unary},        {"copysign", 3, op_copysign},
    {"testp", 2, op_testp},      {"popc", 2, op_bits},         {"clz", 2, op_bits},
    {"brev", 2, op_bits},        {"bfind", 2, op_bits},        {"bfi", 5, op_bits},
    {"bfe", 4, op_bits},         {"prmt", 4, op_prmt},         {"lop3", 5, op_lop3},
    {"sad", 4, emit_rare},       {"dp2a", 4, emit_rare},       {"bmsk", 3, emit_rare},
    {"szext", 3, emit_rare},     {"vabsdiff4", 4, emit_rare},  {"fns", 4, emit_rare},
    {"alloca", 0, emit_rare},    {"dp4a", 4, op_dp4a},         {"setp", 0, op_setp},
    {"set", 0, op_setp},         {"selp", 4, op_select},       {"slct", 4, op_select},
    {"mov", 2, op_mov},          {"cvta", 2, op_cvta},         {"isspacep", 2, op_isspacep},
    {"cvt", 2, emit_convert},    {"ld", 2, emit_memory},       {"ldu", 2, emit_memory},
    {"st", 2, emit_memory},      {"atom", 0, emit_memory},     {"red", 2, emit_memory},
    {"bar", 0, emit_warp},       {"barrier", 0, emit_warp},    {"shfl", 0, emit_warp},
    {"vote", 0, emit_warp},      {"match", 0, emit_warp},      {"redux", 3, emit_warp},
    {"cp", 0, emit_async},       {"activemask", 1, emit_warp}, {"membar", 0, emit_warp},
    {"fence", 0, emit_warp},     {"nanosleep", 1, emit_warp},  {"prefetch", 1, emit_warp},
    {"prefetchu", 1, emit_warp},
};

void emit_instruction(emit *e, const stmt *s)
{
    int half = 0;
    if (!form_known(e, s)) return;
    for (int i = 0; i < s->nmod; i++) half |= is_half(s->mod[i]);
    if (half && strcmp(s->op, "atom") && strcmp(s->op, "red")) {
        emit_half(e, s);
        return;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, s->op)) continue;
        if (table[i].operands && s->narg != table[i].operands) {
            refuse(e, "%d operands instead of %d", s->narg, table[i].operands);
            return;
        }
        table[i].fn(e, s);
        return;
    }
    refuse(e, "opcode %s", s->op);
}
