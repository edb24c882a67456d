/* handles.c - handles and descriptors that were destroyed, or are of another kind: every call
 * refuses them, and a second destroy frees nothing. The codes are those that NVIDIA's libraries
 * give for NULL: cuDNN BAD_PARAM itself, none of its finer ones. */
#include "case.h"
#include <cublas_v2.h>
#include <cudnn.h>
#include <pthread.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define GIVES(call, want)                                                                   \
    do {                                                                                    \
        int got_ = (int)(call);                                                             \
        ck_assert_msg(got_ == (int)(want), "%s gave %d, not %d", #call, got_, (int)(want)); \
    } while (0)
#define OK(call)  GIVES(call, 0)
#define BAD(call) GIVES(call, CUDNN_STATUS_BAD_PARAM)

START_TEST(a_cublas_handle_that_was_destroyed_is_refused_by_every_call)
{
    cublasHandle_t h, next;
    cudaStream_t stream;
    cublasMath_t math;
    int v;
    float x = 1, *p = NULL;
    OK(cudaMalloc((void **)&p, 64));
    OK(cublasCreate(&h));
    OK(cublasSscal(h, 4, &x, p, 1));
    /* at once: what the assertions allocate would overwrite memory that was given back */
    int first = (int)cublasDestroy(h), used = (int)cublasSetStream(h, NULL);
    ck_assert_msg(first == 0 && used == CUBLAS_STATUS_NOT_INITIALIZED, "%d, %d", first, used);
    cublasHandle_t dead[] = {h, NULL, (cublasHandle_t)(void *)&x, h};
    for (int i = 0; i < COUNT(dead); i++) {
        if (i == COUNT(dead) - 1)
            OK(cublasCreate(&next)); /* does not come to lie where the other was */
        GIVES(cublasSetStream(dead[i], NULL), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasDestroy(dead[i]), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasGetStream(dead[i], &stream), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSetWorkspace(dead[i], NULL, 0), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSetMathMode(dead[i], CUBLAS_DEFAULT_MATH), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasGetMathMode(dead[i], &math), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasGetSmCountTarget(dead[i], &v), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSscal(dead[i], 4, &x, p, 1), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSscal_64(dead[i], 4, &x, p, 1), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasIsamax(dead[i], 4, p, 1, &v), CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSgemm(dead[i], CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, p, 1, p, 1, &x, p, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
        GIVES(cublasSgemv(dead[i], CUBLAS_OP_N, 1, 1, &x, p, 1, p, 1, &x, p, 1),
              CUBLAS_STATUS_NOT_INITIALIZED);
    }
    OK(cublasSscal(next, 4, &x, p, 1));
    OK(cublasDestroy(next));
    GIVES(cublasDestroy(next), CUBLAS_STATUS_NOT_INITIALIZED);
}
END_TEST

START_TEST(a_cudnn_handle_that_was_destroyed_is_refused_by_every_call)
{
    cudnnHandle_t h;
    cudaStream_t stream;
    cudnnTensorDescriptor_t t;
    float one = 1, zero = 0, *p = NULL;
    size_t bytes;
    OK(cudaMalloc((void **)&p, 64));
    OK(cudnnCreate(&h));
    OK(cudnnCreateTensorDescriptor(&t));
    OK(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 4, 1, 1));
    OK(cudnnAddTensor(h, &one, t, p, &zero, t, p));
    OK(cudnnDestroy(h));
    BAD(cudnnDestroy(h));
    OK(cudnnDestroy(NULL));
    cudnnHandle_t dead[] = {h, NULL, (cudnnHandle_t)t};
    for (int i = 0; i < COUNT(dead); i++) {
        BAD(cudnnSetStream(dead[i], NULL));
        BAD(cudnnGetStream(dead[i], &stream));
        BAD(cudnnAddTensor(dead[i], &one, t, p, &zero, t, p));
        BAD(cudnnSetTensor(dead[i], t, p, &one));
        BAD(cudnnDropoutGetStatesSize(dead[i], &bytes));
        BAD(cudnnSoftmaxForward(dead[i], CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, t, p,
                                &zero, t, p));
    }
    OK(cudnnDestroyTensorDescriptor(t));
}
END_TEST

/* One of each kind, each used by a call that sets it and by one that reads it. */
START_TEST(a_descriptor_that_was_destroyed_is_refused)
{
    cudnnHandle_t h;
    cudnnTensorDescriptor_t t, x;
    cudnnFilterDescriptor_t f;
    cudnnConvolutionDescriptor_t c;
    cudnnActivationDescriptor_t a;
    cudnnPoolingDescriptor_t p;
    cudnnReduceTensorDescriptor_t r;
    cudnnOpTensorDescriptor_t o;
    cudnnDropoutDescriptor_t d;
    const cudnnDataType_t fl = CUDNN_DATA_FLOAT;
    const cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
    float one = 1, zero = 0, *at = NULL;
    size_t bytes;
    int v[4];
    OK(cudaMalloc((void **)&at, 64));
    OK(cudnnCreate(&h));
    OK(cudnnCreateTensorDescriptor(&t));
    OK(cudnnCreateTensorDescriptor(&x));
    OK(cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, fl, 1, 4, 1, 1));
    OK(cudnnCreateFilterDescriptor(&f));
    OK(cudnnCreateConvolutionDescriptor(&c));
    OK(cudnnCreateActivationDescriptor(&a));
    OK(cudnnCreatePoolingDescriptor(&p));
    OK(cudnnCreateReduceTensorDescriptor(&r));
    OK(cudnnCreateOpTensorDescriptor(&o));
    OK(cudnnCreateDropoutDescriptor(&d));
    for (int dead = 0; dead < 2; dead++) {
        int want = dead ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
        GIVES(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, fl, 1, 4, 1, 1), want);
        GIVES(cudnnGetTensorSizeInBytes(t, &bytes), want);
        GIVES(cudnnAddTensor(h, &one, t, at, &zero, x, at), want);
        GIVES(cudnnSetFilter4dDescriptor(f, fl, CUDNN_TENSOR_NCHW, 4, 4, 1, 1), want);
        GIVES(cudnnGetFilterSizeInBytes(f, &bytes), want);
        GIVES(cudnnSetConvolution2dDescriptor(c, 0, 0, 1, 1, 1, 1, CUDNN_CONVOLUTION, fl), want);
        GIVES(cudnnSetConvolutionGroupCount(c, 1), want);
        GIVES(cudnnGetConvolution2dForwardOutputDim(c, x, f, v, v + 1, v + 2, v + 3), want);
        GIVES(cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_RELU, nan, 0), want);
        GIVES(cudnnActivationForward(h, a, &one, x, at, &zero, x, at), want);
        GIVES(cudnnSetPooling2dDescriptor(p, CUDNN_POOLING_MAX, nan, 1, 1, 0, 0, 1, 1), want);
        GIVES(cudnnPoolingForward(h, p, &one, x, at, &zero, x, at), want);
        GIVES(cudnnSetReduceTensorDescriptor(r, CUDNN_REDUCE_TENSOR_ADD, fl, nan,
                                             CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES),
              want);
        GIVES(cudnnGetReductionWorkspaceSize(h, r, x, x, &bytes), want);
        GIVES(cudnnSetOpTensorDescriptor(o, CUDNN_OP_TENSOR_ADD, fl, nan), want);
        GIVES(cudnnOpTensor(h, o, &one, x, at, &one, x, at, &zero, x, at), want);
        GIVES(cudnnSetDropoutDescriptor(d, h, 0, NULL, 0, 1), want);
        GIVES(cudnnDestroyTensorDescriptor(t), want);
        GIVES(cudnnDestroyFilterDescriptor(f), want);
        GIVES(cudnnDestroyConvolutionDescriptor(c), want);
        GIVES(cudnnDestroyActivationDescriptor(a), want);
        GIVES(cudnnDestroyPoolingDescriptor(p), want);
        GIVES(cudnnDestroyReduceTensorDescriptor(r), want);
        GIVES(cudnnDestroyOpTensorDescriptor(o), want);
        GIVES(cudnnDestroyDropoutDescriptor(d), want);
    }
    /* of another kind, and NULL */
    BAD(cudnnDestroyFilterDescriptor((cudnnFilterDescriptor_t)x));
    BAD(cudnnSetActivationDescriptor((cudnnActivationDescriptor_t)x, CUDNN_ACTIVATION_RELU, nan,
                                     0));
    BAD(cudnnSetTensor4dDescriptor(NULL, CUDNN_TENSOR_NCHW, fl, 1, 1, 1, 1));
    BAD(cudnnSetConvolutionGroupCount(NULL, 1));
    OK(cudnnDestroyPoolingDescriptor(NULL));
    OK(cudnnDestroyTensorDescriptor(x));
    OK(cudnnDestroy(h));
}
END_TEST

enum { THREADS = 4, ROUNDS = 3000, EACH = 20 };

static void *come_and_go(void *arg)
{
    cudnnTensorDescriptor_t t[EACH];
    intptr_t wrong = 0;
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < EACH; k++) wrong += cudnnCreateTensorDescriptor(&t[k]) != 0;
        for (int k = 0; k < EACH; k++)
            wrong += cudnnSetTensor4dDescriptor(t[k], CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, k + 1,
                                                1, 1) != 0;
        for (int k = EACH; k-- > 0;) {
            size_t bytes = 0;
            wrong += cudnnGetTensorSizeInBytes(t[k], &bytes) != 0 || bytes != (size_t)(k + 1) * 4;
            wrong += cudnnDestroyTensorDescriptor(t[k]) != 0;
            wrong += cudnnDestroyTensorDescriptor(t[k]) != CUDNN_STATUS_BAD_PARAM;
        }
    }
    return (void *)wrong;
}

START_TEST(threads_make_and_destroy_descriptors_at_the_same_time)
{
    pthread_t thread[THREADS];
    void *wrong;
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(thread[i], &wrong), 0);
        ck_assert_msg(!wrong, "thread %d: %ld wrong answers", i, (long)(intptr_t)wrong);
    }
}
END_TEST

static const case_entry cases[] = {
#include "handles.def"
};
CASE_MAIN("handles")
