/* mem.c - what every allocator must do: sizes, frees that fail, the figures, arenas; and that a
 * failure to ask, to give back or to open is told. */
#include "hostmem.h"
#include "memrig.h"

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
