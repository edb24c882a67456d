/* norm.c - what follows a convolution: a norm by the run's kind, then ReLU in place. */
#include "kernels/kernels.h"
#include "net/layers.h"
#include "probe.h"

#ifdef PT_DOUBLE
#define DNN_TYPE CUDNN_DATA_DOUBLE
#else
#define DNN_TYPE CUDNN_DATA_FLOAT
#endif

static real *param(const pt_run *r, int t)
{
    return r->net->param + r->net->tensor[t].offset;
}
static real *grad(const pt_run *r, int t)
{
    return r->net->scratch + r->net->tensor[t].offset;
}

typedef struct batch_descriptors {
    cudnnTensorDescriptor_t x, bn;
} batch_descriptors;

static pt_status open_descriptors(batch_descriptors *t, int64_t v, int c)
{
    pt_status st = PT_OK;
    *t = (batch_descriptors){0};
    TRY(PT_CUDNN(cudnnCreateTensorDescriptor(&t->x)));
    TRY(PT_CUDNN(cudnnCreateTensorDescriptor(&t->bn)));
    TRY(PT_CUDNN(cudnnSetTensor4dDescriptor(t->x, CUDNN_TENSOR_NCHW, DNN_TYPE, (int)v, c, 1, 1)));
    TRY(PT_CUDNN(cudnnDeriveBNTensorDescriptor(t->bn, t->x, CUDNN_BATCHNORM_SPATIAL)));
done:
    return st;
}

static void close_descriptors(batch_descriptors *t)
{
    if (t->x) cudnnDestroyTensorDescriptor(t->x);
    if (t->bn) cudnnDestroyTensorDescriptor(t->bn);
}

static pt_status batch_forward(pt_run *r, int b)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    const real one = 1, zero = 0;
    batch_descriptors t;
    pt_status st = PT_OK;
    real *mean = r->net->running + k->running, *var = mean + k->cout;
    if (r->at[b].v < 2 && !r->given)
        return pt_fail(
            PT_ERR_INPUT,
            "%s: batch norm over %lld voxel has no variance; use --norm layer or larger scenes",
            k->name, (long long)r->at[b].v);
    TRY(open_descriptors(&t, r->at[b].v, k->cout));
    if (r->given)
        TRY(PT_CUDNN(cudnnBatchNormalizationForwardInference(
            d->cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, t.x, r->at[b].z, t.x, r->at[b].y, t.bn,
            param(r, k->gamma), param(r, k->beta), mean, var, PT_NORM_EPSILON)));
    else /* the running ones are of the batch, not of a piece: pt_moments_running */
        TRY(PT_CUDNN(cudnnBatchNormalizationForwardTraining(
            d->cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, t.x, r->at[b].z, t.x, r->at[b].y, t.bn,
            param(r, k->gamma), param(r, k->beta), 1, NULL, NULL, PT_NORM_EPSILON, r->at[b].mean,
            r->at[b].inv)));
    if (r->given) TRY(pt_k_frozen_inv(d, k->cout, var, r->at[b].inv));
    if (r->moments)
        TRY(pt_k_moments(d, r->at[b].v, k->cout, r->at[b].z, r->levels.own[k->level],
                         r->given ? mean : r->at[b].mean, r->at[b].inv,
                         r->net->moments_device + k->moments, r->columns));
done:
    close_descriptors(&t);
    return st;
}

pt_status pt_norm_forward(pt_run *r, int b)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    pt_status st = PT_OK;
    pt_tag_set(k->tag[1]);
    if (r->net->options.norm == PT_NORM_LAYER)
        TRY(pt_k_layer_norm(d, r->at[b].v, k->cout, r->at[b].z, param(r, k->gamma),
                            param(r, k->beta), r->at[b].y, r->at[b].mean, r->at[b].inv));
    else
        TRY(batch_forward(r, b));
    TRY(pt_dnn_relu(d, r->at[b].v, k->cout, r->at[b].y));
done:
    return st;
}

static pt_status batch_backward(pt_run *r, int b, const real *dy, real *dz)
{
    const pt_block *k = &r->net->layers->block[b];
    const real one = 1, zero = 0;
    batch_descriptors t;
    pt_status st = PT_OK;
    TRY(open_descriptors(&t, r->at[b].v, k->cout));
    TRY(PT_CUDNN(cudnnBatchNormalizationBackward(
        r->net->device->cudnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &one, t.x, r->at[b].z,
        t.x, dy, t.x, dz, t.bn, param(r, k->gamma), grad(r, k->gamma), grad(r, k->beta),
        PT_NORM_EPSILON, r->at[b].mean, r->at[b].inv)));
done:
    close_descriptors(&t);
    return st;
}

pt_status pt_relu_backward(pt_run *r, int b, const real *y, int channels, real *dy)
{
    pt_tag_set(r->net->layers->block[b].tag[1]);
    return pt_dnn_relu_back(r->net->device, r->at[b].v, channels, y, dy);
}

pt_status pt_norm_backward(pt_run *r, int b, real *dy, real *dz)
{
    const pt_block *k = &r->net->layers->block[b];
    pt_device *d = r->net->device;
    int64_t v = r->at[b].v;
    pt_status st = PT_OK;
    pt_tag_set(k->tag[1]);
    if (r->net->options.norm == PT_NORM_BATCH && !r->given) {
        TRY(batch_backward(r, b, dy, dz));
        goto done;
    }
    int per_row = r->net->options.norm == PT_NORM_LAYER;
    const real *mean = per_row ? r->at[b].mean : r->net->running + k->running;
    TRY(pt_k_norm_columns(d, v, k->cout, per_row, r->at[b].z, mean, r->at[b].inv, dy,
                          grad(r, k->gamma), grad(r, k->beta), r->columns));
    if (per_row)
        TRY(pt_k_layer_norm_back(d, v, k->cout, r->at[b].z, param(r, k->gamma), mean, r->at[b].inv,
                                 dy, dz));
    else
        TRY(pt_k_frozen_norm_back(d, v, k->cout, param(r, k->gamma), r->at[b].inv, dy, dz));
done:
    return st;
}
