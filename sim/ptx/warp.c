/* warp.c - threads that meet: barriers of a block, and everything warp-wide. */
#include "emit.h"
#include <string.h>

static void barrier(emit *e, const stmt *s)
{
    int red = has(s, "red"), arrive = has(s, "arrive"), first = red, part = s->narg - 2 * red == 2;
    e->barriers = 1;
    if (has(s, "warp")) {
        fprintf(e->out, "int p_; C->rt->warp(C, SIM_SYNCWARP, %s, 0, 0, 0, &p_);",
                rd(e, s->arg[0], "u32"));
        return;
    }
    if (s->narg - 2 * red < 1 || s->narg - 2 * red > 2 || (arrive && !part)) {
        refuse(e, "a form of bar");
        return;
    }
    const char *op = arrive           ? "ARRIVE"
                     : !red           ? "OR"
                     : has(s, "popc") ? "POPC"
                     : has(s, "and")  ? "AND"
                                      : "OR";
    const char *call =
        fmt(e, "C->rt->barrier(C, %s, %s, SIM_BAR_%s, %s)", rd(e, s->arg[first], "u32"),
            part ? rd(e, s->arg[first + 1], "u32") : "0", op,
            red ? rd(e, s->arg[s->narg - 1], "pred") : "0");
    if (red)
        wr(e, s->arg[0], has(s, "popc") ? "u32" : "pred", call);
    else
        fprintf(e->out, "%s;", call);
}

static void shuffle(emit *e, const stmt *s)
{
    static const char *const modes[][2] = {
        {"idx", "IDX"}, {"up", "UP"}, {"down", "DOWN"}, {"bfly", "BFLY"}};
    const char *mode = NULL;
    e->barriers = 1;
    for (int i = 0; i < 4; i++)
        if (has(s, modes[i][0])) mode = modes[i][1];
    if (!mode || s->narg != 5) {
        refuse(e, "a form of shfl");
        return;
    }
    char *d = fmt(e, "%s", s->arg[0]), *bar = strchr(d, '|');
    if (bar) *bar = 0;
    fprintf(e->out, "int p_; uint64_t w_ = C->rt->warp(C, SIM_SHFL_%s, %s, %s, %s, %s, &p_); ",
            mode, rd(e, s->arg[4], "u32"), rd(e, s->arg[1], "u32"), rd(e, s->arg[2], "u32"),
            rd(e, s->arg[3], "u32"));
    wr(e, d, "u32", "(uint32_t)w_");
    if (bar) wr(e, bar + 1, "pred", "p_");
}

static void vote(emit *e, const stmt *s)
{
    e->barriers = 1;
    if (s->narg != 3) {
        refuse(e, "a form of vote");
        return;
    }
    fprintf(e->out,
            "int p_; uint32_t w_ = (uint32_t)C->rt->warp(C, SIM_BALLOT, %s, %s, 0, 0, &p_); ",
            rd(e, s->arg[2], "u32"), rd(e, s->arg[1], "pred"));
    /* p_: all lanes of the mask that are alive said yes */
    if (has(s, "ballot"))
        wr(e, s->arg[0], "u32", "w_");
    else if (has(s, "any"))
        wr(e, s->arg[0], "pred", "w_ != 0");
    else if (has(s, "all"))
        wr(e, s->arg[0], "pred", "p_");
    else
        wr(e, s->arg[0], "pred", "p_ || w_ == 0");
}

static void match(emit *e, const stmt *s)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "";
    e->barriers = 1;
    if (s->narg != 3) {
        refuse(e, "a form of match");
        return;
    }
    char *d = fmt(e, "%s", s->arg[0]), *bar = strchr(d, '|');
    if (bar) *bar = 0;
    fprintf(e->out,
            "int p_; uint32_t w_ = (uint32_t)C->rt->warp(C, SIM_MATCH_%s, %s, %s, 0, 0, &p_); ",
            has(s, "all") ? "ALL" : "ANY", rd(e, s->arg[2], "u32"),
            rd(e, s->arg[1], fmt(e, "u%d", bits_of(t))));
    wr(e, d, "u32", "w_");
    if (bar) wr(e, bar + 1, "pred", "p_");
}

/* One value of all lanes of the mask. */
static void redux(emit *e, const stmt *s)
{
    static const char *const ops[][2] = {{"add", "ADD"}, {"min", "MIN"}, {"max", "MAX"},
                                         {"and", "AND"}, {"or", "OR"},   {"xor", "XOR"}};
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "", *op = NULL;
    e->barriers = 1;
    for (int i = 0; i < 6; i++)
        if (has(s, ops[i][0])) op = ops[i][1];
    if (!op || !has(s, "sync") || s->narg != 3 || s->nmod != 3 ||
        (op[0] == 'A' && op[1] == 'D') + (op[0] == 'M') == (t[0] == 'b')) {
        refuse(e, "a form of redux");
        return;
    }
    /* s32 goes as 64 bits with its sign, so that the runner can compare it */
    fprintf(e->out,
            "int p_; uint64_t w_ = C->rt->warp(C, SIM_REDUX_%s, %s, (uint64_t)%s, 0, 0, &p_); ", op,
            rd(e, s->arg[2], "u32"), rd(e, s->arg[1], t));
    wr(e, s->arg[0], "u32", "(uint32_t)w_");
}

void emit_warp(emit *e, const stmt *s)
{
    if (!strncmp(s->op, "bar", 3))
        barrier(e, s);
    else if (!strcmp(s->op, "shfl"))
        shuffle(e, s);
    else if (!strcmp(s->op, "vote"))
        vote(e, s);
    else if (!strcmp(s->op, "match"))
        match(e, s);
    else if (!strcmp(s->op, "redux"))
        redux(e, s);
    else if (!strcmp(s->op, "activemask"))
        wr(e, s->arg[0], "u32", "C->rt->activemask(C)");
    else if (!strcmp(s->op, "nanosleep")) {
        e->spins = 1;
        fprintf(e->out, "C->rt->tick(C, KERNEL, %d);", s->line);
    } else
        fprintf(e->out, "if (C->many) __atomic_thread_fence(__ATOMIC_SEQ_CST); else "
                        "__atomic_signal_fence(__ATOMIC_SEQ_CST);");
}
