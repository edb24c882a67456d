/* sim_math.c - device math functions against libm. The error bounds are those of the CUDA
 * programming guide at their widest, in units of the last place, plus what libm itself may be off.
 */
#include "rig.h"
#include <float.h>
#include <math.h>

enum { N = 12 };
static const double xs[N] = {0.1,  0.5,  0.9,  -0.3,     3.75,      20.5,
                             80.0, -7.2, 1e-6, 12345.25, 1048576.5, 0.0},
                    ys[N] = {2.0, -0.5, 0.25, 3.0, 1.5, -2.25, 0.3, -4.0, 7.0, 2.75, -1e3, 1.0};

#define NAME(name) #name,
static const char *const names[] = {MATH_ONE(NAME) MATH_TWO(NAME)};
#define ROWS COUNT(names)

static double reference(int f, double x, double y)
{
    int i = 0;
#define ONE(name) \
    if (i++ == f) return name(x);
#define TWO(name) \
    if (i++ == f) return name(x, y);
    MATH_ONE(ONE)
    MATH_TWO(TWO)
    return NAN;
}

/* Off by more than `ulps` of a type whose neighbour of 1 is 1 + epsilon? */
static int differs(double got, double want, double epsilon, double tiny, double ulps)
{
    if (isnan(want)) return !isnan(got);
    if (isinf(want) || isinf(got)) return got != want;
    return !(fabs(got - want) <= ulps * epsilon * fmax(fabs(want), tiny));
}

START_TEST(float_functions_agree_with_libm)
{
    float x[N], y[N], out[ROWS * N];
    int n = N;
    for (int i = 0; i < N; i++) x[i] = (float)xs[i], y[i] = (float)ys[i];
    void *a = device(x, sizeof x), *b = device(y, sizeof y), *o = device(NULL, sizeof out);
    run(math_float, 1, N, ARGS(&a, &b, &n, &o));
    fetch(out, o, sizeof out);
    for (int f = 0; f < ROWS; f++)
        for (int i = 0; i < N; i++) {
            double want = (float)reference(f, x[i], y[i]);
            ck_assert_msg(!differs(out[f * N + i], want, FLT_EPSILON, FLT_MIN, 12),
                          "%sf(%.9g, %.9g) is %.9g, not %.9g", names[f], x[i], y[i], out[f * N + i],
                          want);
        }
}
END_TEST

START_TEST(double_functions_agree_with_libm)
{
    double out[ROWS * N];
    int n = N;
    void *a = device(xs, sizeof xs), *b = device(ys, sizeof ys), *o = device(NULL, sizeof out);
    run(math_double, 1, N, ARGS(&a, &b, &n, &o));
    fetch(out, o, sizeof out);
    for (int f = 0; f < ROWS; f++)
        for (int i = 0; i < N; i++) {
            double want = reference(f, xs[i], ys[i]);
            ck_assert_msg(!differs(out[f * N + i], want, DBL_EPSILON, DBL_MIN, 16),
                          "%s(%.17g, %.17g) is %.17g, not %.17g", names[f], xs[i], ys[i],
                          out[f * N + i], want);
        }
}
END_TEST

static const case_entry cases[] = {
#include "sim_math.def"
};
CASE_MAIN("sim_math")
