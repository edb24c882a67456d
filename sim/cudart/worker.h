/* worker.h - what runs a grid: host threads, the blocks that each has in hand, their threads on
 * fibers, and where those wait for each other. */
#ifndef SIM_WORKER_H
#define SIM_WORKER_H
#include "fiber.h"
#include "sanitize.h"
#include "state.h"
#include <setjmp.h>

enum {
    SIM_THREADS = 1024, /* of a block, at most */
    SIM_BLOCKS = 256,   /* that one host thread has in hand, at most ... */
    SIM_FLYING = 16384, /* ... and their threads: each may need a stack */
    SIM_HOSTS = 64
};

typedef struct fiber {
    sim_stack stack;
    sim_shadow shadow;
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

/* A block that has begun. */
typedef struct worker {
    sim_ctx ctx; /* first: a service gets its address */
    struct sim_host *host;
    int busy;       /* it has not ended */
    uint32_t turns; /* of its threads that gave way, since it went on last */
    uint64_t mark;  /* how far it had come at the last tick */
    fiber fibers[SIM_THREADS], *spare, *current, *head, *tail;
    warp warps[SIM_THREADS / 32];
    struct {
        fiber *waiting[SIM_THREADS];
        uint32_t n, count;                  /* count 0: the whole block */
        uint32_t arrived[SIM_THREADS / 32]; /* lanes, of a part of the block */
    } barriers[16];
    const sim_function *running;
    void **arguments;
    uint32_t threads, started, ended; /* of the block */
    sim_u3 next_tid;
    char *shared_memory;
    uint32_t near_room; /* of ctx.near */
} worker;

/* One host thread. It runs a block to its end before it begins the next one, unless all threads of
 * the block spin: what they wait for may be the work of another block, as on a card, where many are
 * there at once. */
typedef struct sim_host {
    worker *block[SIM_BLOCKS];
    int n, most, busy; /* made for this grid; at most; of these, not at their end */
    sim_stack outside;
    sim_shadow shadow;     /* of the host thread's own stack */
    uint64_t steps, total; /* ticks since a thread ended; of the grid */
    sigjmp_buf stop;
} sim_host;

extern __thread worker *sim_worker; /* of this host thread; NULL: it runs no kernel */

/* ---- grid.c ---- */
void sim_enqueue(worker *w, fiber *f); /* it may go on */
void sim_park(worker *w);              /* the current fiber waits until it is enqueued */
void sim_give_way(worker *w);          /* it lets all others run first */
int sim_grid_failed(void);             /* another host thread has stopped the grid */
void sim_host_run(int i);              /* blocks, until there are none or the grid has failed */
int sim_host_new(int i);
void __attribute__((noreturn)) sim_stop(worker *w, int cuda_error);

/* ---- crew.c ---- */
int sim_crew_most(void);    /* OOMPROOF_SIM_THREADS */
int sim_crew_gather(int n); /* so many host threads can be had, of n */
void sim_crew_begin(int n,
                    void (*work)(int i)); /* in all of them but the calling one, which is 0 */
void sim_crew_wait(void);

/* ---- meet.c ---- */
uint32_t sim_barrier(sim_ctx *c, uint32_t id, uint32_t count, int op, int pred);
uint64_t sim_warp(sim_ctx *c, int op, uint32_t mask, uint64_t value, uint32_t b, uint32_t clamp,
                  int *pred);
void sim_block_begins(worker *w);
void sim_thread_ends(worker *w, fiber *me);

/* ---- services.c ---- */
extern const sim_calls sim_services;
void sim_services_start(void); /* reads OOMPROOF_SIM_STEPS */
const char *sim_where(const worker *w);
void __attribute__((noreturn))
sim_raise(sim_ctx *c, int error, const char *kernel, int line, const char *why);

/* ---- fault.c ---- */
void sim_faults_start(void); /* once a host thread, before it runs a kernel */

#endif
