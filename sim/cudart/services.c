/* services.c - what a running kernel calls: addresses that are not plain device memory, printf, the
 * heap of kernels, the budget of steps, errors. */
#define _GNU_SOURCE
#include "worker.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPINS = 64, STEPS_A_TICK = 4096 };

/* A thread of a card that jumps back 5 * 10^10 times takes minutes, and a launch of which no thread
 * ends meanwhile is one that never will. Here they are some minutes, too; long before that it is
 * said. */
#define STEP_LIMIT  50000000000ull
#define STEP_NOTICE 5000000000ull
static uint64_t step_limit;

void sim_services_start(void)
{
    const char *s = getenv("OOMPROOF_SIM_STEPS");
    step_limit = s && *s ? strtoull(s, NULL, 10) : STEP_LIMIT;
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

void sim_raise(sim_ctx *c, int error, const char *kernel, int line, const char *why)
{
    worker *w = (worker *)c;
    sim_say("kernel %s, PTX line %d: %s, %s", kernel ? kernel : w->running->name, line, why,
            sim_where(w));
    sim_stop(w, error);
}

static void __attribute__((noreturn))
raise_(sim_ctx *c, int error, const char *kernel, int line, const char *why)
{
    sim_raise(c, error, kernel, line, why);
}

/* The calling lane alone: a legal answer, since lanes need not run together. */
static uint32_t activemask(sim_ctx *c)
{
    return 1u << c->lane;
}

static void say_that_it_is_long(const worker *w, const char *kernel, int line)
{
    static int said;
    if (__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED)) return;
    sim_say("kernel %s runs long: %.0e jumps backwards so far, now PTX line %d, %s. It is ended as "
            "endless when it has made %.0e without one of its threads coming to its end; "
            "OOMPROOF_SIM_STEPS sets that number",
            kernel, (double)STEP_NOTICE, line, sim_where(w), (double)step_limit);
}

/* Threads that end are progress: where they run one after the other, another one is here. */
static uint64_t how_far(const worker *w)
{
    const sim_ctx *c = &w->ctx;
    return w->running->info->all
               ? c->tid.x + (uint64_t)c->ntid.x * (c->tid.y + c->ntid.y * c->tid.z)
               : w->ended;
}

static void tick(sim_ctx *c, const char *kernel, int line)
{
    worker *w = (worker *)c;
    sim_host *h = w->host;
    uint64_t mark = how_far(w);
    if (mark != w->mark) h->steps = 0;
    w->mark = mark;
    if (++h->steps > step_limit / STEPS_A_TICK)
        sim_raise(c, SIM_TRAP, kernel, line,
                  "the launch used up its steps (OOMPROOF_SIM_STEPS), and none of its threads came "
                  "to its end meanwhile: it does not end");
    if (++h->total == STEP_NOTICE / STEPS_A_TICK) say_that_it_is_long(w, kernel, line);
    if (sim_grid_failed()) sim_stop(w, SIM_TRAP); /* the first error is the one that counts */
    if (w->running->info->all) return;
    if (w->current->ticks < SPINS) w->current->ticks++;
    if (w->current->ticks == SPINS) sim_give_way(w); /* and from then on soon again */
}

/* What kernels share: the heap, and lists of blocks that it changes. */
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

/* A parameter of the kernel whose address was taken: it may be read. */
static int in_parameters(const worker *w, uint64_t a, uint32_t n)
{
    const sim_kernel_info *k = w->running->info;
    for (int i = 0; i < k->nparam; i++) {
        uint64_t inside = a - (uint64_t)(uintptr_t)w->arguments[i];
        if (inside < k->param_bytes[i] && n <= k->param_bytes[i] - inside) return 1;
    }
    return 0;
}

static char *address(sim_ctx *c, uint64_t a, uint32_t n, int access, sim_near *near)
{
    worker *w = (worker *)c;
    if (a - (uint64_t)(uintptr_t)c->shared + n <= c->shared_bytes) return (char *)(uintptr_t)a;
    if (a - c->stack + n <= c->stack_bytes) return (char *)(uintptr_t)a;
    if (access == SIM_READ && in_parameters(w, a, n)) return (char *)(uintptr_t)a;
    if (c->many) pthread_mutex_lock(&shared);
    uint64_t from, bytes;
    char *host = sim_device_reach(a, n, &from, &bytes);
    /* blocks of the device heap come and go while the grid runs */
    if (host && near && bytes)
        *near = (sim_near){from, bytes - n + 1, (int64_t)((uint64_t)(uintptr_t)host - a)};
    const char *what = host ? NULL : sim_memory_describe(a);
    if (c->many) pthread_mutex_unlock(&shared);
    if (host) return host;
    sim_say("kernel %s: illegal %s of %u bytes at %#llx: %s, %s", w->running->name,
            access == SIM_READ    ? "read"
            : access == SIM_WRITE ? "write"
                                  : "atomic",
            n, (unsigned long long)a, what, sim_where(w));
    sim_stop(w, SIM_ILLEGAL_ADDRESS);
}

/* A piece of text in device memory, as far as it can be read. */
static void text_at(uint64_t a, char *to, size_t room)
{
    size_t n = 0;
    for (const char *p; n + 1 < room && (p = sim_device_at(a + n, 1)) && *p; n++) to[n] = *p;
    to[n] = 0;
}

/* As a card says it. */
static void __attribute__((noreturn))
assertion(sim_ctx *c, uint64_t expression, uint64_t file, uint32_t line, uint64_t function)
{
    worker *w = (worker *)c;
    char what[512], where[512], of[512];
    if (c->many) pthread_mutex_lock(&shared);
    text_at(expression, what, sizeof what);
    text_at(file, where, sizeof where);
    text_at(function, of, sizeof of);
    if (c->many) pthread_mutex_unlock(&shared);
    sim_say("kernel %s: %s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.",
            w->running->name, where, line, of, c->ctaid.x, c->ctaid.y, c->ctaid.z, c->tid.x,
            c->tid.y, c->tid.z, what);
    sim_stop(w, SIM_ASSERT);
}

static int print(sim_ctx *c, const char *format, const void *args)
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
                printf(spec, address(c, v, 1, 1, NULL));
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

static uint64_t reserve(sim_ctx *c, uint64_t bytes)
{
    void *p = NULL;
    uint64_t want = bytes ? (bytes + 511) / 512 * 512 : 512;
    (void)c;
    pthread_mutex_lock(&shared);
    uint64_t room = (8 << 20) - heap_used;
    if (bytes <= room && want <= room &&
        sim_memory_alloc(bytes ? bytes : 1, SIM_HEAP, &p) == cudaSuccess)
        heap_used += want;
    pthread_mutex_unlock(&shared);
    return (uint64_t)(uintptr_t)p;
}

static void release(sim_ctx *c, uint64_t a, const char *kernel, int line)
{
    if (!a) return;
    pthread_mutex_lock(&shared);
    size_t bytes = sim_memory_heap_bytes(a);
    if (bytes) sim_memory_free((void *)(uintptr_t)a, "free");
    heap_used -= bytes;
    char why[1000];
    if (!bytes)
        snprintf(why, sizeof why, "free of %#llx, which is no block of the device heap: %s",
                 (unsigned long long)a, sim_memory_describe(a));
    pthread_mutex_unlock(&shared);
    if (bytes) return;
    sim_raise(c, SIM_TRAP, kernel, line, why);
}

const sim_calls sim_services = {sim_barrier, sim_warp, activemask, address, raise_,
                                tick,        print,    reserve,    release, assertion};
