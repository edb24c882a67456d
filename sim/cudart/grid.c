/* grid.c - runs a grid: the threads of a block on fibers, blocks one after the other on each
 * worker.
 *
 * A fiber runs thread after thread. Only when a thread must wait (a barrier, a warp operation that
 * is not complete, too long a spin) is its fiber parked and another one started for the threads
 * after it, so a block without barriers is a plain loop and needs one fiber. Within a block all is
 * deterministic: first in, first out. With one worker (the default) so are blocks, and the order in
 * which float atomics add. */
#define _GNU_SOURCE
#include "worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 4096, MOST_WORKERS = 64 };

static worker *workers[MOST_WORKERS]; /* workers[0] is of the thread that launches */
__thread worker *sim_worker;
static struct {
    dim3 grid;
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
    sim_shadow_leave(NULL, &w->shadow);
    siglongjmp(w->stop, 1);
}

const char *sim_where(const worker *w)
{
    static __thread char text[160];
    const sim_ctx *c = &w->ctx;
    char x[32];
    snprintf(x, sizeof x, c->more ? "%u to %u" : "%u", c->tid.x, c->tid.x + c->more);
    snprintf(text, sizeof text, "block (%u,%u,%u) thread (%s,%u,%u)", c->ctaid.x, c->ctaid.y,
             c->ctaid.z, x, c->tid.y, c->tid.z);
    return text;
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

/* What it spins for may be the work of a thread that has not started: choose() would run those
 * last, and hand the turn back to this one for ever. */
void sim_give_way(worker *w)
{
    if (!w->head && w->started == w->threads) return; /* nobody else */
    fiber *me = w->current, *f = w->started < w->threads ? fresh(w) : NULL;
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
        sim_shadow_leave(NULL, &w->shadow);
        sim_switch(&me->stack, w->outside);
    }
    go_on_with(w, choose(w), me);
    abort();
}

/* ---- blocks ---- */
static void run_block(worker *w, uint64_t k)
{
    const dim3 g = job.grid;
    w->ctx.ctaid =
        (sim_u3){(uint32_t)(k % g.x), (uint32_t)(k / g.x % g.y), (uint32_t)(k / g.x / g.y)};
    w->ctx.more = 0;
    w->ctx.clock = 0; /* whichever worker runs the block */
    w->started = w->ended = 0;
    w->next_tid = (sim_u3){0, 0, 0};
    sim_block_begins(w);
    w->current = fresh(w);
    sim_shadow_leave(&w->shadow, &w->current->shadow);
    sim_switch(&w->outside, w->current->stack);
    sim_shadow_arrive(&w->shadow);
}

static void reset(worker *w)
{
    w->spare = NULL;
    for (int i = SIM_THREADS - 1; i >= 0; i--) {
        w->fibers[i].next = w->spare;
        w->spare = &w->fibers[i];
    }
    w->head = w->tail = NULL;
    memset(w->barriers, 0, sizeof w->barriers);
    w->steps = 0;
}

/* Blocks until there are none, or the grid has failed. The worker must be prepared. */
static void run_blocks(worker *w)
{
    sim_faults_start();
    sim_worker = w;
    sim_shadow_outside(&w->shadow);
    if (sigsetjmp(w->stop, 0) != 0)
        sim_shadow_arrive(&w->shadow);
    else
        for (uint64_t k; !sim_grid_failed() &&
                         (k = __atomic_fetch_add(&job.next, 1, __ATOMIC_RELAXED)) < job.nblocks;)
            run_block(w, k);
    sim_worker = NULL;
}

/* ---- workers ---- */
static int new_worker(int i)
{
    if (workers[i]) return 1;
    worker *w = calloc(1, sizeof *w);
    char *m = mmap(NULL, 256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!w || m == MAP_FAILED) {
        free(w);
        return 0;
    }
    w->shared_memory = m;
    workers[i] = w;
    return 1;
}

/* Helpers wait for `round` to change. After a fork there are none: they are started again. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    uint64_t round;
    int wanted, busy, started;
    pid_t of;
} crew = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .begin = PTHREAD_COND_INITIALIZER,
          .end = PTHREAD_COND_INITIALIZER};

static void *help(void *arg)
{
    int me = (int)(intptr_t)arg;
    uint64_t seen = 0;
    pthread_setname_np(pthread_self(), "oomproof-sim"); /* known to a sweep, which forks */
    pthread_mutex_lock(&crew.lock);
    for (;;) {
        while (crew.round == seen) pthread_cond_wait(&crew.begin, &crew.lock);
        seen = crew.round;
        if (me >= crew.wanted) continue;
        pthread_mutex_unlock(&crew.lock);
        run_blocks(workers[me]);
        pthread_mutex_lock(&crew.lock);
        if (--crew.busy == 0) pthread_cond_signal(&crew.end);
    }
    return NULL;
}

/* OOMPROOF_SIM_THREADS: how many host threads may run a grid; 1 unless set. */
static int most_workers(void)
{
    static int most;
    const char *s = getenv("OOMPROOF_SIM_THREADS");
    if (most) return most;
    most = s && *s ? atoi(s) : 1;
    if (most < 1 || most > MOST_WORKERS) {
        sim_say("OOMPROOF_SIM_THREADS=%s: expected 1 to %d; 1 is taken", s, MOST_WORKERS);
        most = 1;
    }
    return most;
}

/* The helpers that can be had, up to n - 1. */
static int gather(int n)
{
    if (crew.of != getpid()) {
        crew.of = getpid();
        crew.started = 0;
        crew.round = 0;
        pthread_mutex_init(&crew.lock, NULL);
        pthread_cond_init(&crew.begin, NULL);
        pthread_cond_init(&crew.end, NULL);
    }
    while (crew.started < n - 1) {
        pthread_t thread;
        pthread_attr_t detached;
        int i = crew.started + 1;
        if (!new_worker(i) || pthread_attr_init(&detached) != 0) break;
        pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
        int ok = pthread_create(&thread, &detached, help, (void *)(intptr_t)i) == 0;
        pthread_attr_destroy(&detached);
        if (!ok) break;
        crew.started++;
    }
    return n - 1 < crew.started ? n : crew.started + 1;
}

static int prepare(worker *w, const sim_function *f, dim3 g, dim3 b, size_t dynamic_shared,
                   void **args, int many)
{
    if (w->near_room <= f->info->naccess) {
        sim_near *more = realloc(w->ctx.near, sizeof *more * (f->info->naccess + 1));
        if (!more) return 0;
        w->ctx.near = more;
        w->near_room = f->info->naccess + 1;
    }
    reset(w);
    w->running = f;
    w->arguments = args;
    w->threads = b.x * b.y * b.z;
    sim_memory_window(&w->ctx);
    w->ctx.ntid = (sim_u3){b.x, b.y, b.z};
    w->ctx.nctaid = (sim_u3){g.x, g.y, g.z};
    w->ctx.shared = w->shared_memory;
    w->ctx.shared_bytes = f->info->static_shared + (uint32_t)dynamic_shared;
    w->ctx.rt = &sim_services;
    w->ctx.many = many;
    memset(w->ctx.near, 0, sizeof *w->ctx.near * f->info->naccess);
    return 1;
}

int sim_grid_run(const sim_function *f, dim3 g, dim3 b, size_t dynamic_shared, void **args)
{
    static int once;
    if (!once++) sim_services_start();
    if (!new_worker(0)) return cudaErrorLaunchFailure;
    job.grid = g;
    job.nblocks = (uint64_t)g.x * g.y * g.z;
    job.next = 0;
    job.failed = 0;
    int n = most_workers();
    if ((uint64_t)n > job.nblocks) n = (int)job.nblocks;
    if (job.nblocks * b.x * b.y * b.z < 1024) n = 1; /* not worth waking anybody */
    if (n > 1) n = gather(n);
    for (int i = 0; i < n; i++)
        if (!prepare(workers[i], f, g, b, dynamic_shared, args, n > 1))
            return cudaErrorLaunchFailure;
    if (n > 1) {
        pthread_mutex_lock(&crew.lock);
        crew.wanted = n;
        crew.busy = n - 1;
        crew.round++;
        pthread_cond_broadcast(&crew.begin);
        pthread_mutex_unlock(&crew.lock);
    }
    run_blocks(workers[0]);
    if (n > 1) {
        pthread_mutex_lock(&crew.lock);
        while (crew.busy) pthread_cond_wait(&crew.end, &crew.lock);
        pthread_mutex_unlock(&crew.lock);
    }
    return job.failed;
}
