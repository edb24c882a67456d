/* cnn.cu - a small convolutional net learns which way the bars of an image run: cuDNN for the
 * convolution, the pooling, dropout and their gradients, cuBLAS for the last layer. */
#include <cublas_v2.h>
#include <cudnn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define GOOD(call, type, success)                                             \
    do {                                                                      \
        type e = (call);                                                      \
        if (e != success) {                                                   \
            printf("%s:%d: %s gave %d\n", __FILE__, __LINE__, #call, (int)e); \
            exit(EXIT_FAILURE);                                               \
        }                                                                     \
    } while (0)
#define CUDA(call)   GOOD(call, cudaError_t, cudaSuccess)
#define CUBLAS(call) GOOD(call, cublasStatus_t, CUBLAS_STATUS_SUCCESS)
#define CUDNN(call)  GOOD(call, cudnnStatus_t, CUDNN_STATUS_SUCCESS)

enum { N = 64, SIDE = 12, MAPS = 6, POOLED = SIDE / 2, FLAT = MAPS * POOLED * POOLED, EPOCHS = 40 };

/* d = (p - t) / N for a logistic loss */
__global__ void logistic(const float *z, const float *target, float *d, float *p)
{
    int i = threadIdx.x;
    p[i] = 1 / (1 + expf(-z[i]));
    d[i] = (p[i] - target[i]) / N;
}

static float *room(size_t n)
{
    float *p;
    CUDA(cudaMalloc((void **)&p, n * sizeof *p));
    return p;
}

static cudnnTensorDescriptor_t shape(int n, int c, int h, int w)
{
    cudnnTensorDescriptor_t d;
    CUDNN(cudnnCreateTensorDescriptor(&d));
    CUDNN(cudnnSetTensor4dDescriptor(d, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, n, c, h, w));
    return d;
}

int main()
{
    std::vector<float> image(N * SIDE * SIDE), target(N), w(MAPS * 9), b(MAPS), last(FLAT), p(N);
    srand(3);
    for (int i = 0; i < N; i++) { /* bars of width 2 across or down, shifted, with noise */
        int across = i % 2, shift = rand() % 4;
        target[i] = across;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                image[(i * SIDE + y) * SIDE + x] =
                    ((across ? y : x) + shift) / 2 % 2 + 0.3f * (rand() / (float)RAND_MAX - 0.5f);
    }
    for (float &v : w) v = rand() / (float)RAND_MAX - 0.5f;
    for (float &v : last) v = 0.2f * (rand() / (float)RAND_MAX - 0.5f);

    cublasHandle_t blas;
    cudnnHandle_t dnn;
    CUBLAS(cublasCreate(&blas));
    CUDNN(cudnnCreate(&dnn));
    cudnnTensorDescriptor_t in = shape(N, 1, SIDE, SIDE), mid = shape(N, MAPS, SIDE, SIDE);
    cudnnTensorDescriptor_t small = shape(N, MAPS, POOLED, POOLED), bias = shape(1, MAPS, 1, 1);
    cudnnFilterDescriptor_t filter;
    cudnnConvolutionDescriptor_t conv;
    cudnnActivationDescriptor_t relu;
    cudnnPoolingDescriptor_t pool;
    cudnnDropoutDescriptor_t drop;
    CUDNN(cudnnCreateFilterDescriptor(&filter));
    CUDNN(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, MAPS, 1, 3, 3));
    CUDNN(cudnnCreateConvolutionDescriptor(&conv));
    CUDNN(cudnnSetConvolution2dDescriptor(conv, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT));
    CUDNN(cudnnCreateActivationDescriptor(&relu));
    CUDNN(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 0));
    CUDNN(cudnnCreatePoolingDescriptor(&pool));
    CUDNN(cudnnSetPooling2dDescriptor(pool, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 2, 2, 0, 0, 2,
                                      2));

    size_t state_bytes, kept_bytes, need, most;
    void *states, *kept, *workspace;
    CUDNN(cudnnDropoutGetStatesSize(dnn, &state_bytes));
    CUDNN(cudnnDropoutGetReserveSpaceSize(small, &kept_bytes));
    CUDA(cudaMalloc(&states, state_bytes));
    CUDA(cudaMalloc(&kept, kept_bytes));
    CUDNN(cudnnCreateDropoutDescriptor(&drop));
    CUDNN(cudnnSetDropoutDescriptor(drop, dnn, 0.2f, states, state_bytes, 5));

    cudnnConvolutionFwdAlgoPerf_t found;
    cudnnConvolutionBwdFilterAlgoPerf_t found_back;
    int count;
    CUDNN(cudnnGetConvolutionForwardAlgorithm_v7(dnn, in, filter, conv, mid, 1, &count, &found));
    CUDNN(cudnnFindConvolutionBackwardFilterAlgorithm(dnn, in, mid, conv, filter, 1, &count,
                                                      &found_back));
    CUDNN(cudnnGetConvolutionForwardWorkspaceSize(dnn, in, filter, conv, mid, found.algo, &most));
    need = found_back.memory;
    if (need > most) most = need;
    CUDA(cudaMalloc(&workspace, most));

    float *dimage = room(image.size()), *dtarget = room(N), *dw = room(w.size()), *db = room(MAPS);
    float *dlast = room(FLAT), *a = room(N * MAPS * SIDE * SIDE), *r = room(N * MAPS * SIDE * SIDE);
    float *q = room(N * FLAT), *f = room(N * FLAT), *z = room(N), *dz = room(N), *dp = room(N);
    float *gf = room(N * FLAT), *gq = room(N * FLAT), *gr = room(N * MAPS * SIDE * SIDE);
    float *ga = room(N * MAPS * SIDE * SIDE), *gw = room(w.size()), *gb = room(MAPS);
    CUBLAS(cublasSetVector(image.size(), sizeof(float), image.data(), 1, dimage, 1));
    CUBLAS(cublasSetVector(N, sizeof(float), target.data(), 1, dtarget, 1));
    CUBLAS(cublasSetVector(w.size(), sizeof(float), w.data(), 1, dw, 1));
    CUBLAS(cublasSetVector(MAPS, sizeof(float), b.data(), 1, db, 1));
    CUBLAS(cublasSetVector(FLAT, sizeof(float), last.data(), 1, dlast, 1));

    const float one = 1, zero = 0, step = -0.5f;
    float first = 0, loss = 0;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        CUDNN(cudnnConvolutionForward(dnn, &one, in, dimage, filter, dw, conv, found.algo,
                                      workspace, most, &zero, mid, a));
        CUDNN(cudnnAddTensor(dnn, &one, bias, db, &one, mid, a));
        CUDNN(cudnnActivationForward(dnn, relu, &one, mid, a, &zero, mid, r));
        CUDNN(cudnnPoolingForward(dnn, pool, &one, mid, r, &zero, small, q));
        CUDNN(cudnnDropoutForward(dnn, drop, small, q, small, f, kept, kept_bytes));
        CUBLAS(cublasSgemv(blas, CUBLAS_OP_T, FLAT, N, &one, f, FLAT, dlast, 1, &zero, z, 1));
        logistic<<<1, N>>>(z, dtarget, dz, dp);
        CUDA(cudaGetLastError());
        CUBLAS(cublasGetVector(N, sizeof(float), dp, 1, p.data(), 1));
        loss = 0;
        for (int i = 0; i < N; i++) loss -= logf(target[i] > 0 ? p[i] : 1 - p[i]) / N;
        if (epoch == 0) first = loss;

        CUBLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, FLAT, N, 1, &one, dlast, FLAT, dz, 1,
                           &zero, gf, FLAT));
        CUBLAS(cublasSgemv(blas, CUBLAS_OP_N, FLAT, N, &step, f, FLAT, dz, 1, &one, dlast, 1));
        CUDNN(cudnnDropoutBackward(dnn, drop, small, gf, small, gq, kept, kept_bytes));
        CUDNN(cudnnPoolingBackward(dnn, pool, &one, small, q, small, gq, mid, r, &zero, mid, gr));
        CUDNN(cudnnActivationBackward(dnn, relu, &one, mid, r, mid, gr, mid, a, &zero, mid, ga));
        CUDNN(cudnnConvolutionBackwardBias(dnn, &one, mid, ga, &zero, bias, gb));
        CUDNN(cudnnConvolutionBackwardFilter(dnn, &one, in, dimage, mid, ga, conv, found_back.algo,
                                             workspace, most, &zero, filter, gw));
        CUBLAS(cublasSaxpy(blas, w.size(), &step, gw, 1, dw, 1));
        CUBLAS(cublasSaxpy(blas, MAPS, &step, gb, 1, db, 1));
    }
    int right = 0;
    for (int i = 0; i < N; i++) right += (p[i] > 0.5f) == (target[i] > 0);
    printf("loss %.3f to %.3f, %d of %d right\n", first, loss, right, (int)N);
    int good = loss < 0.3f * first && right == N;
    printf(good ? "PASSED\n" : "FAILED\n");
    CUDNN(cudnnDestroy(dnn));
    CUBLAS(cublasDestroy(blas));
    CUDA(cudaDeviceReset());
    return !good;
}
