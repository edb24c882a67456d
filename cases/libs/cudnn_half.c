/* cudnn_half.c - tensors of 16-bit floats, and dropout.
 *
 * Tolerance: of a 16-bit tensor the result is rounded once: u of that type, and float's before it.
 * Dropout scales what it keeps, 4 u. */
#include "dnn.h"
#include "typed.h"

/* Scalars are float; each result is rounded once to the tensor's type. */
START_TEST(tensors_of_16_bits_are_computed_in_float)
{
    enum { N = 120 };
    open_handle(114);
    for (int i = 0; i < 2; i++) {
        cudaDataType t = i ? CUDA_R_16BF : CUDA_R_16F;
        cudnnDataType_t type = i ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
        float one = 1, two = 2, nil = 0;
        double u = 2 * typed_u(t);
        cudnnTensorDescriptor_t d, f;
        cudnnActivationDescriptor_t act;
        OK(cudnnCreateTensorDescriptor(&d));
        OK(cudnnCreateTensorDescriptor(&f));
        OK(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, type, 2, 3, 4, 5));
        OK(cudnnSetTensor4dDescriptor(f, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 3, 4, 5));
        size_t bytes;
        OK(cudnnGetTensorSizeInBytes(d, &bytes));
        ck_assert_uint_eq(bytes, N * 2);
        typed x = typed_new(t, N), y = typed_new(t, N), wide = typed_new(CUDA_R_32F, N);
        at("softmax of %s", typed_name(t));
        typed_nan(&y);
        ref r = typed_ref(&y);
        for (int s = 0; s < 2; s++)
            for (int k = 0; k < 20; k++) {
                double sum = 0;
                for (int c = 0; c < 3; c++) sum += exp(x.h[s * 60 + c * 20 + k]);
                for (int c = 0; c < 3; c++) {
                    int e = s * 60 + c * 20 + k;
                    r.want[e] = exp(x.h[e]) / sum;
                    r.tol[e] = u * r.want[e] + typed_tiny(t);
                }
            }
        OK(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, d,
                               x.dev, &nil, d, y.dev));
        typed_expect(&y, &r, "y");
        at("relu of %s", typed_name(t));
        OK(cudnnCreateActivationDescriptor(&act));
        OK(cudnnSetActivationDescriptor(act, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
        r = typed_ref(&y);
        for (int e = 0; e < N; e++) r.want[e] = fmax(x.h[e], 0);
        OK(cudnnActivationForward(handle, act, &one, d, x.dev, &nil, d, y.dev));
        typed_expect(&y, &r, "y");
        at("sum of %s", typed_name(t));
        r = typed_ref(&y);
        for (int e = 0; e < N; e++) {
            r.want[e] = 2 * x.h[e] + y.h[e];
            r.tol[e] = u * (fabs(2 * x.h[e]) + fabs(y.h[e]));
        }
        OK(cudnnAddTensor(handle, &two, d, x.dev, &one, d, y.dev));
        typed_expect(&y, &r, "C");
        at("%s into float", typed_name(t)); /* exact */
        r = typed_ref(&wide);
        for (int e = 0; e < N; e++) r.want[e] = x.h[e];
        OK(cudnnTransformTensor(handle, &one, d, x.dev, &nil, f, wide.dev));
        typed_expect(&wide, &r, "y");
        cudnnTensorDescriptor_t bn;
        cudnnDataType_t got;
        int v[8];
        OK(cudnnCreateTensorDescriptor(&bn)); /* statistics of 16-bit tensors are float */
        OK(cudnnDeriveBNTensorDescriptor(bn, d, CUDNN_BATCHNORM_SPATIAL));
        OK(cudnnGetTensor4dDescriptor(bn, &got, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6],
                                      &v[7]));
        ck_assert_int_eq(got, CUDNN_DATA_FLOAT);
        OK(cudnnDestroyTensorDescriptor(bn));
        OK(cudnnDestroyTensorDescriptor(d));
        OK(cudnnDestroyTensorDescriptor(f));
        OK(cudnnDestroyActivationDescriptor(act));
        typed_free(&x), typed_free(&y), typed_free(&wide);
    }
}
END_TEST

/* Batch norm with float statistics, and a convolution of one place: a product of matrices. */
START_TEST(nets_of_16_bits_are_computed_in_float)
{
    enum { SAMPLES = 2, IN_ = 3, OUT_ = 4, PLACES = 20, N = SAMPLES * IN_ * PLACES };
    open_handle(117);
    for (int i = 0; i < 2; i++) {
        cudaDataType t = i ? CUDA_R_16BF : CUDA_R_16F;
        cudnnDataType_t type = i ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_HALF;
        const cudnnTensorFormat_t nchw = CUDNN_TENSOR_NCHW;
        float one = 1, nil = 0;
        cudnnTensorDescriptor_t xd, yd, bn;
        cudnnFilterDescriptor_t wd;
        cudnnConvolutionDescriptor_t conv;
        OK(cudnnCreateTensorDescriptor(&xd));
        OK(cudnnCreateTensorDescriptor(&yd));
        OK(cudnnCreateTensorDescriptor(&bn));
        OK(cudnnSetTensor4dDescriptor(xd, nchw, type, SAMPLES, IN_, 4, 5));
        OK(cudnnSetTensor4dDescriptor(yd, nchw, type, SAMPLES, OUT_, 4, 5));
        OK(cudnnDeriveBNTensorDescriptor(bn, xd, CUDNN_BATCHNORM_SPATIAL));
        typed x = typed_new(t, N), z = typed_new(t, N), w = typed_new(t, OUT_ * IN_);
        typed y = typed_new(t, SAMPLES * OUT_ * PLACES), p[4];
        for (int k = 0; k < 4; k++)
            p[k] = typed_new(CUDA_R_32F, IN_); /* scale bias mean variance */
        for (int c = 0; c < IN_; c++) ((float *)p[3].raw)[c] = 0.25f + (float)c;
        typed_push(&p[3]);
        at("batch norm of %s", typed_name(t));
        ref r = typed_ref(&z);
        for (int e = 0; e < N; e++) {
            int c = e / PLACES % IN_;
            double centred = x.h[e] - p[2].h[c], inv = 1 / sqrt(p[3].h[c] + 1e-3);
            r.want[e] = centred * inv * p[0].h[c] + p[1].h[c];
            r.tol[e] = 1.01 * typed_u(t) * fabs(r.want[e]) + 1e-5;
        }
        OK(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &nil, xd,
                                                   x.dev, xd, z.dev, bn, p[0].dev, p[1].dev,
                                                   p[2].dev, p[3].dev, 1e-3));
        typed_expect(&z, &r, "y");
        at("convolution of %s", typed_name(t));
        OK(cudnnCreateFilterDescriptor(&wd));
        OK(cudnnSetFilter4dDescriptor(wd, type, nchw, OUT_, IN_, 1, 1));
        OK(cudnnCreateConvolutionDescriptor(&conv));
        OK(cudnnSetConvolution2dDescriptor(conv, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                           CUDNN_DATA_FLOAT));
        typed_nan(&y);
        r = typed_ref(&y);
        for (int e = 0; e < SAMPLES * OUT_ * PLACES; e++) {
            int s = e / PLACES / OUT_, k = e / PLACES % OUT_;
            double sum = 0;
            for (int c = 0; c < IN_; c++)
                sum += w.h[k * IN_ + c] * x.h[(s * IN_ + c) * PLACES + e % PLACES];
            r.want[e] = sum;
            r.tol[e] = 1.01 * typed_u(t) * fabs(sum) + 1e-5;
        }
        OK(cudnnConvolutionForward(handle, &one, xd, x.dev, wd, w.dev, conv,
                                   CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &nil, yd,
                                   y.dev));
        typed_expect(&y, &r, "y");
        OK(cudnnDestroyFilterDescriptor(wd));
        OK(cudnnDestroyConvolutionDescriptor(conv));
        OK(cudnnDestroyTensorDescriptor(xd));
        OK(cudnnDestroyTensorDescriptor(yd));
        OK(cudnnDestroyTensorDescriptor(bn));
        typed_free(&x), typed_free(&y), typed_free(&z), typed_free(&w);
        for (int k = 0; k < 4; k++) typed_free(&p[k]);
    }
}
END_TEST

/* What is dropped is 0, what is kept is scaled; the gradient goes the same way; the share is the
 * rate; the same seed drops the same, a second call drops others, a restored state goes on. */
START_TEST(dropout_drops_its_share_and_remembers_which)
{
    static const int big[] = {4, 5, 25, 20}; /* 10000 elements: 5 standard deviations are 0.025 */
    open_handle(113);
    for (int i = 0; i < 8; i++) {
        prec p = i & 1 ? F64 : F32;
        float rate = i >> 1 == 0 ? 0 : i >> 1 == 1 ? 0.25f : i >> 1 == 2 ? 0.5f : 1;
        at("dropout %s rate %g", PREC_NAME(p), (double)rate);
        tensor x = tensor_new(p, 4, big, PACKED, 0.5, 1), y = tensor_new(p, 4, big, PACKED, 0, 0);
        size_t state_bytes, bytes;
        void *states, *reserve[4];
        OK(cudnnDropoutGetStatesSize(handle, &state_bytes));
        OK(cudnnDropoutGetReserveSpaceSize(x.desc, &bytes));
        CUDA(cudaMalloc(&states, state_bytes));
        for (int k = 0; k < 4; k++) CUDA(cudaMalloc(&reserve[k], bytes));
        cudnnDropoutDescriptor_t d, again;
        OK(cudnnCreateDropoutDescriptor(&d));
        OK(cudnnCreateDropoutDescriptor(&again));
        double *first = malloc(x.a.n * sizeof *first),
               scale = rate < 1 ? 1 / (1 - (double)rate) : 0;
        ck_assert_ptr_nonnull(first);
        int dropped[4] = {0}, moved[4] = {0};
        for (int k = 0; k < 4; k++) { /* seeded, again with that seed, on, restored and on */
            if (k < 2) OK(cudnnSetDropoutDescriptor(d, handle, rate, states, state_bytes, 42));
            if (k == 3)
                OK(cudnnRestoreDropoutDescriptor(again, handle, rate, states, state_bytes, 42));
            OK(cudnnDropoutForward(handle, k == 3 ? again : d, x.desc, x.a.dev, y.desc, y.a.dev,
                                   reserve[k], bytes));
            arr_pull(&y.a);
            for (int e = 0; e < count_of(&x); e++) {
                double v = y.a.h[e], kept = scale * x.a.h[e];
                ck_assert_msg(v == 0 || fabs(v - kept) <= 4 * U(p) * kept,
                              "%s: element %d: got %g of %g", where, e, v, x.a.h[e]);
                dropped[k] += v == 0;
                moved[k] += k > 0 && (v == 0) != (first[e] == 0);
                if (k == 0) first[e] = v;
            }
            ref r = ref_of(&y.a); /* of dy = x the gradient is y */
            OK(cudnnDropoutBackward(handle, d, x.desc, x.a.dev, y.desc, y.a.dev, reserve[k],
                                    bytes));
            expect(&y.a, &r, "dx");
            ck_assert_msg(fabs(dropped[k] / 10000.0 - (double)rate) < 0.025, "%s: %d dropped",
                          where, dropped[k]);
        }
        ck_assert_int_eq(moved[1], 0);
        if (rate > 0 && rate < 1) ck_assert(moved[2] > 1000 && moved[3] > 1000);
        float got_rate;
        void *got_states;
        unsigned long long seed_;
        OK(cudnnGetDropoutDescriptor(d, handle, &got_rate, &got_states, &seed_));
        ck_assert(got_rate == rate && got_states == states && seed_ == 42);
        REFUSED(cudnnSetDropoutDescriptor(d, handle, rate, states, state_bytes - 1, 42), BAD_PARAM);
        REFUSED(cudnnSetDropoutDescriptor(d, handle, 1.5f, states, state_bytes, 42), BAD_PARAM);
        REFUSED(cudnnSetDropoutDescriptor(NULL, handle, rate, states, state_bytes, 42), BAD_PARAM);
        REFUSED(
            cudnnDropoutForward(handle, d, x.desc, x.a.dev, y.desc, y.a.dev, reserve[0], bytes - 1),
            BAD_PARAM);
        REFUSED(cudnnDropoutForward(NULL, d, x.desc, x.a.dev, y.desc, y.a.dev, reserve[0], bytes),
                BAD_PARAM);
        free(first);
        OK(cudnnDestroyDropoutDescriptor(d));
        OK(cudnnDestroyDropoutDescriptor(again));
        CUDA(cudaFree(states));
        for (int k = 0; k < 4; k++) CUDA(cudaFree(reserve[k]));
        tensor_free(&x), tensor_free(&y);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_half.def"
};
CASE_MAIN("cudnn_half")
