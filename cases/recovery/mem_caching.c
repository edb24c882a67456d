/* mem_caching.c - the caching allocator: segments, blocks that are cut and merged, what goes back
 * when memory is short. */
#include "memrig.h"

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

static const case_entry cases[] = {
#include "mem_caching.def"
};
CASE_MAIN("mem_caching")
