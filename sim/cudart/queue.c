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
    const sim_work *work;       /* NULL: only waits */
    struct CUstream_st *behind; /* another stream's work up to behind_seq comes first; NULL: none */
    uint64_t behind_seq;
    max_align_t arg[];
};

static struct CUstream_st default_stream; /* always there, at the end of the list */
struct CUstream_st *sim_streams = &default_stream;
static uint64_t last_seq;

/* Each thread has a stream of its own, made when it first asks; a thread that ends leaves its
 * stream to another. */
static __thread struct CUstream_st *of_this_thread;
static pthread_key_t at_thread_end;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;

static void abandon(void *stream)
{
    ((struct CUstream_st *)stream)->abandoned = 1;
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, abandon);
}

static struct CUstream_st *per_thread(void)
{
    if (of_this_thread) return of_this_thread;
    struct CUstream_st *s = sim_streams;
    while (s && !s->abandoned) s = s->next;
    if (!s && (s = calloc(1, sizeof *s))) {
        s->next = sim_streams;
        sim_streams = s;
    }
    if (!s) return NULL;
    s->abandoned = 0;
    s->of_a_thread = 1;
    pthread_once(&key_made, make_key);
    pthread_setspecific(at_thread_end, s);
    return of_this_thread = s;
}

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
    if (s == cudaStreamPerThread) return per_thread();
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x == s) return x;
    return NULL;
}

int sim_stream_waits(const struct CUstream_st *s, uint64_t seq)
{
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x == s) return x->head && x->head->seq <= seq;
    return 0;
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
        if (o->work) o->work->fn(o->arg);
        if (o->work && o->work->drop) o->work->drop(o->arg);
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

static cudaError_t push(struct CUstream_st *s, const sim_work *work, const void *arg, size_t bytes,
                        struct CUstream_st *behind, uint64_t behind_seq)
{
    struct sim_op *o = malloc(sizeof *o + bytes);
    if (!o) {
        if (work && work->drop) work->drop((void *)(uintptr_t)arg);
        return cudaErrorMemoryAllocation;
    }
    *o = (struct sim_op){
        .seq = ++last_seq, .work = work, .behind = behind, .behind_seq = behind_seq};
    if (bytes) memcpy(o->arg, arg, bytes);
    if (s->tail)
        s->tail->next = o;
    else
        s->head = o;
    s->tail = o;
    return cudaSuccess;
}

cudaError_t sim_submit(struct CUstream_st *s, const sim_work *work, const void *arg, size_t bytes)
{
    cudaError_t e = sim_capture_check(s);
    if (e == cudaSuccess && sim_capturing(s)) return sim_capture_work(s, work, arg, bytes);
    if (e == cudaSuccess && sim_lazy()) return push(s, work, arg, bytes, NULL, 0);
    if (e == cudaSuccess) work->fn((void *)(uintptr_t)arg);
    if (work->drop) work->drop((void *)(uintptr_t)arg);
    return e;
}

cudaError_t sim_submit_after(struct CUstream_st *s, struct CUstream_st *behind, uint64_t seq)
{
    return sim_lazy() ? push(s, NULL, NULL, 0, behind, seq) : cudaSuccess;
}

/* A library's work: its function and a copy of its argument. */
typedef struct library_work {
    void (*fn)(void *arg);
    max_align_t arg[];
} library_work;

static void run_library(void *arg)
{
    library_work *w = arg;
    w->fn(w->arg);
}

API int sim_stream_enqueue(void *stream, void (*fn)(void *), const void *arg, size_t arg_bytes)
{
    static const sim_work work = {cudaGraphNodeTypeKernel, run_library, NULL};
    cudaError_t e = sim_enter();
    if (e != cudaSuccess) return e;
    struct CUstream_st *s = sim_stream(stream);
    library_work *w = malloc(sizeof *w + arg_bytes);
    e = sim_sticky ? sim_sticky
        : !s       ? cudaErrorInvalidResourceHandle
        : !w       ? cudaErrorMemoryAllocation
                   : cudaSuccess;
    if (e == cudaSuccess && !sim_pending) {
        w->fn = fn;
        memcpy(w->arg, arg, arg_bytes);
        e = sim_submit(s, &work, w, sizeof *w + arg_bytes);
    }
    free(w);
    sim_leave();
    return e;
}
