/* conv.c - sparse convolutions by gather, GEMM, scatter, one offset after the other: the order of
 * every sum is fixed. In a list each output row occurs once, so scattering needs no atomics; the
 * centre of a 3^3 convolution needs no list at all and initialises the output. */
#include "kernels/kernels.h"
#include "net/layers.h"
#include "probe.h"

#define CENTRE 13

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

/* Weights of an offset, as they are multiplied. */
static const void *weights(const pt_run *r, const pt_block *k, int offset)
{
    size_t at = r->net->tensor[k->weight].offset + (size_t)offset * k->cin * k->cout;
    return r->net->options.amp == PT_AMP_OFF ? (const void *)(r->net->param + at)
                                             : (const void *)(r->net->narrow + at);
}

/* Rows of from, as they are multiplied: those of a list, or (NULL) one after the other. */
static pt_status take(pt_run *r, int64_t rows, int c, const real *from, const int32_t *list,
                      real *to)
{
    pt_device *d = r->net->device;
    pt_amp as = r->net->options.amp;
    if (as == PT_AMP_OFF) return pt_k_gather(d, rows, c, from, list, to);
    return list ? pt_k_gather_narrow(d, rows, c, as, from, list, (uint16_t *)to)
                : pt_k_narrow(d, rows * c, as, from, (uint16_t *)to);
}

/* The centre of a 3^3 convolution: every row, in pieces where the rows are made narrow first. */
static pt_status centre_forward(pt_run *r, const pt_block *k, int64_t v, const real *x, real *out)
{
    pt_amp as = r->net->options.amp;
    pt_device *d = r->net->device;
    pt_status st = PT_OK;
    if (as == PT_AMP_OFF)
        return pt_gemm_forward(d, as, v, k->cin, k->cout, x, weights(r, k, CENTRE), out);
    for (int64_t p = 0; p < v; p += r->gather_rows) {
        int64_t rows = v - p < r->gather_rows ? v - p : r->gather_rows;
        TRY(take(r, rows, k->cin, x + p * k->cin, NULL, r->gather_in));
        TRY(pt_gemm_forward(d, as, rows, k->cin, k->cout, r->gather_in, weights(r, k, CENTRE),
                            out + p * k->cout));
    }
done:
    return st;
}

static pt_status centre_backward(pt_run *r, const pt_block *k, int64_t v, const real *x,
                                 const real *dz, real *dw, real *dx)
{
    pt_amp as = r->net->options.amp;
    pt_device *d = r->net->device;
    const void *w = weights(r, k, CENTRE);
    pt_status st = PT_OK;
    if (as == PT_AMP_OFF) {
        TRY(pt_gemm_weight(d, as, v, k->cin, k->cout, x, dz, dw));
        return dx ? pt_gemm_input(d, as, v, k->cin, k->cout, dz, w, dx) : PT_OK;
    }
    for (int64_t p = 0; p < v; p += r->gather_rows) {
        int64_t rows = v - p < r->gather_rows ? v - p : r->gather_rows;
        TRY(take(r, rows, k->cin, x + p * k->cin, NULL, r->gather_in));
        TRY(take(r, rows, k->cout, dz + p * k->cout, NULL, r->gather_out));
        TRY(pt_gemm_weight(d, as, rows, k->cin, k->cout, r->gather_in, r->gather_out, dw));
        if (dx) TRY(pt_gemm_input(d, as, rows, k->cin, k->cout, r->gather_out, w, dx + p * k->cin));
    }
done:
    return st;
}

pt_status pt_conv_forward(pt_run *r, int b, real *out)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    const int32_t *in_row, *out_row;
    const pt_map *m = lists_of(r, k, &in_row, &out_row);
    const real *x = r->at[b].x;
    pt_amp as = r->net->options.amp;
    int64_t v = r->levels.v[k->level];
    pt_status st = PT_OK;
    pt_tag_set(k->tag[4]);
    if (k->kind == PT_CONV3)
        TRY(centre_forward(r, k, v, x, out));
    else
        TRY(pt_zero(d, out, sizeof(real) * (size_t)v * (size_t)k->cout));
    for (int o = 0; o < m->offsets; o++) {
        if (k->kind == PT_CONV3 && o == CENTRE) continue;
        const void *w = weights(r, k, o);
        for (int64_t p = m->start[o]; p < m->start[o + 1]; p += r->gather_rows) {
            int64_t rows =
                m->start[o + 1] - p < r->gather_rows ? m->start[o + 1] - p : r->gather_rows;
            TRY(take(r, rows, k->cin, x, in_row + p, r->gather_in));
            TRY(pt_gemm_forward(d, as, rows, k->cin, k->cout, r->gather_in, w, r->gather_out));
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
    const real *x = r->at[b].x;
    real *dw = gradient(r, k->weight);
    pt_amp as = r->net->options.amp;
    int64_t v = r->levels.v[k->level];
    pt_status st = PT_OK;
    pt_tag_set(k->tag[4]);
    if (k->kind == PT_CONV3)
        TRY(centre_backward(r, k, v, x, dz, dw + (size_t)CENTRE * k->cin * k->cout, dx));
    else if (dx)
        TRY(pt_zero(d, dx, sizeof(real) * (size_t)pt_block_rows_in(r, b) * (size_t)k->cin));
    for (int o = 0; o < m->offsets; o++) {
        if (k->kind == PT_CONV3 && o == CENTRE) continue;
        real *dwo = dw + (size_t)o * k->cin * k->cout;
        for (int64_t p = m->start[o]; p < m->start[o + 1]; p += r->gather_rows) {
            int64_t rows =
                m->start[o + 1] - p < r->gather_rows ? m->start[o + 1] - p : r->gather_rows;
            TRY(take(r, rows, k->cin, x, in_row + p, r->gather_in));
            TRY(take(r, rows, k->cout, dz, out_row + p, r->gather_out));
            TRY(pt_gemm_weight(d, as, rows, k->cin, k->cout, r->gather_in, r->gather_out, dwo));
            if (!dx) continue;
            TRY(pt_gemm_input(d, as, rows, k->cin, k->cout, r->gather_out, weights(r, k, o),
                              r->gather_in));
            TRY(pt_k_scatter_add(d, rows, k->cin, r->gather_in, in_row + p, dx));
        }
    }
done:
    return st;
}
