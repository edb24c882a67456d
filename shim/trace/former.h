/* former.h - what an earlier run left where a trace is to go. */
#ifndef OP_TRACE_FORMER_H
#define OP_TRACE_FORMER_H

/* An earlier trace goes, and with it PATH.PID of its further processes, which would pass for those
 * of the new one. Anything else of that name stays, and is said: 0. */
int op_trace_make_way(const char *path);

#endif
