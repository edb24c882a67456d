/* runs.h - the processes of a sweep, which the command starts: the run without faults, the one that
 * walks from point to point, and those that take one fault each. */
#ifndef OP_SWEEP_RUNS_H
#define OP_SWEEP_RUNS_H
#include "sweep/options.h"

typedef struct op_places {
    char root[4096], shared[600], stats[600];
} op_places;

/* The status of the command as the role of s says; its output goes to FOLDER/name.out and .err. No
 * limit. *used: processor time, in seconds, its children's too. -1: the sweep stops. */
int op_run_whole(op_sweep_file *s, const op_sweep_options *o, const op_places *at, const char *name,
                 double *used);

/* Points from .. to - 1, each in a run of its own, as many beside each other as --jobs says, until
 * there are as many findings as are asked for. */
void op_runs(op_sweep_file *s, const op_sweep_options *o, const op_places *at, int from, int to);
/* One run, for point k or, with -1, for the budget that was asked for. Its result. */
op_result *op_run_one(op_sweep_file *s, const op_sweep_options *o, const op_places *at, int k,
                      op_mode mode, op_fault fault);

int op_runs_enough(const op_sweep_file *s); /* as many findings as --max-findings allows */

#endif
