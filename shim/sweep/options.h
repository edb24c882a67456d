/* options.h - the command line of `oomproof sweep`. */
#ifndef OP_SWEEP_OPTIONS_H
#define OP_SWEEP_OPTIONS_H
#include "sweep.h"

typedef struct op_sweep_options {
    const char *device, *faults, *memory, *calls, *site, *compare, *part, *json, *junit, *html,
        *keep;
    int sim, modes, pairs, step, point, then, shard, shards, fork, prune, jobs, timeout;
    int kinds;              /* bit of each op_fault that is asked for */
    int mode_of[OP_FAULTS]; /* bits of each kind's modes */
    int most_findings;      /* 0: all */
    int budgets, by_site, sample, resume;
    int must_recover;      /* no marks: to end at an out-of-memory that came once is a finding */
    uint64_t budget, seed; /* budget 0: none */
    char **command;
} op_sweep_options;

/* 0; -1: help was printed; 2 and a message: it cannot be read. */
int op_sweep_read_options(int argc, char **argv, op_sweep_options *o);

#endif
