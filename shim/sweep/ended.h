/* ended.h - the verdict on a program that marks no steps, once it has ended. */
#ifndef OP_SWEEP_ENDED_H
#define OP_SWEEP_ENDED_H
#include "sweep/options.h"

/* It was judged at its exit by its device memory; its exit code and what it printed say the rest.
 * status: as of waitpid. way: "walker" or "single", whose output came before that of the run. */
void op_judge_ended(op_sweep_file *s, const op_sweep_options *o, op_result *r, int status,
                    const char *way);

/* The command of --compare could not be run: what was judged by it is not to be trusted. */
extern int op_compare_failed;
extern int op_output_lost; /* what a run printed found no room: the same */

#endif
