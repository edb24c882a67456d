/* precision.c - the float build against the double build: tells rounding from a wrong formula. A
 * split float gradient may be off by max(1e-5, 4 times the unsplit float run's own distance from
 * double). */
#include "case.h"
#include <math.h>
#include <unistd.h>

typedef struct dump {
    long params, tensors;
    double *data; /* offset and count of each tensor, then unsplit, then split [params] */
} dump;

static dump run(const char *precision)
{
    char command[2048], path[512];
    dump d = {0};
    double sizes[2];
    snprintf(path, sizeof path, "%s/cases/gradient_%s.%ld.bin", OOMPROOF_BUILD_DIR, precision,
             (long)getpid());
    snprintf(command, sizeof command,
             "OOMPROOF_GRADIENT_FILE='%s' LD_PRELOAD='%s/lib/liboomproof.so' "
             "'%s/cases/gradient_%s' print",
             path, OOMPROOF_BUILD_DIR, OOMPROOF_BUILD_DIR, precision);
    ck_assert_msg(system(command) == 0, "failed: %s", command);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fread(sizes, sizeof *sizes, 2, f), 2);
    d.params = (long)sizes[0];
    d.tensors = (long)sizes[1];
    size_t n = (size_t)(2 * d.tensors + 2 * d.params);
    d.data = malloc(n * sizeof *d.data);
    ck_assert_ptr_nonnull(d.data);
    ck_assert_int_eq(fread(d.data, sizeof *d.data, n, f), n);
    fclose(f);
    remove(path);
    return d;
}

static double distance(const dump *d, const double *a, const double *reference)
{
    double all = 0, worst = 0;
    for (long i = 0; i < d->params; i++) all = fmax(all, fabs(reference[i]));
    for (long t = 0; t < d->tensors; t++) {
        double largest = 0, apart = 0;
        for (long i = (long)d->data[2 * t]; i < (long)(d->data[2 * t] + d->data[2 * t + 1]); i++) {
            largest = fmax(largest, fabs(reference[i]));
            if (!(fabs(a[i] - reference[i]) <= apart)) apart = fabs(a[i] - reference[i]);
        }
        if (!(apart <= worst * fmax(largest, 1e-3 * all)))
            worst = apart / fmax(largest, 1e-3 * all);
    }
    return worst;
}

START_TEST(a_split_float_gradient_is_as_near_to_double_as_the_unsplit_one)
{
    dump f = run("float"), d = run("double");
    ck_assert_int_eq(f.params, d.params);
    const double *fu = f.data + 2 * f.tensors, *fs = fu + f.params;
    const double *du = d.data + 2 * d.tensors, *ds = du + d.params;
    double own = distance(&d, fu, du), split = distance(&f, fs, fu), exact = distance(&d, ds, du);
    double bound = fmax(1e-5, 4 * own);
    printf("unsplit float is off double by %.2g; split is off unsplit by %.2g in float, %.2g in "
           "double\n",
           own, split, exact);
    ck_assert_msg(exact <= 1e-12, "in double the split gradient is off by %.3g", exact);
    ck_assert_msg(split <= bound, "in float the split gradient is off by %.3g, the bound is %.3g",
                  split, bound);
    free(f.data);
    free(d.data);
}
END_TEST

static const case_entry cases[] = {
#include "precision.def"
};
CASE_MAIN("precision")
