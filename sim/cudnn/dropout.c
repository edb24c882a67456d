/* dropout.c - dropout: the states of its generator lie on the device, where a call takes them from
 * and leaves them; the mask goes to the caller's reserve, a byte for eight elements. The generator
 * is not a GPU's, its rate is. */
#include "structs.h"
#include <string.h>

/* What the states hold. */
typedef struct states {
    uint64_t mark, seed, drawn;
} states;
enum { STATES = 1 << 12 }; /* bytes asked for: a GPU asks for more, one state a thread */
#define MARK 0x74756f706f7264u

API cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t h, size_t *bytes)
{
    CHECK(sim_dnn_check(h));
    if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    *bytes = STATES;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnDropoutGetReserveSpaceSize(cudnnTensorDescriptor_t x, size_t *bytes)
{
    if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    CHECK(sim_dnn_tensor(x, "x"));
    *bytes = (size_t)(sim_dnn_count(x) + 7) / 8;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t keep(cudnnDropoutDescriptor_t d, cudnnHandle_t h, float rate, void *at,
                          size_t bytes, unsigned long long seed)
{
    CHECK(sim_dnn_check(h));
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    if (!(rate >= 0 && rate <= 1))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "a dropout of %g", (double)rate);
    if (at && bytes < STATES)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                            "states of %zu bytes, %d are needed", bytes, (int)STATES);
    *d = (struct cudnnDropoutStruct){rate, at, bytes, seed, 1};
    return CUDNN_STATUS_SUCCESS;
}

/* Without states nothing is dropped, whatever the rate: a rate of 0 needs none. */
API cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h, float rate,
                                            void *at, size_t bytes, unsigned long long seed)
{
    CHECK(keep(d, h, rate, at, bytes, seed));
    states *s = at ? sim_device_range(at, STATES, 1) : NULL;
    if (s) *s = (states){MARK, seed, 0};
    return CUDNN_STATUS_SUCCESS;
}

/* The states are those of an earlier descriptor, and go on from there. */
API cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h,
                                                float rate, void *at, size_t bytes,
                                                unsigned long long seed)
{
    if (!at) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "no states to restore");
    return keep(d, h, rate, at, bytes, seed);
}

API cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t h,
                                            float *rate, void **at, unsigned long long *seed)
{
    CHECK(sim_dnn_check(h));
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the descriptor is NULL or was destroyed");
    if (rate) *rate = d->rate;
    if (at) *at = d->states;
    if (seed) *seed = d->seed;
    return CUDNN_STATUS_SUCCESS;
}

/* The nth number of a seed, in [0, 1): a mix of the two. */
static double draw(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static cudnnStatus_t check(cudnnHandle_t h, const struct cudnnDropoutStruct *d,
                           const struct cudnnTensorStruct *x, const struct cudnnTensorStruct *y,
                           size_t bytes)
{
    CHECK(sim_dnn_check(h));
    if (GONE(d))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the dropout descriptor is NULL or was destroyed");
    if (!d->set) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the dropout descriptor is not set");
    CHECK(sim_dnn_tensor(x, "the input"));
    CHECK(sim_dnn_tensor(y, "the output"));
    if (x->type != y->type || sim_dnn_count(x) != sim_dnn_count(y))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "input and output differ");
    if (bytes < (size_t)(sim_dnn_count(x) + 7) / 8)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT,
                            "a reserve of %zu bytes, %zu are needed", bytes,
                            (size_t)(sim_dnn_count(x) + 7) / 8);
    return CUDNN_STATUS_SUCCESS;
}

/* What is kept is scaled, so that the expectation stays. */
static void masked(const struct cudnnDropoutStruct *d, const struct cudnnTensorStruct *xd,
                   const void *x, const struct cudnnTensorStruct *yd, void *y,
                   const unsigned char *mask)
{
    double scale = d->rate < 1 && d->states ? 1 / (1 - (double)d->rate) : 1;
    int64_t n = sim_dnn_count(xd);
    for (int64_t i = 0; i < n; i++) {
        double v = mask[i / 8] >> i % 8 & 1 ? scale * sim_dnn_get(xd, x, sim_dnn_at(xd, i)) : 0;
        sim_dnn_put(yd, y, sim_dnn_at(yd, i), v);
    }
}

API cudnnStatus_t cudnnDropoutForward(cudnnHandle_t h, const cudnnDropoutDescriptor_t d,
                                      const cudnnTensorDescriptor_t xd, const void *x,
                                      const cudnnTensorDescriptor_t yd, void *y, void *reserve,
                                      size_t bytes)
{
    CHECK(check(h, d, xd, yd, bytes));
    if (!x || !y || !reserve) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    int64_t n = sim_dnn_count(xd);
    x = IN(x, xd), y = OUT(y, yd);
    unsigned char *mask = sim_device_range(reserve, (size_t)(n + 7) / 8, 1);
    states *s = d->states ? sim_device_range(d->states, STATES, 1) : NULL;
    if (!x || !y || !mask || (d->states && !s)) return CUDNN_STATUS_SUCCESS; /* 700 is pending */
    if (s && s->mark != MARK)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM,
                            "the states were overwritten, or set by nobody: "
                            "cudnnSetDropoutDescriptor writes them");
    memset(mask, 0, (size_t)(n + 7) / 8);
    for (int64_t i = 0; i < n; i++)
        if (!s || draw(s->seed, s->drawn + (uint64_t)i) >= (double)d->rate)
            mask[i / 8] |= (unsigned char)(1 << i % 8);
    if (s) s->drawn += (uint64_t)n;
    masked(d, xd, x, yd, y, mask);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnDropoutBackward(cudnnHandle_t h, const cudnnDropoutDescriptor_t d,
                                       const cudnnTensorDescriptor_t dyd, const void *dy,
                                       const cudnnTensorDescriptor_t dxd, void *dx, void *reserve,
                                       size_t bytes)
{
    CHECK(check(h, d, dyd, dxd, bytes));
    if (!dy || !dx || !reserve) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    dy = IN(dy, dyd), dx = OUT(dx, dxd);
    const unsigned char *mask = sim_device_range(reserve, (size_t)(sim_dnn_count(dyd) + 7) / 8, 0);
    if (dy && dx && mask) masked(d, dyd, dy, dxd, dx, mask);
    return CUDNN_STATUS_SUCCESS;
}
