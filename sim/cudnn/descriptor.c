/* descriptor.c - tensor descriptors, and elements of the types that are computed. */
#include "half.h"
#include "internal.h"

#define MAX_ELEMENTS \
    ((int64_t)INT32_MAX) /* the real library addresses a tensor with 31 bits here */

static cudnnStatus_t usable(const struct cudnnTensorStruct *t, const char *what)
{
    if (!t->set)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor of %s is not set", what);
    if (t->type != CUDNN_DATA_FLOAT && t->type != CUDNN_DATA_DOUBLE && t->type != CUDNN_DATA_HALF &&
        t->type != CUDNN_DATA_BFLOAT16)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
                            "%s: only float, double, half and bfloat16 are computed", what);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t gone(const char *what)
{
    return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor of %s is NULL or was destroyed",
                        what);
}

cudnnStatus_t sim_dnn_tensor(const struct cudnnTensorStruct *t, const char *what)
{
    return GONE(t) ? gone(what) : usable(t, what);
}

cudnnStatus_t sim_dnn_filter(const struct cudnnFilterStruct *w, const char *what)
{
    return GONE(w) ? gone(what) : usable(&w->t, what);
}

int64_t sim_dnn_count(const struct cudnnTensorStruct *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n; i++) n *= t->dim[i];
    return n;
}

size_t sim_dnn_size(cudnnDataType_t type)
{
    switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64: return 8;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16: return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2: return 1;
    default: return 4;
    }
}

size_t sim_dnn_bytes(const struct cudnnTensorStruct *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->n; i++) last += (int64_t)(t->dim[i] - 1) * t->stride[i];
    return (size_t)(last + 1) * sim_dnn_size(t->type);
}

int sim_dnn_packed(const struct cudnnTensorStruct *t)
{
    int64_t want = 1;
    for (int i = t->n - 1; i >= 0; i--) {
        if (t->dim[i] > 1 && t->stride[i] != want) return 0;
        want *= t->dim[i];
    }
    return 1;
}

int sim_dnn_same_shape(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b)
{
    if (a->n != b->n || a->type != b->type) return 0;
    for (int i = 0; i < a->n; i++)
        if (a->dim[i] != b->dim[i]) return 0;
    return 1;
}

int sim_dnn_same_strides(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b)
{
    for (int i = 0; i < a->n; i++)
        if (a->dim[i] > 1 && a->stride[i] != b->stride[i]) return 0;
    return 1;
}

int64_t sim_dnn_at(const struct cudnnTensorStruct *t, int64_t i)
{
    int64_t at = 0;
    for (int d = t->n - 1; d >= 0; d--) {
        at += i % t->dim[d] * t->stride[d];
        i /= t->dim[d];
    }
    return at;
}

double sim_dnn_get(const struct cudnnTensorStruct *t, const void *p, int64_t at)
{
    switch (t->type) {
    case CUDNN_DATA_DOUBLE: return ((const double *)p)[at];
    case CUDNN_DATA_HALF: return sim_half_float(((const uint16_t *)p)[at]);
    case CUDNN_DATA_BFLOAT16: return sim_bfloat_float(((const uint16_t *)p)[at]);
    default: return ((const float *)p)[at];
    }
}

void sim_dnn_put(const struct cudnnTensorStruct *t, void *p, int64_t at, double x)
{
    switch (t->type) {
    case CUDNN_DATA_DOUBLE: ((double *)p)[at] = x; break;
    case CUDNN_DATA_HALF: ((uint16_t *)p)[at] = sim_float_half((float)x); break;
    case CUDNN_DATA_BFLOAT16: ((uint16_t *)p)[at] = sim_float_bfloat((float)x); break;
    default: ((float *)p)[at] = (float)x;
    }
}

void sim_dnn_blend(const struct cudnnTensorStruct *t, void *p, int64_t at, double x, double beta)
{
    sim_dnn_put(t, p, at, beta == 0 ? x : x + beta * sim_dnn_get(t, p, at));
}

double sim_dnn_scale(const struct cudnnTensorStruct *t, const void *p)
{
    return t->type == CUDNN_DATA_DOUBLE ? *(const double *)p : *(const float *)p;
}

cudnnStatus_t sim_dnn_create(void **out, enum sim_dnn_kind kind, size_t bytes)
{
    if (!out) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "no room for the descriptor");
    *out = sim_live_new((int)kind, bytes);
    return *out
               ? CUDNN_STATUS_SUCCESS
               : sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory");
}

/* Of NULL: nothing to do, as NVIDIA's library has it. */
cudnnStatus_t sim_dnn_destroy(void *descriptor, enum sim_dnn_kind kind)
{
    if (!descriptor) return CUDNN_STATUS_SUCCESS;
    if (!sim_live_take(descriptor, (int)kind))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "it is none of its kind, or was destroyed before");
    sim_live_free(descriptor);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t sim_dnn_set(struct cudnnTensorStruct *t, cudnnDataType_t type, int n, const int *dim,
                          const int *stride)
{
    int64_t count = 1;
    if (type < CUDNN_DATA_FLOAT || type > CUDNN_DATA_COMPLEX_FP64)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "data type %d", (int)type);
    if (n < 1 || n > MAX_DIMS) return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "%d dimensions", n);
    for (int i = 0; i < n; i++) {
        if (dim[i] < 1 || stride[i] < 1)
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimension %d is %d with stride %d", i,
                                dim[i], stride[i]);
        count *= dim[i];
        if (count > MAX_ELEMENTS)
            return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a tensor of 2^31 elements or more");
    }
    t->type = type;
    t->n = n;
    for (int i = 0; i < n; i++) {
        t->dim[i] = dim[i];
        t->stride[i] = stride[i];
    }
    t->set = 1;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t t, cudnnDataType_t type,
                                               int n, int c, int h, int w, int sn, int sc, int sh,
                                               int sw)
{
    if (GONE(t)) return gone("the tensor");
    return sim_dnn_set(t, type, 4, (int[]){n, c, h, w}, (int[]){sn, sc, sh, sw});
}

API cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t t, cudnnTensorFormat_t format,
                                             cudnnDataType_t type, int n, int c, int h, int w)
{
    if (format < CUDNN_TENSOR_NCHW || format > CUDNN_TENSOR_NCHW_VECT_C)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "tensor format %d", (int)format);
    if (n < 1 || c < 1 || h < 1 || w < 1)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "dimensions %d %d %d %d", n, c, h, w);
    if ((int64_t)n * c > MAX_ELEMENTS || (int64_t)h * w > MAX_ELEMENTS ||
        (int64_t)n * c * h * w > MAX_ELEMENTS)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "a tensor of 2^31 elements or more");
    if (format == CUDNN_TENSOR_NCHW)
        return cudnnSetTensor4dDescriptorEx(t, type, n, c, h, w, c * h * w, h * w, w, 1);
    if (format == CUDNN_TENSOR_NHWC)
        return cudnnSetTensor4dDescriptorEx(t, type, n, c, h, w, c * h * w, 1, w * c, c);
    return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "tensor format %d", (int)format);
}

API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t, cudnnDataType_t type, int n,
                                             const int *dim, const int *stride)
{
    if (!dim || !stride) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL dimensions or strides");
    if (GONE(t)) return gone("the tensor");
    return sim_dnn_set(t, type, n, dim, stride);
}

API cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t t, cudnnDataType_t *type,
                                             int *n, int *c, int *h, int *w, int *sn, int *sc,
                                             int *sh, int *sw)
{
    CHECK(sim_dnn_tensor(t, "the tensor"));
    if (t->n != 4)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the tensor has %d dimensions", t->n);
    int *out[8] = {n, c, h, w, sn, sc, sh, sw};
    if (type) *type = t->type;
    for (int i = 0; i < 8; i++)
        if (out[i]) *out[i] = i < 4 ? t->dim[i] : t->stride[i - 4];
    return CUDNN_STATUS_SUCCESS;
}
