/* sim_capture.c - stream capture and graphs: what is recorded runs when it is launched, and a call
 * that does not belong there ends the capture with the codes of the CUDA documentation. */
#include "rig.h"

static cudaStream_t stream(void)
{
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

static enum cudaStreamCaptureStatus status(cudaStream_t s)
{
    enum cudaStreamCaptureStatus now;
    OK(cudaStreamIsCapturing(s, &now));
    return now;
}

static int first_of(const int *device_memory)
{
    int v;
    fetch(&v, device_memory, 4);
    return v;
}

static cudaError_t put(int *p, int v, cudaStream_t s)
{
    long long i = 0;
    return cudaLaunchKernel((const void *)store, (dim3){1, 1, 1}, (dim3){1, 1, 1}, ARGS(&p, &i, &v),
                            0, s);
}

START_TEST(captured_work_runs_at_each_launch_and_not_before)
{
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaGraphExec_t x;
    int *p = device(NULL, 8);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    ck_assert_int_eq(status(s), cudaStreamCaptureStatusActive);
    OK(put(p, 5, s));
    OK(cudaMemcpyAsync(p + 1, p, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaStreamEndCapture(s, &g));
    ck_assert_int_eq(status(s), cudaStreamCaptureStatusNone);
    ck_assert_int_eq(first_of(p), 0);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphDestroy(g)); /* an instance lives on */
    for (int turn = 0; turn < 2; turn++) {
        OK(cudaMemset(p, 0, 8));
        OK(cudaGraphLaunch(x, s));
        OK(cudaStreamSynchronize(s));
        ck_assert_int_eq(first_of(p), 5);
        ck_assert_int_eq(first_of(p + 1), 5);
    }
    OK(cudaGraphExecDestroy(x));
}
END_TEST

START_TEST(events_fork_a_capture_and_join_it)
{
    cudaStream_t a = stream(), b = stream();
    cudaEvent_t fork_event, join_event;
    cudaGraph_t g;
    cudaGraphExec_t x;
    size_t n = 0, roots = 0;
    int *p = device(NULL, 8);
    OK(cudaEventCreate(&fork_event));
    OK(cudaEventCreate(&join_event));
    for (int joins = 0; joins < 2; joins++) {
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        OK(put(p, 1, a));
        OK(cudaEventRecord(fork_event, a));
        OK(cudaStreamWaitEvent(b, fork_event, 0));
        ck_assert_int_eq(status(b), cudaStreamCaptureStatusActive);
        OK(put(p + 1, 2, b));
        IS(cudaStreamEndCapture(b, &g), cudaErrorStreamCaptureUnmatched);
        IS(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureInvalidated);
        cudaGetLastError();
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        OK(put(p, 1, a));
        OK(cudaEventRecord(fork_event, a));
        IS(cudaEventQuery(fork_event), cudaErrorCapturedEvent);
        OK(cudaStreamWaitEvent(b, fork_event, 0));
        OK(put(p + 1, 2, b));
        OK(cudaEventRecord(join_event, b));
        if (!joins) {
            IS(cudaStreamEndCapture(a, &g), cudaErrorStreamCaptureUnjoined);
            ck_assert_ptr_null(g);
            cudaGetLastError();
            continue;
        }
        OK(cudaStreamWaitEvent(a, join_event, 0));
        OK(put(p, 3, a));
        OK(cudaStreamEndCapture(a, &g));
    }
    OK(cudaGraphGetNodes(g, NULL, &n));
    OK(cudaGraphGetRootNodes(g, NULL, &roots));
    ck_assert_uint_eq(n, 3);
    ck_assert_uint_eq(roots, 1);
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, a));
    OK(cudaStreamSynchronize(a));
    ck_assert_int_eq(first_of(p), 3);
    ck_assert_int_eq(first_of(p + 1), 2);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}
END_TEST

/* Each call that may not be made while a stream captures: its code, and the capture is lost. */
static void lost(const char *what, cudaError_t got, cudaError_t want, cudaStream_t s)
{
    cudaGraph_t g = (cudaGraph_t)(uintptr_t)1;
    ck_assert_msg(got == want, "%s gave %d, not %d", what, got, want);
    cudaGetLastError();
    ck_assert_msg(status(s) == cudaStreamCaptureStatusInvalidated, "%s left the capture valid",
                  what);
    IS(put(NULL, 1, s), cudaErrorStreamCaptureInvalidated);
    IS(cudaStreamEndCapture(s, &g), cudaErrorStreamCaptureInvalidated);
    ck_assert_ptr_null(g);
    cudaGetLastError();
    ck_assert_int_eq(status(s), cudaStreamCaptureStatusNone);
}

START_TEST(a_call_that_does_not_belong_there_invalidates_the_capture)
{
    cudaStream_t s = stream(), blocking;
    cudaEvent_t outside;
    int *p = device(NULL, 4), x;
    void *q;
    OK(cudaStreamCreate(&blocking));
    OK(cudaEventCreate(&outside));
    OK(cudaEventRecord(outside, NULL));
#define LOST(on, call, want)                                         \
    do {                                                             \
        OK(cudaStreamBeginCapture(on, cudaStreamCaptureModeGlobal)); \
        OK(put(p, 1, on));                                           \
        lost(#call, call, want, on);                                 \
    } while (0)
    LOST(s, cudaMalloc(&q, 100), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaFree(p), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaMallocHost(&q, 100), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaStreamQuery(s), cudaErrorStreamCaptureUnsupported);
    LOST(s, cudaStreamWaitEvent(s, outside, 0), cudaErrorStreamCaptureIsolation);
    LOST(blocking, put(p, 1, NULL), cudaErrorStreamCaptureImplicit);
    LOST(blocking, cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureImplicit);
    IS(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal),
       cudaErrorStreamCaptureUnsupported);
}
END_TEST

START_TEST(an_allocation_that_fails_in_a_capture_is_2_and_invalidates_it)
{
    setenv("OOMPROOF_SIM_MEMORY", "64MiB", 1);
    cudaStream_t s = stream();
    void *q = &q;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    IS(cudaMallocAsync(&q, (size_t)65 << 20, s), cudaErrorMemoryAllocation);
    ck_assert_ptr_eq(q, &q);
    lost("cudaMallocAsync", cudaErrorMemoryAllocation, cudaErrorMemoryAllocation, s);
    OK(cudaMallocAsync(&q, (size_t)32 << 20, s)); /* out of the capture all is as before */
}
END_TEST

START_TEST(memory_that_a_capture_takes_goes_with_its_graph)
{
    size_t before, now, total;
    cudaStream_t s = stream();
    cudaGraph_t g;
    cudaGraphExec_t x;
    int *p;
    int *out = device(NULL, 4);
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMallocAsync((void **)&p, 4 << 20, s));
    OK(put(p, 11, s));
    OK(cudaMemcpyAsync(out, p, 4, cudaMemcpyDeviceToDevice, s));
    OK(cudaFreeAsync(p, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&x, g, 0));
    OK(cudaGraphLaunch(x, s));
    OK(cudaStreamSynchronize(s));
    ck_assert_int_eq(first_of(out), 11);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
    OK(cudaMemGetInfo(&now, &total));
    ck_assert_uint_eq(now, before);
}
END_TEST

START_TEST(a_relaxed_capture_and_a_relaxed_thread_may_allocate)
{
    cudaStream_t s = stream();
    cudaGraph_t g;
    void *q;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&q, 100));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    ck_assert_int_eq(mode, cudaStreamCaptureModeGlobal);
    OK(cudaMalloc(&q, 100));
    OK(cudaThreadExchangeStreamCaptureMode(&mode));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
}
END_TEST

static void count_up(void *n)
{
    ++*(int *)n;
}

START_TEST(graphs_built_by_hand_run_in_the_order_of_their_edges)
{
    int *p = device(NULL, 4), v = 21, called = 0;
    long long i = 0;
    cudaGraph_t g;
    cudaGraphNode_t kernel, then, empty;
    cudaGraphExec_t x;
    cudaGraphExecUpdateResultInfo result;
    OK(cudaGraphCreate(&g, 0));
    struct cudaKernelNodeParams k = {.func = (void *)store,
                                     .gridDim = {1, 1, 1},
                                     .blockDim = {1, 1, 1},
                                     .kernelParams = ARGS(&p, &i, &v)};
    struct cudaHostNodeParams h = {count_up, &called};
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    OK(cudaGraphAddKernelNode(&kernel, g, &empty, 1, &k));
    OK(cudaGraphAddHostNode(&then, g, &kernel, 1, &h));
    OK(cudaGraphInstantiate(&x, g, 0));
    v = 0; /* the node has its own copy */
    OK(cudaGraphLaunch(x, NULL));
    OK(cudaDeviceSynchronize());
    ck_assert_int_eq(first_of(p), 21);
    ck_assert_int_eq(called, 1);
    OK(cudaGraphExecUpdate(x, g, &result));
    OK(cudaGraphAddEmptyNode(&empty, g, NULL, 0));
    IS(cudaGraphExecUpdate(x, g, &result), cudaErrorGraphExecUpdateFailure);
    ck_assert_int_eq(result.result, cudaGraphExecUpdateErrorTopologyChanged);
    OK(cudaGraphExecDestroy(x));
    OK(cudaGraphDestroy(g));
}
END_TEST

START_TEST(a_reset_frees_everything_and_ends_a_sticky_error)
{
    size_t before, now, total;
    int *p, v = 4;
    long long far = 1LL << 40, i = 0;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc((void **)&p, 10 << 20));
    OK(launch((const void *)store, 1, 1, 0, ARGS(&p, &far, &v)));
    IS(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    IS(cudaMalloc((void **)&p, 4), cudaErrorIllegalAddress);
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&now, &total));
    ck_assert_uint_eq(now, before);
    OK(cudaMalloc((void **)&p, 4));
    run((const void *)store, 1, 1, ARGS(&p, &i, &v));
    ck_assert_int_eq(first_of(p), 4);
}
END_TEST

static const case_entry cases[] = {
#include "sim_capture.def"
};
CASE_MAIN("sim_capture")
