/* cudnn.c - softmax and activations against their formulas in double, in float and double.
 *
 * Tolerance, u the unit roundoff. A device's exp, tanh and log are good to 2 ulp (4 u) of the
 * result, and exp carries an argument's error a into a relative error a.
 *   softmax: the argument v - max errs by u |v - max|, the sum of c terms by (c + 4) u, the rest
 *     by 4 u: relative error (2 max|v - max| + c + 12) u. LOG: the same, absolute, plus
 *     u (|v - max| + |log sum|).
 *   softmax backward: a sum of c products: (c + 4) u sum|dy y|, times what multiplies it.
 *   activations: (|x| + 8) u for those of exp; the slopes y (1 - y), 1 - y y, y + a round at
 *     magnitudes up to max(1, |y|): 8 u of that.
 * All doubled, for the reference rounds as well in double. The blend adds 4 u (want in dnn.h).
 * Gaps between strides and the slack must stay bit for bit. */
#include "dnn.h"

static const cudnnSoftmaxAlgorithm_t algos[] = {CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_ACCURATE,
                                                CUDNN_SOFTMAX_LOG};
static const char *const algo_names[] = {"FAST", "ACCURATE", "LOG"};
static const cudnnSoftmaxMode_t modes[] = {CUDNN_SOFTMAX_MODE_INSTANCE, CUDNN_SOFTMAX_MODE_CHANNEL};
static const int shapes[][5] = {{1, 1, 1, 1, 1},  {3, 5, 1, 1, 1}, {2, 3, 4, 5, 1},
                                {1, 33, 1, 2, 1}, {5, 1, 3, 1, 1}, {2, 3, 2, 3, 4},
                                {2, 129, 1, 1, 1}};
enum { FIVE = 5 }; /* the row of 5 dimensions; the others are of 4 */

typedef struct setup {
    prec p;
    int n;
    const int *dim;
    enum layout x, y;
    double alpha, beta;
} setup;

#define SETUPS (COUNT(shapes) * COUNT(blends) * 2 * 4)
/* Setup i of SETUPS, named for messages. */
static setup setup_of(int i, const char *what)
{
    static const enum layout pairs[4][2] = {
        {PACKED, PACKED}, {CHANNELS_LAST, PACKED}, {PACKED, GAPS}, {GAPS, CHANNELS_LAST}};
    setup s = {.p = i & 1 ? F64 : F32, .x = pairs[i >> 1 & 3][0], .y = pairs[i >> 1 & 3][1]};
    int b = i / 8 % COUNT(blends), k = i / 8 / COUNT(blends);
    s.dim = shapes[k], s.n = k == FIVE ? 5 : 4;
    s.alpha = blends[b][0], s.beta = blends[b][1];
    at("%s %s %dx%dx%dx%dx%d x %s y %s alpha %g beta %g", what, PREC_NAME(s.p), s.dim[0], s.dim[1],
       s.dim[2], s.dim[3], s.dim[4], layout_names[s.x], layout_names[s.y], s.alpha, s.beta);
    return s;
}

/* Element j of the group that element `first` leads. */
static int member(const setup *s, cudnnSoftmaxMode_t mode, int first, int j)
{
    int inner = s->dim[2] * s->dim[3] * (s->n > 4 ? s->dim[4] : 1);
    return mode == CUDNN_SOFTMAX_MODE_INSTANCE ? first + j : first + j * inner;
}

/* Calls body for every group: `first` its first element, `size` its members. */
#define EACH_GROUP(s, mode, t)                                                              \
    for (int inner_ = count_of(t) / (s).dim[0] / (s).dim[1],                                \
             whole_ = (mode) == CUDNN_SOFTMAX_MODE_INSTANCE,                                \
             size = whole_ ? inner_ * (s).dim[1] : (s).dim[1], each_ = whole_ ? 1 : inner_, \
             g_ = 0, first = 0;                                                             \
         g_ < (s).dim[0] * each_; g_++, first = g_ / each_ * inner_ * (s).dim[1] + g_ % each_)

START_TEST(softmax_equals_its_formula)
{
    open_handle(21);
    for (int i = 0; i < SETUPS * 6; i++) {
        int al = i % 3, mode = i / 3 % 2;
        char what[60];
        snprintf(what, sizeof what, "softmax %s %s", algo_names[al], mode ? "CHANNEL" : "INSTANCE");
        setup s = setup_of(i / 6, what);
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -4, 4);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        if (s.beta == 0) arr_fill(&y.a, NAN);
        ref r = ref_of(&y.a);
        EACH_GROUP(s, modes[mode], &x)
        {
            double top = -INFINITY, far = 0, sum = 0;
            for (int j = 0; j < size; j++)
                top = fmax(top, AT(&x, member(&s, modes[mode], first, j)));
            double base = al == 0 ? 0 : top;
            for (int j = 0; j < size; j++) {
                double v = AT(&x, member(&s, modes[mode], first, j)) - base;
                far = fmax(far, fabs(v));
                sum += exp(v);
            }
            for (int j = 0; j < size; j++) {
                int e = member(&s, modes[mode], first, j);
                double v = AT(&x, e) - base, rel = 2 * (2 * far + size + 12) * U(s.p);
                double one = al == 2 ? v - log(sum) : exp(v) / sum;
                want(&r, &y, e, s.alpha, one,
                     al == 2 ? rel + 2 * U(s.p) * (fabs(v) + fabs(log(sum))) : rel * one, s.beta);
            }
        }
        blend a = blend_of(s.alpha), b = blend_of(s.beta);
        OK(cudnnSoftmaxForward(handle, algos[al], modes[mode], AS(s.p, a), x.desc, x.a.dev,
                               AS(s.p, b), y.desc, y.a.dev));
        expect(&y.a, &r, "y");
        tensor_free(&x), tensor_free(&y);
    }
}
END_TEST

/* y and dy share a layout, as the documentation asks; dx has its own. */
START_TEST(softmax_backward_equals_its_formula)
{
    open_handle(22);
    for (int i = 0; i < SETUPS * 6; i++) {
        int al = i % 3, mode = i / 3 % 2, lg = al == 2;
        char what[60];
        snprintf(what, sizeof what, "softmax backward %s %s", algo_names[al],
                 mode ? "CHANNEL" : "INSTANCE");
        setup s = setup_of(i / 6, what);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, lg ? -4 : 0, lg ? 0 : 1);
        tensor dy = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        tensor dx = tensor_new(s.p, s.n, s.dim, s.x, -1, 1);
        if (s.beta == 0) arr_fill(&dx.a, NAN);
        ref r = ref_of(&dx.a);
        EACH_GROUP(s, modes[mode], &y)
        {
            double sum = 0, magnitude = 0;
            for (int j = 0; j < size; j++) {
                int e = member(&s, modes[mode], first, j);
                double t = AT(&dy, e) * (lg ? 1 : AT(&y, e));
                sum += t, magnitude += fabs(t);
            }
            for (int j = 0; j < size; j++) {
                int e = member(&s, modes[mode], first, j);
                double v = AT(&y, e), d = AT(&dy, e);
                double dsum = 2 * (size + 4) * U(s.p) * magnitude, one, err;
                if (lg) {
                    one = d - exp(v) * sum;
                    err = exp(v) * (dsum + 2 * (fabs(v) + 8) * U(s.p) * fabs(sum));
                } else {
                    one = v * (d - sum);
                    err = fabs(v) * dsum;
                }
                err += 8 * U(s.p) * (lg ? 1 : fabs(v)) * (fabs(d) + fabs(sum));
                want(&r, &dx, e, s.alpha, one, err, s.beta);
            }
        }
        blend a = blend_of(s.alpha), b = blend_of(s.beta);
        OK(cudnnSoftmaxBackward(handle, algos[al], modes[mode], AS(s.p, a), y.desc, y.a.dev,
                                dy.desc, dy.a.dev, AS(s.p, b), dx.desc, dx.a.dev));
        expect(&dx.a, &r, "dx");
        tensor_free(&y), tensor_free(&dy), tensor_free(&dx);
    }
}
END_TEST

/* exp of 3000 is infinite in either type; less the largest value it is 1. */
START_TEST(softmax_of_large_values_stays_finite)
{
    static const int dim[] = {1, 3, 1, 1};
    open_handle(23);
    for (int i = 0; i < 4; i++) {
        prec p = i & 1 ? F64 : F32;
        int lg = i >> 1;
        at("softmax %s %s of 3000 3000 -3000", algo_names[1 + lg], PREC_NAME(p));
        tensor x = tensor_new(p, 4, dim, PACKED, 0, 0), y = tensor_new(p, 4, dim, PACKED, 0, 0);
        for (int e = 0; e < 3; e++) x.a.h[e] = e < 2 ? 3000 : -3000;
        arr_push(&x.a);
        ref r = ref_of(&y.a);
        const double soft[] = {0.5, 0.5, 0}, logs[] = {-log(2), -log(2), -6000 - log(2)};
        for (int e = 0; e < 3; e++)
            want(&r, &y, e, 1, lg ? logs[e] : soft[e], 16 * U(p) * (lg ? fabs(logs[e]) : 1), 0);
        blend one = blend_of(1), zero = blend_of(0);
        OK(cudnnSoftmaxForward(handle, algos[1 + lg], modes[0], AS(p, one), x.desc, x.a.dev,
                               AS(p, zero), y.desc, y.a.dev));
        expect(&y.a, &r, "y");
        tensor_free(&x), tensor_free(&y);
    }
}
END_TEST

static const struct {
    cudnnActivationMode_t mode;
    const char *name;
    double coef;
} kinds[] = {{CUDNN_ACTIVATION_SIGMOID, "SIGMOID", 0},
             {CUDNN_ACTIVATION_RELU, "RELU", 0},
             {CUDNN_ACTIVATION_TANH, "TANH", 0},
             {CUDNN_ACTIVATION_CLIPPED_RELU, "CLIPPED_RELU", 1.5},
             {CUDNN_ACTIVATION_ELU, "ELU", 0.5}};

static double activate(int k, double x)
{
    double c = kinds[k].coef;
    switch (kinds[k].mode) {
    case CUDNN_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
    case CUDNN_ACTIVATION_RELU: return fmax(x, 0);
    case CUDNN_ACTIVATION_TANH: return tanh(x);
    case CUDNN_ACTIVATION_CLIPPED_RELU: return fmin(fmax(x, 0), c);
    default: return x > 0 ? x : c * (exp(x) - 1);
    }
}

/* From x alone, not from y as a library may. */
static double derivative(int k, double x)
{
    double c = kinds[k].coef, s = 1 / (1 + exp(-x)), t = tanh(x);
    switch (kinds[k].mode) {
    case CUDNN_ACTIVATION_SIGMOID: return s * (1 - s);
    case CUDNN_ACTIVATION_RELU: return x > 0;
    case CUDNN_ACTIVATION_TANH: return 1 - t * t;
    case CUDNN_ACTIVATION_CLIPPED_RELU: return x > 0 && x < c;
    default: return x > 0 ? 1 : c * exp(x);
    }
}

static cudnnActivationDescriptor_t activation_of(int k, cudnnNanPropagation_t nan)
{
    cudnnActivationDescriptor_t d;
    OK(cudnnCreateActivationDescriptor(&d));
    OK(cudnnSetActivationDescriptor(d, kinds[k].mode, nan, kinds[k].coef));
    return d;
}

START_TEST(activations_equal_their_formulas)
{
    open_handle(24);
    for (int i = 0; i < SETUPS * COUNT(kinds); i++) {
        int k = i % COUNT(kinds);
        setup s = setup_of(i / COUNT(kinds), kinds[k].name);
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -3, 3);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        if (s.beta == 0) arr_fill(&y.a, NAN);
        ref r = ref_of(&y.a);
        for (int e = 0; e < count_of(&x); e++) {
            double v = AT(&x, e), one = activate(k, v);
            want(&r, &y, e, s.alpha, one, 2 * (fabs(v) + 8) * U(s.p) * fmax(1, fabs(one)), s.beta);
        }
        blend a = blend_of(s.alpha), b = blend_of(s.beta);
        cudnnActivationDescriptor_t d = activation_of(k, CUDNN_PROPAGATE_NAN);
        OK(cudnnActivationForward(handle, d, AS(s.p, a), x.desc, x.a.dev, AS(s.p, b), y.desc,
                                  y.a.dev));
        expect(&y.a, &r, "y");
        OK(cudnnDestroyActivationDescriptor(d));
        tensor_free(&x), tensor_free(&y);
    }
}
END_TEST

/* x and dx share a layout, y and dy the other, as the documentation asks. */
START_TEST(activation_gradients_equal_their_formulas)
{
    open_handle(25);
    for (int i = 0; i < SETUPS * COUNT(kinds); i++) {
        int k = i % COUNT(kinds);
        setup s = setup_of(i / COUNT(kinds), kinds[k].name);
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -3, 3);
        tensor dx = tensor_new(s.p, s.n, s.dim, s.x, -1, 1);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, 0, 0);
        tensor dy = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        for (int e = 0; e < count_of(&x); e++) AT(&y, e) = activate(k, AT(&x, e));
        arr_push(&y.a);
        if (s.beta == 0) arr_fill(&dx.a, NAN);
        ref r = ref_of(&dx.a);
        for (int e = 0; e < count_of(&x); e++) {
            double g = AT(&dy, e);
            /* y came rounded: 2 u of it, at most doubled by the slope's formula */
            double err = 2 * 12 * U(s.p) * fabs(g) * fmax(1, fabs(AT(&y, e)));
            want(&r, &dx, e, s.alpha, g * derivative(k, AT(&x, e)), err, s.beta);
        }
        blend a = blend_of(s.alpha), b = blend_of(s.beta);
        cudnnActivationDescriptor_t d = activation_of(k, CUDNN_PROPAGATE_NAN);
        OK(cudnnActivationBackward(handle, d, AS(s.p, a), y.desc, y.a.dev, dy.desc, dy.a.dev,
                                   x.desc, x.a.dev, AS(s.p, b), dx.desc, dx.a.dev));
        expect(&dx.a, &r, "dx");
        OK(cudnnDestroyActivationDescriptor(d));
        tensor_free(&x), tensor_free(&dx), tensor_free(&y), tensor_free(&dy);
    }
}
END_TEST

START_TEST(activations_pass_nan_on_when_told_to)
{
    static const int dim[] = {1, 2, 1, 1};
    open_handle(26);
    for (int i = 0; i < COUNT(kinds) * 2; i++) {
        prec p = i & 1 ? F64 : F32;
        int k = i / 2;
        at("%s %s of a NaN", kinds[k].name, PREC_NAME(p));
        tensor x = tensor_new(p, 4, dim, PACKED, 1, 1), y = tensor_new(p, 4, dim, PACKED, 0, 0);
        x.a.h[0] = NAN;
        arr_push(&x.a);
        ref r = ref_of(&y.a);
        r.want[0] = NAN;
        want(&r, &y, 1, 1, activate(k, 1), 16 * U(p), 0);
        blend one = blend_of(1), zero = blend_of(0);
        cudnnActivationDescriptor_t d = activation_of(k, CUDNN_PROPAGATE_NAN);
        OK(cudnnActivationForward(handle, d, AS(p, one), x.desc, x.a.dev, AS(p, zero), y.desc,
                                  y.a.dev));
        expect(&y.a, &r, "y");
        OK(cudnnDestroyActivationDescriptor(d));
        tensor_free(&x), tensor_free(&y);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cudnn.def"
};
CASE_MAIN("cudnn")
