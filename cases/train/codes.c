/* codes.c - every error code of every call that a batch makes, one run each: an out-of-memory is
 * recovered from without a trace, anything else ends the batch with that very code, and nothing has
 * changed. */
#include "calls.h"
#include "case.h"
#include "rig.h"
#include <sys/wait.h>
#include <unistd.h>

static const rig_options small = {.scenes = 2, .points = {900, 700}, .allocator = PT_ALLOC_DIRECT};
static const pt_lib libs[] = {
    [OP_CUDA] = PT_LIB_CUDA, [OP_CUBLAS] = PT_LIB_CUBLAS, [OP_CUDNN] = PT_LIB_CUDNN};

static void recovered(rig *r, const rig_state *whole, const char *rule)
{
    ck_assert_msg(r->status == PT_OK, "%s: not recovered: %s", rule, r->error.message);
    ck_assert_msg(!*rig_state_diff(r, &r->end, whole), "%s: different%s", rule,
                  rig_state_diff(r, &r->end, whole));
    ck_assert_msg(r->result.dropped == 0, "%s: points were dropped", rule);
    rig_check_invariants(r, rule);
}

/* frees: what it was to free is still there, and nobody has its address. */
static void refused(rig *r, const op_code *c, pt_class class, int frees, const char *rule)
{
    ck_assert_msg(r->status == PT_ERR_DEVICE && r->error.code == c->code &&
                      r->error.lib == libs[c->lib],
                  "%s: ended with status %d, code %d of library %d: %s", rule, r->status,
                  r->error.code, (int)r->error.lib, r->error.message);
    ck_assert_msg(!r->stepped || !r->result.stepped, "%s: the optimiser stepped", rule);
    if (class == PT_CLASS_FATAL) return;
    r->start.step++; /* the schedule advances */
    ck_assert_msg(!*rig_state_diff(r, &r->end, &r->start), "%s: changed%s", rule,
                  rig_state_diff(r, &r->end, &r->start));
    if (!frees) rig_check_invariants(r, rule);
}

/* A call that frees seems to have run out of memory: what it was to free is still there, so the
 * batch cannot go on as if it were the same again; and nothing has changed. */
static void lied(rig *r, const char *rule)
{
    ck_assert_msg(r->status != PT_OK, "%s: not noticed", rule);
    r->start.step++;
    ck_assert_msg(!*rig_state_diff(r, &r->end, &r->start), "%s: changed%s", rule,
                  rig_state_diff(r, &r->end, &r->start));
}

static int is_oom(const op_code *c)
{
    return c->code == (c->lib == OP_CUDA ? 2 : c->lib == OP_CUBLAS ? 3 : 4004);
}

static void one(rig *r, const rig_state *whole, const op_code *c, const op_entry *call,
                const char *rule)
{
    uint64_t fired;
    rig_run(r, rule, &fired);
    pt_error e = {.status = PT_ERR_DEVICE, .lib = libs[c->lib], .code = c->code};
    snprintf(e.call, sizeof e.call, "%s", call->name);
    pt_class class = pt_classify(&e);
    ck_assert_msg((class == PT_CLASS_OOM) == is_oom(c), "%s: taken for \"%s\"", rule,
                  pt_class_name(class));
    ck_assert_msg(fired == 1, "%s fired %d times", rule, (int)fired);
    const pt_recover_stats *s = &r->result.recover;
    ck_assert_msg(s->splits_scene + s->splits_space == 0, "%s: split", rule);
    int frees = strstr(call->name, "Free") != NULL;
    if (frees && (class == PT_CLASS_OOM || class == PT_CLASS_AMBIGUOUS) && r->status != PT_OK)
        lied(r, rule);
    else if (class == PT_CLASS_OOM || (class == PT_CLASS_AMBIGUOUS && r->status == PT_OK))
        recovered(r, whole, rule);
    else
        refused(r, c, class, frees, rule);
    ck_assert_msg(class == PT_CLASS_OOM || class == PT_CLASS_AMBIGUOUS || s->attempts <= 2,
                  "%s: tried %d times", rule, (int)s->attempts);
}

/* One of each `share` codes, beginning with the first-th; the out-of-memory ones always. */
static void codes(int first, int share)
{
    rig r;
    int calls = 0, runs = 0;
    struct {
        const op_entry *call;
        uint64_t n;
    } made[OP_CALLS];
    rig_open(&r, &small);
    rig_run(&r, NULL, NULL); /* what is made once is made */
    oomproof_reset_counters();
    rig_run(&r, NULL, NULL);
    ck_assert_msg(r.status == PT_OK, "without a fault: %s", r.error.message);
    for (int i = 0; i < OP_CALLS; i++) {
        uint64_t n = op_table[i].lib == OP_DRIVER ? 0 : oomproof_calls(op_table[i].name);
        if (n) made[calls].call = &op_table[i], made[calls++].n = n;
    }
    rig_state whole = rig_state_copy(&r, &r.end);
    for (int i = 0; i < calls; i++)
        for (int k = 0; op_codes[k].name; k++) {
            const op_code *c = &op_codes[k];
            char rule[200], error[200];
            if (c->lib != made[i].call->lib || c->code == 0) continue;
            if (!is_oom(c) && (i + k) % share != first) continue;
            snprintf(rule, sizeof rule, "%s nth=%d -> error(%s)", made[i].call->name,
                     (int)(made[i].n + 1) / 2, c->name);
            if (oomproof_arm(rule, error, sizeof error) < 1) continue; /* it cannot say that */
            oomproof_disarm();
            fflush(NULL);
            pid_t pid = fork(); /* some of them end the context */
            if (pid == 0) {
                one(&r, &whole, c, made[i].call, rule);
                _exit(0);
            }
            int status = 0;
            ck_assert_int_eq(waitpid(pid, &status, 0), pid);
            ck_assert_msg(status == 0, "%s: see above", rule);
            runs++;
        }
    printf("%d calls, %d runs\n", calls, runs);
    ck_assert_int_ge(calls, 8);
    rig_state_free(&whole);
    rig_close(&r);
}

START_TEST(a_sixteenth_of_the_codes_of_every_call)
{
    codes(5, 16);
}
END_TEST

START_TEST(every_code_of_every_call)
{
    codes(0, 1);
}
END_TEST

static const case_entry cases[] = {
#include "codes.def"
};
CASE_MAIN("codes")
