/* thin.c - what a batch is made of: point dropout (which points, how many, and that what stays is
 * what was there), and the order of the scenes. */
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

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t mixed(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The scene with the i-th smallest key of its epoch, by its definition. */
static int defined(uint64_t seed, int64_t i, int count, uint64_t *key)
{
    int want = (int)(i % count);
    for (int a = 0; a < count; a++)
        key[a] = mixed(mixed(seed ^ mixed((uint64_t)(i / count))) + (uint64_t)a);
    for (int a = 0; a < count; a++) {
        int rank = 0;
        for (int b = 0; b < count; b++) rank += key[b] < key[a];
        if (rank == want) return a;
    }
    return -1;
}

START_TEST(an_epoch_has_every_scene_once_in_the_order_of_its_keys)
{
    enum { COUNT = 37, MANY = 1000000 };
    uint64_t key[COUNT];
    pt_order o = {0}, many = {0};
    int scene, other = 0;
    for (int64_t i = 0; i < 3 * COUNT; i++) {
        ck_assert_int_eq(pt_scene_at(&o, 5, i, COUNT, &scene), PT_OK);
        ck_assert_int_eq(scene, defined(5, i, COUNT, key));
    }
    /* back in an epoch before, as a run that is resumed; and by another seed */
    for (int64_t i = 0; i < COUNT; i++) {
        ck_assert_int_eq(pt_scene_at(&o, 5, i, COUNT, &scene), PT_OK);
        ck_assert_int_eq(scene, defined(5, i, COUNT, key));
        other += scene != defined(6, i, COUNT, key);
    }
    ck_assert_int_gt(other, COUNT / 2);
    pt_order_close(&o);
    /* as many as --data rooms:N takes: a permutation, in no more than n log n */
    char *seen = calloc(MANY, 1);
    for (int64_t i = 0; i < MANY; i++) {
        ck_assert_int_eq(pt_scene_at(&many, 9, MANY + i, MANY, &scene), PT_OK);
        ck_assert(scene >= 0 && scene < MANY && !seen[scene]);
        seen[scene] = 1;
    }
    free(seen);
    pt_order_close(&many);
}
END_TEST

static const case_entry cases[] = {
#include "thin.def"
};
CASE_MAIN("thin")
