/* grid.c - runs a grid: the threads of a block on fibers, blocks one after the other on each host
 * thread, unless they wait for each other.
 *
 * A fiber runs thread after thread. Only when a thread must wait (a barrier, a warp operation that
 * is not complete, too long a spin) is its fiber parked and another one started for the threads
 * after it, so a block without barriers is a plain loop and needs one fiber. A block whose threads
 * have all spun in vain is left where it is for the next one, and gone back to. Within a block all
 * is deterministic: first in, first out. With one host thread (the default) so are blocks, and the
 * order in which float atomics add. */
#define _GNU_SOURCE
#include "worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 4096, MOST_STACKS = 20000 /* kept: a process may have 65530 mappings */ };

static sim_host *hosts[SIM_HOSTS]; /* hosts[0] is of the thread that launches */
static int stacks;
__thread worker *sim_worker;
static struct {
    const sim_function *f;
    dim3 grid;
    uint32_t threads; /* of a block */
    void **arguments;
    sim_ctx like; /* what all blocks see alike; read by host threads that may not look it up */
    uint64_t nblocks, next; /* next: taken by atomic addition */
    int failed;             /* the first error; 0: none */
} job;

static int fail(int error)
{
    int none = 0;
    return __atomic_compare_exchange_n(&job.failed, &none, error, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

int sim_grid_failed(void)
{
    return __atomic_load_n(&job.failed, __ATOMIC_RELAXED);
}

void sim_stop(worker *w, int cuda_error)
{
    fail(cuda_error);
    sim_shadow_leave(NULL, &w->host->shadow);
    siglongjmp(w->host->stop, 1);
}

/* ---- fibers ---- */
static void load(worker *w, const fiber *f)
{
    w->ctx.tid = f->tid;
    w->ctx.lane = f->index & 31;
    w->ctx.warp = f->index >> 5;
    w->ctx.stack = (uint64_t)(uintptr_t)f->memory;
    w->ctx.stack_bytes = SIM_STACK;
}

void sim_enqueue(worker *w, fiber *f)
{
    f->next = NULL;
    if (w->head)
        w->tail->next = f;
    else
        w->head = f;
    w->tail = f;
}

static void fiber_main(void);

static fiber *fresh(worker *w)
{
    fiber *f = w->spare;
    if (!f) sim_stop(w, cudaErrorLaunchFailure);
    w->spare = f->next;
    if (!f->memory) {
        char *m = mmap(NULL, SIM_STACK + GUARD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED) {
            sim_say("no host memory for the stack of a thread");
            sim_stop(w, cudaErrorLaunchFailure);
        }
        mprotect(m, GUARD, PROT_NONE);
        f->memory = m + GUARD;
        __atomic_fetch_add(&stacks, 1, __ATOMIC_RELAXED);
    }
    /* stacks a power of two apart would all use the same cache sets */
    f->stack =
        sim_stack_make(f->memory, SIM_STACK - (size_t)(f - w->fibers) * 320 % 16384, fiber_main);
    sim_shadow_fresh(&f->shadow, f->memory, SIM_STACK);
    f->index = UINT32_MAX;
    return f;
}

/* What runs when the current fiber cannot: the oldest that is ready, else the threads not started.
 */
static fiber *choose(worker *w)
{
    fiber *f = w->head;
    if (f) {
        w->head = f->next;
        return f;
    }
    if (w->started < w->threads) return fresh(w);
    sim_say("kernel %s: a barrier or warp operation never completes, %s", w->running->name,
            sim_where(w));
    sim_stop(w, cudaErrorLaunchFailure);
}

/* From the fiber `me`, which may be at its end, to f. */
SIM_NO_SHADOW static void go_on_with(worker *w, fiber *f, fiber *me)
{
    w->current = f;
    if (f->index != UINT32_MAX) load(w, f);
    sim_shadow_leave(me->index == UINT32_MAX ? NULL : &me->shadow, &f->shadow);
    sim_switch(&me->stack, f->stack);
    sim_shadow_arrive(&me->shadow);
}

void sim_park(worker *w)
{
    fiber *me = w->current, *f = choose(w);
    if (f != me) go_on_with(w, f, me);
}

/* From the current fiber to the host thread, which enters another one. */
SIM_NO_SHADOW static void leave(worker *w, fiber *me, int ends)
{
    sim_shadow_leave(ends ? NULL : &me->shadow, &w->host->shadow);
    sim_switch(&me->stack, w->host->outside);
    sim_shadow_arrive(&me->shadow);
}

/* Does the host thread have another block to go on with, or may it begin one? */
static int other_blocks(const sim_host *h)
{
    return h->busy > 1 ||
           (h->n < h->most && __atomic_load_n(&job.next, __ATOMIC_RELAXED) < job.nblocks);
}

/* What it spins for may be the work of a thread that has not started: choose() would run those
 * last, and hand the turn back to this one for ever. Or that of another block: its turn comes when
 * all threads of this one had theirs. */
void sim_give_way(worker *w)
{
    int alone = !w->head && w->started == w->threads;
    fiber *me = w->current;
    if ((alone || ++w->turns >= w->threads - w->ended) && other_blocks(w->host)) {
        sim_enqueue(w, me);
        leave(w, me, 0);
        return;
    }
    if (alone) return; /* nobody else */
    fiber *f = w->started < w->threads ? fresh(w) : NULL;
    sim_enqueue(w, me);
    if (!f)
        sim_park(w);
    else
        go_on_with(w, f, me);
}

static void next_thread(worker *w, fiber *me)
{
    me->index = w->started++;
    me->tid =
        w->next_tid; /* counted up: three divisions a thread would double the cost of a launch */
    me->ticks = 0;
    if (++w->next_tid.x == w->ctx.ntid.x) {
        w->next_tid.x = 0;
        if (++w->next_tid.y == w->ctx.ntid.y) {
            w->next_tid.y = 0;
            w->next_tid.z++;
        }
    }
    load(w, me);
}

SIM_NO_SHADOW static void fiber_main(void)
{
    worker *w = sim_worker;
    fiber *me = w->current;
    sim_shadow_arrive(&me->shadow);
    if (w->running->info->all) {
        load(w, me);
        w->running->info->all(&w->ctx, w->arguments);
        w->started = w->ended = w->threads;
    }
    while (w->started < w->threads) {
        next_thread(w, me);
        w->running->info->entry(&w->ctx, w->arguments);
        w->ended++;
        if (w->running->info->uses_barrier) sim_thread_ends(w, me);
        if (w->head) break; /* older threads first */
    }
    me->index = UINT32_MAX;
    me->next = w->spare;
    w->spare = me;
    if (w->ended == w->threads) {
        w->busy = 0;
        leave(w, me, 1);
    }
    go_on_with(w, choose(w), me);
    abort();
}

/* ---- blocks ---- */
static void begin_block(worker *w, uint64_t k)
{
    const dim3 g = job.grid;
    w->ctx.ctaid =
        (sim_u3){(uint32_t)(k % g.x), (uint32_t)(k / g.x % g.y), (uint32_t)(k / g.x / g.y)};
    w->ctx.more = 0;
    w->ctx.clock = 0; /* whichever host thread runs the block */
    w->started = w->ended = 0;
    w->mark = UINT64_MAX;
    w->next_tid = (sim_u3){0, 0, 0};
    w->busy = 1;
    w->host->busy++;
    sim_block_begins(w);
    sim_enqueue(w, fresh(w));
}

/* Until the block ends or gives way. */
static void enter(sim_host *h, worker *w)
{
    fiber *f = choose(w);
    sim_worker = w;
    w->turns = 0;
    w->current = f;
    if (f->index != UINT32_MAX) load(w, f);
    sim_shadow_leave(&h->shadow, &f->shadow);
    sim_switch(&h->outside, f->stack);
    sim_shadow_arrive(&h->shadow);
}

static void reset(worker *w)
{
    w->spare = NULL;
    for (int i = SIM_THREADS - 1; i >= 0; i--) {
        w->fibers[i].next = w->spare;
        w->spare = &w->fibers[i];
    }
    w->head = w->tail = NULL;
    w->busy = 0;
    memset(w->barriers, 0, sizeof w->barriers);
}

/* Room for one more block of this grid. */
static worker *open_block(sim_host *h)
{
    worker *w = h->block[h->n], *first = h->block[0];
    const sim_function *f = job.f;
    if (!w) {
        char *m =
            mmap(NULL, 256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        w = m == MAP_FAILED ? NULL : calloc(1, sizeof *w);
        if (!w) {
            if (m != MAP_FAILED) munmap(m, 256 * 1024);
            return NULL;
        }
        w->shared_memory = m;
        w->host = h;
        h->block[h->n] = w;
        if (!first) first = w;
    }
    if (w == first && w->near_room <= f->info->naccess) {
        sim_near *more = realloc(w->ctx.near, sizeof *more * (f->info->naccess + 1));
        if (!more) return NULL;
        w->ctx.near = more;
        w->near_room = f->info->naccess + 1;
    }
    if (w == first) memset(w->ctx.near, 0, sizeof *w->ctx.near * f->info->naccess);
    reset(w);
    w->running = f;
    w->arguments = job.arguments;
    w->threads = job.threads;
    w->ctx.base = job.like.base;
    w->ctx.bytes = job.like.bytes;
    w->ctx.delta = job.like.delta;
    w->ctx.near = first->ctx.near; /* only one of them runs at a time */
    w->ctx.ntid = job.like.ntid;
    w->ctx.nctaid = job.like.nctaid;
    w->ctx.shared = w->shared_memory;
    w->ctx.shared_bytes = job.like.shared_bytes;
    w->ctx.rt = &sim_services;
    w->ctx.many = job.like.many;
    h->n++;
    return w;
}

/* The block to go on with, after that at place `at` ended or gave way; -1: none. Those that gave
 * way take turns, and when the last has, one more is begun. When a block ends, the next one is
 * begun, and when there is none, the one that gave way to it goes on: it may have waited for this.
 */
static int turn(sim_host *h, int at)
{
    uint64_t k = job.nblocks;
    int gave_way = at >= 0 && h->block[at]->busy, next = at;
    for (int i = at + 1; gave_way && i < h->n; i++)
        if (h->block[i]->busy) return i;
    if (gave_way ? h->n < h->most : 1) k = __atomic_fetch_add(&job.next, 1, __ATOMIC_RELAXED);
    if (k < job.nblocks) {
        if (gave_way || at < 0) {
            next = h->n;
            if (!open_block(h)) {
                sim_say("no host memory for a block of threads");
                fail(cudaErrorLaunchFailure);
                return -1;
            }
        }
        begin_block(h->block[next], k);
        return next;
    }
    for (int i = 0; i < h->n; i++) {
        next = gave_way ? i : (at - 1 - i + 2 * h->n) % h->n;
        if (h->block[next]->busy) return next;
    }
    return -1;
}

void sim_host_run(int i)
{
    sim_host *h = hosts[i];
    sim_faults_start();
    h->n = h->busy = 0;
    h->steps = h->total = 0;
    sim_shadow_outside(&h->shadow);
    if (sigsetjmp(h->stop, 0) != 0)
        sim_shadow_arrive(&h->shadow);
    else
        for (int at = -1; !sim_grid_failed() && (at = turn(h, at)) >= 0;) {
            worker *w = h->block[at];
            enter(h, w);
            h->busy -= !w->busy;
        }
    sim_worker = NULL;
}

int sim_host_new(int i)
{
    return hosts[i] || (hosts[i] = calloc(1, sizeof *hosts[i])) != NULL;
}

/* Stacks of blocks that spun are kept, but not any number. */
static void give_stacks_back(void)
{
    for (int i = 0; i < SIM_HOSTS && stacks > MOST_STACKS; i++)
        for (int k = 1; hosts[i] && k < SIM_BLOCKS; k++)
            for (int f = 0; hosts[i]->block[k] && f < SIM_THREADS; f++) {
                fiber *of = &hosts[i]->block[k]->fibers[f];
                if (!of->memory) continue;
                munmap(of->memory - GUARD, SIM_STACK + GUARD);
                of->memory = NULL;
                stacks--;
            }
}

int sim_grid_run(const sim_function *f, dim3 g, dim3 b, size_t dynamic_shared, void **args)
{
    static int once;
    uint32_t threads = b.x * b.y * b.z;
    if (!once++) sim_services_start();
    if (!sim_host_new(0)) return cudaErrorLaunchFailure;
    job.f = f;
    job.grid = g;
    job.threads = threads;
    sim_memory_window(&job.like);
    job.like.ntid = (sim_u3){b.x, b.y, b.z};
    job.like.nctaid = (sim_u3){g.x, g.y, g.z};
    job.like.shared_bytes = f->info->static_shared + (uint32_t)dynamic_shared;
    job.arguments = args;
    job.nblocks = (uint64_t)g.x * g.y * g.z;
    job.next = 0;
    job.failed = 0;
    int n = sim_crew_most();
    if ((uint64_t)n > job.nblocks) n = (int)job.nblocks;
    if (job.nblocks * threads < 1024) n = 1; /* not worth waking anybody */
    if (n > 1) n = sim_crew_gather(n);
    job.like.many = n > 1;
    for (int i = 0; i < n; i++) {
        int most = SIM_FLYING / (int)threads / n;
        hosts[i]->most = most < 1 ? 1 : most < SIM_BLOCKS ? most : SIM_BLOCKS;
    }
    if (n > 1) sim_crew_begin(n, sim_host_run);
    sim_host_run(0);
    if (n > 1) sim_crew_wait();
    if (stacks > MOST_STACKS) give_stacks_back();
    return job.failed;
}
