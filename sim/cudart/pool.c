/* pool.c - stream-ordered allocation (cudaMallocAsync, cudaFreeAsync) and its pools.
 *
 * A block that is freed stays with its pool. A later request takes it when that is at most twice
 * as large as asked for, and free for the asking stream: freed on the same stream, or on another
 * where the work before the free has happened. At a call that waits, a pool gives back what it
 * holds beyond its release threshold (0 unless set), oldest first. A request that finds no memory
 * makes its own pool let go of everything it can, waiting for streams where that takes it, and is
 * tried once more; cudaMalloc does not reach into pools. (CUDA runtime documentation, stream
 * ordered memory allocator; that last sentence is assumed.) */
#include "state.h"
#include <stdlib.h>

typedef struct cached {
    struct block *block;
    size_t bytes;
    struct CUstream_st *stream; /* freed there; compared only */
    uint64_t seq;               /* the free's place in that stream; 0: it has happened */
    struct cached *next;
} cached;

struct CUmemPoolHandle_st {
    cached *oldest, **end;
    uint64_t threshold, reserved, reserved_high, used, used_high, most;
    int follow, opportunistic, internal;
    int closed; /* destroyed by the program; goes when its last block does */
    struct CUmemPoolHandle_st *next;
};
typedef struct CUmemPoolHandle_st pool;

static pool device_pool = {.end = &device_pool.oldest,
                           .follow = 1,
                           .opportunistic = 1,
                           .internal = 1},
            *pools = &device_pool, *chosen = &device_pool;

static void reserve(pool *o, size_t bytes)
{
    o->reserved += bytes;
    if (o->reserved > o->reserved_high) o->reserved_high = o->reserved;
}

static void use(pool *o, size_t bytes)
{
    o->used += bytes;
    if (o->used > o->used_high) o->used_high = o->used;
}

static cached *unlink_at(pool *o, cached **x)
{
    cached *c = *x;
    *x = c->next;
    if (o->end == &c->next) o->end = x;
    return c;
}

static void let_go(pool *o, cached **x)
{
    cached *c = unlink_at(o, x);
    sim_memory_drop(c->block);
    o->reserved -= c->bytes;
    free(c);
}

static int happened(const cached *c)
{
    return !c->seq || !sim_stream_waits(c->stream, c->seq);
}

/* Down to `keep` bytes, as far as frees have happened. */
static void trim(pool *o, uint64_t keep)
{
    for (cached **x = &o->oldest; *x && o->reserved > keep;)
        if (happened(*x))
            let_go(o, x);
        else
            x = &(*x)->next;
}

static void collect(pool *o)
{
    if (!o->closed || o->used) return;
    trim(o, 0);
    if (o->oldest) return;
    for (pool **x = &pools; *x; x = &(*x)->next)
        if (*x == o) {
            *x = o->next;
            free(o);
            return;
        }
}

void sim_pools_settle(void)
{
    for (pool *o = pools, *next; o; o = next) {
        next = o->next;
        trim(o, o->threshold);
        collect(o);
    }
}

/* The smallest block that fits and may be used on s now. */
static cached **fitting(pool *o, size_t want, const struct CUstream_st *s)
{
    cached **best = NULL;
    for (cached **x = &o->oldest; *x; x = &(*x)->next)
        if ((*x)->bytes >= want && (*x)->bytes / 2 <= want && ((*x)->stream == s || happened(*x)) &&
            (!best || (*x)->bytes < (*best)->bytes))
            best = x;
    return best;
}

static cudaError_t take(pool *o, size_t bytes, struct CUstream_st *s, void **out)
{
    size_t want = (bytes + 511) / 512 * 512;
    if (want < bytes || (o->most && o->used + want > o->most)) return cudaErrorMemoryAllocation;
    for (int again = 0; again < 2; again++) {
        cached **x = fitting(o, want, s);
        if (x) {
            cached *c = unlink_at(o, x);
            void *p = sim_memory_reuse(c->block, bytes);
            if (!p) {
                sim_memory_drop(c->block);
                o->reserved -= c->bytes;
                free(c);
                return cudaErrorMemoryAllocation;
            }
            *out = p;
            use(o, c->bytes);
            free(c);
            return cudaSuccess;
        }
        void *p;
        if (sim_memory_alloc(bytes, 0, &p) == cudaSuccess) {
            *sim_memory_pool(p) = o;
            size_t held = sim_memory_bytes(p);
            reserve(o, held);
            use(o, held);
            *out = p;
            return cudaSuccess;
        }
        for (cached *c = o->oldest; c && o->internal && !again; c = c->next)
            if (!happened(c)) sim_run_until(c->stream, c->seq);
        trim(o, 0);
    }
    return cudaErrorMemoryAllocation;
}

static void put_back(pool *o, void *p, struct CUstream_st *s, uint64_t seq)
{
    cached *c = malloc(sizeof *c);
    if (!c) abort(); /* a few bytes: the host is out of memory altogether */
    *c = (cached){NULL, 0, s, seq, NULL};
    c->block = sim_memory_hold(p, seq != 0, &c->bytes);
    o->used -= c->bytes;
    *o->end = c;
    o->end = &c->next;
    collect(o);
}

int sim_pool_take_back(void *p, struct CUstream_st *s)
{
    void **noted = p ? sim_memory_pool(p) : NULL;
    if (!noted || !*noted) return 0;
    if (*noted == sim_graph_memory) return 1; /* goes with its graph */
    put_back(*noted, p, s, 0);
    return 1;
}

/* The memory itself is given back by sim_memory_reset. */
void sim_pools_reset(void)
{
    for (pool *o = pools, *next; o; o = next) {
        next = o->next;
        for (cached *c = o->oldest, *after; c; c = after) {
            after = c->next;
            free(c);
        }
        if (o != &device_pool) free(o);
    }
    device_pool =
        (pool){.end = &device_pool.oldest, .follow = 1, .opportunistic = 1, .internal = 1};
    pools = chosen = &device_pool;
}

static void has_come(void *arg)
{
    sim_memory_gone(*(void **)arg);
}
static const sim_work marking = {cudaGraphNodeTypeEmpty, has_come, NULL};

static void free_plain(void *arg)
{
    sim_memory_free(*(void **)arg, "cudaFreeAsync");
}
static const sim_work freeing = {cudaGraphNodeTypeMemFree, free_plain, NULL};

API cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t o,
                                        cudaStream_t stream)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!out || !o) LEAVE(cudaErrorInvalidValue);
    if (!s) LEAVE(cudaErrorInvalidResourceHandle);
    if (sim_sticky) LEAVE(sim_sticky);
    if (!bytes) {
        *out = NULL;
        LEAVE(cudaSuccess);
    }
    if (sim_capturing(s)) LEAVE(sim_capture_alloc(s, bytes, out));
    LEAVE(take(o, bytes, s, out));
}

API cudaError_t cudaMallocAsync(void **out, size_t bytes, cudaStream_t stream)
{
    return cudaMallocFromPoolAsync(out, bytes, chosen, stream);
}

API cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    ENTER();
    struct CUstream_st *s = sim_stream(stream);
    if (!s) LEAVE(cudaErrorInvalidResourceHandle);
    if (sim_sticky) LEAVE(sim_sticky);
    void **noted = p ? sim_memory_pool(p) : NULL;
    if (!noted)
        LEAVE(p ? sim_memory_free(p, "cudaFreeAsync") : cudaErrorInvalidValue); /* says what p is */
    if (sim_capturing(s)) LEAVE(sim_capture_free(s, p));
    if (*noted == sim_graph_memory) LEAVE(cudaSuccess);
    if (!*noted) LEAVE(sim_submit(s, &freeing, &p, sizeof p));
    cudaError_t e = sim_submit(s, &marking, &p, sizeof p);
    if (e == cudaSuccess) put_back(*noted, p, s, sim_last_work(s));
    LEAVE(e);
}

API cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
    ENTER();
    if (!out || device != 0) LEAVE(out ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *out = &device_pool;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *out, int device)
{
    ENTER();
    if (!out || device != 0) LEAVE(out ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *out = chosen;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t o)
{
    ENTER();
    if (!o || device != 0) LEAVE(o ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    chosen = o;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
    ENTER();
    if (!out || !props || props->location.type != cudaMemLocationTypeDevice ||
        props->location.id != 0)
        LEAVE(cudaErrorInvalidValue);
    if (props->handleTypes != cudaMemHandleTypeNone) {
        sim_say("memory pools are not shared between processes: handleTypes must be none");
        LEAVE(cudaErrorNotSupported);
    }
    pool *o = malloc(sizeof *o);
    if (!o) LEAVE(cudaErrorMemoryAllocation);
    *o = (pool){.end = &o->oldest,
                .most = props->maxSize,
                .follow = 1,
                .opportunistic = 1,
                .internal = 1,
                .next = pools};
    pools = o;
    *out = o;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMemPoolDestroy(cudaMemPool_t o)
{
    ENTER();
    if (!o || o == &device_pool) LEAVE(cudaErrorInvalidValue);
    if (chosen == o) chosen = &device_pool;
    o->closed = 1;
    collect(o);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMemPoolTrimTo(cudaMemPool_t o, size_t keep)
{
    ENTER();
    if (!o) LEAVE(cudaErrorInvalidValue);
    trim(o, keep);
    LEAVE(cudaSuccess);
}

static uint64_t *wide(pool *o, enum cudaMemPoolAttr attr)
{
    switch (attr) {
    case cudaMemPoolAttrReleaseThreshold: return &o->threshold;
    case cudaMemPoolAttrReservedMemCurrent: return &o->reserved;
    case cudaMemPoolAttrReservedMemHigh: return &o->reserved_high;
    case cudaMemPoolAttrUsedMemCurrent: return &o->used;
    case cudaMemPoolAttrUsedMemHigh: return &o->used_high;
    default: return NULL;
    }
}

static int *narrow(pool *o, enum cudaMemPoolAttr attr)
{
    return attr == cudaMemPoolReuseFollowEventDependencies     ? &o->follow
           : attr == cudaMemPoolReuseAllowOpportunistic        ? &o->opportunistic
           : attr == cudaMemPoolReuseAllowInternalDependencies ? &o->internal
                                                               : NULL;
}

API cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t o, enum cudaMemPoolAttr attr, void *value)
{
    ENTER();
    uint64_t *w = o ? wide(o, attr) : NULL;
    int *n = o ? narrow(o, attr) : NULL;
    if (!value || (!w && !n)) LEAVE(cudaErrorInvalidValue);
    if (w)
        *(uint64_t *)value = *w;
    else
        *(int *)value = *n;
    LEAVE(cudaSuccess);
}

/* A high-water mark can only be set to 0: back to what is there now. */
API cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t o, enum cudaMemPoolAttr attr, void *value)
{
    ENTER();
    uint64_t *w = o ? wide(o, attr) : NULL;
    int *n = o ? narrow(o, attr) : NULL;
    if (!value || (!w && !n)) LEAVE(cudaErrorInvalidValue);
    if (n)
        *n = *(int *)value;
    else if (attr == cudaMemPoolAttrReleaseThreshold)
        *w = *(uint64_t *)value;
    else if (*(uint64_t *)value ||
             (attr != cudaMemPoolAttrReservedMemHigh && attr != cudaMemPoolAttrUsedMemHigh))
        LEAVE(cudaErrorInvalidValue);
    else
        *w = attr == cudaMemPoolAttrReservedMemHigh ? o->reserved : o->used;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMemPoolSetAccess(cudaMemPool_t o, const struct cudaMemAccessDesc *list,
                                     size_t n)
{
    ENTER();
    if (!o || (!list && n)) LEAVE(cudaErrorInvalidValue);
    for (size_t i = 0; i < n; i++)
        if (list[i].location.type != cudaMemLocationTypeDevice || list[i].location.id != 0)
            LEAVE(cudaErrorInvalidDevice);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *out, cudaMemPool_t o,
                                     struct cudaMemLocation *where)
{
    ENTER();
    if (!out || !o || !where) LEAVE(cudaErrorInvalidValue);
    *out = where->type == cudaMemLocationTypeDevice && where->id == 0
               ? cudaMemAccessFlagsProtReadWrite
               : cudaMemAccessFlagsProtNone;
    LEAVE(cudaSuccess);
}
