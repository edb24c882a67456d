/* settings.c - the life of descriptors; activation, op-tensor and reduction descriptors: what is
 * set is told when asked. */
#include "structs.h"

#define LIFE(name)                                                                  \
    API cudnnStatus_t cudnnCreate##name##Descriptor(cudnn##name##Descriptor_t *out) \
    {                                                                               \
        return sim_dnn_create((void **)out, KIND_OF(*out), sizeof **out);           \
    }                                                                               \
    API cudnnStatus_t cudnnDestroy##name##Descriptor(cudnn##name##Descriptor_t d)   \
    {                                                                               \
        return sim_dnn_destroy(d, KIND_OF(d));                                      \
    }
LIFE(Tensor)
LIFE(Activation)
LIFE(Filter)
LIFE(Convolution)
LIFE(Pooling)
LIFE(ReduceTensor)
LIFE(OpTensor)
LIFE(Dropout)

API cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t a,
                                               cudnnActivationMode_t mode,
                                               cudnnNanPropagation_t nan, double coef)
{
    if (GONE(a))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    if (mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH ||
        (nan != CUDNN_PROPAGATE_NAN && nan != CUDNN_NOT_PROPAGATE_NAN))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "activation %d, NaN %d", (int)mode, (int)nan);
    *a = (struct cudnnActivationStruct){mode, nan, coef, 1, 1};
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t a,
                                               cudnnActivationMode_t *mode,
                                               cudnnNanPropagation_t *nan, double *coef)
{
    if (GONE(a) || !mode || !nan || !coef)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *mode = a->mode, *nan = a->nan, *coef = a->coef;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t a, double beta)
{
    if (GONE(a))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    a->beta = beta;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t a, double *beta)
{
    if (GONE(a) || !beta)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *beta = a->beta;
    return CUDNN_STATUS_SUCCESS;
}

/* What operations compute in. */
static int computed(cudnnDataType_t t)
{
    return t == CUDNN_DATA_FLOAT || t == CUDNN_DATA_DOUBLE || t == CUDNN_DATA_HALF;
}
static int nan_ok(cudnnNanPropagation_t n)
{
    return n == CUDNN_PROPAGATE_NAN || n == CUDNN_NOT_PROPAGATE_NAN;
}

API cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op,
                                             cudnnDataType_t compute, cudnnNanPropagation_t nan)
{
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    if (op < CUDNN_OP_TENSOR_ADD || op > CUDNN_OP_TENSOR_NOT || !computed(compute) || !nan_ok(nan))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "operation %d in type %d, NaN %d", (int)op,
                            (int)compute, (int)nan);
    *d = (struct cudnnOpTensorStruct){op, compute, nan, 1};
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t d,
                                             cudnnOpTensorOp_t *op, cudnnDataType_t *compute,
                                             cudnnNanPropagation_t *nan)
{
    if (GONE(d) || !op || !compute || !nan)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *op = d->op, *compute = d->compute, *nan = d->nan;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t d,
                                                 cudnnReduceTensorOp_t op, cudnnDataType_t compute,
                                                 cudnnNanPropagation_t nan,
                                                 cudnnReduceTensorIndices_t indices,
                                                 cudnnIndicesType_t type)
{
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    if (op < CUDNN_REDUCE_TENSOR_ADD || op > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ||
        !computed(compute) || !nan_ok(nan) || type < CUDNN_32BIT_INDICES ||
        type > CUDNN_8BIT_INDICES ||
        (indices != CUDNN_REDUCE_TENSOR_NO_INDICES &&
         indices != CUDNN_REDUCE_TENSOR_FLATTENED_INDICES))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "reduction %d in type %d, NaN %d, indices %d",
                            (int)op, (int)compute, (int)nan, (int)indices);
    *d = (struct cudnnReduceTensorStruct){op, compute, nan, indices, type, 1};
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetReduceTensorDescriptor(
    const cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t *op, cudnnDataType_t *compute,
    cudnnNanPropagation_t *nan, cudnnReduceTensorIndices_t *indices, cudnnIndicesType_t *type)
{
    if (GONE(d) || !op || !compute || !nan || !indices || !type)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *op = d->op, *compute = d->compute, *nan = d->nan, *indices = d->indices, *type = d->type;
    return CUDNN_STATUS_SUCCESS;
}
