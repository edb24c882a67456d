/* convolution.c - convolutions and their gradients, directly: of every algorithm the same bits.
 * Each is one walk over samples, channels and taps, in double, along rows. What a caller gives as
 * workspace is overwritten, as on a GPU. */
#include "conv.h"
#include <stdlib.h>
#include <string.h>

/* The outputs of a row that a tap reaches inside the input: from *lo to *hi. */
static void reach(const conv_shape *s, int64_t offset, int64_t *lo, int64_t *hi)
{
    int64_t step = s->stride[2];
    *lo = offset < 0 ? (-offset + step - 1) / step : 0;
    *hi = s->x[2] - 1 - offset < 0 ? -1 : (s->x[2] - 1 - offset) / step;
    if (*hi > s->y[2] - 1) *hi = s->y[2] - 1;
}

/* A row that lies side by side is the compiler's to make into vector code. */
static void dense(enum conv_kind kind, double *restrict x, double *restrict w, double *restrict y,
                  int64_t n)
{
    double sum = 0, f = *w;
    if (kind == CONV_FORWARD)
        for (int64_t i = 0; i < n; i++) y[i] += f * x[i];
    else if (kind == CONV_DATA)
        for (int64_t i = 0; i < n; i++) x[i] += f * y[i];
    else {
        for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
        *w += sum;
    }
}

static void row(enum conv_kind kind, double *x, double *w, double *y, int64_t step, int64_t n)
{
    double sum = 0, f = *w;
    if (step == 1) {
        dense(kind, x, w, y, n);
        return;
    }
    if (kind == CONV_FORWARD)
        for (int64_t i = 0; i < n; i++) y[i] += f * x[i * step];
    else if (kind == CONV_DATA)
        for (int64_t i = 0; i < n; i++) x[i * step] += f * y[i];
    else {
        for (int64_t i = 0; i < n; i++) sum += x[i * step] * y[i];
        *w += sum;
    }
}

/* One sample, one filter, one channel of the filter. */
static void plane(enum conv_kind kind, const conv_shape *s, double *x, double *w, double *y)
{
    for (int64_t a = 0; a < s->w[0]; a++)
        for (int64_t b = 0; b < s->w[1]; b++)
            for (int64_t c = 0; c < s->w[2]; c++) {
                int64_t tap = (a * s->w[1] + b) * s->w[2] + c, lo, hi;
                if (s->flip) tap = s->w[0] * s->w[1] * s->w[2] - 1 - tap;
                int64_t offset = c * s->dilation[2] - s->pad[2];
                reach(s, offset, &lo, &hi);
                if (hi < lo) continue;
                for (int64_t i = 0; i < s->y[0]; i++) {
                    int64_t xi = i * s->stride[0] - s->pad[0] + a * s->dilation[0];
                    if (xi < 0 || xi >= s->x[0]) continue;
                    for (int64_t j = 0; j < s->y[1]; j++) {
                        int64_t xj = j * s->stride[1] - s->pad[1] + b * s->dilation[1];
                        if (xj < 0 || xj >= s->x[1]) continue;
                        row(kind, x + (xi * s->x[1] + xj) * s->x[2] + lo * s->stride[2] + offset,
                            w + tap, y + (i * s->y[1] + j) * s->y[2] + lo, s->stride[2],
                            hi - lo + 1);
                    }
                }
            }
}

static void walk(enum conv_kind kind, const conv_shape *s, double *x, double *w, double *y)
{
    int64_t xs = s->x[0] * s->x[1] * s->x[2], ws = s->w[0] * s->w[1] * s->w[2];
    int64_t ys = s->y[0] * s->y[1] * s->y[2];
    int64_t in = s->in / s->groups, out = s->out / s->groups; /* of a group */
    for (int64_t n = 0; n < s->samples; n++)
        for (int64_t k = 0; k < s->out; k++)
            for (int64_t c = 0; c < in; c++)
                plane(kind, s, x + (n * s->in + k / out * in + c) * xs, w + (k * in + c) * ws,
                      y + (n * s->out + k) * ys);
}

/* A tensor in the order of its dimensions; zeros where p is NULL. */
static double *unpacked(const struct cudnnTensorStruct *t, const void *p)
{
    int64_t n = sim_dnn_count(t);
    double *out = calloc((size_t)n, sizeof *out);
    for (int64_t i = 0; out && p && i < n; i++) out[i] = sim_dnn_get(t, p, sim_dnn_at(t, i));
    return out;
}

static cudnnStatus_t workspace(enum conv_kind kind, int algo, const conv_shape *s, void *ws,
                               size_t bytes)
{
    size_t need;
    CHECK(sim_conv_workspace(kind, algo, s, &need));
    if (need && !ws)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "no workspace, %zu bytes needed", need);
    if (bytes < need)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                            "a workspace of %zu bytes, %zu are needed", bytes, need);
    if (need && (ws = sim_device_range(ws, need, 1))) memset(ws, 0xff, need);
    return CUDNN_STATUS_SUCCESS;
}

/* The result, before it is blended; *out is the caller's to free. *out NULL: 700 is pending. */
static cudnnStatus_t compute(enum conv_kind kind, const conv_shape *s,
                             const struct cudnnTensorStruct *xd, const void *x,
                             const struct cudnnTensorStruct *wd, const void *w,
                             const struct cudnnTensorStruct *yd, const void *y, double **out)
{
    cudnnStatus_t st = CUDNN_STATUS_SUCCESS;
    *out = NULL;
    if (kind != CONV_DATA && !(x = IN(x, xd))) return st;
    if (kind != CONV_FILTER && !(w = IN(w, wd))) return st;
    if (kind != CONV_FORWARD && !(y = IN(y, yd))) return st;
    double *a = unpacked(xd, kind == CONV_DATA ? NULL : x);
    double *b = unpacked(wd, kind == CONV_FILTER ? NULL : w);
    double *c = unpacked(yd, kind == CONV_FORWARD ? NULL : y);
    if (a && b && c) {
        walk(kind, s, a, b, c);
        double **result = kind == CONV_DATA ? &a : kind == CONV_FILTER ? &b : &c;
        *out = *result;
        *result = NULL;
    } else
        st = sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED,
                          "no host memory to compute in");
    free(a), free(b), free(c);
    return st;
}

static cudnnStatus_t blend(const struct cudnnTensorStruct *t, void *p, double *values, double alpha,
                           double beta)
{
    void *to = values ? OUT(p, t) : NULL;
    int64_t n = sim_dnn_count(t);
    for (int64_t i = 0; to && i < n; i++)
        sim_dnn_blend(t, to, sim_dnn_at(t, i), alpha * values[i], beta);
    free(values);
    return CUDNN_STATUS_SUCCESS;
}

#define THERE(a, b, c, d, e)                  \
    if (!(a) || !(b) || !(c) || !(d) || !(e)) \
    return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument")

API cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t h, const void *alpha,
                                          const cudnnTensorDescriptor_t xd, const void *x,
                                          const cudnnFilterDescriptor_t wd, const void *w,
                                          const cudnnConvolutionDescriptor_t conv,
                                          cudnnConvolutionFwdAlgo_t algo, void *ws, size_t bytes,
                                          const void *beta, const cudnnTensorDescriptor_t yd,
                                          void *y)
{
    conv_shape s;
    double *result;
    CHECK(sim_conv_shape(h, xd, wd, conv, yd, &s));
    THERE(alpha, x, w, beta, y);
    CHECK(workspace(CONV_FORWARD, (int)algo, &s, ws, bytes));
    CHECK(compute(CONV_FORWARD, &s, xd, x, &wd->t, w, yd, NULL, &result));
    return blend(yd, y, result, sim_dnn_scale(yd, alpha), sim_dnn_scale(yd, beta));
}

API cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t h, const void *alpha,
                                               const cudnnFilterDescriptor_t wd, const void *w,
                                               const cudnnTensorDescriptor_t dyd, const void *dy,
                                               const cudnnConvolutionDescriptor_t conv,
                                               cudnnConvolutionBwdDataAlgo_t algo, void *ws,
                                               size_t bytes, const void *beta,
                                               const cudnnTensorDescriptor_t dxd, void *dx)
{
    conv_shape s;
    double *result;
    CHECK(sim_conv_shape(h, dxd, wd, conv, dyd, &s));
    THERE(alpha, w, dy, beta, dx);
    CHECK(workspace(CONV_DATA, (int)algo, &s, ws, bytes));
    CHECK(compute(CONV_DATA, &s, dxd, NULL, &wd->t, w, dyd, dy, &result));
    return blend(dxd, dx, result, sim_dnn_scale(dxd, alpha), sim_dnn_scale(dxd, beta));
}

API cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t h, const void *alpha,
                                                 const cudnnTensorDescriptor_t xd, const void *x,
                                                 const cudnnTensorDescriptor_t dyd, const void *dy,
                                                 const cudnnConvolutionDescriptor_t conv,
                                                 cudnnConvolutionBwdFilterAlgo_t algo, void *ws,
                                                 size_t bytes, const void *beta,
                                                 const cudnnFilterDescriptor_t dwd, void *dw)
{
    conv_shape s;
    double *result;
    CHECK(sim_conv_shape(h, xd, dwd, conv, dyd, &s));
    THERE(alpha, x, dy, beta, dw);
    CHECK(workspace(CONV_FILTER, (int)algo, &s, ws, bytes));
    CHECK(compute(CONV_FILTER, &s, xd, x, &dwd->t, NULL, dyd, dy, &result));
    return blend(&dwd->t, dw, result, sim_dnn_scale(&dwd->t, alpha), sim_dnn_scale(&dwd->t, beta));
}

/* Whether t is 1 x channels x 1 ... for the channels of y. */
static cudnnStatus_t bias_fits(const struct cudnnTensorStruct *t, const struct cudnnTensorStruct *y)
{
    int fits = t->n == y->n && t->type == y->type;
    for (int d = 0; fits && d < t->n; d++) fits = t->dim[d] == (d == 1 ? y->dim[1] : 1);
    return fits ? CUDNN_STATUS_SUCCESS
                : sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                               "the bias is not 1 x %d x 1 ... of y's type", y->dim[1]);
}

/* The channel of element i. */
static int64_t channel(const struct cudnnTensorStruct *t, int64_t i)
{
    for (int d = 2; d < t->n; d++) i /= t->dim[d];
    return i % t->dim[1];
}

API cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t h, const void *alpha,
                                               const cudnnTensorDescriptor_t dyd, const void *dy,
                                               const void *beta, const cudnnTensorDescriptor_t dbd,
                                               void *db)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(dyd, "dy"));
    CHECK(sim_dnn_tensor(dbd, "db"));
    THERE(alpha, dy, beta, db, dyd->n > 1);
    CHECK(bias_fits(dbd, dyd));
    if (!(dy = IN(dy, dyd))) return CUDNN_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    double *sums = calloc((size_t)dyd->dim[1], sizeof *sums);
    if (!sums)
        return sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory");
    int64_t n = sim_dnn_count(dyd);
    for (int64_t i = 0; i < n; i++)
        sums[channel(dyd, i)] += sim_dnn_get(dyd, dy, sim_dnn_at(dyd, i));
    return blend(dbd, db, sums, sim_dnn_scale(dbd, alpha), sim_dnn_scale(dbd, beta));
}

/* y = activation(alpha1 conv(x, w) + alpha2 z + bias) */
API cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t h, const void *alpha1, const cudnnTensorDescriptor_t xd, const void *x,
    const cudnnFilterDescriptor_t wd, const void *w, const cudnnConvolutionDescriptor_t conv,
    cudnnConvolutionFwdAlgo_t algo, void *ws, size_t bytes, const void *alpha2,
    const cudnnTensorDescriptor_t zd, const void *z, const cudnnTensorDescriptor_t bd,
    const void *bias, const cudnnActivationDescriptor_t act, const cudnnTensorDescriptor_t yd,
    void *y)
{
    conv_shape s;
    double *result;
    CHECK(sim_conv_shape(h, xd, wd, conv, yd, &s));
    CHECK(sim_dnn_tensor(zd, "z"));
    CHECK(sim_dnn_tensor(bd, "bias"));
    THERE(alpha1, x, w, alpha2, y);
    THERE(bias, z, !GONE(act), 1, 1);
    if (!act->set || (act->mode != CUDNN_ACTIVATION_RELU && act->mode != CUDNN_ACTIVATION_IDENTITY))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
                            "the activation is neither RELU nor IDENTITY");
    if (act->mode == CUDNN_ACTIVATION_IDENTITY &&
        algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "IDENTITY needs IMPLICIT_PRECOMP_GEMM");
    if (!sim_dnn_same_shape(zd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "z and y differ");
    if (!sim_dnn_same_strides(zd, yd))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "z and y have other strides");
    CHECK(bias_fits(bd, yd));
    double a2 = sim_dnn_scale(yd, alpha2);
    CHECK(workspace(CONV_FORWARD, (int)algo, &s, ws, bytes));
    CHECK(compute(CONV_FORWARD, &s, xd, x, &wd->t, w, yd, NULL, &result));
    z = a2 == 0 ? z : IN(z, zd), bias = IN(bias, bd);
    if (!z || !bias) free(result), result = NULL;
    int64_t n = sim_dnn_count(yd);
    for (int64_t i = 0; result && i < n; i++) {
        double v = sim_dnn_scale(yd, alpha1) * result[i];
        v += sim_dnn_get(bd, bias, channel(yd, i) * bd->stride[1]);
        if (a2 != 0) v += a2 * sim_dnn_get(zd, z, sim_dnn_at(zd, i));
        result[i] = sim_dnn_activate(act, v);
    }
    return blend(yd, y, result, 1, 0);
}
