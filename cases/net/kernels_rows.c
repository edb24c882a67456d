/* kernels_rows.c - rows of features: moved and added, normalised forward and backward, their
 * moments. */
#include "kernelrig.h"

START_TEST(rows_move_and_add_exactly)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t n = *pn > 1000 ? 2003 : *pn, size = n * *pc;
        int c = *pc;
        draw_from(505 + (uint64_t)size);
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
        draw_from(606 + (uint64_t)size);
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

START_TEST(moments_of_owned_rows_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    EACH(int, pc, channels)
    {
        int64_t v = *pn > 1000 ? 3001 : *pn, size = v * *pc;
        int c = *pc, set = 1 + 4 * c;
        draw_from(912 + (uint64_t)size);
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

static const case_entry cases[] = {
#include "kernels_rows.def"
};
CASE_MAIN(SUITE)
