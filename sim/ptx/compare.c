/* compare.c - comparison, selection and moves: predicates, and values that are passed on as they
 * are. */
#include "ops.h"
#include <string.h>

void op_testp(emit *e, const stmt *s)
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

void op_setp(emit *e, const stmt *s)
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
        if (q) { /* it may be one of those that are written */
            fprintf(e->out, "int q_ = (%s) != 0; ", q);
            q = "q_";
        }
        wr(e, bar + 1, "pred", q ? fmt(e, "!x_ %s %s", logic, q) : "!x_");
    }
    wr(e, both, "pred", q ? fmt(e, "x_ %s %s", logic, q) : "x_");
}

void op_select(emit *e, const stmt *s)
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

void op_mov(emit *e, const stmt *s)
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

void op_cvta(emit *e, const stmt *s)
{
    const char *x = rd(e, s->arg[1], "u64");
    if (has(s, "shared"))
        x = fmt(e, "%s %c (uint64_t)(uintptr_t)C->shared", x, has(s, "to") ? '-' : '+');
    wr(e, s->arg[0], "u64", x);
}

void op_isspacep(emit *e, const stmt *s)
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
