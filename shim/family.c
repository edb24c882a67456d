/* family.c - see family.h. */
#define _GNU_SOURCE
#include "family.h"
#include "stacks.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { PASSED = sizeof passed_on / sizeof *passed_on };
static struct sigaction as_before[PASSED];
static sigset_t mask_before;
static volatile pid_t command;
static volatile sig_atomic_t told;

/* What a terminal sends, it sends to the command as well. */
static void pass_on(int s, siginfo_t *from, void *context)
{
    (void)context;
    told = s;
    if (command > 0 && from->si_code != SI_KERNEL) kill(command, s);
}

pid_t op_family_begin(void)
{
    sigset_t set;
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, a child's status is lost */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    op_strangers();
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int i = 0; i < PASSED; i++) sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, &mask_before);
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &mask_before, NULL);
        return 0;
    }
    command = pid;
    struct sigaction act = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed_on[i], NULL, &as_before[i]);
        if (as_before[i].sa_handler != SIG_IGN) sigaction(passed_on[i], &act, NULL);
        sigdelset(&set, passed_on[i]);
    }
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    sigprocmask(SIG_BLOCK, &set, NULL); /* SIGCHLD: for sigtimedwait */
    return pid;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* 1: a child of ours has ended, and was not the command; 2: it was; 0: none; -1: we have none */
static int reap(pid_t pid, int *status, int wait)
{
    siginfo_t child = {0};
    if (waitid(P_ALL, 0, &child, WEXITED | WNOWAIT | (wait ? 0 : WNOHANG)) != 0)
        return errno == ECHILD ? -1 : 0;
    if (!child.si_pid) return 0;
    int is_it = child.si_pid == pid;
    if (is_it) command = 0; /* from here on its number may be another's */
    waitpid(child.si_pid, is_it ? status : NULL, 0);
    return 1 + is_it;
}

static void until_a_child(double end)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    double left = end - now();
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    if (left > 0) sigtimedwait(&set, NULL, &t);
}

static void end_of_all(int seconds, int quiet)
{
    if (!quiet) {
        fprintf(stderr, "oomproof: the command did not end within %d seconds\n", seconds);
        op_stacks();
    }
    op_kill_tree();
}

/* What the command left behind: daemons, what its script did not wait for. */
static void linger(double end, op_ending *ending)
{
    while ((ending->left = op_left_behind(&ending->first, ending->name)) > 0) {
        if (now() >= end) return;
        if (reap(0, NULL, 0) == 0) until_a_child(end);
    }
}

int op_family_wait(pid_t pid, int seconds, int quiet, op_ending *ending)
{
    int status = 0, got = 0;
    double end = now() + seconds;
    *ending = (op_ending){0};
    told = 0;
    while (got != 2 && got >= 0) {
        got = reap(pid, &status, !seconds || ending->hung);
        if (got || !seconds || ending->hung) continue;
        if (now() >= end) {
            ending->hung = 1;
            end_of_all(seconds, quiet);
        } else
            until_a_child(end);
    }
    command = 0;
    for (int i = 0; i < PASSED; i++) sigaction(passed_on[i], &as_before[i], NULL);
    if (!ending->hung) linger(seconds ? end : now() + OP_LINGER, ending);
    while (reap(0, NULL, 0) > 0) { /* whoever comes after us may not do it */
    }
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
    ending->told = told;
    return status;
}
