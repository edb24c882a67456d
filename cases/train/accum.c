/* accum.c - steps of several batches, in double: together they are one batch, whatever happened to
 * each of them, and a run can be stopped between any two. */
#include "case.h"
#include "loop/checkpoint.h"
#include "rig.h"
#include <math.h>
#include <unistd.h>

#define EXACT 1e-12
enum { N = 3 };

static const real weights[PT_ROOM_CLASSES] = {0.25, 2, 1, 3, 1.5, 0.75};
static const rig_options rooms = {.scenes = N,
                                  .points = {900, 2500, 700},
                                  .voxel = 0.2f,
                                  .allocator = PT_ALLOC_DIRECT,
                                  .class_weight = weights,
                                  .accum = N};

static const char skipped[] = "cudnnSoftmaxForward nth=1 -> status(CUDNN_STATUS_BAD_PARAM)";
static const char again[] = "cudaMalloc phase=backward nth=3 -> oom";

static int large; /* the second room is worth a split in space */
static pt_norm norm;

static void open_rooms(rig *r, int accum)
{
    rig_options o = rooms;
    o.accum = accum;
    o.norm = norm;
    if (large) o.points[1] = 30000, o.voxel = 0.12f;
    rig_open(r, &o);
    r->t->o.augment = 0; /* which is keyed by batch */
    for (int s = 0; s < N; s++)
        for (int64_t i = 0; i < r->scene[s].n; i += 7) r->scene[s].label[i] = PT_IGNORE;
}

/* Scene s as a batch of its own, under these rules. */
static pt_status feed(rig *r, int s, const char *rules)
{
    char error[256] = "";
    pt_ledger_close(&r->ledger);
    pt_error_clear();
    if (rules) ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s", error);
    r->status = pt_trainer_batch(r->t, &r->scene[s], &r->key[s], 1, &r->ledger, &r->result);
    r->error = *pt_error_last();
    if (rules) ck_assert_msg(oomproof_fired(0) >= 1, "%s never fired", rules);
    oomproof_disarm();
    return r->status;
}

/* A step: batch k under rules[k]. */
static void step(rig *r, const char *const rules[N])
{
    for (int s = 0; s < N; s++) feed(r, s, rules ? rules[s] : NULL);
    rig_read_state(r, &r->end);
}

/* The sum of the last step, as the optimiser saw it. */
static void read_sum(rig *r, double divisor, double weight)
{
    size_t n = r->t->net->nparams;
    ck_assert_int_eq(pt_trainer_read(r->t, r->t->net->accum, n, r->grad), PT_OK);
    for (size_t i = 0; i < n; i++) r->grad[i] *= (real)(divisor / weight);
}

static double weight_of(const pt_scene *s)
{
    double sum = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (s->label[i] >= 0) sum += (double)weights[s->label[i]];
    return sum;
}

/* The gradient of one batch of the scenes whose bit is set. */
static real *joined(unsigned which)
{
    rig r;
    open_rooms(&r, 1);
    int n = 0;
    pt_scene scene[N];
    uint32_t key[N];
    for (int s = 0; s < N; s++)
        if (which >> s & 1) scene[n] = r.scene[s], key[n++] = r.key[s];
    ck_assert_int_eq(pt_trainer_batch(r.t, scene, key, n, &r.ledger, &r.result), PT_OK);
    real *g = rig_copy(&r, r.grad);
    rig_close(&r);
    return g;
}

/* The sum that the step took is the gradient of those scenes. */
static void is_gradient_of(rig *r, unsigned which, const char *what)
{
    double weight = 0, divisor = 0;
    for (int s = N - 1; s >= 0; s--)
        if (which >> s & 1) weight += divisor = weight_of(&r->scene[s]);
    real *want = joined(which);
    read_sum(r, divisor, weight);
    double e = rig_distance(r, r->grad, want);
    printf("%s: off by %.2g\n", what, e);
    ck_assert_msg(e <= EXACT, "%s: the gradient is off by %.3g", what, e);
    free(want);
}

START_TEST(a_step_of_three_batches_is_that_of_one_batch_of_their_scenes)
{
    rig r;
    open_rooms(&r, N);
    rig_state before = rig_state_copy(&r, &r.start);
    for (int s = 0; s < N; s++) {
        ck_assert_int_eq(feed(&r, s, NULL), PT_OK);
        ck_assert_int_eq(r.result.accumulated, s + 1);
        ck_assert_int_eq(r.result.stepped, s == N - 1);
        rig_read_state(&r, &r.end);
        if (s < N - 1) ck_assert_str_eq(rig_state_diff(&r, &r.end, &before), "");
    }
    ck_assert_int_eq(r.end.t, 1);
    is_gradient_of(&r, 7, "three batches");
    /* the moments show that the step was taken with that very gradient: m = 0.1 g */
    for (size_t i = 0; i < r.t->net->nparams; i++) r.end.m[i] *= 10;
    ck_assert_double_le(rig_distance(&r, r.end.m, r.grad), EXACT);
    rig_state_free(&before);
    rig_close(&r);
}
END_TEST

START_TEST(a_retry_in_any_of_the_batches_is_the_same_in_every_bit)
{
    /* the additions are in phase commit: the last launch and the last wait of it */
    static const char *const faults[] = {again, "cudaLaunchKernel phase=commit nth=2 -> oom",
                                         "cudaStreamSynchronize phase=commit nth=2 -> oom"};
    rig clean, r;
    open_rooms(&clean, N);
    step(&clean, NULL);
    ck_assert_int_eq(clean.end.t, 1);
    for (int s = 0; s < N; s++)
        for (int k = 0; k < 3; k++) {
            const char *rules[N] = {0};
            if (k == 1 && s == 0) continue; /* the first is copied, not added */
            rules[s] = faults[k];
            open_rooms(&r, N);
            step(&r, rules);
            ck_assert_str_eq(rig_state_diff(&r, &r.end, &clean.end), "");
            rig_close(&r);
        }
    rig_close(&clean);
}
END_TEST

START_TEST(a_split_in_any_of_the_batches_gives_the_same_gradient)
{
    static const char *const forward[N] = {NULL, "cudaMalloc phase=forward times=3 -> oom", NULL};
    rig r;
    large = 1;
    open_rooms(&r, N);
    for (int s = 0; s < N; s++) {
        ck_assert_int_eq(feed(&r, s, forward[s]), PT_OK);
        if (s == 1) ck_assert_int_ge(r.result.recover.splits_space, 1);
    }
    is_gradient_of(&r, 7, "the second was split in space");
    rig_close(&r);
}
END_TEST

START_TEST(a_run_resumed_within_a_step_goes_on_in_every_bit)
{
    rig straight, other;
    char path[512];
    open_rooms(&straight, N);
    for (int i = 0; i < 2 * N; i++) ck_assert_int_eq(feed(&straight, i % N, NULL), PT_OK);
    rig_read_state(&straight, &straight.end);
    ck_assert_int_eq(straight.end.t, 2);
    snprintf(path, sizeof path, "%s/cases/accum.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
    for (int stop = 1; stop < 2 * N; stop++) {
        rig r, resumed;
        int found;
        pt_checkpoint_about about;
        open_rooms(&r, N);
        for (int i = 0; i < stop; i++) ck_assert_int_eq(feed(&r, i % N, NULL), PT_OK);
        ck_assert_int_eq(pt_checkpoint_save(r.t, path), PT_OK);
        rig_close(&r);
        ck_assert_int_eq(pt_checkpoint_look(path, &about), PT_OK);
        ck_assert_int_eq(about.accum, N);
        open_rooms(&resumed, N);
        ck_assert_msg(pt_checkpoint_load(resumed.t, path, &found) == PT_OK, "%s",
                      pt_error_last()->message);
        for (int i = stop; i < 2 * N; i++) ck_assert_int_eq(feed(&resumed, i % N, NULL), PT_OK);
        rig_read_state(&resumed, &resumed.end);
        ck_assert_msg(!*rig_state_diff(&resumed, &resumed.end, &straight.end), "after %d:%s", stop,
                      rig_state_diff(&resumed, &resumed.end, &straight.end));
        rig_close(&resumed);
    }
    /* steps of another length are another run */
    open_rooms(&other, 2);
    int found;
    ck_assert_int_eq(pt_checkpoint_load(other.t, path, &found), PT_ERR_INPUT);
    ck_assert(strstr(pt_error_last()->message, "of a run with --accum 3, not 2"));
    unlink(path);
    rig_close(&other);
    rig_close(&straight);
}
END_TEST

START_TEST(a_batch_that_failed_is_left_out_wherever_it_stands)
{
    for (int bad = 0; bad < N; bad++) {
        rig r;
        char what[64];
        open_rooms(&r, N);
        for (int s = 0; s < N; s++) {
            feed(&r, s, s == bad ? skipped : NULL);
            ck_assert_int_eq(r.status == PT_OK, s != bad);
            ck_assert_int_eq(r.result.stepped, s == N - 1);
            ck_assert_int_eq(r.result.voided, 0);
        }
        rig_read_state(&r, &r.end);
        ck_assert_int_eq(r.end.t, 1);
        snprintf(what, sizeof what, "batch %d failed", bad);
        is_gradient_of(&r, 7u & ~(1u << bad), what);
        if (bad == N - 1) { /* the failure is told, though a step was taken */
            ck_assert_int_eq(r.error.status, PT_ERR_DEVICE);
            ck_assert(strstr(r.error.message, "cudnnSoftmaxForward"));
        }
        rig_close(&r);
    }
    /* all of them failed: no step */
    rig r;
    const char *const all[N] = {skipped, skipped, skipped};
    open_rooms(&r, N);
    step(&r, all);
    ck_assert_int_eq(r.end.t, 0);
    r.start.step = N;
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &r.start), "");
    rig_close(&r);
}
END_TEST

START_TEST(points_that_were_dropped_count_in_the_divisor_of_the_step)
{
    rig r;
    open_rooms(&r, N);
    for (int s = 0; s < N; s++)
        ck_assert_int_eq(feed(&r, s, s == 0 ? "cudaMalloc phase=forward -> oom" : NULL), PT_OK);
    ck_assert_int_eq(r.t->accum.batches, 0);
    double w[N];
    for (int s = 0; s < N; s++) w[s] = weight_of(&r.scene[s]);
    real *want = joined(6);
    for (size_t i = 0; i < r.t->net->nparams; i++)
        want[i] *= (real)((w[1] + w[2]) / (w[0] + w[1] + w[2]));
    read_sum(&r, w[0], w[0] + w[1] + w[2]);
    double e = rig_distance(&r, r.grad, want);
    ck_assert_msg(e <= EXACT, "the gradient is off by %.3g", e);
    free(want);
    rig_close(&r);
}
END_TEST

START_TEST(the_schedule_counts_steps)
{
    rig r;
    double lr[2 * N];
    open_rooms(&r, N);
    r.t->o.schedule = PT_LR_COSINE;
    r.t->o.steps = 2;
    for (int i = 0; i < 2 * N; i++) {
        ck_assert_int_eq(feed(&r, i % N, NULL), PT_OK);
        lr[i] = r.result.lr;
    }
    for (int i = 0; i < N; i++) {
        ck_assert_double_eq(lr[i], 1e-3);
        ck_assert_double_eq_tol(lr[N + i], 0.5e-3, 1e-12);
    }
    rig_close(&r);
}
END_TEST

static const char not_finite[] =
    "cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)";

START_TEST(a_gradient_that_is_not_finite_voids_the_whole_step)
{
    rig r, later;
    const char *const last[N] = {NULL, NULL, not_finite};
    open_rooms(&r, N);
    step(&r, last);
    ck_assert_int_eq(r.status, PT_ERR_NAN);
    ck_assert_int_eq(r.result.voided, 900 + 2500);
    r.start.step = N;
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &r.start), "");
    /* nothing of it is in the next */
    open_rooms(&later, N);
    later.t->step = N;
    step(&r, NULL);
    step(&later, NULL);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &later.end), "");
    ck_assert_int_eq(r.end.t, 1);
    rig_close(&later);
    rig_close(&r);
}
END_TEST

START_TEST(a_sum_that_cannot_be_trusted_is_given_up_and_said)
{
    rig r, later;
    open_rooms(&r, N);
    ck_assert_int_eq(feed(&r, 0, NULL), PT_OK);
    ck_assert_int_ne(feed(&r, 1, "cudaStreamSynchronize phase=commit nth=2 -> error(1)"), PT_OK);
    ck_assert_int_eq(r.result.voided, 900);
    ck_assert_int_eq(feed(&r, 2, NULL), PT_OK);
    ck_assert_int_eq(r.result.stepped, 1);
    ck_assert_int_eq(r.result.accumulated, 1);
    rig_read_state(&r, &r.end);
    open_rooms(&later, 1);
    later.t->step = 2;
    ck_assert_int_eq(feed(&later, 2, NULL), PT_OK);
    rig_read_state(&later, &later.end);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &later.end), "");
    rig_close(&later);
    rig_close(&r);
}
END_TEST

/* What a step's batches taught batch norm goes with the step, as it would in one batch of all their
 * scenes; also in a run that is stopped within it and goes on. */
START_TEST(statistics_that_a_voided_step_learnt_go_with_it)
{
    static const char untrusted[] = "cudaStreamSynchronize phase=commit nth=3 -> error(1)";
    /* the last fails, and then the step of the others too */
    static const char both[] = "cudnnSoftmaxForward nth=1 -> status(CUDNN_STATUS_BAD_PARAM);"
                               "cudaMemcpyAsync kind=d2h phase=step nth=1 -> poison(nan, type=f64)";
    const struct {
        const char *last;
        int resumed;
    } how[] = {{not_finite, 0}, {not_finite, 1}, {untrusted, 0}, {both, 0}};
    char path[512];
    norm = PT_NORM_BATCH;
    snprintf(path, sizeof path, "%s/cases/voided.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        rig r;
        int found;
        open_rooms(&r, N);
        rig_state before = rig_state_copy(&r, &r.start);
        for (int s = 0; s < N - 1; s++) ck_assert_int_eq(feed(&r, s, NULL), PT_OK);
        rig_read_state(&r, &r.end);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &before), " running statistics");
        if (how[i].resumed) {
            ck_assert_int_eq(pt_checkpoint_save(r.t, path), PT_OK);
            rig_close(&r);
            open_rooms(&r, N);
            ck_assert_int_eq(pt_checkpoint_load(r.t, path, &found), PT_OK);
            unlink(path);
        }
        ck_assert_int_ne(feed(&r, N - 1, how[i].last), PT_OK);
        ck_assert_int_eq(r.result.voided, 900 + 2500);
        rig_read_state(&r, &r.end);
        ck_assert_msg(!*rig_state_diff(&r, &r.end, &before), "case %zu: changed%s", i,
                      rig_state_diff(&r, &r.end, &before));
        /* the next step's first batch is where its way back leads, not that of the voided one */
        ck_assert_int_eq(feed(&r, 0, NULL), PT_OK);
        rig_read_state(&r, &r.end);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &before), " running statistics");
        rig_state_free(&before);
        rig_close(&r);
    }
}
END_TEST

static const case_entry cases[] = {
#include "accum.def"
};
CASE_MAIN("accum")
