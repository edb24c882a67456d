/* everyalloc.c - the plain loop: fail allocation k of one training step, for every k, until the run
 * whose rule no longer fires. Each run is held against the run that never failed.
 *
 * OOMPROOF_LOOP_LOG=FILE gets one JSON line a run, for the report. */
#include "case.h"
#include "rig.h"

static const rig_options small = {.scenes = 2, .points = {700, 560}, .allocator = PT_ALLOC_DIRECT};

static void report(FILE *log, const rig *r, int k, const char *mode, const char *verdict)
{
    if (!log) return;
    const pt_recover_stats *s = &r->result.recover;
    fprintf(log,
            "{\"k\":%d,\"mode\":\"%s\",\"verdict\":\"%s\",\"retries\":%lld,\"splits_scene\":%lld,"
            "\"splits_space\":%lld,\"dropped\":%lld}\n",
            k, mode, verdict, (long long)s->retries, (long long)s->splits_scene,
            (long long)s->splits_space, (long long)r->result.dropped);
    fflush(log);
}

static FILE *open_log(void)
{
    const char *path = getenv("OOMPROOF_LOOP_LOG");
    return path && *path ? fopen(path, "ae") : NULL;
}

START_TEST(every_allocation_fails_once_and_the_step_is_the_same)
{
    rig r;
    FILE *log = open_log();
    rig_open(&r, &small);
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    rig_state whole = rig_state_copy(&r, &r.end);
    int k = 1;
    for (;; k++) {
        char rule[64];
        uint64_t fired;
        snprintf(rule, sizeof rule, "cudaMalloc nth=%d -> oom", k);
        rig_run(&r, rule, &fired);
        ck_assert_msg(r.status == PT_OK, "%s: not recovered: %s", rule, r.error.message);
        ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "%s: different%s", rule,
                      rig_state_diff(&r, &r.end, &whole));
        ck_assert_msg(r.result.dropped == 0, "%s: %lld points dropped", rule,
                      (long long)r.result.dropped);
        rig_check_invariants(&r, rule);
        if (!fired) break; /* ends by proof */
        ck_assert_msg(r.result.recover.retries == 1, "%s: %d retries", rule,
                      (int)r.result.recover.retries);
        report(log, &r, k, "once", "recovered exactly");
    }
    printf("%d fault points, each failed once\n", k - 1);
    ck_assert_int_ge(k - 1, 60);
    if (log) fclose(log);
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

START_TEST(every_allocation_and_all_later_ones_fail_and_the_state_is_clean)
{
    rig r;
    FILE *log = open_log();
    rig_open(&r, &small);
    int k = 1;
    for (;; k++) {
        char rule[64];
        uint64_t fired;
        snprintf(rule, sizeof rule, "cudaMalloc nth>=%d -> oom", k);
        rig_run(&r, rule, &fired);
        ck_assert_msg(r.status == PT_OK, "%s: %s", rule, r.error.message);
        rig_check_invariants(&r, rule);
        ck_assert_int_eq(r.result.trained + r.result.dropped, 1260);
        if (!fired) break;
        /* nothing fits: the scenes are at the floor, dropped and named; no step, no trace */
        ck_assert_msg(r.result.trained == 0 && !r.result.stepped, "%s: trained %lld points", rule,
                      (long long)r.result.trained);
        ck_assert_msg(!memcmp(r.start.param, r.end.param, r.t->net->nparams * sizeof(real)),
                      "%s: parameters moved", rule);
        report(log, &r, k, "persistent", "recovered with declared loss");
    }
    printf("%d fault points, each failed together with all later ones\n", k - 1);
    if (log) fclose(log);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "everyalloc.def"
};
CASE_MAIN("everyalloc")
