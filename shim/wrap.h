/* wrap.h - the beginning of every wrapper. A failing fault comes before the real call: nothing
 * leaks and outputs stay as they were. */
#ifndef OP_WRAP_H
#define OP_WRAP_H
#include "state.h"
#include "trace/write.h"

#define FAULTED(r) ((r) && ((r)->action == OP_CODE || (r)->action == OP_OOM))

/* Codes that kill the context: the driver has the runtime's numbers. */
static inline int op_is_sticky(int code)
{
    return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719);
}

/* The call is passed on: it comes from within another, or the context is dead. */
#define PASS_IF(name, arguments, is_dead, as_dead)   \
    if (OP_IS_WITHIN()) return REAL(name) arguments; \
    if (is_dead) return as_dead;                     \
    OP_WITHIN
/* The same of a call that is none of the table's. */
#define PASS_UNTOLD(name, arguments, dead) PASS_IF(name, arguments, OP_READ(op_sticky), dead)
#define PASS(name, arguments, dead)              \
    PASS_IF(name, arguments, OP_READ(op_sticky), \
            (op_count(OP_ID_##name), TRACED(name, dead, 0, 0, NULL, 0)))

/* The call is over: an event of the trace, and the result. */
#define TRACED(name, outcome, number, bytes, stream, injected) \
    TRACED_AT(name, outcome, number, bytes, stream, injected, NULL)
/* site: NULL, or where the call is said to come from */
#define TRACED_AT(name, outcome, number, bytes, stream, injected, site)                       \
    ({                                                                                        \
        const __typeof__(outcome) traced_ = (outcome);                                        \
        if (__builtin_expect(OP_READ(op_tracing), 0))                                         \
            op_trace_event(OP_ID_##name, (int)traced_, number, bytes, stream, injected, site, \
                           __builtin_return_address(0), __builtin_frame_address(0));          \
        traced_;                                                                              \
    })

#endif
