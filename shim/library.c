/* library.c - wrappers around cuBLAS and cuDNN: their own codes; the runtime's last error stays
 * clean. */
#define _GNU_SOURCE
#include "state.h"
#include <cublas_v2.h>
#include <cudnn.h>
#include <string.h>

static int library_code(const op_rule *r, op_lib lib)
{
    if (r->action == OP_CODE) return r->code;
    return lib == OP_CUBLAS ? CUBLAS_STATUS_ALLOC_FAILED
                            : CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

static long changed(const op_rule *r, const char *field, long value, long m, long n, long k)
{
    if (r->action != OP_SHAPE || strcmp(r->field, field)) return value;
    return (*r->base == 'm' ? m : *r->base == 'n' ? n : *r->base == 'k' ? k : 0) + r->value;
}

#define GEMM(fn_name, type)                                                                     \
    API cublasStatus_t fn_name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,    \
                               int m, int n, int k, const type *al, const type *A, int lda,     \
                               const type *B, int ldb, const type *be, type *C, int ldc)        \
    {                                                                                           \
        PASS_IF_INSIDE(REAL(fn_name)(h, ta, tb, m, n, k, al, A, lda, B, ldb, be, C, ldc));      \
        if (op_sticky) return CUBLAS_STATUS_EXECUTION_FAILED;                                   \
        op_rule r = op_seen((op_call){.lib = OP_CUBLAS, .name = #fn_name});                     \
        if (FAULTED(r)) return (cublasStatus_t)library_code(&r, OP_CUBLAS);                     \
        int cm = (int)changed(&r, "m", m, m, n, k), cn = (int)changed(&r, "n", n, m, n, k);     \
        int ck = (int)changed(&r, "k", k, m, n, k), ca = (int)changed(&r, "lda", lda, m, n, k); \
        int cb = (int)changed(&r, "ldb", ldb, m, n, k),                                         \
            cc = (int)changed(&r, "ldc", ldc, m, n, k);                                         \
        return OUTER(REAL(fn_name)(h, ta, tb, cm, cn, ck, al, A, ca, B, cb, be, C, cc));        \
    }
GEMM(cublasSgemm_v2, float)
GEMM(cublasDgemm_v2, double)

#define LIBRARY(lib_id, st_type, fn_name, parameters, arguments)          \
    API st_type fn_name parameters                                        \
    {                                                                     \
        PASS_IF_INSIDE(REAL(fn_name) arguments);                          \
        if (op_sticky) return (st_type)(lib_id == OP_CUBLAS ? 13 : 5003); \
        op_rule r = op_seen((op_call){.lib = lib_id, .name = #fn_name});  \
        if (FAULTED(r)) return (st_type)library_code(&r, lib_id);         \
        return OUTER(REAL(fn_name) arguments);                            \
    }
#define DNN(name, parameters, arguments) \
    LIBRARY(OP_CUDNN, cudnnStatus_t, name, parameters, arguments)
LIBRARY(OP_CUBLAS, cublasStatus_t, cublasCreate_v2, (cublasHandle_t * h), (h))
DNN(cudnnCreate, (cudnnHandle_t * h), (h))
DNN(cudnnSoftmaxForward,
    (cudnnHandle_t h, cudnnSoftmaxAlgorithm_t a, cudnnSoftmaxMode_t m, const void *al,
     const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t yd, void *y),
    (h, a, m, al, xd, x, be, yd, y))
DNN(cudnnActivationForward,
    (cudnnHandle_t h, cudnnActivationDescriptor_t a, const void *al,
     const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t yd, void *y),
    (h, a, al, xd, x, be, yd, y))
DNN(cudnnActivationBackward,
    (cudnnHandle_t h, cudnnActivationDescriptor_t a, const void *al,
     const cudnnTensorDescriptor_t yd, const void *y, const cudnnTensorDescriptor_t dyd,
     const void *dy, const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t dxd, void *dx),
    (h, a, al, yd, y, dyd, dy, xd, x, be, dxd, dx))
DNN(cudnnSetTensor4dDescriptor,
    (cudnnTensorDescriptor_t t, cudnnTensorFormat_t f, cudnnDataType_t d, int n, int c, int hh,
     int w),
    (t, f, d, n, c, hh, w))