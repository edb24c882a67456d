/* bits.c - logic, shifts, fields and counts of bits. */
#include "ops.h"
#include <string.h>

void op_logic(emit *e, const stmt *s)
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

void op_shift(emit *e, const stmt *s)
{
    const char *t = type_of(s), *a = rd(e, s->arg[1], t), *n = rd(e, s->arg[2], "u32");
    if (!strcmp(s->op, "shl"))
        wr(e, s->arg[0], t, fmt(e, "shl%d(%s, %s)", bits_of(t), a, n));
    else
        wr(e, s->arg[0], t, fmt(e, "shr%c%d(%s, %s)", t[0] == 's' ? 's' : 'u', bits_of(t), a, n));
}

void op_shf(emit *e, const stmt *s)
{
    if (s->narg != 4 || has(s, "l") == has(s, "r") || has(s, "wrap") == has(s, "clamp")) {
        refuse(e, "a form of shf");
        return;
    }
    wr(e, s->arg[0], "u32",
       fmt(e, "shf_%s%s(%s, %s, %s)", has(s, "l") ? "l" : "r", has(s, "clamp") ? "c" : "",
           rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"), rd(e, s->arg[3], "u32")));
}

void op_bits(emit *e, const stmt *s)
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

/* A mode is the general form with one of four selectors. */
void op_prmt(emit *e, const stmt *s)
{
    static const struct {
        const char *name;
        uint64_t selectors; /* the first in the lowest 16 bits */
    } mode[] = {{"f4e", 0x6543543243213210}, {"b4e", 0x0123701267015670},
                {"rc8", 0x3333222211110000}, {"ecl", 0x3333322232113210},
                {"ecr", 0x3210221011100000}, {"rc16", 0x3232101032321010}};
    const char *select = rd(e, s->arg[3], "u32");
    for (size_t i = 0; i < sizeof mode / sizeof *mode; i++)
        if (has(s, mode[i].name))
            select = fmt(e, "(uint32_t)(UINT64_C(0x%llx) >> 16 * (%s & 3))",
                         (unsigned long long)mode[i].selectors, select);
    wr(e, s->arg[0], "u32",
       fmt(e, "prmt_(%s, %s, %s)", rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"), select));
}

void op_lop3(emit *e, const stmt *s)
{
    if (s->narg != 5)
        refuse(e, "lop3 with a predicate");
    else
        wr(e, s->arg[0], "u32",
           fmt(e, "lop3_(%s, %s, %s, %s)", rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"),
               rd(e, s->arg[3], "u32"), rd(e, s->arg[4], "u32")));
}
