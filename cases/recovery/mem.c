/* mem.c - the allocators: what is asked of the driver, what is given back, and that a failure of
 * either is told. On the simulated device, under the shim. */
#include "device/mem.h"
#include "case.h"
#include "hostmem.h"
#include "oomproof.h"

#define MIB ((size_t)1 << 20)

static pt_device D;
static uint64_t start; /* live bytes of a device that is open and holds nothing of ours */

static char *get(size_t bytes)
{
    void *p;
    pt_status st = pt_mem_alloc(&D, bytes, 1, "case/block", &p);
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
    return p;
}

static void open_device(pt_allocator_kind kind)
{
    ck_assert_msg(oomproof_present(), "the shim is not loaded");
    ck_assert_msg(pt_device_open(kind, &D) == PT_OK, "%s", pt_error_last()->message);
    if (kind == PT_ALLOC_CACHING) get(16 * MIB); /* what cuBLAS's workspace leaves of its segment */
    start = oomproof_live_bytes();
}

static uint64_t taken(void)
{
    return oomproof_live_bytes() - start;
}

static void arm(const char *rules)
{
    char error[200] = "";
    ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s", error);
}

START_TEST(a_size_that_is_no_size_is_a_bug_and_never_asked_of_the_driver)
{
    void *p = &D;
    open_device(PT_ALLOC_DIRECT);
    uint64_t calls = oomproof_calls("cudaMalloc");
    ck_assert_int_eq(pt_mem_alloc(&D, (size_t)-1 / 2, 4, "case/a", &p), PT_ERR_INTERNAL);
    ck_assert_ptr_null(p);
    ck_assert_int_eq(pt_mem_alloc(&D, ((size_t)1 << 44) + 1, 1, "case/a", &p), PT_ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "is not a size of memory"));
    ck_assert_int_eq(pt_mem_alloc(&D, 0, 4, "case/a", &p), PT_OK);
    ck_assert_ptr_null(p);
    ck_assert_int_eq(pt_mem_alloc(&D, 4, 0, "case/a", &p), PT_OK);
    ck_assert_ptr_null(p);
    ck_assert_uint_eq(oomproof_calls("cudaMalloc"), calls);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_free_that_failed_is_told_once_and_hides_no_cause)
{
    open_device(PT_ALLOC_DIRECT);
    char *a = get(512), *b = get(512);
    size_t held = pt_mem_held(&D);
    pt_fail(PT_ERR_NAN, "the cause");
    arm("cudaFree nth=1 -> status(cudaErrorLaunchFailure); cudaFree nth=2 -> "
        "status(cudaErrorInvalidValue)");
    pt_mem_free(&D, a);
    pt_mem_free(&D, b);
    oomproof_disarm();
    ck_assert_str_eq(pt_error_last()->message, "the cause");
    ck_assert_uint_eq(pt_mem_held(&D), held); /* neither was given back */
    ck_assert_int_eq(pt_device_sync(&D), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaFree");
    ck_assert_int_eq(pt_error_last()->code, cudaErrorLaunchFailure); /* the first of the two */
    ck_assert_int_eq(pt_device_sync(&D), PT_OK);
    pt_device_close(&D);
}
END_TEST

static void foreign(pt_allocator_kind kind)
{
    open_device(kind);
    char *a = get(1000);
    size_t used = pt_mem_used(&D);
    pt_mem_free(&D, a + 512);
    ck_assert_uint_eq(pt_mem_used(&D), used);
    pt_mem_free(&D, NULL);
    ck_assert_uint_eq(pt_mem_used(&D), used);
    pt_mem_free(&D, a);
    ck_assert_uint_eq(pt_mem_used(&D), used - 1024); /* rounded up to the driver's granule */
    pt_mem_free(&D, a);                              /* a second time: not ours any more */
    ck_assert_uint_eq(pt_mem_used(&D), used - 1024);
    ck_assert_int_eq(pt_mem_release(&D), PT_OK);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}

START_TEST(freeing_what_is_not_a_block_changes_nothing)
{
    foreign(PT_ALLOC_DIRECT);
    foreign(PT_ALLOC_CACHING);
    foreign(PT_ALLOC_ASYNC);
}
END_TEST

START_TEST(a_device_that_closes_gives_back_blocks_still_in_use)
{
    for (int kind = PT_ALLOC_CACHING; kind <= PT_ALLOC_ASYNC; kind++) {
        uint64_t before = oomproof_live_bytes();
        open_device((pt_allocator_kind)kind);
        for (int i = 0; i < 300; i++) get(512); /* more than a list has room for at first */
        get(3 * MIB);
        ck_assert_uint_ge(taken(), 300 * 512 + 3 * MIB);
        pt_device_close(&D);
        ck_assert_uint_eq(oomproof_live_bytes(), before);
    }
}
END_TEST

START_TEST(small_blocks_share_a_segment_and_merge_when_freed)
{
    open_device(PT_ALLOC_CACHING);
    char *a = get(512 * 1024), *b = get(512 * 1024), *c = get(512 * 1024);
    ck_assert_uint_eq(taken(), 2 * MIB);
    ck_assert_ptr_eq(b, a + 512 * 1024);
    ck_assert_ptr_eq(c, b + 512 * 1024);
    pt_mem_free(&D, a);
    pt_mem_free(&D, c);                   /* with the rest of the segment */
    ck_assert_ptr_eq(get(512 * 1024), a); /* the best fit; c and the rest are 1 MiB now */
    ck_assert_ptr_eq(get(MIB), c);
    ck_assert_uint_eq(taken(), 2 * MIB);
    pt_mem_free(&D, a);
    pt_mem_free(&D, c);
    ck_assert_int_eq(pt_mem_release(&D), PT_OK);
    ck_assert_uint_eq(taken(), 2 * MIB); /* b is in the middle of it */
    pt_mem_free(&D, b);                  /* both neighbours are free */
    ck_assert_int_eq(pt_mem_release(&D), PT_OK);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}
END_TEST

START_TEST(of_equal_blocks_the_lower_address_is_taken)
{
    open_device(PT_ALLOC_CACHING);
    char *a = get(MIB), *b = get(MIB), *c = get(MIB), *d = get(MIB), *x[4];
    ck_assert_uint_eq(taken(), 4 * MIB);
    for (int order = 0; order < 2; order++) {
        pt_mem_free(&D, order ? d : a);
        pt_mem_free(&D, order ? a : d);
        x[0] = get(MIB), x[1] = get(MIB);
        ck_assert(x[0] < x[1]);
        ck_assert((x[0] == a && x[1] == d) || (x[0] == d && x[1] == a));
    }
    pt_mem_free(&D, b);
    pt_mem_free(&D, c);
    pt_device_close(&D);
}
END_TEST

START_TEST(segments_are_as_large_as_their_blocks_ask_for)
{
    open_device(PT_ALLOC_CACHING);
    get(1);
    ck_assert_uint_eq(taken(), 2 * MIB);
    get(MIB + 1);
    ck_assert_uint_eq(taken(), 22 * MIB);
    get(10 * MIB); /* the rest of the last segment */
    ck_assert_uint_eq(taken(), 22 * MIB);
    get(11 * MIB + 1); /* one of its own, in steps of 2 MiB */
    ck_assert_uint_eq(taken(), 34 * MIB);
    pt_device_close(&D);
}
END_TEST

START_TEST(when_memory_is_short_the_cache_is_given_back_and_no_more_than_needed_is_asked)
{
    open_device(PT_ALLOC_CACHING);
    pt_mem_free(&D, get(512)); /* a cached segment of 2 MiB */
    arm("cudaMalloc nth=1 -> oom");
    get(3 * MIB);
    ck_assert_uint_eq(taken(), 4 * MIB); /* not the 20 MiB of a first try; the cache is gone */
    arm("cudaMalloc nth=1 -> oom");
    get(512);
    ck_assert_uint_eq(taken(), 6 * MIB);
    oomproof_disarm();
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess); /* handled: it blames no later launch */
    pt_device_close(&D);
}
END_TEST

START_TEST(fragmentation_is_told_apart_from_exhaustion)
{
    void *p;
    char *x[20];
    open_device(PT_ALLOC_CACHING);
    for (int i = 0; i < 20; i++) x[i] = get(5 * MIB); /* segments of 20 MiB */
    for (int i = 0; i < 20; i += 2) pt_mem_free(&D, x[i]);
    /* half of each segment is in use: none can go back, and no gap has 6 MiB */
    arm("cudaMalloc -> oom");
    ck_assert_int_eq(pt_mem_alloc(&D, 6 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->memory, "fragmented");
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "the largest block has 5242880"));
    ck_assert_int_eq(pt_mem_alloc(&D, 200 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->memory, "exhausted");
    ck_assert_ptr_nonnull(strstr(pt_error_last()->message, "device memory is exhausted"));
    arm("cudaMalloc -> status(cudaErrorInvalidValue)"); /* no lack of memory: nothing is said */
    ck_assert_int_eq(pt_mem_alloc(&D, 6 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_ptr_null(pt_error_last()->memory);
    oomproof_disarm();
    cudaGetLastError();
    pt_device_close(&D);
    open_device(PT_ALLOC_DIRECT); /* keeps nothing, knows nothing */
    arm("cudaMalloc -> oom");
    ck_assert_int_eq(pt_mem_alloc(&D, 6 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_ptr_null(pt_error_last()->memory);
    oomproof_disarm();
    cudaGetLastError();
    pt_device_close(&D);
}
END_TEST

START_TEST(another_failure_of_the_driver_is_not_asked_twice)
{
    void *p;
    open_device(PT_ALLOC_CACHING);
    uint64_t calls = oomproof_calls("cudaMalloc");
    arm("cudaMalloc nth=1 -> status(cudaErrorInvalidValue)");
    ck_assert_int_eq(pt_mem_alloc(&D, 512, 1, "case/block", &p), PT_ERR_DEVICE);
    oomproof_disarm();
    ck_assert_int_eq(pt_error_last()->code, cudaErrorInvalidValue);
    ck_assert_uint_eq(oomproof_calls("cudaMalloc"), calls + 1);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_release_that_fails_is_told_and_the_other_segments_go)
{
    void *p;
    open_device(PT_ALLOC_CACHING);
    char *a = get(512), *b = get(3 * MIB);
    pt_mem_free(&D, a);
    pt_mem_free(&D, b);
    size_t held = pt_mem_held(&D);
    arm("cudaFree nth=1 -> status(cudaErrorInvalidValue)"); /* the newest first: 20 MiB */
    ck_assert_int_eq(pt_mem_release(&D), PT_ERR_DEVICE);
    oomproof_disarm();
    ck_assert_str_eq(pt_error_last()->call, "cudaFree");
    ck_assert_uint_eq(pt_mem_held(&D), held - 2 * MIB); /* what did not go back is still counted */
    /* the same while an allocation makes room: that failure is the one told */
    pt_mem_free(&D, get(512));
    arm("cudaMalloc nth=1 -> oom; cudaFree nth=1 -> status(cudaErrorLaunchFailure)");
    ck_assert_int_eq(pt_mem_alloc(&D, 3 * MIB, 1, "case/block", &p), PT_ERR_DEVICE);
    oomproof_disarm();
    ck_assert_ptr_null(p);
    ck_assert_int_eq(pt_error_last()->code, cudaErrorLaunchFailure);
    pt_device_close(&D);
}
END_TEST

static uint64_t reserved(void)
{
    uint64_t bytes = 0;
    ck_assert_int_eq(
        cudaMemPoolGetAttribute(D.mem->pool, cudaMemPoolAttrReservedMemCurrent, &bytes),
        cudaSuccess);
    return bytes;
}

START_TEST(a_pool_keeps_what_is_freed_until_it_is_released)
{
    open_device(PT_ALLOC_ASYNC);
    uint64_t before = reserved();
    char *a = get(64 * MIB);
    pt_mem_free(&D, a);
    ck_assert_int_eq(pt_device_sync(&D), PT_OK);
    ck_assert_uint_ge(reserved(), before + 64 * MIB); /* no wait gives it back */
    ck_assert_ptr_eq(get(64 * MIB), a);
    pt_mem_free(&D, a);
    ck_assert_int_eq(pt_mem_release(&D), PT_OK);
    ck_assert_uint_eq(reserved(), before);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_pool_that_is_short_is_trimmed_and_asked_once_more)
{
    void *p;
    open_device(PT_ALLOC_ASYNC);
    uint64_t before = reserved();
    pt_mem_free(&D, get(64 * MIB));
    arm("cudaMallocFromPoolAsync nth=1 -> oom");
    char *a = get(3 * MIB);
    oomproof_disarm();
    ck_assert_uint_lt(reserved(), before + 64 * MIB); /* what it kept is gone */
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    arm("cudaMallocFromPoolAsync times=2 -> oom");
    ck_assert_int_eq(pt_mem_alloc(&D, 3 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaMallocFromPoolAsync");
    ck_assert_int_eq(pt_error_last()->code, cudaErrorMemoryAllocation);
    cudaGetLastError();
    uint64_t calls = oomproof_calls("cudaMallocFromPoolAsync");
    arm("cudaMallocFromPoolAsync nth=1 -> status(cudaErrorInvalidValue)"); /* no lack of memory */
    ck_assert_int_eq(pt_mem_alloc(&D, 3 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_uint_eq(oomproof_calls("cudaMallocFromPoolAsync"), calls + 1);
    arm("cudaMallocFromPoolAsync nth=1 -> oom; cudaMemPoolTrimTo -> status(cudaErrorInvalidValue)");
    ck_assert_int_eq(pt_mem_alloc(&D, 3 * MIB, 1, "case/b", &p), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaMemPoolTrimTo");
    arm("cudaStreamSynchronize -> status(cudaErrorLaunchFailure)");
    ck_assert_int_eq(pt_mem_release(&D), PT_ERR_DEVICE);
    ck_assert_str_eq(pt_error_last()->call, "cudaStreamSynchronize");
    oomproof_disarm();
    cudaGetLastError();
    pt_mem_free(&D, a);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}
END_TEST

START_TEST(a_pool_that_cannot_be_made_is_refused_and_nothing_is_left)
{
    static const struct {
        const char *rule, *says;
    } how[] = {
        {"cudaMemPoolCreate -> status(cudaErrorNotSupported)", "use --allocator caching"},
        {"cudaMemPoolCreate -> status(cudaErrorMemoryAllocation)", "cudaMemPoolCreate failed"},
    };
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        uint64_t before = oomproof_live_bytes();
        arm(how[i].rule);
        ck_assert_int_eq(pt_device_open(PT_ALLOC_ASYNC, &D), PT_ERR_DEVICE);
        oomproof_disarm();
        ck_assert_msg(strstr(pt_error_last()->message, how[i].says), "%s",
                      pt_error_last()->message);
        ck_assert_uint_eq(oomproof_live_bytes(), before);
        ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    }
}
END_TEST

START_TEST(a_handle_without_memory_is_asked_for_once_more)
{
    static const char *const made[] = {
        "cudaStreamCreate nth=%d -> oom",
        "cublasCreate* nth=%d -> status(CUBLAS_STATUS_ALLOC_FAILED)",
        "cublasCreate* nth=%d -> status(CUBLAS_STATUS_NOT_INITIALIZED)",
        "cudnnCreate nth=%d -> status(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)",
        "cudnnCreate nth=%d -> status(CUDNN_STATUS_NOT_INITIALIZED)",
    };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        char rule[100], two[220];
        uint64_t before = oomproof_live_bytes();
        snprintf(rule, sizeof rule, made[i], 1);
        arm(rule);
        ck_assert_msg(pt_device_open(PT_ALLOC_DIRECT, &D) == PT_OK, "%s: %s", rule,
                      pt_error_last()->message);
        ck_assert_uint_eq(oomproof_fired(0), 1);
        oomproof_disarm();
        ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
        pt_device_close(&D);
        int n = snprintf(two, sizeof two, made[i], 1);
        n += snprintf(two + n, sizeof two - (size_t)n, "; ");
        snprintf(two + n, sizeof two - (size_t)n, made[i], 2);
        arm(two);
        ck_assert_int_eq(pt_device_open(PT_ALLOC_DIRECT, &D), PT_ERR_DEVICE);
        oomproof_disarm();
        ck_assert_msg(strstr(pt_error_last()->message, "did a second time") &&
                          strstr(pt_error_last()->message, "other programs"),
                      "%s: %s", two, pt_error_last()->message);
        ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
        ck_assert_uint_eq(oomproof_live_bytes(), before);
    }
    /* what is no lack of memory is not asked for twice */
    uint64_t calls = oomproof_calls("cudnnCreate");
    arm("cudnnCreate nth=1 -> status(CUDNN_STATUS_BAD_PARAM)");
    ck_assert_int_eq(pt_device_open(PT_ALLOC_DIRECT, &D), PT_ERR_DEVICE);
    oomproof_disarm();
    ck_assert_uint_eq(oomproof_calls("cudnnCreate"), calls + 1);
}
END_TEST

START_TEST(the_peak_is_the_most_that_was_held_since_the_reset)
{
    open_device(PT_ALLOC_DIRECT);
    size_t held = pt_mem_held(&D);
    pt_mem_free(&D, get(MIB));
    ck_assert_uint_eq(pt_mem_peak(&D, 0), held + MIB);
    pt_mem_peak(&D, 1);
    ck_assert_uint_eq(pt_mem_peak(&D, 0), held);
    pt_device_close(&D);
}
END_TEST

START_TEST(the_most_in_use_and_what_was_missing_are_known)
{
    for (int kind = PT_ALLOC_CACHING; kind <= PT_ALLOC_ASYNC; kind++) {
        open_device((pt_allocator_kind)kind);
        void *p;
        size_t used = pt_mem_used(&D);
        char *a = get(3 * MIB);
        pt_mem_free(&D, a);
        ck_assert_uint_eq(pt_mem_used_peak(&D), used + 3 * MIB);
        pt_mem_peak(&D, 1);
        a = get(2 * MIB);
        ck_assert_uint_eq(pt_mem_used_peak(&D), pt_mem_used(&D));
        arm("cudaMalloc* -> oom");
        ck_assert_int_eq(pt_mem_alloc(&D, 40 * MIB + 1, 1, "case/b", &p), PT_ERR_DEVICE);
        oomproof_disarm();
        ck_assert_uint_eq(pt_mem_missed(&D), pt_mem_used(&D) + 40 * MIB + PT_GRANULE);
        ck_assert_uint_eq(pt_mem_used_peak(&D), pt_mem_used(&D));
        cudaGetLastError();
        pt_mem_free(&D, a);
        pt_device_close(&D);
    }
}
END_TEST

START_TEST(an_arena_frees_each_of_its_blocks_once)
{
    pt_arena a;
    void *p, *q = NULL, *none;
    open_device(PT_ALLOC_DIRECT);
    char *other = get(512);
    size_t used = pt_mem_used(&D);
    pt_arena_init(&a, &D);
    for (int i = 0; i < 130; i++) { /* its list grows twice */
        ck_assert_int_eq(pt_arena_alloc(&a, 512, 1, "case/arena", &p), PT_OK);
        if (i == 70) q = p;
    }
    ck_assert_int_eq(pt_arena_alloc(&a, 0, 1, "case/arena", &none), PT_OK);
    ck_assert_uint_eq(pt_mem_used(&D), used + 130 * 512);
    pt_arena_drop(&a, NULL);
    pt_arena_drop(&a, other); /* not of this arena */
    ck_assert_uint_eq(pt_mem_used(&D), used + 130 * 512);
    pt_arena_drop(&a, q);
    pt_arena_drop(&a, q);
    ck_assert_uint_eq(pt_mem_used(&D), used + 129 * 512);
    pt_arena_free(&a);
    ck_assert_uint_eq(pt_mem_used(&D), used);
    pt_mem_free(&D, other);
    ck_assert_uint_eq(taken(), 0);
    pt_device_close(&D);
}
END_TEST

/* Opens, takes blocks through an arena and closes; everything is given back either way. */
static pt_status whole_life(pt_allocator_kind kind)
{
    pt_arena a;
    void *p;
    pt_status st = pt_device_open(kind, &D);
    if (st != PT_OK) return st;
    size_t used = pt_mem_used(&D);
    pt_arena_init(&a, &D);
    for (int i = 0; i < 140 && st == PT_OK; i++) st = pt_arena_alloc(&a, 512, 1, "case/arena", &p);
    pt_arena_free(&a);
    if (pt_mem_used(&D) != used)
        st = pt_fail(PT_ERR_INTERNAL, "%zu bytes are in use, not %zu", pt_mem_used(&D), used);
    pt_device_close(&D);
    return st;
}

START_TEST(every_host_allocation_of_the_allocators_fails_and_nothing_leaks)
{
    for (int kind = PT_ALLOC_CACHING; kind <= PT_ALLOC_ASYNC; kind++) {
        int k = 1, failed, refused = 0;
        whole_life((pt_allocator_kind)kind); /* what the runtime keeps for ever */
        do {
            uint64_t live = oomproof_live_bytes();
            long before = host_blocks();
            host_fail(k++, 0);
            pt_status st = whole_life((pt_allocator_kind)kind);
            failed = host_ended();
            long leaked = host_blocks() - before;
            /* without memory for the rest of a block it is just larger: no failure */
            ck_assert_msg(st == PT_OK || (failed && st == PT_ERR_HOST), "allocation %d: %s", k - 1,
                          pt_error_last()->message);
            refused += st == PT_ERR_HOST;
            ck_assert_msg(leaked == 0, "allocation %d: %ld blocks leaked", k - 1, leaked);
            ck_assert_msg(oomproof_live_bytes() == live, "allocation %d: device bytes leaked",
                          k - 1);
        } while (failed);
        ck_assert_int_ge(refused, 5); /* mem, state, list of the allocator, list of the arena */
    }
}
END_TEST

static const case_entry cases[] = {
#include "mem.def"
};
CASE_MAIN("mem")
