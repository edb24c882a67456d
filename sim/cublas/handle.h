/* handle.h - what the files of the simulated cuBLAS share. */
#ifndef SIM_CUBLAS_HANDLE_H
#define SIM_CUBLAS_HANDLE_H
#include "live.h"
#include "simdev.h"
#include <cublas_v2.h>

#define API __attribute__((visibility("default")))

struct cublasContext {
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasAtomicsMode_t atomics_mode;
    cublasMath_t math_mode;
    int sm_target;
    void *workspace; /* taken from the device, invisible to hooks of the runtime */
};

/* Leaves the calling function when h is no handle, or none any more. */
#define HANDLE() \
    if (!sim_live_is(h, SIM_BLAS_HANDLE)) return CUBLAS_STATUS_NOT_INITIALIZED
enum { SIM_BLAS_HANDLE = 1 };

/* CUBLAS_STATUS_SUCCESS, or why no work can be given to this handle. */
cublasStatus_t sim_blas_check(cublasHandle_t h);
/* A scalar by the handle's pointer mode. */
cublasStatus_t sim_blas_scalar(cublasHandle_t h, const void *p, size_t bytes, void *out);
/* A result by the handle's pointer mode. */
cublasStatus_t sim_blas_give(cublasHandle_t h, void *to, const void *value, size_t bytes);
/* Host view of a device range; a bad one leaves an illegal address pending on the device. */
#define RANGE(p, bytes, write) sim_device_range((p), (bytes), (write))

/* Leaves the calling function with what the handle's check says, if that is no success. */
#define LIVE()                             \
    cublasStatus_t st = sim_blas_check(h); \
    if (st != CUBLAS_STATUS_SUCCESS) return st
#define TRY(call) \
    if ((st = (call)) != CUBLAS_STATUS_SUCCESS) return st

static inline int sim_blas_one(int x) /* a leading dimension is at least 1 */
{
    return x > 1 ? x : 1;
}

static inline int sim_blas_op(cublasOperation_t t)
{
    return t == CUBLAS_OP_N || t == CUBLAS_OP_T || t == CUBLAS_OP_C;
}

static inline int sim_blas_fill(cublasFillMode_t u)
{
    return u == CUBLAS_FILL_MODE_LOWER || u == CUBLAS_FILL_MODE_UPPER;
}

/* Bytes that n elements with this stride span. */
static inline size_t sim_blas_span(int64_t n, int64_t inc, size_t size)
{
    return n > 0 ? (size_t)((n - 1) * (inc < 0 ? -inc : inc) + 1) * size : 0;
}

/* Bytes of a column-major matrix. */
static inline size_t sim_blas_extent(int rows, int columns, int ld, size_t size)
{
    return rows > 0 && columns > 0 ? ((size_t)ld * (size_t)(columns - 1) + (size_t)rows) * size : 0;
}

/* Offset of element i of n: a negative stride runs from the far end, as in Fortran. */
static inline int64_t sim_blas_nth(int64_t i, int64_t n, int64_t inc)
{
    return inc >= 0 ? i * inc : (i - (n - 1)) * inc;
}

/* Sizes and leading dimensions of a product, as the documentation lists them. */
cublasStatus_t sim_gemm_shape(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              int lda, int ldb, int ldc);

/* A product C = alpha op(A) op(B) + beta C; the types as cublasGemmEx has them. */
typedef struct sim_gemm {
    cublasOperation_t ta, tb;
    int m, n, k;
    const void *alpha, *beta;
    int lda, ldb, ldc;
    cudaDataType a, b, c;
    cublasComputeType_t compute;
} sim_gemm;
cublasStatus_t sim_gemm_one(cublasHandle_t h, const sim_gemm *g, const void *A, const void *B,
                            void *C);
cublasStatus_t sim_gemm_strided(cublasHandle_t h, const sim_gemm *g, const void *A, long long sa,
                                const void *B, long long sb, void *C, long long sc, int count);
/* The arrays of addresses lie on the device. */
cublasStatus_t sim_gemm_listed(cublasHandle_t h, const sim_gemm *g, const void *const *A,
                               const void *const *B, void *const *C, int count);

#endif
