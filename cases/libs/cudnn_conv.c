/* cudnn_conv.c - convolutions and their gradients against the sum that defines them, in double.
 *
 * Tolerance: a sum of k products errs by 2 (k + 4) u of its magnitudes, as a matrix product
 * (cublas.c); `want` adds the blend. Every algorithm that says that it can do one is asked to. */
#include "dnn.h"

typedef struct setup {
    int n, x[5], w[5]; /* w: filters, channels of a group, places */
    int pad[3], stride[3], dilation[3], groups, flip;
} setup;
static const setup setups[] = {
    {4, {2, 3, 5, 6}, {4, 3, 1, 1}, {0, 0}, {1, 1}, {1, 1}, 1, 0}, /* a product of matrices */
    {4, {2, 3, 5, 6}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {4, {2, 2, 7, 9}, {3, 2, 3, 2}, {0, 2}, {2, 3}, {1, 2}, 1, 1},
    {4, {1, 4, 6, 5}, {6, 2, 3, 3}, {1, 0}, {2, 1}, {1, 1}, 2, 0}, /* groups */
    {4, {2, 3, 4, 4}, {3, 1, 2, 2}, {1, 1}, {1, 1}, {2, 1}, 3, 1}, /* a group a channel */
    {4, {1, 1, 1, 1}, {1, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1, 0},
    {4, {2, 2, 6, 6}, {2, 2, 5, 5}, {2, 2}, {1, 1}, {1, 1}, 1, 0},
    {5, {2, 2, 4, 3, 5}, {3, 2, 2, 3, 2}, {1, 1, 0}, {1, 2, 1}, {1, 1, 2}, 1, 0},
};

static int product(const int *d, int n)
{
    int p = 1;
    for (int i = 0; i < n; i++) p *= d[i];
    return p;
}

/* One triple of places: calls it for each output o, input i and tap that meet. */
typedef void meet(void *arg, int x, int w, int y);
static void each_meeting(const setup *s, const int *y, meet *f, void *arg)
{
    int p = s->n - 2, ys = product(y + 2, p), taps = product(s->w + 2, p);
    int xs = product(s->x + 2, p), out = s->w[0] / s->groups;
    for (int n = 0; n < y[0]; n++)
        for (int k = 0; k < y[1]; k++)
            for (int c = 0; c < s->w[1]; c++)
                for (int o = 0; o < ys; o++)
                    for (int t = 0; t < taps; t++) {
                        int at = 0, step = 1, inside = 1, ro = o, rt = t;
                        for (int d = p - 1; d >= 0; d--) {
                            int tap = rt % s->w[d + 2];
                            if (s->flip) tap = s->w[d + 2] - 1 - tap;
                            int place =
                                ro % y[d + 2] * s->stride[d] - s->pad[d] + tap * s->dilation[d];
                            inside &= place >= 0 && place < s->x[d + 2];
                            at += place * step, step *= s->x[d + 2];
                            ro /= y[d + 2], rt /= s->w[d + 2];
                        }
                        int channel = k / out * s->w[1] + c;
                        if (inside)
                            f(arg, (n * s->x[1] + channel) * xs + at, (k * s->w[1] + c) * taps + t,
                              (n * y[1] + k) * ys + o);
                    }
}

typedef struct trio {
    tensor x, w, y; /* w: a tensor of the filter's shape, for its array */
    cudnnFilterDescriptor_t wd;
    cudnnConvolutionDescriptor_t conv;
    int dim[5];
    double *sum, *size; /* of the result */
    int result;         /* 0: y, 1: x, 2: w */
} trio;

static void add(void *arg, int x, int w, int y)
{
    trio *t = arg;
    double a = t->result == 1 ? 1 : AT(&t->x, x), b = t->result == 2 ? 1 : AT(&t->w, w);
    double c = t->result == 0 ? 1 : AT(&t->y, y), v = a * b * c;
    int to = t->result == 0 ? y : t->result == 1 ? x : w;
    t->sum[to] += v, t->size[to] += fabs(v);
}

static trio trio_new(prec p, const setup *s, enum layout lx, enum layout ly, int nhwc)
{
    trio t = {0};
    cudnnDataType_t type = p == F32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE;
    t.x = tensor_new(p, s->n, s->x, lx, -1, 1);
    t.w = tensor_new(p, s->n, s->w, nhwc ? CHANNELS_LAST : PACKED, -1, 1);
    OK(cudnnCreateFilterDescriptor(&t.wd));
    OK(cudnnSetFilterNdDescriptor(t.wd, type, nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, s->n,
                                  s->w));
    OK(cudnnCreateConvolutionDescriptor(&t.conv));
    OK(cudnnSetConvolutionNdDescriptor(t.conv, s->n - 2, s->pad, s->stride, s->dilation,
                                       s->flip ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
                                       type));
    OK(cudnnSetConvolutionGroupCount(t.conv, s->groups));
    OK(cudnnGetConvolutionNdForwardOutputDim(t.conv, t.x.desc, t.wd, s->n, t.dim));
    ck_assert_int_eq(t.dim[0], s->x[0]);
    ck_assert_int_eq(t.dim[1], s->w[0]);
    for (int d = 0; d < s->n - 2; d++) {
        int last = (s->w[d + 2] - 1) * s->dilation[d], want_ = 0;
        while (want_ * s->stride[d] + last < s->x[d + 2] + 2 * s->pad[d]) want_++;
        ck_assert_int_eq(t.dim[d + 2], want_);
    }
    t.y = tensor_new(p, s->n, t.dim, ly, -1, 1);
    return t;
}

static void trio_free(trio *t)
{
    OK(cudnnDestroyFilterDescriptor(t->wd));
    OK(cudnnDestroyConvolutionDescriptor(t->conv));
    tensor_free(&t->x), tensor_free(&t->w), tensor_free(&t->y);
}

/* Algorithm number i of those that the library names for this, or 0 when there are no more. */
static int ask(trio *t, int kind, int i, int *algo, size_t *bytes)
{
    int n = 0;
    cudnnStatus_t status;
#define ASK(Name, perf, get, size)                                             \
    do {                                                                       \
        perf p_[16];                                                           \
        int most_ = 0;                                                         \
        OK(cudnnGetConvolution##Name##AlgorithmMaxCount(handle, &most_));      \
        ck_assert(most_ > 0 && most_ <= 16);                                   \
        OK(get);                                                               \
        ck_assert_int_eq(n, most_);                                            \
        if (i >= n) return 0;                                                  \
        *algo = (int)p_[i].algo, status = p_[i].status, *bytes = p_[i].memory; \
        size_t asked_ = 0;                                                     \
        if (status == CUDNN_STATUS_SUCCESS) {                                  \
            OK(size);                                                          \
            ck_assert_uint_eq(asked_, *bytes);                                 \
        } else                                                                 \
            REFUSED(size, NOT_SUPPORTED);                                      \
    } while (0)
    if (kind == 0)
        ASK(Forward, cudnnConvolutionFwdAlgoPerf_t,
            cudnnGetConvolutionForwardAlgorithm_v7(handle, t->x.desc, t->wd, t->conv, t->y.desc, 16,
                                                   &n, p_),
            cudnnGetConvolutionForwardWorkspaceSize(handle, t->x.desc, t->wd, t->conv, t->y.desc,
                                                    p_[i].algo, &asked_));
    else if (kind == 1)
        ASK(BackwardData, cudnnConvolutionBwdDataAlgoPerf_t,
            cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, t->wd, t->y.desc, t->conv,
                                                        t->x.desc, 16, &n, p_),
            cudnnGetConvolutionBackwardDataWorkspaceSize(handle, t->wd, t->y.desc, t->conv,
                                                         t->x.desc, p_[i].algo, &asked_));
    else
        ASK(BackwardFilter, cudnnConvolutionBwdFilterAlgoPerf_t,
            cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, t->x.desc, t->y.desc, t->conv,
                                                          t->wd, 16, &n, p_),
            cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, t->x.desc, t->y.desc, t->conv,
                                                           t->wd, p_[i].algo, &asked_));
    return status == CUDNN_STATUS_SUCCESS ? 1 : -1;
}

static cudnnStatus_t call(trio *t, int kind, int algo, const void *alpha, const void *beta,
                          void *ws, size_t bytes)
{
    if (kind == 0)
        return cudnnConvolutionForward(handle, alpha, t->x.desc, t->x.a.dev, t->wd, t->w.a.dev,
                                       t->conv, (cudnnConvolutionFwdAlgo_t)algo, ws, bytes, beta,
                                       t->y.desc, t->y.a.dev);
    if (kind == 1)
        return cudnnConvolutionBackwardData(handle, alpha, t->wd, t->w.a.dev, t->y.desc, t->y.a.dev,
                                            t->conv, (cudnnConvolutionBwdDataAlgo_t)algo, ws, bytes,
                                            beta, t->x.desc, t->x.a.dev);
    return cudnnConvolutionBackwardFilter(
        handle, alpha, t->x.desc, t->x.a.dev, t->y.desc, t->y.a.dev, t->conv,
        (cudnnConvolutionBwdFilterAlgo_t)algo, ws, bytes, beta, t->wd, t->w.a.dev);
}

START_TEST(convolutions_equal_the_sum_that_defines_them)
{
    static const char *const kinds[] = {"Forward", "BackwardData", "BackwardFilter"};
    int done = 0, refused = 0;
    open_handle(91);
    for (int i = 0; i < COUNT(setups) * COUNT(blends) * 3 * 4; i++) {
        const setup *s = &setups[i % COUNT(setups)];
        int rest = i / COUNT(setups), kind = rest % 3, b = rest / 3 % COUNT(blends);
        int form = rest / 3 / COUNT(blends); /* type, layouts */
        prec p = form & 1 ? F64 : F32;
        trio t =
            trio_new(p, s, form & 2 ? CHANNELS_LAST : PACKED, form & 2 ? GAPS : PACKED, form == 3);
        tensor *out = kind == 0 ? &t.y : kind == 1 ? &t.x : &t.w;
        double alpha = blends[b][0], beta = blends[b][1];
        blend al = blend_of(alpha), be = blend_of(beta);
        int algo, can;
        size_t bytes;
        for (int a = 0; (can = ask(&t, kind, a, &algo, &bytes)) != 0; a++) {
            at("cudnnConvolution%s setup %d %s form %d algorithm %d alpha %g beta %g", kinds[kind],
               i % COUNT(setups), PREC_NAME(p), form, algo, alpha, beta);
            if (can < 0) {
                REFUSED(call(&t, kind, algo, AS(p, al), AS(p, be), NULL, 0), NOT_SUPPORTED);
                refused++;
                continue;
            }
            if (beta == 0) arr_fill(&out->a, NAN);
            ref r = ref_of(&out->a);
            t.result = kind;
            int n = count_of(out), all = count_of(&t.w);
            int terms = kind == 0   ? all / s->w[0] /* that an element is a sum of, at most */
                        : kind == 1 ? all / s->w[1]
                                    : count_of(&t.y) / t.dim[1];
            t.sum = calloc((size_t)n, sizeof(double)), t.size = calloc((size_t)n, sizeof(double));
            ck_assert(t.sum && t.size);
            each_meeting(s, t.dim, add, &t);
            for (int e = 0; e < n; e++)
                want(&r, out, e, alpha, t.sum[e], 2 * (terms + 4) * U(p) * t.size[e], beta);
            free(t.sum), free(t.size);
            void *ws = NULL;
            if (bytes) CUDA(cudaMalloc(&ws, bytes));
            OK(call(&t, kind, algo, AS(p, al), AS(p, be), ws, bytes));
            expect(&out->a, &r, "the result");
            if (bytes) { /* a byte too few is refused, and writes nothing */
                ref same = ref_of(&out->a);
                REFUSED(call(&t, kind, algo, AS(p, al), AS(p, be), ws, bytes - 1), BAD_PARAM);
                REFUSED(call(&t, kind, algo, AS(p, al), AS(p, be), NULL, bytes), BAD_PARAM);
                expect(&out->a, &same, "the result after a refusal");
                CUDA(cudaFree(ws));
            }
            done++;
        }
        trio_free(&t);
    }
    ck_assert_msg(done > COUNT(setups) * COUNT(blends) * 12 && refused, "%d done, %d refused", done,
                  refused);
}
END_TEST

/* The fused call is the convolution, the sum and the activation, one after the other. */
START_TEST(a_fused_convolution_is_its_parts)
{
    static const int one[] = {1, 4, 1, 1};
    open_handle(93);
    for (int i = 0; i < 8; i++) {
        prec p = i & 1 ? F64 : F32;
        int relu = i >> 1 & 1;
        double a2 = i & 4 ? 0.5 : 0;
        const setup *s = &setups[1];
        at("cudnnConvolutionBiasActivationForward %s relu %d alpha2 %g", PREC_NAME(p), relu, a2);
        trio t = trio_new(p, s, PACKED, PACKED, 0);
        tensor z = tensor_new(p, 4, t.dim, PACKED, -1, 1), b = tensor_new(p, 4, one, PACKED, -1, 1);
        arr_fill(&t.y.a, NAN);
        ref r = ref_of(&t.y.a);
        int n = count_of(&t.y);
        t.sum = calloc((size_t)n, sizeof(double)), t.size = calloc((size_t)n, sizeof(double));
        ck_assert(t.sum && t.size);
        each_meeting(s, t.dim, add, &t);
        for (int e = 0; e < n; e++) {
            double bias = b.a.h[e / (n / 8) % 4], v = -2 * t.sum[e] + bias;
            if (a2 != 0) v += a2 * AT(&z, e);
            double size = 2 * t.size[e] + fabs(bias) + 1;
            want(&r, &t.y, e, 1, relu && v < 0 ? 0 : v, 2 * 40 * U(p) * size, 0);
        }
        free(t.sum), free(t.size);
        cudnnActivationDescriptor_t act;
        OK(cudnnCreateActivationDescriptor(&act));
        OK(cudnnSetActivationDescriptor(
            act, relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0));
        blend al = blend_of(-2), be = blend_of(a2);
        void *ws;
        CUDA(cudaMalloc(&ws, 1 << 20));
#define FUSED(algo, zz, bb)                                                                 \
    cudnnConvolutionBiasActivationForward(                                                  \
        handle, AS(p, al), t.x.desc, t.x.a.dev, t.wd, t.w.a.dev, t.conv, algo, ws, 1 << 20, \
        AS(p, be), (zz)->desc, (zz)->a.dev, (bb)->desc, (bb)->a.dev, act, t.y.desc, t.y.a.dev)
        if (!relu) REFUSED(FUSED(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &z, &b), NOT_SUPPORTED);
        REFUSED(FUSED(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &b, &b), BAD_PARAM);
        REFUSED(FUSED(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &z, &z), BAD_PARAM);
        OK(FUSED(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &z, &b));
        expect(&t.y.a, &r, "y");
        OK(cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0));
        REFUSED(FUSED(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &z, &b), NOT_SUPPORTED);
        OK(cudnnDestroyActivationDescriptor(act));
        CUDA(cudaFree(ws));
        trio_free(&t), tensor_free(&z), tensor_free(&b);
    }
}
END_TEST

START_TEST(convolutions_refuse_what_does_not_fit)
{
    static const int two[] = {1, 1}, zero[] = {0, 0}, minus[] = {-1, 0};
    open_handle(94);
    at("refused");
    trio t = trio_new(F32, &setups[1], PACKED, PACKED, 0);
    cudnnConvolutionDescriptor_t c = t.conv;
    const cudnnConvolutionMode_t cc = CUDNN_CROSS_CORRELATION;
    const cudnnDataType_t fl = CUDNN_DATA_FLOAT;
    blend one = blend_of(1), nil = blend_of(0);
    int n, v[5][4];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t type;
    REFUSED(cudnnSetConvolutionNdDescriptor(NULL, 2, zero, two, two, cc, fl), BAD_PARAM);
    REFUSED(cudnnSetConvolutionNdDescriptor(c, 2, minus, two, two, cc, fl), BAD_PARAM);
    REFUSED(cudnnSetConvolutionNdDescriptor(c, 2, zero, zero, two, cc, fl), BAD_PARAM);
    REFUSED(cudnnSetConvolutionNdDescriptor(c, 2, zero, two, zero, cc, fl), BAD_PARAM);
    REFUSED(cudnnSetConvolutionNdDescriptor(c, 7, zero, two, two, cc, fl), NOT_SUPPORTED);
    REFUSED(cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, (cudnnConvolutionMode_t)9, fl),
            BAD_PARAM);
    REFUSED(cudnnSetConvolutionGroupCount(c, 0), BAD_PARAM);
    REFUSED(cudnnSetConvolutionMathType(c, (cudnnMathType_t)9), BAD_PARAM);
    OK(cudnnGetConvolution2dDescriptor(c, &v[0][0], &v[0][1], &v[1][0], &v[1][1], &v[2][0],
                                       &v[2][1], &mode, &type)); /* as it was */
    ck_assert(v[0][0] == 1 && v[0][1] == 1 && v[1][0] == 1 && v[2][1] == 1 && mode == cc &&
              type == fl);
    cudnnMathType_t math;
    OK(cudnnSetConvolutionMathType(c, CUDNN_TENSOR_OP_MATH));
    OK(cudnnGetConvolutionMathType(c, &math));
    ck_assert_int_eq(math, CUDNN_TENSOR_OP_MATH);
    /* of what is called: types, channels, outputs, algorithms */
    tensor wide = tensor_new(F64, 4, setups[1].x, PACKED, -1, 1);
    tensor *y = &t.y;
    ref r = ref_of(&y->a);
#define FORWARD(h, X, algo, Y)                                                                   \
    cudnnConvolutionForward(h, &one.f, (X)->desc, (X)->a.dev, t.wd, t.w.a.dev, c, algo, NULL, 0, \
                            &nil.f, (Y)->desc, y->a.dev)
    const cudnnConvolutionFwdAlgo_t plain = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    REFUSED(FORWARD(NULL, &t.x, plain, y), BAD_PARAM);
    REFUSED(FORWARD(handle, &wide, plain, y), BAD_PARAM);
    REFUSED(FORWARD(handle, &t.x, plain, &t.x), BAD_PARAM);
    REFUSED(FORWARD(handle, y, plain, y), BAD_PARAM);
    REFUSED(FORWARD(handle, &t.x, (cudnnConvolutionFwdAlgo_t)99, y), BAD_PARAM);
    REFUSED(FORWARD(handle, &t.x, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, y), NOT_SUPPORTED);
    OK(cudnnSetConvolution2dDescriptor(c, 1, 1, 1, 1, 1, 1, cc, CUDNN_DATA_INT32));
    REFUSED(FORWARD(handle, &t.x, plain, y), NOT_SUPPORTED);          /* computed in another type */
    OK(cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 3, 3, cc, fl)); /* 7 over 5 */
    REFUSED(cudnnGetConvolution2dForwardOutputDim(c, t.x.desc, t.wd, &n, &n, &n, &n), BAD_PARAM);
    expect(&y->a, &r, "y after refusals");
    tensor_free(&wide);
    trio_free(&t);
}
END_TEST

/* A search says what the question says, in the same order, and needs memory of the device. */
START_TEST(a_search_names_what_fits_the_workspace)
{
    cudnnConvolutionFwdAlgoPerf_t got[3][8];
    int n[3];
    open_handle(95);
    at("search");
    trio t = trio_new(F32, &setups[1], PACKED, PACKED, 0);
    OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, t.x.desc, t.wd, t.conv, t.y.desc, 8, &n[0],
                                              got[0]));
    OK(cudnnFindConvolutionForwardAlgorithm(handle, t.x.desc, t.wd, t.conv, t.y.desc, 8, &n[1],
                                            got[1]));
    OK(cudnnFindConvolutionForwardAlgorithmEx(handle, t.x.desc, t.x.a.dev, t.wd, t.w.a.dev, t.conv,
                                              t.y.desc, t.y.a.dev, 8, &n[2], got[2], NULL, 0));
    ck_assert_int_eq(n[0], 8);
    ck_assert_int_eq(n[1], 8);
    float last = 0;
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(got[0][i].algo, got[1][i].algo);
        ck_assert_int_eq(got[0][i].status, got[1][i].status);
        if (got[1][i].status == CUDNN_STATUS_SUCCESS) {
            ck_assert(got[0][i].time < 0 && got[1][i].time >= last);
            last = got[1][i].time;
        }
        if (got[2][i].status == CUDNN_STATUS_SUCCESS) ck_assert_uint_eq(got[2][i].memory, 0);
    }
    ck_assert(got[1][0].memory > 0 && got[2][0].status == CUDNN_STATUS_SUCCESS);
    OK(cudnnFindConvolutionForwardAlgorithm(handle, t.x.desc, t.wd, t.conv, t.y.desc, 1, &n[1],
                                            got[1]));
    ck_assert_int_eq(n[1], 1);
    REFUSED(cudnnFindConvolutionForwardAlgorithm(handle, t.x.desc, t.wd, t.conv, t.y.desc, 0, &n[1],
                                                 got[1]),
            BAD_PARAM);
    void *rest; /* nothing is left to search with */
    size_t free_bytes, total, piece = (size_t)1 << 30;
    for (; piece >= 512; piece /= 2)
        while (cudaMalloc(&rest, piece) == cudaSuccess) {
        }
    (void)cudaGetLastError();
    CUDA(cudaMemGetInfo(&free_bytes, &total));
    cudnnStatus_t st = cudnnFindConvolutionForwardAlgorithm(handle, t.x.desc, t.wd, t.conv,
                                                            t.y.desc, 8, &n[1], got[1]);
    ck_assert_msg(st == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, "got %s",
                  cudnnGetErrorString(st));
    trio_free(&t);
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_conv.def"
};
CASE_MAIN("cudnn_conv")
