/* pooling.c - the largest value or the mean of windows, and the gradients. Of equal values the
 * first, in the order of the dimensions, takes the gradient. */
#include "structs.h"
#include <math.h>
#include <stdlib.h>

API cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int n, const int *window,
                                              const int *pad, const int *stride)
{
    if (GONE(d) || !window || !pad || !stride)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (n > MAX_DIMS - 2) return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%d places", n);
    if (n < 1 || mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC ||
        (nan != CUDNN_PROPAGATE_NAN && nan != CUDNN_NOT_PROPAGATE_NAN))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d places, mode %d, NaN %d", n, (int)mode,
                            (int)nan);
    for (int i = 0; i < n; i++)
        if (window[i] < 1 || pad[i] < 0 || stride[i] < 1 || pad[i] >= window[i])
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "window %d, padding %d, stride %d",
                                window[i], pad[i], stride[i]);
    d->mode = mode, d->nan = nan, d->n = n, d->set = 1;
    for (int i = 0; i < n; i++)
        d->window[i] = window[i], d->pad[i] = pad[i], d->stride[i] = stride[i];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode,
                                              cudnnNanPropagation_t nan, int wh, int ww, int ph,
                                              int pw, int sh, int sw)
{
    return cudnnSetPoolingNdDescriptor(d, mode, nan, 2, (int[]){wh, ww}, (int[]){ph, pw},
                                       (int[]){sh, sw});
}

API cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t d, int wanted,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *n, int *window, int *pad, int *stride)
{
    if (GONE(d) || !mode || !nan || !n || !window || !pad || !stride)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (wanted < 0 || wanted > MAX_DIMS - 2)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%d places", wanted);
    *mode = d->mode, *nan = d->nan, *n = d->n;
    for (int i = 0; i < wanted && i < d->n; i++)
        window[i] = d->window[i], pad[i] = d->pad[i], stride[i] = d->stride[i];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t d,
                                              cudnnPoolingMode_t *mode, cudnnNanPropagation_t *nan,
                                              int *wh, int *ww, int *ph, int *pw, int *sh, int *sw)
{
    int n, v[3][2], *out[6] = {wh, ww, ph, pw, sh, sw};
    CHECK(cudnnGetPoolingNdDescriptor(d, 2, mode, nan, &n, v[0], v[1], v[2]));
    if (n != 2) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "pooling of %d places", n);
    for (int i = 0; i < 6; i++) {
        if (!out[i]) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
        *out[i] = v[i / 2][i % 2];
    }
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t output(const struct cudnnPoolingStruct *p, const struct cudnnTensorStruct *x,
                            int *dim)
{
    if (GONE(p))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the pooling descriptor is NULL or was destroyed");
    if (!p->set) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the pooling descriptor is not set");
    CHECK(sim_dnn_tensor(x, "x"));
    if (x->n != p->n + 2)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x has %d dimensions, pooling %d places", x->n,
                            p->n);
    dim[0] = x->dim[0], dim[1] = x->dim[1];
    for (int d = 0; d < p->n; d++) {
        int room = x->dim[d + 2] + 2 * p->pad[d] - p->window[d];
        if (room < 0)
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a window of %d over %d with padding %d",
                                p->window[d], x->dim[d + 2], p->pad[d]);
        dim[d + 2] = 1 + room / p->stride[d];
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t p,
                                                    const cudnnTensorDescriptor_t x, int n,
                                                    int *dim)
{
    int all[MAX_DIMS];
    if (!dim) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(output(p, x, all));
    if (n != x->n) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d dimensions of %d", n, x->n);
    for (int d = 0; d < n; d++) dim[d] = all[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t p,
                                                    const cudnnTensorDescriptor_t x, int *n, int *c,
                                                    int *h, int *w)
{
    int all[MAX_DIMS];
    if (!n || !c || !h || !w) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(output(p, x, all));
    if (x->n != 4) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x has %d dimensions", x->n);
    *n = all[0], *c = all[1], *h = all[2], *w = all[3];
    return CUDNN_STATUS_SUCCESS;
}

/* The window of output i: calls each(at of x, arg) for the places inside x; returns their number.
 */
typedef void visit(void *arg, int64_t at);
static int64_t window(const struct cudnnPoolingStruct *p, const struct cudnnTensorStruct *x,
                      const struct cudnnTensorStruct *y, int64_t i, visit *each, void *arg)
{
    int64_t first[MAX_DIMS], base, taps = 1, seen = 0;
    for (int d = p->n - 1; d >= 0; d--) {
        first[d] = i % y->dim[d + 2] * p->stride[d] - p->pad[d];
        i /= y->dim[d + 2];
        taps *= p->window[d];
    }
    base = i % y->dim[1] * x->stride[1] + i / y->dim[1] * x->stride[0];
    for (int64_t t = 0; t < taps; t++) {
        int64_t at = base, rest = t;
        int inside = 1;
        for (int d = p->n - 1; d >= 0; d--) {
            int64_t place = first[d] + rest % p->window[d];
            rest /= p->window[d];
            if (place < 0 || place >= x->dim[d + 2]) inside = 0;
            at += place * x->stride[d + 2];
        }
        if (inside) each(arg, at), seen++;
    }
    return seen;
}

/* What a window is looked at with. */
typedef struct glass {
    const struct cudnnPoolingStruct *p;
    const struct cudnnTensorStruct *t;
    const void *x;
    double sum, best;
    int64_t where; /* of the best; -1: none yet */
    double *gradient, share;
} glass;

static void look(void *arg, int64_t at)
{
    glass *g = arg;
    double v = sim_dnn_get(g->t, g->x, at);
    g->sum += v;
    if (isnan(v) && g->p->nan == CUDNN_NOT_PROPAGATE_NAN) return;
    if (g->where < 0 || v > g->best || (isnan(v) && !isnan(g->best))) g->best = v, g->where = at;
}

static void spread(void *arg, int64_t at)
{
    glass *g = arg;
    g->gradient[at] += g->share;
}

static int largest(const struct cudnnPoolingStruct *p)
{
    return p->mode == CUDNN_POOLING_MAX || p->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
}

/* By what a mean is divided. */
static double divisor(const struct cudnnPoolingStruct *p, int64_t inside)
{
    double all = 1;
    for (int d = 0; d < p->n; d++) all *= p->window[d];
    return p->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? all : (double)inside;
}

static cudnnStatus_t fits(const struct cudnnPoolingStruct *p, const struct cudnnTensorStruct *x,
                          const struct cudnnTensorStruct *y)
{
    int dim[MAX_DIMS];
    CHECK(sim_dnn_tensor(y, "y"));
    CHECK(output(p, x, dim));
    int same = x->n == y->n && x->type == y->type;
    for (int d = 0; same && d < x->n; d++) same = y->dim[d] == dim[d];
    return same ? CUDNN_STATUS_SUCCESS
                : sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "y is not what comes out");
}

API cudnnStatus_t cudnnPoolingForward(cudnnHandle_t h, const cudnnPoolingDescriptor_t p,
                                      const void *alpha, const cudnnTensorDescriptor_t xd,
                                      const void *x, const void *beta,
                                      const cudnnTensorDescriptor_t yd, void *y)
{
    CHECK(sim_dnn_check(h));
    CHECK(fits(p, xd, yd));
    if (!alpha || !beta || !x || !y) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    x = IN(x, xd), y = OUT(y, yd);
    int64_t n = sim_dnn_count(yd);
    for (int64_t i = 0; x && y && i < n; i++) {
        glass g = {.p = p, .t = xd, .x = x, .best = -INFINITY, .where = -1};
        int64_t inside = window(p, xd, yd, i, look, &g);
        double v = largest(p) ? g.best : inside ? g.sum / divisor(p, inside) : 0;
        sim_dnn_blend(yd, y, sim_dnn_at(yd, i), al * v, be);
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t h, const cudnnPoolingDescriptor_t p,
                                       const void *alpha, const cudnnTensorDescriptor_t yd,
                                       const void *y, const cudnnTensorDescriptor_t dyd,
                                       const void *dy, const cudnnTensorDescriptor_t xd,
                                       const void *x, const void *beta,
                                       const cudnnTensorDescriptor_t dxd, void *dx)
{
    CHECK(sim_dnn_check(h));
    CHECK(fits(p, xd, yd));
    CHECK(fits(p, dxd, dyd));
    if (!alpha || !beta || !x || !y || !dy || !dx)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, dxd) || !sim_dnn_same_shape(yd, dyd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a gradient of another shape");
    if (!sim_dnn_same_strides(xd, dxd) || !sim_dnn_same_strides(yd, dyd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a gradient with other strides");
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    x = IN(x, xd), dy = IN(dy, dyd), dx = OUT(dx, dxd);
    if (!x || !dy || !dx || !IN(y, yd)) return CUDNN_STATUS_SUCCESS; /* 700 is pending */
    glass g = {.p = p, .t = xd, .x = x};
    g.gradient = calloc(sim_dnn_bytes(xd) / sim_dnn_size(xd->type), sizeof *g.gradient);
    if (!g.gradient)
        return sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory");
    int64_t n = sim_dnn_count(yd);
    for (int64_t i = 0; i < n; i++) {
        g.best = -INFINITY, g.where = -1;
        int64_t inside = window(p, xd, yd, i, look, &g);
        g.share = sim_dnn_get(dyd, dy, sim_dnn_at(dyd, i));
        if (largest(p)) {
            if (g.where >= 0) spread(&g, g.where);
        } else if (inside) {
            g.share /= divisor(p, inside);
            window(p, xd, yd, i, spread, &g);
        }
    }
    n = sim_dnn_count(dxd);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sim_dnn_at(dxd, i);
        sim_dnn_blend(dxd, dx, at, al * g.gradient[at], be);
    }
    free(g.gradient);
    return CUDNN_STATUS_SUCCESS;
}
