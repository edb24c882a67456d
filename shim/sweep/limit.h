/* limit.h - how long a run may take after its fault. Its processor time counts, since a machine
 * with other work to do gives it less of that; the clock only where it gets nowhere. */
#ifndef OP_SWEEP_LIMIT_H
#define OP_SWEEP_LIMIT_H

enum { OP_LIMIT_CLOCK = 20 }; /* so many times the limit by the clock, whatever it did */

typedef struct op_limit {
    double seconds;     /* of processor time */
    double began, had;  /* the clock and its processor time, when its time began */
    double since, then; /* the same when it was last seen to get on */
} op_limit;

/* From now on. */
void op_limit_set(op_limit *l, double seconds, double clock, double used);

/* NULL: it may go on, and is to be looked at again after *again seconds. Else what is wrong with
 * it: its processor time is used up, or it did next to nothing for as long. */
const char *op_limit_look(op_limit *l, double clock, double used, double *again);

/* ---- of this process, by SIGALRM, which ends it as a hang ---- */
void op_limit_begin(void);
void op_limit_pause(void);

#endif
