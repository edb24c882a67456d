/* convdesc.c - convolution descriptors, and the shape of what comes out. */
#include "conv.h"

API cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t c, int n,
                                                  const int *pad, const int *stride,
                                                  const int *dilation, cudnnConvolutionMode_t mode,
                                                  cudnnDataType_t compute)
{
    if (GONE(c) || !pad || !stride || !dilation)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (n < 0 || (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION) ||
        compute < CUDNN_DATA_FLOAT || compute > CUDNN_DATA_COMPLEX_FP64)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d places, mode %d, type %d", n, (int)mode,
                            (int)compute);
    if (n > MAX_DIMS - 2)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a convolution of %d places", n);
    for (int d = 0; d < n; d++)
        if (pad[d] < 0 || stride[d] < 1 || dilation[d] < 1)
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "padding %d, stride %d, dilation %d",
                                pad[d], stride[d], dilation[d]);
    c->n = n, c->mode = mode, c->compute = compute, c->set = 1;
    c->groups = 1, c->math = CUDNN_DEFAULT_MATH;
    for (int d = 0; d < n; d++)
        c->pad[d] = pad[d], c->stride[d] = stride[d], c->dilation[d] = dilation[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t c, int pad_h,
                                                  int pad_w, int stride_h, int stride_w,
                                                  int dilation_h, int dilation_w,
                                                  cudnnConvolutionMode_t mode,
                                                  cudnnDataType_t compute)
{
    return cudnnSetConvolutionNdDescriptor(c, 2, (int[]){pad_h, pad_w}, (int[]){stride_h, stride_w},
                                           (int[]){dilation_h, dilation_w}, mode, compute);
}

API cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t c, int wanted,
                                                  int *n, int *pad, int *stride, int *dilation,
                                                  cudnnConvolutionMode_t *mode,
                                                  cudnnDataType_t *compute)
{
    if (GONE(c) || !n || !pad || !stride || !dilation || !mode || !compute)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (wanted < 0) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d places", wanted);
    if (wanted > MAX_DIMS - 2)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a convolution of %d places", wanted);
    *n = c->n, *mode = c->mode, *compute = c->compute;
    for (int d = 0; d < wanted && d < c->n; d++)
        pad[d] = c->pad[d], stride[d] = c->stride[d], dilation[d] = c->dilation[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t c, int *pad_h,
                                                  int *pad_w, int *stride_h, int *stride_w,
                                                  int *dilation_h, int *dilation_w,
                                                  cudnnConvolutionMode_t *mode,
                                                  cudnnDataType_t *compute)
{
    int n, v[3][2], *out[6] = {pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w};
    CHECK(cudnnGetConvolutionNdDescriptor(c, 2, &n, v[0], v[1], v[2], mode, compute));
    if (n != 2) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the convolution has %d places", n);
    for (int i = 0; i < 6; i++) {
        if (!out[i]) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
        *out[i] = v[i / 2][i % 2];
    }
    return CUDNN_STATUS_SUCCESS;
}

#define FIELD(name, type, field, good)                                                        \
    API cudnnStatus_t cudnnSetConvolution##name(cudnnConvolutionDescriptor_t c, type value)   \
    {                                                                                         \
        if (GONE(c))                                                                          \
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,                                       \
                                "the descriptor is NULL or was destroyed");                   \
        if (!(good)) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, #name " of %d", (int)value); \
        c->field = value;                                                                     \
        return CUDNN_STATUS_SUCCESS;                                                          \
    }                                                                                         \
    API cudnnStatus_t cudnnGetConvolution##name(cudnnConvolutionDescriptor_t c, type *value)  \
    {                                                                                         \
        if (GONE(c) || !value)                                                                \
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,                                       \
                                "NULL argument, or one that was destroyed");                  \
        *value = c->field;                                                                    \
        return CUDNN_STATUS_SUCCESS;                                                          \
    }
FIELD(MathType, cudnnMathType_t, math, value >= CUDNN_DEFAULT_MATH && value <= CUDNN_FMA_MATH)
FIELD(GroupCount, int, groups, value > 0)
FIELD(ReorderType, cudnnReorderType_t, reorder,
      value == CUDNN_DEFAULT_REORDER || value == CUDNN_NO_REORDER)

/* What n, c and the places of the output are. */
static cudnnStatus_t output(const struct cudnnConvolutionStruct *c,
                            const struct cudnnTensorStruct *x, const struct cudnnFilterStruct *w,
                            int *dim)
{
    CHECK(sim_dnn_tensor(x, "x"));
    CHECK(sim_dnn_filter(w, "w"));
    if (GONE(c))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the convolution descriptor is NULL or was destroyed");
    if (!c->set)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the convolution descriptor is not set");
    if (x->n != w->t.n || x->n != c->n + 2)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                            "x of %d dimensions, w of %d, a convolution of %d places", x->n, w->t.n,
                            c->n);
    if (x->dim[1] != w->t.dim[1] * c->groups || w->t.dim[0] % c->groups)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                            "%d channels of x, %d of w, %d filters, %d groups", x->dim[1],
                            w->t.dim[1], w->t.dim[0], c->groups);
    dim[0] = x->dim[0], dim[1] = w->t.dim[0];
    for (int d = 0; d < c->n; d++) {
        int window = (w->t.dim[d + 2] - 1) * c->dilation[d] + 1;
        int room = x->dim[d + 2] + 2 * c->pad[d] - window;
        if (room < 0)
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a filter of %d over %d with padding %d",
                                window, x->dim[d + 2], c->pad[d]);
        dim[d + 2] = room / c->stride[d] + 1;
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t c,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t w, int n,
                                                        int *dim)
{
    int all[MAX_DIMS];
    if (!dim) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(output(c, x, w, all));
    if (n < x->n)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "room for %d dimensions of %d", n, x->n);
    for (int d = 0; d < x->n; d++) dim[d] = all[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t conv,
                                                        const cudnnTensorDescriptor_t x,
                                                        const cudnnFilterDescriptor_t filter,
                                                        int *n, int *c, int *h, int *w)
{
    int all[MAX_DIMS];
    if (!n || !c || !h || !w) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(output(conv, x, filter, all));
    if (x->n != 4) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x has %d dimensions", x->n);
    *n = all[0], *c = all[1], *h = all[2], *w = all[3];
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_conv_shape(cudnnHandle_t h, const struct cudnnTensorStruct *x,
                             const struct cudnnFilterStruct *w,
                             const struct cudnnConvolutionStruct *c,
                             const struct cudnnTensorStruct *y, conv_shape *s)
{
    int dim[MAX_DIMS];
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(y, "y"));
    CHECK(output(c, x, w, dim));
    if (x->n != 4 && x->n != 5)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "x has %d dimensions", x->n);
    if (x->type != w->t.type || x->type != y->type)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x, w and y have other types");
    for (int d = 0; d < x->n; d++)
        if (y->n != x->n || y->dim[d] != dim[d])
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
                                "dimension %d of y is %d, it comes out as %d", d,
                                d < y->n ? y->dim[d] : 0, dim[d]);
    int half = x->type == CUDNN_DATA_HALF && c->compute == CUDNN_DATA_HALF;
    if (c->compute != (x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT) &&
        !half)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "type %d computed as type %d",
                            (int)x->type, (int)c->compute);
    *s = (conv_shape){.samples = x->dim[0],
                      .in = x->dim[1],
                      .out = y->dim[1],
                      .groups = c->groups,
                      .flip = c->mode == CUDNN_CONVOLUTION,
                      .planes = c->n == 2,
                      .type = x->type,
                      .nhwc = w->format == CUDNN_TENSOR_NHWC};
    for (int d = 0; d < 3; d++) {
        int from = d - (3 - c->n); /* a missing first place is one of 1 */
        s->x[d] = from < 0 ? 1 : x->dim[from + 2];
        s->w[d] = from < 0 ? 1 : w->t.dim[from + 2];
        s->y[d] = from < 0 ? 1 : y->dim[from + 2];
        s->pad[d] = from < 0 ? 0 : c->pad[from];
        s->stride[d] = from < 0 ? 1 : c->stride[from];
        s->dilation[d] = from < 0 ? 1 : c->dilation[from];
    }
    return CUDNN_STATUS_SUCCESS;
}
