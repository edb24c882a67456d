/* ordinal.h - how many calls of a name there were at a site: with the site's name, what a failure
 * is known by in another run. */
#ifndef OP_TRACE_ORDINAL_H
#define OP_TRACE_ORDINAL_H
#include <stdint.h>

enum { OP_ORDINALS = 16384 };
typedef struct op_ordinals {
    uint64_t key[OP_ORDINALS]; /* 0: free */
    uint32_t count[OP_ORDINALS];
} op_ordinals;

/* The number of this one, from 1; 0: there are more call sites than it can count. */
uint32_t op_ordinal(op_ordinals *o, uint32_t call, uint32_t site);
void op_ordinals_forget(op_ordinals *o);

#endif
