/* stats.h - what a preloaded process tells the command, in a shared file mapping: survives a kill.
 */
#ifndef OP_STATS_H
#define OP_STATS_H
#include "heard.h"
#include "rules.h"

enum { OP_STATS_ROWS = 64, OP_STATS_THREADS = 64, OP_STATS_IMAGES = 8192, OP_LEFT_NAME = 120 };

/* Of a program that was started, with the children of its forks until they start another one: what
 * is known of it. */
enum {
    OP_I_SEEN = 1,    /* a call of it came by */
    OP_I_RUNTIME = 2, /* it had libcudart from the beginning */
    OP_I_LOADED = 4,  /* at its end */
    OP_I_USED = 8,    /* at its end, device memory or a context had been made */
    OP_I_STATIC = 16, /* it carries these, see devcode.h */
    OP_I_KERNELS = 32,
};

/* Why the calls of a program that one of ours started cannot be counted. */
enum {
    OP_LEFT_ENVIRONMENT = 1, /* it was given an environment without ours */
    OP_LEFT_UNREACHABLE,     /* it cannot open this file, as another user or below another root */
    OP_LEFT_SETUID,
    OP_LEFT_STATIC, /* no loader, that could preload anything */
    OP_LEFT_OTHER,  /* its environment is that of another run */
};
typedef struct op_left {
    uint64_t n;
    int why;                 /* of the first */
    char name[OP_LEFT_NAME]; /* its program */
} op_left;

typedef struct op_stats {
    uint64_t processes, trace_lost;
    int not_started;     /* the command, which was said */
    uint64_t sites_lost; /* times that one was looked up for which there was no room */
    uint64_t images_taken;
    uint8_t image[OP_STATS_IMAGES]; /* OP_I_*; the first is of those for which none was left */
    op_left left[2];                /* by whether the program's file uses CUDA */
    uint64_t threads_taken;         /* rows of by_thread */
    uint64_t threads;         /* those that there are: all, or none, where files may not be large */
    uint64_t calls[OP_CALLS]; /* of the threads for which no row was left */
    uint64_t acted[OP_MAX_RULES];
    /* rules that programs armed in the place of the command's: how often, and what these did */
    uint64_t armed, armed_matched, armed_fired;
    /* A row a process, which need not be added to atomically; row 0 is of those for which none was
     * left. */
    uint64_t rows_taken, matched[OP_STATS_ROWS][OP_MAX_RULES];
    /* A row a thread, to which it adds alone. From here on: see threads. */
    uint64_t by_thread[OP_STATS_THREADS][OP_CALLS];
    op_heard kernels, sites; /* where a rule's kernel= or site= did not match */
} op_stats;

static inline uint64_t op_stats_calls(const op_stats *s, int id)
{
    uint64_t n = __atomic_load_n(&s->calls[id], __ATOMIC_RELAXED);
    uint64_t taken = __atomic_load_n(&s->threads_taken, __ATOMIC_RELAXED);
    for (uint64_t k = 0; k < s->threads && k < taken; k++)
        n += __atomic_load_n(&s->by_thread[k][id], __ATOMIC_RELAXED);
    return n;
}

static inline uint64_t op_stats_matched(const op_stats *s, int rule)
{
    uint64_t n = 0;
    for (int k = 0; k < OP_STATS_ROWS; k++) n += s->matched[k][rule];
    return n;
}

#endif
