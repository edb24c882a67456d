/* tiles.c - the equivalence of pieces, as a table: 2, 4, 8 and 16 tiles by cuts that no voxel knows
 * of, under every norm, in both precisions and in 16 bits, of uneven scenes whose classes have
 * weights and whose labels are in part ignored; and a batch whose largest scene alone does not fit.
 *
 * Error as in the design: double 1e-12; float max(1e-5, 4 times the unsplit float gradient's own
 * distance from double), of which the 1e-5 suffices here; 16 bits: a quarter of what the unsplit
 * gradient in 16 bits is from that in 32. */
#include "case.h"
#include "recovery/stage.h"
#include "rig.h"
#include "shapes.h"
#include <math.h>

#define EXACT (sizeof(real) == 8 ? 1e-12 : 1e-5)

static const real weights[PT_ROOM_CLASSES] = {0.25, 2, 1, 3, 1.5, 0.75};

static void open_rooms(rig *r, pt_norm norm, pt_amp amp, int64_t largest)
{
    rig_options o = {.scenes = 3,
                     .points = {700, largest, 1500},
                     .voxel = 0.12f,
                     .width0 = 4,
                     .norm = norm,
                     .amp = amp,
                     .class_weight = weights,
                     .allocator = PT_ALLOC_DIRECT};
    rig_open(r, &o);
    for (int s = 0; s < 3; s++)
        for (int64_t i = 0; i < r->scene[s].n; i += 5) r->scene[s].label[i] = PT_IGNORE;
    size_t n = r->t->net->nrunning;
    real *running = calloc(n + 1, sizeof *running);
    for (size_t i = 0; i < n; i++) /* variances of 0.5 to 1, means too: both somewhere */
        running[i] = (real)(0.5 + 0.5 * shape_random(3, i));
    ck_assert_int_eq(pt_trainer_write(r->t, r->t->net->running, n, running), PT_OK);
    free(running);
    rig_state_free(&r->start);
    rig_read_state(r, &r->start);
}

typedef struct tiling {
    rig *r;
    double divisor;
    int tiles, cuts;
    int64_t own, halo;
} tiling;

static void add(tiling *t, pt_fragment *f)
{
    pt_trainer *tr = t->r->t;
    pt_augment none = {0};
    pt_pass p = {.divisor = t->divisor,
                 .backward = 1,
                 .scale = tr->o.net.amp == PT_AMP_FP16 ? 1024 : 1,
                 .frozen = tr->o.net.norm == PT_NORM_BATCH};
    f->augmented = 1;
    t->own += f->shape.own;
    t->halo += f->shape.points - f->shape.own;
    t->tiles++;
    ck_assert_int_eq(pt_stage_up(&tr->device, f, &none, PT_DEVICE_ALL), PT_OK);
    ck_assert_msg(pt_net_pass(tr->net, &f->device, &f->shape, &p) == PT_OK, "%s",
                  pt_error_last()->message);
    ck_assert_int_eq(pt_net_commit(tr->net), PT_OK);
    pt_stage_discard(&tr->device, f);
    pt_fragment_free(f);
}

/* Halves it `depth` times across the longest side of its own points, somewhere near the middle. */
static void tile(tiling *t, pt_fragment *f, int depth)
{
    float lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    pt_fragment *half[2];
    pt_cut cut = {0};
    if (depth == 0) {
        add(t, f);
        return;
    }
    for (int64_t i = 0; i < f->shape.points; i++)
        for (int a = 0; a < 3 && f->host.own[i]; a++) {
            lo[a] = fminf(lo[a], f->host.coord[3 * i + a]);
            hi[a] = fmaxf(hi[a], f->host.coord[3 * i + a]);
        }
    for (int a = 1; a < 3; a++)
        if (hi[a] - lo[a] > hi[cut.axis] - lo[cut.axis]) cut.axis = a;
    float side = hi[cut.axis] - lo[cut.axis];
    cut.at = lo[cut.axis] + side * (float)(0.42 + 0.16 * shape_random(8, (uint64_t)t->cuts++));
    ck_assert_int_eq(pt_split_at(f, &cut, t->r->t->halo, half), PT_OK);
    pt_fragment_free(f);
    for (int h = 0; h < 2; h++) {
        ck_assert_int_gt(half[h]->shape.own, 0);
        tile(t, half[h], depth - 1);
    }
}

/* The gradient of the batch, its second scene in 1 << depth tiles and the others whole; depth -1:
 * all of it at once. Without the loss scale. */
static real *gradient(rig *r, int depth)
{
    pt_fragment *whole, *scene[3];
    tiling t = {.r = r};
    ck_assert_int_eq(pt_fragment_join(r->scene, r->key, 3, PT_ROOM_CLASSES, weights, &whole),
                     PT_OK);
    t.divisor = pt_fragment_valid_weight(whole);
    int64_t own = whole->shape.own;
    ck_assert_int_eq(pt_net_zero_grad(r->t->net), PT_OK);
    if (depth < 0) {
        add(&t, whole);
    } else {
        ck_assert_int_eq(pt_split_by_scene(whole, scene), PT_OK);
        pt_fragment_free(whole);
        for (int s = 0; s < 3; s++) tile(&t, scene[s], s == 1 ? depth : 0);
        ck_assert_int_eq(t.tiles, 2 + (1 << depth));
        if (depth) ck_assert_int_gt(t.halo, 0);
    }
    ck_assert_int_eq(t.own, own); /* each point once */
    size_t n = r->t->net->nparams;
    ck_assert_int_eq(pt_trainer_read(r->t, r->t->net->grad, n, r->grad), PT_OK);
    for (size_t i = 0; i < n && r->t->o.net.amp == PT_AMP_FP16; i++) r->grad[i] /= 1024;
    return rig_copy(r, r->grad);
}

static void all_tilings(pt_norm norm, pt_amp amp)
{
    rig r;
    double bound = EXACT;
    open_rooms(&r, norm, PT_AMP_OFF, 12000);
    real *whole = gradient(&r, -1);
    if (amp != PT_AMP_OFF) {
        real *exact = whole;
        rig_close(&r);
        open_rooms(&r, norm, amp, 12000);
        whole = gradient(&r, -1);
        bound = rig_distance(&r, whole, exact) / 4;
        free(exact);
    }
    for (int depth = 0; depth <= 4; depth++) {
        real *pieces = gradient(&r, depth);
        double e = rig_distance(&r, pieces, whole);
        printf("norm %d, amp %d, %d tiles: off by %.2g of %.2g\n", (int)norm, (int)amp, 1 << depth,
               e, bound);
        ck_assert_msg(e <= bound, "%d tiles: the gradient is off by %.3g", 1 << depth, e);
        free(pieces);
    }
    free(whole);
    rig_close(&r);
}

START_TEST(layer_norm_in_tiles)
{
    all_tilings(PT_NORM_LAYER, PT_AMP_OFF);
}
END_TEST

START_TEST(frozen_norm_in_tiles)
{
    all_tilings(PT_NORM_FROZEN, PT_AMP_OFF);
}
END_TEST

START_TEST(batch_norm_that_is_frozen_on_a_split_in_tiles)
{
    all_tilings(PT_NORM_BATCH, PT_AMP_OFF);
}
END_TEST

/* Through the recovery: on a card on which the largest scene, by itself, does not fit. */
static void largest_alone(pt_norm norm, pt_amp amp)
{
    rig r, alone;
    double bound = EXACT;
    rig_open(&alone, &(rig_options){.scenes = 1,
                                    .points = {30000},
                                    .voxel = 0.12f,
                                    .width0 = 4,
                                    .norm = norm,
                                    .amp = amp,
                                    .allocator = PT_ALLOC_DIRECT});
    rig_run(&alone, NULL, NULL);
    double need = (double)(alone.result.bytes_peak - alone.result.bytes_baseline);
    rig_close(&alone);
    open_rooms(&r, norm, PT_AMP_OFF, 30000);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    real *whole = rig_copy(&r, r.grad);
    if (amp != PT_AMP_OFF) {
        rig_close(&r);
        open_rooms(&r, norm, amp, 30000);
        rig_run(&r, NULL, NULL);
        real *half = rig_copy(&r, r.grad);
        for (size_t i = 0; i < r.t->net->nparams; i++) half[i] /= (real)r.result.loss_scale;
        bound = rig_distance(&r, half, whole) / 4;
        free(whole);
        whole = half;
    }
    double room = (double)(r.result.bytes_peak - r.result.bytes_baseline);
    rig_run_on_budget(&r, 0.9 * need / room, (uint64_t)room);
    ck_assert_int_ge(r.result.recover.splits_scene, 1);
    ck_assert_int_ge(r.result.recover.splits_space, 1);
    for (size_t i = 0; i < r.t->net->nparams; i++) r.grad[i] /= (real)r.result.loss_scale;
    double e = rig_distance(&r, r.grad, whole);
    printf("norm %d, amp %d: %lld splits in space, off by %.2g of %.2g\n", (int)norm, (int)amp,
           (long long)r.result.recover.splits_space, e, bound);
    ck_assert_msg(e <= bound, "the gradient is off by %.3g", e);
    free(whole);
    rig_close(&r);
}

START_TEST(a_largest_scene_that_alone_does_not_fit)
{
    largest_alone(PT_NORM_LAYER, PT_AMP_OFF);
    largest_alone(PT_NORM_FROZEN, PT_AMP_OFF);
}
END_TEST

#ifndef PT_DOUBLE
START_TEST(every_norm_of_fp16_in_tiles)
{
    for (int norm = PT_NORM_LAYER; norm <= PT_NORM_BATCH; norm++)
        all_tilings((pt_norm)norm, PT_AMP_FP16);
}
END_TEST

START_TEST(every_norm_of_bf16_in_tiles)
{
    for (int norm = PT_NORM_LAYER; norm <= PT_NORM_BATCH; norm++)
        all_tilings((pt_norm)norm, PT_AMP_BF16);
}
END_TEST

START_TEST(a_largest_scene_of_16_bits_that_alone_does_not_fit)
{
    largest_alone(PT_NORM_LAYER, PT_AMP_FP16);
    largest_alone(PT_NORM_FROZEN, PT_AMP_BF16);
}
END_TEST
#endif

static const case_entry cases[] = {
#ifdef PT_DOUBLE
#include "tiles_double.def"
#else
#include "tiles_float.def"
#endif
};
CASE_MAIN(SUITE)
