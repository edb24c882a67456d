/* plan.c - see plan.h. */
#include "sweep/plan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int op_plan_wants(const op_sweep_options *o, op_fault kind, const op_entry *call)
{
    int named =
        o->calls ? op_named(o->calls, call) : (call->flags & OP_F_ALLOC) && call->lib != OP_DRIVER;
    switch (kind) {
    case OP_FAULT_OOM: return named && call->flags & OP_F_OOM;
    case OP_FAULT_SHAPE: return (named || !o->calls) && call->flags & (OP_F_GEMM | OP_F_DESCRIPTOR);
    case OP_FAULT_NAN: return (named || !o->calls) && call->flags & OP_F_COPY;
    default: return named;
    }
}

void op_plan_calls(op_sweep_file *s, const op_sweep_options *o, op_fault kind)
{
    for (int id = 0; id < OP_CALLS; id++)
        if (op_plan_wants(o, kind, &op_table[id]))
            s->calls[kind][id / 64] |= (uint64_t)1 << id % 64;
}

static void skip(op_sweep_file *s, int point)
{
    s->skip[point] = 0xffff;
}

static void one_a_site(op_sweep_file *s)
{
    for (int i = 0; i < s->npoints; i++)
        if (s->point[i].nth_at_site > 1) skip(s, i);
}

static uint64_t mix(uint64_t x) /* SplitMix64, Steele et al. 2014 */
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Each of those left with the same chance: n times the one of the lowest draw. */
static void sample(op_sweep_file *s, int n, uint64_t seed)
{
    static char taken[OP_POINTS];
    memset(taken, 0, sizeof taken);
    for (; n; n--) {
        int best = -1;
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < s->npoints; i++) {
            uint64_t draw = mix(mix(seed) + (uint64_t)i);
            if (s->skip[i] == 0xffff || taken[i] || draw > least) continue;
            least = draw;
            best = i;
        }
        if (best < 0) return; /* fewer than that */
        taken[best] = 1;
    }
    for (int i = 0; i < s->npoints; i++)
        if (!taken[i]) skip(s, i);
}

void op_plan(op_sweep_file *s, const op_sweep_options *o)
{
    memset(s->skip, 0, sizeof s->skip);
    for (int i = 0; o->site && i < s->npoints; i++)
        if (!op_glob(o->site, s->point[i].site)) skip(s, i);
    if (o->by_site) one_a_site(s);
    if (o->sample) sample(s, o->sample, o->seed);
    for (int i = 0; i < s->nresults; i++) /* of the sweep that is resumed */
        if (s->result[i].point >= 0 && s->result[i].second < 0)
            s->skip[s->result[i].point] |= (uint16_t)OP_RUN(s->result[i].fault, s->result[i].mode);
}

int op_plan_asked(const op_sweep_file *s, const op_sweep_options *o)
{
    int n = 0, from = o->point ? o->point - 1 : 0;
    for (int i = 0; i < s->nresults; i++) n += s->result[i].point >= 0 && s->result[i].second < 0;
    for (int k = from; k < (o->point ? o->point : s->npoints) && !o->budget; k++)
        for (int run = 0; run < 2 * OP_FAULTS && (k - from) % o->shards == o->shard; run++)
            n += (o->mode_of[run / 2] >> run % 2 & 1) && (s->point[k].kinds >> run / 2 & 1) &&
                 !(s->skip[k] & OP_RUN(run / 2, run % 2));
    return n;
}

/* A pair counts when the run of its first fault has ended too: that one waits for its pairs. */
static int whole(const op_sweep_file *s, const op_result *r, int budgets)
{
    if (r->verdict == OP_V_RUNNING || (r->point < 0 && !budgets)) return 0;
    if (!s->marked && !r->closed) return 0;
    for (int i = 0; r->second >= 0 && i < s->nresults; i++) {
        const op_result *first = &s->result[i];
        if (first->second < 0 && first->point == r->point && first->mode == r->mode)
            return first->verdict != OP_V_RUNNING;
    }
    return r->second < 0;
}

/* Leaves those for which now[i] is their new number, from 0, and not -1. */
static void keep(op_sweep_file *s, const int *now, int had, int n)
{
    for (int i = 0; i < had; i++) {
        op_result *r = &s->result[i];
        if (now[i] < 0) continue;
        if (r->inherited >= 0) r->inherited = now[r->inherited] >= 0 ? now[r->inherited] : now[i];
        s->result[now[i]] = *r;
    }
    for (int k = 0; k < OP_STATES; k++) { /* what is gone has judged nothing */
        int of = s->state[k].result;
        s->state[k].result = of && of <= had && now[of - 1] >= 0 ? now[of - 1] + 1 : 0;
        if (!s->state[k].result) s->state[k].hash = 0;
    }
    s->nresults = n;
}

int op_plan_ended(op_sweep_file *s, int budgets)
{
    int n = 0, had = s->nresults < OP_RESULTS ? s->nresults : OP_RESULTS;
    int *now = calloc((size_t)had + 1, sizeof *now);
    if (!now) return -1;
    for (int i = 0; i < had; i++) now[i] = whole(s, &s->result[i], budgets) ? n++ : -1;
    keep(s, now, had, n);
    free(now);
    return had - n;
}

int op_plan_most(op_sweep_file *s)
{
    int n = 0, found = 0, had = s->nresults;
    int *now = calloc((size_t)had + 1, sizeof *now);
    if (!now || !s->most_findings) return free(now), 0;
    for (int i = 0; i < had; i++) {
        found += op_verdict_finding[s->result[i].verdict];
        now[i] = op_verdict_finding[s->result[i].verdict] && found > s->most_findings ? -1 : n++;
    }
    keep(s, now, had, n);
    free(now);
    return had - n;
}

int op_plan_resume(op_sweep_file *s, const char *asked, const char *folder)
{
    if (!s->magic) return 0; /* nothing was begun there */
    if (s->magic != OP_SWEEP_MAGIC || strcmp(s->asked, asked)) {
        fprintf(stderr, "oomproof: error: --resume %s: %s\n  there: %s\n  here:  %s\n", folder,
                s->magic != OP_SWEEP_MAGIC ? "holds no sweep of this version"
                                           : "is of another sweep; give the options and the "
                                             "command that it had",
                s->magic == OP_SWEEP_MAGIC ? s->asked : "", asked);
        return 2;
    }
    int lost = op_plan_ended(s, 0); /* budgets are chosen anew */
    if (lost < 0) return 2;
    fprintf(stderr, "oomproof: %s: %d runs are there, %d had not ended\n", folder, s->nresults,
            lost);
    return 0;
}
