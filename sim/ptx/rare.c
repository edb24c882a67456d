/* rare.c - instructions that few kernels use: sums of differences, 16-bit dot products, masks of
 * bits, the n-th of them, bytes side by side, memory of a size known late. */
#include "emit.h"
#include <stdlib.h>
#include <string.h>

/* d = c + |a - b|, in the width of the type */
static void sad(emit *e, const stmt *s)
{
    const char *t = s->nmod == 1 ? s->mod[0] : "u32";
    fprintf(e->out, "%s a_ = %s, b_ = %s; ", ctype(t), rd(e, s->arg[1], t), rd(e, s->arg[2], t));
    wr(e, s->arg[0], t,
       fmt(e, "%s + (a_ < b_ ? (uint64_t)b_ - (uint64_t)a_ : (uint64_t)a_ - (uint64_t)b_)",
           rd(e, s->arg[3], t)));
}

/* d = c + two products: halves of a, bytes 0 and 1 of b with .lo, 2 and 3 with .hi */
static void dp2a(emit *e, const stmt *s)
{
    if (s->nmod != 3) {
        refuse(e, "a form of dp2a");
        return;
    }
    fprintf(e->out,
            "int32_t d_ = %s; for (int i = 0; i < 2; i++) d_ += (int32_t)(%s)(%s >> 16 * i) * "
            "(int32_t)(%s)(%s >> (8 * i + %d)); ",
            rd(e, s->arg[3], "s32"), s->mod[1][0] == 's' ? "int16_t" : "uint16_t",
            rd(e, s->arg[1], "u32"), s->mod[2][0] == 's' ? "int8_t" : "uint8_t",
            rd(e, s->arg[2], "u32"), has(s, "hi") ? 16 : 0);
    wr(e, s->arg[0], "s32", "d_");
}

/* b ones from bit a on; sizes above 32 are taken as 32 or modulo 32 */
static void bmsk(emit *e, const stmt *s)
{
    const char *limit = has(s, "clamp") ? "(%s > 32 ? 32 : %s)" : "(%s & 31)";
    const char *a = rd(e, s->arg[1], "u32"), *b = rd(e, s->arg[2], "u32");
    fprintf(e->out, "uint64_t a_ = ");
    fprintf(e->out, limit, a, a);
    fprintf(e->out, ", b_ = ");
    fprintf(e->out, limit, b, b);
    fprintf(e->out, "; ");
    wr(e, s->arg[0], "u32", "(uint32_t)((((uint64_t)1 << b_) - 1) << a_)");
}

/* the low b bits of a, extended by zeros or by the highest of them */
static void szext(emit *e, const stmt *s)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "u32", *b = rd(e, s->arg[2], "u32");
    fprintf(e->out, "uint32_t b_ = %s, a_ = %s; ",
            has(s, "clamp") ? fmt(e, "%s > 32 ? 32 : %s", b, b) : fmt(e, "%s & 31", b),
            rd(e, s->arg[1], "u32"));
    wr(e, s->arg[0], t,
       fmt(e, "b_ ? (uint32_t)((%s)(a_ << (32 - b_)) >> (32 - b_)) : 0",
           t[0] == 's' ? "int32_t" : "uint32_t"));
}

/* differences of four bytes; with .add their sum and c */
static void vabsdiff4(emit *e, const stmt *s)
{
    int add = has(s, "add");
    if (s->nmod != 3 + add) {
        refuse(e, "a form of vabsdiff4");
        return;
    }
    fprintf(e->out,
            "uint32_t d_ = %s; for (int i = 0; i < 32; i += 8) { int x_ = (%s)(%s >> i) - (%s)(%s "
            ">> i); d_ += (uint32_t)(x_ < 0 ? -x_ : x_)%s; } ",
            add ? rd(e, s->arg[3], "u32") : "0", s->mod[1][0] == 's' ? "int8_t" : "uint8_t",
            rd(e, s->arg[1], "u32"), s->mod[2][0] == 's' ? "int8_t" : "uint8_t",
            rd(e, s->arg[2], "u32"), add ? "" : " % 256 << i");
    wr(e, s->arg[0], "u32", "d_");
}

/* where the n-th one is, upwards from `base`, or downwards for n < 0; n = 0: is there one at base?
 */
static void fns(emit *e, const stmt *s)
{
    fprintf(e->out,
            "uint32_t a_ = %s, d_ = ~0u; int64_t at_ = %s, n_ = %s, step_ = n_ < 0 ? -1 : 1; "
            "n_ = n_ < 0 ? -n_ : n_; if (n_ == 0) { if (at_ < 32 && a_ >> at_ & 1) d_ = "
            "(uint32_t)at_; } else for (; at_ >= 0 && at_ < 32; at_ += step_) if (a_ >> at_ & 1 && "
            "--n_ == 0) { d_ = (uint32_t)at_; break; } ",
            rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"), rd(e, s->arg[3], "s32"));
    wr(e, s->arg[0], "u32", "d_");
}

void emit_rare(emit *e, const stmt *s)
{
    if (!strcmp(s->op, "sad"))
        sad(e, s);
    else if (!strcmp(s->op, "dp2a"))
        dp2a(e, s);
    else if (!strcmp(s->op, "bmsk"))
        bmsk(e, s);
    else if (!strcmp(s->op, "szext"))
        szext(e, s);
    else if (!strcmp(s->op, "vabsdiff4"))
        vabsdiff4(e, s);
    else if (!strcmp(s->op, "fns"))
        fns(e, s);
    else if (s->narg != 3 || strtoul(s->arg[2], NULL, 10) > 16)
        refuse(e, "a form of alloca");
    else /* given back when the function returns */
        wr(e, s->arg[0], "u64",
           fmt(e, "(uint64_t)(uintptr_t)__builtin_alloca_with_align(%s, 128)",
               rd(e, s->arg[1], "u64")));
}
