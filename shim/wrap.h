/* wrap.h - the beginning of every wrapper. A failing fault comes before the real call: nothing
 * leaks and outputs stay as they were. */
#ifndef OP_WRAP_H
#define OP_WRAP_H
#include "state.h"

#define FAULTED(r) ((r) && ((r)->action == OP_CODE || (r)->action == OP_OOM))

/* The call is passed on: it comes from within another, or the context is dead. */
#define PASS(name, arguments, dead)             \
    if (op_inside) return REAL(name) arguments; \
    if (op_sticky) return dead

#endif
