/* structs.h - descriptors of pooling, reductions, operations on tensors and dropout. */
#ifndef SIM_CUDNN_STRUCTS_H
#define SIM_CUDNN_STRUCTS_H
#include "internal.h"

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    int n, set; /* n: of the places */
    int window[MAX_DIMS], pad[MAX_DIMS], stride[MAX_DIMS];
};
struct cudnnReduceTensorStruct {
    cudnnReduceTensorOp_t op;
    cudnnDataType_t compute;
    cudnnNanPropagation_t nan;
    cudnnReduceTensorIndices_t indices;
    cudnnIndicesType_t type;
    int set;
};
struct cudnnOpTensorStruct {
    cudnnOpTensorOp_t op;
    cudnnDataType_t compute;
    cudnnNanPropagation_t nan;
    int set;
};
struct cudnnDropoutStruct {
    float rate;
    void *states; /* on the device */
    size_t bytes;
    unsigned long long seed;
    int set;
};

#endif
