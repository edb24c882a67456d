/* short.c - host memory runs out, at every allocation of the recovery in turn: the batch is refused
 * as such, nothing leaks, and nothing is split for it. */
#include "case.h"
#include "fake.h"
#include "hostmem.h"
#include "shapes.h"

typedef struct scene_set {
    pt_scene scene[3];
    int n;
    pt_split_mode mode;
    fake f;
    const pt_plan *plan;
    int opened; /* the ledger is the caller's to close */
} scene_set;

/* The whole way of a batch: ledger, fragment, recovery. */
static pt_status batch(scene_set *b, fake *f, pt_ledger *l, pt_recover_stats *st)
{
    pt_recover_ops ops = fake_ops(f);
    pt_recover_options o = {
        .split = {b->mode, 2, 0.9}, .gather_small = 256, .baseline = 1000, .plan = b->plan};
    int64_t sizes[3] = {b->scene[0].n, b->scene[1].n, b->scene[2].n};
    uint32_t keys[3] = {0, 1, 2};
    pt_fragment *whole;
    pt_status got = pt_ledger_open(l, sizes, b->n);
    b->opened = got == PT_OK;
    if (got == PT_OK) got = pt_fragment_join(b->scene, keys, b->n, 4, NULL, &whole);
    if (got == PT_OK) got = pt_recover_batch(&ops, &o, whole, l, st);
    return got;
}

/* Every allocation fails, alone or with all later ones, up to the run in which none did. */
static void each_allocation(scene_set *b, int and_later, int64_t trained)
{
    int k = 1;
    for (;; k++) {
        fake f = b->f;
        pt_ledger l = {0};
        pt_recover_stats st = {0};
        long before = host_blocks();
        pt_error_clear();
        host_fail(k, and_later);
        pt_status got = batch(b, &f, &l, &st);
        int failed = host_ended();
        int64_t marked = l.count[PT_FATE_TRAINED];
        if (b->opened) pt_ledger_close(&l);
        long leaked = host_blocks() - before; /* before Check allocates something */
        if (!failed) {
            ck_assert_msg(got == PT_OK, "allocation %d: %s", k, pt_error_last()->message);
            ck_assert_int_eq(marked, trained);
        } else {
            ck_assert_msg(got == PT_ERR_HOST && pt_error_last()->status == PT_ERR_HOST,
                          "allocation %d: status %d: %s", k, got, pt_error_last()->message);
            ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "no host memory"));
            if (st.attempts) ck_assert_int_eq(st.class_of_failure, PT_CLASS_HOST);
            ck_assert_int_eq(marked, f.own_committed);
        }
        ck_assert_msg(leaked == 0, "allocation %d: %ld blocks leaked", k, leaked);
        if (!failed) break; /* ends by proof */
        ck_assert_int_lt(k, 5000);
    }
    ck_assert_int_gt(k, 40);
}

static void close_scenes(scene_set *b)
{
    for (int s = 0; s < b->n; s++) pt_scene_free(&b->scene[s]);
}

START_TEST(every_host_allocation_of_a_batch_that_splits_fails_and_nothing_leaks)
{
    /* scenes, then halves at the median of a scene in clusters */
    scene_set b = {
        .scene = {shape_make(SHAPE_CLUSTERS, 2400, 4, 1), shape_make(SHAPE_ROOM, 900, 4, 2)},
        .n = 2,
        .f = {.capacity = 1400}};
    each_allocation(&b, 0, 3300);
    each_allocation(&b, 1, 3300);
    close_scenes(&b);
}
END_TEST

START_TEST(every_host_allocation_of_a_search_for_a_better_cut_fails_and_nothing_leaks)
{
    /* no cut makes a line of one voxel smaller: each axis is tried, and the points are dropped */
    scene_set b = {.scene = {shape_make(SHAPE_SAME, 2000, 4, 1)}, .n = 1, .f = {.capacity = 1400}};
    each_allocation(&b, 0, 0);
    each_allocation(&b, 1, 0);
    close_scenes(&b);
}
END_TEST

START_TEST(every_host_allocation_of_a_plan_ahead_fails_and_nothing_leaks)
{
    pt_plan p = pt_plan_start();
    pt_plan_fitted(&p, 0, 1000, 1000, 1000);
    pt_plan_failed(&p, 700);
    scene_set b = {.scene = {shape_make(SHAPE_CLUSTERS, 2400, 4, 1),
                             shape_make(SHAPE_ROOM, 300, 4, 2), shape_make(SHAPE_ROOM, 200, 4, 3)},
                   .n = 3,
                   .plan = &p,
                   .f = {.capacity = -1}};
    each_allocation(&b, 0, 2900);
    each_allocation(&b, 1, 2900);
    close_scenes(&b);
}
END_TEST

static const case_entry cases[] = {
#include "short.def"
};
CASE_MAIN("short")
