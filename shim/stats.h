/* stats.h - what a preloaded process tells the command, in a shared file mapping: survives a kill.
 */
#ifndef OP_STATS_H
#define OP_STATS_H
#include "rules.h"

typedef struct op_stats {
    uint64_t processes, trace_lost;
    uint64_t unseen; /* processes that loaded a CUDA runtime, none of whose calls came by */
    uint64_t calls[OP_CALLS];
    uint64_t matched[OP_MAX_RULES], acted[OP_MAX_RULES];
} op_stats;

#endif
