/* lookup.c - the ways in which a static runtime finds the driver's functions, under the shim, in
 * front of a stand-in for libcuda.so.1: rules reach what is found, whichever way. */
#define _GNU_SOURCE
#include "case.h"
#include "oomproof.h"
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>

#undef cuGetProcAddress
typedef CUresult lookup_1(const char *, void **, int, cuuint64_t);
typedef CUresult lookup_2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult alloc_fn(CUdeviceptr *, size_t);
typedef CUresult free_fn(CUdeviceptr);
int next_whose(void);

static void *driver;
static int *calls;
static lookup_2 *open_driver(void)
{
    lookup_2 *f;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    ck_assert_msg(driver != NULL, "%s", dlerror());
    calls = dlsym(driver, "standin_calls");
    *(void **)&f = dlsym(driver, "cuGetProcAddress_v2");
    ck_assert(f != NULL && calls != NULL);
    return f;
}

static void arm(const char *rules)
{
    char error[256];
    ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s", error);
}

/* The function works, is failed by the rule without being reached, and works again. */
static void check_alloc(alloc_fn *f, const char *how)
{
    CUdeviceptr p = 0;
    arm("cuMemAlloc nth=2 -> oom");
    ck_assert_msg(f(&p, 1000) == 0 && p, "%s", how);
    int before = *calls;
    ck_assert_msg(f(&p, 1000) == CUDA_ERROR_OUT_OF_MEMORY, "%s: not failed", how);
    ck_assert_msg(*calls == before, "%s: the driver was reached", how);
    ck_assert_msg(f(&p, 1000) == 0, "%s", how);
    ck_assert_int_eq((int)oomproof_fired(0), 1);
    oomproof_disarm();
}

START_TEST(every_way_to_an_allocation_is_the_shims)
{
    lookup_2 *look = open_driver(), *again;
    lookup_1 *old;
    alloc_fn *f;
    void *p;
    CUdriverProcAddressQueryResult status = 99;
    ck_assert_int_eq(look("cuMemAlloc", &p, 3020, 0, &status), 0);
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
    *(void **)&f = p;
    check_alloc(f, "cuGetProcAddress_v2");
    ck_assert_int_eq(look("cuMemAlloc", &p, 13000, 0, NULL), 0); /* no status is allowed */
    *(void **)&f = p;
    check_alloc(f, "cuGetProcAddress_v2 without a status");
    ck_assert_int_eq(look("cuGetProcAddress", &p, 12000, 0, NULL), 0); /* asks for itself */
    *(void **)&again = p;
    ck_assert_int_eq(again("cuMemAlloc", &p, 12000, 0, NULL), 0);
    *(void **)&f = p;
    check_alloc(f, "the lookup found by the lookup");
    ck_assert_int_eq(look("cuGetProcAddress", &p, 11030, 0, NULL), 0);
    *(void **)&old = p;
    ck_assert_int_eq(old("cuMemAlloc", &p, 11030, 0), 0);
    *(void **)&f = p;
    check_alloc(f, "the lookup of CUDA 11");
    *(void **)&f = dlsym(driver, "cuMemAlloc_v2");
    check_alloc(f, "dlsym by handle");
    *(void **)&f = dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    check_alloc(f, "dlsym by default");
}
END_TEST

START_TEST(a_program_of_per_thread_streams_is_seen)
{
    CUresult (*async)(CUdeviceptr *, size_t, CUstream);
    CUdeviceptr at = 0;
    open_driver();
    void *handle[] = {driver, RTLD_DEFAULT};
    for (int i = 0; i < 2; i++) { /* what linking to it finds is what RTLD_DEFAULT does */
        *(void **)&async = dlsym(handle[i], "cuMemAllocAsync_ptsz");
        arm("cuMemAllocAsync nth=2 -> oom");
        ck_assert_int_eq(async(&at, 8, NULL), 0);
        ck_assert_uint_eq(at, 0x300000);
        ck_assert_int_eq(async(&at, 8, NULL), 2);
        ck_assert_int_eq((int)oomproof_fired(0), 1);
    }
}
END_TEST

START_TEST(a_code_that_kills_the_context_stays)
{
    lookup_2 *look = open_driver();
    alloc_fn *get;
    free_fn *give;
    CUdeviceptr p = 0;
    void *found;
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       unsigned, CUstream, void **, void **);
    *(void **)&launch = dlsym(driver, "cuLaunchKernel");
    look("cuMemAlloc", &found, 12000, 0, NULL);
    *(void **)&get = found;
    look("cuMemFree", &found, 12000, 0, NULL);
    *(void **)&give = found;
    arm("cuLaunchKernel nth=1 -> error(CUDA_ERROR_NOT_SUPPORTED)");
    ck_assert_int_eq(launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 801);
    ck_assert_int_eq(get(&p, 1000), 0); /* this one does not */
    arm("cuLaunchKernel nth=1 -> error(CUDA_ERROR_ILLEGAL_ADDRESS)");
    ck_assert_int_eq(launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 700);
    int before = *calls;
    ck_assert_int_eq(get(&p, 1000), 700);
    ck_assert_int_eq(give(p), 700);
    ck_assert_int_eq(launch(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 700);
    ck_assert_int_eq(*calls, before);
}
END_TEST

START_TEST(other_prototypes_and_names_are_left_alone)
{
    lookup_2 *look = open_driver();
    void *p = (void *)1;
    unsigned small = 0;
    CUdriverProcAddressQueryResult status;
    ck_assert_int_eq(look("cuMemAlloc", &p, 2000, 0, &status), 0);
    CUresult (*v1)(unsigned *, unsigned);
    *(void **)&v1 = p;
    arm("cuMemAlloc -> oom");
    ck_assert_int_eq(v1(&small, 77), 1002); /* CUDA 2's, of 32 bits: not the prototype we know */
    ck_assert_int_eq((int)small, 77);
    ck_assert_int_eq(look("noSuchFunction", &p, 12000, 0, NULL), CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(look("noSuchFunction", &p, 12000, 0, &status), CUDA_ERROR_NOT_FOUND);
    ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CUresult (*init)(unsigned);
    *(void **)&init = dlsym(driver, "cuInit");
    ck_assert_int_eq(init(5), 5);
    ck_assert_ptr_null(dlsym(driver, "cuMemCreate")); /* the stand-in lacks it: no wrapper either */
    /* the per-thread variant is another function with the same prototype */
    CUresult (*async)(CUdeviceptr *, size_t, CUstream);
    CUdeviceptr at = 0;
    ck_assert_int_eq(look("cuMemAllocAsync", &p, 12000, 2, NULL), 0);
    *(void **)&async = p;
    ck_assert_int_eq(async(&at, 8, NULL), 0);
    ck_assert_uint_eq(at, 0x300000);
    ck_assert_int_eq(look("cuMemAllocAsync", &p, 12000, 0, NULL), 0);
    *(void **)&async = p;
    ck_assert_int_eq(async(&at, 8, NULL), 0);
    ck_assert_uint_eq(at, 0x200000);
    arm("cuMemAllocAsync -> oom");
    ck_assert_int_eq(async(&at, 8, NULL), 2);
}
END_TEST

/* A wrapper there would call through a NULL, and the program believe that the function is there. */
START_TEST(a_lookup_that_succeeds_without_a_function_answers_none)
{
    static const char *const names[] = {"cuMemMap", "cuLaunchKernel", "noSuchFunction"};
    lookup_2 *look = open_driver();
    lookup_1 *first;
    *(void **)&first = dlsym(driver, "cuGetProcAddress");
    int *lenient = dlsym(driver, "standin_lenient");
    ck_assert(first != NULL && lenient != NULL);
    *lenient = 1;
    for (int i = 0; i < 3; i++) {
        CUdriverProcAddressQueryResult status = 99;
        void *p = &p;
        ck_assert_int_eq(look(names[i], &p, 12000, 0, &status), 0);
        ck_assert_int_eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
        ck_assert_msg(p == NULL, "%s by cuGetProcAddress_v2", names[i]);
        p = &p;
        ck_assert_int_eq(look(names[i], &p, 12000, 0, NULL), 0);
        ck_assert_msg(p == NULL, "%s without a status", names[i]);
        p = &p;
        ck_assert_int_eq(first(names[i], &p, 11030, 0), 0);
        ck_assert_msg(p == NULL, "%s by cuGetProcAddress", names[i]);
    }
}
END_TEST

START_TEST(the_driver_level_is_a_count_of_its_own)
{
    lookup_2 *look = open_driver();
    void *p;
    alloc_fn *get;
    free_fn *give;
    CUdeviceptr a, b;
    look("cuMemAlloc", &p, 12000, 0, NULL);
    *(void **)&get = p;
    look("cuMemFree", &p, 12000, 0, NULL);
    *(void **)&give = p;
    arm("cuMemAlloc budget=2KiB -> oom");
    ck_assert_int_eq(get(&a, 1500), 0);
    ck_assert_int_eq(get(&b, 1500), 2);
    ck_assert_uint_eq(oomproof_live_bytes(), 0); /* that is the runtime's */
    ck_assert_int_eq(give(a), 0);
    ck_assert_int_eq(get(&b, 1500), 0);
}
END_TEST

START_TEST(rtld_next_stays_relative_to_its_caller)
{
    ck_assert_int_eq(next_whose(), 2);
}
END_TEST

static void *lookups(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10000; i++)
        if (!dlsym(driver, "cuMemAlloc_v2") || !dlsym(RTLD_NEXT, "open")) return (void *)1;
    return NULL;
}

START_TEST(eight_threads_look_up_the_same)
{
    pthread_t t[8];
    void *failed = NULL, *any = NULL;
    open_driver();
    for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, lookups, NULL);
    for (int i = 0; i < 8; i++) {
        pthread_join(t[i], &failed);
        if (failed) any = failed;
    }
    ck_assert_ptr_null(any);
}
END_TEST

static const case_entry cases[] = {
#include "lookup.def"
};
CASE_MAIN("lookup")
