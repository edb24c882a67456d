/* kernels_voxels.c - from points to voxels: keys, sort and scan, means and labels, the maps of
 * neighbours. */
#include "kernelrig.h"

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
        draw_from(101 + (uint64_t)n);
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
        /* and how many of them the next two levels have */
        int32_t *dcount = UP(flag, 2), counted[2];
        uint64_t *up = UP(unique, v), *finer = NEW(uint64_t, n);
        ran(pt_k_count_coarser(&D, n, up, dscan + n, 2, dcount));
        DOWN(dcount, counted, 2);
        memcpy(finer, unique, sizeof *finer * (size_t)v);
        for (int64_t l = 0, of = v; l < 2; l++) {
            ref_coarse_keys(of, finer, coarse);
            ref_sort(of, coarse, gotx);
            int64_t want = 0;
            for (int64_t i = 0; i < of; i++)
                if (i == 0 || coarse[i] != coarse[i - 1]) finer[want++] = coarse[i];
            ck_assert_msg(counted[l] == want, "level %d of %lld voxels: %d, not %lld", (int)l + 1,
                          (long long)v, counted[l], (long long)want);
            of = want;
        }
        GONE(up), free(finer);
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
        draw_from(202 + (uint64_t)n);
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
        draw_from(303 + (uint64_t)n);
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
        draw_from(404 + (uint64_t)*pn);
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

static const case_entry cases[] = {
#include "kernels_voxels.def"
};
CASE_MAIN(SUITE)
