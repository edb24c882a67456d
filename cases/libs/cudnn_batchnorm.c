/* cudnn_batchnorm.c - batch normalisation in every mode against its formulas in double.
 *
 * Tolerance, u the unit roundoff, m values a group, A the largest magnitude among them. The mean
 * errs by em = 2 (m + 2) u A. A library may take the variance from the sum of squares, so it errs
 * by ev = 4 (m + 4) u A A, and 1 / sqrt(var + epsilon) relatively by ri = ev / (var + epsilon) + 4
 * u (half of that to first order). From there on errors add up along the formulas; each case says
 * how. Leading 2s cover the reference's own rounding in double. */
#include "dnn.h"

static const struct {
    cudnnBatchNormMode_t mode;
    const char *name;
} modes[] = {{CUDNN_BATCHNORM_PER_ACTIVATION, "PER_ACTIVATION"},
             {CUDNN_BATCHNORM_SPATIAL, "SPATIAL"},
             {CUDNN_BATCHNORM_SPATIAL_PERSISTENT, "SPATIAL_PERSISTENT"}};
/* at least two values a group: of one, the unbiased variance is not defined */
static const int shapes[][5] = {
    {2, 1, 1, 1, 1}, {4, 3, 1, 1, 1}, {2, 3, 4, 5, 1}, {33, 2, 1, 2, 1}, {3, 2, 2, 1, 3}};
enum { FIVE = 4 }; /* the row of 5 dimensions */

typedef struct setup {
    prec p;
    int mode, n, dim[5], param[5], groups, m;
    enum layout x, y;
    double alpha, beta, palpha, pbeta, epsilon;
    blend a, b, pa, pb;
    tensor scale, bias;
    cudnnTensorDescriptor_t desc;
} setup;

#define SETUPS (COUNT(shapes) * COUNT(blends) * COUNT(modes) * 2 * 4)

static setup setup_of(int i, const char *what)
{
    static const enum layout pairs[4][2] = {
        {PACKED, PACKED}, {CHANNELS_LAST, PACKED}, {PACKED, GAPS}, {GAPS, CHANNELS_LAST}};
    setup s = {.p = i & 1 ? F64 : F32, .x = pairs[i >> 1 & 3][0], .y = pairs[i >> 1 & 3][1]};
    int b = i / 8 % COUNT(blends), c = (b + 1) % COUNT(blends), k = i / 8 / COUNT(blends);
    s.mode = k % COUNT(modes), k /= COUNT(modes);
    s.n = k == FIVE ? 5 : 4;
    s.groups = 1;
    for (int d = 0; d < s.n; d++) {
        s.dim[d] = shapes[k][d];
        s.param[d] = d == 0 || (d > 1 && s.mode != 0) ? 1 : s.dim[d];
        s.groups *= s.param[d];
    }
    s.alpha = blends[b][0], s.beta = blends[b][1];
    s.palpha = blends[c][0], s.pbeta = blends[c][1];
    s.a = blend_of(s.alpha), s.b = blend_of(s.beta);
    s.pa = blend_of(s.palpha), s.pb = blend_of(s.pbeta);
    s.epsilon = i & 2 ? 1e-5 : 0.125;
    at("batch norm %s %s %s %dx%dx%dx%dx%d x %s y %s alpha %g beta %g for the parameters %g %g "
       "epsilon %g",
       what, modes[s.mode].name, PREC_NAME(s.p), shapes[k][0], shapes[k][1], shapes[k][2],
       shapes[k][3], shapes[k][4], layout_names[s.x], layout_names[s.y], s.alpha, s.beta, s.palpha,
       s.pbeta, s.epsilon);
    s.scale = tensor_new(s.p, s.n, s.param, PACKED, -2, 2);
    s.bias = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
    tensor x = tensor_new(s.p, s.n, s.dim, s.x, 0, 0);
    s.m = count_of(&x) / s.groups;
    OK(cudnnCreateTensorDescriptor(&s.desc));
    OK(cudnnDeriveBNTensorDescriptor(s.desc, x.desc, modes[s.mode].mode));
    tensor_free(&x);
    return s;
}

static void setup_end(setup *s)
{
    tensor_free(&s->scale), tensor_free(&s->bias);
    OK(cudnnDestroyTensorDescriptor(s->desc));
}

/* Group of element e: its place in the sample, or its channel. */
static int group_of(const setup *s, int e)
{
    int inner = s->dim[2] * s->dim[3] * (s->n > 4 ? s->dim[4] : 1);
    return s->mode == 0 ? e % (s->dim[1] * inner) : e / inner % s->dim[1];
}

/* The elements of group k of tensor t, one by one in e. */
#define EACH_OF(s, t, k)                                   \
    for (int e = 0, e_end_ = count_of(t); e < e_end_; e++) \
        if (group_of((s), e) == (k))

typedef struct stats {
    double mean, var, inv, em, ev, ri;
} stats;

static stats stats_of(const setup *s, const tensor *x, int k)
{
    stats r = {0};
    double largest = 0;
    EACH_OF(s, x, k)
    {
        r.mean += AT(x, e) / s->m;
        largest = fmax(largest, fabs(AT(x, e)));
    }
    EACH_OF(s, x, k) r.var += pow(AT(x, e) - r.mean, 2) / s->m;
    r.inv = 1 / sqrt(r.var + s->epsilon);
    r.em = 2 * (s->m + 2) * U(s->p) * largest;
    r.ev = 4 * (s->m + 4) * U(s->p) * largest * largest;
    r.ri = r.ev / (r.var + s->epsilon) + 4 * U(s->p);
    return r;
}

START_TEST(training_normalises_and_keeps_running_statistics)
{
    static const double factors[] = {1, 0.1, 0.5};
    open_handle(31);
    for (int i = 0; i < SETUPS * 4; i++) {
        setup s = setup_of(i / 4, "training");
        int running = i & 1, saved = i & 2;
        double factor = factors[i / 4 % 3];
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -1, 3);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        tensor rm = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        tensor rv = tensor_new(s.p, s.n, s.param, PACKED, 0, 2);
        tensor sm = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        tensor si = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        if (s.beta == 0) arr_fill(&y.a, NAN);
        ref r = ref_of(&y.a), rrm = ref_of(&rm.a), rrv = ref_of(&rv.a), rsm = ref_of(&sm.a),
            rsi = ref_of(&si.a);
        for (int k = 0; k < s.groups; k++) {
            stats t = stats_of(&s, &x, k);
            double sc = AT(&s.scale, k), bi = AT(&s.bias, k);
            EACH_OF(&s, &x, k)
            {
                double xh = (AT(&x, e) - t.mean) * t.inv;
                double err = fabs(sc) * (t.inv * t.em + fabs(xh) * (t.ri + 6 * U(s.p)));
                err += 4 * U(s.p) * (fabs(sc * xh) + fabs(bi));
                want(&r, &y, e, s.alpha, sc * xh + bi, err, s.beta);
            }
            /* the variance that runs is the unbiased one; what is saved stems from the other */
            double unbiased = (double)s.m / (s.m - 1);
            if (running) {
                want(&rrm, &rm, k, factor, t.mean, t.em, 1 - factor);
                want(&rrv, &rv, k, factor, t.var * unbiased, t.ev * unbiased, 1 - factor);
            }
            if (saved) {
                want(&rsm, &sm, k, 1, t.mean, t.em, 0);
                want(&rsi, &si, k, 1, t.inv, t.inv * t.ri, 0);
            }
        }
        OK(cudnnBatchNormalizationForwardTraining(
            handle, modes[s.mode].mode, AS(s.p, s.a), AS(s.p, s.b), x.desc, x.a.dev, y.desc,
            y.a.dev, s.desc, s.scale.a.dev, s.bias.a.dev, factor, running ? rm.a.dev : NULL,
            running ? rv.a.dev : NULL, s.epsilon, saved ? sm.a.dev : NULL,
            saved ? si.a.dev : NULL));
        expect(&y.a, &r, "y");
        expect(&rm.a, &rrm, running ? "running mean" : "running mean, not given");
        expect(&rv.a, &rrv, running ? "running variance" : "running variance, not given");
        expect(&sm.a, &rsm, saved ? "saved mean" : "saved mean, not given");
        expect(&si.a, &rsi, saved ? "saved 1 / deviation" : "saved 1 / deviation, not given");
        tensor_free(&x), tensor_free(&y), tensor_free(&rm), tensor_free(&rv);
        tensor_free(&sm), tensor_free(&si), setup_end(&s);
    }
}
END_TEST

START_TEST(inference_takes_the_statistics_it_is_given)
{
    open_handle(32);
    for (int i = 0; i < SETUPS; i++) {
        setup s = setup_of(i, "inference");
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -1, 3);
        tensor y = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        tensor mean = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        tensor var = tensor_new(s.p, s.n, s.param, PACKED, 0, 2);
        if (s.beta == 0) arr_fill(&y.a, NAN);
        ref r = ref_of(&y.a);
        for (int k = 0; k < s.groups; k++) EACH_OF(&s, &x, k)
            {
                double sc = AT(&s.scale, k) / sqrt(AT(&var, k) + s.epsilon), bi = AT(&s.bias, k);
                double one = sc * (AT(&x, e) - AT(&mean, k)) + bi;
                /* eight roundings at the magnitude of the terms */
                double size = fabs(sc) * (fabs(AT(&x, e)) + fabs(AT(&mean, k))) + fabs(bi);
                want(&r, &y, e, s.alpha, one, 2 * 8 * U(s.p) * size, s.beta);
            }
        OK(cudnnBatchNormalizationForwardInference(
            handle, modes[s.mode].mode, AS(s.p, s.a), AS(s.p, s.b), x.desc, x.a.dev, y.desc,
            y.a.dev, s.desc, s.scale.a.dev, s.bias.a.dev, mean.a.dev, var.a.dev, s.epsilon));
        expect(&y.a, &r, "y");
        tensor_free(&x), tensor_free(&y), tensor_free(&mean), tensor_free(&var), setup_end(&s);
    }
}
END_TEST

/* With what the forward pass saved, and without. */
START_TEST(backward_equals_its_formula)
{
    open_handle(33);
    for (int i = 0; i < SETUPS * 2; i++) {
        int saved = i & 1;
        setup s = setup_of(i / 2, saved ? "backward, saved" : "backward");
        tensor x = tensor_new(s.p, s.n, s.dim, s.x, -1, 3);
        tensor dy = tensor_new(s.p, s.n, s.dim, s.y, -1, 1);
        tensor dx = tensor_new(s.p, s.n, s.dim, s.x, -1, 1);
        tensor sm = tensor_new(s.p, s.n, s.param, PACKED, 0, 0);
        tensor si = tensor_new(s.p, s.n, s.param, PACKED, 0, 0);
        tensor ds = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        tensor db = tensor_new(s.p, s.n, s.param, PACKED, -1, 1);
        if (s.beta == 0) arr_fill(&dx.a, NAN);
        if (s.pbeta == 0) arr_fill(&ds.a, NAN), arr_fill(&db.a, NAN);
        ref r = ref_of(&dx.a), rs = ref_of(&ds.a), rb = ref_of(&db.a);
        for (int k = 0; k < s.groups; k++) {
            stats t = stats_of(&s, &x, k);
            double u = U(s.p), sc = AT(&s.scale, k), s1 = 0, s2 = 0, e1 = 0, e2 = 0;
            AT(&sm, k) = t.mean, AT(&si, k) = t.inv;
            /* xh = (x - mean) inv errs by exh; the sums of dy and of dy xh, by e1 and e2 */
            EACH_OF(&s, &x, k)
            {
                double xh = (AT(&x, e) - t.mean) * t.inv, d = AT(&dy, e);
                double exh = t.inv * t.em + fabs(xh) * (t.ri + 2 * u);
                s1 += d, s2 += d * xh;
                e1 += 2 * (s.m + 2) * u * fabs(d);
                e2 += fabs(d) * exh + 2 * (s.m + 4) * u * fabs(d * xh);
            }
            EACH_OF(&s, &x, k)
            {
                double xh = (AT(&x, e) - t.mean) * t.inv, d = AT(&dy, e), f = sc * t.inv;
                double exh = t.inv * t.em + fabs(xh) * (t.ri + 2 * u);
                double size = fabs(d) + fabs(s1) / s.m + fabs(xh * s2) / s.m;
                double err = (e1 + fabs(xh) * e2 + exh * fabs(s2)) / s.m + size * (t.ri + 16 * u);
                want(&r, &dx, e, s.alpha, f * (d - s1 / s.m - xh * s2 / s.m), fabs(f) * err,
                     s.beta);
            }
            want(&rs, &ds, k, s.palpha, s2, e2, s.pbeta);
            want(&rb, &db, k, s.palpha, s1, e1, s.pbeta);
        }
        arr_push(&sm.a), arr_push(&si.a);
        OK(cudnnBatchNormalizationBackward(
            handle, modes[s.mode].mode, AS(s.p, s.a), AS(s.p, s.b), AS(s.p, s.pa), AS(s.p, s.pb),
            x.desc, x.a.dev, dy.desc, dy.a.dev, dx.desc, dx.a.dev, s.desc, s.scale.a.dev, ds.a.dev,
            db.a.dev, s.epsilon, saved ? sm.a.dev : NULL, saved ? si.a.dev : NULL));
        expect(&dx.a, &r, "dx");
        expect(&ds.a, &rs, "dscale");
        expect(&db.a, &rb, "dbias");
        tensor_free(&x), tensor_free(&dy), tensor_free(&dx), tensor_free(&sm), tensor_free(&si);
        tensor_free(&ds), tensor_free(&db), setup_end(&s);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cudnn_batchnorm.def"
};
CASE_MAIN("cudnn_batchnorm")
