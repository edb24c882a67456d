/* kernels.c - every kernel against its reference in plain C (trainer/kernels/ref.h), in both
 * precisions. Integers and moved values must be equal. Where rounding can change a value, the bound
 * is roundings * scale * epsilon: the scale is what the reference added up in absolute values, the
 * number of roundings is counted beside each call; epsilon is twice the rounding unit, which covers
 * second-order terms. */
#include "case.h"
#include "kernels/ref.h"
#include "recovery/fragment.h"
#include <float.h>
#include <math.h>

#ifdef PT_DOUBLE
#define EPS DBL_EPSILON
#else
#define EPS FLT_EPSILON
#endif

static pt_device D;
static const int64_t sizes[] = {1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 20011};
static const int channels[] = {1, 3, 8, 32, 64, 128};
#define EACH(type, x, list) for (const type *x = list; x < list + sizeof list / sizeof *list; x++)

static void open_device(void)
{
    ck_assert_msg(pt_device_open(PT_ALLOC_DIRECT, &D) == PT_OK, "%s", pt_error_last()->message);
}

static void ran(pt_status st)
{
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
    ck_assert_int_eq(pt_device_sync(&D), PT_OK);
}

/* ---- random numbers (SplitMix64), arrays on the host, copies on the device ---- */
static uint64_t state;
static uint64_t bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static double between(double a, double b)
{
    return a + (b - a) * (double)(bits() >> 11) / 9007199254740992.0;
}
static int64_t below(int64_t n)
{
    return (int64_t)(bits() % (uint64_t)n);
}
static void *room(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    ck_assert_ptr_nonnull(p);
    return p;
}
#define NEW(type, n) ((type *)room(n, sizeof(type)))
static real *reals(int64_t n, double a, double b)
{
    real *x = NEW(real, n);
    for (int64_t i = 0; i < n; i++) x[i] = (real)between(a, b);
    return x;
}
static void *up_(const void *host, int64_t n, size_t size)
{
    void *p;
    ran(pt_mem_alloc(&D, (size_t)n + 1, size, "case", &p));
    ran(pt_copy_up(&D, p, host, (size_t)n * size));
    return p;
}
#define UP(host, n) up_(host, n, sizeof *(host))
/* Brings a device array down over `host` and frees it. */
static void down_(void *device, void *host, int64_t n, size_t size)
{
    ran(pt_copy_down(&D, host, device, (size_t)n * size));
    pt_mem_free(&D, device);
}
#define DOWN(device, host, n) down_(device, host, n, sizeof *(host))
#define GONE(device)          pt_mem_free(&D, device)

/* An assertion for each element would cost more than the kernels do. */
#define SAME(got, want, n, what, size)                                                          \
    do {                                                                                        \
        int64_t i_ = 0, n_ = (n);                                                               \
        while (i_ < n_ && (got)[i_] == (want)[i_]) i_++;                                        \
        ck_assert_msg(i_ == n_, "%s of size %lld: [%lld] is %.17g, not %.17g", what,            \
                      (long long)(size), (long long)i_, (double)(got)[i_], (double)(want)[i_]); \
    } while (0)

/* |got - want| <= roundings * scale * EPS */
static void close_to(const real *got, const wide *want, const wide *scale, int64_t n,
                     double roundings, const char *what, int64_t size)
{
    for (int64_t i = 0; i < n; i++) {
        wide bound = (wide)roundings * (scale ? scale[i] : fabsl(want[i])) * EPS;
        if (fabsl(got[i] - want[i]) <= bound) continue;
        ck_abort_msg("%s of size %lld: [%lld] is %.17g, not %.17Lg; off by %.3Lg, bound %.3Lg",
                     what, (long long)size, (long long)i, (double)got[i], want[i],
                     fabsl(got[i] - want[i]), bound);
    }
}

/* Sorted unique keys of about n voxels that touch each other, the edges of the grid among them. */
static int64_t some_voxels(int64_t n, uint64_t *key)
{
    int32_t *index = NEW(int32_t, n), *first = NEW(int32_t, n), *member = NEW(int32_t, n);
    uint64_t *sorted = NEW(uint64_t, n);
    int64_t side = 2 + (int64_t)cbrt((double)n);
    for (int64_t i = 0; i < n; i++) {
        /* a third of them lie around the edge of the grid, where x = 0 must not be taken for the
         * neighbour of the largest x */
        uint64_t corner = i % 3 ? PT_VOXEL_BIAS : 0x40000 - (uint64_t)side / 2;
        uint64_t k = (uint64_t)below(3);
        for (int a = 0; a < 3; a++) k = k << 18 | ((corner + (uint64_t)below(side + 1)) & 0x3ffff);
        sorted[i] = k;
        index[i] = (int32_t)i;
    }
    ref_sort(n, sorted, index);
    int64_t v = ref_unique(n, sorted, index, key, first, member);
    free(index), free(first), free(member), free(sorted);
    return v;
}

START_TEST(voxel_keys_sort_and_unique_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn;
        state = 101 + (uint64_t)n;
        float *coord = NEW(float, 3 * n), voxel[3] = {0.1f, 0.05f, 3.28f};
        int32_t *slot = NEW(int32_t, n);
        for (int64_t i = 0; i < 3 * n; i++)
            coord[i] = (float)between(-1, 1) * (i % 50 ? 2.0f : 1e9f); /* beyond the grid too */
        for (int64_t i = 0; i < n; i++) {
            slot[i] = (int32_t)below(3);
            if (i % 2) coord[3 * i] = (float)(below(200) - 100) * voxel[slot[i]]; /* on borders */
        }
        uint64_t *key = NEW(uint64_t, n), *got = NEW(uint64_t, n), *coarse = NEW(uint64_t, n);
        int32_t *index = NEW(int32_t, n), *gotx = NEW(int32_t, n);
        float *dc = UP(coord, 3 * n), *dv = UP(voxel, 3);
        int32_t *ds = UP(slot, n), *dx = UP(index, n), *tx = UP(index, n);
        uint64_t *dk = UP(key, n), *tk = UP(key, n);
        ran(pt_k_voxel_keys(&D, n, dc, ds, dv, dk, dx));
        ran(pt_copy_down(&D, got, dk, sizeof *got * (size_t)n));
        ref_voxel_keys(n, coord, slot, voxel, key);
        SAME(got, key, n, "voxel_keys", n);
        ran(pt_k_coarse_keys(&D, n, dk, tk, tx));
        ran(pt_copy_down(&D, got, tk, sizeof *got * (size_t)n));
        ref_coarse_keys(n, key, coarse);
        SAME(got, coarse, n, "coarse_keys", n);
        /* the sort, with indices that tell equal keys apart */
        for (int64_t i = 0; i < n; i++) index[i] = (int32_t)i;
        ran(pt_k_sort(&D, n, dk, dx, tk, tx));
        ref_sort(n, key, index);
        ran(pt_copy_down(&D, got, dk, sizeof *got * (size_t)n));
        ran(pt_copy_down(&D, gotx, dx, sizeof *gotx * (size_t)n));
        SAME(got, key, n, "sort", n);
        SAME(gotx, index, n, "sort (index)", n);
        /* what is unique among them */
        uint64_t *unique = NEW(uint64_t, n);
        int32_t *first = NEW(int32_t, n), *member = NEW(int32_t, n), *flag = NEW(int32_t, n + 1);
        int64_t v = ref_unique(n, key, index, unique, first, member);
        int32_t *df = UP(flag, n), *dscan = UP(flag, n + 1), *dfirst = UP(first, n),
                *dmember = UP(flag, n), *tmp = up_(NULL, 0, sizeof(int32_t) * pt_k_scan_room(n));
        uint64_t *du = UP(key, n);
        ran(pt_k_heads(&D, n, dk, df));
        ran(pt_k_scan(&D, n, df, dscan, tmp));
        ran(pt_k_unique(&D, n, dk, dx, df, dscan, du, dfirst, dmember));
        DOWN(du, got, v);
        SAME(got, unique, v, "unique", n);
        DOWN(dfirst, gotx, v);
        SAME(gotx, first, v, "unique (first)", n);
        DOWN(dmember, gotx, n);
        SAME(gotx, member, n, "unique (member)", n);
        GONE(df), GONE(dscan), GONE(tmp), GONE(dc), GONE(dv), GONE(ds), GONE(dx), GONE(tx);
        GONE(dk), GONE(tk);
        free(coord), free(slot), free(key), free(got), free(coarse), free(index), free(gotx);
        free(unique), free(first), free(member), free(flag);
    }
}
END_TEST

START_TEST(scan_and_sums_match)
{
    open_device();
    static const int64_t more[] = {0, 1, 127, 128, 129, 16383, 16384, 16385, 300000};
    EACH(int64_t, pn, more)
    {
        int64_t n = *pn;
        state = 202 + (uint64_t)n;
        int32_t *in = NEW(int32_t, n), *out = NEW(int32_t, n + 1), *want = NEW(int32_t, n + 1);
        for (int64_t i = 0; i < n; i++) in[i] = (int32_t)below(5);
        int32_t *di = UP(in, n), *dout = UP(out, n + 1),
                *tmp = up_(NULL, 0, sizeof(int32_t) * pt_k_scan_room(n));
        ran(pt_k_scan(&D, n, di, dout, tmp));
        DOWN(dout, out, n + 1);
        ref_scan(n, in, want);
        SAME(out, want, n + 1, "scan", n);
        GONE(di), GONE(tmp), free(in), free(out), free(want);

        double *x = NEW(double, n), got[1], *dx, *dsum = UP(got, 1),
               *t = up_(NULL, 0, sizeof(double) * (pt_k_sum_room(n) + pt_k_sum_room(n / 128 + 1)));
        wide sum, scale;
        for (int64_t i = 0; i < n; i++) x[i] = between(-1, 1);
        dx = UP(x, n);
        ran(pt_k_sum(&D, n, dx, dsum, t));
        ran(pt_copy_down(&D, got, dsum, sizeof *got));
        ref_sum(n, x, &sum, &scale);
        /* runs of 128, at most 4 levels: a term takes part in at most 4 * 127 additions */
        ck_assert_msg(fabsl(got[0] - sum) <= 508 * DBL_EPSILON * scale, "sum of %lld",
                      (long long)n);
        real *y = reals(n, -1, 1), *dy = UP(y, n);
        if (n > 0) {
            ran(pt_k_sum_squares(&D, n, dy, dsum, t));
            ran(pt_copy_down(&D, got, dsum, sizeof *got));
            ref_sum_squares(n, y, &sum);
            ck_assert_msg(fabsl(got[0] - sum) <= 509 * DBL_EPSILON * sum, "sum of %lld squares",
                          (long long)n);
        }
        GONE(dx), GONE(dy), GONE(dsum), GONE(t), free(x), free(y);
    }
}
END_TEST

START_TEST(voxel_means_and_labels_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn;
        int classes = n % 2 ? 13 : 1;
        state = 303 + (uint64_t)n;
        uint64_t *key = NEW(uint64_t, n), *unique = NEW(uint64_t, n);
        int32_t *index = NEW(int32_t, n), *first = NEW(int32_t, n), *member = NEW(int32_t, n);
        int32_t *label = NEW(int32_t, n);
        uint8_t *own = NEW(uint8_t, n);
        for (int64_t i = 0; i < n; i++) {
            key[i] = (uint64_t)below(1 + n / 3);
            index[i] = (int32_t)i;
            label[i] = (int32_t)below(classes + 2) - 1; /* -1 is ignored ... */
            if (label[i] >= classes) label[i] = classes + (int32_t)below(1 << 28); /* and these */
            own[i] = below(4) > 0;
        }
        ref_sort(n, key, index);
        int64_t v = ref_unique(n, key, index, unique, first, member);
        real *feature = reals(n * PT_FEATURES, -1, 1), *mean = NEW(real, v * PT_FEATURES);
        wide *want = NEW(wide, v * PT_FEATURES), *scale = NEW(wide, v * PT_FEATURES);
        int32_t *count = NEW(int32_t, v * classes), *wanted = NEW(int32_t, v * classes);
        int32_t *df = UP(first, v), *di = UP(index, n), *dl = UP(label, n),
                *dcount = UP(count, v * classes);
        uint8_t *down = UP(own, n);
        real *dfeature = UP(feature, n * PT_FEATURES), *dmean = UP(mean, v * PT_FEATURES);
        ran(pt_k_voxel_mean(&D, v, n, df, di, dfeature, dmean));
        ran(pt_k_voxel_labels(&D, v, n, classes, df, di, dl, down, dcount));
        DOWN(dmean, mean, v * PT_FEATURES);
        DOWN(dcount, count, v * classes);
        ref_voxel_mean(v, n, member, feature, want, scale);
        ref_voxel_labels(v, n, classes, member, label, own, wanted);
        /* k - 1 additions of terms whose mean of |x| is scale / k, and the division */
        close_to(mean, want, scale, v * PT_FEATURES, 1, "voxel_mean", n);
        SAME(count, wanted, v * classes, "voxel_labels", n);
        GONE(df), GONE(di), GONE(dl), GONE(down), GONE(dfeature);
        free(key), free(unique), free(index), free(first), free(member), free(label), free(own);
        free(feature), free(mean), free(want), free(scale), free(count), free(wanted);
    }
}
END_TEST

START_TEST(kernel_maps_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        state = 404 + (uint64_t)*pn;
        uint64_t *key = NEW(uint64_t, *pn);
        int64_t v = some_voxels(*pn, key), n = 27 * v;
        int32_t *table = NEW(int32_t, n), *want = NEW(int32_t, n), *parent = NEW(int32_t, v);
        int32_t *a = NEW(int32_t, n), *b = NEW(int32_t, n), *ga = NEW(int32_t, n),
                *gb = NEW(int32_t, n);
        for (int64_t i = 0; i < v; i++) parent[i] = (int32_t)(i / 2);
        uint64_t *dk = UP(key, v);
        int32_t *dt = UP(table, n), *dp = UP(parent, v), *dflag = UP(table, n),
                *dscan = UP(table, n + 1), *da = UP(a, n), *db = UP(b, n),
                *tmp = up_(NULL, 0, sizeof(int32_t) * pt_k_scan_room(n));
        ran(pt_k_neighbours(&D, v, dk, dt));
        ran(pt_copy_down(&D, table, dt, sizeof *table * (size_t)n));
        ref_neighbours(v, key, want);
        SAME(table, want, n, "neighbours", v);
        ran(pt_k_table_flags(&D, n, dt, dflag));
        ran(pt_k_scan(&D, n, dflag, dscan, tmp));
        ran(pt_k_pairs(&D, v, n, dt, dscan, da, db));
        int64_t pairs = ref_pairs(v, 27, want, a, b);
        DOWN(da, ga, pairs);
        DOWN(db, gb, pairs);
        SAME(ga, a, pairs, "pairs (a)", v);
        SAME(gb, b, pairs, "pairs (b)", v);
        ran(pt_k_children(&D, v, dk, dp, dt));
        DOWN(dt, table, 8 * v);
        ref_children(v, key, parent, want);
        SAME(table, want, 8 * v, "children", v);
        GONE(dk), GONE(dp), GONE(dflag), GONE(dscan), GONE(tmp);
        free(key), free(table), free(want), free(parent), free(a), free(b), free(ga), free(gb);
    }
}
END_TEST

START_TEST(rows_move_and_add_exactly)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t n = *pn > 1000 ? 2003 : *pn, size = n * *pc;
        int c = *pc;
        state = 505 + (uint64_t)size;
        real *x = reals(size, -1, 1), *y = reals(size, -1, 1), *bias = reals(c, -1, 1);
        real *got = NEW(real, 2 * size), *want = NEW(real, 2 * size);
        int32_t *row = NEW(int32_t, n);
        for (int64_t i = 0; i < n; i++) row[i] = (int32_t)i;
        for (int64_t i = n - 1; i > 0; i--) { /* each row once: what scatter asks for */
            int64_t k = below(i + 1);
            int32_t t = row[i];
            row[i] = row[k], row[k] = t;
        }
        real *dx = UP(x, size), *dy = UP(y, size), *dbias = UP(bias, c), *dout = UP(got, 2 * size);
        int32_t *dr = UP(row, n);
        ran(pt_k_gather(&D, n, c, dx, dr, dout));
        ran(pt_copy_down(&D, got, dout, sizeof *got * (size_t)size));
        ref_gather(n, c, x, row, want);
        SAME(got, want, size, "gather", size);
        ran(pt_k_scatter_add(&D, n, c, dy, dr, dout));
        ran(pt_copy_down(&D, got, dout, sizeof *got * (size_t)size));
        ref_scatter_add(n, c, y, row, want);
        SAME(got, want, size, "scatter_add", size);
        ran(pt_k_add_bias(&D, n, c, dbias, dout));
        ref_add_bias(n, c, bias, want);
        ran(pt_k_add(&D, size, dx, dout));
        ref_add(size, x, want);
        ran(pt_copy_down(&D, got, dout, sizeof *got * (size_t)size));
        SAME(got, want, size, "add_bias, add", size);
        ran(pt_k_concat(&D, n, c, c, dx, dy, dout));
        ran(pt_copy_down(&D, got, dout, sizeof *got * (size_t)(2 * size)));
        ref_concat(n, c, c, x, y, want);
        SAME(got, want, 2 * size, "concat", size);
        /* uneven halves back: c/3 channels and the rest */
        int ca = c / 3, cb = c - ca;
        ran(pt_k_split(&D, n, ca, cb, dx, dout, dy));
        ref_split(n, ca, cb, x, want, y);
        DOWN(dout, got, n * ca);
        SAME(got, want, n * ca, "split (a)", size);
        DOWN(dy, got, n * cb);
        SAME(got, y, n * cb, "split (b)", size);
        GONE(dx), GONE(dbias), GONE(dr);
        free(x), free(y), free(bias), free(got), free(want), free(row);
    }
}
END_TEST

START_TEST(norms_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t v = *pn > 1000 ? 1501 : *pn, size = v * *pc;
        int c = *pc;
        state = 606 + (uint64_t)size;
        real *x = reals(size, -2, 3), *gamma = reals(c, 0.5, 1.5), *beta = reals(c, -1, 1);
        real *dy = reals(size, -1, 1), *var = reals(c, 0.01, 4), *got = NEW(real, size);
        real *mean = NEW(real, v), *inv = NEW(real, v), *column = reals(c, -1, 1);
        wide *want = NEW(wide, size), *scale = NEW(wide, size);
        real *Dx = UP(x, size), *Dg = UP(gamma, c), *Db = UP(beta, c), *Ddy = UP(dy, size);
        real *Dout = UP(got, size), *Dm = UP(mean, v), *Di = UP(inv, v), *Dvar = UP(var, c);
        ran(pt_k_layer_norm(&D, v, c, Dx, Dg, Db, Dout, Dm, Di));
        ran(pt_copy_down(&D, got, Dout, sizeof *got * (size_t)size));
        ran(pt_copy_down(&D, mean, Dm, sizeof *mean * (size_t)v));
        ran(pt_copy_down(&D, inv, Di, sizeof *inv * (size_t)v));
        ref_layer_norm(v, c, x, gamma, beta, want, scale);
        /* c + 1 roundings of the mean, c + 5 of the deviation (half of that in its root), 4 more */
        close_to(got, want, scale, size, c + 8, "layer_norm", size);
        ran(pt_k_layer_norm_back(&D, v, c, Dx, Dg, Dm, Di, Ddy, Dout));
        ran(pt_copy_down(&D, got, Dout, sizeof *got * (size_t)size));
        ref_layer_norm_back(v, c, x, gamma, mean, inv, dy, want, scale);
        /* sums of c products of 2 to 4 factors, then 5 */
        close_to(got, want, scale, size, c + 10, "layer_norm_back", size);
        double *tmp = up_(NULL, 0, sizeof(double) * pt_k_columns_room(v, c));
        for (int per_row = 0; per_row < 2; per_row++)
            for (int with_x = 0; with_x < 2; with_x++) {
                real *stat = per_row ? Dm : Db, *dev = per_row ? Di : Dg, gotc[128];
                real *dgamma = UP(column, c), *dbeta = UP(column, c);
                wide wg[128], wb[128], sg[128], sb[128];
                for (int k = 0; k < c; k++) wg[k] = wb[k] = column[k];
                ran(pt_k_norm_columns(&D, v, c, per_row, with_x ? Dx : NULL, stat, dev, Ddy, dgamma,
                                      dbeta, tmp));
                ref_norm_columns(v, c, per_row, with_x ? x : NULL, per_row ? mean : beta,
                                 per_row ? inv : gamma, dy, wg, wb, sg, sb);
                /* xhat has 2 roundings; the sums are in double, v of them; then 2 in real */
                double roundings = 4 + (double)v * (DBL_EPSILON / EPS);
                DOWN(dgamma, gotc, c);
                close_to(gotc, wg, sg, c, roundings, "norm_columns (gamma)", size);
                DOWN(dbeta, gotc, c);
                close_to(gotc, wb, sb, c, roundings, "norm_columns (beta)", size);
            }
        GONE(tmp);
        ran(pt_k_frozen_inv(&D, c, Dvar, Di = (GONE(Di), UP(var, c))));
        real inverse[128];
        ran(pt_copy_down(&D, inverse, Di, sizeof *inverse * (size_t)c));
        ref_frozen_inv(c, var, want);
        close_to(inverse, want, NULL, c, 4, "frozen_inv", c);
        ran(pt_k_frozen_norm_back(&D, v, c, Dg, Di, Ddy, Dout));
        DOWN(Dout, got, size);
        ref_frozen_norm_back(v, c, gamma, inverse, dy, want);
        close_to(got, want, NULL, size, 2, "frozen_norm_back", size);
        GONE(Dx), GONE(Dg), GONE(Db), GONE(Ddy), GONE(Dm), GONE(Di), GONE(Dvar);
        free(x), free(gamma), free(beta), free(dy), free(var), free(got), free(mean), free(inv);
        free(column), free(want), free(scale);
    }
}
END_TEST

START_TEST(loss_gradient_and_confusion_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    for (int classes = 2; classes <= 20; classes += 9) {
        int64_t v = *pn > 1000 ? 3001 : *pn, size = v * classes;
        double divisor = 777.5, smoothing = classes == 2 ? 0 : classes == 11 ? 0.1 : 1;
        state = 707 + (uint64_t)size;
        real *logp = reals(size, -9, -0.01), *weight = reals(classes, 0, 2);
        weight[1] = 0; /* a class that is ignored */
        int32_t *count = NEW(int32_t, size);
        for (int64_t i = 0; i < size; i++) count[i] = (int32_t)(below(3) ? 0 : below(6));
        for (int c = 0; c < classes; c++) count[c] = 0; /* a halo voxel */
        real *got = NEW(real, size);
        double *loss = NEW(double, v);
        unsigned long long *confusion = NEW(unsigned long long, classes *classes),
                           *gotc = NEW(unsigned long long, classes *classes);
        wide *want = NEW(wide, size), *scale = NEW(wide, size), *wloss = NEW(wide, v);
        real *dp = UP(logp, size), *dw = UP(weight, classes), *dd = UP(got, size);
        int32_t *dn = UP(count, size);
        double *dl = UP(loss, v);
        unsigned long long *dc = UP(confusion, classes * classes);
        ran(pt_k_loss(&D, v, classes, dp, dn, dw, divisor, divisor, smoothing, dd, dl, dc));
        DOWN(dd, got, size);
        DOWN(dl, loss, v);
        DOWN(dc, gotc, classes * classes);
        ref_loss(v, classes, logp, count, weight, divisor, smoothing, want, scale, wloss,
                 confusion);
        /* all in double (sum of `classes` terms, exp to an ulp, 7 more), then rounded to real */
        close_to(got, want, scale, size, 1 + (classes + 9) * (DBL_EPSILON / EPS), "dlogits", size);
        for (int64_t i = 0; i < v; i++)
            ck_assert_msg(fabsl(loss[i] - wloss[i]) <=
                              (2 * classes + 6) * DBL_EPSILON * fabsl(wloss[i]),
                          "loss of size %lld: [%lld] is %.17g, not %.17Lg", (long long)size,
                          (long long)i, loss[i], wloss[i]);
        SAME(gotc, confusion, classes * classes, "confusion", size);
        GONE(dp), GONE(dw), GONE(dn);
        free(logp), free(weight), free(count), free(got), free(loss), free(confusion), free(gotc);
        free(want), free(scale), free(wloss);
    }
}
END_TEST

START_TEST(moments_of_owned_rows_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t v = *pn > 1000 ? 3001 : *pn, size = v * *pc;
        int c = *pc, set = 1 + 4 * c;
        state = 912 + (uint64_t)size;
        real *x = reals(size, -2, 5), *used = reals(2 * c, -1, 1);
        uint8_t *own = NEW(uint8_t, v), *fine = NEW(uint8_t, 2 * v), *want = NEW(uint8_t, v);
        int32_t *first = NEW(int32_t, v), *index = NEW(int32_t, 2 * v);
        double *got = NEW(double, set);
        wide n, *mean = NEW(wide, c), *m2 = NEW(wide, c);
        for (int64_t i = 0; i < v; i++) first[i] = (int32_t)(2 * i + below(2));
        for (int64_t i = 0; i < 2 * v; i++) {
            index[i] = (int32_t)below(2 * v);
            fine[i] = v % 2 ? (uint8_t)below(2) : i > v; /* chunks without an owned row, too */
        }
        uint8_t *df = UP(fine, 2 * v), *down = UP(own, v);
        int32_t *d1 = UP(first, v), *di = UP(index, 2 * v);
        ran(pt_k_first_own(&D, v, d1, di, df, down));
        ran(pt_copy_down(&D, own, down, (size_t)v));
        ref_first_own(v, first, index, fine, want);
        SAME(own, want, v, "owned", v);
        if (v % 2 == 0) {
            for (int64_t i = 0; i < v; i++) own[i] = i > v / 2;
            ran(pt_copy_up(&D, down, own, (size_t)v));
        }
        real *dx = UP(x, size), *du = UP(used, 2 * c);
        double *dg = UP(got, set), *tmp;
        void *p;
        ran(pt_mem_alloc(&D, pt_k_moments_room(v, c), sizeof *tmp, "case", &p));
        tmp = p;
        ran(pt_k_moments(&D, v, c, dx, down, du, du + c, dg, tmp));
        DOWN(dg, got, set);
        ref_moments(v, c, x, own, &n, mean, m2);
        ck_assert_msg(got[0] == (double)n, "%g rows are owned, not %Lg", got[0], n);
        /* all in double: |x| <= 5, a sum of 128 and the merges of up to 24 chunks */
        for (int k = 0; k < c; k++) {
            ck_assert_msg(fabsl(got[1 + k] - mean[k]) <= 200 * 5 * DBL_EPSILON,
                          "%lld rows, channel %d: mean %.17g, not %.17Lg", (long long)v, k,
                          got[1 + k], mean[k]);
            ck_assert_msg(fabsl(got[1 + c + k] - m2[k]) <= 400 * (m2[k] + 50) * DBL_EPSILON,
                          "%lld rows, channel %d: M2 %.17g, not %.17Lg", (long long)v, k,
                          got[1 + c + k], m2[k]);
            ck_assert(got[1 + 2 * c + k] == (double)used[k]);
            ck_assert(got[1 + 3 * c + k] == (double)used[c + k]);
        }
        GONE(df), GONE(down), GONE(d1), GONE(di), GONE(dx), GONE(du), GONE(tmp);
        free(x), free(used), free(own), free(fine), free(want), free(first), free(index);
        free(got), free(mean), free(m2);
    }
}
END_TEST

START_TEST(predicted_classes_match_also_where_two_are_equal)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn, v = n / 3 + 1, size = v * 7;
        state = 909 + (uint64_t)n;
        real *logp = NEW(real, size);
        int32_t *member = NEW(int32_t, n), *got = NEW(int32_t, n), *want = NEW(int32_t, n);
        for (int64_t i = 0; i < size; i++) logp[i] = (real)-below(4); /* often equal */
        for (int64_t p = 0; p < n; p++) member[p] = (int32_t)below(v);
        real *dp = UP(logp, size);
        int32_t *dm = UP(member, n), *dg = UP(got, n);
        ran(pt_k_predict(&D, n, 7, dp, dm, dg));
        DOWN(dg, got, n);
        ref_predict(n, 7, logp, member, want);
        SAME(got, want, n, "classes", n);
        GONE(dp), GONE(dm);
        free(logp), free(member), free(got), free(want);
    }
}
END_TEST

START_TEST(dropout_matches_and_is_keyed_by_voxel)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t n = *pn > 1000 ? 3001 : *pn, size = n * *pc, zeros = 0;
        const double rate = n % 2 ? 0.4 : 0.75;
        uint64_t seed = 0x123456789abcdefu * (uint64_t)n, step = (uint64_t)n << 30 | 5;
        int32_t scene[3] = {1022, 0, 7};
        state = 910 + (uint64_t)size;
        uint64_t *key = NEW(uint64_t, n);
        for (int64_t i = 0; i < n; i++) key[i] = bits() >> 10 | (uint64_t)below(3) << 54;
        real *x = reals(size, 0.5, 2), *got = NEW(real, size), *again = NEW(real, *pc);
        uint64_t *dk = UP(key, n), moved = (key[n - 1] & (UINT64_MAX >> 10)) | UINT64_C(1) << 54;
        int32_t *ds = UP(scene, 3), other[2] = {-1, scene[key[n - 1] >> 54]};
        real *dx = UP(x, size), *da = UP(x + size - *pc, *pc);
        ran(pt_k_dropout(&D, n, *pc, dk, ds, seed, step, rate, dx));
        DOWN(dx, got, size);
        GONE(dk), GONE(ds);
        /* the last voxel alone, in another slot of another fragment: the same mask */
        dk = UP(&moved, 1), ds = UP(other, 2);
        ran(pt_k_dropout(&D, 1, *pc, dk, ds, seed, step, rate, da));
        DOWN(da, again, *pc);
        SAME(again, got + size - *pc, *pc, "dropout of one voxel", size);
        ref_dropout(n, *pc, key, scene, seed, step, rate, x);
        SAME(got, x, size, "dropout", size);
        for (int64_t i = 0; i < size; i++) zeros += got[i] == 0;
        /* five standard deviations */
        double off = fabs((double)zeros - rate * (double)size);
        ck_assert_msg(off <= 5 * sqrt((double)size * rate * (1 - rate)) + 1,
                      "%lld of %lld left out at a rate of %g", (long long)zeros, (long long)size,
                      rate);
        GONE(dk), GONE(ds), free(key), free(x), free(got), free(again);
    }
}
END_TEST

START_TEST(adamw_matches)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn;
        state = 808 + (uint64_t)n;
        pt_adamw_scalars s = {1e-2, 0.9, 0.999, 1e-8, 0.05, 1 - 0.729, 1 - 0.997003, 0.25};
        real *grad = reals(n, -1, 1), *param = reals(n, -1, 1), *m = reals(n, -0.1, 0.1),
             *v = reals(n, 1e-4, 0.1);
        uint8_t *decays = NEW(uint8_t, n);
        wide *wp = NEW(wide, n), *wm = NEW(wide, n), *wv = NEW(wide, n), *scale = NEW(wide, n),
             *sm = NEW(wide, n);
        for (int64_t i = 0; i < n; i++) {
            decays[i] = below(2) > 0;
            wp[i] = param[i], wm[i] = m[i], wv[i] = v[i];
            sm[i] = 0.9L * fabsl(m[i]) + 0.025L * fabsl(grad[i]);
        }
        real *dg = UP(grad, n), *dp = UP(param, n), *dm = UP(m, n), *dv = UP(v, n);
        uint8_t *dd = UP(decays, n);
        ran(pt_k_adamw(&D, n, &s, dg, dd, dp, dm, dv));
        DOWN(dp, param, n);
        DOWN(dm, m, n);
        DOWN(dv, v, n);
        ref_adamw(n, &s, grad, decays, wp, wm, wv, scale);
        /* constants rounded once, products and a sum: 4 of m; 6 of v, all positive; with those,
         * a root, two quotients and the decay: 14 of the change */
        close_to(m, wm, sm, n, 4, "adamw (m)", n);
        close_to(v, wv, NULL, n, 6, "adamw (v)", n);
        close_to(param, wp, scale, n, 14, "adamw (param)", n);
        GONE(dg), GONE(dd), free(grad), free(param), free(m), free(v), free(decays);
        free(wp), free(wm), free(wv), free(scale), free(sm);
    }
}
END_TEST

START_TEST(sgd_matches)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn;
        state = 811 + (uint64_t)n;
        pt_sgd_scalars s = {1e-1, 0.9, 0.05, 0.25};
        real *grad = reals(n, -1, 1), *param = reals(n, -1, 1), *m = reals(n, -1, 1);
        uint8_t *decays = NEW(uint8_t, n);
        wide *wp = NEW(wide, n), *wm = NEW(wide, n), *scale = NEW(wide, n);
        for (int64_t i = 0; i < n; i++) {
            decays[i] = below(2) > 0;
            wp[i] = param[i], wm[i] = m[i];
        }
        real *dg = UP(grad, n), *dp = UP(param, n), *dm = UP(m, n);
        uint8_t *dd = UP(decays, n);
        ran(pt_k_sgd(&D, n, &s, dg, dd, dp, dm));
        DOWN(dp, param, n);
        DOWN(dm, m, n);
        ref_sgd(n, &s, grad, decays, wp, wm, scale);
        /* constants rounded once, three products and two sums: 5 of m; 3 more of the change */
        close_to(m, wm, scale, n, 5, "sgd (m)", n);
        for (int64_t i = 0; i < n; i++) scale[i] = fabsl(wp[i]) + 0.2L * scale[i];
        close_to(param, wp, scale, n, 8, "sgd (param)", n);
        GONE(dg), GONE(dd), free(grad), free(param), free(m), free(decays);
        free(wp), free(wm), free(scale);
    }
}
END_TEST

START_TEST(augmentation_matches_and_is_keyed_by_point)
{
    open_device();
    int dropped = 0;
    for (int step = 0; step < 12; step++) {
        int64_t n = 257, point0 = step % 2 ? 4000000000 : 17;
        uint64_t seed = 0x123456789abcdefu * (uint64_t)(step + 1), at = (uint64_t)step << 33 | 5;
        float strength = step % 3 == 2 ? 0 : 1, voxel = 0.1f;
        state = 909 + (uint64_t)step;
        float *coord = NEW(float, 3 * n), *got = NEW(float, 3 * n);
        wide *wc = NEW(wide, 3 * n), *wf = NEW(wide, n * PT_FEATURES),
             *scale = NEW(wide, n * PT_FEATURES);
        for (int64_t i = 0; i < 3 * n; i++) wc[i] = coord[i] = (float)between(-5, 5);
        real *feature = reals(n * PT_FEATURES, 0, 1);
        for (int64_t i = 0; i < n * PT_FEATURES; i++) {
            wf[i] = feature[i];
            scale[i] = 1 + (wide)FLT_EPSILON / EPS; /* the change, under 1, is made in float */
        }
        float *dc = UP(coord, 3 * n);
        real *df = UP(feature, n * PT_FEATURES);
        float elastic = step % 4 < 2 ? 0 : 3.5f, drop = step < 6 ? 0 : 0.5f;
        ran(pt_k_augment(&D, n, seed, at, 3, point0, strength, voxel, dc, df, elastic, drop));
        DOWN(dc, got, 3 * n);
        DOWN(df, feature, n * PT_FEATURES);
        ref_augment(n, seed, at, 3, point0, strength, voxel, wc, wf, elastic, drop);
        dropped += step >= 6 && feature[0] == 0;
        close_to(feature, wf, scale, n * PT_FEATURES, 2, "augment (feature)", n);
        for (int64_t i = 0; i < 3 * n; i++)
            /* two products of at most 5.9 each; the angle, up to 2 pi, has 3 roundings, the sine 2
             * ulp more: 12 * (2 pi * 3 + 2 + 4) of
             * them; the distortion, 0.35 at most, has 8 sums of 6 roundings */
            ck_assert_msg(fabsl(got[i] - wc[i]) <= 320 * FLT_EPSILON,
                          "step %d: coordinate %lld is %.9g, not %.9Lg", step, (long long)i, got[i],
                          wc[i]);
        free(coord), free(got), free(wc), free(wf), free(scale), free(feature);
    }
    ck_assert_msg(dropped > 0 && dropped < 6, "colour was dropped in %d of 6 scenes", dropped);
}
END_TEST

/* Smooth: points that touch move alike, those of other cells otherwise; and as far as asked for. */
START_TEST(elastic_distortion_is_smooth_and_as_far_as_asked_for)
{
    enum { N = 4000 };
    open_device();
    for (int step = 0; step < 4; step++) {
        static float coord[3 * N], got[3 * N];
        real *feature = reals(N * PT_FEATURES, 0, 1);
        double most = 0, jump = 0;
        for (int i = 0; i < 3 * N; i++) coord[i] = i % 3 ? 0.7f : 0.01f * (float)(i / 3) - 20;
        float *dc = UP(coord, 3 * N);
        real *df = UP(feature, N * PT_FEATURES);
        ran(pt_k_augment(&D, N, 5, (uint64_t)step, 9, 0, 0, 0.1f, dc, df, 4, 0));
        DOWN(dc, got, 3 * N);
        GONE(df);
        for (int i = 0; i < 3 * N; i++) {
            double d = (double)got[i] - (double)coord[i];
            most = fmax(most, fabs(d));
            if (i >= 3) jump = fmax(jump, fabs(d - ((double)got[i - 3] - (double)coord[i - 3])));
        }
        printf("moved by up to %.3g, of neighbours by up to %.2g otherwise\n", most, jump);
        ck_assert_double_le(most, 0.4 + 1e-5); /* 4 voxels of 0.1 */
        ck_assert_double_gt(most, 0.1);
        /* a step of 0.01 in a cell of 1.6, over which a displacement changes by 0.8 at most */
        ck_assert_double_le(jump, 0.8 * 0.01 / 1.6 + 1e-5);
        ck_assert_double_gt(jump, 1e-4);
        free(feature);
    }
}
END_TEST

static const case_entry cases[] = {
#include "kernels.def"
};
CASE_MAIN(SUITE)
