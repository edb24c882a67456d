/* pools.c - the memory pools whose memory is the host's: what they give is none of the device. */
#include "gate.h"
#include "state.h"
#include <string.h>

enum { POOLS = 256 };
static op_gate gate;
static const void *host[POOLS]; /* at once; further ones count as the device's */
static int used;                /* places in there, never fewer: 0 for nearly every program */

void op_pool_made(const void *pool, int location)
{
    int free_ = -1;
    if (!op_is_host(location) && !OP_READ(used)) return;
    op_gate_enter(&gate);
    for (int i = 0; i < used; i++) { /* of one that is no more, its address may be another's */
        if (host[i] == pool) OP_WRITE(host[i], NULL);
        if (!host[i]) free_ = i;
    }
    if (op_is_host(location)) {
        if (free_ < 0 && used < POOLS) free_ = used;
        if (free_ >= 0) OP_WRITE(host[free_], pool);
        if (free_ == used) OP_WRITE(used, used + 1);
    }
    op_gate_leave(&gate);
}

int op_pool_is_host(const void *pool)
{
    int n = OP_READ(used);
    for (int i = 0; i < n; i++)
        if (OP_READ(host[i]) == pool) return 1;
    return 0;
}

void op_pools_hold(void)
{
    op_gate_enter(&gate);
}
void op_pools_let_go(void)
{
    op_gate_leave(&gate);
}
