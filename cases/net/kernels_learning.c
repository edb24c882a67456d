/* kernels_learning.c - the end of a step: loss and its gradient, the classes predicted, the
 * optimisers. */
#include "kernelrig.h"

START_TEST(loss_gradient_and_confusion_match)
{
    open_device();
    EACH(int64_t, pn, sizes)
    for (int classes = 2; classes <= 20; classes += 9) {
        int64_t v = *pn > 1000 ? 3001 : *pn, size = v * classes;
        double divisor = 777.5, smoothing = classes == 2 ? 0 : classes == 11 ? 0.1 : 1;
        draw_from(707 + (uint64_t)size);
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

START_TEST(predicted_classes_match_also_where_two_are_equal)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn, v = n / 3 + 1, size = v * 7;
        draw_from(909 + (uint64_t)n);
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

START_TEST(adamw_matches)
{
    open_device();
    EACH(int64_t, pn, sizes)
    {
        int64_t n = *pn;
        draw_from(808 + (uint64_t)n);
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
        draw_from(811 + (uint64_t)n);
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

static const case_entry cases[] = {
#include "kernels_learning.def"
};
CASE_MAIN(SUITE)
