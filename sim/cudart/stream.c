/* stream.c - streams and events. Their work is in queue.c. */
#include "state.h"
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
    double when; /* milliseconds; < 0: not recorded, or not reached */
    unsigned flags;
    struct CUstream_st *stream; /* recorded there, behind its work up to seq; NULL: not recorded */
    uint64_t seq;
    sim_nodes *captured; /* recorded in a capture, behind these; NULL: not in one */
    unsigned long long capture;
    struct CUevent_st *next;
};

static struct CUevent_st *events;

static int event_ok(cudaEvent_t e)
{
    for (struct CUevent_st *x = events; x; x = x->next)
        if (x == e) return 1;
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

API cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
    static unsigned long long ids = 16; /* the first are the default streams' */
    ENTER();
    if (!out || flags & ~cudaStreamNonBlocking) LEAVE(cudaErrorInvalidValue);
    struct CUstream_st *s = calloc(1, sizeof *s);
    if (!s) LEAVE(cudaErrorMemoryAllocation);
    priority = priority > 0 ? 0 : priority < SIM_PRIORITY_HIGHEST ? SIM_PRIORITY_HIGHEST : priority;
    *s = (struct CUstream_st){
        .flags = flags, .priority = priority, .id = ++ids, .next = sim_streams};
    sim_streams = s;
    *out = s;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    return cudaStreamCreateWithPriority(out, flags, 0);
}

API cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

API cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    ENTER();
    for (struct CUstream_st **p = &sim_streams; *p && s; p = &(*p)->next)
        if (*p == s && s != sim_stream(NULL) && !s->of_a_thread) {
            sim_run_until(s, UINT64_MAX); /* its work goes on; here it has happened */
            sim_capture_forget(s);
            for (struct CUevent_st *e = events; e; e = e->next)
                if (e->stream == s) e->stream = sim_stream(NULL), e->seq = 0;
            *p = s->next;
            free(s);
            LEAVE(cudaSuccess);
        }
    LEAVE(cudaErrorInvalidResourceHandle);
}

void sim_streams_reset(void)
{
    for (struct CUstream_st *x = sim_streams, *next; x; x = next) {
        next = x->next;
        sim_capture_forget(x);
        if (x == sim_stream(NULL) || x->of_a_thread) continue;
        struct CUstream_st **p = &sim_streams;
        while (*p != x) p = &(*p)->next;
        *p = x->next;
        free(x);
    }
    for (struct CUevent_st *e = events, *next; e; e = next) {
        next = e->next;
        sim_nodes_free(e->captured);
        free(e);
    }
    events = NULL;
}

API cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!x) LEAVE(cudaErrorInvalidResourceHandle);
    cudaError_t e = sim_capture_wait(x);
    if (e == cudaSuccess) sim_settle_stream(x);
    LEAVE(e);
}

/* Each question lets a little of the work happen: a program that polls goes on. */
API cudaError_t cudaStreamQuery(cudaStream_t s)
{
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!x) LEAVE(cudaErrorInvalidResourceHandle);
    cudaError_t e = sim_capture_wait(x);
    if (e != cudaSuccess) LEAVE(e);
    if (sim_run_one(x)) LEAVE(cudaErrorNotReady);
    sim_settle_stream(x);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)flags;
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!x || !event_ok(e)) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->captured || sim_capturing(x)) LEAVE(sim_capture_join(x, e->captured, e->capture));
    LEAVE(e->stream ? sim_submit_after(x, e->stream, e->seq) : cudaSuccess);
}

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    ENTER();
    struct CUevent_st *e = out ? calloc(1, sizeof *e) : NULL;
    if (!e) LEAVE(out ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
    *e = (struct CUevent_st){.when = -1, .flags = flags, .next = events};
    events = e;
    *out = e;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    return cudaEventCreateWithFlags(out, cudaEventDefault);
}

API cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    ENTER();
    for (struct CUevent_st **p = &events; *p; p = &(*p)->next)
        if (*p == e) {
            if (e->stream) sim_run_until(e->stream, e->seq);
            sim_nodes_free(e->captured);
            *p = e->next;
            free(e);
            LEAVE(cudaSuccess);
        }
    LEAVE(cudaErrorInvalidResourceHandle);
}

static void reach(void *arg)
{
    (*(cudaEvent_t *)arg)->when = now();
}

API cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned flags)
{
    static const sim_work work = {cudaGraphNodeTypeEventRecord, reach, NULL};
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!event_ok(e) || !x) LEAVE(cudaErrorInvalidResourceHandle);
    if (flags & ~cudaEventRecordExternal) LEAVE(cudaErrorInvalidValue);
    sim_nodes_free(e->captured);
    e->captured = NULL;
    cudaError_t error = sim_capture_check(x);
    if (error != cudaSuccess) LEAVE(error);
    if (sim_capturing(x) && !flags) {
        e->captured = sim_capture_mark(x, &e->capture);
        LEAVE(e->captured ? cudaSuccess : cudaErrorMemoryAllocation);
    }
    if (e->stream)
        sim_run_until(e->stream, e->seq); /* its former record is not forgotten half-way */
    e->when = -1;
    error = sim_submit(x, &work, &e, sizeof e);
    e->stream = x;
    e->seq = sim_last_work(x);
    LEAVE(error);
}

API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    return cudaEventRecordWithFlags(e, s, cudaEventRecordDefault);
}

API cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    ENTER();
    if (!event_ok(e)) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->captured) LEAVE(cudaErrorCapturedEvent);
    if (e->stream) sim_run_until(e->stream, e->seq);
    if (sim_pending) sim_settle();
    LEAVE(cudaSuccess);
}

API cudaError_t cudaEventQuery(cudaEvent_t e)
{
    ENTER();
    if (!event_ok(e)) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->captured) LEAVE(cudaErrorCapturedEvent);
    if (e->stream && e->when < 0) sim_run_one(e->stream);
    LEAVE(e->stream && e->when < 0 ? cudaErrorNotReady : cudaSuccess);
}

API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER();
    if (!ms) LEAVE(cudaErrorInvalidValue);
    if (!event_ok(from) || !event_ok(to) || !from->stream || !to->stream ||
        (from->flags | to->flags) & cudaEventDisableTiming)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (from->when < 0 || to->when < 0) LEAVE(cudaErrorNotReady);
    *ms = (float)(to->when - from->when);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER();
    if (least) *least = 0;
    if (greatest) *greatest = SIM_PRIORITY_HIGHEST;
    LEAVE(cudaSuccess);
}

/* What a stream was made with. */
#define ABOUT(call, type, expression)                  \
    API cudaError_t call(cudaStream_t s, type *out)    \
    {                                                  \
        ENTER();                                       \
        struct CUstream_st *x = sim_stream(s);         \
        if (!x) LEAVE(cudaErrorInvalidResourceHandle); \
        if (!out) LEAVE(cudaErrorInvalidValue);        \
        *out = expression;                             \
        LEAVE(cudaSuccess);                            \
    }
ABOUT(cudaStreamGetPriority, int, x->priority)
ABOUT(cudaStreamGetFlags, unsigned, x->flags)
ABOUT(cudaStreamGetDevice, int, 0)
ABOUT(cudaStreamGetId, unsigned long long, x->id)

typedef struct callback {
    cudaHostFn_t fn;
    cudaStreamCallback_t older;
    cudaStream_t stream;
    void *data;
} callback;

static void call_back(void *arg)
{
    const callback *c = arg;
    if (c->older)
        c->older(c->stream, sim_pending ? sim_pending : sim_sticky, c->data);
    else if (!sim_pending && !sim_sticky) /* not behind work that has failed */
        c->fn(c->data);
}

static cudaError_t add_callback(callback c)
{
    static const sim_work work = {cudaGraphNodeTypeHost, call_back, NULL};
    struct CUstream_st *x = sim_stream(c.stream);
    if (!x) return cudaErrorInvalidResourceHandle;
    if (!c.fn && !c.older) return cudaErrorInvalidValue;
    if (c.older && sim_capturing(x)) return sim_capture_wait(x); /* not allowed there */
    return sim_submit(x, &work, &c, sizeof c);
}

API cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *data)
{
    ENTER();
    LEAVE(add_callback((callback){.fn = fn, .stream = s, .data = data}));
}

API cudaError_t cudaStreamAddCallback(cudaStream_t s, cudaStreamCallback_t fn, void *data,
                                      unsigned flags)
{
    ENTER();
    if (flags) LEAVE(cudaErrorInvalidValue);
    LEAVE(add_callback((callback){.older = fn, .stream = s, .data = data}));
}
