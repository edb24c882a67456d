/* standin.c - see standin.h. Also what an allocation inside an allocation looks like, and a real
 * failure: 2^62 bytes are more than any card has. */
#include "standin.h"
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdint.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

int standin_calls[OP_CALLS];
int standin_last_error;

#define COUNT(name) __atomic_fetch_add(&standin_calls[OP_ID_##name], 1, __ATOMIC_RELAXED)
#define PLAIN(type, name, parameters) \
    type name parameters              \
    {                                 \
        COUNT(name);                  \
        return (type)0;               \
    }
#define ALLOC(name, parameters, arguments, bytes, live, stream, ...) \
    cudaError_t name parameters                                      \
    {                                                                \
        COUNT(name);                                                 \
        if ((size_t)(bytes) != (size_t)1 << 62) return cudaSuccess;  \
        standin_last_error = 2;                                      \
        return cudaErrorMemoryAllocation;                            \
    }
#define PITCHED(name, parameters, ...)                      PLAIN(cudaError_t, name, parameters)
#define PINNED(name, parameters, ...)                       PLAIN(cudaError_t, name, parameters)
#define RELEASE(name, parameters, ...)                      PLAIN(cudaError_t, name, parameters)
#define COPY(name, parameters, ...)                         PLAIN(cudaError_t, name, parameters)
#define SET(name, parameters, ...)                          PLAIN(cudaError_t, name, parameters)
#define LAUNCH(name, parameters, ...)                       PLAIN(cudaError_t, name, parameters)
#define CALL(name, parameters, ...)                         PLAIN(cudaError_t, name, parameters)
#define BLAS(name, parameters, ...)                         PLAIN(cublasStatus_t, name, parameters)
#define GEMM(name, parameters, ...)                         PLAIN(cublasStatus_t, name, parameters)
#define DNN(name, parameters, ...)                          PLAIN(cudnnStatus_t, name, parameters)
#define DESCRIPTOR(name, parameters, ...)                   PLAIN(cudnnStatus_t, name, parameters)
#define DRIVER_ALLOC(name, asked, since, parameters, ...)   PLAIN(CUresult, name, parameters)
#define DRIVER_RELEASE(name, asked, since, parameters, ...) PLAIN(CUresult, name, parameters)
#define DRIVER_CALL(name, asked, since, parameters, ...)    PLAIN(CUresult, name, parameters)
#include "calls.def"

cudaError_t cudaGetLastError(void)
{
    int e = standin_last_error;
    standin_last_error = 0;
    return (cudaError_t)e;
}
cudaError_t cudaPeekAtLastError(void)
{
    return (cudaError_t)standin_last_error;
}
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    *free_bytes = (size_t)6 << 30;
    *total = (size_t)8 << 30;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *d)
{
    *d = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}
