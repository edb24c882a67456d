/* buffers.h - what a program gave to be compared (op_buffer), against the reference run. */
#ifndef OP_SWEEP_BUFFERS_H
#define OP_SWEEP_BUFFERS_H
#include "sweep.h"

/* Into a file of the sweep's folder, one after the other; their hash. */
uint64_t op_buffers_write(const char *name);
uint64_t op_buffers_hash(void);
int op_buffers_count(void);
uint64_t op_buffers_host_hash(uint64_t seed); /* of those in host memory, as they are now */

/* Against the reference's end. exact: every bit. Notes the worst in r; 0 with r->why when one is
 * off. *same: nothing differs in any bit. */
int op_buffers_compare(op_result *r, int exact, int *same);

/* Bytes that are the reference's however the step went. 0 with r->why. */
int op_buffers_fixed(op_result *r);

/* Every point was dropped: nothing may have moved since the step began, and gradients (what has a
 * tolerance) are zero. 0 with r->why. */
int op_buffers_unmoved(op_result *r);

/* Some points were dropped: the program computes again, from the step's beginning and without
 * faults, what those it trained give (op_reference), and buffers with a tolerance must agree. 0
 * with r->why; 1 with r->why when there is nothing to compare with. */
int op_buffers_recomputed(op_result *r);

/* In the reference, after its step: how far the program says that roundings may take it
 * (op_wider). The buffers are not what they were after it. */
op_rounding op_buffers_rounding(void);

/* Of a part beside the steps: what the reference left alone is as it was at the start, what it
 * wrote as in the reference, or, where this one failed, as at the start; where points were lost, it
 * is not compared. 0 with r->why. */
int op_buffers_of_part(op_result *r, int failed, int lost);

/* Zeroes what is scratch in copy, the contents of [from, from + n). */
void op_buffers_blank(char *copy, const char *from, size_t n);

#endif
