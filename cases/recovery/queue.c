/* queue.c - the order of remedies, and what ends a batch. */
#include "case.h"
#include "fake.h"
#include "shapes.h"

typedef struct run {
    fake f;
    pt_scene scene[4];
    int n;
    pt_ledger ledger;
    pt_recover_stats stats;
    pt_status status;
} run;

static void go(run *r, int scenes, int64_t points)
{
    r->n = scenes;
    for (int s = 0; s < scenes; s++)
        r->scene[s] = shape_make(SHAPE_ROOM, points, 4, (uint64_t)s + 1);
    r->status =
        fake_batch(&r->f, r->scene, scenes, PT_SPLIT_AUTO, PT_FLOOR_DROP, &r->ledger, &r->stats);
}

static void end(run *r)
{
    pt_ledger_close(&r->ledger);
    for (int s = 0; s < r->n; s++) pt_scene_free(&r->scene[s]);
}

START_TEST(a_batch_that_fits_is_one_attempt)
{
    run r = {.f = {.capacity = -1}};
    go(&r, 2, 800);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.stats.attempts, 1);
    ck_assert_int_eq(r.stats.retries, 0);
    ck_assert_int_eq(r.f.stages, 0);
    ck_assert_int_eq(r.ledger.count[PT_FATE_TRAINED], 1600);
    end(&r);
}
END_TEST

START_TEST(a_transient_oom_is_repeated_and_nothing_is_split)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1}};
    go(&r, 2, 800);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.stats.attempts, 2);
    ck_assert_int_eq(r.stats.retries, 1);
    ck_assert_int_eq(r.stats.wasted_forward, 1);
    ck_assert_int_eq(r.stats.splits_scene + r.stats.splits_space, 0);
    ck_assert_int_eq(r.stats.fragments, 1);
    ck_assert_int_eq(r.f.last_gather, 0);
    end(&r);
}
END_TEST

/* The first try fails in fake.attempt before augmentation, so the chunk remedy waits for a fragment
 * that is augmented; the spatial split augments it on the host. */
START_TEST(remedies_come_mildest_first)
{
    run r = {.f = {.capacity = 3000}};
    go(&r, 1, 4000);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.f.augments, 1);
    ck_assert_int_eq(r.stats.splits_space, 1);
    ck_assert_int_eq(r.stats.fragments, 2);
    ck_assert_int_eq(r.stats.attempts, 2 + 2); /* first, again; two halves */
    ck_assert_int_eq(r.stats.retries, 2);
    end(&r);
}
END_TEST

START_TEST(smaller_chunks_are_left_to_the_pieces_of_what_never_got_so_far)
{
    run r = {.f = {.capacity = 1500}};
    go(&r, 1, 8000); /* never on the device as a whole: its halves are the first that could */
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_gt(r.stats.splits_space, 1);
    ck_assert_msg(r.f.last_gather > 0, "no piece was tried with smaller chunks");
    end(&r);
}
END_TEST

/* A remedy that could not be taken yet has not been tried: the batch does not even load, its scenes
 * load but do not fit, and smaller chunks come before a cut. */
START_TEST(smaller_chunks_wait_for_a_fragment_that_can_take_them)
{
    run r = {.f = {.capacity = 2500, .load_fails = 2}};
    go(&r, 2, 4000);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.stats.splits_scene, 1);
    ck_assert_int_eq(r.f.small_gathers > 0, 1);
    /* the batch twice; each scene first, again, with smaller chunks; its pieces keep the chunks */
    ck_assert_int_eq(r.f.small_gathers, r.f.attempts - 2 - 2 * 2);
    ck_assert_int_eq(r.f.augments, 0);
    ck_assert_int_eq(r.ledger.count[PT_FATE_TRAINED], 8000);
    end(&r);
}
END_TEST

START_TEST(chunks_that_are_no_smaller_are_not_tried)
{
    run r = {.f = {.capacity = 100, .load_fails = 2}};
    go(&r, 2, 200); /* a workspace of 256 rows is none that 200 points would notice */
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.f.small_gathers, 0);
    ck_assert_int_eq(r.stats.attempts, 2 + 2 * 2); /* the batch and each scene: first, again */
    end(&r);
}
END_TEST

START_TEST(scenes_are_split_before_space)
{
    run r = {.f = {.capacity = 1500}};
    go(&r, 3, 1000);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.stats.splits_scene, 1);
    ck_assert_int_eq(r.stats.splits_space, 0);
    ck_assert_int_eq(r.stats.fragments, 3);
    end(&r);
}
END_TEST

START_TEST(memory_that_stays_after_a_failure_is_refused)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .leak = 512}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "1512 bytes instead of the 1000"));
    ck_assert_int_eq(r.stats.attempts, 1);
    end(&r);
}
END_TEST

START_TEST(the_last_error_is_cleared_before_every_retry)
{
    run r = {.f = {.capacity = 700}};
    go(&r, 2, 1500);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_ge(r.f.clears, (int)r.stats.retries);
    end(&r);
}
END_TEST

START_TEST(an_oom_while_staging_is_repeated_once)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .fail_stage = 1}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.f.stages, 2);
    ck_assert_int_eq(r.ledger.count[PT_FATE_TRAINED], 800);
    end(&r);
}
END_TEST

START_TEST(staging_that_keeps_failing_ends_the_batch)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .fail_stage = 99}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.class_of_failure, PT_CLASS_OOM);
    ck_assert_int_eq(r.f.commits, 0);
    ck_assert_str_eq(pt_error_last()->call, "cudaMemcpyAsync");
    end(&r);
}
END_TEST

START_TEST(an_oom_while_committing_is_repeated_once)
{
    run r = {.f = {.capacity = -1, .fail_commit = 1}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.f.commits, 1);
    ck_assert_int_eq(r.stats.attempts, 1);
    end(&r);
    run s = {.f = {.capacity = -1, .fail_commit = 2}};
    go(&s, 1, 800);
    ck_assert_int_eq(s.status, PT_ERR_DEVICE);
    ck_assert_int_eq(s.f.commits, 0);
    end(&s);
}
END_TEST

START_TEST(a_failing_release_ends_the_batch)
{
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .fail_release = 99, .code = 2}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaFree");
    end(&r);
}
END_TEST

START_TEST(a_scene_that_never_reached_the_device_is_named)
{
    run r = {.f = {.capacity = 0, .fail_augment = 99}};
    go(&r, 1, 4000);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.ledger.count[PT_FATE_NO_AUGMENT], 4000);
    end(&r);
}
END_TEST

static void refused(pt_lib lib, int code, const char *call, pt_class class, int attempts)
{
    run r = {.f = {.capacity = 0, .lib = lib, .code = code, .call = call}};
    go(&r, 2, 2000);
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.attempts, attempts);
    ck_assert_int_eq(r.stats.splits_scene + r.stats.splits_space, 0);
    ck_assert_int_eq(r.stats.class_of_failure, class);
    ck_assert_int_eq(pt_error_last()->code, code);
    ck_assert_str_eq(pt_error_last()->call, call);
    ck_assert_str_eq(pt_error_last()->site, "fake/site");
    end(&r);
}

START_TEST(a_shape_error_is_never_retried)
{
    refused(PT_LIB_CUBLAS, 7, "cublasSgemm", PT_CLASS_NO, 1);
    refused(PT_LIB_CUDNN, 3000, "cudnnSoftmaxForward", PT_CLASS_NO, 1);
    refused(PT_LIB_CUDA, 701, "cudaLaunchKernel", PT_CLASS_NO, 1);
}
END_TEST

START_TEST(a_sticky_error_is_fatal)
{
    refused(PT_LIB_CUDA, 700, "cudaStreamSynchronize", PT_CLASS_FATAL, 1);
    refused(PT_LIB_CUDA, 700, "cudaMalloc", PT_CLASS_FATAL, 1);
}
END_TEST

START_TEST(an_ambiguous_failure_is_tried_once_more_and_never_split)
{
    refused(PT_LIB_CUBLAS, 13, "cublasSgemm", PT_CLASS_AMBIGUOUS, 2);
    run r = {.f = {.capacity = -1, .fail_attempt = 1, .lib = PT_LIB_CUDNN, .code = 5003}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_OK);
    ck_assert_int_eq(r.stats.attempts, 2);
    end(&r);
}
END_TEST

START_TEST(an_ambiguous_failure_on_a_dead_context_is_fatal)
{
    run r = {.f = {.capacity = 0, .lib = PT_LIB_CUBLAS, .code = 13, .dead = 1}};
    go(&r, 1, 800);
    ck_assert_int_eq(r.status, PT_ERR_DEVICE);
    ck_assert_int_eq(r.stats.class_of_failure, PT_CLASS_FATAL);
    ck_assert_int_eq(pt_error_last()->code, 13);
    ck_assert_int_eq(r.stats.attempts, 1);
    end(&r);
}
END_TEST

START_TEST(host_memory_is_not_split_for)
{
    refused(PT_LIB_CUDA, 2, "cudaMallocHost", PT_CLASS_HOST, 1);
    refused(PT_LIB_CUDNN, 4003, "cudnnCreate", PT_CLASS_HOST, 1);
}
END_TEST

START_TEST(a_point_trained_twice_is_caught)
{
    pt_ledger l;
    int64_t n = 3;
    ck_assert_int_eq(pt_ledger_open(&l, &n, 1), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 1, PT_FATE_TRAINED), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 1, PT_FATE_TRAINED), PT_ERR_INTERNAL);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 3, PT_FATE_TRAINED), PT_ERR_INTERNAL);
    ck_assert_int_eq(pt_ledger_mark(&l, 1, 0, PT_FATE_TRAINED), PT_ERR_INTERNAL);
    ck_assert_int_eq(pt_ledger_mark(&l, -1, 0, PT_FATE_TRAINED), PT_ERR_INTERNAL);
    pt_ledger_close(&l);
}
END_TEST

START_TEST(the_ledger_names_what_is_left_open)
{
    pt_ledger l;
    int64_t n[2] = {2, 2};
    ck_assert_int_eq(pt_ledger_open(&l, n, 2), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 0, PT_FATE_TRAINED), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 0, 1, PT_FATE_FLOOR), PT_OK);
    ck_assert_int_eq(pt_ledger_mark(&l, 1, 0, PT_FATE_TRAINED), PT_OK);
    ck_assert_int_eq(pt_ledger_check(&l), PT_ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "point 1 of scene 1"));
    pt_ledger_rest(&l, PT_FATE_BATCH);
    ck_assert_int_eq(pt_ledger_check(&l), PT_OK);
    ck_assert_int_eq(pt_ledger_dropped(&l), 2);
    pt_ledger_close(&l);
}
END_TEST

START_TEST(every_single_transient_failure_leaves_the_same_points_trained)
{
    /* a run that splits has several attempts; each of them may fail once more */
    for (int at = 1;; at++) {
        run r = {.f = {.capacity = 1500, .fail_attempt = at}};
        go(&r, 3, 2500);
        ck_assert_msg(r.status == PT_OK, "attempt %d: %s", at, pt_error_last()->message);
        ck_assert_msg(r.ledger.count[PT_FATE_TRAINED] == 7500, "attempt %d: %lld points trained",
                      at, (long long)r.ledger.count[PT_FATE_TRAINED]);
        ck_assert_int_eq(r.f.own_committed, 7500);
        int fired = r.f.attempts >= at;
        end(&r);
        if (!fired) break; /* ends by proof: the last run failed nothing */
        ck_assert_int_lt(at, 200);
    }
}
END_TEST

static const case_entry cases[] = {
#include "queue.def"
};
CASE_MAIN("queue")
