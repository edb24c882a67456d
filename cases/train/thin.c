/* thin.c - point dropout: which points, how many, and that what stays is what was there. */
#include "case.h"
#include "loop/train.h"
#include "shapes.h"
#include <math.h>

/* Scene of n points whose label says which one it was, thinned. */
static pt_scene thinned(int64_t n, double rate, uint64_t seed, uint64_t step, uint32_t scene)
{
    pt_scene s = shape_make(SHAPE_ROOM, n, 4, 1);
    for (int64_t i = 0; i < n; i++) {
        s.label[i] = (int32_t)i;
        s.coord[3 * i + 2] = (float)i;
        s.feature[PT_FEATURES * i + 5] = (float)i;
    }
    pt_thin(&s, rate, seed, step, scene);
    return s;
}

static int same(const pt_scene *a, const pt_scene *b)
{
    return a->n == b->n && !memcmp(a->label, b->label, sizeof *a->label * (size_t)a->n);
}

START_TEST(points_are_left_out_by_seed_batch_scene_and_point)
{
    enum { N = 20000 };
    static const double rates[] = {0, 0.2, 0.9};
    for (int k = 0; k < 3; k++) {
        pt_scene a = thinned(N, rates[k], 3, 7, 2), b = thinned(N, rates[k], 3, 7, 2);
        ck_assert(same(&a, &b));
        double off = fabs((double)a.n - (1 - rates[k]) * N);
        ck_assert_msg(off <= 5 * sqrt(N * rates[k] * (1 - rates[k])), "%lld points are left",
                      (long long)a.n);
        for (int64_t i = 0; i < a.n; i++) {
            ck_assert(i == 0 || a.label[i] > a.label[i - 1]);
            ck_assert(a.coord[3 * i + 2] == (float)a.label[i]);
            ck_assert(a.feature[PT_FEATURES * i + 5] == (float)a.label[i]);
        }
        /* of another seed, batch or scene: others; and no shift of the same ones */
        const uint64_t other[3][3] = {{4, 7, 2}, {3, 8, 2}, {3, 7, 3}};
        for (int o = 0; k && o < 3; o++) {
            pt_scene c = thinned(N, rates[k], other[o][0], other[o][1], (uint32_t)other[o][2]);
            ck_assert(!same(&a, &c));
            pt_scene_free(&c);
        }
        pt_scene_free(&a);
        pt_scene_free(&b);
    }
}
END_TEST

START_TEST(a_scene_keeps_a_point)
{
    for (uint64_t step = 0; step < 50; step++) {
        pt_scene s = thinned(2, 0.99, 1, step, 0);
        ck_assert_int_ge(s.n, 1);
        pt_scene_free(&s);
    }
}
END_TEST

static const case_entry cases[] = {
#include "thin.def"
};
CASE_MAIN("thin")
