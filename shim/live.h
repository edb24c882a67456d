/* live.h - device bytes allocated and not freed: each request rounded up to 512, as the driver
 * does. Not locked: the caller holds the shim's lock. */
#ifndef OP_LIVE_H
#define OP_LIVE_H
#include <stddef.h>
#include <stdint.h>

/* The allocation's number, from 1; 0: there was no memory to note it. */
uint64_t op_live_add(void *p, uint64_t bytes);
/* Its bytes, 0 where p is not known; *number (may be NULL) as above. */
uint64_t op_live_remove(void *p, uint64_t *number);
void op_live_clear(void); /* everything was freed at once */
uint64_t op_live_now(void);
uint64_t op_live_peak(int reset);

/* The blocks that are live, by address; malloc'ed. */
typedef struct op_live_block {
    void *p;
    uint64_t bytes, asked; /* rounded up to 512; as asked for */
    uint64_t number;       /* of all allocations, from 1 */
} op_live_block;
op_live_block *op_live_list(size_t *n);

#endif
