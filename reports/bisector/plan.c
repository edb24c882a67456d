/* plan.c - what the same batch costs those who never fail: a planner that knows the bytes of
 * everything before it tries, and gradient accumulation at a fixed number of scenes a pass. */
#include "bisect.h"
#include <stdlib.h>

/* The scene cut, without attempts, until every piece fits. Takes f. */
static pt_status pieces(bi_run *r, pt_fragment *f)
{
    pt_status st = PT_OK;
    bi_totals *t = &r->totals;
    pt_split_options o = {PT_SPLIT_AUTO, r->config.halo, 0.9};
    pt_fragment *half[2] = {NULL, NULL};
    pt_split_outcome outcome;
    int64_t voxels = pt_count_voxels(f);
    if (bi_need(voxels, BI_GATHER_SMALL) <= r->config.budget_kib) {
        t->plan_passes++;
        t->plan_work += bi_cost(voxels);
        goto done;
    }
    TRY(pt_split_in_space(f, &o, half, &outcome));
    if (outcome != PT_SPLIT_DONE) {
        t->plan_dropped += (int32_t)f->shape.own;
        goto done;
    }
    pt_fragment_free(f);
    f = NULL;
    TRY(pieces(r, half[0]));
    half[0] = NULL;
    TRY(pieces(r, half[1]));
    half[1] = NULL;
done:
    pt_fragment_free(f);
    if (st != PT_OK) pt_fragment_free(half[1]);
    return st;
}

static void close_pass(bi_run *r, int64_t *voxels)
{
    if (*voxels == 0) return;
    r->totals.plan_passes++;
    r->totals.plan_work += bi_cost(*voxels);
    *voxels = 0;
}

static void fixed_chunk(bi_run *r, const int64_t *voxels)
{
    bi_totals *t = &r->totals;
    for (int s = 0; s < r->config.scenes; s += r->config.chunk) {
        int64_t sum = 0;
        int32_t points = 0;
        for (int k = s; k < r->config.scenes && k < s + r->config.chunk; k++) {
            sum += voxels[k];
            points += t->scene_points[k];
        }
        t->chunk_passes++;
        t->chunk_work += bi_cost(sum);
        if (bi_need(sum, 0) <= r->config.budget_kib) continue;
        t->chunk_failed++;
        t->chunk_lost += points;
    }
}

pt_status bi_plan(bi_run *r)
{
    pt_status st = PT_OK;
    int64_t voxels[BI_MAX_SCENES], open = 0;
    for (int s = 0; s < r->config.scenes; s++) {
        uint32_t key = (uint32_t)s;
        pt_fragment *f;
        TRY(pt_fragment_join(&r->scene[s], &key, 1, PT_ROOM_CLASSES, NULL, &f));
        f->augmented = 1;
        voxels[s] = pt_count_voxels(f);
        /* scenes that follow each other share a pass as long as it fits */
        if (bi_need(open + voxels[s], BI_GATHER_SMALL) > r->config.budget_kib) close_pass(r, &open);
        if (bi_need(voxels[s], BI_GATHER_SMALL) > r->config.budget_kib) {
            TRY(pieces(r, f));
        } else {
            open += voxels[s];
            pt_fragment_free(f);
        }
    }
    close_pass(r, &open);
    fixed_chunk(r, voxels);
done:
    return st;
}
