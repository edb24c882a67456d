/* reduce.c - C = alpha reduce(A) + beta C over the dimensions in which C is 1; indices of the
 * extremes, counted inside what is reduced. */
#include "structs.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One element of C while A is walked. */
typedef struct reduction {
    double value;
    int64_t seen, index; /* index: of an extreme */
} reduction;

static int is_extreme(cudnnReduceTensorOp_t op)
{
    return op == CUDNN_REDUCE_TENSOR_MIN || op == CUDNN_REDUCE_TENSOR_MAX ||
           op == CUDNN_REDUCE_TENSOR_AMAX;
}

static void extreme(const struct cudnnReduceTensorStruct *d, reduction *r, double x)
{
    if (d->op == CUDNN_REDUCE_TENSOR_AMAX) x = fabs(x);
    if (isnan(x) && d->nan == CUDNN_NOT_PROPAGATE_NAN && r->seen) return;
    int better = !r->seen || (d->op == CUDNN_REDUCE_TENSOR_MIN ? x < r->value : x > r->value) ||
                 (isnan(x) && !isnan(r->value)) ||
                 (isnan(r->value) && d->nan == CUDNN_NOT_PROPAGATE_NAN);
    if (better) r->value = x, r->index = r->seen;
}

static void take(const struct cudnnReduceTensorStruct *d, reduction *r, double x)
{
    switch (d->op) {
    case CUDNN_REDUCE_TENSOR_ADD:
    case CUDNN_REDUCE_TENSOR_AVG: r->value += x; break;
    case CUDNN_REDUCE_TENSOR_NORM1: r->value += fabs(x); break;
    case CUDNN_REDUCE_TENSOR_NORM2: r->value = hypot(r->value, x); break;
    case CUDNN_REDUCE_TENSOR_MUL: r->value = r->seen ? r->value * x : x; break;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
        r->value = (r->seen ? r->value : 1) * (x == 0 ? 1 : x);
        break;
    default: extreme(d, r, x);
    }
    r->seen++;
}

static cudnnStatus_t check(cudnnHandle_t h, const struct cudnnReduceTensorStruct *d,
                           const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *c)
{
    CHECK(sim_dnn_check(h));
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the reduction descriptor is NULL or was destroyed");
    if (!d->set) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the reduction descriptor is not set");
    CHECK(sim_dnn_tensor(a, "A"));
    CHECK(sim_dnn_tensor(c, "C"));
    int fits = a->n == c->n && a->type == c->type;
    for (int i = 0; fits && i < a->n; i++) fits = c->dim[i] == 1 || c->dim[i] == a->dim[i];
    if (!fits) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "C does not fit A");
    if ((d->compute == CUDNN_DATA_DOUBLE) != (a->type == CUDNN_DATA_DOUBLE))
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "type %d computed as type %d",
                            (int)a->type, (int)d->compute);
    if (d->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES && is_extreme(d->op) &&
        d->type != CUDNN_32BIT_INDICES)
        return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED, "indices of 32 bits alone");
    return CUDNN_STATUS_SUCCESS;
}

static int indexed(const struct cudnnReduceTensorStruct *d)
{
    return d->indices == CUDNN_REDUCE_TENSOR_FLATTENED_INDICES && is_extreme(d->op);
}

API cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t h,
                                               const cudnnReduceTensorDescriptor_t d,
                                               const cudnnTensorDescriptor_t a,
                                               const cudnnTensorDescriptor_t c, size_t *bytes)
{
    if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(check(h, d, a, c));
    *bytes = indexed(d) ? (size_t)sim_dnn_count(c) * sizeof(uint32_t) : 0;
    return CUDNN_STATUS_SUCCESS;
}

/* Partial results: one for each element of C, where anything is reduced. */
static size_t needed(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *c)
{
    return sim_dnn_count(a) == sim_dnn_count(c) ? 0 : (size_t)sim_dnn_count(c) * 8;
}

API cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t h,
                                                 const cudnnReduceTensorDescriptor_t d,
                                                 const cudnnTensorDescriptor_t a,
                                                 const cudnnTensorDescriptor_t c, size_t *bytes)
{
    if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(check(h, d, a, c));
    *bytes = needed(a, c);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnReduceTensor(cudnnHandle_t h, const cudnnReduceTensorDescriptor_t d,
                                    void *indices, size_t indices_bytes, void *ws, size_t ws_bytes,
                                    const void *alpha, const cudnnTensorDescriptor_t ad,
                                    const void *A, const void *beta,
                                    const cudnnTensorDescriptor_t cd, void *C)
{
    CHECK(check(h, d, ad, cd));
    size_t need = needed(ad, cd), list = indexed(d) ? (size_t)sim_dnn_count(cd) * 4 : 0;
    if (!alpha || !A || !beta || !C || (need && !ws) || (list && !indices))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (ws_bytes < need || indices_bytes < list)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                            "a workspace of %zu and indices of %zu bytes; %zu and %zu are needed",
                            ws_bytes, indices_bytes, need, list);
    double al = sim_dnn_scale(cd, alpha), be = sim_dnn_scale(cd, beta);
    A = IN(A, ad), C = OUT(C, cd);
    uint32_t *at = list ? sim_device_range(indices, list, 1) : NULL;
    ws = need ? sim_device_range(ws, need, 1) : NULL;
    if (!A || !C || (list && !at) || (need && !ws)) return CUDNN_STATUS_SUCCESS; /* 700 pending */
    int64_t count = sim_dnn_count(cd), n = sim_dnn_count(ad);
    reduction *r = calloc((size_t)count, sizeof *r);
    if (!r)
        return sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory");
    if (need) memset(ws, 0xff, need); /* it is the call's to overwrite */
    for (int64_t i = 0; i < n; i++) {
        int64_t to = 0, rest = i, step = 1;
        for (int k = ad->n - 1; k >= 0; k--) {
            if (cd->dim[k] > 1) to += rest % ad->dim[k] * step;
            rest /= ad->dim[k];
            step *= cd->dim[k];
        }
        take(d, &r[to], sim_dnn_get(ad, A, sim_dnn_at(ad, i)));
    }
    for (int64_t i = 0; i < count; i++) {
        double v = d->op == CUDNN_REDUCE_TENSOR_AVG ? r[i].value / (double)r[i].seen : r[i].value;
        sim_dnn_blend(cd, C, sim_dnn_at(cd, i), al * v, be);
        if (at) at[i] = (uint32_t)r[i].index;
    }
    free(r);
    return CUDNN_STATUS_SUCCESS;
}
