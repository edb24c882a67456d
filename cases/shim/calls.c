/* calls.c - every call of the table, one after the other, under the shim and in front of a stand-in
 * that only counts: passed on once, failed with the code that its API has for it, never reached
 * when it was failed. */
#include "case.h"
#include "oomproof.h"
#include "standin.h"
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>

/* Each argument is a pointer to zeros: it can be followed, and as a number it is a size. Calling
 * through this type is not C, but it is what the ABIs of x86-64 and arm64 do with it. */
typedef int any_call(const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *, const void *, const void *, const void *,
                     const void *, const void *);
static int make(int id)
{
    static uint64_t z[512];
    any_call *f;
    *(void **)&f = dlsym(RTLD_DEFAULT, op_table[id].name);
    ck_assert_msg(f != NULL, "%s is not exported", op_table[id].name);
    memset(z, 0, sizeof z);
    return f(z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z,
             z, z, z);
}

static void arm(const char *format, ...)
{
    char text[512], error[256];
    va_list a;
    va_start(a, format);
    vsnprintf(text, sizeof text, format, a);
    va_end(a);
    ck_assert_msg(oomproof_arm(text, error, sizeof error) >= 1, "%s: %s", text, error);
}

static const int oom_code[] = {2, 3, 4004, 2};

START_TEST(without_rules_every_call_is_passed_on_once)
{
    ck_assert(oomproof_present());
    for (int id = 0; id < OP_CALLS; id++) {
        int before = standin_calls[id];
        ck_assert_msg(make(id) == 0, "%s failed", op_table[id].name);
        ck_assert_msg(standin_calls[id] == before + 1, "%s reached the library %d times",
                      op_table[id].name, standin_calls[id] - before);
        ck_assert_int_ge((int)oomproof_calls(op_table[id].name), 1);
    }
    ck_assert_int_eq(cudaPeekAtLastError(), 0);
}
END_TEST

/* A row that is taken away does not build; a new one that allocates has to be named here, with what
 * gives its memory back and is not lost in a count of its own. */
START_TEST(every_allocation_has_the_call_that_gives_it_back)
{
#define PAIR(alloc, release)           \
    {                                  \
        OP_ID_##alloc, OP_ID_##release \
    }
    static const op_id pairs[][2] = {
        PAIR(cudaMalloc, cudaFree),
        PAIR(cudaMallocManaged, cudaFree),
        PAIR(cudaMallocPitch, cudaFree),
        PAIR(cudaMalloc3D, cudaFree),
        PAIR(cudaMallocAsync, cudaFreeAsync),
        PAIR(cudaMallocAsync_ptsz, cudaFreeAsync_ptsz),
        PAIR(cudaMallocFromPoolAsync, cudaFreeAsync),
        PAIR(cudaMallocFromPoolAsync_ptsz, cudaFreeAsync_ptsz),
        PAIR(cudaMallocArray, cudaFreeArray),
        PAIR(cudaMalloc3DArray, cudaFreeArray),
        PAIR(cudaMallocMipmappedArray, cudaFreeMipmappedArray),
        PAIR(cuMemAlloc_v2, cuMemFree_v2),
        PAIR(cuMemAllocPitch_v2, cuMemFree_v2),
        PAIR(cuMemAllocManaged, cuMemFree_v2),
        PAIR(cuMemAllocAsync, cuMemFreeAsync),
        PAIR(cuMemAllocFromPoolAsync, cuMemFreeAsync),
        PAIR(cuMemCreate, cuMemRelease),
    };
    for (int id = 0; id < OP_CALLS; id++) {
        size_t i = 0;
        if (!(op_table[id].flags & OP_F_ALLOC) || strstr(op_table[id].name, "_ptsz")) continue;
        while (i < sizeof pairs / sizeof *pairs && (int)pairs[i][0] != id) i++;
        ck_assert_msg(i < sizeof pairs / sizeof *pairs, "%s: what gives it back?",
                      op_table[id].name);
        ck_assert_int_eq(op_table[pairs[i][1]].lib, op_table[id].lib);
        ck_assert_int_eq(op_table[pairs[i][1]].flags & OP_F_OOM, 0);
    }
}
END_TEST

START_TEST(every_call_that_can_runs_out_of_memory_in_its_own_code)
{
    int tried = 0;
    for (int id = 0; id < OP_CALLS; id++) {
        const op_entry *e = &op_table[id];
        char error[256];
        if (!(e->flags & OP_F_OOM)) {
            char text[128];
            snprintf(text, sizeof text, "%s -> oom", e->name);
            ck_assert_msg(oomproof_arm(text, error, sizeof error) == -1, "%s was taken", text);
            continue;
        }
        arm("%s nth=2 -> oom", e->name);
        int before = standin_calls[id];
        ck_assert_int_eq(make(id), 0);
        ck_assert_int_eq(standin_calls[id], before + 1);
        ck_assert_msg(make(id) == oom_code[e->lib], "%s", e->name);
        int asked = standin_calls[id] - before - 1; /* the real call, for the impossible */
        ck_assert_msg(asked == 0 || (e->lib == OP_CUDA && (e->flags & OP_F_ALLOC)),
                      "%s was reached", e->name);
        ck_assert_msg((int)oomproof_fired(0) == 1, "%s", e->name);
        /* the runtime's failures set its last error, once; the libraries' leave it clean */
        ck_assert_msg(cudaPeekAtLastError() == (e->lib == OP_CUDA ? 2 : 0), "%s", e->name);
        ck_assert_int_eq(cudaGetLastError(), e->lib == OP_CUDA ? 2 : 0);
        ck_assert_int_eq(cudaGetLastError(), 0);
        ck_assert_msg(make(id) == 0, "%s fails after its rule has fired", e->name);
        oomproof_disarm();
        tried++;
    }
    printf("%d calls of %d\n", tried, OP_CALLS);
    ck_assert_int_ge(tried, 90);
}
END_TEST

START_TEST(every_call_returns_the_status_of_a_rule_and_is_not_made)
{
    static const char *const name[] = {"cudaErrorNotSupported", "CUBLAS_STATUS_INVALID_VALUE",
                                       "CUDNN_STATUS_BAD_PARAM", "CUDA_ERROR_NOT_SUPPORTED"};
    static const int code[] = {801, 7, 2000, 801};
    for (int id = 0; id < OP_CALLS; id++) {
        const op_entry *e = &op_table[id];
        arm("%s nth=1 -> status(%s)", e->name, name[e->lib]);
        int before = standin_calls[id];
        ck_assert_msg(make(id) == code[e->lib], "%s", e->name);
        ck_assert_msg(standin_calls[id] == before, "%s was reached", e->name);
        ck_assert_int_eq(cudaGetLastError(), e->lib == OP_CUDA ? 801 : 0);
        oomproof_disarm();
    }
}
END_TEST

START_TEST(a_sticky_code_stays_until_the_device_is_reset)
{
    arm("cudaMemcpy nth=1 -> error(cudaErrorIllegalAddress)");
    ck_assert_int_eq(make(OP_ID_cudaMemcpy), 700);
    for (int id = 0; id < OP_CALLS; id++) {
        int before = standin_calls[id];
        ck_assert_msg(make(id) != 0, "%s worked on a dead context", op_table[id].name);
        ck_assert_msg(standin_calls[id] == before, "%s was reached", op_table[id].name);
    }
    ck_assert_int_eq(cudaGetLastError(), 700);
    ck_assert_int_eq(cudaGetLastError(), 700);
    ck_assert_int_eq(cudaDeviceReset(), 0);
    ck_assert_int_eq(make(OP_ID_cudaMalloc), 0);
    /* status is the code once, whatever the code */
    arm("cudaMemcpy nth=1 -> status(cudaErrorIllegalAddress); cuMemAlloc nth=1 -> status(700)");
    ck_assert_int_eq(make(OP_ID_cudaMemcpy), 700);
    ck_assert_int_eq(make(OP_ID_cudaMemcpy), 0);
    ck_assert_int_eq(make(OP_ID_cuMemAlloc_v2), 700);
    ck_assert_int_eq(make(OP_ID_cuMemAlloc_v2), 0);
}
END_TEST

START_TEST(every_rule_counts_and_the_first_that_matches_acts)
{
    arm("cudaMalloc nth=2 -> oom\n* nth=2 -> status(cudaErrorNotSupported)\ncudaMalloc nth>=3 -> "
        "status(cudaErrorUnknown)");
    ck_assert_int_eq(make(OP_ID_cudaMalloc), 0);
    ck_assert_int_eq(make(OP_ID_cudaMalloc), 2); /* both first rules want it */
    ck_assert_int_eq(make(OP_ID_cudaMalloc), 999);
    ck_assert_int_eq(make(OP_ID_cudaMalloc), 999);
    ck_assert_int_eq((int)oomproof_matched(1), 4);
    ck_assert_int_eq((int)oomproof_fired(1), 0);
}
END_TEST

/* How the calls 1..n of cudaStreamQuery come out under a rule: 'x' failed, '.' passed. */
static const char *pattern(const char *rule, int n)
{
    static char out[128];
    arm("%s", rule);
    for (int i = 0; i < n; i++) out[i] = make(OP_ID_cudaStreamQuery) ? 'x' : '.';
    out[n] = 0;
    oomproof_disarm();
    cudaGetLastError();
    return out;
}

START_TEST(selectors_of_time_compose)
{
    ck_assert_str_eq(pattern("cudaStreamQuery -> oom", 4), "xxxx");
    ck_assert_str_eq(pattern("cudaStreamQuery nth=3 -> oom", 5), "..x..");
    ck_assert_str_eq(pattern("cudaStreamQuery nth>=3 -> oom", 5), "..xxx");
    ck_assert_str_eq(pattern("cudaStreamQuery skip=2 -> oom", 5), "..xxx");
    ck_assert_str_eq(pattern("cudaStreamQuery times=2 -> oom", 5), "xx...");
    ck_assert_str_eq(pattern("cudaStreamQuery skip=1 times=2 -> oom", 5), ".xx..");
    ck_assert_str_eq(pattern("cudaStreamQuery interval=3 -> oom", 7), "..x..x.");
    ck_assert_str_eq(pattern("cudaStreamQuery skip=1 interval=2 times=2 -> oom", 8), "..x.x...");
    ck_assert_str_eq(pattern("cudaStreamQuery probability=0% -> oom", 8), "........");
    ck_assert_str_eq(pattern("cudaStreamQuery probability=100% -> oom", 4), "xxxx");
    char first[128];
    strcpy(first, pattern("cudaStreamQuery probability=30% seed=7 -> oom", 100));
    ck_assert_str_eq(first, pattern("cudaStreamQuery probability=30% seed=7 -> oom", 100));
    ck_assert_str_ne(first, pattern("cudaStreamQuery probability=30% seed=8 -> oom", 100));
    int hit = 0;
    for (int i = 0; i < 100; i++) hit += first[i] == 'x';
    ck_assert_msg(hit >= 15 && hit <= 45, "%d of 100 at 30%%", hit); /* 3.3 sigma */
}
END_TEST

static int malloc_of(size_t n)
{
    void *p;
    int e = cudaMalloc(&p, n);
    cudaGetLastError();
    return e;
}

START_TEST(selectors_of_place_compose)
{
    arm("cudaMalloc size>=1MiB -> oom");
    ck_assert_int_eq(malloc_of(1 << 20), 2);
    ck_assert_int_eq(malloc_of((1 << 20) - 1), 0);
    arm("cudaMalloc size<512 phase=forward -> oom");
    ck_assert_int_eq(malloc_of(100), 0);
    oomproof_phase("forward");
    ck_assert_int_eq(malloc_of(100), 2);
    ck_assert_int_eq(malloc_of(512), 0);
    oomproof_phase(NULL);
    arm("cudaMalloc site=net/*/gather -> oom");
    ck_assert_int_eq(malloc_of(1), 0);
    oomproof_tag("net/enc1/gather");
    ck_assert_int_eq(malloc_of(1), 2);
    oomproof_tag(NULL);
    char buffer[8] = "";
    arm("cudaMemcpy kind=d2h -> oom");
    ck_assert_int_eq(cudaMemcpy(buffer, buffer, 8, cudaMemcpyHostToDevice), 0);
    ck_assert_int_eq(cudaMemcpy(buffer, buffer, 8, cudaMemcpyDeviceToHost), 2);
    cudaStream_t s = (cudaStream_t)buffer;
    arm("cudaStreamSynchronize stream=0 -> oom");
    ck_assert_int_eq(cudaStreamSynchronize(s), 0);
    ck_assert_int_eq(cudaStreamSynchronize(NULL), 2);
    arm("cudaMalloc device=1 -> oom");
    ck_assert_int_eq(malloc_of(1), 0);
    arm("cudaMalloc device=0 -> oom");
    ck_assert_int_eq(malloc_of(1), 2);
}
END_TEST

START_TEST(a_budget_is_a_smaller_card)
{
    void *a = NULL, *b = NULL;
    size_t free_bytes, total;
    arm("* budget=1MiB -> oom");
    ck_assert_int_eq(cudaMalloc(&a, 600 << 10), 0);
    uint64_t live = oomproof_live_bytes();
    ck_assert_int_eq((int)live, 600 << 10);
    ck_assert_int_eq(cudaMalloc(&b, 600 << 10), 2);
    ck_assert_int_eq(cudaGetLastError(), 2);
    ck_assert_int_eq((int)oomproof_live_bytes(), 600 << 10);
    ck_assert_int_eq(cudaMemGetInfo(&free_bytes, &total), 0);
    ck_assert_int_eq((int)total, 1 << 20);
    ck_assert_int_eq((int)free_bytes, (1 << 20) - (600 << 10));
    arm("* budget=100KiB -> oom"); /* over it: nothing is free, and that is no error */
    ck_assert_int_eq(cudaMemGetInfo(&free_bytes, &total), 0);
    ck_assert_int_eq((int)free_bytes, 0);
    ck_assert_int_eq(cudaMalloc(&b, SIZE_MAX), 2); /* no overflow in the sum */
}
END_TEST

static void *first_call(void *result)
{
    *(int *)result = make(OP_ID_cudaStreamQuery);
    return NULL;
}

START_TEST(a_pool_of_host_memory_is_none_of_the_device)
{
    for (int type = cudaMemLocationTypeHost; type <= cudaMemLocationTypeHostNumaCurrent; type++) {
        struct cudaMemPoolProps props = {.location.type = (enum cudaMemLocationType)type};
        cudaMemPool_t pool = (cudaMemPool_t)&props;
        void *p = (char *)NULL + 0x7000;
        arm("cudaMallocFromPoolAsync budget=4KiB -> oom\ncuMemAllocFromPoolAsync budget=4KiB -> "
            "oom");
        ck_assert_int_eq(cudaMemPoolCreate(&pool, &props), 0);
        ck_assert_int_eq(cudaMallocFromPoolAsync(&p, 8192, pool, NULL), 0);
        ck_assert_uint_eq(oomproof_live_bytes(), 0);
        CUdeviceptr at = 0x9000;
        ck_assert_int_eq(cuMemAllocFromPoolAsync(&at, 8192, (CUmemoryPool)pool, NULL), 0);
        /* another one at the same address */
        props.location.type = cudaMemLocationTypeDevice;
        ck_assert_int_eq(cudaMemPoolCreate(&pool, &props), 0);
        ck_assert_int_eq(cudaMallocFromPoolAsync(&p, 8192, pool, NULL), 2);
        ck_assert_int_eq(cuMemAllocFromPoolAsync(&at, 8192, (CUmemoryPool)pool, NULL), 2);
        ck_assert_int_eq(cudaMallocFromPoolAsync(&p, 4096, pool, NULL), 0);
        ck_assert_uint_eq(oomproof_live_bytes(), 4096);
        ck_assert_int_eq(cudaFree(p), 0);
        CUmemPoolProps driver = {.location.type = (CUmemLocationType)type};
        CUmemoryPool other = (CUmemoryPool)&driver;
        ck_assert_int_eq(cuMemPoolCreate(&other, &driver), 0);
        ck_assert_int_eq(cuMemAllocFromPoolAsync(&at, 8192, other, NULL), 0);
    }
}
END_TEST

START_TEST(threads_are_numbered_by_their_first_call)
{
    pthread_t t;
    int of_second = -1;
    arm("cudaStreamQuery thread=1 -> oom");
    ck_assert_int_eq(make(OP_ID_cudaStreamQuery), 0); /* this thread is 0 */
    pthread_create(&t, NULL, first_call, &of_second);
    pthread_join(t, NULL);
    ck_assert_int_eq(of_second, 2);
    ck_assert_int_eq(make(OP_ID_cudaStreamQuery), 0);
}
END_TEST

enum { THREADS = 64, CALLS = 2000 };
static void *many(void *unused)
{
    (void)unused;
    for (int i = 0; i < CALLS; i++) make(OP_ID_cudaStreamQuery);
    return NULL;
}

START_TEST(sixty_four_threads_lose_no_call)
{
    pthread_t t[THREADS];
    arm("cudaStreamQuery nth=77777 -> oom");
    uint64_t before = oomproof_calls("cudaStreamQuery");
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, many, NULL);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    ck_assert_int_eq((int)(oomproof_calls("cudaStreamQuery") - before), THREADS * CALLS);
    ck_assert_int_eq((int)oomproof_matched(0), THREADS * CALLS);
    ck_assert_int_eq((int)oomproof_fired(0), 1);
    ck_assert_int_eq(standin_calls[OP_ID_cudaStreamQuery], THREADS * CALLS - 1);
}
END_TEST

static const case_entry cases[] = {
#include "calls.cases"
};
CASE_MAIN("calls")
