/* wide.h - the _64 variants of calls: what fits into 32 bits is handed on; what does not is refused
 * by name, for no simulation of that size would end. */
#ifndef SIM_CUBLAS_WIDE_H
#define SIM_CUBLAS_WIDE_H
#include "handle.h"
#include <limits.h>
#include <stdio.h>

static inline int sim_blas_fit(const int64_t *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < INT_MIN || x[i] > INT_MAX) return 0;
    return 1;
}
#define FIT(...)                                 \
    sim_blas_fit((const int64_t[]){__VA_ARGS__}, \
                 sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline cublasStatus_t too_large(const char *name)
{
    fprintf(stderr, "simulated device: %s: a size or stride of 2^31 or more is not supported\n",
            name);
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

#endif
