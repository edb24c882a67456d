/* counters.c - gcov's counters of a program that was built with --coverage, each fault's apart from
 * those of all others: FOLDER/RUN/failed has what ran from the fault to the first retry,
 * FOLDER/RUN/retried what ran after it. scripts/faultlines.py reads them. */
#define _GNU_SOURCE
#include "sweep.h"
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) void __gcov_dump(void);
__attribute__((weak)) void __gcov_reset(void);

/* A function that is under way when counting starts anew has more ends than beginnings; gcov, which
 * infers what was not counted, puts that to the call that is under way, so its lines are right. */
void op_counters_from(const op_result *r, int retried)
{
    char path[1100];
    const char *folder = getenv("OOMPROOF_COUNTERS");
    if (!folder || !*folder || !__gcov_dump || !__gcov_reset) return;
    if (retried) __gcov_dump();
    __gcov_reset(); /* else there is no second dump */
    snprintf(path, sizeof path, "%.1000s/%d/%s", folder, (int)(r - op_sweep->result),
             retried ? "retried" : "failed");
    setenv("GCOV_PREFIX", path, 1); /* for whatever ends this process, a signal, too */
    setenv("GCOV_PREFIX_STRIP", "99", 1);
}
