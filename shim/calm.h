/* calm.h - around what the shim does with files while it holds a lock: the thread is not cancelled
 * in there, since the lock would stay held, and a file size limit is an error, not the end of the
 * program. */
#ifndef OP_CALM_H
#define OP_CALM_H
#include <signal.h>

typedef struct op_calm {
    int cancel, pending; /* as they were */
    sigset_t mask;
} op_calm;

void op_calm_begin(op_calm *c);
void op_calm_end(const op_calm *c);

#endif
