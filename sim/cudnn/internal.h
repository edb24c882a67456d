/* internal.h - what the files of the simulated cuDNN share. */
#ifndef SIM_CUDNN_INTERNAL_H
#define SIM_CUDNN_INTERNAL_H
#include "live.h"
#include "simdev.h"
#include <cudnn.h>

#define API      __attribute__((visibility("default")))
#define MAX_DIMS 8

struct cudnnContext {
    cudaStream_t stream;
    void *workspace;
};
struct cudnnTensorStruct {
    cudnnDataType_t type;
    int n, set; /* dimensions; set: a Set call has succeeded */
    int dim[MAX_DIMS], stride[MAX_DIMS];
};
struct cudnnActivationStruct {
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coef;
    int set;
    double beta; /* of SWISH */
};
struct cudnnFilterStruct {
    struct cudnnTensorStruct t; /* K, C, and the places */
    cudnnTensorFormat_t format;
};
struct cudnnConvolutionStruct {
    int n, set, groups; /* n: of the places */
    int pad[MAX_DIMS], stride[MAX_DIMS], dilation[MAX_DIMS];
    cudnnConvolutionMode_t mode;
    cudnnDataType_t compute;
    cudnnMathType_t math;
    cudnnReorderType_t reorder;
};

/* Whether a handle or a descriptor is NULL, or not there any more, or of another kind. */
enum sim_dnn_kind {
    KIND_HANDLE = 1,
    KIND_TENSOR,
    KIND_FILTER,
    KIND_CONVOLUTION,
    KIND_ACTIVATION,
    KIND_POOLING,
    KIND_REDUCTION,
    KIND_OPERATION,
    KIND_DROPOUT
};
#define KIND_IS(type, kind) struct type * : kind, const struct type * : kind
#define KIND_OF(p)                                                                             \
    _Generic((p), KIND_IS(cudnnContext, KIND_HANDLE), KIND_IS(cudnnTensorStruct, KIND_TENSOR), \
             KIND_IS(cudnnFilterStruct, KIND_FILTER),                                          \
             KIND_IS(cudnnConvolutionStruct, KIND_CONVOLUTION),                                \
             KIND_IS(cudnnActivationStruct, KIND_ACTIVATION),                                  \
             KIND_IS(cudnnPoolingStruct, KIND_POOLING),                                        \
             KIND_IS(cudnnReduceTensorStruct, KIND_REDUCTION),                                 \
             KIND_IS(cudnnOpTensorStruct, KIND_OPERATION),                                     \
             KIND_IS(cudnnDropoutStruct, KIND_DROPOUT))
#define GONE(p) (!sim_live_is((p), KIND_OF(p)))

/* Remembers text for cudnnGetLastErrorString and returns status. */
cudnnStatus_t sim_dnn_fail(cudnnStatus_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Handle there, device alive. */
cudnnStatus_t sim_dnn_check(cudnnHandle_t h);
/* Descriptor set, of a type that is computed here; *count receives its elements. */
cudnnStatus_t sim_dnn_tensor(const struct cudnnTensorStruct *t, const char *what);
int64_t sim_dnn_count(const struct cudnnTensorStruct *t);
size_t sim_dnn_bytes(const struct cudnnTensorStruct *t); /* that the tensor spans */
int sim_dnn_packed(const struct cudnnTensorStruct *t);
int sim_dnn_same_shape(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b);
/* Of two of the same shape; where there is one element the stride says nothing. */
int sim_dnn_same_strides(const struct cudnnTensorStruct *a, const struct cudnnTensorStruct *b);
double sim_dnn_get(const struct cudnnTensorStruct *t, const void *p, int64_t at);
void sim_dnn_put(const struct cudnnTensorStruct *t, void *p, int64_t at, double x);
/* Offset of element i in row-major order of the dimensions. */
int64_t sim_dnn_at(const struct cudnnTensorStruct *t, int64_t i);
/* Adds beta times what is there, which beta 0 does not read. */
void sim_dnn_blend(const struct cudnnTensorStruct *t, void *p, int64_t at, double x, double beta);
/* As sim_dnn_tensor, of a filter. */
cudnnStatus_t sim_dnn_filter(const struct cudnnFilterStruct *w, const char *what);
/* Bytes of an element. */
size_t sim_dnn_size(cudnnDataType_t type);
/* Memory for a descriptor, with the answer of its Create call; and its end. */
cudnnStatus_t sim_dnn_create(void **out, enum sim_dnn_kind kind, size_t bytes);
cudnnStatus_t sim_dnn_destroy(void *descriptor, enum sim_dnn_kind kind);
/* What cudnnSetTensorNdDescriptor does, of any tensor, a filter's too. */
cudnnStatus_t sim_dnn_set(struct cudnnTensorStruct *t, cudnnDataType_t type, int n, const int *dim,
                          const int *stride);
/* Strides of a packed tensor in this format; 0 when the format is none that is computed here. */
int sim_dnn_strides(cudnnTensorFormat_t format, int n, const int *dim, int *stride);
/* f(x) of an activation that is set. */
double sim_dnn_activate(const struct cudnnActivationStruct *a, double x);
/* alpha and beta are double for double tensors, else float. */
double sim_dnn_scale(const struct cudnnTensorStruct *t, const void *p);

#define IN(p, d)  sim_device_range((p), sim_dnn_bytes(d), 0)
#define OUT(p, d) sim_device_range((p), sim_dnn_bytes(d), 1)
#define CHECK(expression)                                  \
    do {                                                   \
        cudnnStatus_t check_ = (expression);               \
        if (check_ != CUDNN_STATUS_SUCCESS) return check_; \
    } while (0)

#endif
