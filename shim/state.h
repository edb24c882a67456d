/* state.h - what the wrappers share: the lock, the armed rules, the decision on each call. */
#ifndef OP_STATE_H
#define OP_STATE_H
#include "rules.h"
#include <cuda_runtime_api.h>
#include <pthread.h>

#define API __attribute__((visibility("default")))

extern pthread_mutex_t op_lock;
extern int op_sticky;          /* the runtime's code that every call returns from now on; 0: none */
extern __thread int op_inside; /* within a real call: only the outermost counts */

/* The real function of this name; ends the process when no loaded library has it. */
void *op_resolve(const char *name);
#define REAL(name)                                                 \
    ({                                                             \
        static __typeof__(name) *real_;                            \
        if (!real_) real_ = (__typeof__(name) *)op_resolve(#name); \
        real_;                                                     \
    })

/* The rule that acts on this call, copied; action OP_NONE: none. The call is counted. */
op_rule op_seen(op_call call);
#define FAULTED(r) ((r).action == OP_CODE || (r).action == OP_OOM)

#define PASS_IF_INSIDE(call) \
    if (op_inside) return (call)
#define OUTER(call)                   \
    ({                                \
        op_inside++;                  \
        __typeof__(call) r_ = (call); \
        op_inside--;                  \
        r_;                           \
    })

/* Device memory that was allocated / is about to be freed; returns its bytes. */
void op_allocated(void *p, uint64_t bytes);
uint64_t op_freeing(void *p);
/* The smallest budget among the armed rules and the live bytes now; 0: no budget. */
int op_budget(uint64_t *budget, uint64_t *live);

/* Name of a kernel by its host function or handle; NULL: not known. name lives as long as the
 * program. */
const char *op_kernel_name(const void *key);
void op_learn_kernel(const void *key, const char *name);

#endif
