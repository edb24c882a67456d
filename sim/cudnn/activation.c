/* activation.c - y = alpha * f(x) + beta * y, and its gradient. */
#include "internal.h"
#include <math.h>

double sim_dnn_activate(const struct cudnnActivationStruct *a, double x)
{
    switch (a->mode) {
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case CUDNN_ACTIVATION_RELU: return x > 0 || (isnan(x) && a->nan == CUDNN_PROPAGATE_NAN) ? x : 0;
    case CUDNN_ACTIVATION_TANH: return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU:
        if (isnan(x)) return a->nan == CUDNN_PROPAGATE_NAN ? x : 0;
        return x > 0 ? (x < a->coef ? x : a->coef) : 0;
    case CUDNN_ACTIVATION_ELU: return x > 0 ? x : a->coef * expm1(x);
    case CUDNN_ACTIVATION_SWISH: return x / (1 + exp(-a->beta * x));
    default: return x; /* IDENTITY */
    }
}

/* f'(x), by y where that is enough */
static double slope(const struct cudnnActivationStruct *a, double x, double y)
{
    switch (a->mode) {
    case CUDNN_ACTIVATION_SIGMOID: return y * (1 - y);
    case CUDNN_ACTIVATION_RELU: return x > 0;
    case CUDNN_ACTIVATION_TANH: return 1 - y * y;
    case CUDNN_ACTIVATION_CLIPPED_RELU: return x > 0 && x < a->coef;
    case CUDNN_ACTIVATION_ELU: return x > 0 ? 1 : y + a->coef;
    case CUDNN_ACTIVATION_SWISH: {
        double s = 1 / (1 + exp(-a->beta * x));
        return s + a->beta * x * s * (1 - s);
    }
    default: return 1;
    }
}

static cudnnStatus_t check(cudnnHandle_t h, const struct cudnnActivationStruct *a)
{
    CHECK(sim_dnn_check(h));
    if (GONE(a))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the activation descriptor is NULL or was destroyed");
    if (!a->set)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the activation descriptor is not set");
    if (a->mode == CUDNN_ACTIVATION_IDENTITY)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "IDENTITY is for cudnnConvolutionBiasActivationForward alone");
    return CUDNN_STATUS_SUCCESS;
}

/* The case that trainers live in, vectorised by the compiler: a load has no condition, and in place
 * each element depends on itself alone. The negation keeps NaN. */
#define RELU(type)                                                                   \
    static void relu_##type(const type *x, type *y, int64_t n)                       \
    {                                                                                \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                         \
        {                                                                            \
            type v = x[i];                                                           \
            y[i] = !(v <= 0) ? v : 0;                                                \
        }                                                                            \
    }                                                                                \
    static void relu_back_##type(const type *x, const type *dy, type *dx, int64_t n) \
    {                                                                                \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)                         \
        {                                                                            \
            type v = x[i], d = dy[i];                                                \
            dx[i] = v > 0 ? d : 0;                                                   \
        }                                                                            \
    }
RELU(float)
RELU(double)

static int plain_relu(const struct cudnnActivationStruct *a, const struct cudnnTensorStruct *x,
                      const struct cudnnTensorStruct *y, double alpha, double beta)
{
    return (x->type == CUDNN_DATA_FLOAT || x->type == CUDNN_DATA_DOUBLE) &&
           a->mode == CUDNN_ACTIVATION_RELU && a->nan == CUDNN_PROPAGATE_NAN && alpha == 1 &&
           beta == 0 && sim_dnn_packed(x) && sim_dnn_packed(y);
}

API cudnnStatus_t cudnnActivationForward(cudnnHandle_t h, cudnnActivationDescriptor_t a,
                                         const void *alpha, const cudnnTensorDescriptor_t xd,
                                         const void *x, const void *beta,
                                         const cudnnTensorDescriptor_t yd, void *y)
{
    CHECK(check(h, a));
    CHECK(sim_dnn_tensor(xd, "x"));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!alpha || !beta || !x || !y) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x and y differ");
    if (x == y && !sim_dnn_same_strides(xd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "in place with other strides");
    const void *hx = sim_device_range(x, sim_dnn_bytes(xd), 0);
    void *hy = sim_device_range(y, sim_dnn_bytes(yd), 1);
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    if (!hx || !hy) return CUDNN_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    int64_t n = sim_dnn_count(xd);
    if (plain_relu(a, xd, yd, al, be)) {
        if (xd->type == CUDNN_DATA_FLOAT)
            relu_float(hx, hy, n);
        else
            relu_double(hx, hy, n);
        return CUDNN_STATUS_SUCCESS;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sim_dnn_at(yd, i);
        double r = al * sim_dnn_activate(a, sim_dnn_get(xd, hx, sim_dnn_at(xd, i)));
        sim_dnn_put(yd, hy, at, be == 0 ? r : r + be * sim_dnn_get(yd, hy, at));
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnActivationBackward(cudnnHandle_t h, cudnnActivationDescriptor_t a,
                                          const void *alpha, const cudnnTensorDescriptor_t yd,
                                          const void *y, const cudnnTensorDescriptor_t dyd,
                                          const void *dy, const cudnnTensorDescriptor_t xd,
                                          const void *x, const void *beta,
                                          const cudnnTensorDescriptor_t dxd, void *dx)
{
    CHECK(check(h, a));
    CHECK(sim_dnn_tensor(yd, "y"));
    CHECK(sim_dnn_tensor(dyd, "dy"));
    CHECK(sim_dnn_tensor(xd, "x"));
    CHECK(sim_dnn_tensor(dxd, "dx"));
    if (!alpha || !beta || !x || !y || !dy || !dx)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(yd, dyd) || !sim_dnn_same_shape(yd, xd) || !sim_dnn_same_shape(yd, dxd))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "x, y, dx and dy differ");
    if (dx == dy && !sim_dnn_same_strides(dxd, dyd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "in place with other strides");
    if (!sim_dnn_same_strides(xd, dxd) || !sim_dnn_same_strides(yd, dyd))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "a gradient with other strides");
    const void *hx = sim_device_range(x, sim_dnn_bytes(xd), 0),
               *hy = sim_device_range(y, sim_dnn_bytes(yd), 0);
    const void *hdy = sim_device_range(dy, sim_dnn_bytes(dyd), 0);
    void *hdx = sim_device_range(dx, sim_dnn_bytes(dxd), 1);
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    if (!hx || !hy || !hdy || !hdx) return CUDNN_STATUS_SUCCESS;
    int64_t n = sim_dnn_count(xd);
    if (plain_relu(a, xd, dxd, al, be) && sim_dnn_packed(dyd)) {
        if (xd->type == CUDNN_DATA_FLOAT)
            relu_back_float(hx, hdy, hdx, n);
        else
            relu_back_double(hx, hdy, hdx, n);
        return CUDNN_STATUS_SUCCESS;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sim_dnn_at(dxd, i);
        double s = slope(a, sim_dnn_get(xd, hx, sim_dnn_at(xd, i)),
                         sim_dnn_get(yd, hy, sim_dnn_at(yd, i)));
        double r = al * s * sim_dnn_get(dyd, hdy, sim_dnn_at(dyd, i));
        sim_dnn_put(dxd, hdx, at, be == 0 ? r : r + be * sim_dnn_get(dxd, hdx, at));
    }
    return CUDNN_STATUS_SUCCESS;
}
