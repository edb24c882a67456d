/* mem_pool.c - the stream-ordered allocator: what its pool keeps, trims and cannot be made of. */
#include "memrig.h"

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

static const case_entry cases[] = {
#include "mem_pool.def"
};
CASE_MAIN("mem_pool")
