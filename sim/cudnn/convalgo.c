/* convalgo.c - the algorithms of the convolutions: which of them do a given one, the workspace that
 * each asks for, the questions about them. All give the same bits; the sizes are those of the
 * buffers that such an algorithm is known by (columns, transformed tiles), not a GPU's. A search
 * does not measure: its times are a count of multiplications, so that a run repeats. */
#include "conv.h"

static int64_t volume(const int64_t *d)
{
    return d[0] * d[1] * d[2];
}

static size_t nothing(const conv_shape *s)
{
    (void)s;
    return 0;
}
/* where each output begins, an index for each tap */
static size_t indices(const conv_shape *s)
{
    return (size_t)(volume(s->y) * volume(s->w)) * 4;
}
/* a sample's patches as columns of a matrix */
static size_t columns(const conv_shape *s)
{
    return (size_t)(s->in / s->groups * volume(s->w) * volume(s->y)) * sim_dnn_size(s->type);
}
/* filters, a gradient of them for each sample */
static size_t partial(const conv_shape *s)
{
    return (size_t)(s->samples * s->out * (s->in / s->groups) * volume(s->w)) * 4;
}
/* tiles of 6 x 6 for 4 x 4 outputs, and the filters as such */
static size_t tiles(const conv_shape *s)
{
    int64_t n = s->samples * ((s->y[1] + 3) / 4) * ((s->y[2] + 3) / 4);
    return (size_t)(36 * (n * (s->in + s->out) + s->in / s->groups * s->out)) * 4;
}

static int any(const conv_shape *s)
{
    (void)s;
    return 1;
}
static int rows_first(const conv_shape *s)
{
    return !s->nhwc;
}
static int never(const conv_shape *s)
{
    (void)s;
    return 0;
}
static int small(const conv_shape *s, int most)
{
    return s->planes && !s->nhwc && s->type != CUDNN_DATA_DOUBLE && s->w[1] == s->w[2] &&
           (s->w[1] == 3 || s->w[1] == most) && s->stride[1] == 1 && s->stride[2] == 1 &&
           s->dilation[1] == 1 && s->dilation[2] == 1;
}
static int three(const conv_shape *s)
{
    return small(s, 3);
}
static int five(const conv_shape *s)
{
    return small(s, 5);
}

/* In the order of preference. The transforms of Fourier are refused. */
typedef struct algorithm {
    int algo, repeats; /* repeats: the same bits on a GPU too */
    int (*does)(const conv_shape *s);
    size_t (*needs)(const conv_shape *s);
    double work; /* multiplications, of those of the plain way */
} algorithm;
static const algorithm forward[] = {
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1, any, indices, 0.8},
    {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 1, any, nothing, 1},
    {CUDNN_CONVOLUTION_FWD_ALGO_GEMM, 1, rows_first, columns, 1.1},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 1, five, tiles, 1.2},
    {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 1, three, nothing, 1.3},
    {CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 1, never, nothing, 0},
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT, 1, never, nothing, 0},
    {CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, 1, never, nothing, 0},
};
static const algorithm data[] = {
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 1, any, indices, 0.8},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, 0, any, nothing, 1},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, 1, five, tiles, 1.2},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, 1, three, nothing, 1.3},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, 1, never, nothing, 0},
    {CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, 1, never, nothing, 0},
};
static const algorithm filter[] = {
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 1, any, indices, 0.8},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, 0, any, nothing, 1},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, 0, rows_first, partial, 1.1},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, 1, five, tiles, 1.2},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, 1, never, nothing, 0},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, 1, never, nothing, 0},
    {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, 1, never, nothing, 0},
};
#define ROWS(a)                           \
    {                                     \
        a, (int)(sizeof(a) / sizeof *(a)) \
    }
static const struct {
    const algorithm *rows;
    int n;
} kinds[CONV_KINDS] = {ROWS(forward), ROWS(data), ROWS(filter)};

cudnnStatus_t sim_conv_workspace(enum conv_kind kind, int algo, const conv_shape *s, size_t *bytes)
{
    for (int i = 0; i < kinds[kind].n; i++) {
        const algorithm *a = &kinds[kind].rows[i];
        if (a->algo != algo) continue;
        if (!a->does(s))
            return sim_dnn_fail(CUDNN_STATUS_NOT_SUPPORTED,
                                "algorithm %d does not do this convolution here", algo);
        *bytes = a->needs(s);
        return CUDNN_STATUS_SUCCESS;
    }
    return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "algorithm %d is none of the enumeration", algo);
}

/* The three structures of answers differ in the type of one member alone. */
typedef cudnnConvolutionFwdAlgoPerf_t answer;
_Static_assert(sizeof(answer) == sizeof(cudnnConvolutionBwdDataAlgoPerf_t) &&
                   sizeof(answer) == sizeof(cudnnConvolutionBwdFilterAlgoPerf_t),
               "one layout");

/* All algorithms, those first that do it. limit: the workspace that there is. */
static cudnnStatus_t answers(enum conv_kind kind, const conv_shape *s, int wanted, int *given,
                             answer *out, int timed, size_t limit)
{
    int n = 0;
    if (!given || !out) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    if (wanted < 1) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "%d algorithms asked for", wanted);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < kinds[kind].n && n < wanted; i++) {
            const algorithm *a = &kinds[kind].rows[i];
            int good = a->does(s) && a->needs(s) <= limit;
            if (good == pass) continue;
            double work = (double)(s->samples * s->out * (s->in / s->groups) * volume(s->w)) *
                          (double)volume(s->y);
            out[n++] = (answer){
                .algo = (cudnnConvolutionFwdAlgo_t)a->algo,
                .status = good ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED,
                .time = timed && good ? (float)(work * a->work * 1e-6) : -1,
                .memory = good ? a->needs(s) : 0,
                .determinism = a->repeats ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC,
                .mathType = CUDNN_DEFAULT_MATH,
            };
        }
    *given = n;
    return CUDNN_STATUS_SUCCESS;
}

/* A search takes device memory for all that it would run on, and gives it back. */
static cudnnStatus_t search(enum conv_kind kind, const conv_shape *s,
                            const struct cudnnTensorStruct *const t[3], int wanted, int *given,
                            answer *out)
{
    void *held[3] = {0};
    cudnnStatus_t st = CUDNN_STATUS_SUCCESS;
    size_t most = 0;
    for (int i = 0; i < 3 && st == CUDNN_STATUS_SUCCESS; i++)
        if (sim_device_alloc(&held[i], sim_dnn_bytes(t[i])))
            held[i] = NULL, st = sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                                              "no device memory to search with");
    /* the largest workspace that can be had */
    for (int i = 0; i < kinds[kind].n && st == CUDNN_STATUS_SUCCESS; i++) {
        const algorithm *a = &kinds[kind].rows[i];
        size_t need = a->does(s) ? a->needs(s) : 0;
        void *room;
        if (need <= most || sim_device_alloc(&room, need)) continue;
        sim_device_free(room);
        most = need;
    }
    for (int i = 0; i < 3; i++)
        if (held[i]) sim_device_free(held[i]);
    return st != CUDNN_STATUS_SUCCESS ? st : answers(kind, s, wanted, given, out, 1, most);
}

#define ASK(Name, kind, type, perf, FIRST, SECOND, THIRD, x, w, y)                                \
    API cudnnStatus_t cudnnGetConvolution##Name##AlgorithmMaxCount(cudnnHandle_t h, int *count)   \
    {                                                                                             \
        CHECK(sim_dnn_check(h));                                                                  \
        if (!count) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");                 \
        *count = kinds[kind].n;                                                                   \
        return CUDNN_STATUS_SUCCESS;                                                              \
    }                                                                                             \
    API cudnnStatus_t cudnnGetConvolution##Name##WorkspaceSize(                                   \
        cudnnHandle_t h, FIRST a, SECOND b, const cudnnConvolutionDescriptor_t conv, THIRD c,     \
        type algo, size_t *bytes)                                                                 \
    {                                                                                             \
        conv_shape s;                                                                             \
        if (!bytes) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");                 \
        CHECK(sim_conv_shape(h, x, w, conv, y, &s));                                              \
        return sim_conv_workspace(kind, (int)algo, &s, bytes);                                    \
    }                                                                                             \
    API cudnnStatus_t cudnnGetConvolution##Name##Algorithm_v7(                                    \
        cudnnHandle_t h, FIRST a, SECOND b, const cudnnConvolutionDescriptor_t conv, THIRD c,     \
        const int wanted, int *given, perf *out)                                                  \
    {                                                                                             \
        conv_shape s;                                                                             \
        CHECK(sim_conv_shape(h, x, w, conv, y, &s));                                              \
        return answers(kind, &s, wanted, given, (answer *)out, 0, SIZE_MAX);                      \
    }                                                                                             \
    API cudnnStatus_t cudnnFindConvolution##Name##Algorithm(                                      \
        cudnnHandle_t h, FIRST a, SECOND b, const cudnnConvolutionDescriptor_t conv, THIRD c,     \
        const int wanted, int *given, perf *out)                                                  \
    {                                                                                             \
        conv_shape s;                                                                             \
        CHECK(sim_conv_shape(h, x, w, conv, y, &s));                                              \
        const struct cudnnTensorStruct *const t[3] = {x, &(w)->t, y};                             \
        return search(kind, &s, t, wanted, given, (answer *)out);                                 \
    }                                                                                             \
    API cudnnStatus_t cudnnFindConvolution##Name##AlgorithmEx(                                    \
        cudnnHandle_t h, FIRST a, const void *pa, SECOND b, const void *pb,                       \
        const cudnnConvolutionDescriptor_t conv, THIRD c, void *pc, const int wanted, int *given, \
        perf *out, void *ws, size_t bytes)                                                        \
    {                                                                                             \
        conv_shape s;                                                                             \
        CHECK(sim_conv_shape(h, x, w, conv, y, &s));                                              \
        if (!pa || !pb || !pc || (bytes && !ws))                                                  \
            return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");                         \
        return answers(kind, &s, wanted, given, (answer *)out, 1, bytes);                         \
    }
#define TENSOR const cudnnTensorDescriptor_t
#define FILTER const cudnnFilterDescriptor_t
ASK(Forward, CONV_FORWARD, cudnnConvolutionFwdAlgo_t, cudnnConvolutionFwdAlgoPerf_t, TENSOR, FILTER,
    TENSOR, a, b, c)
ASK(BackwardData, CONV_DATA, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdDataAlgoPerf_t,
    FILTER, TENSOR, TENSOR, c, a, b)
ASK(BackwardFilter, CONV_FILTER, cudnnConvolutionBwdFilterAlgo_t,
    cudnnConvolutionBwdFilterAlgoPerf_t, TENSOR, TENSOR, FILTER, a, c, b)
