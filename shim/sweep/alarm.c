/* alarm.c - the limit of a process that has taken its fault: see limit.h. */
#define _GNU_SOURCE
#include "sweep.h"
#include "sweep/limit.h"
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static op_limit limit;

static double seconds_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void look(int signal)
{
    double again;
    char why[200];
    const char *wrong = op_limit_look(&limit, seconds_of(CLOCK_MONOTONIC),
                                      seconds_of(CLOCK_PROCESS_CPUTIME_ID), &again);
    (void)signal;
    if (!wrong) {
        alarm((unsigned)again + 1);
        return;
    }
    snprintf(why, sizeof why, "not at the end of its %s: it %s (%d s; --timeout)",
             *op_sweep->part ? "part" : "step", wrong, op_sweep->timeout_s);
    op_sweep_end_process(OP_V_HANG, why);
}

void op_limit_begin(void)
{
    struct sigaction a = {.sa_handler = look};
    sigset_t set;
    op_limit_set(&limit, op_sweep->timeout_s, seconds_of(CLOCK_MONOTONIC),
                 seconds_of(CLOCK_PROCESS_CPUTIME_ID));
    sigaction(SIGALRM, &a, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm((unsigned)op_sweep->timeout_s);
}

void op_limit_pause(void)
{
    alarm(0);
}
