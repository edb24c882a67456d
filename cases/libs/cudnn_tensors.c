/* cudnn_tensors.c - operations element by element, descriptors of any number of dimensions, and the
 * Ex forms of batch normalisation.
 *
 * Tolerance: one operation on scaled values, 8 u of the magnitudes; what is only set or moved is
 * exact. */
#include "dnn.h"

static const struct {
    cudnnOpTensorOp_t op;
    const char *name;
} ops[] = {{CUDNN_OP_TENSOR_ADD, "ADD"},   {CUDNN_OP_TENSOR_MUL, "MUL"},
           {CUDNN_OP_TENSOR_MIN, "MIN"},   {CUDNN_OP_TENSOR_MAX, "MAX"},
           {CUDNN_OP_TENSOR_SQRT, "SQRT"}, {CUDNN_OP_TENSOR_NOT, "NOT"}};

static double operate(cudnnOpTensorOp_t op, double a, double b)
{
    return op == CUDNN_OP_TENSOR_ADD    ? a + b
           : op == CUDNN_OP_TENSOR_MUL  ? a * b
           : op == CUDNN_OP_TENSOR_MIN  ? fmin(a, b)
           : op == CUDNN_OP_TENSOR_MAX  ? fmax(a, b)
           : op == CUDNN_OP_TENSOR_SQRT ? sqrt(a)
                                        : 1 - a;
}

static const int dim[] = {2, 3, 4, 5};
static const int spread[][4] = {
    {2, 3, 4, 5}, {1, 3, 1, 1}, {2, 3, 1, 1}, {1, 1, 4, 5}, {1, 1, 1, 1}};

/* Element of b (dimensions sd) that belongs to element e of dim. */
static int under(const int *sd, int e)
{
    int at_ = 0, step = 1;
    for (int d = 3; d >= 0; d--) {
        if (sd[d] > 1) at_ += e % dim[d] * step;
        e /= dim[d], step *= sd[d];
    }
    return at_;
}

START_TEST(operations_spread_and_blend)
{
    open_handle(111);
    for (int i = 0; i < COUNT(ops) * COUNT(spread) * COUNT(blends) * 4; i++) {
        int o = i % COUNT(ops), k = i / COUNT(ops) % COUNT(spread);
        int q = i / COUNT(ops) / COUNT(spread) % COUNT(blends);
        int form = i / COUNT(ops) / COUNT(spread) / COUNT(blends), one = o >= 4;
        prec p = form & 1 ? F64 : F32;
        double a2 = -1.5, beta = blends[q][1], a1 = 2;
        tensor a = tensor_new(p, 4, dim, form & 2 ? GAPS : PACKED, 0.1, 2);
        tensor b = tensor_new(p, 4, spread[k], PACKED, -1, 1);
        tensor c = tensor_new(p, 4, dim, form & 2 ? CHANNELS_LAST : PACKED, -1, 1);
        blend b1 = blend_of(a1), b2 = blend_of(a2), be = blend_of(beta);
        at("cudnnOpTensor %s %s B %d form %d beta %g", ops[o].name, PREC_NAME(p), k, form, beta);
        if (beta == 0) arr_fill(&c.a, NAN);
        cudnnOpTensorDescriptor_t d;
        OK(cudnnCreateOpTensorDescriptor(&d));
        OK(cudnnSetOpTensorDescriptor(d, ops[o].op, p == F32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE,
                                      CUDNN_PROPAGATE_NAN));
        ref r = ref_of(&c.a);
        for (int e = 0; e < count_of(&c); e++) {
            double x = a1 * AT(&a, e), y = a2 * AT(&b, under(spread[k], e));
            double v = operate(ops[o].op, x, y);
            want(&r, &c, e, 1, v, 8 * U(p) * (fabs(x) + fabs(y) + fabs(x * y) + 1), beta);
        }
        OK(cudnnOpTensor(handle, d, AS(p, b1), a.desc, a.a.dev, one ? NULL : AS(p, b2),
                         one ? NULL : b.desc, one ? NULL : b.a.dev, AS(p, be), c.desc, c.a.dev));
        expect(&c.a, &r, "C of OpTensor");
        at("cudnnAddTensor %s A %d form %d beta %g", PREC_NAME(p), k, form, beta);
        if (beta == 0) arr_fill(&c.a, NAN);
        r = ref_of(&c.a);
        for (int e = 0; e < count_of(&c); e++)
            want(&r, &c, e, a2, AT(&b, under(spread[k], e)), 0, beta);
        OK(cudnnAddTensor(handle, AS(p, b2), b.desc, b.a.dev, AS(p, be), c.desc, c.a.dev));
        expect(&c.a, &r, "C of AddTensor");
        at("cudnnTransformTensor %s form %d beta %g", PREC_NAME(p), form, beta);
        r = ref_of(&c.a);
        for (int e = 0; e < count_of(&c); e++) want(&r, &c, e, a1, AT(&a, e), 0, beta);
        OK(cudnnTransformTensor(handle, AS(p, b1), a.desc, a.a.dev, AS(p, be), c.desc, c.a.dev));
        expect(&c.a, &r, "y of TransformTensor");
        at("cudnnScaleTensor %s form %d", PREC_NAME(p), form);
        r = ref_of(&c.a);
        for (int e = 0; e < count_of(&c); e++) want(&r, &c, e, a2, AT(&c, e), 0, 0);
        OK(cudnnScaleTensor(handle, c.desc, c.a.dev, AS(p, b2)));
        expect(&c.a, &r, "y of ScaleTensor");
        r = ref_of(&c.a);
        for (int e = 0; e < count_of(&c); e++) r.want[place(&c, e)] = a2;
        OK(cudnnSetTensor(handle, c.desc, c.a.dev, AS(p, b2)));
        expect(&c.a, &r, "y of SetTensor");
        OK(cudnnDestroyOpTensorDescriptor(d));
        tensor_free(&a), tensor_free(&b), tensor_free(&c);
    }
}
END_TEST

START_TEST(operations_refuse_what_does_not_fit)
{
    static const int other[] = {2, 2, 1, 1};
    open_handle(112);
    at("operations refused");
    cudnnOpTensorDescriptor_t d;
    blend one = blend_of(1);
    const void *s = &one.f;
    tensor a = tensor_new(F32, 4, dim, PACKED, -1, 1), b = tensor_new(F32, 4, other, PACKED, -1, 1);
    tensor c = tensor_new(F32, 4, dim, PACKED, -1, 1), w = tensor_new(F64, 4, dim, PACKED, -1, 1);
    ref r = ref_of(&c.a);
#define OP(h, d_, A, B) \
    cudnnOpTensor(h, d_, s, (A)->desc, (A)->a.dev, s, (B)->desc, (B)->a.dev, s, c.desc, c.a.dev)
    OK(cudnnCreateOpTensorDescriptor(&d));
    REFUSED(OP(handle, d, &a, &a), BAD_PARAM); /* not set */
    REFUSED(cudnnSetOpTensorDescriptor(d, (cudnnOpTensorOp_t)9, CUDNN_DATA_FLOAT, 0), BAD_PARAM);
    REFUSED(cudnnSetOpTensorDescriptor(d, 0, (cudnnDataType_t)99, 0), BAD_PARAM);
    REFUSED(cudnnSetOpTensorDescriptor(d, 0, CUDNN_DATA_FLOAT, (cudnnNanPropagation_t)9),
            BAD_PARAM);
    OK(cudnnSetOpTensorDescriptor(d, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_DOUBLE, 0));
    REFUSED(OP(handle, d, &a, &a), NOT_SUPPORTED); /* float computed as double */
    OK(cudnnSetOpTensorDescriptor(d, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, 0));
    REFUSED(OP(NULL, d, &a, &a), BAD_PARAM);
    REFUSED(OP(handle, NULL, &a, &a), BAD_PARAM);
    REFUSED(OP(handle, d, &a, &b), BAD_PARAM);
    REFUSED(OP(handle, d, &w, &a), BAD_PARAM);
    REFUSED(cudnnAddTensor(handle, s, b.desc, b.a.dev, s, c.desc, c.a.dev), BAD_PARAM);
    REFUSED(cudnnAddTensor(handle, NULL, a.desc, a.a.dev, s, c.desc, c.a.dev), BAD_PARAM);
    REFUSED(cudnnTransformTensor(handle, s, b.desc, b.a.dev, s, c.desc, c.a.dev), BAD_PARAM);
    REFUSED(cudnnTransformTensor(handle, s, w.desc, w.a.dev, s, c.desc, c.a.dev), NOT_SUPPORTED);
    REFUSED(cudnnSetTensor(handle, c.desc, c.a.dev, NULL), BAD_PARAM);
    REFUSED(cudnnScaleTensor(NULL, c.desc, c.a.dev, s), BAD_PARAM);
    expect(&c.a, &r, "C after refusals");
    OK(cudnnDestroyOpTensorDescriptor(d));
    tensor_free(&a), tensor_free(&b), tensor_free(&c), tensor_free(&w);
}
END_TEST

START_TEST(descriptors_of_any_dimensions_hold_what_was_set)
{
    static const int five[] = {2, 3, 4, 5, 6}, bad[] = {2, 0, 4, 5, 6};
    static const int strides[2][5] = {{360, 120, 30, 6, 1}, {360, 1, 90, 18, 3}};
    const cudnnDataType_t fl = CUDNN_DATA_FLOAT;
    const cudnnTensorFormat_t nchw = CUDNN_TENSOR_NCHW;
    cudnnTensorDescriptor_t d;
    cudnnFilterDescriptor_t w;
    cudnnDataType_t type;
    cudnnTensorFormat_t format;
    int n, got[2][8];
    size_t bytes;
    at("descriptors");
    OK(cudnnCreateTensorDescriptor(&d));
    OK(cudnnCreateFilterDescriptor(&w));
    for (int i = 0; i < 2; i++) {
        format = i ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
        OK(cudnnSetTensorNdDescriptorEx(d, format, CUDNN_DATA_DOUBLE, 5, five));
        OK(cudnnGetTensorNdDescriptor(d, 8, &type, &n, got[0], got[1]));
        ck_assert(n == 5 && type == CUDNN_DATA_DOUBLE);
        for (int k = 0; k < 5; k++) ck_assert(got[0][k] == five[k] && got[1][k] == strides[i][k]);
        OK(cudnnGetTensorSizeInBytes(d, &bytes));
        ck_assert_uint_eq(bytes, 720 * 8);
        OK(cudnnSetFilterNdDescriptor(w, fl, format, 5, five));
        OK(cudnnGetFilterNdDescriptor(w, 8, &type, &format, &n, got[0]));
        ck_assert(n == 5 && type == fl && (int)format == i && got[0][4] == 6);
    }
    OK(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, nchw, 2, 3, 4, 5));
    OK(cudnnGetFilter4dDescriptor(w, &type, &format, &got[0][0], &got[0][1], &got[0][2],
                                  &got[0][3]));
    ck_assert(type == CUDNN_DATA_HALF && got[0][0] == 2 && got[0][1] == 3 && got[0][2] == 4 &&
              got[0][3] == 5);
    OK(cudnnGetFilterSizeInBytes(w, &bytes));
    ck_assert_uint_eq(bytes, 120 * 2);
    REFUSED(cudnnSetTensorNdDescriptorEx(d, nchw, fl, 5, bad), BAD_PARAM);
    REFUSED(cudnnSetTensorNdDescriptorEx(d, (cudnnTensorFormat_t)9, fl, 5, five), BAD_PARAM);
    REFUSED(cudnnSetTensorNdDescriptorEx(d, nchw, fl, 9, five), NOT_SUPPORTED);
    REFUSED(cudnnGetTensorNdDescriptor(d, 9, &type, &n, got[0], got[1]), NOT_SUPPORTED);
    REFUSED(cudnnSetFilterNdDescriptor(w, fl, nchw, 5, bad), BAD_PARAM);
    REFUSED(cudnnSetFilterNdDescriptor(w, (cudnnDataType_t)99, nchw, 5, five), BAD_PARAM);
    REFUSED(cudnnSetFilterNdDescriptor(w, fl, nchw, 9, five), NOT_SUPPORTED);
    REFUSED(cudnnSetFilterNdDescriptor(NULL, fl, nchw, 5, five), BAD_PARAM);
    REFUSED(cudnnSetFilterNdDescriptor(w, fl, nchw, 2, five), BAD_PARAM);
    OK(cudnnDestroyTensorDescriptor(d));
    OK(cudnnDestroyFilterDescriptor(w));
}
END_TEST

START_TEST(settings_are_kept_and_versions_agree)
{
    cudnnActivationDescriptor_t a;
    cudnnActivationMode_t mode;
    cudnnNanPropagation_t nan;
    double coef, beta;
    int value;
    open_handle(115);
    at("settings");
    OK(cudnnCreateActivationDescriptor(&a));
    OK(cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_SWISH, CUDNN_NOT_PROPAGATE_NAN, 3));
    OK(cudnnSetActivationDescriptorSwishBeta(a, 1.5));
    OK(cudnnGetActivationDescriptor(a, &mode, &nan, &coef));
    OK(cudnnGetActivationDescriptorSwishBeta(a, &beta));
    ck_assert(mode == CUDNN_ACTIVATION_SWISH && nan == CUDNN_NOT_PROPAGATE_NAN && coef == 3 &&
              beta == 1.5);
    tensor x = tensor_new(F64, 4, dim, PACKED, -2, 2), y = tensor_new(F64, 4, dim, PACKED, -1, 1);
    tensor dx = tensor_new(F64, 4, dim, PACKED, -1, 1);
    blend one = blend_of(1), nil = blend_of(0);
    ref r = ref_of(&y.a), rd = ref_of(&dx.a);
    for (int e = 0; e < count_of(&x); e++) {
        double v = AT(&x, e), step = 1e-6; /* the slope by differences */
#define SWISH(v) ((v) / (1 + exp(-1.5 * (v))))
        want(&r, &y, e, 1, SWISH(v), 16 * U(F64), 0);
        want(&rd, &dx, e, 1, (SWISH(v + step) - SWISH(v - step)) / (2 * step), 1e-8, 0);
    }
    OK(cudnnActivationForward(handle, a, &one.d, x.desc, x.a.dev, &nil.d, y.desc, y.a.dev));
    expect(&y.a, &r, "swish");
    tensor dy = tensor_new(F64, 4, dim, PACKED, 1, 1);
    OK(cudnnActivationBackward(handle, a, &one.d, y.desc, y.a.dev, dy.desc, dy.a.dev, x.desc,
                               x.a.dev, &nil.d, dx.desc, dx.a.dev));
    expect(&dx.a, &rd, "swish's slope");
    OK(cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_IDENTITY, CUDNN_PROPAGATE_NAN, 0));
    REFUSED(cudnnActivationForward(handle, a, &one.d, x.desc, x.a.dev, &nil.d, y.desc, y.a.dev),
            BAD_PARAM); /* for the fused convolution alone */
    OK(cudnnDestroyActivationDescriptor(a));
    OK(cudnnOpsVersionCheck());
    OK(cudnnCnnVersionCheck());
    OK(cudnnGetProperty(MAJOR_VERSION, &value));
    ck_assert_int_eq(value, CUDNN_MAJOR);
    REFUSED(cudnnGetProperty((libraryPropertyType)9, &value), BAD_PARAM);
    cudnnStatus_t status;
    OK(cudnnQueryRuntimeError(handle, &status, CUDNN_ERRQUERY_RAWCODE, NULL));
    ck_assert_int_eq(status, CUDNN_STATUS_SUCCESS);
    tensor_free(&x), tensor_free(&y), tensor_free(&dx), tensor_free(&dy);
}
END_TEST

/* The Ex forms without anything fused are the plain calls, bit for bit; the rest is refused. */
START_TEST(batch_norm_ex_is_the_plain_call)
{
    static const int one_[] = {1, 3, 1, 1};
    const cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL;
    open_handle(116);
    at("batch norm Ex");
    tensor x = tensor_new(F32, 4, dim, PACKED, -1, 1), y[2], dx[2], p[2][6];
    for (int k = 0; k < 2; k++) {
        y[k] = tensor_new(F32, 4, dim, PACKED, 0, 0), dx[k] = tensor_new(F32, 4, dim, PACKED, 0, 0);
        for (int q = 0; q < 6; q++) p[k][q] = tensor_new(F32, 4, one_, PACKED, 0.5, 0.5);
    }
    float one = 1, nil = 0;
    size_t bytes = 1;
    cudnnTensorDescriptor_t b = p[0][0].desc;
    OK(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
        handle, mode, CUDNN_BATCHNORM_OPS_BN, x.desc, NULL, x.desc, b, NULL, &bytes));
    ck_assert_uint_eq(bytes, 0);
#define P(k, q) p[k][q].a.dev
#define EX(ops)                                                                               \
    cudnnBatchNormalizationForwardTrainingEx(                                                 \
        handle, mode, ops, &one, &nil, x.desc, x.a.dev, NULL, NULL, y[0].desc, y[0].a.dev, b, \
        P(0, 0), P(0, 1), 0.5, P(0, 2), P(0, 3), 1e-5, P(0, 4), P(0, 5), NULL, NULL, 0, NULL, 0)
    REFUSED(EX(CUDNN_BATCHNORM_OPS_BN_ACTIVATION), NOT_SUPPORTED);
    REFUSED(EX((cudnnBatchNormOps_t)9), BAD_PARAM);
    OK(EX(CUDNN_BATCHNORM_OPS_BN));
    OK(cudnnBatchNormalizationForwardTraining(handle, mode, &one, &nil, x.desc, x.a.dev, y[1].desc,
                                              y[1].a.dev, b, P(1, 0), P(1, 1), 0.5, P(1, 2),
                                              P(1, 3), 1e-5, P(1, 4), P(1, 5)));
    OK(cudnnBatchNormalizationBackwardEx(
        handle, mode, CUDNN_BATCHNORM_OPS_BN, &one, &nil, &one, &nil, x.desc, x.a.dev, NULL, NULL,
        x.desc, x.a.dev, NULL, NULL, dx[0].desc, dx[0].a.dev, b, P(0, 0), P(0, 1), P(0, 2), P(0, 3),
        1e-5, P(0, 4), P(0, 5), NULL, NULL, 0, NULL, 0));
    OK(cudnnBatchNormalizationBackward(handle, mode, &one, &nil, &one, &nil, x.desc, x.a.dev,
                                       x.desc, x.a.dev, dx[1].desc, dx[1].a.dev, b, P(1, 0),
                                       P(1, 2), P(1, 3), 1e-5, P(1, 4), P(1, 5)));
    tensor *pairs[][2] = {{&y[0], &y[1]},
                          {&dx[0], &dx[1]},
                          {&p[0][2], &p[1][2]},
                          {&p[0][3], &p[1][3]},
                          {&p[0][4], &p[1][4]}};
    for (int i = 0; i < COUNT(pairs); i++) {
        arr_pull(&pairs[i][1]->a);
        ref r = ref_of(&pairs[i][1]->a);
        for (size_t e = pairs[i][1]->a.n - SLACK; e < pairs[i][1]->a.n; e++) r.tol[e] = INFINITY;
        expect(&pairs[i][0]->a, &r, "an output");
    }
    ck_assert(y[0].a.h[0] != 0 && dx[0].a.h[0] != 0);
    tensor_free(&x);
    for (int k = 0; k < 2; k++) {
        tensor_free(&y[k]), tensor_free(&dx[k]);
        for (int q = 0; q < 6; q++) tensor_free(&p[k][q]);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_tensors.def"
};
CASE_MAIN("cudnn_tensors")
