/* bisect.c - the record of a run: fragments by the points they own, attempts, and a device that is
 * only a budget. */
#include "bisect.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A voxel's activations, maps and gradients; a row of the gather workspace. Near what the trainer
 * takes with 1 convolution a level in float. The forward pass ends at FORWARD_PEAK percent. */
enum { VOXEL_BYTES = 2816, ROW_BYTES = 512, FORWARD_PEAK = 85 };

int32_t bi_need(int64_t voxels, int64_t gather_rows)
{
    int64_t rows = gather_rows && gather_rows < voxels ? gather_rows : voxels;
    return (int32_t)((voxels * VOXEL_BYTES + rows * ROW_BYTES + 1023) / 1024);
}

int32_t bi_cost(int64_t voxels)
{
    return (int32_t)(3 * (voxels + BI_PASS_COST));
}

pt_status bi_grow(void **array, int32_t *room, int32_t n, size_t size)
{
    if (n < *room) return PT_OK;
    int32_t more = *room ? 2 * *room : 64;
    void *p = realloc(*array, (size_t)more * size);
    if (!p) return pt_fail(PT_ERR_HOST, "no memory to record a run of %d steps", (int)more);
    *array = p;
    *room = more;
    return PT_OK;
}

/* The axis on which the boxes of two halves lie furthest apart: the one that was cut. */
static int32_t cut_axis(const bi_node *a, const bi_node *b)
{
    int32_t axis = 0, most = INT32_MIN;
    for (int i = 0; i < 3; i++) {
        int32_t up = b->box[i] - a->box[3 + i], down = a->box[i] - b->box[3 + i];
        int32_t apart = up > down ? up : down;
        if (apart > most) most = apart, axis = i;
    }
    return axis;
}

static void describe(bi_run *r, const pt_fragment *f, bi_node *n)
{
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < f->shape.points; i++)
        for (int a = 0; f->host.own[i] && a < 3; a++) {
            lo[a] = fminf(lo[a], f->host.coord[3 * i + a]);
            hi[a] = fmaxf(hi[a], f->host.coord[3 * i + a]);
        }
    for (int a = 0; a < 3; a++) {
        n->box[a] = (int32_t)floorf(lo[a] * 1000);
        n->box[3 + a] = (int32_t)ceilf(hi[a] * 1000);
    }
    n->own = (int32_t)f->shape.own;
    n->points = (int32_t)f->shape.points;
    n->voxels = (int32_t)pt_count_voxels(f);
    n->scene = f->shape.scenes > 1 ? -1 : f->host.scene[0];
    n->spatial = f->spatial;
    n->born = r->steps;
}

/* Fragments only ever lose points, so one with as many as the last that had its first point is that
 * one again; with fewer it is a new piece of it. */
int32_t bi_node_of(bi_run *r, const pt_fragment *f)
{
    int64_t first = 0;
    while (!f->host.own[first]) first++;
    int32_t parent = r->owner[f->host.scene[f->host.slot[first]]][f->host.point[first]];
    if (parent >= 0 && r->node[parent].own == f->shape.own) return parent;
    if (bi_grow((void **)&r->node, &r->node_room, r->nodes, sizeof *r->node) != PT_OK) return -1;
    int32_t id = r->nodes++;
    bi_node *n = &r->node[id];
    *n = (bi_node){.parent = parent, .axis = -1, .ended = -1};
    describe(r, f, n);
    for (int32_t other = id - 1; n->spatial && other > parent; other--)
        if (r->node[other].parent == parent)
            n->axis = r->node[other].axis = cut_axis(n, &r->node[other]);
    for (int64_t i = 0; i < f->shape.points; i++)
        if (f->host.own[i]) r->owner[f->host.scene[f->host.slot[i]]][f->host.point[i]] = id;
    return id;
}

bi_step *bi_begin(bi_run *r, const pt_fragment *f, const pt_queue *rest)
{
    if (bi_grow((void **)&r->step, &r->step_room, r->steps, sizeof *r->step) != PT_OK) return NULL;
    bi_step *s = &r->step[r->steps];
    *s = r->steps ? s[-1] : (bi_step){0};
    s->queue_at = r->queued;
    s->queue_n = 0;
    for (const pt_fragment *g = f; g; g = g == f ? (rest ? rest->head : NULL) : g->next) {
        int32_t id = bi_node_of(r, g);
        if (id < 0 || bi_grow((void **)&r->queue, &r->queue_room, r->queued, sizeof *r->queue))
            return NULL;
        r->queue[r->queued++] = id;
        s->queue_n++;
    }
    s->node = r->queue[s->queue_at];
    s->gather_rows = (int32_t)f->gather_rows;
    s->forward = s->backward = s->cause = 0;
    s->remedy = BI_COMMIT;
    r->steps++;
    return s;
}

static pt_status out_of_memory(bi_step *s, int32_t voxels)
{
    int64_t pass = voxels + BI_PASS_COST, room = s->room_kib;
    int64_t peak = (int64_t)s->need_kib * FORWARD_PEAK / 100;
    s->cause = 1;
    s->forward = peak <= room;
    s->wasted += (int32_t)(s->forward ? pass + 2 * pass * (room - peak) / (s->need_kib - peak)
                                      : pass * room / peak);
    return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 2, "cudaMalloc",
                       s->forward ? "net/backward" : "net/forward", (size_t)s->need_kib * 1024);
}

pt_status bi_attempt(bi_run *r, const pt_fragment *f)
{
    bi_step *s = &r->step[r->steps - 1];
    const bi_config *c = &r->config;
    int32_t voxels = r->node[s->node].voxels;
    s->need_kib = bi_need(voxels, f->gather_rows);
    s->room_kib = (int32_t)((int64_t)c->budget_kib * (100 - (r->kept ? c->kept_percent : 0)) / 100);
    int64_t half_way = (int64_t)s->need_kib * FORWARD_PEAK / 200; /* where the bug is */
    int buggy = 0;
    for (int m = 0; m < f->shape.scenes; m++) buggy |= f->member[m].position == c->bug - 1;
    if (buggy && half_way <= s->room_kib) {
        s->cause = 2;
        s->wasted += (voxels + BI_PASS_COST) / 2;
        /* "everything": the handler does not look at the cause */
        if (c->everything)
            return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 2, "cudaMalloc", "not looked at",
                               0);
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUBLAS, 7, "cublasSgemm", "net/enc1/conv0",
                           0);
    }
    if (s->need_kib > s->room_kib) return out_of_memory(s, voxels);
    s->forward = s->backward = 1;
    s->work += bi_cost(voxels);
    r->kept = 1;
    return PT_OK;
}

void bi_free(bi_run *r)
{
    for (int s = 0; s < BI_MAX_SCENES; s++) {
        pt_scene_free(&r->scene[s]);
        free(r->owner[s]);
    }
    free(r->node);
    free(r->step);
    free(r->queue);
    *r = (bi_run){0};
}

static int32_t between(int32_t x, int32_t least, int32_t most)
{
    return x < least ? least : x > most ? most : x;
}

static void close_totals(bi_run *r, const pt_ledger *ledger)
{
    bi_totals *t = &r->totals;
    const bi_step *last = &r->step[r->steps - 1];
    t->attempts = r->steps;
    t->voxels = r->node[0].voxels;
    t->trained = last->trained;
    t->dropped = (int32_t)pt_ledger_dropped(ledger);
    t->survives = last->survives;
    t->retries = last->retries;
    t->wasted_forward = last->wasted_forward;
    t->work = last->work;
    t->wasted = last->wasted;
    for (int32_t n = 0; n < r->nodes; n++)
        if (r->node[n].fate == BI_OPEN) r->node[n].fate = BI_LOST;
}

pt_status bi_run_batch(bi_run *r, const bi_config *config)
{
    pt_status st = PT_OK;
    pt_ledger ledger = {0};
    pt_fragment *whole = NULL;
    uint32_t keys[BI_MAX_SCENES];
    int64_t sizes[BI_MAX_SCENES];
    bi_free(r);
    r->config = *config;
    r->config.scenes = between(config->scenes, 1, BI_MAX_SCENES);
    r->config.kept_percent = between(config->kept_percent, 0, 90);
    r->config.halo = between(config->halo, 0, 100);
    r->config.budget_kib = between(config->budget_kib, 1, 1 << 20);
    r->config.chunk = between(config->chunk, 1, BI_MAX_SCENES);
    r->kept = 1;
    TRY(bi_scenes(r));
    for (int s = 0; s < r->config.scenes; s++) {
        keys[s] = (uint32_t)s;
        sizes[s] = r->scene[s].n;
    }
    TRY(pt_ledger_open(&ledger, sizes, r->config.scenes));
    TRY(pt_fragment_join(r->scene, keys, r->config.scenes, PT_ROOM_CLASSES, NULL, &whole));
    st = r->config.original ? bi_original(r, whole, &ledger) : bi_project(r, whole, &ledger);
    if (st != PT_OK && r->totals.end == BI_DONE) goto done; /* of the page, not of the batch */
    st = PT_OK;
    close_totals(r, &ledger);
    TRY(bi_plan(r));
done:
    pt_ledger_close(&ledger);
    return st;
}
