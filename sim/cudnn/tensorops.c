/* tensorops.c - element by element: OpTensor, AddTensor, TransformTensor, SetTensor, ScaleTensor.
 */
#include "structs.h"
#include <math.h>

/* Whether b spreads over c: each dimension the same, or 1. */
static int spreads(const struct cudnnTensorStruct *b, const struct cudnnTensorStruct *c)
{
    if (b->n != c->n) return 0;
    for (int d = 0; d < b->n; d++)
        if (b->dim[d] != 1 && b->dim[d] != c->dim[d]) return 0;
    return 1;
}

/* Where the element of b lies that belongs to element i of c. */
static int64_t spread_at(const struct cudnnTensorStruct *b, const struct cudnnTensorStruct *c,
                         int64_t i)
{
    int64_t at = 0;
    for (int d = c->n - 1; d >= 0; d--) {
        if (b->dim[d] > 1) at += i % c->dim[d] * b->stride[d];
        i /= c->dim[d];
    }
    return at;
}

static double operate(cudnnOpTensorOp_t op, cudnnNanPropagation_t nan, double a, double b)
{
    switch (op) {
    case CUDNN_OP_TENSOR_ADD: return a + b;
    case CUDNN_OP_TENSOR_MUL: return a * b;
    case CUDNN_OP_TENSOR_SQRT: return sqrt(a);
    case CUDNN_OP_TENSOR_NOT: return 1 - a;
    default:
        if (isnan(a) || isnan(b)) return nan == CUDNN_PROPAGATE_NAN ? NAN : isnan(a) ? b : a;
        return (op == CUDNN_OP_TENSOR_MIN) == (a < b) ? a : b;
    }
}

API cudnnStatus_t cudnnOpTensor(cudnnHandle_t h, const cudnnOpTensorDescriptor_t op,
                                const void *alpha1, const cudnnTensorDescriptor_t ad, const void *A,
                                const void *alpha2, const cudnnTensorDescriptor_t bd, const void *B,
                                const void *beta, const cudnnTensorDescriptor_t cd, void *C)
{
    CHECK(sim_dnn_check(h));
    if (GONE(op))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the operation descriptor is NULL or was destroyed");
    if (!op->set)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the operation descriptor is not set");
    int one = op->op == CUDNN_OP_TENSOR_SQRT || op->op == CUDNN_OP_TENSOR_NOT; /* B is not read */
    CHECK(sim_dnn_tensor(ad, "A"));
    CHECK(sim_dnn_tensor(cd, "C"));
    if (!one) CHECK(sim_dnn_tensor(bd, "B"));
    if (!alpha1 || !A || !beta || !C || (!one && (!alpha2 || !B)))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(ad, cd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "A and C differ");
    if (!one && (!spreads(bd, cd) || bd->type != cd->type))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "B does not spread over C");
    if ((op->compute == CUDNN_DATA_DOUBLE) != (cd->type == CUDNN_DATA_DOUBLE))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "type %d computed as type %d",
                            (int)cd->type, (int)op->compute);
    double a1 = sim_dnn_scale(cd, alpha1), a2 = one ? 0 : sim_dnn_scale(cd, alpha2);
    double be = sim_dnn_scale(cd, beta);
    A = IN(A, ad), B = one ? A : IN(B, bd), C = OUT(C, cd);
    int64_t n = sim_dnn_count(cd);
    for (int64_t i = 0; A && B && C && i < n; i++) {
        double a = a1 * sim_dnn_get(ad, A, sim_dnn_at(ad, i));
        double b = one ? 0 : a2 * sim_dnn_get(bd, B, spread_at(bd, cd, i));
        sim_dnn_blend(cd, C, sim_dnn_at(cd, i), operate(op->op, op->nan, a, b), be);
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnAddTensor(cudnnHandle_t h, const void *alpha,
                                 const cudnnTensorDescriptor_t ad, const void *A, const void *beta,
                                 const cudnnTensorDescriptor_t cd, void *C)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(ad, "A"));
    CHECK(sim_dnn_tensor(cd, "C"));
    if (!alpha || !A || !beta || !C) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!spreads(ad, cd) || ad->type != cd->type)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "A does not spread over C");
    double al = sim_dnn_scale(cd, alpha), be = sim_dnn_scale(cd, beta);
    A = IN(A, ad), C = OUT(C, cd);
    int64_t n = sim_dnn_count(cd);
    for (int64_t i = 0; A && C && i < n; i++)
        sim_dnn_blend(cd, C, sim_dnn_at(cd, i), al * sim_dnn_get(ad, A, spread_at(ad, cd, i)), be);
    return CUDNN_STATUS_SUCCESS;
}

/* Another layout, another type, or both. */
API cudnnStatus_t cudnnTransformTensor(cudnnHandle_t h, const void *alpha,
                                       const cudnnTensorDescriptor_t xd, const void *x,
                                       const void *beta, const cudnnTensorDescriptor_t yd, void *y)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(xd, "x"));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!alpha || !x || !beta || !y) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    int same = xd->n == yd->n;
    for (int d = 0; same && d < xd->n; d++) same = xd->dim[d] == yd->dim[d];
    if (!same) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x and y differ");
    if ((xd->type == CUDNN_DATA_DOUBLE) != (yd->type == CUDNN_DATA_DOUBLE))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "type %d into type %d",
                            (int)xd->type, (int)yd->type);
    double al = sim_dnn_scale(yd, alpha), be = sim_dnn_scale(yd, beta);
    x = IN(x, xd), y = OUT(y, yd);
    int64_t n = sim_dnn_count(yd);
    for (int64_t i = 0; x && y && i < n; i++)
        sim_dnn_blend(yd, y, sim_dnn_at(yd, i), al * sim_dnn_get(xd, x, sim_dnn_at(xd, i)), be);
    return CUDNN_STATUS_SUCCESS;
}

/* The value is of the tensor's own type, on the host. */
API cudnnStatus_t cudnnSetTensor(cudnnHandle_t h, const cudnnTensorDescriptor_t yd, void *y,
                                 const void *value)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!y || !value) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    double v = sim_dnn_get(yd, value, 0);
    int64_t n = (y = OUT(y, yd)) ? sim_dnn_count(yd) : 0;
    for (int64_t i = 0; i < n; i++) sim_dnn_put(yd, y, sim_dnn_at(yd, i), v);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnScaleTensor(cudnnHandle_t h, const cudnnTensorDescriptor_t yd, void *y,
                                   const void *alpha)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!y || !alpha) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    double al = sim_dnn_scale(yd, alpha);
    int64_t n = (y = OUT(y, yd)) ? sim_dnn_count(yd) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sim_dnn_at(yd, i);
        sim_dnn_put(yd, y, at, al * sim_dnn_get(yd, y, at));
    }
    return CUDNN_STATUS_SUCCESS;
}
