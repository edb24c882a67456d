/* conv.c - sparse convolutions by gather, GEMM, scatter, one offset after the other: the order of
 * every sum is fixed. In a list each output row occurs once, so scattering needs no atomics; the
 * centre of a 3^3 convolution needs no list at all and initialises the output. */
#include "kernels/kernels.h"
#include "net/layers.h"
#include "probe.h"

#define CENTRE 13

static const real *tensor(const pt_run *r, int t)
{
    return r->net->param + r->net->tensor[t].offset;
}
static real *gradient(const pt_run *r, int t)
{
    return r->net->scratch + r->net->tensor[t].offset;
}

/* The lists of a block: `in` rows of its input, `out` rows of its output. */
static const pt_map *lists_of(const pt_run *r, const pt_block *b, const int32_t **in,
                              const int32_t **out)
{
    const pt_map *m = b->kind == PT_CONV3     ? &r->levels.same[b->level]
                      : b->kind == PT_CONV_UP ? &r->levels.down[b->level]
                                              : &r->levels.down[b->level - 1];
    /* 2^3 lists are (coarse, fine): down goes from fine to coarse */
    *in = b->kind == PT_CONV_DOWN ? m->b : m->a;
    *out = b->kind == PT_CONV_DOWN ? m->a : m->b;
    return m;
}

int64_t pt_block_rows_in(const pt_run *r, int b)
{
    const pt_block *k = &r->net->layers->block[b];
    int level = k->level + (k->kind == PT_CONV_UP) - (k->kind == PT_CONV_DOWN);
    return r->levels.v[level];
}

pt_status pt_conv_forward(pt_run *r, int b, real *out)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    const int32_t *in_row, *out_row;
    const pt_map *m = lists_of(r, k, &in_row, &out_row);
    const real *x = r->at[b].x, *w = tensor(r, k->weight);
    int64_t v = r->levels.v[k->level];
    pt_status st = PT_OK;
    pt_tag_set(k->tag[4]);
    if (k->kind == PT_CONV3)
        TRY(pt_gemm_forward(d, v, k->cin, k->cout, x, w + (size_t)CENTRE * k->cin * k->cout, 0,
                            out));
    else
        TRY(pt_zero(d, out, sizeof(real) * (size_t)v * (size_t)k->cout));
    for (int o = 0; o < m->offsets; o++) {
        if (k->kind == PT_CONV3 && o == CENTRE) continue;
        const real *wo = w + (size_t)o * k->cin * k->cout;
        for (int64_t p = m->start[o]; p < m->start[o + 1]; p += r->gather_rows) {
            int64_t rows =
                m->start[o + 1] - p < r->gather_rows ? m->start[o + 1] - p : r->gather_rows;
            TRY(pt_k_gather(d, rows, k->cin, x, in_row + p, r->gather_in));
            TRY(pt_gemm_forward(d, rows, k->cin, k->cout, r->gather_in, wo, 0, r->gather_out));
            TRY(pt_k_scatter_add(d, rows, k->cout, r->gather_out, out_row + p, out));
        }
    }
done:
    return st;
}

pt_status pt_conv_backward(pt_run *r, int b, const real *dz, real *dx)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    const int32_t *in_row, *out_row;
    const pt_map *m = lists_of(r, k, &in_row, &out_row);
    const real *x = r->at[b].x, *w = tensor(r, k->weight);
    real *dw = gradient(r, k->weight);
    int64_t v = r->levels.v[k->level];
    pt_status st = PT_OK;
    pt_tag_set(k->tag[4]);
    if (k->kind == PT_CONV3) {
        size_t centre = (size_t)CENTRE * k->cin * k->cout;
        TRY(pt_gemm_weight(d, v, k->cin, k->cout, x, dz, dw + centre));
        if (dx) TRY(pt_gemm_input(d, v, k->cin, k->cout, dz, w + centre, dx));
    } else if (dx)
        TRY(pt_zero(d, dx, sizeof(real) * (size_t)pt_block_rows_in(r, b) * (size_t)k->cin));
    for (int o = 0; o < m->offsets; o++) {
        if (k->kind == PT_CONV3 && o == CENTRE) continue;
        size_t at = (size_t)o * k->cin * k->cout;
        for (int64_t p = m->start[o]; p < m->start[o + 1]; p += r->gather_rows) {
            int64_t rows =
                m->start[o + 1] - p < r->gather_rows ? m->start[o + 1] - p : r->gather_rows;
            TRY(pt_k_gather(d, rows, k->cin, x, in_row + p, r->gather_in));
            TRY(pt_k_gather(d, rows, k->cout, dz, out_row + p, r->gather_out));
            TRY(pt_gemm_weight(d, rows, k->cin, k->cout, r->gather_in, r->gather_out, dw + at));
            if (!dx) continue;
            TRY(pt_gemm_input(d, rows, k->cin, k->cout, r->gather_out, w + at, r->gather_in));
            TRY(pt_k_scatter_add(d, rows, k->cin, r->gather_in, in_row + p, dx));
        }
    }
done:
    return st;
}
