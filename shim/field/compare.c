/* compare.c - a run against a recording: the same failures at the same places, and steps that ended
 * alike. */
#include "field/replay.h"
#include <stdlib.h>
#include <string.h>

static int same(const op_fx_event *a, const op_fx_event *b)
{
    if (op_fx_failed(a) != op_fx_failed(b)) return 0;
    if (a->kind == OP_FX_step)
        return a->points == b->points && a->trained == b->trained && a->dropped == b->dropped &&
               a->attempts == b->attempts && a->splits == b->splits && a->failed == b->failed;
    return !strcmp(a->call, b->call) && !strcmp(a->site, b->site) && !strcmp(a->phase, b->phase) &&
           a->ordinal == b->ordinal && a->size == b->size && a->code == b->code;
}

/* The next failure, or step from number first on. */
static const op_fx_event *next(const op_fixture *f, size_t *at, uint32_t first)
{
    while (*at < f->n) {
        const op_fx_event *e = &f->event[(*at)++];
        if (op_fx_failed(e) || (e->kind == OP_FX_step && e->number >= first)) return e;
    }
    return NULL;
}

/* The number of its first step: a ring may begin in the middle of a run, of whose earlier steps it
 * has only the failures. A reduced recording has no steps: they are other ones now. */
static uint32_t first_step(const op_fixture *f)
{
    for (size_t i = 0; i < f->n; i++)
        if (f->event[i].kind == OP_FX_step) return f->event[i].number;
    return UINT32_MAX;
}

/* Passes over the failures that want does not have, between those that it has apart and those of
 * its ring. 0: got's own are not enough to tell. */
static int pass_unkept(const op_fixture *want, const op_fixture *got, size_t *at)
{
    uint64_t over = want->unkept, gap = got->unkept;
    while (over && *at < got->n) {
        op_fx_kind kind = got->event[*at].kind;
        if (kind == OP_FX_fail && gap) { /* they lie before the first of got's ring */
            uint64_t k = gap < over ? gap : over;
            gap -= k, over -= k;
            continue;
        }
        over -= kind == OP_FX_lost || kind == OP_FX_fail;
        ++*at;
    }
    return !over && (!gap || want->unkept >= got->unkept);
}

/* Threads take turns as they like: their failures, each once, in any order. NULL: all are there. */
static const op_fx_event *missing(const op_fixture *want, const op_fixture *got)
{
    char *taken = calloc(got->n + 1, 1);
    for (size_t i = 0; taken && i < want->n; i++) {
        size_t k = 0;
        if (!op_fx_failed(&want->event[i])) continue;
        while (k < got->n && (taken[k] || !op_fx_failed(&got->event[k]) ||
                              !same(&want->event[i], &got->event[k])))
            k++;
        if (k == got->n) {
            free(taken);
            return &want->event[i];
        }
        taken[k] = 1;
    }
    free(taken);
    return NULL;
}

static int of_threads(const op_fixture *f)
{
    int first = -1;
    for (size_t i = 0; i < f->n; i++) {
        if (!op_fx_failed(&f->event[i])) continue;
        if (first >= 0 && f->event[i].thread != first) return 1;
        first = f->event[i].thread;
    }
    return 0;
}

int op_replay_compare(const op_fixture *want, const op_fixture *got, char *out, size_t room)
{
    const uint32_t first = first_step(want);
    size_t i = 0, k = 0;
    char a[400] = "nothing", b[400] = "nothing";
    const op_fx_event *x, *y;
    int to_pass = want->unkept > 0;
    for (;;) {
        y = NULL;
        x = next(want, &i, first);
        if (to_pass && x && x->kind != OP_FX_lost) {
            to_pass = 0;
            if (!pass_unkept(want, got, &k)) break;
        }
        y = next(got, &k, first);
        if (!x) break;
        if (y && same(x, y)) continue;
        if (of_threads(want) && !(x = missing(want, got))) return 1;
        y = of_threads(want) ? NULL : y;
        break;
    }
    /* a recording that did not see the run's end may have ended before it */
    if (!x && (!y || want->exit_code < 0)) return 1;
    if (x) op_fx_describe(x, a, sizeof a);
    if (y) op_fx_describe(y, b, sizeof b);
    if (x)
        snprintf(out, room, "event %zu of the recording differs\n  recorded: %s\n  now:      %s",
                 (size_t)(x - want->event) + 1, a, b);
    else
        snprintf(out, room, "there is more than in the recording\n  recorded: %s\n  now:      %s",
                 a, b);
    return 0;
}
