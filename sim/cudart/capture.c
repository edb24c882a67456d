/* capture.c - stream capture: work given to a stream is recorded as a graph. (CUDA programming
 * guide, "creating a graph using stream capture"; codes of cuda_runtime_api.h.) */
#include "state.h"
#include <stdlib.h>
#include <string.h>

struct sim_capture {
    unsigned long long id;
    enum cudaStreamCaptureMode mode;
    pthread_t thread;
    struct CUgraph_st *graph;
    struct CUstream_st *origin;
    int invalid;
    struct sim_capture *next;
};
static struct sim_capture *captures;
static unsigned long long ids;
static __thread enum cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
char sim_graph_memory[1];

/* Whether calls of this thread may disturb a capture: by its mode and the thread's. */
static int disturbed(const struct sim_capture *c)
{
    if (c->mode == cudaStreamCaptureModeRelaxed || thread_mode == cudaStreamCaptureModeRelaxed)
        return 0;
    int ours = pthread_equal(c->thread, pthread_self());
    return ours ||
           (c->mode == cudaStreamCaptureModeGlobal && thread_mode == cudaStreamCaptureModeGlobal);
}

cudaError_t sim_capture_unsafe(void)
{
    cudaError_t e = cudaSuccess;
    for (struct sim_capture *c = captures; c; c = c->next)
        if (disturbed(c)) {
            c->invalid = 1;
            e = cudaErrorStreamCaptureUnsupported;
        }
    return e;
}

/* The default stream waits for blocking streams, and they for it: not while one of them captures.
 */
static cudaError_t check_legacy(void)
{
    cudaError_t e = cudaSuccess;
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x->capture && !(x->flags & cudaStreamNonBlocking)) {
            x->capture->invalid = 1;
            e = cudaErrorStreamCaptureImplicit;
        }
    return e;
}

cudaError_t sim_capture_check(struct CUstream_st *s)
{
    if (!captures) return cudaSuccess;
    if (s->capture) return s->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    return s == sim_stream(NULL) ? check_legacy() : cudaSuccess;
}

cudaError_t sim_capture_wait(struct CUstream_st *s)
{
    if (!s->capture) return sim_capture_check(s);
    s->capture->invalid = 1;
    return cudaErrorStreamCaptureUnsupported;
}

static int now_after(struct CUstream_st *s, struct CUgraphNode_st *node)
{
    s->after->n = 0;
    return sim_nodes_add(s->after, node);
}

cudaError_t sim_capture_work(struct CUstream_st *s, const sim_work *work, const void *arg,
                             size_t bytes)
{
    struct CUgraphNode_st *x = sim_graph_add(s->capture->graph, s->after, work, arg, bytes);
    if (x && now_after(s, x)) return cudaSuccess;
    s->capture->invalid = 1;
    return cudaErrorMemoryAllocation;
}

/* ---- memory ---- */
static void nothing(void *arg)
{
    (void)arg;
}

static void drop_memory(void *arg)
{
    void *p = *(void **)arg, **noted = sim_memory_pool(p);
    if (noted && *noted == sim_graph_memory) sim_memory_free(p, "a graph");
}

/* The address is the graph's from now on; a card takes the memory at instantiation or launch. */
cudaError_t sim_capture_alloc(struct CUstream_st *s, size_t bytes, void **out)
{
    static const sim_work work = {cudaGraphNodeTypeMemAlloc, nothing, drop_memory};
    void *p;
    cudaError_t e = sim_capture_check(s);
    if (e == cudaSuccess) e = sim_memory_alloc(bytes, 0, &p);
    if (e != cudaSuccess) {
        s->capture->invalid = 1;
        return e;
    }
    *sim_memory_pool(p) = sim_graph_memory;
    e = sim_capture_work(s, &work, &p, sizeof p);
    if (e == cudaSuccess) *out = p;
    return e;
}

cudaError_t sim_capture_free(struct CUstream_st *s, void *p)
{
    static const sim_work work = {cudaGraphNodeTypeMemFree, nothing, NULL};
    cudaError_t e = sim_capture_check(s);
    return e == cudaSuccess ? sim_capture_work(s, &work, &p, sizeof p) : e;
}

/* ---- events ---- */
sim_nodes *sim_capture_mark(struct CUstream_st *s, unsigned long long *id)
{
    *id = s->capture->id;
    return sim_nodes_copy(s->after);
}

cudaError_t sim_capture_join(struct CUstream_st *s, const sim_nodes *after, unsigned long long id)
{
    struct sim_capture *c = captures;
    while (c && after && c->id != id) c = c->next;
    if (!after || !c) { /* an event of outside, or of a capture that has ended */
        if (s->capture) s->capture->invalid = 1;
        return s->capture ? cudaErrorStreamCaptureIsolation : cudaErrorCapturedEvent;
    }
    if (c->invalid) return cudaErrorStreamCaptureInvalidated;
    if (s->capture && s->capture != c) {
        s->capture->invalid = c->invalid = 1;
        return cudaErrorStreamCaptureMerge;
    }
    if (s == sim_stream(NULL)) {
        c->invalid = 1;
        return cudaErrorStreamCaptureImplicit;
    }
    if (!s->after && !(s->after = calloc(1, sizeof *s->after))) return cudaErrorMemoryAllocation;
    if (!s->capture) s->after->n = 0;
    s->capture = c;
    for (size_t i = 0; i < after->n; i++)
        if (!sim_nodes_add(s->after, after->node[i])) return cudaErrorMemoryAllocation;
    return cudaSuccess;
}

/* ---- begin and end ---- */
API cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!s) LEAVE(cudaErrorInvalidResourceHandle);
    if (mode != cudaStreamCaptureModeGlobal && mode != cudaStreamCaptureModeThreadLocal &&
        mode != cudaStreamCaptureModeRelaxed)
        LEAVE(cudaErrorInvalidValue);
    if (s == sim_stream(NULL)) LEAVE(cudaErrorStreamCaptureUnsupported);
    if (s->capture) LEAVE(cudaErrorIllegalState);
    struct sim_capture *c = calloc(1, sizeof *c);
    struct CUgraph_st *g = sim_graph_new();
    if (!s->after) s->after = calloc(1, sizeof *s->after);
    if (!c || !g || !s->after) {
        free(c);
        if (g) sim_graph_free(g);
        LEAVE(cudaErrorMemoryAllocation);
    }
    *c = (struct sim_capture){++ids, mode, pthread_self(), g, s, 0, captures};
    captures = c;
    s->after->n = 0;
    s->capture = c;
    LEAVE(cudaSuccess);
}

/* Every stream that joined has been joined again: its last work comes before the origin's. */
static int joined(const struct sim_capture *c)
{
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x->capture == c && x != c->origin)
            for (size_t i = 0; i < x->after->n; i++)
                if (!sim_graph_reaches(c->origin->after, x->after->node[i])) return 0;
    return 1;
}

static void finish(struct sim_capture *c)
{
    for (struct CUstream_st *x = sim_streams; x; x = x->next)
        if (x->capture == c) {
            x->capture = NULL;
            x->after->n = 0;
        }
    for (struct sim_capture **p = &captures; *p; p = &(*p)->next)
        if (*p == c) {
            *p = c->next;
            break;
        }
    free(c);
}

API cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!s || !out) LEAVE(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    struct sim_capture *c = s->capture;
    if (!c) LEAVE(cudaErrorIllegalState);
    if (c->origin != s) {
        c->invalid = 1;
        LEAVE(cudaErrorStreamCaptureUnmatched);
    }
    if (c->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self()))
        LEAVE(cudaErrorStreamCaptureWrongThread);
    cudaError_t e = c->invalid   ? cudaErrorStreamCaptureInvalidated
                    : !joined(c) ? cudaErrorStreamCaptureUnjoined
                                 : cudaSuccess;
    *out = e == cudaSuccess ? c->graph : NULL;
    if (e != cudaSuccess) sim_graph_free(c->graph);
    finish(c);
    LEAVE(e);
}

void sim_capture_forget(struct CUstream_st *s)
{
    struct sim_capture *c = s->capture;
    if (c && c->origin == s) {
        sim_graph_free(c->graph);
        finish(c);
    } else if (c) {
        c->invalid = 1;
    }
    sim_nodes_free(s->after);
    s->after = NULL;
}

static enum cudaStreamCaptureStatus status(const struct CUstream_st *s)
{
    return !s->capture           ? cudaStreamCaptureStatusNone
           : s->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
}

API cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!s || !out) LEAVE(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    if (s == sim_stream(NULL)) {
        cudaError_t e = check_legacy();
        if (e != cudaSuccess) LEAVE(e);
    }
    *out = status(s);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *out,
                                         unsigned long long *id, cudaGraph_t *graph,
                                         const cudaGraphNode_t **after,
                                         const cudaGraphEdgeData **edges, size_t *n)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!s || !out) LEAVE(s ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
    *out = status(s);
    if (edges) *edges = NULL;
    if (*out != cudaStreamCaptureStatusActive) LEAVE(cudaSuccess);
    if (id) *id = s->capture->id;
    if (graph) *graph = s->capture->graph;
    if (after) *after = (const cudaGraphNode_t *)s->after->node;
    if (n) *n = s->after->n;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    ENTER();
    if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed) LEAVE(cudaErrorInvalidValue);
    enum cudaStreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    LEAVE(cudaSuccess);
}
