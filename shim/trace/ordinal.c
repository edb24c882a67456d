/* ordinal.c - see ordinal.h. */
#include "trace/ordinal.h"
#include <string.h>

uint32_t op_ordinal(op_ordinals *o, uint32_t call, uint32_t site)
{
    uint64_t key = ((uint64_t)call + 1) << 32 | site;
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 50);
    for (int i = 0; i < 64; i++, at = (at + 1) % OP_ORDINALS) {
        if (!o->key[at]) o->key[at] = key;
        if (o->key[at] == key) return ++o->count[at];
    }
    return 0;
}

void op_ordinals_forget(op_ordinals *o)
{
    memset(o, 0, sizeof *o);
}
