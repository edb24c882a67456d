/* cudnn_calls.c - handles, descriptors, and what each call of cuDNN refuses. A refusal is held to
 * the category that the documentation names, BAD_PARAM or NOT_SUPPORTED, and must write nothing. */
#include "dnn.h"

START_TEST(tensor_descriptors_hold_what_was_set)
{
    cudnnTensorDescriptor_t d;
    cudnnDataType_t type;
    int got[8];
    at("descriptors");
    OK(cudnnCreateTensorDescriptor(&d));
    static const struct {
        cudnnTensorFormat_t format;
        int want[8];
    } rows[] = {{CUDNN_TENSOR_NCHW, {2, 3, 4, 5, 60, 20, 5, 1}},
                {CUDNN_TENSOR_NHWC, {2, 3, 4, 5, 60, 1, 15, 3}}};
#define READ()                                                                                    \
    OK(cudnnGetTensor4dDescriptor(d, &type, &got[0], &got[1], &got[2], &got[3], &got[4], &got[5], \
                                  &got[6], &got[7]))
#define SAME(want)                                                                           \
    for (int k = 0; k < 8; k++)                                                              \
    ck_assert_msg(got[k] == (want)[k], "%s: [%d] of n c h w and strides: got %d, wanted %d", \
                  where, k, got[k], (want)[k])
    for (int i = 0; i < COUNT(rows); i++) {
        at("descriptor of format %d", (int)rows[i].format);
        OK(cudnnSetTensor4dDescriptor(d, rows[i].format, CUDNN_DATA_DOUBLE, 2, 3, 4, 5));
        READ();
        ck_assert_int_eq(type, CUDNN_DATA_DOUBLE);
        SAME(rows[i].want);
    }
    static const int ex[] = {2, 3, 4, 5, 1000, 300, 50, 7}, nd[] = {1, 2, 3, 4, 24, 12, 4, 1};
    at("cudnnSetTensor4dDescriptorEx");
    OK(cudnnSetTensor4dDescriptorEx(d, CUDNN_DATA_FLOAT, 2, 3, 4, 5, 1000, 300, 50, 7));
    READ();
    ck_assert_int_eq(type, CUDNN_DATA_FLOAT);
    SAME(ex);
    at("cudnnSetTensorNdDescriptor");
    OK(cudnnSetTensorNdDescriptor(d, CUDNN_DATA_FLOAT, 4, nd, nd + 4));
    READ();
    SAME(nd);
    OK(cudnnDestroyTensorDescriptor(d));
}
END_TEST

START_TEST(bad_descriptors_are_refused_and_change_nothing)
{
    static const int dim[9] = {2, 1, 1, 1, 1, 1, 1, 1, 1}, zero[4] = {2, 0, 1, 1};
    static const int big[4] = {1 << 16, 1 << 16, 1, 1};
    const cudnnDataType_t fl = CUDNN_DATA_FLOAT;
    const cudnnTensorFormat_t nchw = CUDNN_TENSOR_NCHW;
    cudnnTensorDescriptor_t d;
    cudnnDataType_t type;
    int got[8];
    at("bad descriptors");
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnSetTensor4dDescriptor(d, nchw, fl, 2, 3, 4, 5));
    REFUSED(cudnnSetTensor4dDescriptor(d, nchw, fl, -2, 3, 4, 5), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptor(d, nchw, fl, 2, 3, 4, -5), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptor(d, (cudnnTensorFormat_t)77, fl, 2, 3, 4, 5), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptor(d, nchw, (cudnnDataType_t)999, 2, 3, 4, 5), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptor(d, nchw, fl, 1 << 16, 1 << 16, 1, 1), NOT_SUPPORTED);
    REFUSED(cudnnSetTensor4dDescriptor(NULL, nchw, fl, 2, 3, 4, 5), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptorEx(d, fl, 2, 3, 4, -5, 60, 20, 5, 1), BAD_PARAM);
    REFUSED(cudnnSetTensor4dDescriptorEx(d, fl, 2, 3, 4, 5, -60, 20, 5, 1), BAD_PARAM);
    REFUSED(cudnnSetTensorNdDescriptor(d, fl, 4, zero, dim), BAD_PARAM);
    REFUSED(cudnnSetTensorNdDescriptor(d, (cudnnDataType_t)999, 4, dim, dim), BAD_PARAM);
    REFUSED(cudnnSetTensorNdDescriptor(d, fl, 4, big, dim), NOT_SUPPORTED);
    REFUSED(cudnnSetTensorNdDescriptor(d, fl, CUDNN_DIM_MAX + 1, dim, dim), NOT_SUPPORTED);
    READ();
    static const int want_[8] = {2, 3, 4, 5, 60, 20, 5, 1};
    SAME(want_);
    OK(cudnnDestroyTensorDescriptor(d));
    cudnnActivationDescriptor_t a;
    OK(cudnnCreateActivationDescriptor(&a));
    REFUSED(cudnnSetActivationDescriptor(a, (cudnnActivationMode_t)99, CUDNN_PROPAGATE_NAN, 0),
            BAD_PARAM);
    REFUSED(cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_RELU, (cudnnNanPropagation_t)9, 0),
            BAD_PARAM);
    REFUSED(cudnnSetActivationDescriptor(NULL, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0),
            BAD_PARAM);
    OK(cudnnDestroyActivationDescriptor(a));
}
END_TEST

START_TEST(a_batch_norm_descriptor_is_derived_in_either_shape)
{
    static const struct {
        cudnnBatchNormMode_t mode;
        int want[8];
    } rows[] = {{CUDNN_BATCHNORM_SPATIAL, {1, 3, 1, 1, 3, 1, 1, 1}},
                {CUDNN_BATCHNORM_SPATIAL_PERSISTENT, {1, 3, 1, 1, 3, 1, 1, 1}},
                {CUDNN_BATCHNORM_PER_ACTIVATION, {1, 3, 4, 5, 60, 20, 5, 1}}};
    cudnnTensorDescriptor_t x, d;
    cudnnDataType_t type;
    int got[8];
    OK(cudnnCreateTensorDescriptor(&x));
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NHWC, CUDNN_DATA_DOUBLE, 2, 3, 4, 5));
    for (int i = 0; i < COUNT(rows); i++) {
        at("cudnnDeriveBNTensorDescriptor mode %d", (int)rows[i].mode);
        OK(cudnnDeriveBNTensorDescriptor(d, x, rows[i].mode));
        READ();
        ck_assert_int_eq(type, CUDNN_DATA_DOUBLE);
        SAME(rows[i].want);
    }
    REFUSED(cudnnDeriveBNTensorDescriptor(d, x, (cudnnBatchNormMode_t)9), BAD_PARAM);
    OK(cudnnDestroyTensorDescriptor(x));
    OK(cudnnDestroyTensorDescriptor(d));
}
END_TEST

/* One of each that fits, and ones that do not; out must stay as it is. */
typedef struct stock {
    tensor good, other, wide, shape, out, param, spare[4];
    blend one, zero;
    ref r;
} stock;

static stock stock_of(void)
{
    static const int dim[] = {2, 3, 4, 5}, dim2[] = {2, 3, 5, 4}, c[] = {1, 3, 1, 1};
    stock s = {.one = blend_of(1), .zero = blend_of(0)};
    s.good = tensor_new(F32, 4, dim, PACKED, 0.1, 1);
    s.other = tensor_new(F32, 4, dim, GAPS, 0.1, 1);
    s.wide = tensor_new(F64, 4, dim, PACKED, 0.1, 1);
    s.shape = tensor_new(F32, 4, dim2, PACKED, 0.1, 1);
    s.out = tensor_new(F32, 4, dim, PACKED, -1, 1);
    s.param = tensor_new(F32, 4, c, PACKED, 0.5, 1);
    for (int i = 0; i < 4; i++) s.spare[i] = tensor_new(F32, 4, c, PACKED, 0.5, 1);
    s.r = ref_of(&s.out.a);
    return s;
}

static void stock_free(stock *s)
{
    tensor *all[] = {&s->good, &s->other, &s->wide, &s->shape, &s->out, &s->param};
    for (int i = 0; i < 6; i++) tensor_free(all[i]);
    for (int i = 0; i < 4; i++) tensor_free(&s->spare[i]);
}

START_TEST(softmax_refuses_what_does_not_fit)
{
    open_handle(41);
    stock s = stock_of();
    const cudnnSoftmaxAlgorithm_t acc = CUDNN_SOFTMAX_ACCURATE;
    const cudnnSoftmaxMode_t ch = CUDNN_SOFTMAX_MODE_CHANNEL;
    tensor *x = &s.good, *y = &s.out;
    const void *one = &s.one.f, *zero = &s.zero.f;
    at("softmax");
#define FWD(h, algo, mode, X, Y) \
    cudnnSoftmaxForward(h, algo, mode, one, (X)->desc, (X)->a.dev, zero, (Y)->desc, y->a.dev)
#define BWD(h, algo, mode, Y, DY, DX)                                                              \
    cudnnSoftmaxBackward(h, algo, mode, one, (Y)->desc, (Y)->a.dev, (DY)->desc, (DY)->a.dev, zero, \
                         (DX)->desc, y->a.dev)
    REFUSED(FWD(NULL, acc, ch, x, y), BAD_PARAM);
    REFUSED(FWD(handle, (cudnnSoftmaxAlgorithm_t)9, ch, x, y), BAD_PARAM);
    REFUSED(FWD(handle, acc, (cudnnSoftmaxMode_t)9, x, y), BAD_PARAM);
    REFUSED(FWD(handle, acc, ch, &s.shape, y), BAD_PARAM);
    REFUSED(FWD(handle, acc, ch, &s.wide, y), BAD_PARAM);
    REFUSED(cudnnSoftmaxForward(handle, acc, ch, NULL, x->desc, x->a.dev, zero, y->desc, y->a.dev),
            BAD_PARAM);
    REFUSED(BWD(NULL, acc, ch, x, x, y), BAD_PARAM);
    REFUSED(BWD(handle, (cudnnSoftmaxAlgorithm_t)9, ch, x, x, y), BAD_PARAM);
    REFUSED(BWD(handle, acc, (cudnnSoftmaxMode_t)9, x, x, y), BAD_PARAM);
    REFUSED(BWD(handle, acc, ch, &s.shape, x, y), BAD_PARAM);
    REFUSED(BWD(handle, acc, ch, x, x, &s.shape), BAD_PARAM);
    REFUSED(BWD(handle, acc, ch, x, &s.wide, y), BAD_PARAM);
    REFUSED(BWD(handle, acc, ch, x, &s.other, y), BAD_PARAM); /* strides of y and dy differ */
    expect(&s.out.a, &s.r, "output after refusals");
    stock_free(&s);
}
END_TEST

START_TEST(activations_refuse_what_does_not_fit)
{
    open_handle(42);
    stock s = stock_of();
    cudnnActivationDescriptor_t d;
    tensor *x = &s.good, *y = &s.out;
    const void *one = &s.one.f, *zero = &s.zero.f;
    at("activation");
    OK(cudnnCreateActivationDescriptor(&d));
    OK(cudnnSetActivationDescriptor(d, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0));
#undef FWD
#undef BWD
#define FWD(h, d, X, at_x, Y) \
    cudnnActivationForward(h, d, one, (X)->desc, (at_x), zero, (Y)->desc, y->a.dev)
#define BWD(Y, DY, X, DX)                                                                   \
    cudnnActivationBackward(handle, d, one, (Y)->desc, (Y)->a.dev, (DY)->desc, (DY)->a.dev, \
                            (X)->desc, (X)->a.dev, zero, (DX)->desc, y->a.dev)
    REFUSED(FWD(NULL, d, x, x->a.dev, y), BAD_PARAM);
    REFUSED(FWD(handle, NULL, x, x->a.dev, y), BAD_PARAM);
    REFUSED(FWD(handle, d, &s.shape, x->a.dev, y), BAD_PARAM);
    REFUSED(FWD(handle, d, &s.wide, s.wide.a.dev, y), BAD_PARAM);
    REFUSED(FWD(handle, d, &s.other, y->a.dev, y), BAD_PARAM); /* in place, other strides */
    REFUSED(BWD(&s.shape, x, x, y), NOT_SUPPORTED);
    REFUSED(BWD(x, x, x, &s.shape), NOT_SUPPORTED);
    REFUSED(BWD(x, x, &s.wide, y), NOT_SUPPORTED);
    REFUSED(BWD(x, &s.other, x, y), NOT_SUPPORTED); /* strides of y and dy differ */
    REFUSED(BWD(x, x, &s.other, y), NOT_SUPPORTED); /* strides of x and dx differ */
    expect(&s.out.a, &s.r, "output after refusals");
    OK(cudnnDestroyActivationDescriptor(d));
    stock_free(&s);
}
END_TEST

START_TEST(batch_norm_refuses_what_does_not_fit)
{
    static const int c4[] = {1, 4, 1, 1}, moved[] = {1, 1, 3, 1};
    open_handle(43);
    stock s = stock_of();
    const cudnnBatchNormMode_t sp = CUDNN_BATCHNORM_SPATIAL;
    tensor *x = &s.good, *y = &s.out, *p = &s.param, *o = s.spare;
    tensor four = tensor_new(F32, 4, c4, PACKED, 0, 1),
           off = tensor_new(F32, 4, moved, PACKED, 0, 1);
    const void *one = &s.one.f, *zero = &s.zero.f;
    at("batch norm");
#define TRAIN(mode, X, P, rm, rv, eps, sm, si)                                                  \
    cudnnBatchNormalizationForwardTraining(handle, mode, one, zero, (X)->desc, (X)->a.dev,      \
                                           y->desc, y->a.dev, (P)->desc, p->a.dev, p->a.dev, 1, \
                                           rm, rv, eps, sm, si)
#define INFER(mode, X, P, mean, eps)                                                          \
    cudnnBatchNormalizationForwardInference(handle, mode, one, zero, (X)->desc, (X)->a.dev,   \
                                            y->desc, y->a.dev, (P)->desc, p->a.dev, p->a.dev, \
                                            mean, p->a.dev, eps)
#define BACK(mode, X, P, eps, sm, si)                                                          \
    cudnnBatchNormalizationBackward(handle, mode, one, zero, one, zero, (X)->desc, (X)->a.dev, \
                                    x->desc, x->a.dev, y->desc, y->a.dev, (P)->desc, p->a.dev, \
                                    o[0].a.dev, o[1].a.dev, eps, sm, si)
    void *a = o[2].a.dev, *b = o[3].a.dev;
    for (int i = 0; i < 2; i++) {
        tensor *bad =
            i ? &off : &four; /* four scales for three channels; three in the wrong place */
        REFUSED(TRAIN(sp, x, bad, NULL, NULL, 1e-5, NULL, NULL), BAD_PARAM);
        REFUSED(INFER(sp, x, bad, a, 1e-5), BAD_PARAM);
        REFUSED(BACK(sp, x, bad, 1e-5, NULL, NULL), BAD_PARAM);
    }
    REFUSED(TRAIN(CUDNN_BATCHNORM_PER_ACTIVATION, x, p, NULL, NULL, 1e-5, NULL, NULL), BAD_PARAM);
    REFUSED(TRAIN((cudnnBatchNormMode_t)9, x, p, NULL, NULL, 1e-5, NULL, NULL), BAD_PARAM);
    REFUSED(TRAIN(sp, &s.shape, p, NULL, NULL, 1e-5, NULL, NULL), BAD_PARAM);
    REFUSED(TRAIN(sp, &s.wide, p, NULL, NULL, 1e-5, NULL, NULL), BAD_PARAM);
    REFUSED(TRAIN(sp, x, p, NULL, NULL, -1, NULL, NULL), BAD_PARAM);
    REFUSED(TRAIN(sp, x, p, a, NULL, 1e-5, NULL, NULL), BAD_PARAM); /* one of a pair */
    REFUSED(TRAIN(sp, x, p, NULL, NULL, 1e-5, NULL, b), BAD_PARAM);
    REFUSED(INFER(sp, x, p, NULL, 1e-5), BAD_PARAM);
    REFUSED(INFER(sp, x, p, a, -1), BAD_PARAM);
    REFUSED(INFER(sp, &s.shape, p, a, 1e-5), BAD_PARAM);
    REFUSED(BACK(sp, x, p, -1, NULL, NULL), BAD_PARAM);
    REFUSED(BACK(sp, x, p, 1e-5, a, NULL), BAD_PARAM);
    REFUSED(BACK(sp, &s.shape, p, 1e-5, NULL, NULL), BAD_PARAM);
    expect(&s.out.a, &s.r, "output after refusals");
    for (int i = 0; i < 4; i++) {
        ref same = ref_of(&o[i].a);
        expect(&o[i].a, &same, "parameters after refusals");
    }
    tensor_free(&four), tensor_free(&off);
    stock_free(&s);
}
END_TEST

START_TEST(handles_keep_their_stream_and_codes_have_names)
{
    cudaStream_t stream, got;
    open_handle(44);
    at("handle");
    CUDA(cudaStreamCreate(&stream));
    OK(cudnnSetStream(handle, stream));
    OK(cudnnGetStream(handle, &got));
    ck_assert_ptr_eq(got, stream);
    OK(cudnnSetStream(handle, NULL));
    OK(cudnnGetStream(handle, &got));
    ck_assert_ptr_null(got);
    ck_assert_uint_eq(cudnnGetVersion() / 10000, CUDNN_MAJOR);
    ck_assert_uint_eq(cudnnGetCudartVersion() / 1000, CUDART_VERSION / 1000);
    ck_assert_str_eq(cudnnGetErrorString(CUDNN_STATUS_SUCCESS), "CUDNN_STATUS_SUCCESS");
    ck_assert_str_eq(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM");
    REFUSED(cudnnCreate(NULL), BAD_PARAM);
    REFUSED(cudnnSetStream(NULL, NULL), BAD_PARAM);
    REFUSED(cudnnGetStream(handle, NULL), BAD_PARAM);
    char text[100] = "";
    cudnnGetLastErrorString(text, sizeof text);
    ck_assert_msg(*text != 0, "no text for the last error");
    OK(cudnnDestroy(handle));
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_calls.def"
};
CASE_MAIN("cudnn_calls")
