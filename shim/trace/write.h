/* write.h - one event of the trace for each intercepted call, after it. */
#ifndef OP_TRACE_WRITE_H
#define OP_TRACE_WRITE_H
#include "calls.h"
#include "trace/format.h"
#include <cuda_runtime_api.h>
#include <stdint.h>

/* FULL: a recording that has its failure and what followed, and stays as it is. */
enum { OP_TRACE_OFF, OP_TRACE_ON, OP_TRACE_LOST, OP_TRACE_ASKED, OP_TRACE_FULL };
extern int op_tracing;
void op_trace_start(void);
void op_trace_other_process(void); /* as in the child of a fork */
void op_trace_event(op_id call, int result, uint64_t pointer, uint64_t bytes, cudaStream_t stream,
                    int injected, const char *site, void *caller, void *frame);
/* Of a kind OP_RECORD_*; its time and kind are set here. */
void op_trace_step_start(void);
void op_trace_step(const op_step_event *step, int kind);

#endif
