/* stop.h - waiting for the runs of a sweep, which is told by SIGINT or SIGTERM to stop and then
 * says what it has found so far. */
#ifndef OP_STOP_H
#define OP_STOP_H
#include <sys/types.h>

/* The signal that came; 0: none. */
extern int op_stopped;

/* From now on those signals are taken by op_stop_any alone. */
void op_stop_watch(void);
/* In a child: they end it, as ever. */
void op_stop_child(void);
double op_stop_clock(void);
/* Which of n processes has ended, the first that does; *status as of waitpid. One that is there
 * still at until[k] of that clock (0: no limit) is killed, and its status -1. -1: the sweep stops,
 * and they are all killed. */
int op_stop_any(const pid_t *pid, const double *until, int n, int *status);
/* As if the signal had not been waited for: the process ends by it. */
void op_stop_end(void);

#endif
