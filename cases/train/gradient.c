/* gradient.c - property 3, in double: pieces of a batch add up to the batch. Gradients are
 * compared, not losses: a loss can agree to 1e-4 where a gradient is wrong by 1e-2. */
#include "case.h"
#include "recovery/stage.h"
#include "rig.h"
#include "shapes.h"
#include <math.h>

#define EXACT 1e-12 /* design, section 6: double */

/* Rooms dense enough that a voxel has many neighbours: the halo must matter. */
static const rig_options dense = {
    .scenes = 3, .points = {30000, 1500, 1200}, .voxel = 0.12f, .allocator = PT_ALLOC_DIRECT};

static void dense_enough(const rig *r)
{
    double pairs = (double)r->result.pairs / (double)r->result.voxels;
    printf("%lld voxels, %.1f kernel pairs a voxel\n", (long long)r->result.voxels, pairs);
    ck_assert_msg(pairs >= 8, "only %.2f kernel pairs a voxel: the halo would hardly matter",
                  pairs);
}

/* Splits as the options say under a budget, and compares with the unsplit gradient. */
static void equal_under_budget(const rig_options *o, double share, int scene, int space)
{
    rig r;
    rig_open(&r, o);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    dense_enough(&r);
    real *whole = rig_copy(&r, r.grad);
    double loss = r.result.loss;
    rig_run_on_budget(&r, share, r.result.bytes_peak - r.result.bytes_baseline);
    const pt_recover_stats *s = &r.result.recover;
    ck_assert_msg(s->splits_scene >= scene && s->splits_space >= space,
                  "the budget did not bite: %lld scene and %lld spatial splits",
                  (long long)s->splits_scene, (long long)s->splits_space);
    double e = rig_distance(&r, r.grad, whole);
    printf("%lld scene, %lld spatial splits, halo %d: gradient off by %.2g, loss by %.2g\n",
           (long long)s->splits_scene, (long long)s->splits_space, r.t->halo, e,
           fabs(r.result.loss - loss) / fabs(loss));
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    free(whole);
    rig_close(&r);
}

START_TEST(splitting_by_scene_gives_the_unsplit_gradient)
{
    equal_under_budget(
        &(rig_options){
            .scenes = 3, .points = {3000, 2500, 2800}, .voxel = 0.2f, .allocator = PT_ALLOC_DIRECT},
        0.55, 1, 0);
}
END_TEST

START_TEST(splitting_in_space_with_the_halo_gives_the_unsplit_gradient)
{
    equal_under_budget(&dense, 0.82, 1, 1);
}
END_TEST

/* A batch that is split before it is tried, by scene and in space, from the state in which it was
 * trained whole. */
START_TEST(a_batch_split_ahead_gives_the_unsplit_gradient)
{
    rig_options o = dense;
    rig r;
    o.plan_ahead = 1;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    dense_enough(&r);
    real *whole = rig_copy(&r, r.grad);
    uint64_t room = r.result.bytes_peak - r.result.bytes_baseline;
    rig_run_on_budget(&r, 0.82, room); /* learns what does not fit */
    ck_assert_int_gt(r.result.recover.retries, 0);
    rig_run_on_budget(&r, 0.82, room);
    const pt_recover_stats *s = &r.result.recover;
    double e = rig_distance(&r, r.grad, whole);
    printf("%lld planned, %lld scene, %lld spatial splits, %lld retries: gradient off by %.2g\n",
           (long long)s->planned, (long long)s->splits_scene, (long long)s->splits_space,
           (long long)s->retries, e);
    ck_assert_int_gt(s->planned, 0);
    ck_assert_int_gt(s->splits_space, 0);
    ck_assert_int_eq(s->retries, 0);
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    /* with statistics of a batch, none is split unasked */
    rig_close(&r);
    o.norm = PT_NORM_BATCH;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        rig_run_on_budget(&r, 0.82, room);
        ck_assert_int_eq(r.result.recover.planned, 0);
    }
    free(whole);
    rig_close(&r);
}
END_TEST

START_TEST(alternate_splits_give_the_unsplit_gradient)
{
    rig_options o = dense;
    o.split = PT_SPLIT_ALTERNATE;
    equal_under_budget(&o, 0.82, 1, 1);
}
END_TEST

START_TEST(an_oom_in_the_middle_of_backward_gives_the_unsplit_gradient)
{
    rig r;
    rig_open(&r, &dense);
    rig_run(&r, NULL, NULL);
    real *whole = rig_copy(&r, r.grad);
    /* three attempts of the batch fail half-way through backward, then three of its largest scene
     */
    rig_run(&r,
            "cudaMalloc phase=backward nth=6 -> oom; cudaMalloc phase=backward nth=12 -> oom;"
            "cudaMalloc phase=backward nth=18 -> oom; cudaMalloc phase=backward nth=24 -> oom;"
            "cudaMalloc phase=backward nth=30 -> oom; cudaMalloc phase=backward nth=36 -> oom",
            NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_ge(r.result.recover.splits_scene, 1);
    ck_assert_int_eq(r.result.recover.wasted_backward, 0); /* none ran to its end */
    ck_assert_int_ge(r.result.recover.wasted_forward, 4);
    ck_assert_int_eq(r.result.dropped, 0);
    double e = rig_distance(&r, r.grad, whole);
    printf("%lld spatial splits, gradient off by %.2g\n", (long long)r.result.recover.splits_space,
           e);
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    rig_check_invariants(&r, "OOM in backward");
    free(whole);
    rig_close(&r);
}
END_TEST

/* One scene cut at a coordinate, each half through the net, gradients added: no recovery in
 * between. */
static double cut_and_add(rig *r, const pt_scene *scene, const real *whole, float at, int halo)
{
    uint32_t key = 0;
    pt_fragment *f, *half[2];
    pt_cut cut = {.axis = 0, .at = at};
    pt_augment none = {0};
    ck_assert_int_eq(pt_fragment_join(scene, &key, 1, PT_ROOM_CLASSES, NULL, &f), PT_OK);
    double divisor = pt_fragment_valid_weight(f);
    f->augmented = 1;
    ck_assert_int_eq(pt_net_zero_grad(r->t->net), PT_OK);
    if (halo < 0) {
        half[0] = f;
        half[1] = NULL;
    } else {
        ck_assert_int_eq(pt_split_at(f, &cut, halo, half), PT_OK);
        ck_assert_int_gt(half[0]->shape.own, 0);
        ck_assert_int_gt(half[1]->shape.own, 0);
        pt_fragment_free(f);
    }
    for (int h = 0; h < 2 && half[h]; h++) {
        pt_pass p = {.divisor = divisor, .backward = 1};
        half[h]->augmented = 1;
        ck_assert_int_eq(pt_stage_up(&r->t->device, half[h], &none, PT_DEVICE_ALL), PT_OK);
        ck_assert_msg(pt_net_pass(r->t->net, &half[h]->device, &half[h]->shape, &p) == PT_OK, "%s",
                      pt_error_last()->message);
        ck_assert_int_eq(pt_net_commit(r->t->net), PT_OK);
        pt_stage_discard(&r->t->device, half[h]);
        pt_fragment_free(half[h]);
    }
    ck_assert_int_eq(pt_trainer_read(r->t, r->t->net->grad, r->t->net->nparams, r->grad), PT_OK);
    return whole ? rig_distance(r, r->grad, whole) : 0;
}

/* A block of voxels without a gap, long enough in x that the cut's halo does not reach its ends:
 * every voxel has all its neighbours, so the whole width is needed at the worst alignment. */
static pt_scene block(int length, int side)
{
    int64_t n = (int64_t)length * side * side;
    pt_scene s = shape_make(SHAPE_SAME, n, PT_ROOM_CLASSES, 4);
    s.voxel = 1;
    for (int64_t i = 0; i < n; i++) {
        s.coord[3 * i] = (float)(i % length) + 0.5f;
        s.coord[3 * i + 1] = (float)(i / length % side) + 0.5f;
        s.coord[3 * i + 2] = (float)(i / length / side) + 0.5f;
    }
    return s;
}

/* Worst error over the four alignments of the cut to coarse cells. */
static double worst_cut(rig *r, int halo)
{
    double worst = 0;
    for (int shift = 0; shift < 4; shift++) {
        pt_scene s = block(80, 3);
        cut_and_add(r, &s, NULL, 0, -1);
        real *whole = rig_copy(r, r->grad);
        worst = fmax(worst, cut_and_add(r, &s, whole, (float)(38 + shift), halo));
        free(whole);
        pt_scene_free(&s);
    }
    return worst;
}

static void halo_is_tight(int convs, int expected)
{
    rig r;
    rig_open(&r, &(rig_options){.scenes = 1, .points = {600}, .convs = convs});
    ck_assert_int_eq(r.t->halo, expected);
    double right = worst_cut(&r, expected), short_by_one = worst_cut(&r, expected - 1);
    printf("halo %d: off by %.2g; halo %d: off by %.2g\n", expected, right, expected - 1,
           short_by_one);
    ck_assert_msg(right <= EXACT, "with the full halo the gradient is off by %.3g", right);
    ck_assert_msg(short_by_one > 1e-9, "a halo of %d voxels is enough as well (%.3g)", expected - 1,
                  short_by_one);
    rig_close(&r);
}

START_TEST(a_halo_one_voxel_too_small_is_seen)
{
    halo_is_tight(1, 14);
}
END_TEST

START_TEST(two_convolutions_a_level_need_and_get_the_wider_halo)
{
    halo_is_tight(2, 24);
}
END_TEST

typedef struct pieces {
    rig *r;
    int n;
    real *grad[16];
    double weight[16], divisor;
} pieces;

static void keep_piece(void *user, const pt_fragment *f, const pt_pass *pass)
{
    pieces *p = user;
    ck_assert_int_lt(p->n, 16);
    p->grad[p->n] = rig_copy(p->r, p->r->start.param);
    ck_assert_int_eq(
        pt_trainer_read(p->r->t, p->r->t->net->scratch, p->r->t->net->nparams, p->grad[p->n]),
        PT_OK);
    p->weight[p->n++] = (double)f->shape.own; /* rooms have no ignored labels */
    p->divisor = pass->divisor;
}

START_TEST(zero_grad_per_fragment_and_mean_of_means_are_seen)
{
    rig r;
    rig_open(&r, &(rig_options){.scenes = 3,
                                .points = {3000, 900, 1800},
                                .voxel = 0.2f,
                                .allocator = PT_ALLOC_DIRECT});
    rig_run(&r, NULL, NULL);
    real *whole = rig_copy(&r, r.grad);
    pieces p = {.r = &r};
    pt_hooks h = r.t->hooks;
    r.t->hooks.user = &p;
    r.t->hooks.before_step = NULL;
    r.t->hooks.after_fragment = keep_piece;
    rig_run(&r,
            "cudaMalloc phase=forward nth=2 -> oom; cudaMalloc phase=forward nth=4 -> oom;"
            "cudaMalloc phase=forward nth=6 -> oom",
            NULL);
    r.t->hooks = h;
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(p.n, 3);
    size_t n = r.t->net->nparams;
    real *sum = rig_copy(&r, p.grad[0]), *means = rig_copy(&r, p.grad[0]);
    for (size_t i = 0; i < n; i++) {
        double s = 0, m = 0;
        for (int k = 0; k < p.n; k++) {
            s += (double)p.grad[k][i];
            m += (double)p.grad[k][i] * p.divisor / p.weight[k] / p.n;
        }
        sum[i] = (real)s;
        means[i] = (real)m;
    }
    double right = rig_distance(&r, sum, whole), last = rig_distance(&r, p.grad[p.n - 1], whole);
    double mean = rig_distance(&r, means, whole);
    printf("sum of pieces off by %.2g, last piece alone by %.2g, mean of means by %.2g\n", right,
           last, mean);
    ck_assert_msg(right <= EXACT, "the pieces add up to something else: %.3g", right);
    ck_assert_msg(last > 1e-3, "losing all pieces but the last is off by only %.3g", last);
    ck_assert_msg(mean > 1e-3, "a mean of means is off by only %.3g", mean);
    for (int k = 0; k < p.n; k++) free(p.grad[k]);
    free(sum);
    free(means);
    free(whole);
    rig_close(&r);
}
END_TEST

START_TEST(smaller_gather_chunks_give_the_same_gradient)
{
    rig r;
    rig_open(&r, &dense);
    rig_run(&r, NULL, NULL);
    real *whole = rig_copy(&r, r.grad);
    r.t->o.gather_rows = 100;
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    double e = rig_distance(&r, r.grad, whole);
    printf("gather workspace of 100 rows: gradient off by %.2g\n", e);
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    free(whole);
    rig_close(&r);
}
END_TEST

START_TEST(clipping_acts_on_the_whole_batch)
{
    rig r;
    rig_options o = {.scenes = 3,
                     .points = {3000, 900, 1800},
                     .voxel = 0.2f,
                     .allocator = PT_ALLOC_DIRECT,
                     .clip = 1e-3};
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    rig_state whole = rig_state_copy(&r, &r.end);
    double norm = r.result.grad_norm;
    ck_assert_msg(norm > o.clip, "the clip does not bite: norm %.3g", norm);
    rig_run(&r,
            "cudaMalloc phase=forward nth=2 -> oom; cudaMalloc phase=forward nth=4 -> oom;"
            "cudaMalloc phase=forward nth=6 -> oom",
            NULL);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    ck_assert_msg(fabs(r.result.grad_norm - norm) <= 1e-12 * norm, "norm %.17g, unsplit %.17g",
                  r.result.grad_norm, norm);
    ck_assert_double_le(rig_distance(&r, r.end.m, whole.m), EXACT);
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

/* Arms a rule that fails every fragment which holds scene 1. */
static int doomed; /* position of the scene that never fits */
static void fail_the_doomed(void *user, const pt_fragment *f)
{
    char error[128];
    int has = 0;
    (void)user;
    for (int s = 0; s < f->shape.scenes; s++) has |= f->member[s].position == doomed;
    if (has)
        ck_assert_int_eq(oomproof_arm("cudaMalloc phase=forward -> oom", error, sizeof error), 1);
    else
        oomproof_disarm();
}

/* The scene that is dropped goes first or last: later fragments must not see another divisor. */
static void dropped_scene(int which)
{
    rig r;
    int64_t points[] = {which ? 2500 : 800, which ? 800 : 2500};
    rig_open(&r, &(rig_options){.scenes = 2,
                                .points = {points[0], points[1]},
                                .voxel = 0.2f,
                                .allocator = PT_ALLOC_DIRECT});
    doomed = which;
    r.t->hooks.before_attempt = fail_the_doomed;
    rig_run(&r, NULL, NULL);
    r.t->hooks.before_attempt = NULL;
    oomproof_disarm();
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.dropped, 800);
    real *dropped = rig_copy(&r, r.grad);
    for (int64_t i = 0; i < r.scene[which].n; i++) r.scene[which].label[i] = PT_IGNORE;
    rig_run(&r, NULL, NULL);
    /* that run divided by the 2500 points left: bring it to the divisor of the whole batch */
    for (size_t i = 0; i < r.t->net->nparams; i++) r.grad[i] *= (real)(2500.0 / 3300.0);
    double e = rig_distance(&r, dropped, r.grad);
    ck_assert_msg(e <= EXACT, "scene %d dropped: the gradient is off by %.3g", which, e);
    free(dropped);
    rig_close(&r);
}

START_TEST(dropped_points_are_ignored_labels_with_the_same_divisor)
{
    dropped_scene(0);
    dropped_scene(1);
}
END_TEST

static const case_entry cases[] = {
#include "gradient.def"
};
CASE_MAIN("gradient")
