/* budget.c - which budgets the walker tries: where the step ends differently, there are more of
 * them. */
#include "sweep.h"
#include <stdlib.h>

enum { GRAIN = 512 }; /* the driver rounds up to it */

static int by_budget(const void *a, const void *b)
{
    const op_result *x = *(op_result *const *)a, *y = *(op_result *const *)b;
    return (x->budget > y->budget) - (x->budget < y->budget);
}

static int alike(const op_result *a, const op_result *b)
{
    return a->verdict == b->verdict && a->splits == b->splits && a->dropped == b->dropped;
}

/* The budget between the two neighbours that end differently and lie farthest apart, none of them
 * open; 0: there are none. */
static uint64_t between(op_result **r, int n)
{
    uint64_t gap = GRAIN, at = 0;
    for (int i = 1; i < n; i++) {
        uint64_t apart = r[i]->budget - r[i - 1]->budget;
        if (alike(r[i - 1], r[i]) || apart <= gap) continue;
        gap = apart;
        at = r[i - 1]->budget + apart / 2 / GRAIN * GRAIN;
    }
    return at;
}

int op_sweep_budgets(void)
{
    uint64_t lo = op_sweep->begin_live, hi = op_sweep->peak_live;
    int n = op_sweep->budgets, first = n / 2 > 2 ? n / 2 : 2, from = op_sweep->nresults;
    for (int i = 0; i < first; i++) {
        uint64_t step = (hi - lo) / (uint64_t)(first - 1) / GRAIN * GRAIN;
        if (op_sweep_fork_budget(i == first - 1 ? hi : lo + (uint64_t)i * step)) return 1;
    }
    op_children_wait(0);
    op_result **r = calloc((size_t)n, sizeof *r);
    for (int have = first; r && have < n; have++) {
        for (int i = 0; i < have; i++) r[i] = &op_sweep->result[from + i];
        qsort(r, (size_t)have, sizeof *r, by_budget);
        uint64_t at = between(r, have);
        if (!at) break;
        if (op_sweep_fork_budget(at)) {
            free(r);
            return 1;
        }
        op_children_wait(0);
    }
    free(r);
    return 0;
}
