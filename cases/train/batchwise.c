/* batchwise.c - what belongs to a batch happens once a batch, however it was cut, and ends with it;
 * and nothing is asked of a device that is short of memory before it has been given back. */
#include "case.h"
#include "rig.h"
#include <math.h>

static const rig_options three_scenes = {
    .scenes = 3, .points = {3000, 900, 1800}, .voxel = 0.2f, .allocator = PT_ALLOC_DIRECT};
/* first, again and smaller chunks fail, each at another place; then the scenes */
static const char backward[] =
    "cudaMalloc phase=backward nth=4 -> oom; cudaMalloc phase=backward nth=9 -> oom;"
    "cudaMalloc phase=backward nth=14 -> oom";

typedef struct seen {
    int fragments, batches, steps, failures;
    int64_t own; /* of committed fragments */
    pt_batch_result last;
    uint64_t over, failed; /* rules fired before the attempt that runs; calls seen to fail */
    int calls, copies;
    char asked[64]; /* what was asked of the device between a failure and its retry */
} seen;

static void count_fragment(void *user, const pt_fragment *f, const pt_pass *pass)
{
    seen *s = user;
    (void)pass;
    s->fragments++;
    s->own += f->shape.own;
}

static void count_step(void *user)
{
    ((seen *)user)->steps++;
}

static void keep_batch(void *user, const pt_batch_result *r)
{
    seen *s = user;
    s->batches++;
    s->last = *r;
}

static void watched(rig *r, seen *s, const char *rules)
{
    pt_hooks h = r->t->hooks;
    *s = (seen){0};
    r->t->hooks.user = s;
    r->t->hooks.after_fragment = count_fragment;
    r->t->hooks.after_batch = keep_batch;
    r->t->hooks.before_step = count_step;
    rig_run(r, rules, NULL);
    r->t->hooks = h;
}

START_TEST(a_batch_that_fits_says_so_once)
{
    rig r;
    seen s;
    rig_open(&r, &three_scenes);
    watched(&r, &s, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(s.fragments, 1);
    ck_assert_int_eq(s.batches, 1);
    ck_assert_int_eq(s.steps, 1);
    ck_assert_int_eq(s.last.recover.attempts, 1);
    rig_close(&r);
}
END_TEST

START_TEST(hooks_of_a_batch_fire_once_however_it_was_cut)
{
    rig r;
    seen s;
    rig_open(&r, &three_scenes);
    watched(&r, &s, backward);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(s.last.recover.splits_scene, 1);
    ck_assert_int_eq(s.fragments, 3);
    ck_assert_int_eq(s.own, 5700);
    ck_assert_msg(s.batches == 1, "after_batch fired %d times for one batch", s.batches);
    ck_assert_msg(s.steps == 1, "before_step fired %d times for one batch", s.steps);
    ck_assert_int_eq(s.last.trained, 5700);
    watched(&r, &s, "cudaMalloc phase=forward nth=2 -> error(1)");
    ck_assert_int_ne(r.status, PT_OK);
    ck_assert_int_eq(s.fragments + s.batches + s.steps, 0); /* of a batch that failed: none */
    rig_close(&r);
}
END_TEST

/* A loss that was counted for a failed attempt too, or for the last piece only, is another number;
 * pieces add in another order, which moves the last bits. */
START_TEST(metrics_of_pieces_are_those_of_the_whole)
{
    static pt_batch_result whole;
    rig r;
    rig_open(&r, &three_scenes);
    rig_run(&r, NULL, NULL);
    whole = r.result;
    ck_assert_double_gt(whole.loss, 0);
    static const char *const rules[] = {backward, "cudaMalloc phase=backward nth=6 -> oom"};
    for (int k = 0; k < 2; k++) {
        rig_run(&r, rules[k], NULL);
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        double e = fabs(r.result.loss - whole.loss) / whole.loss;
        printf("%d retries, %lld fragments: loss off by %.2g\n", (int)r.result.recover.retries,
               (long long)r.result.recover.fragments, e);
        ck_assert_msg(r.result.recover.wasted_forward > 0, "no attempt failed after its loss");
        ck_assert_msg(e <= 1e-12, "%s: the loss is %.17g, unsplit %.17g", rules[k], r.result.loss,
                      whole.loss);
        ck_assert_mem_eq(r.result.confusion, whole.confusion, sizeof whole.confusion);
        ck_assert_int_eq(r.result.voxels, whole.voxels);
        ck_assert_int_eq(r.result.pairs, whole.pairs);
    }
    rig_close(&r);
}
END_TEST

/* One batch that did not fit must not make all later ones slow. */
START_TEST(what_a_batch_needed_is_forgotten_by_the_next)
{
    rig r;
    rig_options o = three_scenes;
    o.points[0] = 12000; /* enough that smaller chunks are smaller */
    o.voxel = 0.12f;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    rig_state first = rig_state_copy(&r, &r.end);
    size_t peak = r.result.bytes_peak;
    rig_run(&r, backward, NULL);
    ck_assert_int_eq(r.result.regrouped, 1);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.recover.attempts, 1);
    ck_assert_int_eq(r.result.note[0].gather_rows, 0);
    ck_assert_msg(r.result.bytes_peak == peak, "a later batch takes %zu bytes, not %zu as before",
                  r.result.bytes_peak, peak);
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &first), "a later batch differs in%s",
                  rig_state_diff(&r, &r.end, &first));
    rig_state_free(&first);
    rig_close(&r);
}
END_TEST

static uint64_t fired(void)
{
    return oomproof_fired(0) + oomproof_fired(1) + oomproof_fired(2);
}

static void retry_begins(void *user, const pt_fragment *f)
{
    seen *s = user;
    (void)f;
    s->failures += fired() > s->over;
    s->over = fired();
}

/* Copies down, waits and frees are what a failure is handled with. */
static void handling(const char *call, uint64_t nth, void *user)
{
    static const char *const asks[] = {"cudaMalloc",      "cudaHostAlloc", "cudaMemset",
                                       "cudaLaunch",      "cublas",        "cudnn",
                                       "cudaHostRegister"};
    seen *s = user;
    (void)nth;
    if (fired() <= s->over) return;
    if (s->failed < fired()) { /* the call that fails, which a rule has just been found for */
        s->failed = fired();
        return;
    }
    s->calls++;
    s->copies += !strncmp(call, "cudaMemcpy", 10);
    for (size_t k = 0; k < sizeof asks / sizeof *asks; k++)
        if (!strncmp(call, asks[k], strlen(asks[k])))
            snprintf(s->asked, sizeof s->asked, "%s", call);
}

START_TEST(between_a_failure_and_its_retry_nothing_is_asked_of_the_device)
{
    rig r;
    seen s = {0};
    rig_open(&r, &three_scenes);
    pt_hooks h = r.t->hooks;
    r.t->hooks.user = &s;
    r.t->hooks.before_attempt = retry_begins;
    r.t->hooks.before_step = NULL;
    oomproof_observe(handling, &s);
    rig_run(&r, backward, NULL);
    oomproof_observe(NULL, NULL);
    r.t->hooks = h;
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(s.failures, 3);
    printf("%d calls handled 3 failures, %d of them copies\n", s.calls, s.copies);
    ck_assert_int_ge(s.copies, 3 * 9); /* every field of every failure */
    ck_assert_msg(!*s.asked, "%s was called before the memory of the failure was given back",
                  s.asked);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "batchwise.def"
};
CASE_MAIN("batchwise")
