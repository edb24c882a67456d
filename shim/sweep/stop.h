/* stop.h - waiting for the runs of a sweep, which is told by SIGINT or SIGTERM to stop and then
 * says what it has found so far. */
#ifndef OP_STOP_H
#define OP_STOP_H
#include <sys/types.h>

/* The signal that came; 0: none. */
extern int op_stopped;

/* From now on those signals are taken by op_stop_wait alone. */
void op_stop_watch(void);
/* In a child: they end it, as ever. */
void op_stop_child(void);
/* The status of pid, waited for at most `seconds` (0: for ever). -1: killed, for its time or
 * because the sweep stops. */
int op_stop_wait(pid_t pid, int seconds);
/* As if the signal had not been waited for: the process ends by it. */
void op_stop_end(void);

#endif
