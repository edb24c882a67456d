/* state.h - what the wrappers share: the lock, the armed rules, the decision on each call. */
#ifndef OP_STATE_H
#define OP_STATE_H
#include "area.h"
#include "gate.h"
#include "stats.h"
#include <cuda_runtime_api.h>
#include <pthread.h>

#define API   __attribute__((visibility("default")))
#define LOCAL __attribute__((tls_model("initial-exec")))

extern op_gate op_lock;
extern op_stats *op_shared;
extern int op_sticky;         /* the runtime's code that every call returns from now on */
extern int op_busy[OP_CALLS]; /* a rule or an observer wants to see this call */

/* A thread is within an intercepted call or other work of the shim: what it calls then is passed
 * on, whether the runtime, a callback or a malloc of the program's makes the call. What lies on the
 * stack tells whether it still is: a signal handler may have left by siglongjmp. */
typedef struct op_within {
    const struct op_within *self;
    struct op_within *outer;
} op_within;
extern __thread op_within *op_within_now LOCAL; /* the innermost */
int op_still_within(const op_within *w, const void *frame);

/* ---- held.c ---- */
extern __thread uint64_t op_awaited LOCAL; /* bytes that a budget has let through */
uint64_t op_not_allocated(void);           /* the call was let through, and failed: 0 */

static inline void op_enter(op_within *w)
{
    w->self = w;
    w->outer = op_within_now;
    op_within_now = w;
}
/* Also by an exception and by the end of the thread. */
static inline void op_leave(op_within *w)
{
    op_within_now = w->outer;
    if (__builtin_expect(op_awaited && !w->outer, 0)) op_not_allocated();
}
#define OP_IS_WITHIN()                                                \
    (__builtin_expect(op_within_now != NULL, 0)                       \
         ? op_still_within(op_within_now, __builtin_frame_address(0)) \
         : 0)
/* From here to the end of the block. */
#define OP_WITHIN                                         \
    op_within within_ __attribute__((cleanup(op_leave))); \
    op_enter(&within_)

/* Of this thread: its number, -1 before its first call; the stream that was numbered last. */
extern __thread int op_thread_is LOCAL;
extern __thread cudaStream_t op_stream_is LOCAL;

/* Numbers of this thread and of a stream, by first use. */
int op_thread_number(void);
int op_stream_number(cudaStream_t s);

/* What one thread may change while others look. */
#define OP_READ(x)     __atomic_load_n(&(x), __ATOMIC_RELAXED)
#define OP_WRITE(x, v) __atomic_store_n(&(x), v, __ATOMIC_RELAXED)

/* The function of this name in a library that is loaded; NULL: none has it. */
void *op_find(const char *name);
/* What stands for the function of this name where no library has it: it returns its API's code for
 * "not initialised". Said once. */
void *op_absent(const char *name);
#define REAL(name)                                                             \
    ({                                                                         \
        static __typeof__(name) *cached_;                                      \
        __typeof__(name) *real_ = __atomic_load_n(&cached_, __ATOMIC_RELAXED); \
        if (!real_) {                                                          \
            real_ = (__typeof__(name) *)op_find(#name);                        \
            if (real_)                                                         \
                __atomic_store_n(&cached_, real_, __ATOMIC_RELAXED);           \
            else                                                               \
                real_ = (__typeof__(name) *)op_absent(#name);                  \
        }                                                                      \
        real_;                                                                 \
    })
#define OUTER(call) (call)

/* Threads and streams are numbered by their first call, whether or not a rule looks at it: the
 * numbers are the same with and without a trace, and whatever the rules say. */
static inline void op_number_stream(cudaStream_t stream)
{
    if (__builtin_expect(stream && stream != op_stream_is, 0)) op_stream_number(stream);
}

/* ---- count.c ---- */
/* The calls of this thread, in op_shared; NULL before its first one, or where no row was left. */
extern __thread uint64_t *op_counts LOCAL;
void op_count_slowly(op_id id); /* the same, and what a thread's first call needs */
void op_count_of_child(void);   /* of a fork: the row is its parent's */
uint64_t op_counted(op_id id);  /* in this run, by whatever thread and process */
/* One instruction, where that is one that a signal cannot divide: its handler may call as well. */
static inline void op_count(op_id id)
{
    uint64_t *mine = op_counts;
    if (__builtin_expect(!mine, 0)) {
        op_count_slowly(id);
        return;
    }
#if defined __x86_64__ && !defined __SANITIZE_THREAD__
    __asm__("addq $1, %0" : "+m"(mine[id])::"cc");
#else
    __atomic_fetch_add(&mine[id], 1, __ATOMIC_RELAXED);
#endif
}

/* Counts the call. The rule that acts on it, a copy that lasts until the thread's next call; NULL:
 * none. Delays, hangs and crashes have happened when it returns. */
const op_rule *op_decided(op_call *call, cudaStream_t stream, void *caller, void *frame);
/* call is evaluated twice: first for its id, which is constant */
#define SEEN(call, stream_)                                                                        \
    ({                                                                                             \
        if (__builtin_expect(!OP_READ(*op_here), 0)) op_other_process();                           \
        op_count((call).id);                                                                       \
        op_number_stream(stream_);                                                                 \
        const op_rule *acts_ = NULL;                                                               \
        if (__builtin_expect(OP_READ(op_busy[(call).id]), 0)) {                                    \
            op_call c_ = call;                                                                     \
            acts_ =                                                                                \
                op_decided(&c_, stream_, __builtin_return_address(0), __builtin_frame_address(0)); \
        }                                                                                          \
        acts_;                                                                                     \
    })

/* ---- joined.c ---- */
extern int op_joined;     /* op_shared is what it will be */
void op_first_call(void); /* of this process */

/* ---- start.c ---- */
/* 0 in a child that was made without the handlers of fork being run (_Fork, clone): it is made a
 * process of its own at its first call. */
extern char *op_here;
void op_other_process(void);
/* Number of rules, now armed; -1 with "line L column C: ..." in error. */
int op_rules_set(const char *text, char *error, size_t error_bytes);
/* 1: no process has asked for that name before. Of the processes behind a command one is meant, and
 * only itself can tell: the first that makes such a call. */
int op_first_to_ask(const char *path);
/* Of the child of a fork, under the lock. */
void op_rules_of_child(void);

/* ---- held.c ---- */
/* Where a rule has a budget, what was let through counts until it is live: two threads must not
 * both be given the last room. Under the lock. */
void op_promise(const op_call *c);
uint64_t op_promised_or_live(const op_call *c); /* bytes, of the call's level */
/* Device memory that was allocated / is about to be freed; returns its bytes. */
uint64_t op_allocated(void *p, uint64_t bytes); /* the allocation's number, from 1 */
uint64_t op_freeing(void *p, uint64_t *number);
void op_not_freed(void); /* the thread's last one failed: the block is there as it was */
void op_freed_all(void); /* the device was reset */
uint64_t op_driver_allocated(void *p, uint64_t bytes); /* the same of the driver level */
uint64_t op_driver_freeing(void *p, uint64_t *number);
void op_driver_not_freed(void);
int op_is_live(const void *p, uint64_t bytes); /* inside one live block of the runtime's */
/* The smallest budget among the armed rules and the live bytes now; 0: no budget. */
int op_budget(uint64_t *budget, uint64_t *live);

/* ---- pools.c ---- */
/* Of the places where memory can be (cudaMemLocationType and the driver's have the same numbers).
 */
static inline int op_is_host(int location)
{
    return location >= 2 && location <= 4;
}
void op_pool_made(const void *pool, int location);
int op_pool_is_host(const void *pool);
void op_pools_hold(void); /* around a fork, as of live.h; let go: also where nobody is in there */
void op_pools_let_go(void);

/* ---- names.c ---- */
void op_names_hold(void); /* around a fork, as of live.h */
void op_names_let_go(void);
void op_names_free(void); /* nobody is in there, whatever the lock says */
/* Name of a kernel by its host function or handle; NULL: not known. name lives as long as the
 * program. */
const char *op_kernel_name(const void *key);
void op_learn_kernel(const void *key, const char *name);

/* Of this thread: what the program said last. */
extern __thread unsigned op_names_changed LOCAL;
extern __thread char op_said_phase[24] LOCAL, op_said_tag[96] LOCAL;
/* A rule that acted could not do what it says: not counted as fired. 1: that is to be told, as it
 * was not yet of this rule. */
int op_not_acted(const op_rule *r);

/* The program's last error, which calls that we make for ourselves must leave as it is. */
int op_error_before(void);
void op_error_after(int before);

/* ---- held.c: bytes of a row, before it is allocated; learns from what it was (the pitch) ---- */
size_t op_pitched(size_t width);
size_t op_pitch_seen(size_t width, size_t pitch);

/* ---- poison.c: after a call that returned `result`; 1: something was poisoned ---- */
int op_poison_area(const op_rule *r, op_area a, int on_host, cudaStream_t stream, int result);
int op_poison_argument(const op_rule *r, void **values, cudaStream_t stream, int result);
/* The direction that cudaMemcpyDefault finds. */
op_kind op_direction(const void *to, const void *from);
int op_capturing(cudaStream_t stream);

#endif
