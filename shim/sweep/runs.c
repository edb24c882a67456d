/* runs.c - see runs.h. */
#define _GNU_SOURCE
#include "sweep/runs.h"
#include "launch.h"
#include "sweep/ended.h"
#include "sweep/limit.h"
#include "sweep/stop.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static void into(int fd, const char *folder, const char *name, const char *kind)
{
    char path[700];
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, kind);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (to >= 0 && to != fd) {
        dup2(to, fd);
        close(to);
    }
}

/* run: of s->result, that which it is to be; -1: none. */
static pid_t start(op_sweep_file *s, const op_sweep_options *o, const op_places *at,
                   const char *name, int run)
{
    char number[16], taken[700];
    snprintf(number, sizeof number, "%d", run);
    snprintf(taken, sizeof taken, "%s/%s%staken", s->folder, run < 0 ? "" : number,
             run < 0 ? "" : ".");
    unlink(taken);
    pid_t pid = fork();
    if (pid) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* who would judge it? */
    op_stop_child();
    op_environment(at->root, o->sim, o->memory, o->faults, at->stats, at->shared);
    if (run >= 0) setenv("OOMPROOF_SWEEP_RUN", number, 1);
    unsetenv("OOMPROOF_RECORD"); /* a ring for each of a thousand runs helps nobody */
    unsetenv("OOMPROOF_TRACE");
    into(1, s->folder, name, "out");
    into(2, s->folder, name, "err");
    op_exec(o->command);
    s->not_started = 1;
    _exit(OP_NOT_STARTED);
}

static double used_by_children(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int op_run_whole(op_sweep_file *s, const op_sweep_options *o, const op_places *at, const char *name,
                 double *used)
{
    double before = used_by_children();
    pid_t pid = start(s, o, at, name, -1);
    double until = 0;
    int status = -1;
    if (pid < 0 || op_stop_any(&pid, &until, 1, &status) < 0) return -1;
    *used = used_by_children() - before;
    return status;
}

/* Of a program that marks no steps the exit has the last word. */
static int is_last(const op_sweep_file *s, const op_result *r)
{
    return s->marked || r->closed || r->verdict == OP_V_CRASH || r->verdict == OP_V_HANG ||
           r->verdict == OP_V_UNFIRED;
}

int op_runs_enough(const op_sweep_file *s)
{
    int n = 0;
    for (int i = 0; i < s->nresults; i++) {
        const op_result *r = &s->result[i];
        n += r->verdict != OP_V_RUNNING && op_verdict_finding[r->verdict] && is_last(s, r);
    }
    return s->most_findings && n >= s->most_findings;
}

static void judge(op_sweep_file *s, const op_sweep_options *o, int i, int status)
{
    char name[32], path[700];
    op_result *r = &s->result[i];
    snprintf(name, sizeof name, "%d.before", i);
    r->status = status;
    if (!r->fired) /* it never came to its fault */
        r->verdict = OP_V_UNFIRED;
    else if (status == -1) {
        r->verdict = OP_V_HANG;
        snprintf(r->why, sizeof r->why, "not at its end %d times its limit after its start",
                 OP_LIMIT_CLOCK);
    } else if (WIFSIGNALED(status)) {
        r->verdict = OP_V_CRASH;
        snprintf(r->why, sizeof r->why, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else
        op_judge_ended(s, o, r, status, name);
    snprintf(path, sizeof path, "%s/%d.taken", s->folder, i);
    unlink(path);
    for (const char *const *kind = (const char *const[]){"out", "err", NULL}; *kind && !o->keep;
         kind++) {
        snprintf(path, sizeof path, "%s/%s.%s", s->folder, name, *kind);
        unlink(path);
    }
}

/* ---- those that are under way ---- */
typedef struct running {
    pid_t pid[MOST];
    double until[MOST];
    int result[MOST], n;
} running;

static void begin(op_sweep_file *s, const op_sweep_options *o, const op_places *at, running *w,
                  int k, op_mode mode, op_fault fault)
{
    char name[32];
    int i = s->nresults;
    if (i == OP_RESULTS) {
        s->full = 1;
        return;
    }
    s->result[i] = (op_result){.point = k,
                               .second = -1,
                               .mode = mode,
                               .fault = fault,
                               .budget = k < 0 ? o->budget : 0,
                               .inherited = -1};
    s->nresults++;
    s->role = OP_SINGLE;
    snprintf(name, sizeof name, "%d.before", i);
    pid_t pid = start(s, o, at, name, i);
    if (pid < 0) {
        s->result[i].verdict = OP_V_CRASH;
        snprintf(s->result[i].why, sizeof s->result[i].why, "fork: %s", strerror(errno));
        return;
    }
    /* the run itself looks at what it has used; this is for one that does not answer */
    w->pid[w->n] = pid;
    w->until[w->n] = op_stop_clock() + (OP_LIMIT_CLOCK + 1.0) * s->timeout_s;
    w->result[w->n++] = i;
}

static void await(op_sweep_file *s, const op_sweep_options *o, running *w, int at_most)
{
    while (w->n > at_most && !op_stopped) {
        int status, k = op_stop_any(w->pid, w->until, w->n, &status);
        if (k < 0) return; /* stopped: what was under way is not judged */
        judge(s, o, w->result[k], status);
        w->n--;
        w->pid[k] = w->pid[w->n];
        w->until[k] = w->until[w->n];
        w->result[k] = w->result[w->n];
    }
}

void op_runs(op_sweep_file *s, const op_sweep_options *o, const op_places *at, int from, int to)
{
    running w = {.n = 0};
    for (int k = from; k < to; k++)
        for (int run = 0; run < 2 * OP_FAULTS && (k - from) % o->shards == o->shard; run++) {
            int fault = run / 2, mode = run % 2;
            if (!(o->mode_of[fault] >> mode & 1) || !(s->point[k].kinds >> fault & 1) ||
                s->skip[k] & OP_RUN(fault, mode))
                continue;
            await(s, o, &w, o->jobs - 1);
            if (op_stopped || s->full || op_runs_enough(s)) break;
            begin(s, o, at, &w, k, (op_mode)mode, (op_fault)fault);
        }
    await(s, o, &w, 0);
}

op_result *op_run_one(op_sweep_file *s, const op_sweep_options *o, const op_places *at, int k,
                      op_mode mode, op_fault fault)
{
    running w = {.n = 0};
    op_result *r = &s->result[s->nresults];
    begin(s, o, at, &w, k, mode, fault);
    await(s, o, &w, 0);
    return s->full ? NULL : r;
}
