/* live.h - device bytes allocated and not freed: each request rounded up to 512, as the driver
 * does. Safe from any thread. */
#ifndef OP_LIVE_H
#define OP_LIVE_H
#include <stddef.h>
#include <stdint.h>

typedef struct op_live op_live;
extern op_live op_runtime_live, op_driver_live; /* the levels are counts of their own */

/* The allocation's number, from 1; 0: there was no memory to note it. */
uint64_t op_live_add(op_live *l, void *p, uint64_t bytes);
/* Its bytes, 0 where p is not known; *number (may be NULL) as above. */
uint64_t op_live_remove(op_live *l, void *p, uint64_t *number);
/* The same, with all that is known of it; and back again, as it was, where it could not be freed.
 */
struct op_live_block;
uint64_t op_live_take(op_live *l, void *p, struct op_live_block *was);
void op_live_put_back(op_live *l, const struct op_live_block *was);
void op_live_clear(op_live *l); /* everything was freed at once */
uint64_t op_live_now(const op_live *l);
uint64_t op_live_peak(op_live *l, int reset);
/* Around a fork: no other thread is within one of the tables, in the child either. */
void op_live_hold(void);
void op_live_let_go(void);

/* The blocks that are live, by address; malloc'ed. */
typedef struct op_live_block {
    void *p;
    uint64_t bytes, asked; /* rounded up to 512; as asked for */
    uint64_t number;       /* of all allocations, from 1 */
} op_live_block;
op_live_block *op_live_list(op_live *l, size_t *n);

#endif
