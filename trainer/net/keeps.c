/* keeps.c - what a pass cannot do without, in bytes: what its peak is measured against.
 *
 * Step by step of the backward pass: the fields on the device, the kernel maps, and of each block
 * that is still to come the input of its convolution and that of its norm, with what the norm knows
 * of it; the gradients that wait for it; and of the block whose turn it is the gradient that comes
 * in and the one that goes out. Not in it: workspaces, what voxelisation needs on its way, the copy
 * that a concatenation makes of what lies elsewhere, and what fragments a device's memory. */
#include "net/layers.h"

static size_t rows(int64_t v, int c)
{
    return sizeof(real) * (size_t)v * (size_t)c;
}

/* Of block b until its gradient is there. */
static size_t input_of(const pt_run *r, int b)
{
    return b > 0 ? rows(pt_block_rows_in(r, b), r->net->layers->block[b].cin) : 0;
}

static size_t norm_of(const pt_run *r, int b)
{
    const pt_block *k = &r->net->layers->block[b];
    int64_t v = r->levels.v[k->level];
    int per_row = r->net->options.norm == PT_NORM_LAYER;
    return rows(v, k->cout) + 2 * sizeof(real) * (size_t)(per_row ? v : k->cout);
}

/* Gradients that wait while it is block b's turn. */
static size_t waiting(const pt_run *r, int b)
{
    const struct pt_net_layers *n = r->net->layers;
    size_t bytes = 0;
    for (int d = b + 1; d < n->nblocks; d++)
        if (n->block[d].skip >= 0 && n->block[d].skip < b)
            bytes += rows(r->levels.v[n->block[d].level], n->block[d].cin / 2);
    return bytes;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t pt_net_keeps(const pt_run *r)
{
    const struct pt_net_layers *n = r->net->layers;
    size_t always = rows(r->levels.v[0], PT_FEATURES), before = 0, most = 0;
    for (int f = 0; f < PT_FIELD_COUNT; f++)
        if (*pt_field_at((pt_fields *)r->source.device, (pt_field)f))
            always += pt_field_bytes((pt_field)f, r->source.shape);
    for (int l = 0; l < PT_LEVELS; l++) {
        always += 2 * sizeof(int32_t) * (size_t)r->levels.same[l].start[27];
        if (l + 1 < PT_LEVELS) always += 2 * sizeof(int32_t) * (size_t)r->levels.down[l].start[8];
    }
    for (int b = 0; b < n->nblocks; b++) {
        const pt_block *k = &n->block[b];
        size_t out = rows(r->levels.v[k->level], k->cout), in = input_of(r, b);
        size_t norm = norm_of(r, b) + 2 * out, conv = out + in;
        size_t here = larger(norm, conv) + in;
        if (k->skip >= 0) here = larger(here, 2 * in); /* and its two halves apart */
        most = larger(most, before + waiting(r, b) + here);
        before += norm_of(r, b) + in;
    }
    return always + most;
}
