/* gemm.c - the three products of a linear map, row major, over cuBLAS (column major: everything is
 * transposed in the mind, nothing in memory); cuDNN's elementwise work in slices. */
#include "net/layers.h"

#ifdef PT_DOUBLE
#define GEMM      cublasDgemm
#define GEMM_NAME "cublasDgemm"
#define DNN_TYPE  CUDNN_DATA_DOUBLE
#else
#define GEMM      cublasSgemm
#define GEMM_NAME "cublasSgemm"
#define DNN_TYPE  CUDNN_DATA_FLOAT
#endif
#define SLICE ((int64_t)1 << 20) /* rows a call */

/* C [n, m] = op(A) op(B) + beta C, column major. */
static pt_status product(pt_device *d, pt_amp as, cublasOperation_t ta, cublasOperation_t tb, int m,
                         int n, int k, const void *a, int lda, const void *b, int ldb, real beta,
                         real *c, int ldc)
{
    const real one = 1;
    if (as == PT_AMP_OFF)
        return pt_check_at(
            __FILE__, __LINE__, PT_LIB_CUBLAS,
            (int)GEMM(d->cublas, ta, tb, m, n, k, &one, a, lda, b, ldb, &beta, c, ldc), GEMM_NAME,
            NULL, 0);
    const float one32 = 1, beta32 = (float)beta;
    cudaDataType_t t = as == PT_AMP_FP16 ? CUDA_R_16F : CUDA_R_16BF;
    return PT_CUBLAS(cublasGemmEx(d->cublas, ta, tb, m, n, k, &one32, a, t, lda, b, t, ldb, &beta32,
                                  c, CUDA_R_32F, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

static const void *row(const void *p, pt_amp as, int64_t elements)
{
    return (const char *)p + elements * (int64_t)(as == PT_AMP_OFF ? sizeof(real) : 2);
}

pt_status pt_gemm_forward(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *a,
                          const void *w, real *c)
{
    pt_status st = PT_OK;
    for (int64_t r = 0; r < rows && st == PT_OK; r += SLICE) {
        int n = (int)(rows - r < SLICE ? rows - r : SLICE);
        st = product(d, as, CUBLAS_OP_N, CUBLAS_OP_N, cout, n, cin, w, cout, row(a, as, r * cin),
                     cin, 0, c + r * cout, cout);
    }
    return st;
}

pt_status pt_gemm_input(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *dc,
                        const void *w, real *da)
{
    pt_status st = PT_OK;
    for (int64_t r = 0; r < rows && st == PT_OK; r += SLICE) {
        int n = (int)(rows - r < SLICE ? rows - r : SLICE);
        st = product(d, as, CUBLAS_OP_T, CUBLAS_OP_N, cin, n, cout, w, cout, row(dc, as, r * cout),
                     cout, 0, da + r * cin, cin);
    }
    return st;
}

pt_status pt_gemm_weight(pt_device *d, pt_amp as, int64_t rows, int cin, int cout, const void *a,
                         const void *dc, real *dw)
{
    pt_status st = PT_OK;
    for (int64_t r = 0; r < rows && st == PT_OK; r += SLICE) {
        int n = (int)(rows - r < SLICE ? rows - r : SLICE);
        st = product(d, as, CUBLAS_OP_N, CUBLAS_OP_T, cout, cin, n, row(dc, as, r * cout), cout,
                     row(a, as, r * cin), cin, 1, dw, cout);
    }
    return st;
}

static pt_status describe(cudnnTensorDescriptor_t t, int64_t rows, int c)
{
    return PT_CUDNN(cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, DNN_TYPE, (int)rows, c, 1, 1));
}

typedef enum work { RELU, RELU_BACK, LOG_SOFTMAX } work;

static pt_status sliced(pt_device *d, work what, int64_t rows, int c, const real *in, real *out)
{
    pt_status st = PT_OK;
    cudnnTensorDescriptor_t t = NULL;
    cudnnActivationDescriptor_t relu = NULL;
    const real one = 1, zero = 0;
    TRY(PT_CUDNN(cudnnCreateTensorDescriptor(&t)));
    if (what != LOG_SOFTMAX) {
        TRY(PT_CUDNN(cudnnCreateActivationDescriptor(&relu)));
        TRY(PT_CUDNN(
            cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0)));
    }
    for (int64_t r = 0; r < rows; r += SLICE) {
        int64_t n = rows - r < SLICE ? rows - r : SLICE;
        const real *x = in + r * c;
        real *y = out + r * c;
        TRY(describe(t, n, c));
        if (what == RELU)
            TRY(PT_CUDNN(cudnnActivationForward(d->cudnn, relu, &one, t, x, &zero, t, y)));
        else if (what == RELU_BACK) /* of y = max(x, 0): y > 0 exactly where x > 0 */
            TRY(PT_CUDNN(
                cudnnActivationBackward(d->cudnn, relu, &one, t, x, t, y, t, x, &zero, t, y)));
        else
            TRY(PT_CUDNN(cudnnSoftmaxForward(d->cudnn, CUDNN_SOFTMAX_LOG,
                                             CUDNN_SOFTMAX_MODE_CHANNEL, &one, t, x, &zero, t, y)));
    }
done:
    if (relu) cudnnDestroyActivationDescriptor(relu);
    if (t) cudnnDestroyTensorDescriptor(t);
    return st;
}

pt_status pt_dnn_relu(pt_device *d, int64_t rows, int c, real *x)
{
    return sliced(d, RELU, rows, c, x, x);
}

pt_status pt_dnn_relu_back(pt_device *d, int64_t rows, int c, const real *y, real *dy)
{
    return sliced(d, RELU_BACK, rows, c, y, dy);
}

pt_status pt_dnn_log_softmax(pt_device *d, int64_t rows, int c, const real *x, real *y)
{
    return sliced(d, LOG_SOFTMAX, rows, c, x, y);
}
