/* file.h - the file behind a trace: one that grows, or the ring of a recording. All of it is called
 * under the lock of write.c. */
#ifndef OP_TRACE_FILE_H
#define OP_TRACE_FILE_H
#include "trace/format.h"

int op_trace_asked(void);     /* the environment names a trace or a recording */
int op_trace_is_ring(void);   /* it is a recording */
int op_trace_open_file(void); /* 1; 0: it cannot be, which was said */
void op_trace_leave(void);    /* in the child of a fork: the parent's file is not ours */
uint64_t op_trace_now(void);  /* ns since the start */

/* The next record's place; NULL: the trace has ended. event 1: in a recording it takes the place of
 * the oldest. What is there is not a record before op_trace_placed. */
void *op_trace_place(int event);
void op_trace_placed(uint8_t *kind, uint8_t value);
/* The last event was a failure: a recording keeps it, with half a ring of what follows. */
void op_trace_failed(void);
void op_trace_outcome(int failed,
                      int dropped); /* of a step, also after the recording stood still */

#endif
