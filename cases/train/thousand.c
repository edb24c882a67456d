/* thousand.c - consecutive batches with a forced out-of-memory each, in double: no byte of the
 * device is lost over all of them, every point is in the ledger, and each step is the one that
 * would have been made without the failure, from the same state. */
#include "case.h"
#include "rig.h"
#include "shapes.h"
#include <float.h>
#include <malloc.h>
#include <math.h>

#define EXACT 1e-12 /* design, section 6: double */

/* %d: how far into the batch. One failure and the same again, then remedies that change rounding.
 */
static const char *const rules[] = {
    "cudaMalloc* nth=%d -> oom",
    "cudaMalloc* skip=%d times=2 -> oom",
    "cudaLaunchKernel nth=%d -> oom",
    "cudaMalloc* skip=%d times=3 -> oom",
    "cublas*gemm* nth=%d -> status(CUBLAS_STATUS_ALLOC_FAILED)",
    NULL, /* a card that is too small, to a share of the room between 0.5 and 0.9 */
};
enum { RULES = sizeof rules / sizeof *rules };

typedef struct tally {
    int64_t retries, scene, space, unsplit;
    double worst; /* of gradients */
    uint64_t live;
    size_t host;
} tally;

static void open_rig(rig *r, pt_allocator_kind allocator)
{
    rig_options o = {.scenes = 2,
                     .points = {1400, 600},
                     .voxel = 0.2f,
                     .allocator = allocator,
                     .optimizer = PT_SGD,
                     .width0 = 4};
    rig_open(r, &o);
    /* long and thin: few voxels, and yet halves with a halo are smaller */
    pt_scene_free(&r->scene[0]);
    r->scene[0] = shape_make(SHAPE_LINE, 1400, PT_ROOM_CLASSES, 1);
    r->scene[0].voxel = 0.2f;
}

/* What the step made of the parameters, but for the rounding of the parameters themselves. */
static void same_update(const rig *r, const rig_state *a, const rig_state *b, const char *rule)
{
    const pt_net *n = r->t->net;
    double all = 0;
    for (size_t i = 0; i < n->nparams; i++)
        all = fmax(all, fabs((double)b->param[i] - (double)r->start.param[i]));
    ck_assert_msg(all > 0, "%s: the step moved nothing", rule);
    for (size_t i = 0; i < n->nparams; i++) {
        double d = fabs((double)a->param[i] - (double)b->param[i]);
        ck_assert_msg(d <= EXACT * all + 2 * DBL_EPSILON * fabs((double)b->param[i]),
                      "%s: parameter %zu is off by %.3g, the step is at most %.3g", rule, i, d,
                      all);
    }
}

static void one_batch(rig *r, int i, tally *t)
{
    char rule[128];
    rig_run(r, NULL, NULL);
    ck_assert_msg(r->status == PT_OK, "batch %d: %s", i, r->error.message);
    uint64_t room = r->result.bytes_peak - r->result.bytes_baseline;
    rig_state undisturbed = rig_state_copy(r, &r->end);
    real *gradient = rig_copy(r, r->grad);
    rig_check_invariants(r, "undisturbed"); /* and without a cache, so that the next asks again */
    uint64_t fired = 0;
    const char *how = rules[i % RULES];
    int at = 1 + i / RULES * 7 % 37;
    if (how) {
        snprintf(rule, sizeof rule, how, at);
        rig_run(r, rule, &fired);
    } else {
        double share = 0.5 + 0.4 * shape_random(9, (uint64_t)i);
        snprintf(rule, sizeof rule, "cudaMalloc* budget=%llu -> oom",
                 (unsigned long long)((double)r->live + share * (double)room));
        rig_run(r, rule, &fired);
    }
    ck_assert_msg(r->status == PT_OK, "batch %d, %s: %s", i, rule, r->error.message);
    ck_assert_msg(fired > 0 || r->o.allocator == PT_ALLOC_CACHING, "batch %d, %s: did not fire", i,
                  rule);
    ck_assert_int_eq(r->result.trained, 2000);
    rig_check_invariants(r, rule);
    const pt_recover_stats *s = &r->result.recover;
    ck_assert_msg(s->retries > 0 || r->o.allocator != PT_ALLOC_DIRECT, "batch %d, %s: no retry", i,
                  rule);
    if (s->splits_scene + s->splits_space == 0 && !r->result.regrouped) {
        ck_assert_msg(!*rig_state_diff(r, &r->end, &undisturbed), "batch %d, %s: another%s", i,
                      rule, rig_state_diff(r, &r->end, &undisturbed));
        t->unsplit++;
    }
    double e = rig_distance(r, r->grad, gradient);
    double m = rig_distance(r, r->end.m, undisturbed.m);
    ck_assert_msg(e <= EXACT && m <= EXACT, "batch %d, %s: gradient off by %.3g, momentum by %.3g",
                  i, rule, e, m);
    same_update(r, &r->end, &undisturbed, rule);
    t->retries += s->retries;
    t->scene += s->splits_scene;
    t->space += s->splits_space;
    t->worst = fmax(t->worst, e);
    free(gradient);
    rig_state_free(&undisturbed);
    rig_state_free(&r->start); /* the run goes on from what the disturbed batch left */
    r->start = rig_state_copy(r, &r->end);
}

static void consecutive(pt_allocator_kind allocator, int batches)
{
    rig r;
    tally t = {0};
    setenv("OOMPROOF_SIM_STRIPS", "0", 1); /* else kernels are compiled and loaded meanwhile */
    open_rig(&r, allocator);
    t.live = r.live;
    for (int i = 0; i < batches; i++) {
        one_batch(&r, i, &t);
        if (i == batches / 2) t.host = mallinfo2().uordblks;
    }
    size_t host = mallinfo2().uordblks;
    int64_t drift = (int64_t)(oomproof_live_bytes() - t.live);
    printf("%d batches: %lld retries, %lld scene and %lld spatial splits, %lld equal in every bit; "
           "gradient off by at most %.2g; live bytes off by %lld\n",
           batches, (long long)t.retries, (long long)t.scene, (long long)t.space,
           (long long)t.unsplit, t.worst, (long long)drift);
    ck_assert_int_eq(drift, 0);
    ck_assert_int_eq(r.t->step, batches);
    ck_assert_int_eq(r.t->optimizer.t, batches);
    /* tables of the simulated device still grow a little; a fragment is 50 KiB and more */
    ck_assert_msg(host <= t.host + 16384, "host memory grew by %lld bytes over %d batches",
                  (long long)(host - t.host), batches / 2);
    if (allocator == PT_ALLOC_DIRECT) {
        ck_assert_int_gt(t.scene, 0);
        ck_assert_int_gt(t.space, 0);
        ck_assert_int_gt(t.unsplit, 0);
    }
    rig_close(&r);
}

START_TEST(a_hundred_batches_that_fail_once_each_are_those_that_never_failed)
{
    consecutive(PT_ALLOC_DIRECT, 102);
}
END_TEST

START_TEST(so_are_those_of_an_allocator_that_keeps_blocks)
{
    consecutive(PT_ALLOC_CACHING, 30);
    consecutive(PT_ALLOC_ASYNC, 30);
}
END_TEST

START_TEST(a_thousand_batches_that_fail_once_each_are_those_that_never_failed)
{
    consecutive(PT_ALLOC_DIRECT, 1000);
}
END_TEST

static const case_entry cases[] = {
#include "thousand.def"
};
CASE_MAIN("thousand")
