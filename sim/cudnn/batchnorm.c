/* batchnorm.c - batch normalisation, SPATIAL (a statistic a channel) and PER_ACTIVATION. As cuDNN:
 * the normalisation divides by the count, the running variance is updated with the unbiased one. */
#include "internal.h"
#include <math.h>

/* The elements of one group (a channel, or a place in the sample), j = 0, 1 ..., without a look at
 * the others: element j is the (j % run)th of the group's in sample j / run. */
typedef struct walk {
    int64_t sample; /* elements a sample */
    int64_t first;  /* of the group in sample 0 */
    int64_t run;    /* elements of the group a sample, side by side */
} walk;

static int64_t inner_of(const struct cudnnTensorStruct *t)
{
    int64_t inner = 1;
    for (int d = 2; d < t->n; d++) inner *= t->dim[d];
    return inner;
}

static walk walk_of(const struct cudnnTensorStruct *t, cudnnBatchNormMode_t mode, int64_t k)
{
    int64_t inner = inner_of(t), sample = inner * t->dim[1];
    return mode == CUDNN_BATCHNORM_PER_ACTIVATION ? (walk){sample, k, 1}
                                                  : (walk){sample, k * inner, inner};
}

static int64_t element(const walk *w, int64_t j)
{
    return w->run == 1 ? j * w->sample + w->first : j / w->run * w->sample + w->first + j % w->run;
}

static int64_t groups_of(const struct cudnnTensorStruct *t, cudnnBatchNormMode_t mode)
{
    return mode == CUDNN_BATCHNORM_PER_ACTIVATION ? sim_dnn_count(t) / t->dim[0] : t->dim[1];
}

/* Scales and statistics of 16-bit tensors are float. */
static cudnnDataType_t parameter(cudnnDataType_t x)
{
    return x == CUDNN_DATA_DOUBLE ? x : CUDNN_DATA_FLOAT;
}

static cudnnStatus_t check(cudnnHandle_t h, cudnnBatchNormMode_t mode,
                           const struct cudnnTensorStruct *x, const struct cudnnTensorStruct *bn,
                           double epsilon)
{
    CHECK(sim_dnn_check(h));
    CHECK(sim_dnn_tensor(x, "x"));
    CHECK(sim_dnn_tensor(bn, "the scale and bias"));
    if (x->n != 4 && x->n != 5)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x has %d dimensions, 4 or 5 are needed", x->n);
    if (mode != CUDNN_BATCHNORM_PER_ACTIVATION && mode != CUDNN_BATCHNORM_SPATIAL &&
        mode != CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "batch norm mode %d", (int)mode);
    int spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION, fits = bn->n == x->n && bn->dim[0] == 1;
    for (int d = 1; fits && d < x->n; d++) fits = bn->dim[d] == (d > 1 && spatial ? 1 : x->dim[d]);
    if (!fits || bn->type != parameter(x->type))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "%lld scales for %lld channels",
                            (long long)sim_dnn_count(bn), (long long)groups_of(x, mode));
    if (!(epsilon >= CUDNN_BN_MIN_EPSILON))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "epsilon %g", epsilon);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t bn,
                                                const cudnnTensorDescriptor_t x,
                                                cudnnBatchNormMode_t mode)
{
    CHECK(sim_dnn_tensor(x, "x"));
    if (x->n != 4 && x->n != 5)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "x has %d dimensions", x->n);
    if (mode != CUDNN_BATCHNORM_PER_ACTIVATION && mode != CUDNN_BATCHNORM_SPATIAL &&
        mode != CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "batch norm mode %d", (int)mode);
    int dim[MAX_DIMS], stride[MAX_DIMS], step = 1;
    for (int d = x->n - 1; d >= 0; d--) {
        dim[d] = !d || (d > 1 && mode != CUDNN_BATCHNORM_PER_ACTIVATION) ? 1 : x->dim[d];
        stride[d] = step;
        step *= dim[d];
    }
    return cudnnSetTensorNdDescriptor(bn, parameter(x->type), x->n, dim, stride);
}

API cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xd, const void *x, const cudnnTensorDescriptor_t yd, void *y,
    const cudnnTensorDescriptor_t bnd, const void *scale, const void *bias, double factor,
    void *running_mean, void *running_var, double epsilon, void *save_mean, void *save_inv)
{
    CHECK(check(h, mode, xd, bnd, epsilon));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!alpha || !beta || !x || !y || !scale || !bias)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x and y differ");
    if (!running_mean != !running_var || !save_mean != !save_inv)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "mean and variance must both be given, or neither");
    int64_t g = groups_of(xd, mode), m = sim_dnn_count(xd) / g;
    const void *hx = IN(x, xd), *hs = IN(scale, bnd), *hb = IN(bias, bnd);
    void *hy = OUT(y, yd), *rm = running_mean ? OUT(running_mean, bnd) : NULL;
    void *rv = running_var ? OUT(running_var, bnd) : NULL,
         *sm = save_mean ? OUT(save_mean, bnd) : NULL;
    void *si = save_inv ? OUT(save_inv, bnd) : NULL;
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    if (!hx || !hs || !hb || !hy || (running_mean && (!rm || !rv)) || (save_mean && (!sm || !si)))
        return CUDNN_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    for (int64_t k = 0; k < g; k++) {
        walk w = walk_of(xd, mode, k);
        double sum = 0, square = 0;
        for (int64_t j = 0; j < m; j++) sum += sim_dnn_get(xd, hx, sim_dnn_at(xd, element(&w, j)));
        double mean = sum / (double)m;
        for (int64_t j = 0; j < m; j++) {
            double d = sim_dnn_get(xd, hx, sim_dnn_at(xd, element(&w, j))) - mean;
            square += d * d;
        }
        double var = square / (double)m, inv = 1 / sqrt(var + epsilon);
        double sc = sim_dnn_get(bnd, hs, k), bi = sim_dnn_get(bnd, hb, k);
        for (int64_t j = 0; j < m; j++) {
            int64_t i = element(&w, j);
            double r = al * ((sim_dnn_get(xd, hx, sim_dnn_at(xd, i)) - mean) * inv * sc + bi);
            int64_t at = sim_dnn_at(yd, i);
            sim_dnn_put(yd, hy, at, be == 0 ? r : r + be * sim_dnn_get(yd, hy, at));
        }
        if (rm) {
            double unbiased = m > 1 ? square / (double)(m - 1) : var;
            sim_dnn_put(bnd, rm, k,
                        factor == 1 ? mean
                                    : (1 - factor) * sim_dnn_get(bnd, rm, k) + factor * mean);
            sim_dnn_put(bnd, rv, k,
                        factor == 1 ? unbiased
                                    : (1 - factor) * sim_dnn_get(bnd, rv, k) + factor * unbiased);
        }
        if (sm) {
            sim_dnn_put(bnd, sm, k, mean);
            sim_dnn_put(bnd, si, k, inv);
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnBatchNormalizationForwardInference(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    const cudnnTensorDescriptor_t xd, const void *x, const cudnnTensorDescriptor_t yd, void *y,
    const cudnnTensorDescriptor_t bnd, const void *scale, const void *bias, const void *mean,
    const void *var, double epsilon)
{
    CHECK(check(h, mode, xd, bnd, epsilon));
    CHECK(sim_dnn_tensor(yd, "y"));
    if (!alpha || !beta || !x || !y || !scale || !bias || !mean || !var)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, yd))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x and y differ");
    const void *hx = IN(x, xd), *hs = IN(scale, bnd), *hb = IN(bias, bnd), *hm = IN(mean, bnd),
               *hv = IN(var, bnd);
    void *hy = OUT(y, yd);
    double al = sim_dnn_scale(xd, alpha), be = sim_dnn_scale(xd, beta);
    if (!hx || !hs || !hb || !hm || !hv || !hy) return CUDNN_STATUS_SUCCESS;
    int64_t g = groups_of(xd, mode), m = sim_dnn_count(xd) / g;
    for (int64_t k = 0; k < g; k++) {
        walk w = walk_of(xd, mode, k);
        double inv = 1 / sqrt(sim_dnn_get(bnd, hv, k) + epsilon), me = sim_dnn_get(bnd, hm, k);
        double sc = sim_dnn_get(bnd, hs, k), bi = sim_dnn_get(bnd, hb, k);
        for (int64_t j = 0; j < m; j++) {
            int64_t i = element(&w, j), at = sim_dnn_at(yd, i);
            double r = al * ((sim_dnn_get(xd, hx, sim_dnn_at(xd, i)) - me) * inv * sc + bi);
            sim_dnn_put(yd, hy, at, be == 0 ? r : r + be * sim_dnn_get(yd, hy, at));
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha_data, const void *beta_data,
    const void *alpha_param, const void *beta_param, const cudnnTensorDescriptor_t xd,
    const void *x, const cudnnTensorDescriptor_t dyd, const void *dy,
    const cudnnTensorDescriptor_t dxd, void *dx, const cudnnTensorDescriptor_t bnd,
    const void *scale, void *dscale, void *dbias, double epsilon, const void *save_mean,
    const void *save_inv)
{
    CHECK(check(h, mode, xd, bnd, epsilon));
    CHECK(sim_dnn_tensor(dyd, "dy"));
    CHECK(sim_dnn_tensor(dxd, "dx"));
    if (!alpha_data || !beta_data || !alpha_param || !beta_param || !x || !dy || !dx || !scale ||
        !dscale || !dbias)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (!sim_dnn_same_shape(xd, dyd) || !sim_dnn_same_shape(xd, dxd) || !save_mean != !save_inv)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "x, dy and dx differ");
    int64_t g = groups_of(xd, mode), m = sim_dnn_count(xd) / g;
    const void *hx = IN(x, xd), *hdy = IN(dy, dyd), *hs = IN(scale, bnd);
    const void *sm = save_mean ? IN(save_mean, bnd) : NULL,
               *si = save_inv ? IN(save_inv, bnd) : NULL;
    void *hdx = OUT(dx, dxd), *ds = OUT(dscale, bnd), *db = OUT(dbias, bnd);
    double ad = sim_dnn_scale(xd, alpha_data), bd = sim_dnn_scale(xd, beta_data);
    double ap = sim_dnn_scale(xd, alpha_param), bp = sim_dnn_scale(xd, beta_param);
    if (!hx || !hdy || !hs || !hdx || !ds || !db || (save_mean && (!sm || !si)))
        return CUDNN_STATUS_SUCCESS;
    for (int64_t k = 0; k < g; k++) {
        walk w = walk_of(xd, mode, k);
        double mean = 0, inv, sdy = 0, sdyx = 0, square = 0;
        if (sm) {
            mean = sim_dnn_get(bnd, sm, k);
            inv = sim_dnn_get(bnd, si, k);
        } else {
            for (int64_t j = 0; j < m; j++)
                mean += sim_dnn_get(xd, hx, sim_dnn_at(xd, element(&w, j))) / (double)m;
            for (int64_t j = 0; j < m; j++) {
                double d = sim_dnn_get(xd, hx, sim_dnn_at(xd, element(&w, j))) - mean;
                square += d * d;
            }
            inv = 1 / sqrt(square / (double)m + epsilon);
        }
        for (int64_t j = 0; j < m; j++) {
            int64_t i = element(&w, j);
            double d = sim_dnn_get(dyd, hdy, sim_dnn_at(dyd, i));
            sdy += d;
            sdyx += d * (sim_dnn_get(xd, hx, sim_dnn_at(xd, i)) - mean) * inv;
        }
        double sc = sim_dnn_get(bnd, hs, k);
        for (int64_t j = 0; j < m; j++) {
            int64_t i = element(&w, j);
            double xh = (sim_dnn_get(xd, hx, sim_dnn_at(xd, i)) - mean) * inv;
            double d = sim_dnn_get(dyd, hdy, sim_dnn_at(dyd, i));
            double r = ad * sc * inv * (d - sdy / (double)m - xh * sdyx / (double)m);
            int64_t at = sim_dnn_at(dxd, i);
            sim_dnn_put(dxd, hdx, at, bd == 0 ? r : r + bd * sim_dnn_get(dxd, hdx, at));
        }
        sim_dnn_put(bnd, ds, k, bp == 0 ? ap * sdyx : ap * sdyx + bp * sim_dnn_get(bnd, ds, k));
        sim_dnn_put(bnd, db, k, bp == 0 ? ap * sdy : ap * sdy + bp * sim_dnn_get(bnd, db, k));
    }
    return CUDNN_STATUS_SUCCESS;
}
