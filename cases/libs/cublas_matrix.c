/* cublas_matrix.c - symmetric and triangular matrices, outer products, sums of matrices, products
 * with a diagonal one, and batches, against plain loops in double.
 *
 * Tolerance: a sum of k products errs by 2 (k + 4) u of its magnitudes, as in cublas.c. A
 * triangular system is held by its residual: op(A) x may differ from b by 2 (n + 4) u of the
 * magnitudes that are summed, which is what substitution keeps. What a call must not read (the
 * other triangle, a unit diagonal, an output under beta 0) holds NaN. */
#include "blas.h"

typedef struct matrix {
    arr a;
    int ld;
} matrix;
#define M(x, i, j) ((x).a.h[(size_t)(j) * (size_t)(x).ld + (size_t)(i)])

static matrix matrix_new(prec p, int rows, int columns)
{
    matrix m = {.ld = rows + 2};
    m.a = arr_new(p, (size_t)m.ld * (size_t)(columns > 0 ? columns : 1), -1, 1);
    return m;
}

/* A triangle of order n whose system is well behaved; the other one, and a unit diagonal, are NaN.
 */
static matrix triangle_new(prec p, int n, int lower, int unit)
{
    matrix m = matrix_new(p, n, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            if (i == j)
                M(m, i, j) = unit ? NAN : 1.5 + M(m, i, j) / 4;
            else if (lower ? i < j : i > j)
                M(m, i, j) = NAN;
            else
                M(m, i, j) /= n;
        }
    arr_push(&m.a);
    return m;
}

/* Element of op(A) of a triangle. */
static double triangle_at(const matrix *m, int lower, int unit, int t, int i, int j)
{
    int r = t ? j : i, c = t ? i : j;
    if (r == c) return unit ? 1 : M(*m, r, c);
    return (lower ? r > c : r < c) ? M(*m, r, c) : 0;
}

/* Element of a symmetric matrix of which one triangle is there. */
static double symmetric_at(const matrix *m, int lower, int i, int j)
{
    return (lower ? i >= j : i <= j) ? M(*m, i, j) : M(*m, j, i);
}

/* A symmetric one: the other triangle is NaN. */
static matrix symmetric_new(prec p, int n, int lower)
{
    matrix m = matrix_new(p, n, n);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            if (lower ? i < j : i > j) M(m, i, j) = NAN;
    arr_push(&m.a);
    return m;
}

static const int orders[] = {1, 2, 5, 17, 40};
static const double blends[][2] = {{1, 0}, {0.75, 0.5}, {-2, 1}};
#define UPLO(lower) ((lower) ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER)
#define TRANS(t)    ((t) == 0 ? CUBLAS_OP_N : (t) == 1 ? CUBLAS_OP_T : CUBLAS_OP_C)
#define DIAG(unit)  ((unit) ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT)
#define SIDE(left)  ((left) ? CUBLAS_SIDE_LEFT : CUBLAS_SIDE_RIGHT)

START_TEST(outer_products_are_added)
{
    static const int incs[][2] = {{1, 1}, {2, -3}};
    open_handle(81);
    for (int i = 0; i < COUNT(orders) * 2 * 4 * 4; i++) {
        prec p = i & 1 ? F64 : F32;
        int device = i & 2, kind = i >> 2 & 3; /* ger, syr, syr2 of lower and upper */
        int m = orders[i / 32], n = kind ? m : m + 3, lower = kind == 1, ix = incs[i >> 4 & 1][0];
        int iy = incs[i >> 4 & 1][1], two = kind == 3;
        at("cublas%c%s %d m %d n %d inc %d %d", p ? 'D' : 'S',
           kind == 0 ? "ger"
           : two     ? "syr2"
                     : "syr",
           lower, m, n, ix, iy);
        matrix a = kind ? symmetric_new(p, n, lower) : matrix_new(p, m, n);
        arr x = arr_new(p, span(m, ix), -1, 1), y = arr_new(p, span(n, iy), -1, 1);
        scalar al;
        scalar_make(&al, p, device, -0.75);
        ref r = ref_of(&a.a);
        for (int c = 0; c < n; c++)
            for (int l = 0; l < m; l++) {
                if (kind && (lower ? l < c : l > c)) continue;
                double u = x.h[nth(l, m, ix)],
                       v = kind == 1 || kind == 2 ? x.h[nth(c, n, ix)] : y.h[nth(c, n, iy)];
                double t = -0.75 * u * v, size = fabs(t);
                if (two) {
                    double other = -0.75 * y.h[nth(l, m, iy)] * x.h[nth(c, n, ix)];
                    t += other, size += fabs(other);
                }
                size_t o = (size_t)(c * a.ld + l);
                r.want[o] += t;
                r.tol[o] = 12 * U(p) * (size + fabs(a.a.h[o]));
            }
        pointers_on(device);
        if (kind == 0)
            OK(BOTH(p, ger, m, n, al.p, x.dev, ix, y.dev, iy, a.a.dev, a.ld));
        else if (two)
            OK(BOTH(p, syr2, UPLO(lower), n, al.p, x.dev, ix, y.dev, iy, a.a.dev, a.ld));
        else
            OK(BOTH(p, syr, UPLO(lower), n, al.p, x.dev, ix, a.a.dev, a.ld));
        expect(&a.a, &r, "A");
        arr_free(&a.a), arr_free(&x), arr_free(&y), scalar_free(&al);
    }
}
END_TEST

/* symv is symm of one column; both here. */
START_TEST(symmetric_products_read_one_triangle)
{
    open_handle(82);
    for (int i = 0; i < COUNT(orders) * COUNT(blends) * 16; i++) {
        prec p = i & 1 ? F64 : F32;
        int lower = i >> 1 & 1, left = i >> 2 & 1, vector = i >> 3 & 1;
        int order = orders[i / 16 / COUNT(blends)], m = left ? order : 3, n = left ? 3 : order;
        const double *ab = blends[i / 16 % COUNT(blends)];
        if (vector && !left) continue;
        if (vector) n = 1;
        at("cublas%csym%c lower %d left %d order %d alpha %g beta %g", p ? 'D' : 'S',
           vector ? 'v' : 'm', lower, left, order, ab[0], ab[1]);
        matrix a = symmetric_new(p, order, lower), b = matrix_new(p, m, n), c = matrix_new(p, m, n);
        if (ab[1] == 0) arr_fill(&c.a, NAN);
        scalar al, be;
        scalar_make(&al, p, 0, ab[0]);
        scalar_make(&be, p, 0, ab[1]);
        ref r = ref_of(&c.a);
        for (int y = 0; y < n; y++)
            for (int x = 0; x < m; x++) {
                double sum = 0, size = 0;
                for (int l = 0; l < order; l++) {
                    double t = left ? symmetric_at(&a, lower, x, l) * M(b, l, y)
                                    : M(b, x, l) * symmetric_at(&a, lower, l, y);
                    sum += t, size += fabs(t);
                }
                size_t o = (size_t)(y * c.ld + x);
                double old = ab[1] == 0 ? 0 : ab[1] * c.a.h[o];
                r.want[o] = ab[0] * sum + old;
                r.tol[o] = 2 * (order + 4) * U(p) * (fabs(ab[0]) * size + fabs(old));
            }
        pointers_on(0);
        if (vector)
            OK(BOTH(p, symv, UPLO(lower), order, al.p, a.a.dev, a.ld, b.a.dev, 1, be.p, c.a.dev,
                    1));
        else
            OK(BOTH(p, symm, SIDE(left), UPLO(lower), m, n, al.p, a.a.dev, a.ld, b.a.dev, b.ld,
                    be.p, c.a.dev, c.ld));
        expect(&c.a, &r, "C");
        arr_free(&a.a), arr_free(&b.a), arr_free(&c.a), scalar_free(&al), scalar_free(&be);
    }
}
END_TEST

START_TEST(rank_updates_write_one_triangle)
{
    static const char *const names[] = {"syrk", "syr2k", "syrkx"};
    open_handle(83);
    for (int i = 0; i < COUNT(orders) * COUNT(blends) * 4 * 9; i++) {
        prec p = i & 1 ? F64 : F32;
        int lower = i >> 1 & 1, kind = i / 4 % 3, t = i / 12 % 3;
        int n = orders[i / 36 / COUNT(blends)], k = n == 5 ? 0 : n / 2 + 3;
        const double *ab = blends[i / 36 % COUNT(blends)];
        at("cublas%c%s lower %d trans %d n %d k %d alpha %g beta %g", p ? 'D' : 'S', names[kind],
           lower, t, n, k, ab[0], ab[1]);
        matrix a = matrix_new(p, t ? k : n, t ? n : k), b = matrix_new(p, t ? k : n, t ? n : k);
        matrix c = matrix_new(p, n, n);
        if (ab[1] == 0) arr_fill(&c.a, NAN);
        scalar al, be;
        scalar_make(&al, p, 0, ab[0]);
        scalar_make(&be, p, 0, ab[1]);
        ref r = ref_of(&c.a);
#define E(x, i, l) (t ? M(x, l, i) : M(x, i, l))
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                if (lower ? x < y : x > y) continue;
                double sum = 0, size = 0;
                for (int l = 0; l < k; l++) {
                    double u = E(a, x, l) * (kind ? E(b, y, l) : E(a, y, l));
                    double v = kind == 1 ? E(b, x, l) * E(a, y, l) : 0;
                    sum += u + v, size += fabs(u) + fabs(v);
                }
                size_t o = (size_t)(y * c.ld + x);
                double old = ab[1] == 0 ? 0 : ab[1] * c.a.h[o];
                r.want[o] = ab[0] * sum + old;
                r.tol[o] = 2 * (2 * k + 4) * U(p) * (fabs(ab[0]) * size + fabs(old));
            }
        pointers_on(0);
        if (kind == 0)
            OK(BOTH(p, syrk, UPLO(lower), TRANS(t), n, k, al.p, a.a.dev, a.ld, be.p, c.a.dev,
                    c.ld));
        else if (kind == 1)
            OK(BOTH(p, syr2k, UPLO(lower), TRANS(t), n, k, al.p, a.a.dev, a.ld, b.a.dev, b.ld, be.p,
                    c.a.dev, c.ld));
        else
            OK(BOTH(p, syrkx, UPLO(lower), TRANS(t), n, k, al.p, a.a.dev, a.ld, b.a.dev, b.ld, be.p,
                    c.a.dev, c.ld));
        expect(&c.a, &r, "C");
        arr_free(&a.a), arr_free(&b.a), arr_free(&c.a), scalar_free(&al), scalar_free(&be);
    }
}
END_TEST

/* One element of op(A) X or X op(A), and its magnitudes. */
static double times_triangle(const matrix *a, int lower, int unit, int t, int left, int order,
                             const matrix *x, int i, int j, double *size)
{
    double sum = 0;
    *size = 0;
    for (int l = 0; l < order; l++) {
        double v = left ? triangle_at(a, lower, unit, t, i, l) * M(*x, l, j)
                        : M(*x, i, l) * triangle_at(a, lower, unit, t, l, j);
        sum += v, *size += fabs(v);
    }
    return sum;
}

enum { TRMM, TRSM, TRMV, TRSV, BATCH };
START_TEST(triangular_products_and_systems)
{
    static const char *const names[] = {"trmm", "trsm", "trmv", "trsv", "trsmBatched"};
    open_handle(84);
    for (int i = 0; i < COUNT(orders) * 5 * 48; i++) {
        prec p = i & 1 ? F64 : F32;
        int lower = i >> 1 & 1, unit = i >> 2 & 1, left = i >> 3 & 1, t = i / 16 % 3;
        int kind = i / 48 % 5, order = orders[i / 240], vector = kind == TRMV || kind == TRSV;
        int m = left ? order : 3, n = left ? 3 : order, inc = unit ? 2 : -1;
        double alpha = kind == TRMV || kind == TRSV ? 1 : -0.5;
        if (vector && !left) continue;
        if (vector) n = 1;
        at("cublas%c%s lower %d unit %d left %d trans %d order %d", p ? 'D' : 'S', names[kind],
           lower, unit, left, t, order);
        matrix a = triangle_new(p, order, lower, unit), b = matrix_new(p, m, n);
        matrix c = matrix_new(p, m, n);
        arr x = arr_new(p, span(m, inc), -1, 1); /* of the vectors */
        if (vector)
            for (int l = 0; l < m; l++) M(b, l, 0) = x.h[nth(l, m, inc)];
        scalar al;
        scalar_make(&al, p, 0, alpha);
        pointers_on(0);
        arr *out = vector ? &x : kind == TRMM ? &c.a : &b.a;
        ref r = ref_of(out);
        if (kind == TRMM)
            OK(BOTH(p, trmm, SIDE(left), UPLO(lower), TRANS(t), DIAG(unit), m, n, al.p, a.a.dev,
                    a.ld, b.a.dev, b.ld, c.a.dev, c.ld));
        if (kind == TRSM)
            OK(BOTH(p, trsm, SIDE(left), UPLO(lower), TRANS(t), DIAG(unit), m, n, al.p, a.a.dev,
                    a.ld, b.a.dev, b.ld));
        if (kind == TRMV)
            OK(BOTH(p, trmv, UPLO(lower), TRANS(t), DIAG(unit), m, a.a.dev, a.ld, x.dev, inc));
        if (kind == TRSV)
            OK(BOTH(p, trsv, UPLO(lower), TRANS(t), DIAG(unit), m, a.a.dev, a.ld, x.dev, inc));
        if (kind == BATCH) {
            void *list[2] = {a.a.dev, b.a.dev}, **dev;
            CUDA(cudaMalloc((void **)&dev, sizeof list));
            CUDA(cudaMemcpy(dev, list, sizeof list, cudaMemcpyHostToDevice));
            OK(BOTH(p, trsmBatched, SIDE(left), UPLO(lower), TRANS(t), DIAG(unit), m, n, al.p,
                    (void *)dev, a.ld, (void *)(dev + 1), b.ld, 1));
            CUDA(cudaFree(dev));
        }
        matrix was = b; /* the right side, or the factor */
        was.a.h = malloc(b.a.n * sizeof(double));
        memcpy(was.a.h, b.a.h, b.a.n * sizeof(double));
        arr_pull(out);
        matrix got = {.a = *out, .ld = b.ld};
        if (vector) {
            got.a.h = malloc((size_t)m * sizeof(double));
            for (int l = 0; l < m; l++) got.a.h[l] = out->h[nth(l, m, inc)];
        }
        int product = kind == TRMM || kind == TRMV;
        for (int y = 0; y < n; y++)
            for (int l = 0; l < m; l++) {
                size_t o = vector ? nth(l, m, inc) : (size_t)(y * b.ld + l);
                double size, sum = times_triangle(&a, lower, unit, t, left, order,
                                                  product ? &was : &got, l, y, &size);
                double have = product ? M(got, l, y) : sum;
                double need = product ? alpha * sum : alpha * M(was, l, y);
                expect_value(have, need, 2 * (order + 4) * U(p) * (size + fabs(need)) + TINY(p),
                             "element");
                r.want[o] = out->h[o]; /* the rest must not have moved */
            }
        expect(out, &r, "what lies around");
        if (vector) free(got.a.h);
        free(was.a.h);
        arr_free(&a.a), arr_free(&b.a), arr_free(&c.a), arr_free(&x), scalar_free(&al);
    }
}
END_TEST

START_TEST(sums_and_diagonal_products)
{
    open_handle(85);
    for (int i = 0; i < COUNT(orders) * 2 * 9 * 4; i++) {
        prec p = i & 1 ? F64 : F32;
        int ta = i / 2 % 3, tb = i / 6 % 3, b = i / 18 % 4, m = orders[i / 72], n = m / 2 + 1;
        double alpha = b == 3 ? 0 : 0.75, beta = b == 1 ? 0 : -2;
        at("cublas%cgeam %d%d m %d n %d alpha %g beta %g", p ? 'D' : 'S', ta, tb, m, n, alpha,
           beta);
        matrix x = matrix_new(p, ta ? n : m, ta ? m : n), y = matrix_new(p, tb ? n : m, tb ? m : n);
        matrix c = matrix_new(p, m, n);
        arr_fill(&c.a, NAN);
        if (alpha == 0) arr_fill(&x.a, NAN); /* not read */
        if (beta == 0) arr_fill(&y.a, NAN);
        scalar al, be;
        scalar_make(&al, p, 0, alpha);
        scalar_make(&be, p, 0, beta);
        ref r = ref_of(&c.a);
        for (int j = 0; j < n; j++)
            for (int l = 0; l < m; l++) {
                double u = alpha == 0 ? 0 : alpha * (ta ? M(x, j, l) : M(x, l, j));
                double v = beta == 0 ? 0 : beta * (tb ? M(y, j, l) : M(y, l, j));
                r.want[j * c.ld + l] = u + v;
                r.tol[j * c.ld + l] = 8 * U(p) * (fabs(u) + fabs(v));
            }
        pointers_on(0);
        OK(BOTH(p, geam, TRANS(ta), TRANS(tb), m, n, al.p, x.a.dev, x.ld, be.p, y.a.dev, y.ld,
                c.a.dev, c.ld));
        expect(&c.a, &r, "C of geam");
        int left = b & 1, inc = b & 2 ? -2 : 1, order = left ? m : n;
        at("cublas%cdgmm left %d m %d n %d inc %d", p ? 'D' : 'S', left, m, n, inc);
        matrix d = matrix_new(p, m, n);
        arr v = arr_new(p, span(order, inc), -1, 1);
        r = ref_of(&c.a);
        for (int j = 0; j < n; j++)
            for (int l = 0; l < m; l++) {
                double t = M(d, l, j) * v.h[nth(left ? l : j, order, inc)];
                r.want[j * c.ld + l] = t;
                r.tol[j * c.ld + l] = 2 * U(p) * fabs(t);
            }
        OK(BOTH(p, dgmm, SIDE(left), m, n, d.a.dev, d.ld, v.dev, inc, c.a.dev, c.ld));
        expect(&c.a, &r, "C of dgmm");
        arr_free(&x.a), arr_free(&y.a), arr_free(&c.a), arr_free(&d.a), arr_free(&v);
        scalar_free(&al), scalar_free(&be);
    }
}
END_TEST

static const case_entry cases[] = {
#include "cublas_matrix.def"
};
CASE_MAIN("cublas_matrix")
