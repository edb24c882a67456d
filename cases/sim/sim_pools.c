/* sim_pools.c - stream-ordered allocation: what a pool keeps, gives back, and lends to whom; and
 * managed, pinned and registered memory, and others that fill the card. */
#define _GNU_SOURCE
#include "rig.h"
#include <stdio.h>

enum { MEBI = 1 << 20 };

static size_t free_now(void)
{
    size_t free_bytes = 0, total;
    OK(cudaMemGetInfo(&free_bytes, &total));
    return free_bytes;
}

static uint64_t of(cudaMemPool_t pool, enum cudaMemPoolAttr attr)
{
    uint64_t v = UINT64_MAX;
    OK(cudaMemPoolGetAttribute(pool, attr, &v));
    return v;
}

static void set(cudaMemPool_t pool, enum cudaMemPoolAttr attr, uint64_t v)
{
    OK(cudaMemPoolSetAttribute(pool, attr, &v));
}

static cudaMemPool_t default_pool(void)
{
    cudaMemPool_t pool;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    return pool;
}

START_TEST(a_pool_gives_back_at_the_next_wait_unless_a_threshold_says_otherwise)
{
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    void *p;
    cudaMemPool_t pool = default_pool();
    size_t before = free_now();
    OK(cudaMallocAsync(&p, 8 * MEBI, NULL));
    OK(cudaFreeAsync(p, NULL));
    ck_assert_uint_eq(free_now(), before - 8 * MEBI); /* freed, and still the pool's */
    ck_assert_uint_eq(of(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    ck_assert_uint_eq(of(pool, cudaMemPoolAttrReservedMemCurrent), 8 * MEBI);
    OK(cudaStreamSynchronize(NULL));
    ck_assert_uint_eq(free_now(), before);
    set(pool, cudaMemPoolAttrReleaseThreshold, 16 * MEBI);
    OK(cudaMallocAsync(&p, 8 * MEBI, NULL));
    OK(cudaFreeAsync(p, NULL));
    OK(cudaDeviceSynchronize());
    ck_assert_uint_eq(free_now(), before - 8 * MEBI);
    OK(cudaMemPoolTrimTo(pool, 0));
    ck_assert_uint_eq(free_now(), before);
    ck_assert_uint_eq(of(pool, cudaMemPoolAttrReservedMemHigh), 8 * MEBI);
    set(pool, cudaMemPoolAttrReservedMemHigh, 0);
    ck_assert_uint_eq(of(pool, cudaMemPoolAttrReservedMemHigh), 0);
}
END_TEST

START_TEST(cudamalloc_fails_while_a_pool_holds_the_memory_and_cudamallocasync_does_not)
{
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    void *p, *q = &p;
    set(default_pool(), cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (int i = 0; i < 2; i++) {
        OK(cudaMallocAsync(&p, 40 * MEBI, NULL));
        OK(cudaFreeAsync(p, NULL));
    }
    IS(cudaMalloc(&q, 40 * MEBI), cudaErrorMemoryAllocation);
    ck_assert_ptr_eq(q, &p);
    cudaGetLastError();
    OK(cudaMallocAsync(&p, 60 * MEBI, NULL)); /* its own pool lets go of the 40 */
    OK(cudaFree(p));                          /* either call frees it */
    IS(cudaMallocAsync(&p, 65 * MEBI, NULL), cudaErrorMemoryAllocation);
}
END_TEST

START_TEST(freed_memory_is_lent_on_the_same_stream_at_once_and_on_another_after_the_work)
{
    setenv("OOMPROOF_SIM_STREAMS", "lazy", 1);
    cudaStream_t a, b;
    void *p, *q;
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    set(default_pool(), cudaMemPoolAttrReleaseThreshold, UINT64_MAX);
    OK(cudaMallocAsync(&p, 3 * MEBI, a));
    OK(cudaMemsetAsync(p, 1, 3 * MEBI, a));
    OK(cudaFreeAsync(p, a));
    OK(cudaMallocAsync(&q, 3 * MEBI, b)); /* a still works with it */
    ck_assert_ptr_ne(p, q);
    OK(cudaFreeAsync(q, b));
    OK(cudaMallocAsync(&q, 3 * MEBI, a));
    ck_assert_ptr_eq(p, q);
    OK(cudaFreeAsync(q, a));
    OK(cudaStreamSynchronize(a));
    OK(cudaStreamSynchronize(b));
    OK(cudaMallocAsync(&q, 3 * MEBI, b));
    ck_assert(q != NULL);
}
END_TEST

START_TEST(a_pool_of_the_programs_own_has_its_limit_and_is_refused_to_other_processes)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice},
                                     .maxSize = 4 * MEBI};
    cudaMemPool_t pool, now;
    void *p, *q;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMallocFromPoolAsync(&p, 3 * MEBI, pool, NULL));
    IS(cudaMallocFromPoolAsync(&q, 3 * MEBI, pool, NULL), cudaErrorMemoryAllocation);
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceGetMemPool(&now, 0));
    ck_assert_ptr_eq(now, pool);
    OK(cudaMemPoolDestroy(pool)); /* lives until its last block is freed */
    OK(cudaMemset(p, 0, 3 * MEBI));
    OK(cudaFreeAsync(p, NULL));
    OK(cudaDeviceGetMemPool(&now, 0));
    ck_assert_ptr_eq(now, default_pool());
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    IS(cudaMemPoolCreate(&pool, &props), cudaErrorNotSupported);
}
END_TEST

START_TEST(managed_memory_is_the_same_for_both_sides)
{
    int *m = NULL, n = 1000;
    struct cudaPointerAttributes a;
    OK(cudaMallocManaged((void **)&m, 4 * (size_t)n, cudaMemAttachGlobal));
    ck_assert_int_eq(m[n - 1], 0);
    long long last = n - 1;
    int v = 42;
    run((const void *)store, 1, 1, ARGS(&m, &last, &v));
    ck_assert_int_eq(m[n - 1], 42); /* no copy between */
    OK(cudaPointerGetAttributes(&a, m));
    ck_assert_int_eq(a.type, cudaMemoryTypeManaged);
    int *d = device(m, 4 * (size_t)n), back = 0;
    fetch(&back, d + n - 1, 4);
    ck_assert_int_eq(back, 42);
    OK(cudaMemPrefetchAsync(m, 4 * (size_t)n,
                            (struct cudaMemLocation){.type = cudaMemLocationTypeDevice}, 0, NULL));
    long long past = n;
    OK(launch((const void *)store, 1, 1, 0, ARGS(&m, &past, &v)));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress); /* one past the end */
}
END_TEST

START_TEST(pinned_and_managed_memory_have_a_limit_of_their_own)
{
    setenv("OOMPROOF_SIM_HOST_MEMORY", "8MiB", 1);
    void *p, *q = NULL, *d;
    OK(cudaMallocHost(&p, 6 * MEBI));
    IS(cudaHostAlloc(&q, 3 * MEBI, cudaHostAllocMapped), cudaErrorMemoryAllocation);
    IS(cudaMallocManaged(&q, 3 * MEBI, cudaMemAttachGlobal), cudaErrorMemoryAllocation);
    ck_assert_ptr_null(q);
    OK(cudaMalloc(&d, 64 * MEBI)); /* the device has plenty: freeing there would not help */
    OK(cudaFreeHost(p));
    OK(cudaHostAlloc(&q, 8 * MEBI, cudaHostAllocMapped));
    IS(cudaFree(q), cudaErrorInvalidValue);
    cudaGetLastError();
    IS(cudaFreeHost(d), cudaErrorInvalidValue);
}
END_TEST

START_TEST(registered_memory_is_reached_by_kernels_until_it_is_not)
{
    static int mine[1024];
    int *seen = NULL, v = 7;
    long long i = 3;
    OK(cudaHostRegister(mine, sizeof mine, cudaHostRegisterMapped));
    IS(cudaHostRegister(mine + 10, 4, 0), cudaErrorHostMemoryAlreadyRegistered);
    cudaGetLastError();
    OK(cudaHostGetDevicePointer((void **)&seen, mine, 0));
    run((const void *)store, 1, 1, ARGS(&seen, &i, &v));
    ck_assert_int_eq(mine[3], 7);
    OK(cudaHostUnregister(mine));
    IS(cudaHostUnregister(mine), cudaErrorHostMemoryNotRegistered);
    cudaGetLastError();
    OK(launch((const void *)store, 1, 1, 0, ARGS(&seen, &i, &v)));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}
END_TEST

START_TEST(others_take_memory_by_schedule)
{
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    setenv("OOMPROOF_SIM_PRESSURE", "3:32MiB,5:0", 1);
    void *p;
    ck_assert_uint_eq(free_now(), 64 * MEBI);
    OK(cudaMalloc(&p, 40 * MEBI)); /* the first */
    OK(cudaFree(p));
    OK(cudaMalloc(&p, 1 * MEBI)); /* the second */
    OK(cudaFree(p));
    IS(cudaMalloc(&p, 40 * MEBI), cudaErrorMemoryAllocation); /* the third */
    ck_assert_uint_eq(free_now(), 32 * MEBI);
    IS(cudaMalloc(&p, 40 * MEBI), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&p, 40 * MEBI));
    ck_assert_uint_eq(free_now(), 24 * MEBI);
}
END_TEST

START_TEST(scattered_memory_fails_a_request_smaller_than_what_is_free)
{
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    setenv("OOMPROOF_SIM_PRESSURE", "2:16MiB/3MiB,6:0", 1);
    void *p, *q;
    OK(cudaMalloc(&p, 40 * MEBI)); /* the first */
    OK(cudaFree(p));
    IS(cudaMalloc(&p, 4 * MEBI), cudaErrorMemoryAllocation);
    ck_assert_uint_eq(free_now(), 48 * MEBI);
    IS(cudaMallocAsync(&p, 4 * MEBI, 0), cudaErrorMemoryAllocation);
    OK(cudaMalloc(&p, 3 * MEBI));
    ck_assert_uint_eq(free_now(), 44 * MEBI);
    OK(cudaMalloc(&q, 2 * MEBI));
    OK(cudaFree(p));
    OK(cudaFree(q));
    OK(cudaMalloc(&p, 40 * MEBI)); /* the sixth: they are gone */
}
END_TEST

START_TEST(a_wrong_schedule_or_limit_is_named)
{
    static const char *const wrong[] = {
        "",      "x",        "3",     "3:",        "3:32MiB,2:0",
        ":1M",   "3:1M;4:0", "3:1Mi", "1:-5MiB",   "99999999999999999999:1M",
        "3:1M/", "3:1M/0",   "3:/1M", "3:1M/1M/1M"};
    for (int i = 1; i < COUNT(wrong); i++) {
        char command[300];
        snprintf(command, sizeof command,
                 "OOMPROOF_SIM_PRESSURE='%s' " OOMPROOF_BUILD_DIR "/cases/sim_probe 2>&1",
                 wrong[i]);
        FILE *f = popen(command, "r");
        char text[400] = "";
        size_t n = fread(text, 1, sizeof text - 1, f);
        text[n] = 0;
        pclose(f);
        ck_assert_msg(strstr(text, "OOMPROOF_SIM_PRESSURE=") && strstr(text, "expected up to"),
                      "%s: %s", wrong[i], text);
        ck_assert_msg(strstr(text, "probe 3 0") != NULL, "%s: %s", wrong[i], text);
    }
}
END_TEST

START_TEST(a_card_that_the_host_cannot_back_is_refused_with_a_message)
{
    setenv("OOMPROOF_SIM_MEMORY", "64GiB", 1);
    setenv("OOMPROOF_SIM_HOST_KEEP", "900GiB", 1); /* more than the host has: all of it is kept */
    void *p = NULL;
    listen_to(2);
    IS(cudaMalloc(&p, (size_t)1 << 30), cudaErrorMemoryAllocation);
    char *said = heard();
    ck_assert_msg(strstr(said, "are kept for it") != NULL, "said: %s", said);
    free(said);
}
END_TEST

START_TEST(a_card_of_hundreds_of_gib_costs_what_is_touched)
{
    setenv("OOMPROOF_SIM_MEMORY", "400GiB", 1);
    char *p;
    int v = 9;
    long long far = (300LL << 30) / 4;
    OK(cudaMalloc((void **)&p, (size_t)380 << 30));
    run((const void *)store, 1, 1, ARGS(&p, &far, &v));
    int back = 0;
    fetch(&back, p + ((size_t)300 << 30), 4);
    ck_assert_int_eq(back, 9);
    IS(cudaMalloc((void **)&p, (size_t)30 << 30), cudaErrorMemoryAllocation);
}
END_TEST

/* Under OOMPROOF_SIM_CHECK the message says where the memory came from and went. */
START_TEST(under_check_misuse_is_reported_with_the_call_site)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    int *p, v = 1;
    long long past = 100;
    OK(cudaMalloc((void **)&p, 400));
    listen_to(2);
    OK(launch((const void *)store, 1, 1, 0, ARGS(&p, &past, &v)));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    char *said = heard();
    ck_assert_msg(strstr(said, "store") &&
                      strstr(said, "0 bytes past the end of an allocation of 400") &&
                      strstr(said, "made at ") && strstr(said, "case_sim_pools"),
                  "said: %s", said);
    free(said);
}
END_TEST

START_TEST(use_after_free_names_both_places)
{
    setenv("OOMPROOF_SIM_CHECK", "1", 1);
    int *p, *other, v = 1;
    long long i = 0;
    OK(cudaMalloc((void **)&other, 400));                 /* keeps the page */
    run((const void *)store, 1, 1, ARGS(&other, &i, &v)); /* variables of the module have theirs */
    OK(cudaMalloc((void **)&p, 400));
    OK(cudaFree(p));
    listen_to(2);
    OK(launch((const void *)store, 1, 1, 0, ARGS(&p, &i, &v)));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    char *said = heard();
    ck_assert_msg(strstr(said, "kernel ") && strstr(said, "freed (400 bytes, made at ") &&
                      strstr(said, ", freed at ") && strstr(said, "case_sim_pools"),
                  "said: %s", said);
    free(said);
}
END_TEST

static const case_entry cases[] = {
#include "sim_pools.def"
};
CASE_MAIN("sim_pools")
