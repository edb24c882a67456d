/* grid.c - runs a grid: blocks one after the other, the threads of a block on fibers.
 *
 * A fiber runs thread after thread. Only when a thread must wait (a barrier, a warp operation that
 * is not complete, too long a spin) is its fiber parked and another one started for the threads
 * after it, so a block without barriers is a plain loop and needs one fiber. Everything is
 * deterministic: one worker, first in first out. */
#define _GNU_SOURCE
#include "fiber.h"
#include "state.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_THREADS = 1024, STACK = SIM_STACK, GUARD = 4096, SPINS = 64 };

typedef struct fiber {
    sim_stack stack;
    char *memory;
    struct fiber *next;
    sim_u3 tid;
    uint32_t index;   /* of the thread it runs, within the block */
    uint64_t in, out; /* of a warp or barrier operation */
    uint32_t b, clamp;
    int op, pred;
    uint32_t ticks;
} fiber;

typedef struct warp {
    uint32_t live; /* lanes that have not ended (not started counts as live) */
    int ngroups;   /* several incomplete operations with other masks may be open */
    struct {
        uint32_t mask, arrived;
    } group[32];
    fiber *lane[32];
} warp;

static fiber fibers[MAX_THREADS], *spare, *current, *head, *tail;
static warp warps[MAX_THREADS / 32];
static struct {
    fiber *waiting[MAX_THREADS];
    uint32_t n, count;                  /* count 0: the whole block */
    uint32_t arrived[MAX_THREADS / 32]; /* lanes, of a part of the block */
} barriers[16];
static sim_stack outside;
static sim_ctx ctx;
static const sim_function *running;
static void **arguments;
static uint32_t threads, started, ended;
static sim_u3 next_tid;
static char *shared_memory;
static uint64_t steps, step_limit;
static sigjmp_buf stop;
static volatile int stopped_by;
__thread int sim_in_kernel;

static void __attribute__((noreturn)) stop_with(int cuda_error)
{
    stopped_by = cuda_error;
    siglongjmp(stop, 1);
}

static const char *where(void)
{
    static char text[160];
    snprintf(text, sizeof text, "block (%u,%u,%u) thread (%u,%u,%u)", ctx.ctaid.x, ctx.ctaid.y,
             ctx.ctaid.z, ctx.tid.x, ctx.tid.y, ctx.tid.z);
    return text;
}

static void rt_raise(sim_ctx *c, int error, const char *kernel, int line, const char *why)
{
    (void)c;
    sim_say("kernel %s, PTX line %d: %s, %s", kernel, line, why, where());
    stop_with(error);
}

static void load(const fiber *f)
{
    ctx.tid = f->tid;
    ctx.lane = f->index & 31;
    ctx.warp = f->index >> 5;
    ctx.stack = (uint64_t)(uintptr_t)f->memory;
    ctx.stack_bytes = STACK;
}

static void enqueue(fiber *f)
{
    f->next = NULL;
    if (head)
        tail->next = f;
    else
        head = f;
    tail = f;
}

static void fiber_main(void);

static fiber *fresh(void)
{
    fiber *f = spare;
    if (!f) stop_with(cudaErrorLaunchFailure);
    spare = f->next;
    if (!f->memory) {
        char *m = mmap(NULL, STACK + GUARD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED) {
            sim_say("no host memory for the stack of a thread");
            stop_with(cudaErrorLaunchFailure);
        }
        mprotect(m, GUARD, PROT_NONE);
        f->memory = m + GUARD;
    }
    /* stacks a power of two apart would all use the same cache sets */
    f->stack = sim_stack_make(f->memory, STACK - (size_t)(f - fibers) * 320 % 16384, fiber_main);
    f->index = UINT32_MAX;
    return f;
}

static void give_up(void)
{
    sim_say("kernel %s: a barrier or warp operation never completes, %s", running->name, where());
    stop_with(cudaErrorLaunchFailure);
}

/* What runs when the current fiber cannot: the oldest that is ready, else the threads not started.
 */
static fiber *choose(void)
{
    fiber *f = head;
    if (f) {
        head = f->next;
        return f;
    }
    if (started < threads) return fresh();
    give_up();
    return NULL;
}

static void park(fiber *me)
{
    fiber *f = choose();
    if (f == me) return;
    current = f;
    if (f->index != UINT32_MAX) load(f);
    sim_switch(&me->stack, f->stack);
}

/* ---- barriers ---- */
/* A part of the block is counted in warps: a full 32 when all lanes that have not ended are here.
 */
static int is_complete(int id)
{
    uint32_t here = 0;
    if (!barriers[id].count) return started == threads && barriers[id].n == threads - ended;
    for (uint32_t w = 0; w * 32 < threads; w++)
        if (barriers[id].arrived[w] && !(warps[w].live & ~barriers[id].arrived[w])) here += 32;
    return here >= barriers[id].count;
}

static void release_barriers(void)
{
    for (int id = 0; id < 16; id++) {
        uint32_t n = barriers[id].n, yes = 0;
        if (!(n || barriers[id].count) || !is_complete(id)) continue;
        for (uint32_t i = 0; i < n; i++) yes += barriers[id].waiting[i]->pred != 0;
        for (uint32_t i = 0; i < n; i++) {
            fiber *f = barriers[id].waiting[i];
            f->out = f->op == SIM_BAR_POPC ? yes : f->op == SIM_BAR_AND ? yes == n : yes != 0;
            enqueue(f);
        }
        barriers[id].n = barriers[id].count = 0;
        memset(barriers[id].arrived, 0, sizeof barriers[id].arrived);
    }
}

static uint32_t rt_barrier(sim_ctx *c, uint32_t id, uint32_t count, int op, int pred)
{
    fiber *me = current;
    if (id > 15) rt_raise(c, SIM_ILLEGAL_INSTRUCTION, running->name, 0, "barrier number above 15");
    if (count % 32 || count > MAX_THREADS)
        rt_raise(c, SIM_ILLEGAL_INSTRUCTION, running->name, 0, "a barrier of no whole warps");
    if (count) {
        uint32_t lane = 1u << (me->index & 31), *arrived = &barriers[id].arrived[me->index >> 5];
        if (barriers[id].count ? barriers[id].count != count : barriers[id].n)
            rt_raise(c, SIM_TRAP, running->name, 0, "threads name different counts at a barrier");
        if (*arrived & lane)
            rt_raise(c, SIM_TRAP, running->name, 0, "a thread arrives twice at a barrier");
        barriers[id].count = count;
        *arrived |= lane;
    } else if (barriers[id].count)
        rt_raise(c, SIM_TRAP, running->name, 0, "threads name different counts at a barrier");
    me->op = op;
    me->pred = pred;
    if (op != SIM_BAR_ARRIVE) barriers[id].waiting[barriers[id].n++] = me;
    release_barriers();
    if (op != SIM_BAR_ARRIVE) park(me);
    return (uint32_t)me->out;
}

/* ---- warps ---- */
/* PTX shfl: the lane to read from, and whether it is in range. */
static uint32_t shuffle_source(uint32_t lane, const fiber *f, int *in_range)
{
    uint32_t seg = f->clamp >> 8 & 31, b = f->b & 31, max = (lane & seg) | (f->clamp & 31 & ~seg);
    int64_t j;
    switch (f->op) {
    case SIM_SHFL_UP:
        j = (int64_t)lane - b;
        *in_range = j >= (int64_t)max;
        break;
    case SIM_SHFL_DOWN:
        j = (int64_t)lane + b;
        *in_range = j <= (int64_t)max;
        break;
    case SIM_SHFL_BFLY:
        j = lane ^ b;
        *in_range = j <= (int64_t)max;
        break;
    default:
        j = (lane & seg) | (b & ~seg);
        *in_range = j <= (int64_t)max;
        break;
    }
    return *in_range ? (uint32_t)j : lane;
}

static void complete(warp *w, uint32_t mask)
{
    uint32_t ballot = 0;
    for (uint32_t l = 0; l < 32; l++) ballot |= (mask >> l & 1 && w->lane[l]->in) ? 1u << l : 0;
    for (uint32_t l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        fiber *f = w->lane[l];
        uint32_t same = 0;
        switch (f->op) {
        case SIM_BALLOT:
        case SIM_SYNCWARP:
            f->out = ballot;
            f->pred = ballot == mask;
            break;
        case SIM_MATCH_ANY:
        case SIM_MATCH_ALL:
            for (uint32_t k = 0; k < 32; k++)
                if (mask >> k & 1 && w->lane[k]->in == f->in) same |= 1u << k;
            f->pred = same == mask;
            f->out = f->op == SIM_MATCH_ANY || f->pred ? same : 0;
            break;
        default: {
            uint32_t from = shuffle_source(l, f, &f->pred);
            f->out = mask >> from & 1 ? w->lane[from]->in : f->in;
        }
        }
    }
}

static uint64_t rt_warp(sim_ctx *c, int op, uint32_t mask, uint64_t value, uint32_t b,
                        uint32_t clamp, int *pred)
{
    fiber *me = current;
    warp *w = &warps[me->index >> 5];
    uint32_t lane = me->index & 31;
    int g = 0;
    if (!(mask >> lane & 1))
        rt_raise(c, SIM_TRAP, running->name, 0,
                 "a warp operation whose mask does not name the calling lane");
    me->in = value;
    me->op = op;
    me->b = b;
    me->clamp = clamp;
    w->lane[lane] = me;
    while (g < w->ngroups && w->group[g].mask != mask) g++;
    if (g == w->ngroups) {
        w->group[w->ngroups].mask = mask;
        w->group[w->ngroups++].arrived = 0;
    }
    w->group[g].arrived |= 1u << lane;
    if (w->group[g].arrived == (mask & w->live)) {
        uint32_t all = w->group[g].arrived;
        w->group[g] = w->group[--w->ngroups];
        complete(w, all);
        for (uint32_t l = 0; l < 32; l++)
            if (all >> l & 1 && l != lane) enqueue(w->lane[l]);
    } else
        park(me);
    *pred = me->pred;
    return me->out;
}

/* The calling lane alone: a legal answer, since lanes need not run together. */
static uint32_t rt_activemask(sim_ctx *c)
{
    return 1u << c->lane;
}

static void lane_ends(fiber *me)
{
    warp *w = &warps[me->index >> 5];
    w->live &= ~(1u << (me->index & 31));
    for (int g = 0; g < w->ngroups; g++) {
        uint32_t all = w->group[g].arrived;
        if (all != (w->group[g].mask & w->live)) continue;
        w->group[g--] = w->group[--w->ngroups];
        complete(w, all);
        for (uint32_t l = 0; l < 32; l++)
            if (all >> l & 1) enqueue(w->lane[l]);
    }
}

/* ---- threads ---- */
static void fiber_main(void)
{
    fiber *me = current;
    while (started < threads) {
        me->index = started++;
        me->tid =
            next_tid; /* counted up: three divisions a thread would double the cost of a launch */
        if (++next_tid.x == ctx.ntid.x) {
            next_tid.x = 0;
            if (++next_tid.y == ctx.ntid.y) {
                next_tid.y = 0;
                next_tid.z++;
            }
        }
        me->ticks = 0;
        load(me);
        running->info->entry(&ctx, arguments);
        ended++;
        if (running->info->uses_barrier) {
            lane_ends(me);
            release_barriers();
        }
        if (head) break; /* older threads first */
    }
    me->index = UINT32_MAX;
    me->next = spare;
    spare = me;
    if (ended == threads) sim_switch(&me->stack, outside);
    fiber *f = choose();
    current = f;
    if (f->index != UINT32_MAX) load(f);
    sim_switch(&me->stack, f->stack);
    abort();
}

static void rt_tick(sim_ctx *c, const char *kernel, int line)
{
    fiber *me = current;
    if (++steps > step_limit)
        rt_raise(c, SIM_TRAP, kernel, line,
                 "the launch used up its steps (OOMPROOF_SIM_STEPS): it does not end");
    if (++me->ticks % SPINS) return;
    if (!head && started == threads) return; /* nobody else */
    /* What it spins for may be the work of a thread that has not started: choose() would run those
     * last, and hand the turn back to this one for ever. */
    fiber *f = started < threads ? fresh() : NULL;
    enqueue(me);
    if (!f) {
        park(me);
        return;
    }
    current = f;
    sim_switch(&me->stack, f->stack);
}

/* A kernel's parameters may be read through a register: an array in one, indexed. */
static int is_argument(uint64_t a, uint32_t n)
{
    for (int i = 0; i < running->info->nparam; i++) {
        uint64_t at = a - (uint64_t)(uintptr_t)arguments[i];
        if (at < running->info->param_bytes[i] && n <= running->info->param_bytes[i] - at) return 1;
    }
    return 0;
}

static char *rt_address(sim_ctx *c, uint64_t a, uint32_t n, int access)
{
    if (access == SIM_READ && is_argument(a, n)) return (char *)(uintptr_t)a;
    char *host = sim_memory_at(a, n);
    if (host) return host;
    if (a - (uint64_t)(uintptr_t)c->shared + n <= c->shared_bytes) return (char *)(uintptr_t)a;
    if (a - c->stack + n <= c->stack_bytes) return (char *)(uintptr_t)a;
    sim_say("kernel %s: illegal %s of %u bytes at %#llx: %s, %s", running->name,
            access == 1   ? "read"
            : access == 2 ? "write"
                          : "atomic",
            n, (unsigned long long)a, sim_memory_describe(a), where());
    stop_with(SIM_ILLEGAL_ADDRESS);
}

static int rt_printf(sim_ctx *c, const char *format, const void *args)
{
    const char *p = args;
    int count = 0;
    for (const char *s = format; *s; s++) {
        char spec[32];
        size_t n = 0;
        if (*s != '%' || s[1] == '%') {
            putchar(*s);
            s += *s == '%';
            continue;
        }
        spec[n++] = *s++;
        while (*s && !strchr("diouxXeEfFgGaAcsp", *s) && n < sizeof spec - 4) {
            if (*s != 'l' && *s != 'h') spec[n++] = *s;
            s++;
        }
        int wide = s[-1] == 'l';
        if (!*s) break;
        if (strchr("eEfFgGaA", *s)) {
            double v;
            p = (const char *)(((uintptr_t)p + 7) & ~(uintptr_t)7);
            memcpy(&v, p, 8);
            p += 8;
            spec[n++] = *s, spec[n] = 0;
            printf(spec, v);
        } else if (wide || *s == 'p' || *s == 's') {
            uint64_t v;
            p = (const char *)(((uintptr_t)p + 7) & ~(uintptr_t)7);
            memcpy(&v, p, 8);
            p += 8;
            if (*s == 's') {
                spec[n++] = 's', spec[n] = 0;
                printf(spec, rt_address(c, v, 1, 1));
            } else {
                spec[n++] = 'l', spec[n++] = 'l', spec[n++] = *s == 'p' ? 'x' : *s, spec[n] = 0;
                printf(spec, (unsigned long long)v);
            }
        } else {
            int v;
            memcpy(&v, p, 4);
            p += 4;
            spec[n++] = *s, spec[n] = 0;
            printf(spec, v);
        }
        count++;
    }
    fflush(stdout);
    return count;
}

/* The heap of kernels: a GPU's default of 8 MiB. Its blocks belong to the context. */
static uint64_t heap_used;

static uint64_t rt_reserve(sim_ctx *c, uint64_t bytes)
{
    void *p = NULL;
    uint64_t room = (8 << 20) - heap_used, want = bytes ? (bytes + 511) / 512 * 512 : 512;
    (void)c;
    if (bytes > room || want > room || sim_memory_alloc(want, SIM_HEAP, &p) != cudaSuccess)
        return 0;
    heap_used += want;
    return (uint64_t)(uintptr_t)p;
}

static void rt_release(sim_ctx *c, uint64_t address)
{
    if (!address) return;
    size_t bytes = sim_memory_heap_bytes(address);
    if (!bytes) rt_raise(c, SIM_TRAP, running->name, 0, "free of what is not of the device heap");
    sim_memory_free((void *)(uintptr_t)address);
    heap_used -= bytes;
}

static const sim_calls calls = {rt_barrier, rt_warp,   rt_activemask, rt_address, rt_raise,
                                rt_tick,    rt_printf, rt_reserve,    rt_release};

/* ---- faults ---- */
static struct sigaction before_segv, before_bus;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    if (sim_in_kernel) {
        uint64_t a = (uint64_t)(uintptr_t)info->si_addr;
        uint64_t device = a - (uint64_t)ctx.delta;
        int known = sim_memory_is_device((void *)(uintptr_t)device);
        sim_say("kernel %s: illegal access at %#llx: %s, %s", running->name,
                (unsigned long long)(known ? device : a),
                known ? sim_memory_describe(device) : "neither device, shared nor local memory",
                where());
        stop_with(SIM_ILLEGAL_ADDRESS);
    }
    if (sig == SIGSEGV && sim_memory_is_device(info->si_addr)) {
        static const char text[] =
            "simulated device: host code follows a device pointer; copy with cudaMemcpy first\n";
        if (write(2, text, sizeof text - 1) < 0) {
        }
    }
    const struct sigaction *old = sig == SIGSEGV ? &before_segv : &before_bus;
    if (old->sa_flags & SA_SIGINFO)
        old->sa_sigaction(sig, info, context);
    else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN)
        old->sa_handler(sig);
    else {
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

static void start_once(void)
{
    static int done;
    static __thread char *alternate;
    if (!alternate && (alternate = malloc(64 * 1024))) {
        stack_t now = {0}, mine = {.ss_sp = alternate, .ss_size = 64 * 1024};
        if (sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_DISABLE) sigaltstack(&mine, NULL);
    }
    if (done) return;
    done = 1;
    const char *s = getenv("OOMPROOF_SIM_STEPS");
    step_limit = (s && *s ? strtoull(s, NULL, 10) : 400000000000ull) / 4096 + 1;
    shared_memory =
        mmap(NULL, 256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction a = {.sa_sigaction = on_fault,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(SIGSEGV, &a, &before_segv);
    sigaction(SIGBUS, &a, &before_bus);
}

static void reset(void)
{
    spare = NULL;
    for (int i = MAX_THREADS - 1; i >= 0; i--) {
        fibers[i].next = spare;
        spare = &fibers[i];
    }
    head = tail = NULL;
    memset(barriers, 0, sizeof barriers);
}

static void run_block(sim_u3 id)
{
    ctx.ctaid = id;
    for (int i = 0; i < 16; i++) /* arrivals that nobody waited for end with their block */
        if (barriers[i].count) memset(&barriers[i], 0, sizeof barriers[i]);
    started = ended = 0;
    next_tid = (sim_u3){0, 0, 0};
    for (uint32_t w = 0; w * 32 < threads; w++) {
        uint32_t lanes = threads - w * 32;
        warps[w].live = lanes >= 32 ? UINT32_MAX : (1u << lanes) - 1;
        warps[w].ngroups = 0;
    }
    current = fresh();
    sim_switch(&outside, current->stack);
}

int sim_grid_run(const sim_function *f, dim3 g, dim3 b, size_t dynamic_shared, void **args)
{
    start_once();
    reset();
    running = f;
    arguments = args;
    threads = b.x * b.y * b.z;
    steps = 0;
    sim_memory_window(&ctx);
    ctx.ntid = (sim_u3){b.x, b.y, b.z};
    ctx.nctaid = (sim_u3){g.x, g.y, g.z};
    ctx.shared = shared_memory;
    ctx.shared_bytes = f->info->static_shared + (uint32_t)dynamic_shared;
    ctx.rt = &calls;
    sim_in_kernel = 1;
    stopped_by = 0;
    if (sigsetjmp(stop, 0) == 0)
        for (uint32_t z = 0; z < g.z; z++)
            for (uint32_t y = 0; y < g.y; y++)
                for (uint32_t x = 0; x < g.x; x++) run_block((sim_u3){x, y, z});
    sim_in_kernel = 0;
    return stopped_by;
}
