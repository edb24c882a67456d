/* library.c - wrappers around cuBLAS and cuDNN, made from calls.def: their own codes; the runtime's
 * last error stays clean. */
#define _GNU_SOURCE
#include "wrap.h"
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <string.h>

#define BLAS_DEAD CUBLAS_STATUS_EXECUTION_FAILED
#define DNN_DEAD  CUDNN_STATUS_EXECUTION_FAILED_CUDART

static cublasStatus_t blas_fault(const op_rule *r)
{
    return r->action == OP_CODE ? (cublasStatus_t)r->code : CUBLAS_STATUS_ALLOC_FAILED;
}
static cudnnStatus_t dnn_fault(const op_rule *r)
{
    return r->action == OP_CODE ? (cudnnStatus_t)r->code
                                : CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

/* The value of a dimension after a shape fault: a number, or another dimension and an offset. */
static int changed(const op_rule *r, const char *field, int value, int m, int n, int k)
{
    if (!r || r->action != OP_SHAPE || strcmp(r->field, field)) return value;
    return (int)((*r->base == 'm' ? m : *r->base == 'n' ? n : *r->base == 'k' ? k : 0) + r->value);
}

#define BLAS(name, parameters, arguments)                                                 \
    API cublasStatus_t name parameters                                                    \
    {                                                                                     \
        PASS(name, arguments, BLAS_DEAD);                                                 \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);               \
        return FAULTED(rule_) ? TRACED(name, blas_fault(rule_), 0, 0, NULL, 1)            \
                              : TRACED(name, OUTER(REAL(name) arguments), 0, 0, NULL, 0); \
    }
#define DNN(name, parameters, arguments)                                                  \
    API cudnnStatus_t name parameters                                                     \
    {                                                                                     \
        PASS(name, arguments, DNN_DEAD);                                                  \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);               \
        return FAULTED(rule_) ? TRACED(name, dnn_fault(rule_), 0, 0, NULL, 1)             \
                              : TRACED(name, OUTER(REAL(name) arguments), 0, 0, NULL, 0); \
    }
#define GEMM(name, parameters, arguments)                                          \
    API cublasStatus_t name parameters                                             \
    {                                                                              \
        PASS(name, arguments, BLAS_DEAD);                                          \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);        \
        if (FAULTED(rule_)) return TRACED(name, blas_fault(rule_), 0, 0, NULL, 1); \
        int m0_ = m, n0_ = n, k0_ = k;                                             \
        m = changed(rule_, "m", m, m0_, n0_, k0_);                                 \
        n = changed(rule_, "n", n, m0_, n0_, k0_);                                 \
        k = changed(rule_, "k", k, m0_, n0_, k0_);                                 \
        lda = changed(rule_, "lda", lda, m0_, n0_, k0_);                           \
        ldb = changed(rule_, "ldb", ldb, m0_, n0_, k0_);                           \
        ldc = changed(rule_, "ldc", ldc, m0_, n0_, k0_);                           \
        return TRACED(name, OUTER(REAL(name) arguments), 0, 0, NULL,               \
                      rule_ && rule_->action == OP_SHAPE);                         \
    }
#define DESCRIPTOR(name, parameters, arguments)                                   \
    API cudnnStatus_t name parameters                                             \
    {                                                                             \
        PASS(name, arguments, DNN_DEAD);                                          \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);       \
        if (FAULTED(rule_)) return TRACED(name, dnn_fault(rule_), 0, 0, NULL, 1); \
        n = changed(rule_, "n", n, 0, 0, 0);                                      \
        c = changed(rule_, "c", c, 0, 0, 0);                                      \
        h = changed(rule_, "h", h, 0, 0, 0);                                      \
        w = changed(rule_, "w", w, 0, 0, 0);                                      \
        return TRACED(name, OUTER(REAL(name) arguments), 0, 0, NULL,              \
                      rule_ && rule_->action == OP_SHAPE);                        \
    }
/* products of __half, which the headers declare in C++ alone, have none */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "calls.def"
