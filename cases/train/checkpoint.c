/* checkpoint.c - what a checkpoint brings back, and what it refuses. */
#include "loop/checkpoint.h"
#include "case.h"
#include "loop/aside.h"
#include "rig.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

/* ---- kill -9 ---- */
static int kill_at, calls; /* 0: never */

static void perhaps_killed(void)
{
    if (kill_at && ++calls == kill_at) raise(SIGKILL);
}

/* What the linker puts in their place, in this program alone (--wrap). */
ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    perhaps_killed();
    return __real_write(fd, bytes, kill_at && n > 30000 ? 30000 : n); /* so, in the middle too */
}
int __wrap_fsync(int fd)
{
    perhaps_killed();
    return __real_fsync(fd);
}
int __wrap_close(int fd)
{
    perhaps_killed();
    return __real_close(fd);
}
int __wrap_rename(const char *from, const char *to)
{
    perhaps_killed();
    return __real_rename(from, to);
}

static void write_plain(const char *path, const char *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

START_TEST(a_save_killed_at_any_of_its_calls_leaves_a_whole_file)
{
    rig r;
    char path[512], other[512], left[600];
    size_t n, m;
    int before = 0, after = 0, status, ended = 0;
    open_rig(&r, PT_SGD);
    ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(path, sizeof path, "killed")), PT_OK);
    char *old = slurp(path, &n);
    batch(&r);
    ck_assert_int_eq(pt_checkpoint_save(r.t, fresh(other, sizeof other, "next")), PT_OK);
    char *new = slurp(other, &m);
    for (int k = 1; !ended; k++) {
        write_plain(path, old, n);
        pid_t child = fork();
        if (child == 0) {
            kill_at = k;
            _exit(pt_write_whole(path, new, m) != PT_OK);
        }
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ended = WIFEXITED(status);
        if (ended)
            ck_assert_int_eq(WEXITSTATUS(status), 0);
        else
            ck_assert_int_eq(WTERMSIG(status), SIGKILL);
        size_t now;
        char *there = slurp(path, &now);
        int is_new = now == m && !memcmp(there, new, m);
        ck_assert_msg(is_new || (now == n && !memcmp(there, old, n)),
                      "killed at call %d: what is there is neither the old file nor the new", k);
        free(there);
        load(&r, path); /* and it is a checkpoint */
        ck_assert_int_eq(r.start.step, is_new);
        before += !is_new;
        after += is_new;
        /* what was killed leaves nothing behind for good */
        snprintf(left, sizeof left, "%s.%ld.tmp", path, (long)child);
        ck_assert_int_eq(pt_write_possible(path), PT_OK);
        ck_assert_int_ne(access(left, F_OK), 0);
    }
    printf("killed at %d calls with the old file there, then the new one, %d times\n", before,
           after);
    ck_assert_int_ge(before, 5); /* pieces, flush, close, rename */
    ck_assert_int_ge(after, 3);  /* the folder's flush and close, and the end */
    unlink(path), unlink(other);
    free(old), free(new);
    rig_close(&r);
}
END_TEST

static const case_entry cases[] = {
#include "checkpoint.def"
};
CASE_MAIN("checkpoint")
