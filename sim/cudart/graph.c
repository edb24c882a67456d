/* graph.c - graphs: nodes of work with what each comes after. Nodes are kept in the order in which
 * they were added; an instance runs them in an order that the edges allow, one after the other. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* What a node does; shared by a graph and its instances. */
typedef struct task {
    const sim_work *work;
    int owners;
    max_align_t arg[];
} task;

struct CUgraphNode_st {
    struct CUgraph_st *graph;
    task *does;
    sim_nodes after;
    int mark;
};

struct CUgraph_st {
    sim_nodes nodes;
};

struct CUgraphExec_st {
    task **does;
    size_t n;
};

/* ---- lists of nodes ---- */
int sim_nodes_add(sim_nodes *n, struct CUgraphNode_st *x)
{
    for (size_t i = 0; i < n->n; i++)
        if (n->node[i] == x) return 1;
    struct CUgraphNode_st **more = realloc(n->node, (n->n + 1) * sizeof(*more));
    if (!more) return 0;
    n->node = more;
    n->node[n->n++] = x;
    return 1;
}

sim_nodes *sim_nodes_copy(const sim_nodes *n)
{
    sim_nodes *c = calloc(1, sizeof *c);
    for (size_t i = 0; c && i < n->n; i++)
        if (!sim_nodes_add(c, n->node[i])) {
            sim_nodes_free(c);
            return NULL;
        }
    return c;
}

void sim_nodes_free(sim_nodes *n)
{
    if (n) free(n->node);
    free(n);
}

/* ---- tasks ---- */
static task *new_task(const sim_work *work, const void *arg, size_t bytes)
{
    task *t = malloc(sizeof *t + bytes);
    if (!t) {
        if (work->drop) work->drop((void *)(uintptr_t)arg);
        return NULL;
    }
    t->work = work;
    t->owners = 1;
    if (bytes) memcpy(t->arg, arg, bytes);
    return t;
}

static void let_go(task *t)
{
    if (--t->owners) return;
    if (t->work->drop) t->work->drop(t->arg);
    free(t);
}

/* ---- graphs ---- */
struct CUgraph_st *sim_graph_new(void)
{
    return calloc(1, sizeof(struct CUgraph_st));
}

static void free_node(struct CUgraphNode_st *x)
{
    let_go(x->does);
    free(x->after.node);
    free(x);
}

void sim_graph_free(struct CUgraph_st *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) free_node(g->nodes.node[i]);
    free(g->nodes.node);
    free(g);
}

struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *g, const sim_nodes *after,
                                     const sim_work *work, const void *arg, size_t bytes)
{
    task *t = new_task(work, arg, bytes);
    struct CUgraphNode_st *x = t ? calloc(1, sizeof *x) : NULL;
    int ok = x != NULL;
    if (ok) *x = (struct CUgraphNode_st){.graph = g, .does = t};
    for (size_t i = 0; ok && after && i < after->n; i++)
        ok = sim_nodes_add(&x->after, after->node[i]);
    if (ok && sim_nodes_add(&g->nodes, x)) return x;
    if (x)
        free_node(x);
    else if (t)
        let_go(t);
    return NULL;
}

static void unmark(struct CUgraph_st *g)
{
    for (size_t i = 0; i < g->nodes.n; i++) g->nodes.node[i]->mark = 0;
}

static int reaches(const sim_nodes *from, const struct CUgraphNode_st *to)
{
    for (size_t i = 0; i < from->n; i++) {
        struct CUgraphNode_st *x = from->node[i];
        if (x == to) return 1;
        if (x->mark++) continue;
        if (reaches(&x->after, to)) return 1;
    }
    return 0;
}

int sim_graph_reaches(const sim_nodes *from, const struct CUgraphNode_st *to)
{
    unmark(to->graph);
    return reaches(from, to);
}

API cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags)
{
    ENTER();
    if (!out || flags) LEAVE(cudaErrorInvalidValue);
    struct CUgraph_st *g = sim_graph_new();
    if (g) *out = g;
    LEAVE(g ? cudaSuccess : cudaErrorMemoryAllocation);
}

API cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    ENTER();
    if (!g) LEAVE(cudaErrorInvalidValue);
    sim_graph_free(g);
    LEAVE(cudaSuccess);
}

/* ---- nodes by hand ---- */
static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t n,
                       const sim_work *work, const void *arg, size_t bytes)
{
    sim_nodes list = {(struct CUgraphNode_st **)(uintptr_t)after, n};
    int ok = out && g && (after || !n);
    for (size_t i = 0; ok && i < n; i++) ok = after[i] && after[i]->graph == g;
    if (!ok) {
        if (work->drop) work->drop((void *)(uintptr_t)arg);
        return cudaErrorInvalidValue;
    }
    struct CUgraphNode_st *x = sim_graph_add(g, &list, work, arg, bytes);
    if (x) *out = x;
    return x ? cudaSuccess : cudaErrorMemoryAllocation;
}

static void nothing(void *arg)
{
    (void)arg;
}

API cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t g,
                                      const cudaGraphNode_t *after, size_t n)
{
    static const sim_work work = {cudaGraphNodeTypeEmpty, nothing, NULL};
    ENTER();
    LEAVE(add(out, g, after, n, &work, NULL, 0));
}

API cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t g,
                                       const cudaGraphNode_t *after, size_t n,
                                       const struct cudaKernelNodeParams *p)
{
    const sim_work *work;
    void *arg;
    size_t bytes;
    ENTER();
    cudaError_t e = p ? sim_launch_work(p, &work, &arg, &bytes) : cudaErrorInvalidValue;
    if (e != cudaSuccess) LEAVE(e);
    e = add(out, g, after, n, work, arg, bytes);
    free(arg);
    LEAVE(e);
}

static void host(void *arg)
{
    const struct cudaHostNodeParams *p = arg;
    if (!sim_pending && !sim_sticky) p->fn(p->userData);
}

API cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t g,
                                     const cudaGraphNode_t *after, size_t n,
                                     const struct cudaHostNodeParams *p)
{
    static const sim_work work = {cudaGraphNodeTypeHost, host, NULL};
    ENTER();
    if (!p || !p->fn) LEAVE(cudaErrorInvalidValue);
    LEAVE(add(out, g, after, n, &work, p, sizeof *p));
}

/* ---- what a graph holds ---- */
static cudaError_t list(cudaGraph_t g, cudaGraphNode_t *out, size_t *n, int roots)
{
    size_t found = 0, room = out && n ? *n : 0;
    if (!g || !n) return cudaErrorInvalidValue;
    for (size_t i = 0; i < g->nodes.n; i++) {
        if (roots && g->nodes.node[i]->after.n) continue;
        if (found < room) out[found] = g->nodes.node[i];
        found++;
    }
    for (size_t i = found; i < room; i++) out[i] = NULL;
    if (!out || found < room) *n = found;
    return cudaSuccess;
}

API cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *out, size_t *n)
{
    ENTER();
    LEAVE(list(g, out, n, 0));
}

API cudaError_t cudaGraphGetRootNodes(cudaGraph_t g, cudaGraphNode_t *out, size_t *n)
{
    ENTER();
    LEAVE(list(g, out, n, 1));
}

API cudaError_t cudaGraphNodeGetType(cudaGraphNode_t x, enum cudaGraphNodeType *out)
{
    ENTER();
    if (!x || !out) LEAVE(cudaErrorInvalidValue);
    *out = x->does->work->type;
    LEAVE(cudaSuccess);
}

/* ---- instances ---- */
API cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t g,
                                              unsigned long long flags)
{
    ENTER();
    if (!out || !g) LEAVE(cudaErrorInvalidValue);
    if (flags & ~(unsigned long long)(cudaGraphInstantiateFlagAutoFreeOnLaunch |
                                      cudaGraphInstantiateFlagUpload |
                                      cudaGraphInstantiateFlagUseNodePriority))
        LEAVE(cudaErrorNotSupported);
    struct CUgraphExec_st *x = calloc(1, sizeof *x);
    if (x) x->does = calloc(g->nodes.n + 1, sizeof(task *));
    if (!x || !x->does) {
        free(x);
        LEAVE(cudaErrorMemoryAllocation);
    }
    for (; x->n < g->nodes.n; x->n++) { /* what a node comes after was added before it */
        x->does[x->n] = g->nodes.node[x->n]->does;
        x->does[x->n]->owners++;
    }
    *out = x;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(out, g, flags);
}

API cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
    ENTER();
    if (!x) LEAVE(cudaErrorInvalidValue);
    sim_run_all(); /* it may be queued */
    for (size_t i = 0; i < x->n; i++) let_go(x->does[i]);
    free(x->does);
    free(x);
    LEAVE(cudaSuccess);
}

static void run_task(void *arg)
{
    task *t = *(task **)arg;
    t->work->fn(t->arg);
}

static void drop_task(void *arg)
{
    let_go(*(task **)arg);
}

API cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t stream)
{
    static const sim_work work = {cudaGraphNodeTypeGraph, run_task, drop_task};
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!x || !s) LEAVE(x ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue);
    if (sim_sticky) LEAVE(sim_sticky);
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; i < x->n && e == cudaSuccess; i++) {
        x->does[i]->owners++;
        e = sim_submit(s, &work, &x->does[i], sizeof x->does[i]);
    }
    LEAVE(e);
}

API cudaError_t cudaGraphUpload(cudaGraphExec_t x, cudaStream_t s)
{
    ENTER();
    if (!x) LEAVE(cudaErrorInvalidValue);
    LEAVE(sim_stream(s) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

/* The same kinds of nodes in the same order take the place of the old. */
API cudaError_t cudaGraphExecUpdate(cudaGraphExec_t x, cudaGraph_t g,
                                    cudaGraphExecUpdateResultInfo *result)
{
    ENTER();
    if (!x || !g || !result) LEAVE(cudaErrorInvalidValue);
    memset(result, 0, sizeof *result);
    int same = x->n == g->nodes.n;
    result->result = same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorTopologyChanged;
    for (size_t i = 0; same && i < x->n; i++)
        if (x->does[i]->work->type != g->nodes.node[i]->does->work->type) {
            same = 0;
            result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
            result->errorNode = g->nodes.node[i];
        }
    if (!same) LEAVE(cudaErrorGraphExecUpdateFailure);
    for (size_t i = 0; i < x->n; i++) {
        g->nodes.node[i]->does->owners++;
        let_go(x->does[i]);
        x->does[i] = g->nodes.node[i]->does;
    }
    LEAVE(cudaSuccess);
}
