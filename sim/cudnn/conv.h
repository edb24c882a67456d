/* conv.h - what the files of the convolutions share. */
#ifndef SIM_CUDNN_CONV_H
#define SIM_CUDNN_CONV_H
#include "internal.h"

enum conv_kind { CONV_FORWARD, CONV_DATA, CONV_FILTER, CONV_KINDS };

/* A convolution of 2 or 3 places, written with 3. */
typedef struct conv_shape {
    int64_t samples, in, out, groups; /* in, out: channels */
    int64_t x[3], w[3], y[3], pad[3], stride[3], dilation[3];
    int flip;         /* a true convolution, not a correlation */
    int nhwc, planes; /* planes: 2 places */
    cudnnDataType_t type;
} conv_shape;

/* That descriptors are set and fit one another. */
cudnnStatus_t sim_conv_shape(cudnnHandle_t h, const struct cudnnTensorStruct *x,
                             const struct cudnnFilterStruct *w,
                             const struct cudnnConvolutionStruct *c,
                             const struct cudnnTensorStruct *y, conv_shape *out);
/* That this algorithm does such a convolution; the workspace that it needs. */
cudnnStatus_t sim_conv_workspace(enum conv_kind kind, int algo, const conv_shape *s, size_t *bytes);

#endif
