/* gate.h - a lock for a few instructions that every allocation makes: one atomic operation, where a
 * mutex needs two. Whoever finds it closed looks again, then lets others run, then sleeps: a thread
 * of higher priority must not wait for ever for one that it keeps from running. Not fair. */
#ifndef OP_GATE_H
#define OP_GATE_H
#include <sched.h>
#include <time.h>

typedef struct op_gate {
    int closed;
} op_gate;

static inline void op_gate_enter(op_gate *g)
{
    for (unsigned n = 0; __atomic_exchange_n(&g->closed, 1, __ATOMIC_ACQUIRE); n++)
        while (__atomic_load_n(&g->closed, __ATOMIC_RELAXED) && n++ < 2000) {
            if (n < 100) continue;
            if (n < 1000)
                sched_yield();
            else
                nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
        }
}

static inline void op_gate_leave(op_gate *g)
{
    __atomic_store_n(&g->closed, 0, __ATOMIC_RELEASE);
}

#endif
