/* batchnormex.c - the Ex forms of batch normalisation: the plain one. What they fuse with it, a sum
 * and an activation, is refused: cuDNN has that for half precision in NHWC alone. */
#include "internal.h"

static cudnnStatus_t plain(cudnnBatchNormOps_t ops)
{
    if (ops == CUDNN_BATCHNORM_OPS_BN) return CUDNN_STATUS_SUCCESS;
    if (ops == CUDNN_BATCHNORM_OPS_BN_ACTIVATION || ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
                            "batch norm fused with other work is not computed here: call "
                            "cudnnOpTensor and cudnnActivationForward after it");
    return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "batch norm operation %d", (int)ops);
}

API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha,
    const void *beta, const cudnnTensorDescriptor_t xd, const void *x,
    const cudnnTensorDescriptor_t zd, const void *z, const cudnnTensorDescriptor_t yd, void *y,
    const cudnnTensorDescriptor_t bnd, const void *scale, const void *bias, double factor,
    void *running_mean, void *running_var, double epsilon, void *save_mean, void *save_inv,
    cudnnActivationDescriptor_t act, void *ws, size_t ws_bytes, void *reserve, size_t reserve_bytes)
{
    (void)zd, (void)z, (void)act, (void)ws, (void)ws_bytes, (void)reserve, (void)reserve_bytes;
    CHECK(plain(ops));
    return cudnnBatchNormalizationForwardTraining(h, mode, alpha, beta, xd, x, yd, y, bnd, scale,
                                                  bias, factor, running_mean, running_var, epsilon,
                                                  save_mean, save_inv);
}

API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void *alpha_data,
    const void *beta_data, const void *alpha_param, const void *beta_param,
    const cudnnTensorDescriptor_t xd, const void *x, const cudnnTensorDescriptor_t yd,
    const void *y, const cudnnTensorDescriptor_t dyd, const void *dy,
    const cudnnTensorDescriptor_t dzd, void *dz, const cudnnTensorDescriptor_t dxd, void *dx,
    const cudnnTensorDescriptor_t bnd, const void *scale, const void *bias, void *dscale,
    void *dbias, double epsilon, const void *save_mean, const void *save_inv,
    cudnnActivationDescriptor_t act, void *ws, size_t ws_bytes, void *reserve, size_t reserve_bytes)
{
    (void)yd, (void)y, (void)dzd, (void)dz, (void)bias, (void)act;
    (void)ws, (void)ws_bytes, (void)reserve, (void)reserve_bytes;
    CHECK(plain(ops));
    return cudnnBatchNormalizationBackward(h, mode, alpha_data, beta_data, alpha_param, beta_param,
                                           xd, x, dyd, dy, dxd, dx, bnd, scale, dscale, dbias,
                                           epsilon, save_mean, save_inv);
}

/* The plain form needs no memory beside its arguments. */
static cudnnStatus_t no_bytes(cudnnHandle_t h, cudnnBatchNormOps_t ops,
                              const struct cudnnTensorStruct *x, size_t *bytes)
{
    CHECK(sim_dnn_check(h));
    CHECK(plain(ops));
    CHECK(sim_dnn_tensor(x, "x"));
    if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    *bytes = 0;
    return CUDNN_STATUS_SUCCESS;
}

#define TENSOR const cudnnTensorDescriptor_t
API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, TENSOR x, TENSOR z,
    TENSOR y, TENSOR bn, const cudnnActivationDescriptor_t act, size_t *bytes)
{
    (void)mode, (void)z, (void)y, (void)bn, (void)act;
    return no_bytes(h, ops, x, bytes);
}

API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, TENSOR x, TENSOR y,
    TENSOR dy, TENSOR dz, TENSOR dx, TENSOR bn, const cudnnActivationDescriptor_t act,
    size_t *bytes)
{
    (void)mode, (void)y, (void)dy, (void)dz, (void)dx, (void)bn, (void)act;
    return no_bytes(h, ops, x, bytes);
}

API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
    const cudnnActivationDescriptor_t act, TENSOR x, size_t *bytes)
{
    (void)mode, (void)act;
    return no_bytes(h, ops, x, bytes);
}
