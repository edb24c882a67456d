/* shapes.c - tensors by format and of any dimensions, their size; filter descriptors. */
#include "internal.h"

int sim_dnn_strides(cudnnTensorFormat_t format, int n, const int *dim, int *stride)
{
    int step = 1, last = format == CUDNN_TENSOR_NHWC;
    if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return 0;
    if (last) stride[1] = 1, step = dim[1];
    for (int d = n - 1; d >= 0; d--) {
        if (last && d == 1) continue;
        stride[d] = step;
        step *= dim[d];
    }
    return 1;
}

static cudnnStatus_t by_format(struct cudnnTensorStruct *t, cudnnTensorFormat_t format,
                               cudnnDataType_t type, int n, const int *dim)
{
    int stride[MAX_DIMS];
    int64_t count = 1;
    if (!dim) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL dimensions");
    if (format < CUDNN_TENSOR_NCHW || format > CUDNN_TENSOR_NCHW_VECT_C)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "tensor format %d", (int)format);
    if (n > MAX_DIMS) return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%d dimensions", n);
    if (n < 3) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d dimensions, 3 are needed", n);
    for (int d = 0; d < n; d++) {
        if (dim[d] < 1)
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimension %d is %d", d, dim[d]);
        count *= dim[d];
        if (count > INT32_MAX)
            return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "2^31 elements or more");
    }
    if (!sim_dnn_strides(format, n, dim, stride))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "tensor format %d", (int)format);
    return sim_dnn_set(t, type, n, dim, stride);
}

API cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t t,
                                               cudnnTensorFormat_t format, cudnnDataType_t type,
                                               int n, const int *dim)
{
    if (GONE(t))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    return by_format(t, format, type, n, dim);
}

API cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t t, int wanted,
                                             cudnnDataType_t *type, int *n, int *dim, int *stride)
{
    if (GONE(t) || !type || !n || !dim || !stride)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (wanted < 1 || wanted > MAX_DIMS)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%d dimensions", wanted);
    *type = t->type, *n = t->n;
    for (int d = 0; d < wanted && d < t->n; d++) dim[d] = t->dim[d], stride[d] = t->stride[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t t, size_t *bytes)
{
    if (GONE(t) || !bytes)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *bytes = t->set ? sim_dnn_bytes(t) : 0;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t w, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int n, const int *dim)
{
    if (GONE(w))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    CHECK(by_format(&w->t, format, type, n, dim));
    w->format = format;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t w, cudnnDataType_t type,
                                             cudnnTensorFormat_t format, int k, int c, int h,
                                             int width)
{
    return cudnnSetFilterNdDescriptor(w, type, format, 4, (int[]){k, c, h, width});
}

API cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t w, int wanted,
                                             cudnnDataType_t *type, cudnnTensorFormat_t *format,
                                             int *n, int *dim)
{
    if (GONE(w) || !type || !format || !n || !dim)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (wanted < 1 || wanted > MAX_DIMS)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d dimensions", wanted);
    *type = w->t.type, *format = w->format, *n = w->t.n;
    for (int d = 0; d < wanted && d < w->t.n; d++) dim[d] = w->t.dim[d];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t w, cudnnDataType_t *type,
                                             cudnnTensorFormat_t *format, int *k, int *c, int *h,
                                             int *width)
{
    int n = 0, dim[4] = {0};
    if (!k || !c || !h || !width) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(cudnnGetFilterNdDescriptor(w, 4, type, format, &n, dim));
    if (n != 4) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the filter has %d dimensions", n);
    *k = dim[0], *c = dim[1], *h = dim[2], *width = dim[3];
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t w, size_t *bytes)
{
    if (GONE(w) || !bytes)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *bytes = w->t.set ? sim_dnn_bytes(&w->t) : 0;
    return CUDNN_STATUS_SUCCESS;
}
