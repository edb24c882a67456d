/* count.c - the calls that were made, counted in a row of each thread in what a run shares: adding
 * to it needs no lock, and what a killed process counted stays. */
#define _GNU_SOURCE
#include "state.h"

__thread uint64_t *op_counts LOCAL;
static __thread int asked LOCAL; /* for a row */

void op_count_of_child(void)
{
    op_counts = NULL;
    asked = 0;
}

/* Before the process has joined its run, all are counted in the row that many may add to. */
static void ask_for_row(void)
{
    asked = 1;
    uint64_t k = __atomic_fetch_add(&op_shared->threads_taken, 1, __ATOMIC_RELAXED);
    if (k < op_shared->threads) op_counts = op_shared->by_thread[k];
}

void op_count_slowly(op_id id)
{
    op_first_call();
    op_thread_number();
    if (!asked && OP_READ(op_joined)) ask_for_row();
    __atomic_fetch_add(op_counts ? &op_counts[id] : &op_shared->calls[id], 1, __ATOMIC_RELAXED);
}

uint64_t op_counted(op_id id)
{
    return op_stats_calls(op_shared, id);
}
