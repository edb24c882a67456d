/* batchnorm.c - batch norm of a batch that is split, in double: what the running statistics learn
 * is the whole batch's, each voxel once; the bias of pieces is measured; frozen pieces are exact.
 */
#include "case.h"
#include "net/layers.h"
#include "recovery/stage.h"
#include "rig.h"
#include <math.h>

#define EXACT 1e-12

static const rig_options rooms = {.scenes = 3,
                                  .points = {30000, 1500, 1200},
                                  .voxel = 0.12f,
                                  .allocator = PT_ALLOC_DIRECT,
                                  .norm = PT_NORM_BATCH};
static const rig_options small = {.scenes = 2,
                                  .points = {900, 700},
                                  .voxel = 0.2f,
                                  .allocator = PT_ALLOC_DIRECT,
                                  .norm = PT_NORM_BATCH};
static const char by_scene[] = "cudaMalloc phase=forward times=3 -> oom";

static void same(const real *a, const real *b, size_t n, const char *what)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)(a[i] - b[i])) / fmax(1e-3, fabs((double)b[i])));
    printf("%s: off by %.2g\n", what, worst);
    ck_assert_msg(worst <= EXACT, "%s: off by %.3g", what, worst);
}

/* The whole batch on the device, augmented as the trainer does. */
static pt_fragment *whole_of(rig *r)
{
    pt_fragment *f;
    pt_augment a = {
        .seed = r->t->o.seed, .step = (uint64_t)r->start.step, .strength = r->t->o.augment};
    ck_assert_int_eq(pt_fragment_join(r->scene, r->key, r->o.scenes, PT_ROOM_CLASSES, NULL, &f),
                     PT_OK);
    ck_assert_int_eq(pt_stage_up(&r->t->device, f, &a, PT_DEVICE_ALL), PT_OK);
    return f;
}

static void gone(rig *r, pt_fragment *f)
{
    pt_stage_discard(&r->t->device, f);
    pt_fragment_free(f);
}

static void *take(pt_run *run, int64_t n, size_t size)
{
    void *p;
    ck_assert_int_eq(pt_arena_alloc(&run->arena, (size_t)n, size, "case", &p), PT_OK);
    return p;
}

/* What cuDNN itself makes of the first convolution of the whole batch: mean, then variance. */
static void cudnn_says(rig *r, real *out)
{
    pt_device *d = &r->t->device;
    pt_fragment *f = whole_of(r);
    pt_run run = {.net = r->t->net, .gather_rows = 100};
    const pt_block *k = &r->t->net->layers->block[0];
    const real one = 1, zero = 0;
    cudnnTensorDescriptor_t x, bn;
    size_t bytes = sizeof(real) * 2 * (size_t)k->cout;
    const pt_source source = {&f->device, NULL, &f->shape};
    pt_arena_init(&run.arena, d);
    ck_assert_int_eq(pt_voxelise(&run.arena, &source, &run.levels), PT_OK);
    int64_t v = run.levels.v[0];
    run.at[0].x = run.levels.feature;
    run.gather_in = take(&run, 100 * k->cin, sizeof(real));
    run.gather_out = take(&run, 100 * k->cout, sizeof(real));
    real *z = take(&run, v * k->cout, sizeof(real)), *y = take(&run, v * k->cout, sizeof(real));
    real *running = take(&run, 2 * k->cout, sizeof(real));
    ck_assert_int_eq(pt_conv_forward(&run, 0, z), PT_OK);
    ck_assert_int_eq(pt_copy_up(d, running, r->start.running, bytes), PT_OK);
    cudnnCreateTensorDescriptor(&x);
    cudnnCreateTensorDescriptor(&bn);
    cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, (int)v, k->cout, 1, 1);
    cudnnDeriveBNTensorDescriptor(bn, x, CUDNN_BATCHNORM_SPATIAL);
    ck_assert_int_eq(cudnnBatchNormalizationForwardTraining(
                         d->cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, x, z, x, y, bn,
                         r->t->net->param + r->t->net->tensor[k->gamma].offset,
                         r->t->net->param + r->t->net->tensor[k->beta].offset, PT_NORM_MOMENTUM,
                         running, running + k->cout, PT_NORM_EPSILON, NULL, NULL),
                     CUDNN_STATUS_SUCCESS);
    ck_assert_int_eq(pt_copy_down(d, out, running, bytes), PT_OK);
    cudnnDestroyTensorDescriptor(x);
    cudnnDestroyTensorDescriptor(bn);
    pt_arena_free(&run.arena);
    gone(r, f);
}

static void cut(const rig *r, int scene, int space)
{
    const pt_recover_stats *s = &r->result.recover;
    printf("%lld scene, %lld spatial splits\n", (long long)s->splits_scene,
           (long long)s->splits_space);
    ck_assert_int_ge(s->splits_scene, scene);
    ck_assert_int_ge(s->splits_space, space);
}

START_TEST(running_statistics_of_the_first_norm_are_cudnns_however_the_batch_is_cut)
{
    rig r;
    real want[16];
    rig_open(&r, &rooms);
    size_t n = 2 * (size_t)r.t->net->layers->block[0].cout;
    ck_assert_uint_eq(n, 16);
    cudnn_says(&r, want);
    for (size_t i = 0; i < n; i++) ck_assert_double_ne(want[i], r.start.running[i]);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    size_t room = r.result.bytes_peak - r.result.bytes_baseline;
    same(r.end.running, want, n, "unsplit");
    for (int frozen = 0; frozen < 2; frozen++) {
        r.t->o.norm_on_split = (pt_norm_on_split)frozen;
        rig_run_on_budget(&r, 0.82, room);
        cut(&r, 1, 1);
        same(r.end.running, want, n, frozen ? "split, frozen" : "split");
    }
    rig_close(&r);
}
END_TEST

/* The unsplit batch under running statistics, by a pass of its own: gradient and, over all norms,
 * what is learnt. */
START_TEST(frozen_pieces_add_up_and_learn_the_statistics_of_the_whole)
{
    rig r;
    pt_net *n;
    rig_open(&r, &rooms);
    n = r.t->net;
    rig_run(&r, NULL, NULL); /* so that mean 0 and variance 1 are behind us */
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    size_t room = r.result.bytes_peak - r.result.bytes_baseline;
    rig_state_free(&r.start);
    r.start = rig_state_copy(&r, &r.end);
    pt_fragment *f = whole_of(&r);
    pt_pass pass = {.divisor = 32700, .backward = 1, .frozen = 1};
    ck_assert_msg(pt_net_pass(n, &f->device, &f->shape, &pass) == PT_OK, "%s",
                  pt_error_last()->message);
    gone(&r, f);
    real *whole = rig_copy(&r, r.start.param), *learnt = calloc(n->nrunning, sizeof *learnt);
    ck_assert_int_eq(pt_trainer_read(r.t, n->scratch, n->nparams, whole), PT_OK);
    pt_moments m;
    ck_assert_int_eq(pt_net_moments(n, &m), PT_OK);
    ck_assert_int_eq(pt_moments_reserve(&m), PT_OK);
    pt_moments_add(&m, n->moments);
    pt_moments_running(&m, PT_NORM_MOMENTUM, r.start.running, learnt);
    r.t->o.norm_on_split = PT_SPLIT_FROZEN;
    rig_run_on_budget(&r, 0.82, room);
    cut(&r, 1, 1);
    ck_assert_int_eq(r.result.frozen, 1);
    double e = rig_distance(&r, r.grad, whole);
    printf("gradient off by %.2g\n", e);
    ck_assert_msg(e <= EXACT, "the gradient of frozen pieces is off by %.3g", e);
    same(r.end.running, learnt, n->nrunning, "running statistics of all norms");
    /* and pieces with statistics of their own are what the measure says: something else */
    r.t->o.norm_on_split = PT_SPLIT_BATCH;
    rig_run_on_budget(&r, 0.82, room);
    ck_assert_int_eq(r.result.frozen, 0);
    ck_assert_double_gt(rig_distance(&r, r.grad, whole), 1e-3);
    pt_moments_close(&m);
    free(whole);
    free(learnt);
    rig_close(&r);
}
END_TEST

typedef struct kept {
    rig *r;
    int n, frozen;
    double *set[8];
} kept;

static void keep_set(void *user, const pt_fragment *f, const pt_pass *pass)
{
    kept *k = user;
    size_t bytes = k->r->t->net->nmoments * sizeof(double);
    (void)f;
    ck_assert_int_lt(k->n, 8);
    k->set[k->n] = malloc(bytes);
    memcpy(k->set[k->n++], k->r->t->net->moments, bytes);
    k->frozen += pass->frozen;
}

static kept run_kept(rig *r, const char *rules)
{
    kept k = {.r = r};
    pt_hooks h = r->t->hooks;
    r->t->hooks = (pt_hooks){.user = &k, .after_fragment = keep_set};
    rig_run(r, rules, NULL);
    r->t->hooks = h;
    ck_assert_msg(r->status == PT_OK, "%s", r->error.message);
    return k;
}

static void forget(kept *k)
{
    while (k->n) free(k->set[--k->n]);
}

/* The formula once more, for the first norm, from sums instead of merged moments. */
START_TEST(an_unsplit_batch_has_no_bias_and_pieces_have_the_one_of_the_formula)
{
    rig r;
    rig_open(&r, &small);
    kept k = run_kept(&r, NULL);
    ck_assert_int_eq(r.result.biased, 0);
    pt_norm_bias none = pt_moments_bias(&r.t->moments, PT_NORM_EPSILON);
    ck_assert_double_le(none.mean, EXACT);
    ck_assert_double_le(none.scale, EXACT);
    forget(&k);
    k = run_kept(&r, by_scene);
    ck_assert_int_eq(k.n, 2);
    ck_assert_int_eq(r.result.biased, 1);
    int c = r.t->net->layers->block[0].cout;
    double mean = 0, scale = 0;
    for (int i = 0; i < c; i++) {
        double n = 0, sum = 0, square = 0;
        for (int p = 0; p < 2; p++) {
            const double *s = k.set[p];
            n += s[0];
            sum += s[0] * s[1 + i];
            square += s[1 + c + i] + s[0] * s[1 + i] * s[1 + i];
        }
        double m = sum / n, sd = sqrt(square / n - m * m + 1e-5);
        for (int p = 0; p < 2; p++) {
            mean = fmax(mean, fabs(k.set[p][1 + 2 * c + i] - m) / sd);
            scale = fmax(scale, fabs(1 / (k.set[p][1 + 3 * c + i] * sd) - 1));
        }
    }
    const pt_norm_bias *b = &r.result.bias;
    printf("first norm: means off by %.3g, deviations by %.3g; all: %.3g, %.3g\n", b->first_mean,
           b->first_scale, b->mean, b->scale);
    ck_assert_double_gt(mean, 1e-3);
    ck_assert_double_gt(scale, 1e-3);
    ck_assert_double_le(fabs(b->first_mean - mean), 1e-9);
    ck_assert_double_le(fabs(b->first_scale - scale), 1e-9);
    ck_assert(b->mean >= b->first_mean && b->scale >= b->first_scale);
    forget(&k);
    rig_close(&r);
}
END_TEST

START_TEST(all_pieces_of_a_batch_are_of_one_kind)
{
    rig r;
    rig_open(&r, &small);
    for (int frozen = 0; frozen < 2; frozen++) {
        r.t->o.norm_on_split = (pt_norm_on_split)frozen;
        kept k = run_kept(&r, by_scene);
        ck_assert_int_eq(k.n, 2);
        ck_assert_int_eq(k.frozen, 2 * frozen);
        ck_assert_int_eq(r.result.frozen, frozen);
        forget(&k);
        /* retried, but not split: as a whole, by its own */
        k = run_kept(&r, "cudaMalloc phase=forward nth=3 -> oom");
        ck_assert_int_eq(k.n, 1);
        ck_assert_int_eq(k.frozen, 0);
        ck_assert_int_eq(r.result.frozen, 0);
        forget(&k);
    }
    rig_close(&r);
}
END_TEST

START_TEST(a_piece_that_failed_leaves_no_trace_in_the_statistics)
{
    rig r;
    rig_open(&r, &small);
    rig_run(&r, by_scene, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    rig_state clean = rig_state_copy(&r, &r.end);
    pt_norm_bias bias = r.result.bias;
    rig_run(&r,
            "cudaMalloc phase=forward times=3 -> oom; cudaMalloc phase=backward nth=4 -> oom;"
            "cudaMalloc phase=backward nth=61 -> oom",
            NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    ck_assert_int_eq(r.result.recover.fragments, 2);
    ck_assert_int_ge(r.result.recover.wasted_forward, 1);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &clean), "");
    ck_assert_mem_eq(&bias, &r.result.bias, sizeof bias);
    rig_state_free(&clean);
    rig_close(&r);
}
END_TEST

/* The statistics were written already when the step is refused. */
START_TEST(a_refused_step_leaves_the_statistics_as_before)
{
    rig r;
    uint64_t fired;
    rig_open(&r, &small);
    rig_run(&r, "cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)", &fired);
    ck_assert_int_eq(fired, 1);
    ck_assert_int_eq(r.status, PT_ERR_NAN);
    r.start.step++;
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &r.start), "");
    rig_close(&r);
}
END_TEST

START_TEST(sets_are_merged_by_chans_formula)
{
    enum { C = 3, N = 1000 };
    static double x[N][C];
    const int channels[] = {C};
    pt_moments m;
    real before[2 * C] = {1, 2, 3, 4, 5, 6}, after[2 * C];
    ck_assert_int_eq(pt_moments_open(&m, 1, channels), PT_OK);
    for (int round = 0; round < 2; round++) { /* the second after a reset: the same again */
        pt_moments_reset(&m);
        pt_moments_running(&m, 0.1, before, after); /* of nothing, nothing is learnt */
        ck_assert_mem_eq(after, before, sizeof after);
        for (int i = 0, piece = 0; i < N; piece++) { /* pieces of 0, 1, 2, ... rows */
            double set[1 + 4 * C] = {0};
            int n = piece < N - i ? piece : N - i;
            set[0] = n;
            for (int k = 0; k < C; k++) {
                for (int j = 0; j < n; j++) {
                    x[i + j][k] = 1e3 * k + sin((i + j) * (k + 1)) * (piece % 7);
                    set[1 + k] += x[i + j][k] / n;
                }
                for (int j = 0; j < n; j++) set[1 + C + k] += pow(x[i + j][k] - set[1 + k], 2);
            }
            i += n;
            ck_assert_int_eq(pt_moments_reserve(&m), PT_OK);
            pt_moments_add(&m, set);
        }
        pt_moments_running(&m, 0.1, before, after);
        for (int k = 0; k < C; k++) {
            long double mean = 0, m2 = 0;
            for (int i = 0; i < N; i++) mean += (long double)x[i][k] / N;
            for (int i = 0; i < N; i++) m2 += (x[i][k] - mean) * (x[i][k] - mean);
            long double want_mean = 0.9L * (k + 1) + 0.1L * mean;
            long double want_var = 0.9L * (C + k + 1) + 0.1L * m2 / (N - 1);
            ck_assert_msg(fabsl(after[k] - want_mean) <= 1e-13L * want_mean,
                          "mean %.17g, not %.17Lg", after[k], want_mean);
            ck_assert_msg(fabsl(after[C + k] - want_var) <= 1e-12L * want_var,
                          "variance %.17g, not %.17Lg", after[C + k], want_var);
        }
    }
    pt_moments_close(&m);
}
END_TEST

static const case_entry cases[] = {
#include "batchnorm.def"
};
CASE_MAIN("batchnorm")
