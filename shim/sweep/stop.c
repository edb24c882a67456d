/* stop.c - see stop.h. */
#define _GNU_SOURCE
#include "sweep/stop.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

int op_stopped;
static const int stops[] = {SIGINT, SIGTERM, SIGHUP};

static sigset_t those(int child)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) sigaddset(&set, stops[i]);
    if (child) sigaddset(&set, SIGCHLD);
    return set;
}

void op_stop_watch(void)
{
    sigset_t set = those(1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGCHLD, SIG_DFL);
}

void op_stop_child(void)
{
    sigset_t set = those(0);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

/* Runs that the one which was killed has begun: they have become ours. */
static void stop_orphans(void)
{
    for (int found = 1; found;) {
        FILE *f = fopen("/proc/thread-self/children", "re");
        int pid;
        found = 0;
        while (f && fscanf(f, "%d", &pid) == 1) {
            found = 1;
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
        }
        if (f) fclose(f);
    }
}

double op_stop_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int killed(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return -1;
}

int op_stop_any(const pid_t *pid, const double *until, int n, int *status)
{
    sigset_t set = those(1);
    for (;;) {
        double now = op_stop_clock(), first = 0;
        for (int k = 0; k < n; k++) {
            pid_t got = waitpid(pid[k], status, WNOHANG);
            if (got == pid[k]) return k;
            if (got < 0 && errno != EINTR) return *status = -1, k;
            if (until[k] > 0 && now >= until[k]) return *status = killed(pid[k]), k;
            if (until[k] > 0 && (first == 0 || until[k] < first)) first = until[k];
        }
        struct timespec t = {(time_t)(first - now) + 1, 0};
        int s = first > 0 ? sigtimedwait(&set, NULL, &t) : sigwaitinfo(&set, NULL);
        if (s > 0 && s != SIGCHLD) op_stopped = s;
        if (!op_stopped) continue;
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        for (int k = 0; k < n; k++) killed(pid[k]);
        stop_orphans();
        return -1;
    }
}

void op_stop_end(void)
{
    signal(op_stopped, SIG_DFL);
    op_stop_child();
    raise(op_stopped);
}
