/* checkpoint.c - what a checkpoint brings back, and what it refuses. */
#include "loop/checkpoint.h"
#include "case.h"
#include "rig.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const rig_options two = {.scenes = 2, .points = {900, 700}, .voxel = 0.2f};

static void open_rig(rig *r, pt_optimizer_kind kind)
{
    rig_options o = two;
    o.optimizer = kind;
    rig_open(r, &o);
}

/* The name of a file that is not there yet. */
static const char *fresh(char *path, size_t room, const char *name)
{
    snprintf(path, room, "%s/cases/checkpoint-%s.%ld", OOMPROOF_BUILD_DIR, name, (long)getpid());
    unlink(path);
    return path;
}

static void batch(rig *r)
{
    rig_run(r, NULL, NULL);
    ck_assert_msg(r->status == PT_OK, "%s", r->error.message);
    rig_state_free(&r->start);
    r->start = rig_state_copy(r, &r->end);
}

static void load(rig *r, const char *path)
{
    int found = 0;
    ck_assert_msg(pt_checkpoint_load(r->t, path, &found) == PT_OK, "%s", pt_error_last()->message);
    ck_assert_int_eq(found, 1);
    rig_read_state(r, &r->start);
}

START_TEST(a_resumed_run_goes_on_in_every_bit_with_either_optimiser)
{
    for (int kind = PT_ADAMW; kind <= PT_SGD; kind++) {
        rig r, again;
        pt_checkpoint_about about;
        char path[512];
        open_rig(&r, (pt_optimizer_kind)kind);
        batch(&r);
        ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(path, sizeof path, "resume")), PT_OK);
        ck_assert_int_eq(pt_checkpoint_look(path, &about), PT_OK);
        ck_assert_int_eq(about.optimizer, kind);
        ck_assert_int_eq(about.step, 1);
        batch(&r);
        open_rig(&again, (pt_optimizer_kind)kind);
        load(&again, path);
        batch(&again);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &again.end), "");
        ck_assert_int_eq(again.end.t, 2);
        /* and the momentum matters: without it the run ends elsewhere */
        load(&again, path);
        memset(again.start.m, 0, again.t->net->nparams * sizeof(real));
        batch(&again);
        ck_assert_str_ne(rig_state_diff(&r, &r.end, &again.end), "");
        unlink(path);
        rig_close(&again);
        rig_close(&r);
    }
}
END_TEST

static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

enum { MARK = 8 }; /* bytes behind the checksum, since version 5 */

/* With a right checksum, in place of the 8 bytes before the last `mark`. */
static void put(const char *path, char *bytes, size_t n, size_t mark)
{
    uint64_t sum = 14695981039346656037u;
    size_t end = n - 8 - mark;
    for (size_t i = 0; i < end; i++) sum = (sum ^ (unsigned char)bytes[i]) * 1099511628211u;
    memcpy(bytes + end, &sum, 8);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

/* Version 3 put four numbers behind the eleven of version 2, version 4 five more and the memory
 * model, version 5 a mark at the end. */
static void version_is_read(int64_t version)
{
    size_t had = version == 2 ? 11 : 15, end = 8 + 8 * had,
           more = version < 4 ? 8 * (20 - had) + sizeof(double) * PT_PLAN_NUMBERS : 0;
    rig r, old;
    char path[512];
    size_t n;
    pt_checkpoint_about about;
    open_rig(&r, PT_ADAMW);
    batch(&r);
    ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(path, sizeof path, "old")), PT_OK);
    char *bytes = slurp(path, &n);
    memcpy(bytes + 8, &version, 8);
    memmove(bytes + end, bytes + end + more, n - end - more);
    put(path, bytes, n - more - MARK, 0);
    ck_assert_msg(pt_checkpoint_look(path, &about) == PT_OK, "%s", pt_error_last()->message);
    ck_assert_int_eq(about.optimizer, PT_ADAMW);
    ck_assert_int_eq(about.accum, 1);
    open_rig(&old, PT_ADAMW);
    load(&old, path);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &old.start), "");
    ck_assert_int_eq(old.start.step, r.end.step);
    batch(&r);
    batch(&old);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &old.end), "");
    free(bytes);
    unlink(path);
    rig_close(&old);
    rig_close(&r);
}

START_TEST(a_file_of_version_2_is_read)
{
    version_is_read(2);
}
END_TEST

START_TEST(a_file_of_version_3_is_read)
{
    version_is_read(3);
}
END_TEST

START_TEST(a_file_of_version_4_is_read)
{
    version_is_read(4);
}
END_TEST

/* A batch under a budget teaches the model; what comes after it is split as it says. */
START_TEST(a_resumed_run_plans_ahead_as_the_first_did)
{
    rig_options o = {.scenes = 4,
                     .points = {3000, 2500, 2000, 2800},
                     .voxel = 0.2f,
                     .allocator = PT_ALLOC_DIRECT,
                     .plan_ahead = 1};
    rig r, again;
    char path[512];
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    uint64_t room = r.result.bytes_peak - r.result.bytes_baseline;
    rig_run_on_budget(&r, 0.6, room);
    ck_assert_int_gt(r.result.recover.retries, 0);
    ck_assert_double_gt(r.t->plan.limit, 0);
    rig_state_free(&r.start);
    r.start = rig_state_copy(&r, &r.end);
    ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(path, sizeof path, "plan")), PT_OK);
    rig_run_on_budget(&r, 0.6, room);
    ck_assert_int_gt(r.result.recover.planned, 0);
    ck_assert_int_eq(r.result.recover.retries, 0);
    rig_open(&again, &o);
    load(&again, path);
    rig_run_on_budget(&again, 0.6, room);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &again.end), "");
    ck_assert_mem_eq(&again.t->plan, &r.t->plan, sizeof r.t->plan);
    ck_assert_int_eq(again.result.recover.planned, r.result.recover.planned);
    /* and without it the next batch would have failed first */
    load(&again, path);
    again.t->plan = pt_plan_start();
    rig_run_on_budget(&again, 0.6, room);
    ck_assert_int_gt(again.result.recover.retries, 0);
    unlink(path);
    rig_close(&again);
    rig_close(&r);
}
END_TEST

static void refused(rig *r, const char *path, const char *why)
{
    rig_state now = {0};
    int found;
    ck_assert_int_eq(pt_checkpoint_load(r->t, path, &found), PT_ERR_INPUT);
    ck_assert_msg(strstr(pt_error_last()->message, why), "\"%s\" does not say \"%s\"",
                  pt_error_last()->message, why);
    rig_read_state(r, &now);
    ck_assert_str_eq(rig_state_diff(r, &r->start, &now), "");
    rig_state_free(&now);
}

START_TEST(what_is_not_of_this_run_is_refused_and_changes_nothing)
{
    rig r, sgd;
    char path[512];
    size_t n;
    pt_checkpoint_about about;
    open_rig(&r, PT_ADAMW);
    batch(&r);
    open_rig(&sgd, PT_SGD);
    ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(path, sizeof path, "refused")), PT_OK);
    refused(&sgd, path, "of a run with --optimizer adamw, not sgd");
    ck_assert_int_eq(pt_checkpoint_save(sgd.t, path), PT_OK);
    refused(&r, path, "of a run with --optimizer sgd, not adamw");
    char *bytes = slurp(path, &n);
    bytes[n - MARK + 1] ^= 1; /* DONE */
    put(path, bytes, n, MARK);
    refused(&sgd, path, "does not end with DONE");
    for (int64_t version = 1; version <= 6; version += 5) {
        memcpy(bytes + 8, &version, 8);
        put(path, bytes, n, MARK);
        refused(&sgd, path,
                version == 1 ? "checkpoint version 1, this program reads 2 to 5"
                             : "checkpoint version 6, this program reads 2 to 5");
        ck_assert_int_eq(pt_checkpoint_look(path, &about), PT_ERR_INPUT);
    }
    free(bytes);
    unlink(path);
    rig_close(&sgd);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "checkpoint.def"
};
CASE_MAIN("checkpoint")
