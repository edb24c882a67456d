/* streams.c - lazy streams: work happens as late as the rules of streams allow, and in their order.
 */
#include "case.h"
#include <cuda_runtime_api.h>

enum { N = 1000 };
static int host[N], more[N];
static int *device;

static void open_lazy(void)
{
    setenv("OOMPROOF_SIM_STREAMS", "lazy", 1);
    ck_assert_int_eq(cudaMalloc((void **)&device, sizeof host), cudaSuccess);
    ck_assert_int_eq(cudaMemset(device, 0x11, sizeof host), cudaSuccess);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess); /* a set is not waited for either */
    memset(host, 0, sizeof host);
}

static cudaStream_t stream(unsigned flags)
{
    cudaStream_t s;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&s, flags), cudaSuccess);
    return s;
}

static cudaError_t down(int *to, cudaStream_t s)
{
    return cudaMemcpyAsync(to, device, sizeof host, cudaMemcpyDeviceToHost, s);
}

START_TEST(a_copy_that_was_not_waited_for_is_not_there)
{
    open_lazy();
    cudaStream_t s = stream(cudaStreamDefault);
    ck_assert_int_eq(down(host, s), cudaSuccess);
    ck_assert_int_eq(host[0], 0);
    ck_assert_int_eq(cudaStreamSynchronize(s), cudaSuccess);
    ck_assert_int_eq(host[0], 0x11111111);
    ck_assert_int_eq(host[N - 1], 0x11111111);
    /* a call that waits for everything, and a free, wait too */
    memset(host, 0, sizeof host);
    ck_assert_int_eq(down(host, s), cudaSuccess);
    ck_assert_int_eq(host[0], 0);
    ck_assert_int_eq(cudaFree(device), cudaSuccess);
    ck_assert_int_eq(host[0], 0x11111111);
}
END_TEST

START_TEST(waiting_for_one_stream_leaves_another_undone)
{
    open_lazy();
    cudaStream_t a = stream(cudaStreamNonBlocking), b = stream(cudaStreamNonBlocking);
    down(host, a);
    down(more, b);
    ck_assert_int_eq(cudaStreamSynchronize(b), cudaSuccess);
    ck_assert_int_eq(more[0], 0x11111111);
    ck_assert_int_eq(host[0], 0);
    ck_assert_int_eq(cudaDeviceSynchronize(), cudaSuccess);
    ck_assert_int_eq(host[0], 0x11111111);
}
END_TEST

START_TEST(the_default_stream_comes_between_blocking_streams)
{
    open_lazy();
    cudaStream_t a = stream(cudaStreamDefault), b = stream(cudaStreamDefault);
    cudaMemsetAsync(device, 0x22, sizeof host, a);
    cudaMemsetAsync(device, 0x33, sizeof host, NULL); /* after a's */
    down(host, b);                                    /* after that */
    ck_assert_int_eq(cudaStreamSynchronize(b), cudaSuccess);
    ck_assert_int_eq(host[0], 0x33333333);
    cudaMemsetAsync(device, 0x44, sizeof host, a);
    down(more, NULL);
    ck_assert_int_eq(cudaStreamSynchronize(NULL), cudaSuccess);
    ck_assert_int_eq(more[0], 0x44444444);
}
END_TEST

START_TEST(a_stream_that_does_not_wait_may_be_overtaken)
{
    open_lazy();
    cudaStream_t a = stream(cudaStreamNonBlocking), b = stream(cudaStreamNonBlocking);
    cudaMemsetAsync(device, 0x22, sizeof host, a);
    down(host, b); /* no event between them: nothing orders this behind the set */
    ck_assert_int_eq(cudaStreamSynchronize(b), cudaSuccess);
    ck_assert_int_eq(host[0], 0x11111111);
}
END_TEST

START_TEST(an_event_orders_one_stream_behind_another)
{
    open_lazy();
    cudaStream_t a = stream(cudaStreamNonBlocking), b = stream(cudaStreamNonBlocking);
    cudaEvent_t e;
    ck_assert_int_eq(cudaEventCreate(&e), cudaSuccess);
    cudaMemsetAsync(device, 0x22, sizeof host, a);
    ck_assert_int_eq(cudaEventRecord(e, a), cudaSuccess);
    ck_assert_int_eq(cudaStreamWaitEvent(b, e, 0), cudaSuccess);
    down(host, b);
    ck_assert_int_eq(cudaStreamSynchronize(b), cudaSuccess);
    ck_assert_int_eq(host[0], 0x22222222);
    /* what came after the record is not waited for */
    cudaMemsetAsync(device, 0x33, sizeof host, a);
    ck_assert_int_eq(cudaEventRecord(e, a), cudaSuccess);
    down(more, a);
    ck_assert_int_eq(cudaEventSynchronize(e), cudaSuccess);
    ck_assert_int_eq(more[0], 0);
}
END_TEST

START_TEST(a_program_that_polls_goes_on)
{
    open_lazy();
    cudaStream_t s = stream(cudaStreamDefault);
    cudaEvent_t e;
    cudaEventCreate(&e);
    for (int i = 0; i < 5; i++) down(i == 4 ? host : more, s);
    cudaEventRecord(e, s);
    int asked = 0;
    ck_assert_int_eq(cudaStreamQuery(s), cudaErrorNotReady);
    ck_assert_int_eq(cudaGetLastError(), cudaSuccess);
    while (cudaEventQuery(e) == cudaErrorNotReady) ck_assert_int_lt(asked++, 100);
    ck_assert_int_eq(host[0], 0x11111111);
    ck_assert_int_eq(cudaStreamQuery(s), cudaSuccess);
}
END_TEST

START_TEST(pageable_memory_is_read_at_once_and_pinned_memory_later)
{
    open_lazy();
    cudaStream_t s = stream(cudaStreamDefault);
    int *pinned;
    ck_assert_int_eq(cudaMallocHost((void **)&pinned, sizeof host), cudaSuccess);
    memset(host, 0x22, sizeof host);
    cudaMemcpyAsync(device, host, sizeof host, cudaMemcpyHostToDevice, s);
    memset(host, 0x33, sizeof host); /* the driver has staged it already */
    down(more, s);
    cudaStreamSynchronize(s);
    ck_assert_int_eq(more[0], 0x22222222);
    memset(pinned, 0x44, sizeof host);
    cudaMemcpyAsync(device, pinned, sizeof host, cudaMemcpyHostToDevice, s);
    memset(pinned, 0x55, sizeof host); /* a bug: the copy has not read it yet */
    down(more, s);
    cudaStreamSynchronize(s);
    ck_assert_int_eq(more[0], 0x55555555);
    ck_assert_int_eq(cudaFreeHost(pinned), cudaSuccess);
    ck_assert_int_eq(cudaFreeHost(pinned), cudaErrorInvalidValue);
}
END_TEST

START_TEST(streams_and_events_that_are_gone_are_refused)
{
    open_lazy();
    cudaStream_t s = stream(cudaStreamDefault);
    cudaEvent_t e;
    cudaEventCreate(&e);
    down(host, s);
    cudaEventRecord(e, s);
    ck_assert_int_eq(cudaStreamDestroy(s), cudaSuccess); /* its work goes on */
    ck_assert_int_eq(cudaEventSynchronize(e), cudaSuccess);
    ck_assert_int_eq(host[0], 0x11111111);
    ck_assert_int_eq(cudaStreamDestroy(s), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamSynchronize(s), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(down(host, s), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaMemsetAsync(device, 0, 4, s), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaEventDestroy(e), cudaSuccess);
    ck_assert_int_eq(cudaEventQuery(e), cudaErrorInvalidResourceHandle);
    ck_assert_int_eq(cudaStreamDestroy(NULL), cudaErrorInvalidResourceHandle);
}
END_TEST

static const case_entry cases[] = {
#include "streams.def"
};
CASE_MAIN("streams")
