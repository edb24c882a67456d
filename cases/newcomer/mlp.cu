/* mlp.cu - a perceptron with one hidden layer learns two spirals: cuBLAS for the products, cuDNN
 * for the activation and the softmax. */
#include <cublas_v2.h>
#include <cudnn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call)                                                                  \
    do {                                                                            \
        cudaError_t e = (call);                                                     \
        if (e != cudaSuccess) {                                                     \
            printf("%s:%d: CUDA: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(EXIT_FAILURE);                                                     \
        }                                                                           \
    } while (0)
#define CUBLAS(call)                                                                     \
    do {                                                                                 \
        cublasStatus_t e = (call);                                                       \
        if (e != CUBLAS_STATUS_SUCCESS) {                                                \
            printf("%s:%d: cuBLAS: %s\n", __FILE__, __LINE__, cublasGetStatusString(e)); \
            exit(EXIT_FAILURE);                                                          \
        }                                                                                \
    } while (0)
#define CUDNN(call)                                                                   \
    do {                                                                              \
        cudnnStatus_t e = (call);                                                     \
        if (e != CUDNN_STATUS_SUCCESS) {                                              \
            printf("%s:%d: cuDNN: %s\n", __FILE__, __LINE__, cudnnGetErrorString(e)); \
            exit(EXIT_FAILURE);                                                       \
        }                                                                             \
    } while (0)

enum { POINTS = 256, IN = 3, HIDDEN = 64, OUT = 2, EPOCHS = 600 };

/* dlogits = (probability - one hot) / POINTS, column by column */
__global__ void minus_target(float *p, const int *label)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= POINTS) return;
    p[i * OUT + label[i]] -= 1;
    for (int k = 0; k < OUT; k++) p[i * OUT + k] /= POINTS;
}

static float *device_copy(const float *from, size_t n)
{
    float *p;
    CUDA(cudaMalloc((void **)&p, n * sizeof(float)));
    if (from)
        CUDA(cudaMemcpy(p, from, n * sizeof(float), cudaMemcpyHostToDevice));
    else
        CUDA(cudaMemset(p, 0, n * sizeof(float)));
    return p;
}

int main(void)
{
    static float x[POINTS * IN], w1[HIDDEN * IN], w2[OUT * HIDDEN], probability[POINTS * OUT];
    static int label[POINTS];
    srand(7);
    for (int i = 0; i < POINTS; i++) { /* columns: x, y, 1 */
        float t = (i / 2) / (float)(POINTS / 2), angle = 5 * t + (i % 2) * 3.14159265f;
        x[i * IN] = t * cosf(angle);
        x[i * IN + 1] = t * sinf(angle);
        x[i * IN + 2] = 1;
        label[i] = i % 2;
    }
    for (int i = 0; i < HIDDEN * IN; i++) w1[i] = 6 * (rand() / (float)RAND_MAX - 0.5f);
    for (int i = 0; i < OUT * HIDDEN; i++) w2[i] = rand() / (float)RAND_MAX - 0.5f;
    float *dx = device_copy(x, POINTS * IN), *dw1 = device_copy(w1, HIDDEN * IN);
    float *dw2 = device_copy(w2, OUT * HIDDEN), *h = device_copy(NULL, POINTS * HIDDEN);
    float *a = device_copy(NULL, POINTS * HIDDEN), *logits = device_copy(NULL, POINTS * OUT);
    float *p = device_copy(NULL, POINTS * OUT), *da = device_copy(NULL, POINTS * HIDDEN);
    float *dh = device_copy(NULL, POINTS * HIDDEN);
    int *dlabel;
    CUDA(cudaMalloc((void **)&dlabel, sizeof label));
    CUDA(cudaMemcpy(dlabel, label, sizeof label, cudaMemcpyHostToDevice));

    cublasHandle_t blas;
    cudnnHandle_t dnn;
    cudnnTensorDescriptor_t hidden, out;
    cudnnActivationDescriptor_t tanh_;
    CUBLAS(cublasCreate(&blas));
    CUDNN(cudnnCreate(&dnn));
    CUDNN(cudnnCreateTensorDescriptor(&hidden));
    CUDNN(cudnnSetTensor4dDescriptor(hidden, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, POINTS, HIDDEN, 1,
                                     1));
    CUDNN(cudnnCreateTensorDescriptor(&out));
    CUDNN(cudnnSetTensor4dDescriptor(out, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, POINTS, OUT, 1, 1));
    CUDNN(cudnnCreateActivationDescriptor(&tanh_));
    CUDNN(cudnnSetActivationDescriptor(tanh_, CUDNN_ACTIVATION_TANH, CUDNN_PROPAGATE_NAN, 0));

    const float one = 1, zero = 0, step = -2.0f;
    float first = 0, last = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        /* h = w1 x, a = tanh h, logits = w2 a; matrices are column-major: a point is a column */
        CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, HIDDEN, POINTS, IN, &one, dw1, HIDDEN,
                           dx, IN, &zero, h, HIDDEN));
        CUDNN(cudnnActivationForward(dnn, tanh_, &one, hidden, h, &zero, hidden, a));
        CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, OUT, POINTS, HIDDEN, &one, dw2, OUT, a,
                           HIDDEN, &zero, logits, OUT));
        CUDNN(cudnnSoftmaxForward(dnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one,
                                  out, logits, &zero, out, p));
        CUDA(cudaMemcpy(probability, p, sizeof probability, cudaMemcpyDeviceToHost));
        float loss = 0;
        for (int i = 0; i < POINTS; i++) loss -= logf(probability[i * OUT + label[i]]) / POINTS;
        if (epoch == 0) first = loss;
        last = loss;
        minus_target<<<(POINTS + 127) / 128, 128>>>(p, dlabel);
        CUDA(cudaGetLastError());
        CUBLAS(cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, HIDDEN, POINTS, OUT, &one, dw2, OUT, p,
                           OUT, &zero, da, HIDDEN));
        CUDNN(cudnnActivationBackward(dnn, tanh_, &one, hidden, a, hidden, da, hidden, h, &zero,
                                      hidden, dh));
        CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, OUT, HIDDEN, POINTS, &step, p, OUT, a,
                           HIDDEN, &one, dw2, OUT));
        CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, HIDDEN, IN, POINTS, &step, dh, HIDDEN,
                           dx, IN, &one, dw1, HIDDEN));
    }
    int right = 0;
    for (int i = 0; i < POINTS; i++) right += probability[i * OUT + label[i]] > 0.5f;
    printf("loss %.3f to %.3f, %d of %d right\n", first, last, right, POINTS);
    int good = last < 0.3f * first && right > POINTS * 95 / 100;
    printf(good ? "PASSED\n" : "FAILED\n");
    CUDNN(cudnnDestroyActivationDescriptor(tanh_));
    CUDNN(cudnnDestroyTensorDescriptor(hidden));
    CUDNN(cudnnDestroyTensorDescriptor(out));
    CUDNN(cudnnDestroy(dnn));
    CUBLAS(cublasDestroy(blas));
    CUDA(cudaDeviceReset());
    return !good;
}
