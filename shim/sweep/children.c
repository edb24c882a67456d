/* children.c - the forks of this process: each takes a fault, and as many as are allowed run beside
 * each other. */
#define _GNU_SOURCE
#include "sweep.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static struct {
    pid_t pid;
    op_result *run;
} child[MOST];
static int children;

int op_children_run(const op_result *r)
{
    for (int k = 0; k < children; k++)
        if (child[k].run == r) return 1;
    return 0;
}

static void note_end(int k, int status)
{
    op_result *r = child[k].run;
    r->status = status;
    if (WIFSIGNALED(status) && r->verdict != OP_V_HANG) {
        r->verdict = OP_V_CRASH;
        snprintf(r->why, sizeof r->why, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    }
    child[k] = child[--children];
}

/* 1: child k had ended, or ends within the wait. */
static int has_ended(int k, int options)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(child[k].pid, &status, options)) < 0 && errno == EINTR) {
    }
    if (got == 0) return 0;
    if (got > 0 && WIFSTOPPED(status)) { /* SIGTSTP: all of us, from a terminal */
        if (WSTOPSIG(status) != SIGSTOP) return 0;
        child[k].run->verdict = OP_V_HANG;
        snprintf(child[k].run->why, sizeof child[k].run->why, "it stopped itself (SIGSTOP)");
        kill(child[k].pid, SIGKILL);
        return 0;
    }
    note_end(k, status);
    return 1;
}

/* Until one of them ends, whichever, or for a second, since one that is stopped tells nobody: those
 * of the program itself are none of ours, so by their own descriptors; where there are none, the
 * one that began first. */
static void wait_for_one(void)
{
    struct pollfd ended[MOST];
    int n = 0, lost = 0;
    for (int k = children; k--;)
        if (has_ended(k, WNOHANG | WUNTRACED)) return;
    for (; n < children; n++) {
        ended[n] =
            (struct pollfd){.fd = (int)syscall(SYS_pidfd_open, child[n].pid, 0), .events = POLLIN};
        lost |= ended[n].fd < 0;
    }
    while (!lost && poll(ended, (nfds_t)n, 1000) < 0 && errno == EINTR) {
    }
    for (int k = 0; k < n; k++)
        if (ended[k].fd >= 0) close(ended[k].fd);
    for (int k = children; k-- && !lost;)
        if (has_ended(k, WNOHANG | WUNTRACED)) return;
    if (lost) has_ended(0, 0);
}

void op_children_wait(int at_most)
{
    while (children > at_most) wait_for_one();
}

pid_t op_children_fork(op_result *r, int beside)
{
    op_children_wait((beside < MOST ? beside : MOST) - 1);
    fflush(NULL);
    if (r->out_at < 0) r->out_at = lseek(1, 0, SEEK_CUR);
    pid_t pid = fork();
    if (pid < 0) {
        fprintf(stderr, "oomproof: fork: %s\n", strerror(errno));
        r->verdict = OP_V_CRASH;
        snprintf(r->why, sizeof r->why, "fork: %s", strerror(errno));
        return pid;
    }
    if (pid == 0) {
        children = 0;
        return 0;
    }
    child[children].pid = pid;
    child[children++].run = r;
    return pid;
}
