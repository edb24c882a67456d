/* broken.c - what the recovery says when something it relies on does not hold: receipts, the
 * ledger, the remedies, and failures inside the handling of a failure. */
#include "case.h"
#include "fake.h"
#include "shapes.h"

typedef struct run {
    fake f;
    pt_split_mode mode;
    pt_on_floor on_floor;
    shape_kind kind;
    pt_ledger ledger;
    pt_recover_stats stats;
    pt_status status;
} run;

static void go(run *r, int scenes, const int64_t *points)
{
    pt_scene scene[2];
    for (int s = 0; s < scenes; s++) scene[s] = shape_make(r->kind, points[s], 4, (uint64_t)s + 1);
    r->status = fake_batch(&r->f, scene, scenes, r->mode, r->on_floor, &r->ledger, &r->stats);
    for (int s = 0; s < scenes; s++) pt_scene_free(&scene[s]);
}

static void says(const char *part)
{
    ck_assert_msg(strstr(pt_error_last()->message, part) != NULL, "not \"%s\": %s", part,
                  pt_error_last()->message);
}

START_TEST(a_point_that_two_receipts_name_is_caught)
{
    run r = {.f = {.capacity = 500, .claim = 1, .claimed = 450}};
    go(&r, 2, (int64_t[]){400, 450});
    ck_assert_int_eq(r.status, PT_ERR_INTERNAL);
    says("point 449 of scene 1 is in the ledger as trained and again as trained");
    ck_assert_int_eq(r.stats.class_of_failure, PT_CLASS_NO);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(a_point_trained_and_then_dropped_is_caught)
{
    /* scene 0 trains and claims all of scene 1, whose halves are then both at the floor */
    run r = {.mode = PT_SPLIT_ALTERNATE, .f = {.capacity = 500, .claim = 800, .claimed = 800}};
    go(&r, 2, (int64_t[]){400, 800});
    ck_assert_int_eq(r.status, PT_ERR_INTERNAL);
    says("as trained and again as floor");
    ck_assert_int_eq(pt_ledger_dropped(&r.ledger), 0);
    ck_assert_int_eq(r.stats.at_floor, 1); /* the second half is not even tried */
    ck_assert_int_eq(r.stats.floor_error, 0);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(staging_that_fails_for_another_reason_is_not_repeated)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .fail_stage = 1, .later_code = 700}};
    go(&r, 1, (int64_t[]){800});
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.f.stages, 1);
    ck_assert_int_eq(r.stats.class_of_failure, PT_CLASS_FATAL);
    ck_assert_int_eq(pt_error_last()->code, 700);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(augmenting_that_fails_for_another_reason_drops_nothing)
{
    run r = {.f = {.capacity = 0, .fail_augment = 1, .later_code = 700}};
    go(&r, 1, (int64_t[]){4000});
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.class_of_failure, PT_CLASS_FATAL);
    ck_assert_int_eq(pt_ledger_dropped(&r.ledger), 0);
    ck_assert_int_eq(r.f.augments, 1);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(a_release_that_fails_after_augmenting_did_ends_the_batch)
{
    /* one release each after the first and the second attempt, the third after augmenting */
    run r = {.f = {.capacity = 0, .fail_augment = 1, .skip_release = 2, .fail_release = 99}};
    go(&r, 1, (int64_t[]){4000});
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaFree");
    ck_assert_int_eq(r.f.releases, 3);
    ck_assert_int_eq(pt_ledger_dropped(&r.ledger), 0);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(floor_error_refuses_when_both_halves_are_at_the_floor)
{
    run r = {.mode = PT_SPLIT_ALTERNATE, .on_floor = PT_FLOOR_ERROR, .f = {.capacity = 0}};
    go(&r, 1, (int64_t[]){800});
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.floor_error, 1);
    ck_assert_int_eq(r.stats.splits_space, 1);
    ck_assert_int_eq(pt_ledger_dropped(&r.ledger), 0);
    says("are at the floor and may not be dropped (--on-floor error)");
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(floor_error_discards_the_half_that_was_still_queued)
{
    run r = {.mode = PT_SPLIT_ALTERNATE,
             .on_floor = PT_FLOOR_ERROR,
             .kind = SHAPE_CLUSTERS, /* 300 of the points lie on one side of the middle */
             .f = {.capacity = 2900}};
    go(&r, 1, (int64_t[]){3000});
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.floor_error, 1);
    says("300 points of scene 0 are at the floor");
    ck_assert_int_eq(r.f.discards, 1); /* it would have fitted */
    ck_assert_int_eq(r.f.commits, 0);
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(a_recovery_that_does_not_end_is_stopped_at_the_bound)
{
    run r = {.f = {.capacity = 0, .forget = 1}}; /* the same remedy for ever */
    go(&r, 1, (int64_t[]){2000});
    ck_assert_int_eq(r.status, PT_ERR_INTERNAL);
    ck_assert_int_eq(r.f.attempts, (int)r.stats.bound);
    ck_assert_int_eq(r.f.discards, 1);
    says("the recovery does not end");
    pt_ledger_close(&r.ledger);
}
END_TEST

START_TEST(a_failed_batch_names_every_point_whatever_was_trained_of_it)
{
    pt_ledger l;
    ck_assert_int_eq(pt_ledger_open(&l, (int64_t[]){3, 2}, 2), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 1, PT_FATE_TRAINED), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 1, 0, PT_FATE_FLOOR), PT_OK);
    pt_ledger_fail(&l, PT_FATE_BATCH);
    ck_assert_int_eq(l.count[PT_FATE_BATCH], 5);
    ck_assert_int_eq(pt_ledger_dropped(&l), 5);
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < l.points[s]; i++) ck_assert_int_eq(l.fate[s][i], PT_FATE_BATCH);
    ck_assert_int_eq(pt_ledger_check(&l), PT_OK);
    pt_ledger_close(&l);
}
END_TEST

START_TEST(a_ledger_whose_counts_do_not_fit_its_points_is_caught)
{
    pt_ledger l;
    ck_assert_int_eq(pt_ledger_open(&l, (int64_t[]){2}, 1), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, -1, PT_FATE_TRAINED), PT_ERR_INTERNAL);
    says("point -1 of scene 0 is not in the batch");
    pt_ledger_rest(&l, PT_FATE_FLOOR);
    ck_assert_int_eq(pt_ledger_check(&l), PT_OK);
    l.count[PT_FATE_OPEN] = 1; /* what a lost update would leave */
    ck_assert_int_eq(pt_ledger_check(&l), PT_ERR_INTERNAL);
    says("counts do not fit");
    pt_ledger_close(&l);
}
END_TEST

static const case_entry cases[] = {
#include "broken.def"
};
CASE_MAIN("broken")
