/* handle.h - what the files of the simulated cuBLAS share. */
#ifndef SIM_CUBLAS_HANDLE_H
#define SIM_CUBLAS_HANDLE_H
#include "simdev.h"
#include <cublas_v2.h>

#define API __attribute__((visibility("default")))

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math_mode;
    void *workspace; /* taken from the device, invisible to hooks of the runtime */
    int magic;
};
#define HANDLE_MAGIC 0x63624c61

/* CUBLAS_STATUS_SUCCESS, or why no work can be given to this handle. */
cublasStatus_t sim_blas_check(cublasHandle_t h);
/* A scalar by the handle's pointer mode; bytes 4 or 8. */
cublasStatus_t sim_blas_scalar(cublasHandle_t h, const void *p, size_t bytes, void *out);
/* Host view of a device range; a bad one leaves an illegal address pending on the device. */
#define RANGE(p, bytes, write) sim_device_range((p), (bytes), (write))

#endif
