/* gate.h - a lock for the few instructions that every allocation, every call that a rule names and
 * every traced one make: one atomic operation, where a mutex needs two. Whoever finds it closed
 * looks again, then lets others run, then sleeps: a thread of higher priority must not wait for
 * ever for one that it keeps from running. Not fair. */
#ifndef OP_GATE_H
#define OP_GATE_H
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct op_gate {
    int closed;
} op_gate;

static inline void op_gate_enter(op_gate *g)
{
    unsigned n = 0; /* looks */
    while (__atomic_exchange_n(&g->closed, 1, __ATOMIC_ACQUIRE))
        for (; __atomic_load_n(&g->closed, __ATOMIC_RELAXED); n += n < 1000)
            if (n == 1000)
                syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 50000},
                        NULL); /* no cancellation */
            else if (n >= 100)
                sched_yield();
}

static inline void op_gate_leave(op_gate *g)
{
    __atomic_store_n(&g->closed, 0, __ATOMIC_RELEASE);
}

#endif
