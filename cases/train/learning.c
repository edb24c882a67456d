/* learning.c - settings of what is learnt and how, in double: with each of them, pieces of a batch
 * still add up to the batch. */
#include "case.h"
#include "rig.h"
#include <math.h>
#include <string.h>

#define EXACT 1e-12 /* design, section 6: double */

/* Small scenes, which are taken apart one by one, and a dense one, which is cut with its halo. */
static const rig_options small = {
    .scenes = 3, .points = {3000, 2500, 2800}, .voxel = 0.2f, .allocator = PT_ALLOC_DIRECT};
static const rig_options dense = {.scenes = 3,
                                  .points = {30000, 1500, 1200},
                                  .voxel = 0.12f,
                                  .width0 = 4,
                                  .allocator = PT_ALLOC_DIRECT};

typedef void change(rig *r); /* what the setting needs besides its option */

/* The batch without the setting, with it, and with it on a card that is too small. */
static void stays_exact_on(const rig_options *plain, const rig_options *o, double share, int space,
                           change *prepare)
{
    rig r;
    rig_open(&r, plain);
    if (prepare) prepare(&r);
    rig_run(&r, NULL, NULL);
    real *without = rig_copy(&r, r.grad);
    rig_close(&r);
    rig_open(&r, o);
    if (prepare) prepare(&r);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    real *whole = rig_copy(&r, r.grad);
    double loss = r.result.loss, changed = rig_distance(&r, whole, without);
    rig_run_on_budget(&r, share, r.result.bytes_peak - r.result.bytes_baseline);
    const pt_recover_stats *s = &r.result.recover;
    ck_assert_msg(s->splits_scene >= 1 && s->splits_space >= space,
                  "the budget did not bite: %lld scene and %lld spatial splits",
                  (long long)s->splits_scene, (long long)s->splits_space);
    double e = rig_distance(&r, r.grad, whole), l = fabs(r.result.loss - loss) / fabs(loss);
    printf("%lld scene, %lld spatial splits: gradient off by %.2g, loss by %.2g; the setting moves "
           "the gradient by %.2g\n",
           (long long)s->splits_scene, (long long)s->splits_space, e, l, changed);
    ck_assert_msg(changed > 1e-3, "the setting does nothing: the gradient moves by %.3g", changed);
    ck_assert_msg(e <= EXACT && l <= EXACT, "the gradient is off by %.3g, the loss by %.3g", e, l);
    free(without);
    free(whole);
    rig_close(&r);
}

static void stays_exact(void (*set)(rig_options *), change *prepare)
{
    rig_options a = small, b = dense;
    set(&a);
    set(&b);
    stays_exact_on(&small, &a, 0.55, 0, prepare);
    stays_exact_on(&dense, &b, 0.82, 1, prepare);
}

static void smooth(rig_options *o)
{
    o->smoothing = 0.2;
}

START_TEST(pieces_of_smoothed_labels_add_up)
{
    stays_exact(smooth, NULL);
}
END_TEST

/* A class of weight 0 among them, and every third point of scene 0 and all of scene 1 have no
 * label: the weight is spread unevenly over the pieces. */
static const real weights[PT_ROOM_CLASSES] = {0.25, 2, 0, 3, 1.5, 0.75};

static void weigh(rig_options *o)
{
    o->class_weight = weights;
}

static void ignore_many(rig *r)
{
    for (int64_t i = 0; i < r->scene[0].n; i += 3) r->scene[0].label[i] = PT_IGNORE;
    for (int64_t i = 0; i < r->scene[1].n; i++) r->scene[1].label[i] = PT_IGNORE;
}

START_TEST(pieces_of_weighted_and_ignored_classes_add_up)
{
    stays_exact(weigh, ignore_many);
}
END_TEST

START_TEST(pieces_of_weighted_and_smoothed_labels_add_up)
{
    rig_options o = dense;
    weigh(&o);
    smooth(&o);
    stays_exact_on(&dense, &o, 0.82, 1, ignore_many);
}
END_TEST

/* Arms a rule that fails every fragment which holds scene 1. */
static void fail_scene_1(void *user, const pt_fragment *f)
{
    char error[128];
    int has = 0;
    (void)user;
    for (int s = 0; s < f->shape.scenes; s++) has |= f->member[s].position == 1;
    if (has)
        ck_assert_int_eq(oomproof_arm("cudaMalloc phase=forward -> oom", error, sizeof error), 1);
    else
        oomproof_disarm();
}

static double weight_of(const pt_scene *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->label[i] >= 0) sum += (double)weights[s->label[i]];
    return sum;
}

START_TEST(the_divisor_is_the_weight_of_the_whole_batch_also_after_a_drop)
{
    rig r;
    rig_open(&r, &(rig_options){.scenes = 2,
                                .points = {2500, 800},
                                .voxel = 0.2f,
                                .class_weight = weights,
                                .allocator = PT_ALLOC_DIRECT});
    double kept = weight_of(&r.scene[0]), all = kept + weight_of(&r.scene[1]);
    ck_assert_msg(fabs(kept / all - 2500.0 / 3300) > 1e-3, "weights and points say the same");
    r.t->hooks.before_attempt = fail_scene_1;
    rig_run(&r, NULL, NULL);
    r.t->hooks.before_attempt = NULL;
    oomproof_disarm();
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.dropped, 800);
    real *dropped = rig_copy(&r, r.grad);
    for (int64_t i = 0; i < r.scene[1].n; i++) r.scene[1].label[i] = PT_IGNORE;
    rig_run(&r, NULL, NULL);
    for (size_t i = 0; i < r.t->net->nparams; i++) r.grad[i] *= (real)(kept / all);
    double e = rig_distance(&r, dropped, r.grad);
    printf("scene 0 has %.4g of %.4g: gradient off by %.2g\n", kept, all, e);
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    free(dropped);
    rig_close(&r);
}
END_TEST

static void drop_out(rig_options *o)
{
    o->dropout = 0.4;
}

START_TEST(pieces_draw_the_same_dropout_and_add_up)
{
    stays_exact(drop_out, NULL);
}
END_TEST

START_TEST(a_retry_draws_the_same_dropout_in_every_bit_and_the_next_step_another)
{
    rig r;
    rig_options o = small;
    uint64_t fired;
    drop_out(&o);
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    rig_state undisturbed = rig_state_copy(&r, &r.end);
    real *grad = rig_copy(&r, r.grad);
    rig_run(&r, "cudaMalloc phase=backward nth=3 -> oom", &fired);
    ck_assert_msg(r.status == PT_OK && fired == 1 && r.result.recover.retries == 1, "%s",
                  r.error.message);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &undisturbed), "");
    /* without augmentation the next step differs by its mask, and by nothing else */
    size_t bytes = r.t->net->nparams * sizeof *grad;
    r.t->o.augment = 0;
    rig_run(&r, NULL, NULL);
    memcpy(grad, r.grad, bytes);
    r.start.step++;
    rig_run(&r, NULL, NULL);
    ck_assert_double_gt(rig_distance(&r, r.grad, grad), 1e-3);
    r.t->o.dropout = 0;
    rig_run(&r, NULL, NULL);
    memcpy(grad, r.grad, bytes);
    r.start.step--;
    rig_run(&r, NULL, NULL);
    ck_assert_mem_eq(r.grad, grad, bytes);
    free(grad);
    rig_state_free(&undisturbed);
    rig_close(&r);
}
END_TEST

START_TEST(momentum_of_a_split_batch_is_that_of_the_whole)
{
    rig r;
    rig_options o = small;
    uint64_t fired;
    o.optimizer = PT_SGD;
    rig_open(&r, &o);
    for (int step = 0; step < 2; step++) { /* the second one has a momentum to go on from */
        rig_run(&r, NULL, NULL);
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        rig_state whole = rig_state_copy(&r, &r.end);
        rig_run(&r, "cudaMalloc phase=backward nth=3 -> oom", &fired);
        ck_assert_msg(r.status == PT_OK && fired == 1, "%s", r.error.message);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &whole), "");
        rig_run(&r, NULL, NULL);
        rig_run_on_budget(&r, 0.55, r.result.bytes_peak - r.result.bytes_baseline);
        ck_assert_int_ge(r.result.recover.splits_scene, 1);
        double m = rig_distance(&r, r.end.m, whole.m),
               p = rig_distance(&r, r.end.param, whole.param);
        printf("step %d: momentum off by %.2g, parameters by %.2g\n", step, m, p);
        ck_assert_msg(m <= EXACT && p <= EXACT, "momentum off by %.3g, parameters by %.3g", m, p);
        ck_assert_double_gt(rig_distance(&r, whole.param, r.start.param), 1e-6);
        rig_state_free(&r.start);
        r.start = whole;
    }
    rig_close(&r);
}
END_TEST

/* The rate of each step, against formulas that are written down here once more. */
static void rates(pt_schedule schedule, int64_t warmup, double *rate)
{
    pt_trainer_options o = {.lr = 0.5, .steps = 50, .warmup = warmup, .schedule = schedule};
    for (int64_t i = 0; i < 50; i++) {
        rate[i] = pt_learning_rate(&o, i);
        ck_assert_msg(rate[i] >= 0 && rate[i] <= 0.5, "step %lld: %g", (long long)i, rate[i]);
    }
}

static void near(double got, double want, const char *what, int64_t step)
{
    ck_assert_msg(fabs(got - want) <= 1e-14, "%s, step %lld: %.17g, not %.17g", what,
                  (long long)step, got, want);
}

START_TEST(schedules_follow_their_formulas_after_the_warm_up)
{
    double cosine[50], poly[50], constant[50];
    for (int64_t w = 0; w <= 10; w += 5) {
        rates(PT_LR_COSINE, w, cosine);
        rates(PT_LR_POLY, w, poly);
        rates(PT_LR_CONSTANT, w, constant);
        for (int64_t i = 0; i < 50; i++) {
            double x = i < w ? 0 : (double)(i - w) / (double)(50 - w), half = sin(M_PI * x / 2);
            double up = i < w ? (double)(i + 1) / (double)w : 1;
            near(cosine[i], 0.5 * up * (1 - half * half), "cosine", i);
            near(poly[i], 0.5 * up * exp(0.9 * log1p(-x)), "poly", i);
            near(constant[i], 0.5 * up, "constant", i);
        }
    }
}
END_TEST

START_TEST(one_cycle_rises_to_the_rate_and_falls_to_nearly_nothing)
{
    double rate[50];
    for (int64_t w = 0; w <= 10; w += 10) {
        int64_t top = w ? w : 15;
        rates(PT_LR_ONECYCLE, w, rate);
        near(rate[0], 0.5 / 25, "onecycle", 0);
        near(rate[top], 0.5, "onecycle", top);
        near(rate[49], 0.5 / 250000, "onecycle", 49);
        for (int64_t i = 1; i < 50; i++)
            ck_assert_msg(i <= top ? rate[i] > rate[i - 1] : rate[i] < rate[i - 1],
                          "step %lld: %g after %g", (long long)i, rate[i], rate[i - 1]);
        if (w) near(rate[5], (0.5 + 0.5 / 25) / 2, "half-way up", 5);
    }
    /* too few steps for a way up or down: still a rate */
    for (int64_t steps = 1; steps <= 4; steps++)
        for (int64_t w = 0; w <= 5; w++) {
            pt_trainer_options o = {
                .lr = 0.5, .steps = steps, .warmup = w, .schedule = PT_LR_ONECYCLE};
            for (int64_t i = 0; i < 7; i++) {
                double r = pt_learning_rate(&o, i);
                ck_assert_msg(r > 0 && r <= 0.5, "step %lld of %lld, warm-up %lld: %g",
                              (long long)i, (long long)steps, (long long)w, r);
            }
        }
}
END_TEST

/* The rate scales the step that the whole gradient asks for, split or not. */
START_TEST(a_split_batch_takes_the_step_that_the_schedule_asks_for)
{
    rig r;
    rig_options o = small;
    o.optimizer = PT_SGD;
    rig_open(&r, &o);
    r.t->o.schedule = PT_LR_ONECYCLE;
    for (int64_t step = 0; step <= 30; step += 30) { /* the start, and the top */
        r.start.step = step;
        rig_run(&r, NULL, NULL);
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        near(r.result.lr, step ? 1e-3 : 1e-3 / 25, "onecycle", step);
        rig_state whole = rig_state_copy(&r, &r.end);
        rig_run_on_budget(&r, 0.55, r.result.bytes_peak - r.result.bytes_baseline);
        ck_assert_int_ge(r.result.recover.splits_scene, 1);
        ck_assert_double_le(rig_distance(&r, r.end.param, whole.param), EXACT);
        /* where nothing decays, the parameter moves by rate times gradient */
        const pt_tensor *bias = &r.t->net->tensor[r.t->net->ntensors - 1];
        for (size_t i = bias->offset; i < bias->offset + bias->count; i++)
            near((double)whole.param[i], (double)r.start.param[i] - r.result.lr * (double)r.grad[i],
                 bias->name, step);
        rig_state_free(&whole);
    }
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "learning.def"
};
CASE_MAIN("learning")
