/* sim_errors.c - how a kernel fails, and what every call says afterwards. */
#include "rig.h"
#include <pthread.h>

/* The launch succeeds, the next wait gives `error`, for ever, and stderr names the kernel. */
static void kernel_fails(const void *kernel, const char *name, unsigned threads, void **args,
                         cudaError_t error, const char *says)
{
    char head[200];
    listen_to(2);
    cudaError_t launched = launch(kernel, 1, threads, 0, args), peeked = cudaPeekAtLastError();
    cudaError_t waited = cudaDeviceSynchronize(), again = cudaDeviceSynchronize();
    char *text = heard();
    IS(launched, cudaSuccess);
    IS(peeked, cudaSuccess);
    IS(waited, error);
    IS(again, error);
    snprintf(head, sizeof head, "kernel %s", name);
    ck_assert_msg(ON_A_CARD || (strstr(text, head) && strstr(text, says)),
                  "wanted \"%s\" and \"%s\" in: %s", head, says, text);
    free(text);
}
#define FAILS(kernel, threads, args, error, says) \
    kernel_fails((const void *)kernel, #kernel, threads, args, (cudaError_t)(error), says)

START_TEST(a_store_far_out_of_bounds_is_700)
{
    int *p = device(NULL, 4096), v = 1;
    long long far = 1ll << 28; /* 1 GiB further: no page there */
    FAILS(store, 32, ARGS(&p, &far, &v), 700, "illegal");
}
END_TEST

START_TEST(a_store_below_the_first_allocation_is_700)
{
    int *p = device(NULL, 4096), v = 1;
    long long before = -(1ll << 40);
    FAILS(store, 32, ARGS(&p, &before, &v), 700, "illegal");
}
END_TEST

START_TEST(a_host_pointer_in_a_kernel_is_700)
{
    int x = 0, *p = &x, v = 1;
    long long i = 0;
    FAILS(store, 32, ARGS(&p, &i, &v), 700, "not a device address");
    ck_assert_int_eq(x, 0);
}
END_TEST

START_TEST(a_null_pointer_in_a_kernel_is_700)
{
    int *p = NULL, v = 1;
    long long i = 0;
    FAILS(store, 32, ARGS(&p, &i, &v), 700, "block (0,0,0) thread (0,0,0)");
}
END_TEST

START_TEST(a_misaligned_vector_is_716)
{
    char *p = (char *)device(NULL, 64) + 4;
    float *o = device(NULL, 4);
    FAILS(load_vector, 1, ARGS(&p, &o), 716, "misaligned");
}
END_TEST

START_TEST(a_store_past_shared_memory_is_700)
{
    int *o = device(NULL, 128), i = 1 << 20;
    FAILS(store_shared, 32, ARGS(&i, &o), 700, "shared");
}
END_TEST

START_TEST(a_trap_is_719_and_names_the_thread)
{
    int thread = 37;
    FAILS(trap_in_thread, 64, ARGS(&thread), 719, "thread (37,0,0)");
}
END_TEST

START_TEST(a_failed_assertion_is_710)
{
    int a = 2, b = 1;
    char says[200]; /* a card's words */
    snprintf(says, sizeof says,
             "kernels.cu:%d: void assert_less(int, int): block: [0,0,0], thread: [0,0,0] "
             "Assertion `a < b` failed.",
             assert_line);
    FAILS(assert_less, 1, ARGS(&a, &b), 710, says);
}
END_TEST

START_TEST(a_barrier_that_never_completes_is_719_not_a_hang)
{
    int *o = device(NULL, 256);
    FAILS(barrier_for_half, 64, ARGS(&o), 719, "never completes");
}
END_TEST

START_TEST(a_mask_without_the_caller_is_719)
{
    int *o = device(NULL, 128);
    FAILS(mask_without_caller, 1, ARGS(&o), 719, "mask");
}
END_TEST

START_TEST(a_launch_that_never_ends_uses_up_its_steps)
{
    int *flag = device(NULL, 4);
    setenv("OOMPROOF_SIM_STEPS", "10000000", 1);
    listen_to(2);
    cudaError_t launched = launch((const void *)wait_for_ever, 2, 1, 0, ARGS(&flag));
    cudaError_t e = cudaDeviceSynchronize();
    char *text = heard();
    OK(launched);
    IS(e, cudaErrorLaunchFailure);
    ck_assert_msg(strstr(text, "OOMPROOF_SIM_STEPS") != NULL, "said: %s", text);
    free(text);
}
END_TEST

START_TEST(every_call_after_a_failed_kernel_returns_its_error)
{
    int thread = 0, x, *p = device(NULL, 4);
    size_t a, b;
    void *q = &x;
    cudaStream_t s;
    cudaEvent_t ev;
    cudaError_t e = 719;
    OK(launch((const void *)trap_in_thread, 1, 1, 0, ARGS(&thread)));
    cudaError_t early = cudaMemsetAsync(p, 0, 4, NULL); /* waits for nothing: not known yet */
    if (!ON_A_CARD || early != e) OK(early); /* where the kernel may have ended by itself */
    IS(cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost), e);
    IS(cudaGetLastError(), e);
    IS(cudaGetLastError(), e); /* clearing does not help: the context is dead */
    IS(cudaPeekAtLastError(), e);
    IS(cudaMalloc(&q, 4), e);
    ck_assert_ptr_eq(q, &x);
    IS(cudaFree(p), e);
    IS(cudaMemset(p, 0, 4), e);
    IS(cudaMemcpyAsync(&x, p, 4, cudaMemcpyDeviceToHost, NULL), e);
    IS(cudaStreamSynchronize(NULL), e);
    IS(cudaStreamCreate(&s), e);
    IS(cudaEventCreate(&ev), e);
    IS(cudaMemGetInfo(&a, &b), e);
    IS(launch((const void *)trap_in_thread, 1, 1, 0, ARGS(&thread)), e);
    IS(launch((const void *)trap_in_thread, 1, 2000, 0, ARGS(&thread)), e);
}
END_TEST

START_TEST(nothing_runs_behind_a_failed_kernel)
{
    int thread = 0, x = 7, v = 9, *p = device(&x, 4);
    long long i = 0;
    OK(launch((const void *)trap_in_thread, 1, 1, 0, ARGS(&thread)));
    cudaError_t behind = launch((const void *)store, 1, 1, 0, ARGS(&p, &i, &v));
    x = 5;
    cudaError_t copied = cudaMemcpyAsync(&x, p, 4, cudaMemcpyDeviceToHost, NULL);
    if (!ON_A_CARD || behind != 719) OK(behind); /* a card may know of the failure by now */
    if (!ON_A_CARD || copied != 719) OK(copied);
    ck_assert_int_eq(x, 5);
    IS(cudaDeviceSynchronize(), 719);
}
END_TEST

START_TEST(a_bad_launch_configuration_is_refused_and_forgotten)
{
    int x = 0, v = 9, n = 16, *p = device(NULL, 4096);
    long long i = 0;
    void **args = ARGS(&p, &i, &v);
    static const struct {
        struct dim3 grid, block;
    } bad[] = {{{1, 1, 1}, {1025, 1, 1}},  {{1, 1, 1}, {33, 32, 1}}, {{1, 1, 1}, {1, 1, 65}},
               {{1, 1, 1}, {0, 1, 1}},     {{0, 1, 1}, {1, 1, 1}},   {{1, 65536, 1}, {1, 1, 1}},
               {{1, 1, 65536}, {1, 1, 1}}, {{1, 1, 1}, {1, 0, 1}}};
    for (int k = 0; k < COUNT(bad); k++) {
        cudaError_t e =
            cudaLaunchKernel((const void *)store, bad[k].grid, bad[k].block, args, 0, NULL);
        ck_assert_msg(e == cudaErrorInvalidConfiguration, "configuration %d gave %d, not 9", k, e);
        IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
        IS(cudaGetLastError(), cudaSuccess);
    }
    IS(launch((const void *)reverse_dynamic, 1, 32, 48 * 1024 + 1, ARGS(&p, &n)),
       cudaErrorInvalidValue);
    IS(cudaFuncSetAttribute((const void *)reverse_dynamic,
                            cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024 + 1),
       cudaErrorInvalidValue);
    IS(cudaGetLastError(), cudaErrorInvalidValue);
    store_by_chevrons(1025, p, 8);
    IS(cudaGetLastError(), cudaErrorInvalidConfiguration);
    OK(cudaDeviceSynchronize());
    store_by_chevrons(1, p, 8);
    OK(cudaGetLastError());
    fetch(&x, p, 4);
    ck_assert_int_eq(x, 8);
}
END_TEST

START_TEST(an_address_that_is_no_kernel_is_98)
{
    static int not_a_kernel;
    IS(launch(&not_a_kernel, 1, 1, 0, NULL), cudaErrorInvalidDeviceFunction);
    OK(cudaDeviceSynchronize());
}
END_TEST

START_TEST(the_last_error_is_read_by_peek_and_cleared_by_get)
{
    size_t a, b;
    void *p;
    OK(cudaGetLastError());
    IS(cudaMemGetInfo(NULL, &a), cudaErrorInvalidValue);
    OK(cudaMemGetInfo(&a, &b)); /* a success does not clear it */
    OK(cudaMalloc(&p, 16));
    IS(cudaPeekAtLastError(), cudaErrorInvalidValue);
    IS(cudaPeekAtLastError(), cudaErrorInvalidValue);
    IS(cudaSetDevice(1000), cudaErrorInvalidDevice); /* the latest counts */
    IS(cudaGetLastError(), cudaErrorInvalidDevice);
    OK(cudaGetLastError());
    OK(cudaPeekAtLastError());
}
END_TEST

static pthread_barrier_t both;

static void *fails_alone(void *out)
{
    cudaError_t *seen = out;
    seen[0] = cudaSetDevice(1000);
    pthread_barrier_wait(&both); /* the other looks now */
    pthread_barrier_wait(&both);
    seen[1] = cudaGetLastError();
    return NULL;
}

START_TEST(each_thread_has_its_own_last_error)
{
    cudaError_t seen[2];
    pthread_t t;
    pthread_barrier_init(&both, NULL, 2);
    ck_assert_int_eq(pthread_create(&t, NULL, fails_alone, seen), 0);
    pthread_barrier_wait(&both);
    cudaError_t here = cudaGetLastError();
    pthread_barrier_wait(&both);
    pthread_join(t, NULL);
    IS(here, cudaSuccess);
    IS(seen[0], cudaErrorInvalidDevice);
    IS(seen[1], cudaErrorInvalidDevice);
}
END_TEST

static void *null_store(void *out)
{
    int *p = NULL, v = 1;
    long long i = 0;
    cudaError_t *seen = out;
    seen[0] = launch((const void *)store, 1, 1, 0, ARGS(&p, &i, &v));
    seen[1] = cudaDeviceSynchronize();
    return NULL;
}

/* Its stack lies below those of the fibers, which the first launch made on the main thread. */
START_TEST(a_kernel_fails_on_a_second_thread_as_on_the_first)
{
    cudaError_t seen[2];
    pthread_t t;
    int live = 64, *o = device(NULL, 4096);
    run(early_exit, 1, 1024, ARGS(&live, &o));
    ck_assert_int_eq(pthread_create(&t, NULL, null_store, seen), 0);
    pthread_join(t, NULL);
    OK(seen[0]);
    IS(seen[1], cudaErrorIllegalAddress);
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress); /* dead for all threads */
}
END_TEST

START_TEST(a_failed_allocation_is_2_and_leaves_everything_else_alone)
{
    size_t before, after, total;
    void *const untouched = &before;
    void *p = untouched;
    OK(cudaMemGetInfo(&before, &total));
    IS(cudaMalloc(&p, total + 1), cudaErrorMemoryAllocation);
    ck_assert_msg(p == untouched, "the pointer became %p", p);
    IS(cudaMalloc(&p, (size_t)-1), cudaErrorMemoryAllocation);
    IS(cudaPeekAtLastError(), cudaErrorMemoryAllocation);
    IS(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaMemGetInfo(&after, &total));
    ck_assert_msg(before == after, "free went from %zu to %zu", before, after);
    OK(cudaDeviceSynchronize());
    OK(cudaMalloc(&p, 1024));
    OK(cudaGetLastError());
}
END_TEST

START_TEST(a_destroyed_stream_or_event_is_400)
{
    cudaStream_t s;
    cudaEvent_t e;
    float ms;
    OK(cudaStreamCreate(&s));
    OK(cudaEventCreate(&e));
    IS(cudaEventElapsedTime(&ms, e, e), cudaErrorInvalidResourceHandle); /* never recorded */
    OK(cudaEventRecord(e, s));
    OK(cudaStreamWaitEvent(s, e, 0));
    OK(cudaEventElapsedTime(&ms, e, e));
    OK(cudaStreamDestroy(s));
    IS(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    IS(cudaEventRecord(e, s), cudaErrorInvalidResourceHandle);
    IS(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
    OK(cudaEventDestroy(e));
    IS(cudaEventSynchronize(e), cudaErrorInvalidResourceHandle);
    OK(cudaDeviceSynchronize());
}
END_TEST

START_TEST(an_instruction_outside_the_set_is_named_with_kernel_and_line)
{
    int take = 5;
    unsigned *o = device(NULL, 4);
    FAILS(exotic, 1, ARGS(&take, &o), 715, "vavrg4.u32.u32.u32");
}
END_TEST

START_TEST(an_instruction_outside_the_set_stops_only_who_reaches_it)
{
    int take = 0;
    unsigned x = 0, *o = device(NULL, 4);
    listen_to(2);
    cudaError_t e = launch((const void *)exotic, 1, 1, 0, ARGS(&take, &o));
    char *text = heard();
    OK(e);
    fetch(&x, o, 4);
    ck_assert_uint_eq(x, 1);
    free(text);
}
END_TEST

START_TEST(tensor_cores_are_refused_not_approximated)
{
    float f = 1.5f;
    unsigned *o = device(NULL, 4);
    FAILS(tensor_core, 1, ARGS(&f, &o), 715, "mma.sync.aligned.m16n8k8");
}
END_TEST

START_TEST(local_memory_beyond_what_a_thread_has_is_refused_at_the_launch)
{
    int n = 50000, *o = device(NULL, 4096);
    listen_to(2);
    cudaError_t e = launch((const void *)big_local_array, 1, 64, 0, ARGS(&n, &o));
    char *text = heard();
    IS(e, cudaErrorInvalidKernelImage);
    ck_assert_msg(strstr(text, "big_local_array needs 200000 bytes of local memory"), "said: %s",
                  text);
    OK(cudaDeviceSynchronize());
    free(text);
}
END_TEST

static const case_entry cases[] = {
#include "sim_errors.def"
};
CASE_MAIN("sim_errors")
