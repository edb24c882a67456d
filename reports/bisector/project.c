/* project.c - pt_recover_batch, watched: its device operations are the budget's, and what it did
 * about a failure is read from its own counters before the next attempt. */
#include "bisect.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct watch {
    bi_run *r;
    pt_recover_stats stats, before; /* before: at the last attempt */
    pt_ledger *ledger;
    int64_t no_gain; /* points dropped for it, when last looked */
    int begun;       /* before_retry has opened the step of the next attempt */
    int broken;      /* the record could not grow */
} watch;

static void sums(watch *w)
{
    bi_step *s = &w->r->step[w->r->steps - 1];
    s->retries = (int32_t)w->stats.retries;
    s->wasted_forward = (int32_t)w->stats.wasted_forward;
    s->trained = (int32_t)w->ledger->count[PT_FATE_TRAINED];
    s->dropped = (int32_t)pt_ledger_dropped(w->ledger);
    s->survives = s->trained;
}

/* What became of the last attempt: next is what will be tried now, NULL at the end. */
static void settle(watch *w, const pt_fragment *next)
{
    bi_run *r = w->r;
    if (r->steps == 0) return;
    bi_step *s = &r->step[r->steps - 1];
    bi_node *n = &r->node[s->node];
    sums(w);
    if (s->cause == 0) return;
    if (w->stats.splits_scene > w->before.splits_scene) {
        s->remedy = BI_SPLIT_SCENES;
        n->fate = BI_BY_SCENE;
    } else if (w->stats.splits_space > w->before.splits_space) {
        s->remedy = BI_SPLIT_SPACE;
        n->fate = BI_IN_SPACE;
    } else if (w->stats.at_floor > w->before.at_floor) {
        s->remedy = BI_DROP; /* the fate was set by discard */
    } else if (next) {
        s->remedy = next->gather_rows != s->gather_rows ? BI_CHUNKS : BI_AGAIN;
    } else {
        s->remedy = BI_STOP;
        n->fate = BI_STOPPED;
    }
    if (s->remedy != BI_AGAIN && s->remedy != BI_CHUNKS) n->ended = r->steps - 1;
}

static void before_retry(void *user, const pt_fragment *next, const pt_queue *rest,
                         const pt_ledger *ledger)
{
    watch *w = user;
    (void)ledger;
    settle(w, next);
    w->begun = bi_begin(w->r, next, rest) != NULL;
    w->broken |= !w->begun;
}

static pt_status receipt(const pt_fragment *f, pt_attempt *out)
{
    out->position = malloc(sizeof(int32_t) * (size_t)(f->shape.own + 1));
    out->point = malloc(sizeof(int32_t) * (size_t)(f->shape.own + 1));
    if (!out->position || !out->point) return pt_fail(PT_ERR_HOST, "no memory for a receipt");
    for (int64_t i = 0; i < f->shape.points; i++) {
        if (!f->host.own[i]) continue;
        out->position[out->n] = f->host.scene[f->host.slot[i]];
        out->point[out->n++] = f->host.point[i];
    }
    return PT_OK;
}

static pt_status attempt(void *user, pt_fragment *f, pt_attempt *out)
{
    watch *w = user;
    bi_run *r = w->r;
    if (!w->begun && !w->broken) w->broken = bi_begin(r, f, NULL) == NULL; /* the first */
    w->begun = 0;
    if (w->broken) return pt_fail(PT_ERR_HOST, "no memory to record the run");
    w->before = w->stats;
    f->augmented = 1;
    pt_status st = bi_attempt(r, f);
    out->forward = r->step[r->steps - 1].forward;
    out->backward = r->step[r->steps - 1].backward;
    return st == PT_OK ? receipt(f, out) : st;
}

static pt_status commit(void *user, pt_fragment *f)
{
    watch *w = user;
    bi_step *s = &w->r->step[w->r->steps - 1];
    (void)f;
    w->r->node[s->node].fate = BI_COMMITTED;
    w->r->node[s->node].ended = w->r->steps - 1;
    return PT_OK;
}

/* Called when a fragment was committed, was dropped, or is given up with the batch. */
static void discard(void *user, pt_fragment *f)
{
    watch *w = user;
    if (w->stats.at_floor == w->before.at_floor) return;
    int32_t id = bi_node_of(w->r, f);
    int64_t no_gain = w->ledger->count[PT_FATE_NO_GAIN];
    if (id < 0 || w->r->node[id].fate != BI_OPEN) return;
    w->r->node[id].fate = no_gain > w->no_gain ? BI_NO_GAIN : BI_AT_FLOOR;
    w->r->node[id].ended = w->r->steps - 1;
    w->no_gain = no_gain;
}

static pt_status nothing(void *user, pt_fragment *f)
{
    (void)user;
    (void)f;
    return PT_OK;
}
static pt_status release(void *user)
{
    ((watch *)user)->r->kept = 0;
    return PT_OK;
}
static size_t held(void *user)
{
    (void)user;
    return 0;
}
static void clear(void *user)
{
    (void)user;
}
static int alive(void *user)
{
    (void)user;
    return 1;
}

pt_status bi_project(bi_run *r, pt_fragment *whole, pt_ledger *ledger)
{
    watch w = {.r = r, .ledger = ledger};
    const bi_config *c = &r->config;
    pt_recover_ops ops = {&w,      attempt, commit, nothing, nothing,     discard,
                          release, held,    clear,  alive,   before_retry};
    pt_recover_options o = {
        .split = {c->alternate ? PT_SPLIT_ALTERNATE : PT_SPLIT_AUTO, c->halo, 0.9},
        .on_floor = PT_FLOOR_DROP,
        .gather_small = BI_GATHER_SMALL};
    pt_status st = pt_recover_batch(&ops, &o, whole, ledger, &w.stats);
    if (w.broken || r->steps == 0) return pt_fail(PT_ERR_HOST, "no memory to record the run");
    if (st != PT_OK) {
        snprintf(r->message, sizeof r->message, "%s", pt_error_last()->message);
        r->totals.end = BI_RAISED;
        pt_ledger_fail(ledger, PT_FATE_BATCH); /* all of it is rolled back */
    }
    settle(&w, NULL);
    r->step[r->steps - 1].callbacks = st == PT_OK; /* after_batch: once, at the end */
    r->totals.splits_scene = (int32_t)w.stats.splits_scene;
    r->totals.splits_space = (int32_t)w.stats.splits_space;
    r->totals.wasted_backward = (int32_t)w.stats.wasted_backward;
    r->totals.bound = w.stats.bound < INT32_MAX ? (int32_t)w.stats.bound : INT32_MAX;
    return st;
}
