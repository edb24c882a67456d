/* compared.h - the buffers that a program gave (op_buffer), for what compares them. */
#ifndef OP_SWEEP_COMPARED_H
#define OP_SWEEP_COMPARED_H
#include "buffers.h"

typedef struct op_compared {
    char name[64];
    const void *p;
    size_t bytes;
    int on_device, type; /* type: see oomproof_buffer */
    double tolerance;
} op_compared;
extern op_compared op_buffers_all[OP_BUFFERS];
extern int op_nbuffers;

/* A copy on the host, to be freed; NULL: it cannot be had. */
void *op_buffers_fetch(const op_compared *b);

/* A file of op_buffers_write; ends the process when it is not there. NULL: it is empty. */
char *op_map_state(const char *name, size_t *bytes);

static inline int op_is_of_numbers(const op_compared *b)
{
    return b->type == 'f' || b->type == 'd';
}
static inline size_t op_numbers(const op_compared *b)
{
    return b->bytes / (b->type == 'd' ? 8 : 4);
}

/* ---- distance.c ---- */
/* max|a - reference| / max(max|reference|, at_least) of n numbers */
double op_distance(const void *a, const void *reference, int type, size_t n, double at_least);
/* What the largest number of a buffer is taken to be at least: 1e-3 of the largest of all that have
 * a tolerance. The arrays have an entry a buffer; NULL: it is left out. */
double op_least_of(void **reference);
double op_worst_apart(void **a, void **reference);
/* |a - reference| / |reference|, of all that have a tolerance as one vector. */
double op_length_apart(void **a, void **reference);
void op_note_worst(op_result *r, const op_compared *b, double d);
/* Whether those with a tolerance are within it, or within what roundings may do; else 0, and
 * r->why, which ends in what they are compared with. Notes the worst in r. */
int op_agree(op_result *r, void **a, void **reference, const op_rounding *rounding,
             const char *with);

#endif
