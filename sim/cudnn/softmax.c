/* softmax.c - over all of a sample (INSTANCE) or over its channels (CHANNEL), from the largest
 * value down, and its gradient. */
#include "internal.h"
#include <math.h>

/* One group: `count` values, `step` elements apart in row-major order of the dimensions, from
 * `first`. */
typedef struct groups {
    int64_t samples, inner, count, step;
} groups;

static groups shape_of(const struct cudnnTensorStruct *t, cudnnSoftmaxMode_t mode)
{
    int64_t inner = 1;
    for (int d = 2; d < t->n; d++) inner *= t->dim[d];
    int64_t c = t->n > 1 ? t->dim[1] : 1;
    if (mode == CUDNN_SOFTMAX_MODE_INSTANCE) return (groups){t->dim[0], 1, c * inner, 1};
    return (groups){t->dim[0], inner, c, inner};
}

static cudnnStatus_t check(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode)
{
    CHECK(sim_dnn_check(h));
    if (algo != CUDNN_SOFTMAX_FAST && algo != CUDNN_SOFTMAX_ACCURATE && algo != CUDNN_SOFTMAX_LOG)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "softmax algorithm %d", (int)algo);
    if (mode != CUDNN_SOFTMAX_MODE_INSTANCE && mode != CUDNN_SOFTMAX_MODE_CHANNEL)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "softmax mode %d", (int)mode);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t algo,
                                      cudnnSoftmaxMode_t mode, const void *alpha,
                                      const cudnnTensorDescriptor_t xd, const void *x,
                                      const void *beta, const cudnnTensorDescriptor_t yd, void *y)
{
    CHECK(check(h, algo, mode));
    CHECK(sim_dnn_tensor(xd, "x"));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!alpha || !beta || !x || !y) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x and y differ");
    const void *hx = sim_device_range(x, sim_dnn_bytes(xd), 0);
    void *hy = sim_device_range(y, sim_dnn_bytes(yd), 1);
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    if (!hx || !hy) return CUDNN_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    groups g = shape_of(xd, mode);
    for (int64_t s = 0; s < g.samples; s++)
        for (int64_t i = 0; i < g.inner; i++) {
            int64_t first = s * g.count * g.inner + i;
            double largest = -INFINITY, sum = 0;
            for (int64_t c = 0; c < g.count; c++) {
                double v = sim_dnn_get(xd, hx, sim_dnn_at(xd, first + c * g.step));
                if (v > largest || isnan(v)) largest = v;
            }
            if (algo == CUDNN_SOFTMAX_FAST) largest = 0;
            for (int64_t c = 0; c < g.count; c++)
                sum += exp(sim_dnn_get(xd, hx, sim_dnn_at(xd, first + c * g.step)) - largest);
            for (int64_t c = 0; c < g.count; c++) {
                double v = sim_dnn_get(xd, hx, sim_dnn_at(xd, first + c * g.step)) - largest;
                double r = al * (algo == CUDNN_SOFTMAX_LOG ? v - log(sum) : exp(v) / sum);
                int64_t at = sim_dnn_at(yd, first + c * g.step);
                sim_dnn_put(yd, hy, at, be == 0 ? r : r + be * sim_dnn_get(yd, hy, at));
            }
        }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t h, cudnnSoftmaxAlgorithm_t algo,
                                       cudnnSoftmaxMode_t mode, const void *alpha,
                                       const cudnnTensorDescriptor_t yd, const void *y,
                                       const cudnnTensorDescriptor_t dyd, const void *dy,
                                       const void *beta, const cudnnTensorDescriptor_t dxd,
                                       void *dx)
{
    CHECK(check(h, algo, mode));
    CHECK(sim_dnn_tensor(yd, "y"));
    CHECK(sim_dnn_tensor(dyd, "dy"));
    CHECK(sim_dnn_tensor(dxd, "dx"));
    if (!alpha || !beta || !y || !dy || !dx)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(yd, dyd) || !sim_dnn_same_shape(yd, dxd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "y, dy and dx differ");
    if (!sim_dnn_same_strides(yd, dyd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "y and dy have other strides");
    const void *hy = sim_device_range(y, sim_dnn_bytes(yd), 0),
               *hdy = sim_device_range(dy, sim_dnn_bytes(dyd), 0);
    void *hdx = sim_device_range(dx, sim_dnn_bytes(dxd), 1);
    double al = sim_dnn_scale(yd, alpha), be = sim_dnn_scale(yd, beta);
    if (!hy || !hdy || !hdx) return CUDNN_STATUS_SUCCESS;
    groups g = shape_of(yd, mode);
    for (int64_t s = 0; s < g.samples; s++)
        for (int64_t i = 0; i < g.inner; i++) {
            int64_t first = s * g.count * g.inner + i;
            double sum = 0;
            for (int64_t c = 0; c < g.count; c++) {
                double d = sim_dnn_get(dyd, hdy, sim_dnn_at(dyd, first + c * g.step));
                sum += algo == CUDNN_SOFTMAX_LOG
                           ? d
                           : d * sim_dnn_get(yd, hy, sim_dnn_at(yd, first + c * g.step));
            }
            for (int64_t c = 0; c < g.count; c++) {
                double v = sim_dnn_get(yd, hy, sim_dnn_at(yd, first + c * g.step));
                double d = sim_dnn_get(dyd, hdy, sim_dnn_at(dyd, first + c * g.step));
                double r = al * (algo == CUDNN_SOFTMAX_LOG ? d - exp(v) * sum : v * (d - sum));
                int64_t at = sim_dnn_at(dxd, first + c * g.step);
                sim_dnn_put(dxd, hdx, at, be == 0 ? r : r + be * sim_dnn_get(dxd, hdx, at));
            }
        }
    return CUDNN_STATUS_SUCCESS;
}
