/* queue.c - the work of streams. Eager (the default): done when the call that brings it returns.
 * Lazy (OOMPROOF_SIM_STREAMS=lazy): queued, and run as late as the rules of streams allow, at a
 * call that waits for it; so that a host buffer that is read before its copy was waited for still
 * holds what it held before.
 *
 * Rules (CUDA programming guide, streams): a stream keeps its order; work of the default stream
 * follows everything that blocking streams were given before it, and comes before what they are
 * given after it; a stream that waits for an event follows what the event recorded. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

struct sim_op {
    struct sim_op *next;
    uint64_t seq;
    void (*fn)(void *arg);
    struct CUstream_st *behind; /* another stream's work up to behind_seq comes first; NULL: none */
    uint64_t behind_seq;
    max_align_t arg[];
};

static struct CUstream_st default_stream,
    per_thread = {.next = &default_stream}; /* both always exist, at the end of the list */
struct CUstream_st *sim_streams = &per_thread;
static uint64_t last_seq;

int sim_lazy(void)
{
    static int lazy = -1;
    if (lazy < 0) {
        const char *s = getenv("OOMPROOF_SIM_STREAMS");
        lazy = s && !strcmp(s, "lazy");
        if (s && *s && !lazy && strcmp(s, "eager"))
            sim_say("OOMPROOF_SIM_STREAMS=%s: expected eager or lazy; streams are eager", s);
    }
    return lazy;
}

struct CUstream_st *sim_stream(cudaStream_t s)
{
    if (s == NULL || s == cudaStreamLegacy) return &default_stream;
    if (s == cudaStreamPerThread) return &per_thread;
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x == s) return x;
    return NULL;
}

uint64_t sim_last_work(const struct CUstream_st *s)
{
    return s->tail ? s->tail->seq : 0;
}

void sim_run_until(struct CUstream_st *s, uint64_t seq)
{
    while (s->head && s->head->seq <= seq) {
        struct sim_op *o = s->head;
        if (s == &default_stream) {
            for (struct CUstream_st *x = sim_streams; x; x = x->next)
                if (x != s && !(x->flags & cudaStreamNonBlocking)) sim_run_until(x, o->seq - 1);
        } else if (!(s->flags & cudaStreamNonBlocking)) {
            sim_run_until(&default_stream, o->seq - 1);
        }
        if (o->behind) sim_run_until(o->behind, o->behind_seq);
        s->head = o->next;
        if (!s->head) s->tail = NULL;
        if (o->fn) o->fn(o->arg);
        free(o);
    }
}

void sim_run_all(void)
{
    for (struct CUstream_st *x = sim_streams; x; x = x->next) sim_run_until(x, UINT64_MAX);
}

int sim_run_one(struct CUstream_st *s)
{
    if (s->head) sim_run_until(s, s->head->seq);
    return s->head != NULL;
}

static cudaError_t push(struct CUstream_st *s, void (*fn)(void *), const void *arg, size_t bytes,
                        struct CUstream_st *behind, uint64_t behind_seq)
{
    struct sim_op *o = malloc(sizeof *o + bytes);
    if (!o) return cudaErrorMemoryAllocation;
    *o = (struct sim_op){.seq = ++last_seq, .fn = fn, .behind = behind, .behind_seq = behind_seq};
    if (bytes) memcpy(o->arg, arg, bytes);
    if (s->tail)
        s->tail->next = o;
    else
        s->head = o;
    s->tail = o;
    return cudaSuccess;
}

cudaError_t sim_submit(struct CUstream_st *s, void (*fn)(void *), const void *arg, size_t bytes)
{
    if (sim_lazy()) return push(s, fn, arg, bytes, NULL, 0);
    fn((void *)(uintptr_t)arg);
    return cudaSuccess;
}

cudaError_t sim_submit_after(struct CUstream_st *s, struct CUstream_st *behind, uint64_t seq)
{
    return sim_lazy() ? push(s, NULL, NULL, 0, behind, seq) : cudaSuccess;
}

API int sim_stream_enqueue(void *stream, void (*fn)(void *), const void *arg, size_t arg_bytes)
{
    cudaError_t e = sim_enter();
    if (e != cudaSuccess) return e;
    struct CUstream_st *s = sim_stream(stream);
    e = sim_sticky ? sim_sticky : s ? cudaSuccess : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess && !sim_pending) e = sim_submit(s, fn, arg, arg_bytes);
    sim_leave();
    return e;
}
