/* file.h - the file behind a trace: one that grows, or the ring of a recording. All of it is called
 * under the lock of write.c. */
#ifndef OP_TRACE_FILE_H
#define OP_TRACE_FILE_H
#include "trace/format.h"

extern uint64_t op_trace_ring; /* records of a recording; 0: a plain trace */
static inline int op_trace_is_ring(void)
{
    return op_trace_ring > 0;
}
int op_trace_asked(void);     /* the environment names a trace or a recording */
int op_trace_open_file(void); /* 1; 0: it cannot be, which was said */
void op_trace_leave(void);    /* in the child of a fork: the parent's file is not ours */
uint64_t op_trace_now(void);  /* ns since the start */

/* The next record's place; NULL: the trace has ended. event 1: in a recording it takes the place of
 * the oldest. What is there is not a record before op_trace_placed. */
void *op_trace_place(int event);
void op_trace_placed(uint8_t *kind, uint8_t value);
/* The last event, e, was a failure. A recording goes on, since the job may die of a later one,
 * until a step that the program marks ends badly after it: then it keeps half a ring of what
 * follows, and is full. OOMPROOF_RECORD_FIRST: so after the first failure; OOMPROOF_RECORD_UNTIL=N,
 * of a replay: after N events, whatever fails. */
void op_trace_failed(const op_event *e);
/* A failure that a full recording could not keep. */
void op_trace_missed(void);
/* The recording is full, and the step of its failures, all of which are in it, has not ended. */
int op_trace_owes_step(void);
void op_trace_step_begun(void);
/* After its event, if that is_kept: how it ended counts for the recording's expectation until that
 * is full. */
void op_trace_step_ended(int failed, int dropped, int is_kept);

#endif
