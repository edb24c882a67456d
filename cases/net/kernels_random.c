/* kernels_random.c - what is drawn by key: dropout, augmentation, elastic distortion. */
#include "kernelrig.h"

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
        draw_from(910 + (uint64_t)size);
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

START_TEST(augmentation_matches_and_is_keyed_by_point)
{
    open_device();
    int dropped = 0;
    for (int step = 0; step < 12; step++) {
        int64_t n = 257, point0 = step % 2 ? 4000000000 : 17;
        uint64_t seed = 0x123456789abcdefu * (uint64_t)(step + 1), at = (uint64_t)step << 33 | 5;
        float strength = step % 3 == 2 ? 0 : 1, voxel = 0.1f;
        draw_from(909 + (uint64_t)step);
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
#include "kernels_random.def"
};
CASE_MAIN(SUITE)
