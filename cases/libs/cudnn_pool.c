/* cudnn_pool.c - pooling and reductions against their definitions in double.
 *
 * Tolerance: what is a largest value is exact before the blend; a mean or a sum of k errs by
 * 2 (k + 4) u of its magnitudes, a product of k by 2 k u of itself. */
#include "dnn.h"

typedef struct setup {
    int n, x[5], window[3], pad[3], stride[3];
} setup;
static const setup setups[] = {
    {4, {2, 3, 4, 6}, {2, 2}, {0, 0}, {2, 2}},
    {4, {1, 2, 5, 7}, {3, 2}, {1, 1}, {2, 1}},
    {4, {2, 1, 3, 3}, {3, 3}, {0, 0}, {1, 1}},
    {4, {1, 1, 5, 4}, {2, 3}, {1, 2}, {3, 2}},
    {5, {1, 2, 4, 3, 5}, {2, 2, 3}, {1, 0, 1}, {2, 1, 2}},
};
static const cudnnPoolingMode_t modes[] = {
    CUDNN_POOLING_MAX, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
    CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, CUDNN_POOLING_MAX_DETERMINISTIC};
static const char *const mode_names[] = {"MAX", "INCLUDE", "EXCLUDE", "MAX_DETERMINISTIC"};

/* The elements of x (row-major numbers) in the window of output o, in order; returns how many. */
static int members(const setup *s, const int *y, int o, int *out)
{
    int p = s->n - 2, at[3], n = 0, taps = 1, rest = o;
    for (int d = p - 1; d >= 0; d--) at[d] = rest % y[d + 2], rest /= y[d + 2];
    for (int d = 0; d < p; d++) taps *= s->window[d];
    for (int t = 0; t < taps; t++) {
        int e = 0, step = 1, inside = 1, r = t;
        for (int d = p - 1; d >= 0; d--) {
            int place_ = at[d] * s->stride[d] - s->pad[d] + r % s->window[d];
            inside &= place_ >= 0 && place_ < s->x[d + 2];
            e += place_ * step, step *= s->x[d + 2], r /= s->window[d];
        }
        if (inside) out[n++] = rest * step + e;
    }
    return n;
}

START_TEST(pooling_and_its_gradient_equal_their_definitions)
{
    open_handle(101);
    for (int i = 0; i < COUNT(setups) * COUNT(modes) * COUNT(blends) * 4; i++) {
        const setup *s = &setups[i % COUNT(setups)];
        int m = i / COUNT(setups) % 4, b = i / COUNT(setups) / 4 % COUNT(blends);
        int form = i / COUNT(setups) / 4 / COUNT(blends), max = m == 0 || m == 3, dim[5];
        prec p = form & 1 ? F64 : F32;
        double alpha = blends[b][0], beta = blends[b][1], area = 1;
        for (int d = 0; d < s->n - 2; d++) area *= s->window[d];
        at("cudnnPooling %s %s setup %d form %d alpha %g beta %g", mode_names[m], PREC_NAME(p),
           i % COUNT(setups), form, alpha, beta);
        cudnnPoolingDescriptor_t pool;
        OK(cudnnCreatePoolingDescriptor(&pool));
        OK(cudnnSetPoolingNdDescriptor(pool, modes[m], CUDNN_PROPAGATE_NAN, s->n - 2, s->window,
                                       s->pad, s->stride));
        enum layout lx = form & 2 ? CHANNELS_LAST : PACKED, ly = form & 2 ? GAPS : PACKED;
        tensor x = tensor_new(p, s->n, s->x, lx, -1, 1), dx = tensor_new(p, s->n, s->x, lx, -1, 1);
        if (form == 0) /* equal values: the first takes the gradient */
            for (int e = 0; e < count_of(&x); e++) AT(&x, e) = e / 2 % 3;
        arr_push(&x.a);
        OK(cudnnGetPoolingNdForwardOutputDim(pool, x.desc, s->n, dim));
        for (int d = 0; d < s->n - 2; d++)
            ck_assert_int_eq(dim[d + 2],
                             1 + (s->x[d + 2] + 2 * s->pad[d] - s->window[d]) / s->stride[d]);
        tensor y = tensor_new(p, s->n, dim, ly, -1, 1), dy = tensor_new(p, s->n, dim, ly, -1, 1);
        if (beta == 0) arr_fill(&y.a, NAN), arr_fill(&dx.a, NAN);
        ref ry = ref_of(&y.a), rx = ref_of(&dx.a);
        double *sum = calloc((size_t)count_of(&x), sizeof *sum);
        double *size = calloc((size_t)count_of(&x), sizeof *size);
        ck_assert(sum && size);
        for (int o = 0; o < count_of(&y); o++) {
            int in[60] = {0}, n = members(s, dim, o, in), best = in[0];
            double total = 0, magnitude = 0, by = m == 1 ? area : n;
            for (int k = 0; k < n; k++) {
                total += AT(&x, in[k]), magnitude += fabs(AT(&x, in[k]));
                if (AT(&x, in[k]) > AT(&x, best)) best = in[k];
            }
            want(&ry, &y, o, alpha, max ? AT(&x, best) : total / by,
                 max ? 0 : 2 * (n + 4) * U(p) * magnitude / by, beta);
            for (int k = 0; k < n; k++)
                if (!max || in[k] == best) {
                    double v = max ? AT(&dy, o) : AT(&dy, o) / by;
                    sum[in[k]] += v, size[in[k]] += fabs(v);
                }
        }
        blend al = blend_of(alpha), be = blend_of(beta);
        OK(cudnnPoolingForward(handle, pool, AS(p, al), x.desc, x.a.dev, AS(p, be), y.desc,
                               y.a.dev));
        expect(&y.a, &ry, "y");
        for (int e = 0; e < count_of(&x); e++)
            want(&rx, &dx, e, alpha, sum[e], 2 * (area + 4) * U(p) * size[e], beta);
        OK(cudnnPoolingBackward(handle, pool, AS(p, al), y.desc, y.a.dev, dy.desc, dy.a.dev, x.desc,
                                x.a.dev, AS(p, be), dx.desc, dx.a.dev));
        expect(&dx.a, &rx, "dx");
        free(sum), free(size);
        OK(cudnnDestroyPoolingDescriptor(pool));
        tensor_free(&x), tensor_free(&dx), tensor_free(&y), tensor_free(&dy);
    }
}
END_TEST

START_TEST(pooling_refuses_what_does_not_fit)
{
    static const int dim[] = {1, 2, 4, 4}, half[] = {1, 2, 2, 2}, two[] = {2, 2}, none[] = {0, 0};
    open_handle(102);
    at("pooling refused");
    cudnnPoolingDescriptor_t p;
    cudnnPoolingMode_t mode;
    cudnnNanPropagation_t nan;
    const cudnnPoolingMode_t max = CUDNN_POOLING_MAX;
    const cudnnNanPropagation_t pn = CUDNN_PROPAGATE_NAN;
    int v[6];
    OK(cudnnCreatePoolingDescriptor(&p));
    tensor x = tensor_new(F32, 4, dim, PACKED, -1, 1), y = tensor_new(F32, 4, half, PACKED, -1, 1);
    tensor gaps = tensor_new(F32, 4, dim, GAPS, -1, 1);
    blend one = blend_of(1), nil = blend_of(0);
    ref r = ref_of(&y.a), rx = ref_of(&x.a);
#define FORWARD(h, X, Y) \
    cudnnPoolingForward(h, p, &one.f, (X)->desc, (X)->a.dev, &nil.f, (Y)->desc, (Y)->a.dev)
#define BACKWARD(Y, DY, X, DX)                                                              \
    cudnnPoolingBackward(handle, p, &one.f, (Y)->desc, (Y)->a.dev, (DY)->desc, (DY)->a.dev, \
                         (X)->desc, (X)->a.dev, &nil.f, (DX)->desc, (DX)->a.dev)
    REFUSED(FORWARD(handle, &x, &y), BAD_PARAM); /* not set */
    REFUSED(cudnnSetPooling2dDescriptor(p, (cudnnPoolingMode_t)9, pn, 2, 2, 0, 0, 2, 2), BAD_PARAM);
    REFUSED(cudnnSetPooling2dDescriptor(p, max, pn, 0, 2, 0, 0, 2, 2), BAD_PARAM);
    REFUSED(cudnnSetPooling2dDescriptor(p, max, pn, 2, 2, -1, 0, 2, 2), BAD_PARAM);
    REFUSED(cudnnSetPooling2dDescriptor(p, max, pn, 2, 2, 0, 0, 0, 2), BAD_PARAM);
    REFUSED(cudnnSetPoolingNdDescriptor(p, max, pn, 7, two, none, two), NOT_SUPPORTED);
    REFUSED(cudnnSetPoolingNdDescriptor(NULL, max, pn, 2, two, none, two), BAD_PARAM);
    OK(cudnnSetPooling2dDescriptor(p, max, pn, 2, 3, 0, 1, 4, 5));
    OK(cudnnGetPooling2dDescriptor(p, &mode, &nan, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]));
    ck_assert(mode == max && nan == pn && v[0] == 2 && v[1] == 3 && v[2] == 0 && v[3] == 1 &&
              v[4] == 4 && v[5] == 5);
    OK(cudnnSetPooling2dDescriptor(p, max, pn, 2, 2, 0, 0, 2, 2));
    REFUSED(FORWARD(NULL, &x, &y), BAD_PARAM);
    REFUSED(FORWARD(handle, &x, &x), BAD_PARAM);
    REFUSED(BACKWARD(&y, &y, &x, &gaps), BAD_PARAM); /* strides of x and dx differ */
    REFUSED(BACKWARD(&y, &x, &x, &x), BAD_PARAM);
    OK(cudnnSetPooling2dDescriptor(p, max, pn, 5, 5, 0, 0, 1, 1));
    REFUSED(cudnnGetPooling2dForwardOutputDim(p, x.desc, &v[0], &v[1], &v[2], &v[3]), BAD_PARAM);
    expect(&y.a, &r, "y after refusals"), expect(&x.a, &rx, "x after refusals");
    OK(cudnnDestroyPoolingDescriptor(p));
    tensor_free(&x), tensor_free(&y), tensor_free(&gaps);
}
END_TEST

static const struct {
    cudnnReduceTensorOp_t op;
    const char *name;
} ops[] = {{CUDNN_REDUCE_TENSOR_ADD, "ADD"},
           {CUDNN_REDUCE_TENSOR_MUL, "MUL"},
           {CUDNN_REDUCE_TENSOR_MIN, "MIN"},
           {CUDNN_REDUCE_TENSOR_MAX, "MAX"},
           {CUDNN_REDUCE_TENSOR_AMAX, "AMAX"},
           {CUDNN_REDUCE_TENSOR_AVG, "AVG"},
           {CUDNN_REDUCE_TENSOR_NORM1, "NORM1"},
           {CUDNN_REDUCE_TENSOR_NORM2, "NORM2"},
           {CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS, "MUL_NO_ZEROS"}};

/* The definition, over the n values that fall together. */
static double reduce(cudnnReduceTensorOp_t op, const double *v, int n, double *err, unsigned *index)
{
    double sum = 0, magnitude = 0, product = 1, squares = 0, nonzero = 1, best = 0;
    *index = 0;
    for (int i = 0; i < n; i++) {
        double a = op == CUDNN_REDUCE_TENSOR_AMAX ? fabs(v[i]) : v[i];
        sum += v[i], magnitude += fabs(v[i]), product *= v[i], squares += v[i] * v[i];
        if (v[i] != 0) nonzero *= v[i];
        if (!i || (op == CUDNN_REDUCE_TENSOR_MIN ? a < best : a > best))
            best = a, *index = (unsigned)i;
    }
    switch (op) {
    case CUDNN_REDUCE_TENSOR_ADD: return *err = 2 * (n + 4) * magnitude, sum;
    case CUDNN_REDUCE_TENSOR_AVG: return *err = 2 * (n + 4) * magnitude / n, sum / n;
    case CUDNN_REDUCE_TENSOR_NORM1: return *err = 2 * (n + 4) * magnitude, magnitude;
    case CUDNN_REDUCE_TENSOR_NORM2: return *err = 2 * (n + 4) * sqrt(squares), sqrt(squares);
    case CUDNN_REDUCE_TENSOR_MUL: return *err = 2 * n * fabs(product), product;
    case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS: return *err = 2 * n * fabs(nonzero), nonzero;
    default: return *err = 0, best;
    }
}

START_TEST(reductions_equal_their_definitions)
{
    static const int dim[] = {2, 3, 4, 5};
    static const int kept[][4] = {
        {1, 1, 1, 1}, {1, 3, 1, 1}, {2, 3, 1, 1}, {2, 1, 4, 1}, {2, 3, 4, 5}};
    open_handle(103);
    for (int i = 0; i < COUNT(ops) * COUNT(kept) * COUNT(blends) * 4; i++) {
        int o = i % COUNT(ops), k = i / COUNT(ops) % COUNT(kept);
        int b = i / COUNT(ops) / COUNT(kept) % COUNT(blends);
        int form = i / COUNT(ops) / COUNT(kept) / COUNT(blends);
        prec p = form & 1 ? F64 : F32;
        double alpha = blends[b][0], beta = blends[b][1];
        int listed = ops[o].op == CUDNN_REDUCE_TENSOR_MIN || ops[o].op == CUDNN_REDUCE_TENSOR_MAX ||
                     ops[o].op == CUDNN_REDUCE_TENSOR_AMAX;
        at("cudnnReduceTensor %s %s kept %d form %d alpha %g beta %g", ops[o].name, PREC_NAME(p), k,
           form, alpha, beta);
        tensor a = tensor_new(p, 4, dim, form & 2 ? GAPS : PACKED, -2, 2);
        tensor c = tensor_new(p, 4, kept[k], form & 2 ? CHANNELS_LAST : PACKED, -1, 1);
        for (int e = 0; e < count_of(&a); e += 7) AT(&a, e) = 0; /* zeros, and equal ones */
        for (int e = 3; e < count_of(&a); e += 11) AT(&a, e) = -2;
        arr_push(&a.a);
        if (beta == 0) arr_fill(&c.a, NAN);
        cudnnReduceTensorDescriptor_t d;
        OK(cudnnCreateReduceTensorDescriptor(&d));
        OK(cudnnSetReduceTensorDescriptor(
            d, ops[o].op, p == F32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_DOUBLE, CUDNN_PROPAGATE_NAN,
            listed ? CUDNN_REDUCE_TENSOR_FLATTENED_INDICES : CUDNN_REDUCE_TENSOR_NO_INDICES,
            CUDNN_32BIT_INDICES));
        ref r = ref_of(&c.a);
        unsigned index[120], got[120];
        for (int e = 0; e < count_of(&c); e++) {
            double v[120], err, one;
            int n = 0, at_[4], rest = e;
            for (int q = 3; q >= 0; q--) at_[q] = rest % kept[k][q], rest /= kept[k][q];
            for (int f = 0; f < count_of(&a); f++) {
                int in = 1, left = f;
                for (int q = 3; q >= 0; q--) {
                    in &= kept[k][q] == 1 || left % dim[q] == at_[q];
                    left /= dim[q];
                }
                if (in) v[n++] = AT(&a, f);
            }
            one = reduce(ops[o].op, v, n, &err, &index[e]);
            want(&r, &c, e, alpha, one, err * U(p), beta);
        }
        size_t ws_bytes, list_bytes;
        OK(cudnnGetReductionWorkspaceSize(handle, d, a.desc, c.desc, &ws_bytes));
        OK(cudnnGetReductionIndicesSize(handle, d, a.desc, c.desc, &list_bytes));
        ck_assert_uint_eq(list_bytes, listed ? (size_t)count_of(&c) * 4 : 0);
        void *ws = NULL, *list = NULL;
        if (ws_bytes) CUDA(cudaMalloc(&ws, ws_bytes));
        if (list_bytes) CUDA(cudaMalloc(&list, list_bytes));
        blend al = blend_of(alpha), be = blend_of(beta);
#define REDUCE(lb, wb)                                                                            \
    cudnnReduceTensor(handle, d, list, lb, ws, wb, AS(p, al), a.desc, a.a.dev, AS(p, be), c.desc, \
                      c.a.dev)
        if (ws_bytes) REFUSED(REDUCE(list_bytes, ws_bytes - 1), BAD_PARAM);
        if (list_bytes) REFUSED(REDUCE(list_bytes - 1, ws_bytes), BAD_PARAM);
        OK(REDUCE(list_bytes, ws_bytes));
        expect(&c.a, &r, "C");
        if (listed) CUDA(cudaMemcpy(got, list, list_bytes, cudaMemcpyDeviceToHost));
        for (int e = 0; listed && e < count_of(&c); e++)
            ck_assert_msg(got[e] == index[e], "%s: index %d: got %u, wanted %u", where, e, got[e],
                          index[e]);
        if (ws) CUDA(cudaFree(ws));
        if (list) CUDA(cudaFree(list));
        OK(cudnnDestroyReduceTensorDescriptor(d));
        tensor_free(&a), tensor_free(&c);
    }
}
END_TEST

START_TEST(reductions_refuse_what_does_not_fit)
{
    static const int dim[] = {2, 3, 4, 5}, other[] = {2, 2, 1, 1}, one_[] = {1, 1, 1, 1};
    open_handle(104);
    at("reductions refused");
    cudnnReduceTensorDescriptor_t d;
    const cudnnDataType_t fl = CUDNN_DATA_FLOAT;
    const cudnnNanPropagation_t pn = CUDNN_PROPAGATE_NAN;
    const cudnnReduceTensorIndices_t no = CUDNN_REDUCE_TENSOR_NO_INDICES;
    size_t bytes;
    OK(cudnnCreateReduceTensorDescriptor(&d));
    tensor a = tensor_new(F32, 4, dim, PACKED, -1, 1), b = tensor_new(F32, 4, other, PACKED, -1, 1);
    tensor c = tensor_new(F32, 4, one_, PACKED, -1, 1);
    REFUSED(cudnnGetReductionWorkspaceSize(handle, d, a.desc, c.desc, &bytes), BAD_PARAM);
    REFUSED(cudnnSetReduceTensorDescriptor(d, (cudnnReduceTensorOp_t)99, fl, pn, no,
                                           CUDNN_32BIT_INDICES),
            BAD_PARAM);
    REFUSED(cudnnSetReduceTensorDescriptor(NULL, CUDNN_REDUCE_TENSOR_ADD, fl, pn, no,
                                           CUDNN_32BIT_INDICES),
            BAD_PARAM);
    OK(cudnnSetReduceTensorDescriptor(d, CUDNN_REDUCE_TENSOR_MAX, fl, pn,
                                      CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, CUDNN_64BIT_INDICES));
    REFUSED(cudnnGetReductionWorkspaceSize(handle, d, a.desc, c.desc, &bytes), NOT_SUPPORTED);
    OK(cudnnSetReduceTensorDescriptor(d, CUDNN_REDUCE_TENSOR_MAX, CUDNN_DATA_DOUBLE, pn, no,
                                      CUDNN_32BIT_INDICES));
    REFUSED(cudnnGetReductionWorkspaceSize(handle, d, a.desc, c.desc, &bytes), NOT_SUPPORTED);
    OK(cudnnSetReduceTensorDescriptor(d, CUDNN_REDUCE_TENSOR_MAX, fl, pn, no, CUDNN_32BIT_INDICES));
    REFUSED(cudnnGetReductionWorkspaceSize(handle, d, a.desc, b.desc, &bytes), BAD_PARAM);
    REFUSED(cudnnGetReductionWorkspaceSize(NULL, d, a.desc, c.desc, &bytes), BAD_PARAM);
    OK(cudnnDestroyReduceTensorDescriptor(d));
    tensor_free(&a), tensor_free(&b), tensor_free(&c);
}
END_TEST

/* The gradient of a bias is a reduction too. */
START_TEST(a_bias_is_summed_over_all_but_channels)
{
    static const int dim[] = {3, 4, 2, 5}, one[] = {1, 4, 1, 1};
    open_handle(92);
    for (int i = 0; i < COUNT(blends) * 4; i++) {
        prec p = i & 1 ? F64 : F32;
        double alpha = blends[i / 4][0], beta = blends[i / 4][1];
        at("cudnnConvolutionBackwardBias %s alpha %g beta %g", PREC_NAME(p), alpha, beta);
        tensor dy = tensor_new(p, 4, dim, i & 2 ? CHANNELS_LAST : GAPS, -1, 1);
        tensor db = tensor_new(p, 4, one, PACKED, -1, 1);
        if (beta == 0) arr_fill(&db.a, NAN);
        ref r = ref_of(&db.a);
        for (int c = 0; c < 4; c++) {
            double sum = 0, size = 0;
            for (int e = 0; e < count_of(&dy); e++)
                if (e / 10 % 4 == c) sum += AT(&dy, e), size += fabs(AT(&dy, e));
            want(&r, &db, c, alpha, sum, 2 * 34 * U(p) * size, beta);
        }
        blend al = blend_of(alpha), be = blend_of(beta);
        OK(cudnnConvolutionBackwardBias(handle, AS(p, al), dy.desc, dy.a.dev, AS(p, be), db.desc,
                                        db.a.dev));
        expect(&db.a, &r, "db");
        REFUSED(cudnnConvolutionBackwardBias(handle, AS(p, al), dy.desc, dy.a.dev, AS(p, be),
                                             dy.desc, dy.a.dev),
                BAD_PARAM);
        tensor_free(&dy), tensor_free(&db);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_pool.def"
};
CASE_MAIN("cudnn_pool")
