/* plan.c - the memory model: what it learns, what it forgets, and what becomes of a batch by it. */
#include "plan.h"
#include "case.h"
#include "fake.h"
#include "shapes.h"
#include <math.h>

#define A_VOXEL 3000.0
#define A_POINT 60.0

static double truth(int64_t voxels, int64_t points)
{
    return A_VOXEL * (double)voxels + A_POINT * (double)points;
}

/* n fragments of all sizes that fitted, 1.5 to 3.5 points a voxel. */
static void learn(pt_plan *p, int small, int n)
{
    for (int i = 0; i < n; i++) {
        int64_t v = 500 + (int64_t)(9500 * shape_random(1, (uint64_t)i));
        int64_t q = (int64_t)((double)v * (1.5 + 2 * shape_random(2, (uint64_t)i)));
        pt_plan_fitted(p, small, v, q, truth(v, q));
    }
}

START_TEST(what_fitted_says_what_another_needs)
{
    pt_plan p = pt_plan_start();
    ck_assert(pt_plan_need(&p, 0, 100, 100) < 0);
    pt_plan_fitted(&p, 0, 2000, 6000, truth(2000, 6000));
    /* one fragment: by its voxels */
    ck_assert_double_eq_tol(pt_plan_need(&p, 0, 4000, 12000), truth(4000, 12000), 1);
    p = pt_plan_start();
    learn(&p, 0, 40);
    for (int64_t v = 700; v < 100000; v *= 3) {
        double need = pt_plan_need(&p, 0, v, 2 * v) / truth(v, 2 * v);
        ck_assert_msg(need > 0.999 && need < 1.26, "%lld voxels: %.3f of the truth", (long long)v,
                      need);
    }
    ck_assert(pt_plan_need(&p, 1, 100, 100) < 0); /* small chunks are another matter */
    ck_assert_int_eq(pt_plan_sound(&p), 1);
    /* where points seem to save memory, they are left out of it */
    p = pt_plan_start();
    pt_plan_fitted(&p, 0, 1000, 1000, 5e6);
    pt_plan_fitted(&p, 0, 1000, 4000, 4e6);
    p.spread = 1;
    ck_assert_double_eq_tol(pt_plan_need(&p, 0, 1000, 1000), pt_plan_need(&p, 0, 1000, 4000), 1e-3);
    /* and where voxels do */
    p = pt_plan_start();
    pt_plan_fitted(&p, 0, 1000, 1000, 1e6);
    pt_plan_fitted(&p, 0, 1000, 4000, 8e6);
    ck_assert_double_gt(pt_plan_need(&p, 0, 500, 4000), 0);
    ck_assert_double_eq_tol(pt_plan_need(&p, 0, 500, 1000), pt_plan_need(&p, 0, 500, 4000), 1e-3);
}
END_TEST

START_TEST(an_outlier_is_forgotten)
{
    pt_plan p = pt_plan_start();
    learn(&p, 0, 100);
    double before = pt_plan_need(&p, 0, 5000, 10000);
    pt_plan_fitted(&p, 0, 100000, 200000, 3 * truth(100000, 200000));
    double after = pt_plan_need(&p, 0, 5000, 10000);
    ck_assert_double_gt(after, 1.5 * before);
    int n = 0;
    while (pt_plan_need(&p, 0, 5000, 10000) > 1.1 * before && n < 1000) {
        learn(&p, 0, 10);
        n += 10;
    }
    printf("one fragment of ten times the largest, three times too big: within 10 %% after %d\n",
           n);
    ck_assert_int_le(n, 400);
}
END_TEST

START_TEST(a_limit_that_is_passed_is_none)
{
    pt_plan p = pt_plan_start();
    ck_assert(isinf(pt_plan_bar(&p)));
    pt_plan_failed(&p, 1e6);
    ck_assert_double_eq(pt_plan_bar(&p), 1e6);
    pt_plan_fitted(&p, 0, 100, 200, 0.99e6);
    ck_assert_double_eq(pt_plan_bar(&p), 1e6);
    pt_plan_fitted(&p, 0, 100, 200, 1.1e6); /* a little: it moves */
    ck_assert_double_gt(pt_plan_bar(&p), 1.1e6);
    ck_assert_double_lt(pt_plan_bar(&p), 1.2e6);
    pt_plan_fitted(&p, 0, 100, 200, 2e6);
    ck_assert(isinf(pt_plan_bar(&p)));
}
END_TEST

/* Batches that would all need twice of what was there in the moment, on a card with room for three
 * times of it: how many are split until one is tried whole. */
static int until_tried(pt_plan *p, double moment)
{
    int n = 0;
    while (2 * moment >= pt_plan_bar(p) && n < 100000) {
        pt_plan_kept(p);
        n++;
    }
    pt_plan_fitted(p, 0, 1000, 2000, 2 * moment);
    return n;
}

START_TEST(a_moment_of_pressure_slows_the_run_for_a_moment)
{
    pt_plan p = pt_plan_start();
    pt_plan_failed(&p, 1e6);
    int first = until_tried(&p, 1e6);
    ck_assert(isinf(pt_plan_bar(&p))); /* it fitted: nothing is left of it */
    ck_assert_int_le(first, 17);
    /* the true limit, confirmed a hundred times, and then the moment */
    for (int i = 0; i < 100; i++) pt_plan_failed(&p, 3e6);
    ck_assert_double_eq(p.patience, PT_PLAN_PATIENCE_MOST);
    pt_plan_failed(&p, 1e6);
    int later = until_tried(&p, 1e6);
    printf("batches that were split for nothing: %d, and %d after a hundred failures\n", first,
           later);
    ck_assert_int_le(later, 17);
}
END_TEST

/* A card whose limit never changes: needs are heavy-tailed; each failure costs three passes. */
START_TEST(a_limit_that_is_confirmed_is_hardly_tried_again)
{
    pt_plan p = pt_plan_start();
    double card = 10e6, work = 0, wasted = 0;
    learn(&p, 0, 20);
    for (int i = 0; i < 3000; i++) {
        int64_t v = (int64_t)(600 / (1 - 0.9 * shape_random(3, (uint64_t)i)));
        double need = truth(v, 2 * v);
        int planned = !(pt_plan_need(&p, 0, v, 2 * v) < pt_plan_bar(&p));
        if (i >= 100) work += need;
        if (planned) {
            pt_plan_kept(&p);
        } else if (need < card) {
            pt_plan_fitted(&p, 0, v, 2 * v, need);
        } else {
            if (i >= 100) wasted += 3 * need;
            for (int again = 0; again < 2; again++)
                pt_plan_failed(&p, fmin(need, card + 0.1 * need));
        }
    }
    printf("wasted work after 100 batches: %.2f %%\n", 100 * wasted / work);
    ck_assert_double_lt(wasted / work, 0.02);
    ck_assert_double_gt(pt_plan_bar(&p), card * 0.99); /* and what fits is not split for it */
}
END_TEST

START_TEST(numbers_that_no_run_left_are_refused)
{
    pt_plan p = pt_plan_start();
    ck_assert_int_eq(pt_plan_sound(&p), 1);
    p.limit = NAN;
    ck_assert_int_eq(pt_plan_sound(&p), 0);
    p.limit = -1;
    ck_assert_int_eq(pt_plan_sound(&p), 0);
    static const double spread[] = {0.9, 1.3, 1, 1}, patience[] = {16, 16, 15, 5000};
    for (int i = 0; i < 4; i++) {
        p = pt_plan_start();
        p.spread = spread[i];
        p.patience = patience[i];
        ck_assert_int_eq(pt_plan_sound(&p), 0);
    }
}
END_TEST

/* ---- batches, on the device that is a predicate of points ---- */
typedef struct run {
    fake f;
    pt_plan plan;
    int n;
    int64_t points[6];
    shape_kind kind;
    pt_split_mode mode;
    int halo, mirrored;
    pt_ledger ledger;
    pt_recover_stats stats;
    pt_status status;
} run;

/* Every point is a voxel of its own, or nearly so: the model says `limit` points. */
static pt_plan points_model(double limit)
{
    pt_plan p = pt_plan_start();
    pt_plan_fitted(&p, 0, 1000, 1000, 1000);
    pt_plan_failed(&p, limit);
    return p;
}

static void go(run *r)
{
    pt_recover_ops ops = fake_ops(&r->f);
    pt_recover_options o = {
        .split = {r->mode, r->halo, 0.9}, .gather_small = 256, .baseline = 1000, .plan = &r->plan};
    pt_scene scene[6];
    uint32_t keys[6] = {0, 1, 2, 3, 4, 5};
    pt_fragment *whole;
    for (int s = 0; s < r->n; s++) {
        scene[s] = shape_make(r->kind, r->points[s], 4, (uint64_t)s + 1);
        scene[s].voxel = 1e-4f;
        for (int64_t i = 0; r->mirrored && i < 3 * scene[s].n; i++) scene[s].coord[i] *= -1;
    }
    ck_assert_int_eq(pt_ledger_open(&r->ledger, r->points, r->n), PT_OK);
    ck_assert_int_eq(pt_fragment_join(scene, keys, r->n, 4, NULL, &whole), PT_OK);
    r->status = pt_recover_batch(&ops, &o, whole, &r->ledger, &r->stats);
    for (int s = 0; s < r->n; s++) pt_scene_free(&scene[s]);
    ck_assert_int_le(r->stats.attempts, r->stats.bound);
}

static void trained(run *r, int64_t points)
{
    ck_assert_msg(r->status == PT_OK, "%s", pt_error_last()->message);
    ck_assert_int_eq(r->ledger.count[PT_FATE_TRAINED], points);
    pt_ledger_close(&r->ledger);
}

START_TEST(scenes_that_do_not_fit_together_are_tried_in_groups)
{
    run r = {.f = {.capacity = 2600}, .n = 6, .points = {900, 1100, 2000, 700, 800, 900}};
    r.plan = points_model(2500);
    go(&r);
    /* 900 + 1100, 2000, 700 + 800 + 900 */
    ck_assert_int_eq(r.stats.attempts, 3);
    ck_assert_int_eq(r.stats.retries, 0);
    ck_assert_int_eq(r.stats.splits_scene, 1);
    ck_assert_int_eq(r.stats.planned, 1);
    ck_assert_int_eq(r.f.augments, 1);
    trained(&r, 6400);
    /* what fits by its points is not even looked at */
    run fits = {.f = {.capacity = 2600}, .n = 2, .points = {900, 1100}};
    fits.plan = points_model(2500);
    go(&fits);
    ck_assert_int_eq(fits.stats.planned, 0);
    ck_assert_int_eq(fits.f.augments, 0);
    trained(&fits, 2000);
}
END_TEST

/* Scenes of several points a voxel: more points than the bar has bytes, and they fit. */
START_TEST(what_fits_by_its_voxels_is_not_split)
{
    run r = {.f = {.capacity = -1}, .n = 2, .points = {2000, 2000}, .kind = SHAPE_SAME};
    r.plan = points_model(2500);
    go(&r);
    ck_assert_int_eq(r.stats.attempts, 1);
    ck_assert_int_eq(r.stats.planned, 0);
    ck_assert_int_eq(r.f.augments, 1);
    trained(&r, 4000);
    run one = {.f = {.capacity = -1}, .n = 1, .points = {3000}, .kind = SHAPE_SAME};
    one.plan = points_model(2500);
    go(&one);
    ck_assert_int_eq(one.stats.planned, 0);
    trained(&one, 3000);
}
END_TEST

START_TEST(a_scene_that_does_not_fit_is_cut_without_an_attempt)
{
    run r = {.f = {.capacity = 2600}, .n = 1, .points = {8000}};
    r.plan = points_model(2500);
    go(&r);
    ck_assert_int_eq(r.stats.retries, 0);
    ck_assert_int_ge(r.stats.splits_space, 3);
    ck_assert_int_eq(r.stats.planned, r.stats.splits_space);
    ck_assert_int_eq(r.stats.attempts, r.stats.splits_space + 1);
    trained(&r, 8000);
}
END_TEST

START_TEST(smaller_chunks_come_before_a_cut_where_they_are_known_to_suffice)
{
    run r = {.f = {.capacity = -1}, .n = 1, .points = {4000}};
    r.plan = points_model(3000);
    pt_plan_fitted(&r.plan, 1, 1000, 1000, 500);
    go(&r);
    ck_assert_int_eq(r.stats.attempts, 1);
    ck_assert_int_eq(r.stats.planned, 1);
    ck_assert_int_eq(r.stats.splits_space, 0);
    ck_assert_int_eq(r.f.last_gather, 256);
    trained(&r, 4000);
    /* not where they do not, nor where they are no smaller */
    run cut = {.f = {.capacity = -1}, .n = 1, .points = {8000}};
    cut.plan = points_model(3000);
    pt_plan_fitted(&cut.plan, 1, 1000, 1000, 500);
    go(&cut);
    ck_assert_int_ge(cut.stats.splits_space, 1);
    trained(&cut, 8000);
    run few = {.f = {.capacity = -1}, .n = 1, .points = {250}};
    few.plan = points_model(100);
    pt_plan_fitted(&few.plan, 1, 1000, 1000, 100);
    go(&few);
    ck_assert_int_eq(few.stats.planned, 0);
    trained(&few, 250);
}
END_TEST

/* A wrong model costs passes, never points. */
START_TEST(a_model_that_asks_for_too_little_loses_no_point)
{
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++)
        for (int kind = 0; kind < 2 * SHAPE_KINDS; kind++) {
            run r = {.f = {.capacity = -1}, .n = 3, .points = {5000, 300, 1200}, .halo = 2};
            r.kind = (shape_kind)(kind / 2);
            r.mirrored = kind % 2;
            r.mode = (pt_split_mode)mode;
            r.plan = points_model(1);
            go(&r);
            ck_assert_int_eq(r.stats.retries, 0);
            ck_assert_int_eq(r.stats.at_floor, 0);
            trained(&r, 6500);
        }
}
END_TEST

START_TEST(a_model_that_asks_for_too_much_leaves_the_remedies_as_they_are)
{
    run r = {.f = {.capacity = 1500}, .n = 4, .points = {1000, 1000, 1000, 1000}};
    r.plan = points_model(2500); /* two groups of two, which do not fit */
    go(&r);
    ck_assert_int_eq(r.stats.planned, 1);
    ck_assert_int_eq(r.stats.splits_scene, 3);
    ck_assert_int_eq(r.stats.attempts, 2 * 3 + 4);
    trained(&r, 4000);
    /* and a fragment that failed once is tried again as it is */
    run again = {.f = {.capacity = -1, .fail_attempt = 1}, .n = 2, .points = {1000, 1000}};
    again.plan = points_model(2500);
    go(&again);
    ck_assert_int_eq(again.stats.attempts, 2);
    ck_assert_int_eq(again.stats.planned, 0);
    trained(&again, 2000);
}
END_TEST

START_TEST(augmentation_that_finds_no_memory_leaves_the_batch_to_its_attempt)
{
    run r = {.f = {.capacity = -1, .fail_augment = 1}, .n = 2, .points = {2000, 2000}};
    r.plan = points_model(2500);
    go(&r);
    ck_assert_int_eq(r.f.clears, 1);
    ck_assert_int_eq(r.f.releases, 1);
    ck_assert_int_eq(r.stats.attempts, 1);
    ck_assert_int_eq(r.stats.planned, 0);
    trained(&r, 4000);
    /* any other failure of it is the batch's */
    run bug = {.f = {.capacity = -1, .fail_augment = 1, .later_code = 1}, .n = 2};
    bug.points[0] = bug.points[1] = 2000;
    bug.plan = points_model(2500);
    go(&bug);
    ck_assert_int_eq(bug.status, PT_ERR_DEVICE);
    ck_assert_int_eq(bug.stats.class_of_failure, PT_CLASS_NO);
    ck_assert_int_eq(bug.f.discards, 1);
    pt_ledger_close(&bug.ledger);
}
END_TEST

START_TEST(voxels_are_counted_as_the_splitter_counts_them)
{
    for (int kind = 0; kind < SHAPE_KINDS; kind++) {
        pt_scene s[2] = {shape_make((shape_kind)kind, 3000, 4, 1), shape_make(SHAPE_ROOM, 7, 4, 2)};
        uint32_t keys[2] = {0, 1};
        int64_t voxels[2];
        pt_fragment *f;
        ck_assert_int_eq(pt_fragment_join(s, keys, 2, 4, NULL, &f), PT_OK);
        ck_assert_int_eq(pt_plan_voxels(f, voxels), PT_OK);
        ck_assert_int_eq(voxels[0] + voxels[1], pt_count_voxels(f));
        ck_assert_int_gt(voxels[1], 0);
        pt_fragment_free(f);
        for (int k = 0; k < 2; k++) pt_scene_free(&s[k]);
    }
}
END_TEST

static const case_entry cases[] = {
#include "plan.def"
};
CASE_MAIN("plan")
