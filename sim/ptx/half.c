/* half.c - f16, bf16 and pairs of them: one row an opcode (modifiers: forms.c). The
 * arithmetic is in half.h; here each half of a register is taken out, worked on and put back. */
#include "emit.h"
#include <string.h>

#define ONE(t) ((t)[0] == 'b' ? 0x3f80 : 0x3c00)

int is_half(const char *t)
{
    return !strcmp(t, "f16") || !strcmp(t, "bf16") || !strcmp(t, "f16x2") || !strcmp(t, "bf16x2");
}

static int is_pair(const char *t)
{
    return bits_of(t) == 32;
}

/* bits behind the point */
static int digits(const char *t)
{
    return t[0] == 'b' ? 7 : 10;
}

static const char *bits(const char *t)
{
    return is_pair(t) ? "b32" : "b16";
}

static const char *flags_of(emit *e, const stmt *s)
{
    static const char *const names[][2] = {{"ftz", "H_FTZ"},         {"sat", "H_SAT"},
                                           {"relu", "H_RELU"},       {"NaN", "H_NAN"},
                                           {"xorsign", "H_XORSIGN"}, {"satfinite", "H_FINITE"}};
    const char *f = "0";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (has(s, names[i][0])) f = fmt(e, "%s | %s", f, names[i][1]);
    return f;
}

/* The operands from `from` on as a_, b_, c_; x_(i) of them are their halves. */
static void operands(emit *e, const stmt *s, int from, int n, const char *t)
{
    for (int i = 0; i < n; i++)
        fprintf(e->out, "uint32_t %c_ = %s; ", 'a' + i, rd(e, s->arg[from + i], bits(t)));
}

/* d_ = f(halves of a_, b_ ...), each half by itself */
static void by_halves(emit *e, const char *t, const char *f, int n, const char *flags)
{
    fprintf(e->out, "uint32_t d_ = 0; for (int i_ = 0; i_ < %d; i_ += 16) d_ |= (uint32_t)%s(",
            bits_of(t), f);
    for (int i = 0; i < n; i++) fprintf(e->out, "%c_ >> i_ & 0xffff, ", 'a' + i);
    fprintf(e->out, "%d, %s) << i_; ", digits(t), flags);
}

static void arithmetic(emit *e, const stmt *s, const char *t)
{
    int n = s->narg - 1;
    if (has(s, "xorsign") != has(s, "abs")) {
        refuse(e, ".xorsign and .abs stand together");
        return;
    }
    operands(e, s, 1, n, t);
    by_halves(e, t, fmt(e, "h_%s", s->op), n, flags_of(e, s));
    wr(e, s->arg[0], bits(t), "d_");
}

/* fma.oob, mixed types and all else that has another meaning is in no row and so refused. */
static void arithmetic_or_refuse(emit *e, const stmt *s, const char *t)
{
    int half = 0;
    for (int i = 0; i < s->nmod; i++) half += is_half(s->mod[i]);
    if (half != 1)
        refuse(e, "%d types of %s", half, s->op);
    else if (has(s, "sat") && has(s, "relu"))
        refuse(e, ".sat with .relu");
    else if (t[0] == 'b' && (has(s, "sat") || (has(s, "ftz") && strcmp(s->op, "ex2"))))
        refuse(e, ".sat or .ftz of .%s", t);
    else
        arithmetic(e, s, t);
}

/* Function h_add of an atomic: the new contents from o_ and v_. */
const char *half_sum(emit *e, const char *t)
{
    e->half = 1;
    const char *low = fmt(e, "h_add(o_ & 0xffff, v_ & 0xffff, %d, 0)", digits(t));
    return is_pair(t) ? fmt(e, "%s | h_add(o_ >> 16, v_ >> 16, %d, 0) << 16", low, digits(t)) : low;
}

static void approximate(emit *e, const stmt *s, const char *t)
{
    if (s->op[0] == 'e' && has(s, "ftz") != (t[0] == 'b')) /* ex2 of bf16 always flushes */
        refuse(e, "ex2 of .%s %s .ftz", t, has(s, "ftz") ? "with" : "without");
    else
        arithmetic_or_refuse(e, s, t);
}

/* ---- conversions ---- */
static const char *rounding(const stmt *s)
{
    for (int i = 0; i < s->nmod - 2; i++)
        if (s->mod[i][0] == 'r' && strcmp(s->mod[i], "relu")) return s->mod[i];
    return NULL;
}

static const char *whole(emit *e, const char *r, const char *x)
{
    static const char *const how[][2] = {
        {"rni", "rint"}, {"rzi", "trunc"}, {"rmi", "floor"}, {"rpi", "ceil"}};
    for (int i = 0; i < 4; i++)
        if (r && !strcmp(r, how[i][0])) return fmt(e, "%s(%s)", how[i][1], x);
    refuse(e, "a conversion to whole numbers needs a rounding to them");
    return x;
}

/* One operand of type t as a half of type d. */
static const char *narrowed(emit *e, const stmt *s, const char *o, const char *d, const char *t)
{
    static const char *const how[][2] = {
        {"rn", "H_RN"}, {"rz", "H_RZ"}, {"rm", "H_RM"}, {"rp", "H_RP"}};
    const char *x = rd(e, o, is_half(t) ? "b16" : t), *r = rounding(s), *mode = NULL;
    for (int i = 0; i < 4; i++)
        if (r && !strcmp(r, how[i][0])) mode = how[i][1];
    if (!mode) refuse(e, "a conversion to .%s needs a rounding", d);
    if (is_half(t))
        x = fmt(e, "h2d(%s, %d)", x, digits(t));
    else if (!is_float(t))
        x = fmt(e, "h_odd_integer((uint64_t)%s, %s < 0)", x, x);
    else if (has(s, "ftz"))
        x = fmt(e, "ftz_(%s)", x);
    /* .ftz is about the f32; a half keeps its small numbers */
    return fmt(e, "h_out(%s, %d, %s, (%s) & ~H_FTZ)", x, digits(d), mode, flags_of(e, s));
}

static void convert(emit *e, const stmt *s, const char *t)
{
    const char *d = s->nmod > 1 ? s->mod[s->nmod - 2] : "", *x;
    int f32 = !strcmp(t, "f32") || !strcmp(d, "f32"), pair = bits_of(d) == 32 && is_half(d);
    if (s->narg != 2 + pair || (pair && strcmp(t, "f32")) || (is_half(t) && is_pair(t)) ||
        (!f32 && has(s, "ftz")) || ((has(s, "relu") || has(s, "satfinite")) && strcmp(t, "f32")) ||
        (has(s, "sat") && has(s, "relu"))) {
        refuse(e, "conversion of .%s to .%s with these modifiers", t, d);
    } else if (pair)
        wr(e, s->arg[0], "b32",
           fmt(e, "%s << 16 | %s", narrowed(e, s, s->arg[1], d, t),
               narrowed(e, s, s->arg[2], d, t)));
    else if (is_half(d) && strcmp(d, t))
        wr(e, s->arg[0], "b16", narrowed(e, s, s->arg[1], d, t));
    else {
        x = fmt(e, "h2d(%s, %d)", rd(e, s->arg[1], "b16"), digits(t));
        if (is_half(d)) {
            if (rounding(s) || !has(s, "sat")) x = whole(e, rounding(s), x);
            wr(e, s->arg[0], "b16",
               fmt(e, "h_out(%s, %d, H_RN, %s)", x, digits(d), flags_of(e, s)));
        } else if (is_float(d)) {
            if (rounding(s)) refuse(e, "a rounding where nothing is rounded");
            if (f32) x = fmt(e, "h2f(%s, %d)", rd(e, s->arg[1], "b16"), digits(t));
            if (has(s, "ftz")) x = fmt(e, "ftz_(%s)", x);
            if (has(s, "sat")) x = fmt(e, "%s(%s)", f32 ? "satf" : "satd", x);
            wr(e, s->arg[0], d, x);
        } else
            wr(e, s->arg[0], d, fmt(e, "cvt_%c%d(%s)", d[0], bits_of(d), whole(e, rounding(s), x)));
    }
}

/* ---- comparisons ---- */
/* x_ of the lower, y_ of the upper half, with the boolean operation applied */
static int compared(emit *e, const stmt *s, const char *t)
{
    static const char *const logic[][2] = {{"and", "&"}, {"or", "|"}, {"xor", "^"}};
    const char *with = NULL, *f = has(s, "ftz") ? "H_FTZ" : "0";
    for (int i = 1; i < s->nmod; i++)
        for (int k = 0; k < 3; k++)
            if (!strcmp(s->mod[i], logic[k][0])) with = logic[k][1];
    if (s->narg != 3 + !!with || (has(s, "ftz") && t[0] == 'b')) {
        refuse(e, "a comparison of .%s with these modifiers and %d operands", t, s->narg);
        return 0;
    }
    operands(e, s, 1, 2, t);
    for (int i = 0; i <= is_pair(t); i++) {
        const char *a = fmt(e, "h_in(a_ >> %d & 0xffff, %d, %s)", 16 * i, digits(t), f),
                   *b = fmt(e, "h_in(b_ >> %d & 0xffff, %d, %s)", 16 * i, digits(t), f);
        fprintf(e->out, "int %c_ = %s%s%s; ", 'x' + i, emit_compare(e, s->mod[0], "f64", a, b),
                with ? with : "", with ? rd(e, s->arg[3], "pred") : "");
    }
    return 1;
}

static void predicate(emit *e, const stmt *s, const char *t)
{
    char *d = fmt(e, "%s", s->arg[0]), *bar = strchr(d, '|');
    if (!bar != !is_pair(t) || (s->nmod > 1 && is_half(s->mod[s->nmod - 2])))
        refuse(e, "destination %s for .%s", d, t);
    else if (compared(e, s, t)) {
        if (bar) *bar = 0;
        wr(e, d, "pred", "x_");
        if (bar) wr(e, bar + 1, "pred", "y_");
    }
}

static void set(emit *e, const stmt *s, const char *t)
{
    const char *d = s->nmod > 2 ? s->mod[s->nmod - 2] : "";
    if (!is_half(t) || (is_half(d) ? strcmp(d, t) : is_pair(t) && bits_of(d) != 32))
        refuse(e, "a comparison of .%s into .%s", t, d);
    else if (is_half(d) && compared(e, s, t))
        wr(e, s->arg[0], bits(t),
           fmt(e, "%s(x_ ? %d : 0)",
               is_pair(t) ? fmt(e, "(uint32_t)(y_ ? %d : 0) << 16 | ", ONE(t)) : "", ONE(t)));
    else if (!is_half(d) && compared(e, s, t))
        wr(e, s->arg[0], fmt(e, "u%d", bits_of(d)),
           is_pair(t) ? "(y_ ? 0xffff0000u : 0) | (x_ ? 0xffffu : 0)" : "-(x_ != 0)");
}

static const struct {
    const char *op;
    int operands;
    void (*fn)(emit *, const stmt *, const char *);
} table[] = {
    {"add", 3, arithmetic_or_refuse},
    {"sub", 3, arithmetic_or_refuse},
    {"mul", 3, arithmetic_or_refuse},
    {"fma", 4, arithmetic_or_refuse},
    {"neg", 2, arithmetic_or_refuse},
    {"abs", 2, arithmetic_or_refuse},
    {"min", 3, arithmetic_or_refuse},
    {"max", 3, arithmetic_or_refuse},
    {"ex2", 2, approximate},
    {"tanh", 2, approximate},
    {"cvt", 0, convert},
    {"setp", 0, predicate},
    {"set", 0, set},
};

void emit_half(emit *e, const stmt *s)
{
    const char *t = s->mod[s->nmod - 1];
    e->half = 1;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].op, s->op)) continue;
        if (!is_half(t) && strcmp(s->op, "cvt"))
            refuse(e, "%s of .%s", s->op, t);
        else if (table[i].operands && s->narg != table[i].operands)
            refuse(e, "%d operands instead of %d", s->narg, table[i].operands);
        else
            table[i].fn(e, s, t);
        return;
    }
    refuse(e, "%s of .%s", s->op, t);
}
