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

int op_stop_wait(pid_t pid, int seconds)
{
    sigset_t set = those(1);
    struct timespec t = {seconds, 0};
    int status;
    for (;;) {
        pid_t got = waitpid(pid, &status, WNOHANG);
        if (got == pid) return status;
        if (got < 0 && errno != EINTR) return -1;
        int s = seconds ? sigtimedwait(&set, NULL, &t) : sigwaitinfo(&set, NULL);
        if (s > 0 && s != SIGCHLD) op_stopped = s;
        if ((s < 0 && errno == EAGAIN) || op_stopped) {
            if (op_stopped) prctl(PR_SET_CHILD_SUBREAPER, 1);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            if (op_stopped) stop_orphans();
            return -1;
        }
    }
}

void op_stop_end(void)
{
    signal(op_stopped, SIG_DFL);
    op_stop_child();
    raise(op_stopped);
}
