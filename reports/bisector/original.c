/* original.c - the loop of the write-up over the project's queue and cuts: what it splits, what it
 * zeroes, what it skips and what it catches, faults included.
 *
 * Its queue holds (fragment, split on x or y); here pt_fragment.axis is that flag. It tries nothing
 * milder than a split, has no halo, and zeroes the gradient inside every attempt. */
#include "bisect.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOO_MANY = 300 }; /* attempts after which the page gives up on it */

static pt_status skip(pt_ledger *ledger, pt_fragment *half, bi_run *r)
{
    int32_t id = half->shape.own ? bi_node_of(r, half) : -1;
    if (id >= 0 && r->node[id].fate == BI_OPEN) {
        r->node[id].fate = BI_AT_FLOOR;
        r->node[id].ended = r->steps - 1;
    }
    for (int64_t i = 0; i < half->shape.points; i++) {
        pt_status st =
            pt_ledger_mark(ledger, half->host.scene[0], half->host.point[i], PT_FATE_FLOOR);
        if (st != PT_OK) return st;
    }
    return PT_OK;
}

static pt_status by_scene(pt_queue *q, const pt_fragment *f)
{
    pt_fragment *piece[BI_MAX_SCENES];
    pt_status st = pt_split_by_scene(f, piece);
    for (int s = 0; st == PT_OK && s < f->shape.scenes; s++) {
        piece[s]->axis = f->axis;
        pt_queue_push(q, piece[s]);
    }
    return st;
}

/* Without the halo: the project's cut brings at least the voxels that both halves share. */
static pt_status bare(pt_fragment **half)
{
    pt_status st = PT_OK;
    pt_fragment *f = *half, *g = NULL;
    int64_t n = 0, *index = malloc(sizeof *index * (size_t)(f->shape.own + 1));
    if (!index) return pt_fail(PT_ERR_HOST, "no memory for a half");
    for (int64_t i = 0; i < f->shape.points; i++)
        if (f->host.own[i]) index[n++] = i;
    TRY(pt_fragment_take(f, index, NULL, n, &g));
    g->spatial = 1;
    g->axis = f->axis;
    pt_fragment_free(f);
    *half = g;
done:
    free(index);
    return st;
}

static pt_status in_space(bi_run *r, pt_queue *q, const pt_fragment *f, pt_ledger *ledger)
{
    float lo = INFINITY, hi = -INFINITY;
    for (int64_t i = 0; i < f->shape.points; i++) {
        lo = fminf(lo, f->host.coord[3 * i + f->axis]);
        hi = fmaxf(hi, f->host.coord[3 * i + f->axis]);
    }
    pt_cut cut = {.axis = f->axis, .at = (lo + hi) / 2};
    pt_fragment *half[2];
    pt_status st = pt_split_at(f, &cut, 0, half);
    for (int h = 0; st == PT_OK && h < 2; h++) {
        if ((st = bare(&half[h])) != PT_OK) break;
        if (half[h]->shape.own > PT_FLOOR) {
            pt_queue_push(q, half[h]);
            continue;
        }
        st = skip(ledger, half[h], r);
        pt_fragment_free(half[h]);
    }
    return st;
}

/* One attempt; *raised: its failure is not caught and ends the batch. */
static pt_status one(bi_run *r, pt_queue *q, pt_fragment *f, pt_ledger *ledger, int *raised)
{
    bi_step *s = bi_begin(r, f, q);
    if (!s) return pt_fail(PT_ERR_HOST, "no memory to record the run");
    pt_status st = bi_attempt(r, f);
    int32_t id = s->node, dropped = s->dropped;
    bi_node *n = &r->node[id];
    s->survives = 0; /* zeroed before its forward pass, whatever was there */
    n->ended = r->steps - 1;
    if (st == PT_OK) {
        s->survives = n->own;
        s->callbacks++;
        n->fate = BI_COMMITTED;
        for (int64_t i = 0; st == PT_OK && i < f->shape.points; i++)
            st = pt_ledger_mark(ledger, f->host.scene[f->host.slot[i]], f->host.point[i],
                                PT_FATE_TRAINED);
    } else if (s->cause == 2 && !r->config.everything) {
        *raised = 1;
        st = PT_OK;
        s->remedy = BI_STOP;
        n->fate = BI_STOPPED;
    } else {
        r->kept = 0; /* empty_cache */
        s->retries++;
        s->wasted_forward += s->forward;
        int scenes = f->shape.scenes > 1;
        s->remedy = scenes ? BI_SPLIT_SCENES : BI_SPLIT_SPACE;
        n->fate = scenes ? BI_BY_SCENE : BI_IN_SPACE;
        r->totals.splits_scene += scenes;
        r->totals.splits_space += !scenes;
        st = scenes ? by_scene(q, f) : in_space(r, q, f, ledger);
    }
    s = &r->step[r->steps - 1];
    s->trained = (int32_t)ledger->count[PT_FATE_TRAINED];
    s->dropped = (int32_t)pt_ledger_dropped(ledger);
    /* nothing of it was kept: it was thrown away as a whole */
    if (s->remedy == BI_SPLIT_SPACE && s->dropped - dropped == r->node[id].own) s->remedy = BI_DROP;
    return st;
}

pt_status bi_original(bi_run *r, pt_fragment *whole, pt_ledger *ledger)
{
    pt_status st = PT_OK;
    pt_queue q = {0};
    int raised = 0;
    pt_queue_push(&q, whole);
    for (pt_fragment *f; !raised && st == PT_OK && (f = pt_queue_pop(&q));) {
        if (r->steps == TOO_MANY) {
            r->totals.end = BI_ENDLESS;
            pt_fragment_free(f);
            break;
        }
        st = one(r, &q, f, ledger, &raised);
        pt_fragment_free(f);
    }
    for (pt_fragment *f; (f = pt_queue_pop(&q));) pt_fragment_free(f);
    if (st != PT_OK) return st;
    if (raised) {
        snprintf(r->message, sizeof r->message, "%s", pt_error_last()->message);
        r->totals.end = BI_RAISED;
        pt_ledger_fail(ledger, PT_FATE_BATCH); /* no step is taken */
        bi_step *last = &r->step[r->steps - 1];
        last->survives = last->trained = 0;
        last->dropped = r->totals.points;
    }
    return PT_OK;
}
