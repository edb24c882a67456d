/* read.h - traces from disk, whoever wrote them: nothing in the file is trusted. */
#ifndef OP_TRACE_READ_H
#define OP_TRACE_READ_H
#include "format.h"
#include <stddef.h>

typedef struct op_trace op_trace;

/* The whole file in memory (kept by the caller while the trace is used). NULL with a reason in
 * error. A file that was cut short or damaged further on is read up to there. */
op_trace *op_trace_open(const void *bytes, size_t n, char *error, size_t error_bytes);
void op_trace_close(op_trace *t);
const op_head *op_trace_head(const op_trace *t);
/* The card, where the file is a recording; after the first event was read. NULL: it is not there.
 */
const op_device_record *op_trace_device(const op_trace *t);
/* The next event, or with kind OP_RECORD_STEP or OP_RECORD_SAMPLE an op_step_event; NULL at the
 * end. A recording begins with the oldest that it still has. */
const op_event *op_trace_next(op_trace *t);
/* The i-th failure of a recording's run, also when the ring has gone over it; after the first event
 * was read. NULL: there is none, or there was no room for it. */
const op_event *op_trace_failure(const op_trace *t, size_t i);
/* Name by its number; "?" when the file has none. of: OP_NAME_*. */
const char *op_trace_name(const op_trace *t, int of, uint32_t id);
/* What the program said of itself by this name, OP_NAME_FACT; "": nothing. After the first event of
 * a recording. */
const char *op_trace_fact(const op_trace *t, const char *name);
/* NULL, or why the reading ended before the end of the records. */
const char *op_trace_damage(const op_trace *t);

#endif
