/* ends.c - property 2: whatever the geometry, a batch ends within the bound, and every point is in
 * the ledger once. cases/recovery/floor.c has the same on a device that is a predicate, with more
 * sizes. */
#include "case.h"
#include "rig.h"
#include "shapes.h"

static void replace_scene(rig *r, int i, pt_scene s)
{
    pt_scene_free(&r->scene[i]);
    r->scene[i] = s;
}

static void check(rig *r, const char *what, int64_t points)
{
    ck_assert_msg(r->status == PT_OK, "%s: %s", what, r->error.message);
    rig_check_invariants(r, what);
    ck_assert_msg(r->result.trained + r->result.dropped == points, "%s: %lld + %lld of %lld points",
                  what, (long long)r->result.trained, (long long)r->result.dropped,
                  (long long)points);
}

START_TEST(nothing_fits_ends_for_every_geometry_on_the_trainer)
{
    static const int64_t sizes[] = {1, 499, 500, 501, 1001, 1002, 2500};
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++) {
        rig r;
        rig_open(&r, &(rig_options){.scenes = 1,
                                    .points = {600},
                                    .split = (pt_split_mode)mode,
                                    .allocator = PT_ALLOC_DIRECT});
        for (int k = 0; k < SHAPE_KINDS; k++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                char what[96];
                snprintf(what, sizeof what, "%s of %lld points, mode %d", shape_name((shape_kind)k),
                         (long long)sizes[i], mode);
                replace_scene(&r, 0, shape_make((shape_kind)k, sizes[i], PT_ROOM_CLASSES, 1));
                rig_run(&r, "cudaMalloc phase=forward -> oom", NULL);
                check(&r, what, sizes[i]);
                ck_assert_msg(r.result.dropped == sizes[i] && !r.result.stepped,
                              "%s: trained what never fitted", what);
                ck_assert_msg(!memcmp(r.start.param, r.end.param, r.t->net->nparams * sizeof(real)),
                              "%s: parameters moved without a step", what);
                ck_assert_int_le(r.result.recover.attempts,
                                 PT_TRIES * pt_split_bound(sizes[i], (pt_split_mode)mode));
            }
        rig_close(&r);
    }
}
END_TEST

START_TEST(scenes_at_the_edge_of_the_floor_train_whole)
{
    static const int64_t sizes[] = {1, 499, 500, 501, 1001, 1002};
    rig r;
    rig_open(&r, &(rig_options){.scenes = 1, .points = {600}});
    for (int k = 0; k < SHAPE_KINDS; k++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            replace_scene(&r, 0, shape_make((shape_kind)k, sizes[i], PT_ROOM_CLASSES, 1));
            rig_run(&r, NULL, NULL);
            check(&r, shape_name((shape_kind)k), sizes[i]);
            ck_assert_int_eq(r.result.trained, sizes[i]);
            ck_assert_int_eq(r.result.stepped, 1);
        }
    rig_close(&r);
}
END_TEST

START_TEST(a_whole_scene_under_the_floor_is_tried_alone)
{
    rig r;
    rig_open(&r,
             &(rig_options){.scenes = 3, .points = {400, 500, 300}, .allocator = PT_ALLOC_DIRECT});
    /* the batch fails three times (first, again, smaller chunks), then each scene fits */
    rig_run(&r,
            "cudaMalloc phase=forward nth=1 -> oom; cudaMalloc phase=forward nth=2 -> oom;"
            "cudaMalloc phase=forward nth=3 -> oom",
            NULL);
    check(&r, "three scenes under the floor", 1200);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    ck_assert_int_eq(r.result.recover.splits_space, 0);
    ck_assert_int_eq(r.result.trained, 1200);
    rig_close(&r);
}
END_TEST

START_TEST(a_budget_cuts_scenes_until_the_pieces_fit)
{
    for (int mode = PT_SPLIT_AUTO; mode <= PT_SPLIT_ALTERNATE; mode++) {
        rig r;
        char rule[96];
        rig_open(&r, &(rig_options){.scenes = 3,
                                    .points = {30000, 900, 700},
                                    .voxel = 0.04f,
                                    .split = (pt_split_mode)mode,
                                    .allocator = PT_ALLOC_DIRECT});
        rig_run(&r, NULL, NULL);
        check(&r, "without a budget", 31600);
        uint64_t room = r.result.bytes_peak - r.result.bytes_baseline;
        for (uint64_t percent = 84; percent >= 60; percent -= 6) { /* until the budget bites */
            snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
                     (unsigned long long)(r.live + room * percent / 100));
            rig_run(&r, rule, NULL);
            check(&r, rule, 31600);
            ck_assert_int_eq(r.result.dropped, 0);
            if (r.result.recover.splits_space) break;
        }
        ck_assert_msg(r.result.recover.splits_scene >= 1 && r.result.recover.splits_space >= 1,
                      "%s: %d scene and %d spatial splits", rule,
                      (int)r.result.recover.splits_scene, (int)r.result.recover.splits_space);
        rig_close(&r);
    }
}
END_TEST

static const case_entry cases[] = {
#include "ends.def"
};
CASE_MAIN("ends")
