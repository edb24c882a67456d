/* limit.c - see limit.h. */
#define _GNU_SOURCE
#include "sweep/limit.h"
#include <stddef.h>

void op_limit_set(op_limit *l, double seconds, double clock, double used)
{
    *l = (op_limit){seconds, clock, used, clock, used};
}

const char *op_limit_look(op_limit *l, double clock, double used, double *again)
{
    double left = l->seconds - (used - l->had);
    if (left <= 0) return "has used the processor time of its limit";
    if (clock - l->began >= OP_LIMIT_CLOCK * l->seconds) return "has long passed its limit";
    if (clock - l->since >= l->seconds) {
        if (used - l->then < l->seconds / 100) return "waits, and nothing comes";
        l->since = clock;
        l->then = used;
    }
    double rest = l->since + l->seconds - clock;
    *again = left < rest ? left : rest;
    return NULL;
}
