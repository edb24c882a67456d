/* amp.c - products of 16 bits: how far the gradient is from that of 32 bits, that a batch taken
 * apart is no further, and what becomes of one that overflows. */
#include "case.h"
#include "loop/checkpoint.h"
#include "rig.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const rig_options small = {
    .scenes = 3, .points = {3000, 2500, 2800}, .voxel = 0.2f, .allocator = PT_ALLOC_DIRECT};
static const rig_options dense = {.scenes = 3,
                                  .points = {30000, 1500, 1200},
                                  .voxel = 0.12f,
                                  .width0 = 4,
                                  .allocator = PT_ALLOC_DIRECT};

/* The gradient without the loss scale. */
static real *gradient(const rig *r)
{
    real *g = rig_copy(r, r->grad);
    for (size_t i = 0; i < r->t->net->nparams; i++) g[i] /= (real)r->result.loss_scale;
    return g;
}

/* In length, against all of the gradient: a ReLU that changes sides under a rounding moves a small
 * tensor by much, and the whole by little. */
static double length_apart(const rig *r, const real *a, const real *b)
{
    double d = 0, all = 0;
    for (size_t i = 0; i < r->t->net->nparams; i++) {
        d += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        all += (double)b[i] * b[i];
    }
    return sqrt(d / all);
}

static void apart(rig_options o, pt_amp amp, double unit, double share, int space)
{
    rig r;
    o.amp = PT_AMP_OFF;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    real *exact = gradient(&r);
    double loss = r.result.loss;
    rig_close(&r);
    o.amp = amp;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK && r.result.stepped, "%s", r.error.message);
    real *whole = gradient(&r);
    double own = rig_distance(&r, whole, exact), length = length_apart(&r, whole, exact);
    double off = fabs(r.result.loss - loss) / loss;
    rig_run_on_budget(&r, share, r.result.bytes_peak - r.result.bytes_baseline);
    ck_assert_msg(r.status == PT_OK && r.result.dropped == 0, "%s", r.error.message);
    const pt_recover_stats *s = &r.result.recover;
    ck_assert_msg(s->splits_scene >= 1 && s->splits_space >= space,
                  "the budget did not bite: %lld scene and %lld spatial splits",
                  (long long)s->splits_scene, (long long)s->splits_space);
    real *pieces = gradient(&r);
    double e = rig_distance(&r, pieces, whole), short_of = length_apart(&r, pieces, whole);
    printf("unsplit: loss %.2g, gradient %.3g (worst tensor), %.3g (length) from 32 bits; split "
           "(%lld by scene, "
           "%lld in space): %.3g, %.3g from unsplit\n",
           off, own, length, (long long)s->splits_scene, (long long)s->splits_space, e, short_of);
    ck_assert_msg(off <= unit, "the loss is off by %.3g of itself", off);
    ck_assert_msg(length > unit / 16 && length < 64 * unit, "%.3g from the gradient of 32 bits",
                  length);
    ck_assert_msg(
        e <= own && short_of <= length / 4,
        "split, the gradient is %.3g (%.3g) from unsplit, which is %.3g (%.3g) from 32 bits", e,
        short_of, own, length);
    free(exact), free(whole), free(pieces);
    rig_close(&r);
}

START_TEST(a_batch_of_fp16_taken_apart_adds_up)
{
    apart(small, PT_AMP_FP16, 0x1p-11, 0.55, 0);
    apart(dense, PT_AMP_FP16, 0x1p-11, 0.82, 1);
}
END_TEST

START_TEST(a_batch_of_bf16_taken_apart_adds_up)
{
    apart(small, PT_AMP_BF16, 0x1p-8, 0.55, 0);
    apart(dense, PT_AMP_BF16, 0x1p-8, 0.82, 1);
}
END_TEST

static void open_fp16(rig *r)
{
    rig_options o = small;
    o.amp = PT_AMP_FP16;
    rig_open(r, &o);
}

START_TEST(a_retry_is_the_same_in_every_bit)
{
    rig r;
    uint64_t fired;
    open_fp16(&r);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    rig_state whole = rig_state_copy(&r, &r.end);
    static const char *const rules[] = {"cudaMalloc phase=backward nth=4 -> oom",
                                        "cublasGemmEx phase=forward nth=9 -> oom",
                                        "cublasGemmEx phase=backward nth=30 -> oom"};
    for (int i = 0; i < 3; i++) {
        r.t->scaler = pt_scaler_start(PT_AMP_FP16);
        rig_run(&r, rules[i], &fired);
        ck_assert_msg(fired == 1 && r.status == PT_OK, "%s: %s", rules[i], r.error.message);
        ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "%s: different%s", rules[i],
                      rig_state_diff(&r, &r.end, &whole));
    }
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

START_TEST(an_overflow_is_no_failure_and_changes_only_the_scale)
{
    rig_options o = small;
    rig r;
    o.amp = PT_AMP_FP16;
    o.norm = PT_NORM_BATCH;
    rig_open(&r, &o);
    r.t->scaler = (pt_scaler){0x1p40, 7};
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert(r.result.overflow && !r.result.stepped);
    ck_assert_int_eq(r.result.recover.retries, 0);
    ck_assert_int_eq(r.ledger.count[PT_FATE_OVERFLOW], r.result.points);
    ck_assert_int_eq(r.result.dropped, r.result.points);
    r.start.step++;
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &r.start), "changed%s",
                  rig_state_diff(&r, &r.end, &r.start));
    ck_assert(r.t->scaler.scale == 0x1p39 && r.t->scaler.good == 0);
    rig_check_invariants(&r, "an overflow");
    while (r.result.overflow) rig_run(&r, NULL, NULL); /* ends: at scale 1 it would be an error */
    ck_assert_msg(r.status == PT_OK && r.result.stepped, "%s", r.error.message);
    ck_assert(r.t->scaler.scale >= 1 && r.t->scaler.good == 1);
    ck_assert_int_eq(r.result.dropped, 0);
    rig_close(&r);
}
END_TEST

/* A split does not hide an overflow, nor make one an out-of-memory. */
START_TEST(an_overflow_of_a_batch_taken_apart_is_decided_once)
{
    rig r;
    char rule[96];
    open_fp16(&r);
    rig_run(&r, NULL, NULL);
    size_t need = r.result.bytes_peak - r.result.bytes_baseline;
    r.t->scaler = (pt_scaler){0x1p40, 0};
    snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)((double)r.live + 0.55 * (double)need));
    rig_run(&r, rule, NULL);
    ck_assert_msg(r.status == PT_OK && r.result.overflow, "%s", r.error.message);
    ck_assert_int_ge(r.result.recover.splits_scene, 1);
    ck_assert_int_eq(r.ledger.count[PT_FATE_OVERFLOW], r.result.points);
    ck_assert(r.t->scaler.scale == 0x1p39);
    rig_close(&r);
}
END_TEST

START_TEST(a_nan_at_scale_1_is_an_error)
{
    rig r;
    const char *rule = "cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)";
    open_fp16(&r);
    r.t->scaler.scale = 1;
    rig_run(&r, rule, NULL);
    ck_assert_int_eq(r.status, PT_ERR_NAN);
    r.t->scaler.scale = 2;
    rig_run(&r, rule, NULL);
    ck_assert(r.status == PT_OK && r.result.overflow && r.t->scaler.scale == 1);
    rig_run(&r, "cudaMemcpyAsync kind=d2h phase=loss nth=1 -> poison(nan, type=f64)", NULL);
    ck_assert_int_eq(r.status, PT_ERR_NAN); /* a loss that is none is never the scale's fault */
    rig_close(&r);
}
END_TEST

START_TEST(the_scale_grows_after_many_good_steps)
{
    rig r;
    open_fp16(&r);
    r.t->scaler = (pt_scaler){1024, PT_SCALE_PATIENCE - 2};
    rig_run(&r, NULL, NULL);
    ck_assert(r.t->scaler.scale == 1024);
    rig_run(&r, NULL, NULL);
    ck_assert(r.t->scaler.scale == 2048 && r.t->scaler.good == 0);
    rig_close(&r);
}
END_TEST

/* A power of 2 only moves exponents: what differs is what was too small for 16 bits. */
START_TEST(the_scale_does_not_show_in_the_step)
{
    rig r;
    rig_options o = small;
    o.amp = PT_AMP_FP16;
    o.clip = 0.1;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    double norm = r.result.grad_norm;
    r.t->scaler.scale = 4096;
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK && fabs(r.result.grad_norm - norm) <= 1e-3 * norm,
                  "at a scale of 65536 the norm is %g, at 4096 %g", norm, r.result.grad_norm);
    rig_close(&r);
}
END_TEST

START_TEST(the_scale_is_in_the_checkpoint)
{
    rig r, again;
    rig_options o = small;
    char path[64];
    int found;
    snprintf(path, sizeof path, "/tmp/oomproof-amp-%ld", (long)getpid());
    open_fp16(&r);
    r.t->scaler = (pt_scaler){512, 41};
    ck_assert_int_eq(pt_checkpoint_save(r.t, path), PT_OK);
    open_fp16(&again);
    ck_assert_int_eq(pt_checkpoint_load(again.t, path, &found), PT_OK);
    ck_assert(again.t->scaler.scale == 512 && again.t->scaler.good == 41);
    rig_close(&again);
    rig_open(&again, &o); /* without --amp */
    ck_assert_int_eq(pt_checkpoint_load(again.t, path, &found), PT_ERR_INPUT);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "another --amp"));
    unlink(path);
    rig_close(&again);
    rig_close(&r);
}
END_TEST

/* Scene s of three, as a batch of its own, under a rule. */
static void feed(rig *r, int s, const char *rule)
{
    char error[256] = "";
    pt_ledger_close(&r->ledger);
    if (rule) ck_assert_msg(oomproof_arm(rule, error, sizeof error) == 1, "%s", error);
    r->status = pt_trainer_batch(r->t, &r->scene[s], &r->key[s], 1, &r->ledger, &r->result);
    if (rule) ck_assert_msg(oomproof_fired(0) >= 1, "%s never fired", rule);
    oomproof_disarm();
    ck_assert_msg(r->status == PT_OK, "scene %d: %s", s, pt_error_last()->message);
}

static void open_step(rig *r)
{
    rig_options o = small;
    o.amp = PT_AMP_FP16;
    o.norm = PT_NORM_BATCH; /* whose statistics go with a step that overflows */
    o.accum = 3;
    rig_open(r, &o);
}

/* The scale is that of the step, and it is the sum of the batches that overflows or does not. */
START_TEST(a_step_of_several_batches_overflows_once_and_as_a_whole)
{
    rig r;
    open_step(&r);
    int64_t earlier = 0;
    r.t->scaler = (pt_scaler){0x1p40, 7};
    for (int s = 0; s < 3; s++) {
        feed(&r, s, NULL);
        ck_assert_int_eq(r.result.overflow, s == 2);
        ck_assert(r.t->scaler.scale == (s == 2 ? 0x1p39 : 0x1p40));
        if (s < 2) earlier += r.result.points;
    }
    ck_assert_int_eq(r.result.voided, earlier);
    ck_assert_int_eq(r.ledger.count[PT_FATE_OVERFLOW], r.result.points);
    rig_read_state(&r, &r.end);
    r.start.step = 3;
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &r.start), "changed%s",
                  rig_state_diff(&r, &r.end, &r.start));
    rig_close(&r);
}
END_TEST

START_TEST(a_retry_in_a_step_of_several_batches_is_the_same_in_every_bit)
{
    static const char *const rules[] = {"cudaMalloc phase=backward nth=4 -> oom",
                                        "cublasGemmEx phase=forward nth=9 -> oom",
                                        "cudaLaunchKernel phase=commit nth=2 -> oom"};
    rig clean, r;
    open_step(&clean);
    for (int s = 0; s < 3; s++) feed(&clean, s, NULL);
    ck_assert_int_eq(clean.result.stepped, 1);
    rig_read_state(&clean, &clean.end);
    for (int s = 1; s < 3; s++)
        for (int i = 0; i < 3; i++) {
            open_step(&r);
            for (int k = 0; k < 3; k++) feed(&r, k, k == s ? rules[i] : NULL);
            rig_read_state(&r, &r.end);
            ck_assert_msg(!*rig_state_diff(&r, &r.end, &clean.end), "batch %d, %s: different%s", s,
                          rules[i], rig_state_diff(&r, &r.end, &clean.end));
            rig_close(&r);
        }
    rig_close(&clean);
}
END_TEST

static const case_entry cases[] = {
#include "amp.def"
};
CASE_MAIN("amp")
