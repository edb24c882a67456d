/* stream.c - streams and events. Their work is in queue.c. */
#include "state.h"
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
    double when; /* milliseconds; < 0: not recorded, or not reached */
    unsigned flags;
    struct CUstream_st *stream; /* recorded there, behind its work up to seq; NULL: not recorded */
    uint64_t seq;
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

API cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER();
    struct CUstream_st *s = out ? calloc(1, sizeof *s) : NULL;
    if (!s) LEAVE(out ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
    *s = (struct CUstream_st){.flags = flags, .next = sim_streams};
    sim_streams = s;
    *out = s;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    return cudaStreamCreateWithFlags(out, cudaStreamDefault);
}

API cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    ENTER();
    for (struct CUstream_st **p = &sim_streams; *p && s; p = &(*p)->next)
        if (*p == s && s == sim_stream(s)) {
            sim_run_until(s, UINT64_MAX); /* its work goes on; here it has happened */
            for (struct CUevent_st *e = events; e; e = e->next)
                if (e->stream == s) e->stream = sim_stream(NULL), e->seq = 0;
            *p = s->next;
            free(s);
            LEAVE(cudaSuccess);
        }
    LEAVE(cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!x) LEAVE(cudaErrorInvalidResourceHandle);
    sim_settle_stream(x);
    LEAVE(cudaSuccess);
}

/* Each question lets a little of the work happen: a program that polls goes on. */
API cudaError_t cudaStreamQuery(cudaStream_t s)
{
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!x) LEAVE(cudaErrorInvalidResourceHandle);
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

API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    ENTER();
    struct CUstream_st *x = sim_stream(s);
    if (!event_ok(e) || !x) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->stream)
        sim_run_until(e->stream, e->seq); /* its former record is not forgotten half-way */
    e->when = -1;
    cudaError_t error = sim_submit(x, reach, &e, sizeof e);
    e->stream = x;
    e->seq = sim_last_work(x);
    LEAVE(error);
}

API cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    ENTER();
    if (!event_ok(e)) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->stream) sim_run_until(e->stream, e->seq);
    if (sim_pending) sim_settle();
    LEAVE(cudaSuccess);
}

API cudaError_t cudaEventQuery(cudaEvent_t e)
{
    ENTER();
    if (!event_ok(e)) LEAVE(cudaErrorInvalidResourceHandle);
    if (e->stream && e->when < 0) sim_run_one(e->stream);
    LEAVE(e->stream && e->when < 0 ? cudaErrorNotReady : cudaSuccess);
}

API cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER();
    if (!ms) LEAVE(cudaErrorInvalidValue);
    if (!event_ok(from) || !event_ok(to) || from->when < 0 || to->when < 0)
        LEAVE(cudaErrorInvalidResourceHandle);
    *ms = (float)(to->when - from->when);
    LEAVE(cudaSuccess);
}
