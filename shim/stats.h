/* stats.h - what a preloaded process tells the command, in a shared file mapping: survives a kill.
 */
#ifndef OP_STATS_H
#define OP_STATS_H
#include "rules.h"

enum { OP_STATS_ROWS = 64 };

typedef struct op_stats {
    uint64_t processes, trace_lost;
    uint64_t unseen; /* processes that loaded a CUDA runtime, none of whose calls came by */
    /* processes that carry these, see devcode.h, or had libcudart from the beginning */
    uint64_t with_kernels, with_static, with_runtime;
    uint64_t calls[OP_CALLS];
    uint64_t acted[OP_MAX_RULES];
    /* rules that programs armed in the place of the command's: how often, and what these did */
    uint64_t armed, armed_matched, armed_fired;
    /* A row a process, which need not be added to atomically; row 0 is of those for which none was
     * left. */
    uint64_t rows_taken, matched[OP_STATS_ROWS][OP_MAX_RULES];
} op_stats;

static inline uint64_t op_stats_matched(const op_stats *s, int rule)
{
    uint64_t n = 0;
    for (int k = 0; k < OP_STATS_ROWS; k++) n += s->matched[k][rule];
    return n;
}

#endif
