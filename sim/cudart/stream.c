/* stream.c - streams and events, eager: work is done when the call that enqueues it returns. */
#include "state.h"
#include <stdlib.h>
#include <time.h>

struct CUstream_st {
    unsigned flags;
    struct CUstream_st *next;
};
struct CUevent_st {
    double when; /* milliseconds; < 0: not recorded */
    unsigned flags;
    struct CUevent_st *next;
};
#define STREAM_MAGIC 0x53747265u
#define EVENT_MAGIC  0x45766e74u

static struct CUstream_st *streams;
static struct CUevent_st *events;

static int stream_ok(cudaStream_t s)
{
    if (s == NULL || s == cudaStreamLegacy || s == cudaStreamPerThread) return 1;
    for (struct CUstream_st *x = streams; x; x = x->next)
        if (x == s) return 1;
    return 0;
}

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
    *s = (struct CUstream_st){flags, streams};
    streams = s;
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
    for (struct CUstream_st **p = &streams; *p; p = &(*p)->next)
        if (*p == s) {
            *p = s->next;
            free(s);
            LEAVE(cudaSuccess);
        }
    LEAVE(cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    ENTER();
    sim_settle();
    LEAVE(stream_ok(s) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaStreamQuery(cudaStream_t s)
{
    ENTER();
    sim_settle();
    LEAVE(stream_ok(s) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
    (void)flags;
    ENTER();
    LEAVE(stream_ok(s) && event_ok(e) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    ENTER();
    struct CUevent_st *e = out ? calloc(1, sizeof *e) : NULL;
    if (!e) LEAVE(out ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
    *e = (struct CUevent_st){-1, flags, events};
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
            *p = e->next;
            free(e);
            LEAVE(cudaSuccess);
        }
    LEAVE(cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    ENTER();
    if (!event_ok(e) || !stream_ok(s)) LEAVE(cudaErrorInvalidResourceHandle);
    e->when = now();
    LEAVE(cudaSuccess);
}

API cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    ENTER();
    sim_settle();
    LEAVE(event_ok(e) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

API cudaError_t cudaEventQuery(cudaEvent_t e)
{
    ENTER();
    LEAVE(event_ok(e) ? cudaSuccess : cudaErrorInvalidResourceHandle);
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

API int sim_stream_enqueue(void *stream, void (*fn)(void *), const void *arg, size_t arg_bytes)
{
    (void)arg_bytes;
    cudaError_t e = sim_enter();
    if (e != cudaSuccess) return e;
    e = sim_sticky ? sim_sticky : stream_ok(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess && !sim_pending) fn((void *)(uintptr_t)arg);
    sim_leave();
    return e;
}
