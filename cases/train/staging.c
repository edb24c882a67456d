/* staging.c - property 4: before a retry everything is on the host, exactly, and the device is
 * empty. */
#include "case.h"
#include "loop/evaluate.h"
#include "rig.h"
#include <malloc.h>

static const rig_options small = {.scenes = 2, .points = {900, 700}, .allocator = PT_ALLOC_DIRECT};
/* first, again and smaller chunks fail; then two scenes */
static const char three[] =
    "cudaMalloc phase=backward nth=4 -> oom; cudaMalloc phase=backward nth=9 -> oom;"
    "cudaMalloc phase=backward nth=14 -> oom";

typedef struct watch {
    rig *r;
    int armed, attempts, checked;
    uint64_t wrong; /* live bytes where they were not the baseline */
    pt_fields kept; /* device fields before staging */
    pt_shape shape;
    int stages, differing;
    int flip; /* flip a byte of the n-th staging */
} watch;

static void attempt_begins(void *user, const pt_fragment *f)
{
    watch *w = user;
    (void)f;
    w->armed = w->attempts++ > 0; /* retries only */
}

static void first_call(const char *call, uint64_t nth, void *user)
{
    watch *w = user;
    (void)call;
    (void)nth;
    if (!w->armed) return;
    w->armed = 0;
    w->checked++;
    if (oomproof_live_bytes() != w->r->live) w->wrong = oomproof_live_bytes();
}

START_TEST(live_bytes_are_the_baseline_at_the_first_call_of_each_retry)
{
    rig r;
    rig_open(&r, &small);
    watch w = {.r = &r};
    pt_hooks h = r.t->hooks;
    r.t->hooks.user = &w;
    r.t->hooks.before_attempt = attempt_begins;
    r.t->hooks.before_step = NULL;
    oomproof_observe(first_call, &w);
    rig_run(&r, three, NULL);
    oomproof_observe(NULL, NULL);
    r.t->hooks = h;
    ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
    ck_assert_int_eq(r.result.recover.retries, 3);
    ck_assert_int_eq(w.checked, w.attempts - 1);
    ck_assert_int_ge(w.checked, 4);
    ck_assert_msg(w.wrong == 0, "a retry began with %lld device bytes, %lld before the batch",
                  (long long)w.wrong, (long long)r.live);
    rig_close(&r);
}
END_TEST

static void keep_device(void *user, const pt_fragment *f)
{
    watch *w = user;
    if (f->where != PT_ON_DEVICE) return;
    w->shape = f->shape;
    for (int k = 0; k < PT_FIELD_COUNT; k++) {
        void **to = pt_field_at(&w->kept, (pt_field)k);
        size_t bytes = pt_field_bytes((pt_field)k, &f->shape);
        free(*to);
        *to = malloc(bytes + 1);
        const void *there = *pt_field_at((pt_fields *)&f->device, (pt_field)k);
        if (there)
            ck_assert_int_eq(cudaMemcpy(*to, there, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
        else
            memcpy(*to, *pt_field_at((pt_fields *)&f->host, (pt_field)k), bytes);
    }
}

static void compare_staged(void *user, pt_fragment *f)
{
    watch *w = user;
    w->stages++;
    ck_assert_int_eq(f->where, PT_ON_HOST);
    for (int k = 0; k < PT_FIELD_COUNT; k++) {
        ck_assert_ptr_null(*pt_field_at(&f->device, (pt_field)k));
        if (memcmp(*pt_field_at(&f->host, (pt_field)k), *pt_field_at(&w->kept, (pt_field)k),
                   pt_field_bytes((pt_field)k, &f->shape)))
            w->differing++;
    }
    ck_assert_int_eq(w->differing, 0); /* before anything is tried with what differs */
    if (w->flip && w->stages == w->flip)
        ((unsigned char *)f->host.feature)[sizeof(real) - 1] ^= 0x40;
}

static void run_watched(rig *r, watch *w, const char *rules)
{
    pt_hooks h = r->t->hooks;
    w->r = r;
    r->t->hooks.user = w;
    r->t->hooks.before_stage = keep_device;
    r->t->hooks.after_stage = compare_staged;
    r->t->hooks.before_step = NULL;
    rig_run(r, rules, NULL);
    r->t->hooks = h;
    for (int k = 0; k < PT_FIELD_COUNT; k++) free(*pt_field_at(&w->kept, (pt_field)k));
    ck_assert_msg(r->status == PT_OK, "%s", r->error.message);
}

START_TEST(a_batch_that_fits_stages_nothing)
{
    rig r;
    rig_open(&r, &small);
    watch w = {0};
    run_watched(&r, &w, NULL);
    ck_assert_int_eq(w.stages, 0);
    ck_assert_int_eq(r.result.recover.attempts, 1);
    rig_check_invariants(&r, "no fault");
    rig_close(&r);
}
END_TEST

START_TEST(the_staged_copy_is_what_was_on_the_device)
{
    rig r;
    rig_open(&r, &small);
    watch w = {0};
    run_watched(&r, &w, three);
    ck_assert_int_eq(w.stages, 3);
    ck_assert_int_eq(w.differing, 0);
    rig_close(&r);
}
END_TEST

/* Its frees wait for nothing: only the copies themselves do. */
START_TEST(the_staged_copy_is_what_was_on_the_device_of_a_caching_allocator)
{
    rig_options o = small;
    rig r;
    o.allocator = PT_ALLOC_CACHING;
    rig_open(&r, &o);
    watch w = {0};
    run_watched(&r, &w, "cudaLaunchKernel phase=backward nth=5 -> oom");
    ck_assert_int_eq(w.stages, 1);
    ck_assert_int_eq(w.differing, 0);
    rig_close(&r);
}
END_TEST

START_TEST(the_staged_copy_is_what_is_retried)
{
    rig r;
    rig_open(&r, &small);
    rig_run(&r, NULL, NULL);
    rig_state whole = rig_state_copy(&r, &r.end);
    watch same = {0}, flipped = {.flip = 1};
    run_watched(&r, &same, "cudaMalloc phase=backward nth=4 -> oom");
    ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "changed%s",
                  rig_state_diff(&r, &r.end, &whole));
    run_watched(&r, &flipped, "cudaMalloc phase=backward nth=4 -> oom");
    ck_assert_int_eq(flipped.stages, 1);
    ck_assert_msg(*rig_state_diff(&r, &r.end, &whole),
                  "a flipped byte of the staged copy changed nothing");
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

/* Unsplit, and taken apart by scene; under dropout and class weights, whose fields are fetched. */
START_TEST(with_features_alone_on_the_device_everything_is_the_same_in_every_bit)
{
    static const real weights[PT_ROOM_CLASSES] = {0.25, 2, 1, 3, 1.5, 0.75};
    rig_options o = small;
    rig all, x;
    o.dropout = 0.3;
    o.class_weight = weights;
    rig_open(&all, &o);
    o.device_fields = PT_DEVICE_X;
    rig_open(&x, &o);
    static const char *const rules[] = {NULL, "cudaMalloc phase=forward times=3 -> oom",
                                        "cudaMalloc phase=voxelise nth=1 -> oom"};
    for (int k = 0; k < 3; k++) {
        watch w = {0};
        all.live = x.live = oomproof_live_bytes();
        rig_run(&all, rules[k], NULL);
        ck_assert_msg(all.status == PT_OK, "%s", all.error.message);
        real *g = rig_copy(&all, all.grad);
        rig_run(&x, rules[k], NULL);
        ck_assert_msg(x.status == PT_OK, "%s", x.error.message);
        rig_check_invariants(&x, "x");
        ck_assert_int_eq(x.result.recover.splits_scene, k == 1);
        ck_assert_mem_eq(g, x.grad, x.t->net->nparams * sizeof *g);
        ck_assert_str_eq(rig_state_diff(&x, &x.end, &all.end), "");
        if (!rules[k]) {
            printf("peak of a batch of 1600 points: %zu bytes, with features alone %zu\n",
                   all.result.bytes_peak, x.result.bytes_peak);
            ck_assert_uint_lt(x.result.bytes_peak, all.result.bytes_peak);
        }
        /* what is staged is what was on the device, or stayed on the host */
        run_watched(&x, &w, rules[k]);
        ck_assert_int_eq(w.stages, rules[k] ? (k == 1 ? 3 : 1) : 0);
        ck_assert_int_eq(w.differing, 0);
        free(g);
    }
    rig_close(&x);
    rig_close(&all);
}
END_TEST

START_TEST(a_hundred_ooms_leak_nothing)
{
    setenv("OOMPROOF_SIM_STRIPS", "0", 1); /* else kernels are compiled and loaded meanwhile */
    rig r;
    rig_open(&r, &small);
    size_t host = 0;
    for (int i = 0; i < 100; i++) {
        char rule[96];
        uint64_t fired;
        snprintf(rule, sizeof rule, "cudaMalloc nth=%d -> oom", 1 + i % 60);
        rig_run(&r, rule, &fired);
        ck_assert_msg(r.status == PT_OK && fired == 1, "%s: %s", rule, r.error.message);
        rig_check_invariants(&r, rule);
        if (i == 49) host = mallinfo2().uordblks;
    }
    size_t now = mallinfo2().uordblks;
    ck_assert_msg(now <= host + 4096, "host memory grew by %lld bytes over 50 recoveries",
                  (long long)(now - host));
    rig_close(&r);
}
END_TEST

START_TEST(the_caching_allocator_gives_everything_back)
{
    rig r;
    rig_options o = small;
    o.allocator = PT_ALLOC_CACHING;
    o.points[0] =
        12000; /* enough that a failed attempt leaves segments behind that it took itself */
    o.points[1] = 5000;
    rig_open(&r, &o);
    rig_run(&r, NULL, NULL);
    rig_state whole = rig_state_copy(&r, &r.end);
    rig_check_invariants(&r, "no fault"); /* and without a cache, so that each run asks again */
    int k = 1;
    for (; k < 40; k++) {
        char rule[96];
        uint64_t fired;
        /* once more than the allocator asks by itself: after the first it gives its cache back */
        snprintf(rule, sizeof rule, "cudaMalloc skip=%d times=2 -> oom", k - 1);
        rig_run(&r, rule, &fired);
        ck_assert_msg(r.status == PT_OK, "%s: %s", rule, r.error.message);
        ck_assert_msg(!*rig_state_diff(&r, &r.end, &whole), "%s: changed%s", rule,
                      rig_state_diff(&r, &r.end, &whole));
        rig_check_invariants(&r, rule);
        if (!fired) break;
        ck_assert_int_eq(fired == 2, r.result.recover.retries == 1);
        ck_assert_int_lt(k, 39);
    }
    ck_assert_int_ge(k, 3); /* two fault points, and the run that fired nothing */
    rig_state_free(&whole);
    rig_close(&r);
}
END_TEST

/* Once the largest batch was there, a batch that fits asks the driver for nothing. */
static uint64_t asked(void)
{
    static const char *const calls[] = {"cudaMalloc", "cudaFree", "cudaMemPoolTrimTo"};
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) n += oomproof_calls(calls[i]);
    return n;
}

START_TEST(a_steady_step_allocates_nothing_and_the_next_failure_finds_the_baseline)
{
    for (int kind = PT_ALLOC_CACHING; kind <= PT_ALLOC_ASYNC; kind++) {
        rig r;
        rig_options o = {
            .scenes = 2, .points = {20000, 5000}, .allocator = (pt_allocator_kind)kind};
        static pt_scores s;
        if (kind == PT_ALLOC_DIRECT) continue; /* which keeps nothing */
        rig_open(&r, &o);
        rig_run(&r, NULL, NULL);
        uint64_t live = oomproof_live_bytes();
        if (kind == PT_ALLOC_CACHING) ck_assert_uint_gt(live, r.live); /* it keeps what it had */
        uint64_t before = asked();
        for (int i = 0; i < 3; i++) {
            rig_run(&r, NULL, NULL);
            ck_assert_int_eq(pt_evaluate_scene(r.t, &r.scene[1], NULL, &s), PT_OK);
        }
        ck_assert_msg(asked() == before, "%llu calls of the driver for memory in 3 steps",
                      (unsigned long long)(asked() - before));
        rig_state whole = rig_state_copy(&r, &r.end);
        /* what is cached goes back before a retry: recover.c compares with the baseline */
        rig_run(&r, "cublasSgemm phase=backward nth=3 -> status(CUBLAS_STATUS_ALLOC_FAILED)", NULL);
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        ck_assert_int_eq(r.result.recover.retries, 1);
        ck_assert_uint_gt(asked(), before);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &whole), "");
        rig_check_invariants(&r, "an OOM with a full cache");
        rig_state_free(&whole);
        rig_close(&r);
    }
}
END_TEST

START_TEST(a_step_holds_at_most_a_fifth_more_than_the_net_must_keep)
{
    for (int i = 0; i < 12; i++) {
        rig r;
        rig_options o = {.scenes = 2,
                         .points = {20000, 5000},
                         .voxel = 0.1f,
                         .width0 = 32,
                         .allocator = i & 1 ? PT_ALLOC_DIRECT : PT_ALLOC_CACHING,
                         .convs = 1 + (i >> 1 & 1),
                         .norm = (pt_norm)(i >> 2)};
        rig_open(&r, &o);
        rig_run(&r, NULL, NULL);
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        const pt_batch_result *b = &r.result;
        double times = (double)b->bytes_used / (double)b->bytes_kept;
        printf("%.0f bytes a voxel, %.3f times what the net must keep\n",
               (double)b->bytes_used / (double)b->voxels_used, times);
        ck_assert_int_eq(b->voxels_used, b->voxels);
        ck_assert_msg(times > 1 && times <= 1.2, "%zu bytes in use, %zu must be kept",
                      b->bytes_used, b->bytes_kept);
        if (o.allocator == PT_ALLOC_DIRECT)
            ck_assert_uint_eq(b->bytes_used, b->bytes_peak - b->bytes_baseline);
        rig_close(&r);
    }
}
END_TEST

/* Host memory that cannot be pinned is no reason to split anything: pageable memory does. */
START_TEST(without_pinned_memory_everything_is_the_same_in_every_bit)
{
    rig r, pageable;
    char error[128];
    rig_open(&r, &small);
    ck_assert_ptr_nonnull(r.t->device.pinned);
    rig_run(&r, three, NULL);
    ck_assert_int_eq(r.result.recover.splits_scene, 1);
    ck_assert_int_eq(oomproof_arm("cudaHostAlloc -> oom", error, sizeof error), 1);
    rig_open(&pageable, &small);
    ck_assert_uint_eq(oomproof_fired(0), 1);
    oomproof_disarm();
    ck_assert_ptr_null(pageable.t->device.pinned);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    rig_run(&pageable, three, NULL);
    ck_assert_msg(pageable.status == PT_OK, "%s", pageable.error.message);
    ck_assert_int_eq(pageable.result.recover.splits_scene, 1);
    ck_assert_str_eq(rig_state_diff(&r, &r.end, &pageable.end), "");
    rig_check_invariants(&pageable, "no pinned memory");
    rig_close(&pageable);
    /* what is no lack of memory is told */
    pt_device d;
    ck_assert_int_eq(
        oomproof_arm("cudaHostAlloc -> error(cudaErrorInvalidValue)", error, sizeof error), 1);
    ck_assert_int_eq(pt_device_open(PT_ALLOC_DIRECT, &d), PT_ERR_DEVICE);
    oomproof_disarm();
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "cudaHostAlloc"));
    rig_close(&r);
}
END_TEST

typedef struct ahead {
    pt_device *d;
    uint32_t *block;
    int looked;
} ahead;
enum { AHEAD = 50000 };

static void next_batch_is_there(void *user, const pt_fragment *f)
{
    static uint32_t host[AHEAD];
    ahead *a = user;
    (void)f;
    ck_assert_int_eq(cudaMemcpy(host, a->block, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
    for (uint32_t i = 0; i < AHEAD; i++) ck_assert_uint_eq(host[i], 7 * i);
    a->looked++;
}

/* What was fetched for the next batch lies under the baseline of this one: no recovery touches it,
 * and no byte of it is missed. */
START_TEST(a_batch_that_was_fetched_ahead_stays_where_it_is)
{
    for (int kind = PT_ALLOC_CACHING; kind <= PT_ALLOC_ASYNC; kind++) {
        rig r;
        rig_options o = small;
        static uint32_t host[AHEAD];
        o.allocator = (pt_allocator_kind)kind;
        rig_open(&r, &o);
        rig_run(&r, NULL, NULL);
        rig_state whole = rig_state_copy(&r, &r.end);
        rig_check_invariants(&r, "nothing beside it");
        ahead a = {.d = &r.t->device};
        void *block;
        for (uint32_t i = 0; i < AHEAD; i++) host[i] = 7 * i;
        ck_assert_int_eq(pt_mem_alloc(a.d, AHEAD, sizeof *host, "next", &block), PT_OK);
        a.block = block;
        ck_assert_int_eq(pt_copy_up(a.d, block, host, sizeof host), PT_OK);
        r.live = oomproof_live_bytes();
        pt_hooks h = r.t->hooks;
        r.t->hooks = (pt_hooks){.user = &a, .before_attempt = next_batch_is_there};
        rig_run(&r, "cublasSgemm phase=backward nth=3 -> status(CUBLAS_STATUS_ALLOC_FAILED)", NULL);
        r.t->hooks = h;
        ck_assert_msg(r.status == PT_OK, "%s", r.error.message);
        ck_assert_int_eq(r.result.recover.retries, 1);
        ck_assert_int_eq(a.looked, 2);
        ck_assert_str_eq(rig_state_diff(&r, &r.end, &whole), "");
        rig_check_invariants(&r, "a batch fetched ahead");
        pt_mem_free(a.d, block);
        rig_state_free(&whole);
        rig_close(&r);
    }
}
END_TEST

static const case_entry cases[] = {
#include "staging.def"
};
CASE_MAIN("staging")
