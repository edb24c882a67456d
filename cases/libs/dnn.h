/* dnn.h - what the suites of cuDNN share: tensors of any strides with their descriptors, and calls
 * that hand scalars over in the type of the tensor. */
#ifndef CASES_LIBS_DNN_H
#define CASES_LIBS_DNN_H
#include "libs.h"
#include <cudnn.h>

static cudnnHandle_t handle;

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define OK(call)                                                                  \
    do {                                                                          \
        cudnnStatus_t s_ = (call);                                                \
        ck_assert_msg(s_ == CUDNN_STATUS_SUCCESS, "%s: %s: got %s", where, #call, \
                      cudnnGetErrorString(s_));                                   \
    } while (0)

/* The documentation names the category (BAD_PARAM, NOT_SUPPORTED); the rest of the code is the
 * library's own. */
#define REFUSED(call, category)                                                              \
    do {                                                                                     \
        cudnnStatus_t s_ = (call);                                                           \
        ck_assert_msg(CUDNN_STATUS_CATEGORY((int)s_) == CUDNN_STATUS_##category,             \
                      "%s: %s: got %s, wanted %s...", where, #call, cudnnGetErrorString(s_), \
                      "CUDNN_STATUS_" #category);                                            \
    } while (0)

static inline void open_handle(unsigned s)
{
    seed(s);
    at("cudnnCreate");
    OK(cudnnCreate(&handle));
}

/* alpha or beta: float for float tensors, double for double. */
typedef struct blend {
    float f;
    double d;
} blend;
static inline blend blend_of(double x)
{
    return (blend){(float)x, x};
}
#define AS(p, b) ((p) == F32 ? (const void *)&(b).f : (const void *)&(b).d)

/* beta 0 comes with NaN in the output, which must not be read. */
static const double blends[][2] = {{1, 0}, {0.5, 0}, {1, 1}, {-2, 0.25}};

enum layout { PACKED, CHANNELS_LAST, GAPS, LAYOUTS };
static const char *const layout_names[] = {"NCHW", "NHWC", "gaps"};

typedef struct tensor {
    int n, dim[5], stride[5];
    cudnnTensorDescriptor_t desc;
    arr a;
} tensor;

static inline int count_of(const tensor *t)
{
    int c = 1;
    for (int d = 0; d < t->n; d++) c *= t->dim[d];
    return c;
}

/* Where element i, in row-major order of the dimensions, lies. */
static inline size_t place(const tensor *t, int i)
{
    size_t o = 0;
    for (int d = t->n - 1; d >= 0; d--) {
        o += (size_t)(i % t->dim[d] * t->stride[d]);
        i /= t->dim[d];
    }
    return o;
}
#define AT(t, i) ((t)->a.h[place((t), (i))])

static inline tensor tensor_new(prec p, int n, const int *dim, enum layout l, double lo, double hi)
{
    tensor t = {.n = n};
    int step = l == GAPS ? 2 : 1;
    for (int d = n - 1; d >= 0; d--) {
        t.dim[d] = dim[d];
        if (l == CHANNELS_LAST && d == 1) continue;
        if (l == CHANNELS_LAST && d == n - 1) step = dim[1];
        if (l == CHANNELS_LAST && d == 0 && n == 2) step = dim[1];
        t.stride[d] = step;
        step = step * dim[d] + (l == GAPS ? d : 0);
    }
    if (l == CHANNELS_LAST) t.stride[1] = 1;
    size_t last = place(&t, count_of(&t) - 1);
    OK(cudnnCreateTensorDescriptor(&t.desc));
    OK(cudnnSetTensorNdDescriptor(t.desc, p == F32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE, n, t.dim,
                                  t.stride));
    t.a = arr_new(p, last + 1, lo, hi);
    return t;
}

static inline void tensor_free(tensor *t)
{
    OK(cudnnDestroyTensorDescriptor(t->desc));
    arr_free(&t->a);
}

/* Sets what element i must be: alpha * x within err, blended over what it was. */
static inline void want(ref *r, const tensor *t, int i, double alpha, double x, double err,
                        double beta)
{
    size_t o = place(t, i);
    double old = beta == 0 ? 0 : beta * r->want[o];
    r->want[o] = alpha * x + old;
    r->tol[o] = fabs(alpha) * err + 4 * U(t->a.p) * (fabs(alpha * x) + fabs(old)) + TINY(t->a.p);
}

#endif
