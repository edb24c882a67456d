/* stopped.c - the command train, stopped at chosen device calls and started again: with every
 * option that leaves something behind, the run that goes on ends in the same file as the one that
 * was never stopped; a signal during a recovery waits for the end of the batch. */
#include "case.h"
#include "loop/checkpoint.h"
#include "loop/train.h"
#include "oomproof.h"
#include "probe.h"
#include "shapes.h"
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What parent and child both see. */
typedef struct shared {
    uint64_t calls; /* device calls so far */
    uint64_t fired;
    int staged; /* the signal came while a failed fragment was staged */
} shared;
static shared *seen;

typedef struct stop {
    int sig;     /* 0: none */
    uint64_t at; /* device call; 0: the first within a staging */
} stop;

static void watch(const char *call, uint64_t nth, void *user)
{
    stop *s = user;
    (void)call;
    (void)nth;
    seen->calls++;
    if (!s->sig || (s->at ? seen->calls != s->at : pt_phase_get() != PT_PHASE_STAGE)) return;
    int sig = s->sig;
    s->sig = 0;
    seen->staged = pt_phase_get() == PT_PHASE_STAGE;
    raise(sig);
}

static int train(const char *options, const char *path, const char *rules, stop s)
{
    char line[1024], error[256], *save = NULL;
    char *argv[64] = {"pointtrain", "train", "--quiet", "--checkpoint", (char *)path};
    int argc = 5, code;
    pt_options o;
    snprintf(line, sizeof line, "%s", options);
    for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save)) argv[argc++] = w;
    if (!pt_options_parse(argc, argv, &o, &code)) return code;
    if (rules && oomproof_arm(rules, error, sizeof error) != 1) return 99;
    oomproof_observe(watch, &s);
    code = pt_train(&o);
    seen->fired = rules ? oomproof_fired(0) : 0;
    pt_options_free(&o);
    return code;
}

/* The status of a process of its own that trains, as waitpid says it. */
static int trained(const char *options, const char *path, const char *rules, stop s)
{
    int status = 0;
    memset(seen, 0, sizeof *seen);
    pid_t child = fork();
    if (child == 0) _exit(train(options, path, rules, s));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

static void ends_well(const char *options, const char *path, const char *rules)
{
    int status = trained(options, path, rules, (stop){0});
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: ended with status %#x",
                  options, status);
}

static const char *name(char *path, const char *what)
{
    snprintf(path, 512, "%s/cases/stopped-%s.%ld", OOMPROOF_BUILD_DIR, what, (long)getpid());
    unlink(path);
    return path;
}

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s is not there", path);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n + 1);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

#define ROOMS \
    "--data rooms:5,min=900,max=2500 --voxel 0.2 --batch 2 --steps 6 --checkpoint-every 1 "

static const struct {
    const char *options, *rules;
} runs[] = {
    {ROOMS "--optimizer sgd --momentum 0.8 --schedule onecycle --clip 1 --norm batch", NULL},
    {ROOMS "--accum 3 --norm batch --warmup 1 --class-weights inverse --dropout 0.3", NULL},
    {ROOMS "--amp fp16 --accum 2 --norm batch --schedule poly", NULL},
    {ROOMS "--amp bf16 --elastic 2 --colour-drop 0.5 --point-dropout 0.2 --device-fields x", NULL},
    {ROOMS "--norm batch --norm-on-split frozen --allocator direct",
     "cudaMalloc budget=28200000 -> oom"},
    {ROOMS "--plan-ahead on --allocator direct", "cudaMalloc budget=28200000 -> oom"},
    {ROOMS "--plan-ahead on --amp fp16 --accum 2 --allocator direct",
     "cudaMalloc budget=34300000 -> oom"},
};
enum { RUNS = sizeof runs / sizeof *runs };

/* Stopped by sig at several device calls, one after the other, then run to the end. */
static void stopped_by(int sig)
{
    char straight[512], broken[512];
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(seen, MAP_FAILED);
    for (int i = 0; i < RUNS; i++) {
        size_t n, m;
        ends_well(runs[i].options, name(straight, "straight"), runs[i].rules);
        uint64_t calls = seen->calls;
        ck_assert_int_eq(seen->fired > 0, runs[i].rules != NULL);
        char *want = slurp(straight, &n);
        name(broken, "broken");
        for (int k = 0; k < 3; k++) {
            double share = 0.1 + 0.7 * shape_random(21, (uint64_t)(8 * i + k));
            int status = trained(runs[i].options, broken, runs[i].rules,
                                 (stop){.sig = sig, .at = 1 + (uint64_t)(share * (double)calls)});
            if (WIFEXITED(status)) /* by a signal that asks, or at its end before the call came */
                ck_assert_msg(WEXITSTATUS(status) == 0, "%s: %#x", runs[i].options, status);
            else
                ck_assert_int_eq(WTERMSIG(status), sig);
        }
        ends_well(runs[i].options, broken, runs[i].rules);
        char *got = slurp(broken, &m);
        ck_assert_msg(n == m && !memcmp(want, got, n), "%s: the run that went on ended elsewhere",
                      runs[i].options);
        free(want), free(got);
        unlink(straight), unlink(broken);
    }
}

START_TEST(a_run_that_was_asked_to_stop_ends_as_one_that_was_not)
{
    stopped_by(SIGTERM);
}
END_TEST

START_TEST(a_run_that_was_killed_ends_as_one_that_was_not)
{
    stopped_by(SIGKILL);
}
END_TEST

START_TEST(a_signal_during_a_recovery_waits_for_the_end_of_its_batch)
{
    static const char options[] = ROOMS "--allocator direct";
    static const char again[] = "cudaMalloc phase=backward nth=4 -> oom";
    char straight[512], stopped[512];
    pt_checkpoint_about about;
    size_t n, m;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ends_well(options, name(straight, "straight"), NULL);
    int status = trained(options, name(stopped, "staged"), again, (stop){.sig = SIGTERM});
    ck_assert_int_eq(seen->staged, 1);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x", status);
    ck_assert_int_eq(pt_checkpoint_look(stopped, &about), PT_OK);
    ck_assert_int_eq(about.step, 1); /* the batch that was being recovered, and no other */
    ends_well(options, stopped, NULL);
    char *want = slurp(straight, &n), *got = slurp(stopped, &m);
    ck_assert_msg(n == m && !memcmp(want, got, n), "the run that went on ended elsewhere");
    free(want), free(got);
    unlink(straight), unlink(stopped);
}
END_TEST

static const case_entry cases[] = {
#include "stopped.def"
};
CASE_MAIN("stopped")
