/* parts.c - what comes between the steps: a validation, whatever failed in it, and a checkpoint. */
#include "case.h"
#include "loop/checkpoint.h"
#include "loop/evaluate.h"
#include "rig.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const rig_options rooms = {
    .scenes = 2, .points = {2500, 30000}, .voxel = 0.12f, .allocator = PT_ALLOC_DIRECT};

static uint64_t fired;

/* Both scenes, under this rule; what is live after it. */
static pt_status evaluate(rig *r, const char *rule, pt_scores *s)
{
    char error[256] = "";
    pt_status st = PT_OK;
    memset(s, 0, sizeof *s);
    pt_error_clear();
    if (rule) ck_assert_msg(oomproof_arm(rule, error, sizeof error) == 1, "%s", error);
    for (int i = 0; i < 2 && st == PT_OK; i++) st = pt_evaluate_scene(r->t, &r->scene[i], NULL, s);
    fired = rule ? oomproof_fired(0) : 0;
    oomproof_disarm();
    cudaGetLastError();
    return st;
}

START_TEST(a_validation_is_the_same_whatever_was_split)
{
    rig r;
    static pt_scores whole, pieces;
    rig_open(&r, &rooms);
    rig_run(&r, NULL, NULL); /* a step, as before a validation */
    rig_state before = rig_state_copy(&r, &r.end);
    oomproof_peak_bytes(1);
    ck_assert_int_eq(evaluate(&r, NULL, &whole), PT_OK);
    uint64_t live = oomproof_live_bytes(), need = oomproof_peak_bytes(0) - live;
    char less[96], most[96];
    const char *const rules[] = {less, most, "cudaMalloc phase=validate nth=30 -> oom",
                                 "cudaMalloc phase=validate nth=70 -> oom",
                                 "cublasDgemm phase=validate nth=40 -> oom"};
    int64_t splits = 0;
    snprintf(less, sizeof less, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)(live + need / 100 * 86));
    snprintf(most, sizeof most, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)(live + need / 100 * 93));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        ck_assert_msg(evaluate(&r, rules[i], &pieces) == PT_OK, "%s: %s", rules[i],
                      pt_error_last()->message);
        ck_assert_msg(fired >= 1, "%s never fired", rules[i]);
        ck_assert_int_eq(pieces.dropped, 0);
        ck_assert_int_ge(pieces.retries + pieces.splits, 1);
        ck_assert_msg(!memcmp(pieces.confusion, whole.confusion, sizeof whole.confusion),
                      "%s: other scores", rules[i]);
        ck_assert_msg(oomproof_live_bytes() == live, "%s: %lld bytes more are live", rules[i],
                      (long long)(oomproof_live_bytes() - live));
        splits += pieces.splits;
    }
    ck_assert_int_ge(splits, 1);
    rig_read_state(&r, &r.end);
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &before), "a validation changed%s",
                  rig_state_diff(&r, &r.end, &before));
    rig_state_free(&before);
    rig_close(&r);
}
END_TEST

/* The second time a scene that did not fit is not tried whole. */
START_TEST(a_validation_learns_what_does_not_fit)
{
    rig r;
    static pt_scores whole, first, second;
    rig_options o = rooms;
    char rule[96];
    o.plan_ahead = 1;
    rig_open(&r, &o);
    oomproof_peak_bytes(1);
    ck_assert_int_eq(evaluate(&r, NULL, &whole), PT_OK);
    uint64_t live = oomproof_live_bytes(), need = oomproof_peak_bytes(0) - live;
    snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)(live + need / 100 * 90));
    ck_assert_int_eq(evaluate(&r, rule, &first), PT_OK);
    ck_assert_int_eq(evaluate(&r, rule, &second), PT_OK);
    printf("%lld and %lld attempts, %lld and %lld retries\n", (long long)first.attempts,
           (long long)second.attempts, (long long)first.retries, (long long)second.retries);
    ck_assert_int_ge(first.retries, 1);
    ck_assert_int_lt(second.retries, first.retries);
    ck_assert(!memcmp(first.confusion, whole.confusion, sizeof whole.confusion));
    ck_assert(!memcmp(second.confusion, whole.confusion, sizeof whole.confusion));
    rig_close(&r);
}
END_TEST

/* The scores of the scenes before the one that failed are no scores of the data set. */
START_TEST(a_validation_that_failed_is_told)
{
    rig r;
    static pt_scores s;
    rig_open(&r, &rooms);
    ck_assert_int_eq(evaluate(&r, "cublasDgemm nth=60 -> status(CUBLAS_STATUS_INVALID_VALUE)", &s),
                     PT_ERR_DEVICE);
    ck_assert_int_eq(fired, 1);
    ck_assert_int_eq(s.retries + s.splits, 0);
    rig_close(&r);
}
END_TEST

/* Also where nothing comes after it that would ask. */
START_TEST(a_block_that_the_last_scene_cannot_give_back_is_told)
{
    rig r;
    static pt_scores s;
    char rule[96];
    rig_open(&r, &rooms);
    oomproof_reset_counters();
    ck_assert_int_eq(evaluate(&r, NULL, &s), PT_OK);
    snprintf(rule, sizeof rule, "cudaFree nth=%llu -> status(cudaErrorInvalidValue)",
             (unsigned long long)oomproof_calls("cudaFree"));
    ck_assert_int_eq(evaluate(&r, rule, &s), PT_ERR_DEVICE);
    ck_assert_int_eq(fired, 1);
    rig_close(&r);
}
END_TEST

static char *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    static char bytes[1 << 24];
    *n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f) fclose(f);
    return bytes;
}

START_TEST(a_checkpoint_is_as_without_the_failure_or_the_one_before)
{
    static const struct {
        const char *rule;
        int kept; /* the one before */
    } faults[] = {{"cudaMemcpyAsync phase=checkpoint nth=1 -> oom", 0},
                  {"cudaMemcpyAsync phase=checkpoint nth=3 -> oom", 0},
                  {"cudaStreamSynchronize phase=checkpoint nth=2 -> oom", 0},
                  {"cudaMemcpyAsync phase=checkpoint -> oom", 1},
                  {"cudaStreamSynchronize phase=checkpoint nth=3 -> status(cudaErrorUnknown)", 1}};
    rig r;
    char path[512], error[256];
    size_t n, m, k;
    rig_open(&r, &rooms);
    snprintf(path, sizeof path, "%s/cases/parts.%ld", OOMPROOF_BUILD_DIR, (long)getpid());
    ck_assert_int_eq(pt_checkpoint_save(r.t, path), PT_OK);
    char *first = memcpy(malloc(1 << 24), read_file(path, &n), 1 << 24);
    rig_run(&r, NULL, NULL);
    ck_assert_int_eq(pt_checkpoint_save(r.t, path), PT_OK);
    char *second = memcpy(malloc(1 << 24), read_file(path, &m), 1 << 24);
    ck_assert(n == m && memcmp(first, second, n) != 0);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        FILE *f = fopen(path, "wb");
        ck_assert(f && fwrite(first, 1, n, f) == n && fclose(f) == 0);
        pt_error_clear();
        ck_assert_int_eq(oomproof_arm(faults[i].rule, error, sizeof error), 1);
        pt_status st = pt_checkpoint_save(r.t, path);
        ck_assert_msg(oomproof_fired(0) >= 1, "%s never fired", faults[i].rule);
        oomproof_disarm();
        cudaGetLastError();
        ck_assert_msg((st != PT_OK) == faults[i].kept, "%s: %s", faults[i].rule,
                      pt_error_last()->message);
        char *now = read_file(path, &k);
        ck_assert_msg(k == n && !memcmp(now, faults[i].kept ? first : second, n),
                      "%s: the file is neither the one before nor whole", faults[i].rule);
    }
    unlink(path);
    free(first), free(second);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "parts.def"
};
CASE_MAIN("parts")
