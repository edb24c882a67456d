/* cublas_vectors.c - swap, asum, iamax, iamin, the rotations, transfers between host and device,
 * and the _64 variants.
 *
 * Tolerance, u the unit roundoff: a rotated element is two products and a sum, 4 u of their
 * magnitudes, doubled; asum of n, 2 (n + 4) u of itself. What is only moved is exact. */
#include "blas.h"

static const struct shape {
    int n, ix, iy;
} shapes[] = {{1, 1, 1},  {7, 2, 3}, {33, 1, 5}, {9, -1, 1},
              {9, 2, -3}, {0, 1, 1}, {-3, 1, 1}, {513, 3, 2}};

static void name_call(const char *name, int i, const struct shape *s)
{
    at("cublas%c%s %s n %d inc %d %d", i & 1 ? 'D' : 'S', name,
       i & 2 ? "device scalars" : "host scalars", s->n, s->ix, s->iy);
    pointers_on(i & 2);
}

START_TEST(swap_exchanges_and_leaves_the_gaps)
{
    open_handle(71);
    for (int i = 0; i < COUNT(shapes) * 4; i++) {
        const struct shape *s = &shapes[i / 4];
        prec p = i & 1 ? F64 : F32;
        name_call("swap", i, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1), y = arr_new(p, span(s->n, s->iy), -1, 1);
        ref rx = ref_of(&x), ry = ref_of(&y);
        for (int j = 0; j < s->n; j++) {
            rx.want[nth(j, s->n, s->ix)] = y.h[nth(j, s->n, s->iy)];
            ry.want[nth(j, s->n, s->iy)] = x.h[nth(j, s->n, s->ix)];
        }
        OK(BOTH(p, swap, s->n, x.dev, s->ix, y.dev, s->iy));
        expect(&x, &rx, "x"), expect(&y, &ry, "y");
        arr_free(&x), arr_free(&y);
    }
}
END_TEST

/* An index as the pointer mode has it; 99 must be overwritten. */
#define INDEX(fn, type, out)                                                             \
    do {                                                                                 \
        type host_ = 99, *dev_ = NULL;                                                   \
        if (i & 2) {                                                                     \
            CUDA(cudaMalloc((void **)&dev_, sizeof host_));                              \
            CUDA(cudaMemcpy(dev_, &host_, sizeof host_, cudaMemcpyHostToDevice));        \
        }                                                                                \
        OK(p == F32 ? cublasIs##fn(handle, s->n, x.dev, s->ix, i & 2 ? dev_ : &host_)    \
                    : cublasId##fn(handle, s->n, x.dev, s->ix, i & 2 ? dev_ : &host_));  \
        if (i & 2) CUDA(cudaMemcpy(&host_, dev_, sizeof host_, cudaMemcpyDeviceToHost)); \
        if (i & 2) CUDA(cudaFree(dev_));                                                 \
        (out) = (int)host_;                                                              \
    } while (0)

START_TEST(sums_and_extremes_of_magnitudes_are_found)
{
    open_handle(72);
    for (int i = 0; i < COUNT(shapes) * 4; i++) {
        const struct shape *s = &shapes[i / 4];
        prec p = i & 1 ? F64 : F32;
        arr x = arr_new(p, span(s->n, s->ix), -1, 1);
        if (s->n > 20) /* the same twice: the first counts */
            for (int j = 3; j <= 11; j += 8) {
                x.h[nth(j, s->n, s->ix)] = j == 3 ? -2 : 2;
                x.h[nth(j + 1, s->n, s->ix)] = j == 3 ? -0x1p-30 : 0x1p-30;
            }
        arr_push(&x);
        double sum = 0, large = -1, small = INFINITY;
        int want[2] = {0, 0}, got[2];
        for (int j = 0; s->ix > 0 && j < s->n; j++) {
            double v = fabs(x.h[nth(j, s->n, s->ix)]);
            sum += v;
            if (v > large) large = v, want[0] = j + 1;
            if (v < small) small = v, want[1] = j + 1;
        }
        scalar out;
        scalar_make(&out, p, i & 2, 99);
        name_call("asum", i, s);
        OK(BOTH(p, asum, s->n, x.dev, s->ix, out.p));
        expect_value(scalar_value(&out, p), sum, 2 * (abs(s->n) + 4) * U(p) * sum, "asum");
        name_call("amax and amin", i, s);
        INDEX(amax, int, got[0]);
        INDEX(amin, int, got[1]);
        ck_assert_msg(got[0] == want[0] && got[1] == want[1], "%s: got %d %d, wanted %d %d", where,
                      got[0], got[1], want[0], want[1]);
        INDEX(amax_64, int64_t, got[0]);
        INDEX(amin_64, int64_t, got[1]);
        ck_assert_msg(got[0] == want[0] && got[1] == want[1], "%s _64: got %d %d, wanted %d %d",
                      where, got[0], got[1], want[0], want[1]);
        arr_free(&x), scalar_free(&out);
    }
}
END_TEST

/* rot, and rotm in its four forms: [h11 h12; h21 h22] with ones where the flag says so. */
START_TEST(rotations_turn_pairs_and_leave_the_gaps)
{
    static const double h[4][4] = {
        {1, 0, 0, 1}, {0.3, -2, 0.7, 1.1}, {1, 0.4, -0.6, 1}, {0.9, 1, -1, 0.2}};
    static const double flags[] = {-2, -1, 0, 1};
    open_handle(73);
    for (int i = 0; i < COUNT(shapes) * 4 * 5; i++) {
        const struct shape *s = &shapes[i / 20];
        prec p = i & 1 ? F64 : F32;
        int form = i / 4 % 5; /* 4: rot */
        name_call(form == 4 ? "rot" : "rotm", i, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1), y = arr_new(p, span(s->n, s->iy), -1, 1);
        arr param = arr_new(p, 5, 0, 0);
        double m[4] = {0.6, 0.8, -0.8, 0.6}; /* h11 h12 h21 h22 */
        if (form < 4) memcpy(m, h[form], sizeof m);
        for (int k = 0; k < 4; k++) m[k] = rounded(p, m[k]);
        /* as rotm has them: flag h11 h21 h12 h22, NaN where the flag says that they are not read */
        double given[5] = {form < 4 ? flags[form] : 0, m[0], m[2], m[1], m[3]};
        if (form == 0) given[1] = given[2] = given[3] = given[4] = NAN;
        if (form == 2) given[1] = given[4] = NAN;
        if (form == 3) given[2] = given[3] = NAN;
        memcpy(param.h, given, sizeof given);
        arr_push(&param);
        ref rx = ref_of(&x), ry = ref_of(&y);
        for (int j = 0; j < s->n; j++) {
            size_t a = nth(j, s->n, s->ix), b = nth(j, s->n, s->iy);
            rx.want[a] = m[0] * x.h[a] + m[1] * y.h[b];
            ry.want[b] = m[2] * x.h[a] + m[3] * y.h[b];
            rx.tol[a] = 8 * U(p) * (fabs(m[0] * x.h[a]) + fabs(m[1] * y.h[b]));
            ry.tol[b] = 8 * U(p) * (fabs(m[2] * x.h[a]) + fabs(m[3] * y.h[b]));
        }
        float narrow[5];
        for (int k = 0; k < 5; k++) narrow[k] = (float)given[k];
        const void *list = i & 2 ? param.dev : p == F32 ? (void *)narrow : given;
        scalar c, si;
        scalar_make(&c, p, i & 2, m[0]);
        scalar_make(&si, p, i & 2, m[1]);
        if (form == 4)
            OK(BOTH(p, rot, s->n, x.dev, s->ix, y.dev, s->iy, c.p, si.p));
        else
            OK(BOTH(p, rotm, s->n, x.dev, s->ix, y.dev, s->iy, list));
        expect(&x, &rx, "x"), expect(&y, &ry, "y");
        arr_free(&x), arr_free(&y), arr_free(&param), scalar_free(&c), scalar_free(&si);
    }
}
END_TEST

/* By what they are for: the second of the pair becomes 0, lengths stay. */
START_TEST(rotations_are_made_that_cancel)
{
    static const double pairs[][2] = {{3, 4}, {-1, 0.25}, {0.5, -7}, {0, 2}, {2, 0}};
    open_handle(74);
    for (int i = 0; i < COUNT(pairs) * 4; i++) {
        prec p = i & 1 ? F64 : F32;
        double a = pairs[i / 4][0], b = pairs[i / 4][1], len = hypot(a, b), tol = 16 * U(p) * len;
        at("rotg and rotmg %s of %g %g %s", PREC_NAME(p), a, b, i & 2 ? "on the device" : "");
        pointers_on(i & 2);
        scalar v[4];
        for (int k = 0; k < 4; k++) scalar_make(&v[k], p, i & 2, k == 0 ? a : k == 1 ? b : 99);
        OK(BOTH(p, rotg, v[0].p, v[1].p, v[2].p, v[3].p));
        double c = scalar_value(&v[2], p), s = scalar_value(&v[3], p);
        expect_value(c * a + s * b, scalar_value(&v[0], p), tol, "r");
        expect_value(-s * a + c * b, 0, tol, "what must vanish");
        expect_value(fabs(scalar_value(&v[0], p)), len, tol, "|r|");
        for (int k = 0; k < 4; k++) scalar_free(&v[k]);

        double d1 = 0.5, d2 = 2, flag, m[4]; /* weights */
        const double in[4] = {d1, d2, a, b};
        arr param = arr_new(p, 5, 7, 7);
        float narrow[5];
        double wide[5];
        for (int k = 0; k < 4; k++) scalar_make(&v[k], p, i & 2, in[k]);
        void *list = i & 2 ? param.dev : p == F32 ? (void *)narrow : wide;
        OK(BOTH(p, rotmg, v[0].p, v[1].p, v[2].p, v[3].p, list));
        if (i & 2) arr_pull(&param);
        for (int k = 0; k < 5; k++)
            wide[k] = i & 2 ? param.h[k] : p == F32 ? (double)narrow[k] : wide[k];
        flag = wide[0];
        m[0] = flag == 0 || flag == -2 ? 1 : wide[1];
        m[1] = flag == 1 ? 1 : flag == -2 ? 0 : wide[3];
        m[2] = flag == 1 ? -1 : flag == -2 ? 0 : wide[2];
        m[3] = flag == 0 || flag == -2 ? 1 : wide[4];
        double e1 = scalar_value(&v[0], p), x1 = scalar_value(&v[2], p);
        expect_value(m[0] * a + m[1] * b, x1, tol * 4, "x1");
        expect_value(m[2] * a + m[3] * b, 0, tol * 4, "what must vanish");
        expect_value(e1 * x1 * x1, d1 * a * a + d2 * b * b, 64 * U(p) * 2 * len * len, "length");
        for (int k = 0; k < 4; k++) scalar_free(&v[k]);
        arr_free(&param);
    }
}
END_TEST

#define STATUS(call, code)                                                          \
    do {                                                                            \
        cublasStatus_t got_ = (call);                                               \
        ck_assert_msg(got_ == CUBLAS_STATUS_##code, "%s: got %s, wanted %s", #call, \
                      cublasGetStatusName(got_), #code);                            \
    } while (0)

START_TEST(transfers_move_vectors_and_matrices)
{
    enum { ROWS = 5, COLUMNS = 3, LDA = 7, LDB = 6, ROOM = LDA * 4 };
    double host[ROOM], back[ROOM], want[ROOM];
    double *dev;
    CUDA(cudaMalloc((void **)&dev, sizeof host));
    for (int way = 0; way < 4; way++) { /* plain, asynchronous, and _64 of each */
        for (int i = 0; i < ROOM; i++) host[i] = way * 100 + i, back[i] = want[i] = -1 - i;
        CUDA(cudaMemset(dev, 0, sizeof host));
        const int n = 5, e = sizeof *host;
        at("vectors, way %d", way);
        OK(way == 0   ? cublasSetVector(n, e, host, 2, dev, 3)
           : way == 1 ? cublasSetVectorAsync(n, e, host, 2, dev, 3, NULL)
           : way == 2 ? cublasSetVector_64(n, e, host, 2, dev, 3)
                      : cublasSetVectorAsync_64(n, e, host, 2, dev, 3, NULL));
        OK(way == 0   ? cublasGetVector(n, e, dev, 3, back, 4)
           : way == 1 ? cublasGetVectorAsync(n, e, dev, 3, back, 4, NULL)
           : way == 2 ? cublasGetVector_64(n, e, dev, 3, back, 4)
                      : cublasGetVectorAsync_64(n, e, dev, 3, back, 4, NULL));
        for (int i = 0; i < n; i++) want[4 * i] = host[2 * i];
        ck_assert_msg(!memcmp(back, want, sizeof back), "%s", where);
        at("matrices, way %d", way);
        OK(way == 0   ? cublasSetMatrix(ROWS, COLUMNS, e, host, LDA, dev, LDB)
           : way == 1 ? cublasSetMatrixAsync(ROWS, COLUMNS, e, host, LDA, dev, LDB, NULL)
           : way == 2 ? cublasSetMatrix_64(ROWS, COLUMNS, e, host, LDA, dev, LDB)
                      : cublasSetMatrixAsync_64(ROWS, COLUMNS, e, host, LDA, dev, LDB, NULL));
        OK(way == 0   ? cublasGetMatrix(ROWS, COLUMNS, e, dev, LDB, back, ROWS)
           : way == 1 ? cublasGetMatrixAsync(ROWS, COLUMNS, e, dev, LDB, back, ROWS, NULL)
           : way == 2 ? cublasGetMatrix_64(ROWS, COLUMNS, e, dev, LDB, back, ROWS)
                      : cublasGetMatrixAsync_64(ROWS, COLUMNS, e, dev, LDB, back, ROWS, NULL));
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < ROWS; i++) want[j * ROWS + i] = host[j * LDA + i];
        ck_assert_msg(!memcmp(back, want, sizeof back), "%s", where);
    }
    STATUS(cublasSetVector(4, 0, host, 1, dev, 1), INVALID_VALUE);
    STATUS(cublasSetVector(4, 8, host, 0, dev, 1), INVALID_VALUE);
    STATUS(cublasGetVector(4, 8, dev, 1, host, -1), INVALID_VALUE);
    STATUS(cublasSetMatrix(-1, 2, 8, host, 4, dev, 4), INVALID_VALUE);
    STATUS(cublasSetMatrix(4, 2, 8, host, 0, dev, 4), INVALID_VALUE);
    STATUS(cublasGetMatrix(4, 2, -8, dev, 4, host, 4), INVALID_VALUE);
    STATUS(cublasSetVector(4, 8, host, 1, host, 1), MAPPING_ERROR); /* not the device's */
    STATUS(cublasGetVector(ROOM + 100000, 8, dev, 1, host, 1), MAPPING_ERROR);
    CUDA(cudaDeviceSynchronize()); /* no error of the device */
    CUDA(cudaFree(dev));
}
END_TEST

START_TEST(vectors_and_settings_refuse_bad_arguments)
{
    open_handle(75);
    pointers_on(0);
    arr a = arr_new(F32, 64, -1, 1);
    float one = 1, *d = a.dev, *none = NULL;
    int index, value;
    int64_t huge = (int64_t)1 << 32, wide;
    at("refused");
    ref r = ref_of(&a);
    STATUS(cublasSasum(handle, 4, d, 1, none), INVALID_VALUE);
    STATUS(cublasIsamax(handle, 4, d, 1, NULL), INVALID_VALUE);
    STATUS(cublasIsamax_64(handle, 4, d, 1, NULL), INVALID_VALUE);
    STATUS(cublasSrot(handle, 4, d, 1, d, 1, none, &one), INVALID_VALUE);
    STATUS(cublasSrotm(handle, 4, d, 1, d, 1, none), INVALID_VALUE);
    STATUS(cublasSrotg(handle, &one, &one, none, &one), INVALID_VALUE);
    STATUS(cublasSrotmg(handle, &one, &one, &one, none, &one), INVALID_VALUE);
    STATUS(cublasSswap(NULL, 4, d, 1, d, 1), NOT_INITIALIZED);
    STATUS(cublasSasum(NULL, 4, d, 1, &one), NOT_INITIALIZED);
    STATUS(cublasIsamin(NULL, 4, d, 1, &index), NOT_INITIALIZED);
    STATUS(cublasIsamin_64(NULL, 4, d, 1, &wide), NOT_INITIALIZED);
    STATUS(cublasSrot(NULL, 4, d, 1, d, 1, &one, &one), NOT_INITIALIZED);
    STATUS(cublasSscal_64(handle, huge, &one, d, 1), NOT_SUPPORTED); /* said by name */
    STATUS(cublasSetAtomicsMode(handle, (cublasAtomicsMode_t)7), INVALID_VALUE);
    STATUS(cublasSetSmCountTarget(handle, -1), INVALID_VALUE);
    STATUS(cublasGetProperty(MAJOR_VERSION, NULL), INVALID_VALUE);
    STATUS(cublasGetProperty((libraryPropertyType)9, &value), INVALID_VALUE);
    OK(cublasGetProperty(MAJOR_VERSION, &value));
    ck_assert_int_eq(value, CUBLAS_VER_MAJOR);
    cublasAtomicsMode_t atomics;
    OK(cublasGetAtomicsMode(handle, &atomics));
    ck_assert_int_eq(atomics, CUBLAS_ATOMICS_NOT_ALLOWED);
    OK(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED));
    OK(cublasGetAtomicsMode(handle, &atomics));
    ck_assert_int_eq(atomics, CUBLAS_ATOMICS_ALLOWED);
    OK(cublasSetSmCountTarget(handle, 2));
    OK(cublasGetSmCountTarget(handle, &value));
    ck_assert_int_eq(value, 2);
    expect(&a, &r, "the array after refusals");
    CUDA(cudaDeviceSynchronize());
    arr_free(&a);
}
END_TEST

static const case_entry cases[] = {
#include "cublas_vectors.def"
};
CASE_MAIN("cublas_vectors")
