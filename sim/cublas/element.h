/* element.h - elements of the types that callers name by cudaDataType, as doubles, which hold each
 * of them. */
#ifndef SIM_CUBLAS_ELEMENT_H
#define SIM_CUBLAS_ELEMENT_H
#include "half.h"
#include <library_types.h>
#include <stddef.h>

static inline size_t sim_element_size(cudaDataType t)
{
    return t == CUDA_R_64F ? 8 : t == CUDA_R_8I ? 1 : t == CUDA_R_32F || t == CUDA_R_32I ? 4 : 2;
}

static inline double sim_element(cudaDataType t, const void *p, int64_t i)
{
    switch (t) {
    case CUDA_R_64F: return ((const double *)p)[i];
    case CUDA_R_32F: return ((const float *)p)[i];
    case CUDA_R_16F: return sim_half_float(((const uint16_t *)p)[i]);
    case CUDA_R_16BF: return sim_bfloat_float(((const uint16_t *)p)[i]);
    case CUDA_R_32I: return ((const int32_t *)p)[i];
    default: return ((const int8_t *)p)[i];
    }
}

/* Of a floating type. */
static inline void sim_element_put(cudaDataType t, void *p, int64_t i, double x)
{
    if (t == CUDA_R_64F)
        ((double *)p)[i] = x;
    else if (t == CUDA_R_32F)
        ((float *)p)[i] = (float)x;
    else
        ((uint16_t *)p)[i] =
            t == CUDA_R_16F ? sim_float_half((float)x) : sim_float_bfloat((float)x);
}

#endif
