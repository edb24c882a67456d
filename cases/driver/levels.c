/* levels.c - the runtime above the driver, under the shim, in front of stand-ins for both: what the
 * runtime's lookups answer, calls within calls, and memory that only these two know. */
#define _GNU_SOURCE
#include "case.h"
#include "oomproof.h"
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#undef cuGetProcAddress
typedef CUresult lookup_2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult alloc_fn(CUdeviceptr *, size_t);
typedef CUresult async_fn(CUdeviceptr *, size_t, CUstream);
typedef CUresult create_fn(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                           unsigned long long);
typedef CUresult release_fn(CUmemGenericAllocationHandle);
typedef cudaError_t by_runtime(const char *, void **, unsigned long long,
                               enum cudaDriverEntryPointQueryResult *);
typedef cudaError_t by_version(const char *, void **, unsigned, unsigned long long,
                               enum cudaDriverEntryPointQueryResult *);
by_runtime cudaGetDriverEntryPoint_ptsz;
by_version cudaGetDriverEntryPointByVersion_ptsz;

static void *driver(const char *name)
{
    void *h = dlopen("libcuda.so.1", RTLD_NOW);
    ck_assert_msg(h != NULL, "%s", dlerror());
    return dlsym(h, name);
}

static void *found(const char *name)
{
    void *p = NULL;
    lookup_2 *look;
    *(void **)&look = driver("cuGetProcAddress_v2");
    ck_assert_int_eq(look(name, &p, 12000, 0, NULL), 0);
    return p;
}

static void arm(const char *format, ...)
{
    char rules[200], error[256];
    va_list a;
    va_start(a, format);
    vsnprintf(rules, sizeof rules, format, a);
    va_end(a);
    ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s: %s", rules, error);
}

/* It works, and is failed by a rule; of the variant for this kind of default stream. */
static void is_wrapped(void *p, uint64_t at, const char *how)
{
    async_fn *f;
    CUdeviceptr got = 0;
    *(void **)&f = p;
    arm("cuMemAllocAsync nth=2 -> oom");
    ck_assert_msg(f(&got, 8, NULL) == 0 && got == at, "%s: at %llx", how, (long long)got);
    ck_assert_msg(f(&got, 8, NULL) == CUDA_ERROR_OUT_OF_MEMORY, "%s: not failed", how);
    oomproof_disarm();
}

START_TEST(the_runtimes_lookups_answer_with_wrappers)
{
    enum cudaDriverEntryPointQueryResult status = 99;
    void *p = NULL;
    const unsigned long long thread = cudaEnablePerThreadDefaultStream;
    ck_assert_int_eq(cudaGetDriverEntryPoint("cuMemAllocAsync", &p, 0, &status), 0);
    ck_assert_int_eq(status, cudaDriverEntryPointSuccess);
    is_wrapped(p, 0x200000, "cudaGetDriverEntryPoint");
    ck_assert_int_eq(cudaGetDriverEntryPoint("cuMemAllocAsync", &p, thread, NULL), 0);
    is_wrapped(p, 0x300000, "cudaGetDriverEntryPoint, per thread");
    ck_assert_int_eq(cudaGetDriverEntryPoint_ptsz("cuMemAllocAsync", &p, 0, NULL), 0);
    is_wrapped(p, 0x300000, "cudaGetDriverEntryPoint_ptsz");
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &p, 12000, 0, NULL), 0);
    is_wrapped(p, 0x200000, "...ByVersion");
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion("cuMemAllocAsync", &p, 12000, thread, NULL),
                     0);
    is_wrapped(p, 0x300000, "...ByVersion, per thread");
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion_ptsz("cuMemAllocAsync", &p, 12000, 0, NULL),
                     0);
    is_wrapped(p, 0x300000, "...ByVersion_ptsz");
    /* the lookup that it hands out is ours */
    lookup_2 *look;
    ck_assert_int_eq(cudaGetDriverEntryPoint("cuGetProcAddress", &p, 0, NULL), 0);
    *(void **)&look = p;
    ck_assert_int_eq(look("cuMemAllocAsync", &p, 12000, 0, NULL), 0);
    is_wrapped(p, 0x200000, "the lookup found by the runtime");
    /* CUDA 2's, of 32 bits, is not the prototype we know */
    CUresult (*v1)(unsigned *, unsigned);
    unsigned small = 0;
    ck_assert_int_eq(cudaGetDriverEntryPointByVersion("cuMemAlloc", &p, 2000, 0, NULL), 0);
    *(void **)&v1 = p;
    arm("cuMemAlloc -> oom");
    ck_assert_int_eq(v1(&small, 77), 1002);
}
END_TEST

START_TEST(a_name_that_was_not_found_stays_so)
{
    static const char *const names[] = {"cuMemMap", "cuLaunchKernel", "noSuchFunction"};
    lookup_2 *look, **own = driver("standin_lookup");
    *(void **)&look = driver("cuGetProcAddress_v2");
    CUresult (*first)(const char *, void **, int, cuuint64_t);
    *(void **)&first = driver("cuGetProcAddress");
    for (int i = 0; i < 3; i++) { /* of the table, but not of this driver */
        void *p = &p;
        enum cudaDriverEntryPointQueryResult status = 99;
        ck_assert_int_eq((*own)(names[i], &p, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
        p = &p;
        ck_assert_int_eq(look(names[i], &p, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
        ck_assert_ptr_null(p);
        p = &p;
        ck_assert_int_eq(first(names[i], &p, 12000, 0), CUDA_ERROR_NOT_FOUND);
        ck_assert_ptr_null(p);
        p = &p;
        cudaGetDriverEntryPoint(names[i], &p, 0, &status);
        ck_assert_ptr_null(p);
        ck_assert_int_eq(status, cudaDriverEntryPointSymbolNotFound);
        p = &p;
        cudaGetDriverEntryPointByVersion(names[i], &p, 12000, 0, &status);
        ck_assert_ptr_null(p);
    }
}
END_TEST

START_TEST(a_call_within_a_call_is_passed_on_unseen)
{
    cublasHandle_t h = NULL;
    void *p = NULL;
    arm("cudaMalloc -> oom\ncuMemAlloc -> oom");
    ck_assert_int_eq(cublasCreate_v2(&h), 0);
    ck_assert_ptr_nonnull(h);
    ck_assert_uint_eq(oomproof_calls("cublasCreate_v2"), 1);
    ck_assert_uint_eq(oomproof_calls("cudaMalloc"), 0);
    ck_assert_uint_eq(oomproof_calls("cuMemAlloc_v2"), 0);
    ck_assert_uint_eq(oomproof_matched(0), 0);
    ck_assert_uint_eq(oomproof_live_bytes(), 0);
    arm("cuMemAlloc -> oom"); /* the driver's, within the runtime's */
    ck_assert_int_eq(cudaMalloc(&p, 1000), 0);
    ck_assert_uint_eq(oomproof_calls("cudaMalloc"), 1);
    ck_assert_uint_eq(oomproof_calls("cuMemAlloc_v2"), 0);
    ck_assert_uint_eq(oomproof_live_bytes(), 1024);
    arm("cuMemAlloc budget=1000 -> oom"); /* nor has it counted the bytes twice */
    alloc_fn *f;
    CUdeviceptr at;
    *(void **)&f = driver("cuMemAlloc_v2");
    ck_assert_int_eq(f(&at, 512), 0);
    ck_assert_uint_eq(oomproof_calls("cuMemAlloc_v2"), 1);
}
END_TEST

START_TEST(arrays_are_given_back_as_they_were_taken)
{
    extern uint64_t runtime_bytes;
    const struct cudaChannelFormatDesc rgba = {.x = 32, .y = 32, .z = 32, .w = 32};
    struct cudaExtent flat = {100, 30, 0}, deep = {33, 7, 5};
    cudaArray_t line, plane, cube;
    cudaMipmappedArray_t pyramid;
    cudaMallocArray(&line, &rgba, 1001, 0, 0);
    cudaMallocArray(&plane, &rgba, 100, 30, 0);
    cudaMalloc3DArray(&cube, &rgba, deep, 0);
    ck_assert_uint_eq(oomproof_live_bytes(), runtime_bytes);
    ck_assert_uint_eq(runtime_bytes, 16384 + 48128 + 18944);
    cudaMallocMipmappedArray(&pyramid, &rgba, deep, 3, 0);
    ck_assert_uint_eq(oomproof_live_bytes(), runtime_bytes);
    /* what is not given back goes on being counted */
    ck_assert_int_ne(cudaFreeArray((cudaArray_t)pyramid), 0);
    ck_assert_int_ne(cudaFreeMipmappedArray((cudaMipmappedArray_t)plane), 0);
    ck_assert_uint_eq(oomproof_live_bytes(), runtime_bytes);
    ck_assert_int_eq(cudaFreeArray(plane), 0);
    ck_assert_int_eq(cudaFreeArray(line), 0);
    ck_assert_int_eq(cudaFreeMipmappedArray(pyramid), 0);
    ck_assert_uint_eq(oomproof_live_bytes(), runtime_bytes);
    ck_assert_int_eq(cudaFreeArray(cube), 0);
    ck_assert_uint_eq(oomproof_live_bytes(), 0);
    ck_assert_uint_eq(runtime_bytes, 0);
    arm("* budget=60KiB -> oom");
    ck_assert_int_eq(cudaMalloc3DArray(&cube, &rgba, flat, 0), 0);
    ck_assert_int_eq(cudaMallocArray(&plane, &rgba, 1001, 0, 0), cudaErrorMemoryAllocation);
}
END_TEST

/* The driver's level has no figure to ask for: a budget of just so much lets one more through. */
static void counts(create_fn *create, release_fn *release, uint64_t live)
{
    CUmemGenericAllocationHandle h = 0;
    arm("cuMemCreate budget=%llu -> oom", (unsigned long long)live + 4095);
    ck_assert_msg(create(&h, 4096, NULL, 0) == 2, "fewer than %llu bytes are counted",
                  (unsigned long long)live);
    arm("cuMemCreate budget=%llu -> oom", (unsigned long long)live + 4096);
    ck_assert_msg(create(&h, 4096, NULL, 0) == 0, "more than %llu bytes are counted",
                  (unsigned long long)live);
    ck_assert_int_eq(release(h), 0);
    oomproof_disarm();
}

START_TEST(physical_memory_is_counted_as_the_driver_does)
{
    create_fn *create;
    release_fn *release;
    *(void **)&create = found("cuMemCreate");
    *(void **)&release = found("cuMemRelease");
    const uint64_t *bytes = driver("standin_created");
    CUmemGenericAllocationHandle h[20] = {0};
    uint64_t state = 5;
    for (int turn = 0; turn < 400; turn++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned k = (unsigned)(state >> 40) % 20;
        if (h[k]) {
            ck_assert_int_eq(release(h[k]), 0);
            h[k] = 0;
        } else {
            ck_assert_int_eq(create(&h[k], (1 + (size_t)(state >> 50)) << 16, NULL, 0), 0);
        }
        if (turn % 5 == 0) ck_assert_int_ne(release(1023), 0); /* that changes nothing */
        counts(create, release, *bytes);
    }
}
END_TEST

START_TEST(rows_of_the_driver_count_with_their_pitch)
{
    CUresult (*rows)(CUdeviceptr *, size_t *, size_t, size_t, unsigned);
    CUresult (*give_back)(CUdeviceptr);
    create_fn *create;
    release_fn *release;
    CUdeviceptr p, q;
    size_t pitch = 0;
    *(void **)&rows = found("cuMemAllocPitch");
    *(void **)&give_back = found("cuMemFree");
    *(void **)&create = found("cuMemCreate");
    *(void **)&release = found("cuMemRelease");
    ck_assert_int_eq(rows(&p, &pitch, 100, 7, 4), 0);
    counts(create, release, 7 * 1024);
    arm("cuMemAllocPitch budget=%d -> oom", 10 * 1024 - 1); /* the next one's are known before */
    ck_assert_int_eq(rows(&q, &pitch, 100, 3, 4), CUDA_ERROR_OUT_OF_MEMORY);
    arm("cuMemAllocPitch budget=%d -> oom", 10 * 1024);
    ck_assert_int_eq(rows(&q, &pitch, 100, 3, 4), 0);
    ck_assert_int_eq(give_back(p), 0);
    counts(create, release, 3 * 1024);
}
END_TEST

START_TEST(memory_of_the_host_is_none_of_the_device)
{
    static const CUmemLocationType places[] = {CU_MEM_LOCATION_TYPE_HOST,
                                               CU_MEM_LOCATION_TYPE_HOST_NUMA,
                                               CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT};
    create_fn *create;
    release_fn *release;
    *(void **)&create = found("cuMemCreate");
    *(void **)&release = found("cuMemRelease");
    CUmemAllocationProp on_host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED}, on_device = on_host;
    CUmemGenericAllocationHandle a, b;
    on_device.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    for (int i = 0; i < 3; i++) {
        on_host.location.type = places[i];
        arm("cuMemCreate budget=4MiB -> oom\ncuMemCreate size=5MiB -> oom");
        ck_assert_int_eq(create(&a, 3 << 20, &on_host, 0), 0);
        ck_assert_int_eq(create(&b, 2 << 20, &on_device, 0), 0);
        ck_assert_int_eq(create(&b, 3 << 20, &on_device, 0), 2);
        ck_assert_int_eq(create(&a, 6 << 20, &on_host, 0), 0); /* no card is too small for it */
        ck_assert_int_eq(create(&a, 5 << 20, &on_host, 0), 2); /* but it can be failed */
        ck_assert_int_eq((int)oomproof_fired(1), 1);
        counts(create, release, 2 << 20);
        ck_assert_int_eq(release(b), 0);
        counts(create, release, 0);
    }
}
END_TEST

static const case_entry cases[] = {
#include "levels.def"
};
CASE_MAIN("levels")
