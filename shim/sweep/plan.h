/* plan.h - which runs of a sweep are made: all, or the first of each site, or a sample, or those
 * that a sweep which was stopped has not made. */
#ifndef OP_SWEEP_PLAN_H
#define OP_SWEEP_PLAN_H
#include "sweep/options.h"

/* Before the reference: which calls are points of that kind. */
void op_plan_calls(op_sweep_file *s, const op_sweep_options *o, op_fault kind);

/* Whether calls of this name are points of that kind: of those that can have it, what --calls
 * names, else what allocates device memory, and of NaN the copies. */
int op_plan_wants(const op_sweep_options *o, op_fault kind, const op_entry *call);

/* After the reference: marks in s->skip what is not wanted. */
void op_plan(op_sweep_file *s, const op_sweep_options *o);
/* After that: how many runs at one point each there will be, with those of a sweep that is resumed;
 * neither pairs nor budgets, whose number is not known before. */
int op_plan_asked(const op_sweep_file *s, const op_sweep_options *o);

/* Before the reference, of what an earlier sweep left: drops the runs that had not ended. 0; 2 and
 * a message: it is of another sweep. Runs of a program that marks no steps count once all have
 * ended: their exits are judged together. */
int op_plan_resume(op_sweep_file *s, const char *asked, const char *folder);

/* Drops the findings that are more than were asked for, and says how many. */
int op_plan_most(op_sweep_file *s);

/* Drops the runs that had not ended, and says how many; budgets 0: those of a budget, too. -1: no
 * memory. */
int op_plan_ended(op_sweep_file *s, int budgets);

#endif
