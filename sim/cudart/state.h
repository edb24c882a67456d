/* state.h - what the files of the simulated runtime share. One lock protects all of it. */
#ifndef SIM_STATE_H
#define SIM_STATE_H
#include "ptx.h"
#include "simdev.h"
#include "simrt.h"
#include <cuda_runtime_api.h>
#include <pthread.h>

#define API __attribute__((visibility("default")))
#define MIB ((size_t)1 << 20)

/* ---- device.c ---- */
int sim_active(void);        /* 0: behave like a machine without a GPU */
cudaError_t sim_enter(void); /* checks activity and options, then takes the lock */
void sim_leave(void);        /* gives the lock back */
/* Every call ends here: adds the sticky error, remembers a failure as the thread's last error. */
cudaError_t sim_return(cudaError_t e);
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- error.c ---- */
extern cudaError_t sim_sticky;  /* the context is dead with this */
extern cudaError_t sim_pending; /* a kernel failed; becomes sticky at the next call that waits */
void sim_settle(void);          /* a call that waits for everything: pending becomes sticky */
void sim_settle_stream(struct CUstream_st *s); /* a call that waits for one stream */

/* ---- queue.c: work of streams ---- */
struct sim_nodes;
struct CUstream_st {
    unsigned flags;
    int priority, of_a_thread, abandoned;
    unsigned long long id;
    struct sim_capture *capture; /* what it is given is recorded there; NULL: it is done */
    struct sim_nodes *after;     /* in a capture: what its next work depends on */
    struct sim_op *head, *tail;  /* queued work, when streams are lazy */
    struct CUstream_st *next;
};
enum { SIM_PRIORITY_HIGHEST = -5 };
extern struct CUstream_st *sim_streams;
int sim_lazy(void);
struct CUstream_st *sim_stream(cudaStream_t s); /* NULL: no such stream */
/* A kind of work: fn(arg) does it, drop(arg) frees what arg owns (NULL: nothing). */
typedef struct sim_work {
    enum cudaGraphNodeType type;
    void (*fn)(void *arg), (*drop)(void *arg);
} sim_work;
/* fn(arg) in stream order, then drop(arg); arg is copied when it has to wait. After a failure drop
 * has been called, fn not. In a capture fn may be called several times, or never. */
cudaError_t sim_submit(struct CUstream_st *s, const sim_work *work, const void *arg, size_t bytes);
int sim_stream_waits(const struct CUstream_st *s, uint64_t seq); /* its work up to seq is queued */
/* What s is given from here on follows the other stream's work up to seq. */
cudaError_t sim_submit_after(struct CUstream_st *s, struct CUstream_st *behind, uint64_t seq);
uint64_t sim_last_work(const struct CUstream_st *s);     /* 0: nothing is queued */
void sim_run_until(struct CUstream_st *s, uint64_t seq); /* and what has to come before */
void sim_run_all(void);
int sim_run_one(struct CUstream_st *s); /* 1: more is queued */

/* ---- capture.c: streams whose work is recorded ---- */
struct CUgraph_st;
struct CUgraphNode_st;
typedef struct sim_nodes {
    struct CUgraphNode_st **node;
    size_t n;
} sim_nodes;
static inline int sim_capturing(const struct CUstream_st *s)
{
    return s->capture != NULL;
}
/* Whether work may be given to s now: no capture that it is in has failed, and none is disturbed.
 */
cudaError_t sim_capture_check(struct CUstream_st *s);
/* At calls that must not be made while anybody captures (allocation, waiting): 900, and those
 * captures are invalid. */
cudaError_t sim_capture_unsafe(void);
cudaError_t sim_capture_wait(struct CUstream_st *s); /* at a call that waits for s */
cudaError_t sim_capture_work(struct CUstream_st *s, const sim_work *work, const void *arg,
                             size_t bytes);
cudaError_t sim_capture_alloc(struct CUstream_st *s, size_t bytes, void **out);
cudaError_t sim_capture_free(struct CUstream_st *s, void *p);
extern char sim_graph_memory[1]; /* noted as the pool of what a capture allocated */
/* Events in captures: what s has been given, as of now, and s behind that. */
sim_nodes *sim_capture_mark(struct CUstream_st *s, unsigned long long *id);
cudaError_t sim_capture_join(struct CUstream_st *s, const sim_nodes *after, unsigned long long id);
void sim_capture_forget(struct CUstream_st *s); /* it is destroyed */

/* ---- graph.c ---- */
struct CUgraph_st *sim_graph_new(void);
void sim_graph_free(struct CUgraph_st *g);
/* After a failure (NULL) drop(arg) has been called. */
struct CUgraphNode_st *sim_graph_add(struct CUgraph_st *g, const sim_nodes *after,
                                     const sim_work *work, const void *arg, size_t bytes);
/* The work of a launch, for graphs that are built by hand; *arg is malloc'ed. */
cudaError_t sim_launch_work(const struct cudaKernelNodeParams *p, const sim_work **work, void **arg,
                            size_t *bytes);
int sim_graph_reaches(const sim_nodes *from, const struct CUgraphNode_st *to);
sim_nodes *sim_nodes_copy(const sim_nodes *n);
int sim_nodes_add(sim_nodes *n, struct CUgraphNode_st *x); /* once; 0: no memory */
void sim_nodes_free(sim_nodes *n);

/* ---- site.c ---- */
enum { SIM_SITE_FRAMES = 8 };
typedef struct sim_site {
    void *frame[SIM_SITE_FRAMES];
    int n;
} sim_site;
int sim_checking(void); /* OOMPROOF_SIM_CHECK=1 */
void sim_site_take(sim_site *s);
const char *sim_site_text(const sim_site *s, const char *lead, char *out, size_t room);
/* made: NULL, there is nothing to say of where it was made and freed */
void sim_site_freed(uint64_t address, size_t bytes, const sim_site *made);
/* Or within so many bytes of it; 0: not among the latest. */
int sim_site_find_freed(uint64_t address, uint64_t around, char *out, size_t room);

/* ---- symbol.c ---- */
/* Name of the function around an address, as the file has it; 0: not known. */
int sim_symbol(const char *path, uint64_t at, char *out, size_t room, int *global);

/* ---- limits.c ---- */
size_t sim_parse_size(const char *s); /* 0: not understood */
int sim_limits_start(void);           /* 0: an option is wrong, and was said to be */
void sim_pressure_count(void);        /* one more allocation request */
size_t sim_pressure(size_t *piece);   /* bytes that others hold now, and the pieces they leave */
int sim_host_take(size_t bytes);      /* of the host's memory for pinned and managed; 0: too much */
void sim_host_give(size_t bytes);
int sim_host_has(size_t bytes); /* 0: the host itself would run out, and it was said */

/* ---- host.c: host memory that the device may use ---- */
/* Address, for the device and for the host, of [p, p + bytes) in one block; NULL: not in one. */
char *sim_host_at(uint64_t address, size_t bytes);
char *sim_host_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room);
const char *sim_host_describe(uint64_t address); /* for messages; static; NULL: no host memory */
int sim_host_was_shared(const void *p); /* among the addresses that are given once, under check */
int sim_pinned(const void *p, size_t bytes); /* inside one block of pinned host memory */
int sim_managed(const void *p);
size_t sim_managed_bytes(void); /* each allocation rounded up to a granule */
cudaError_t sim_managed_free(void *p);
cudaError_t sim_managed_make(void **out, size_t bytes); /* a __managed__ variable: zeros */
void sim_managed_drop(void *p);                         /* such a one */

/* ---- cudaDeviceReset, by file ---- */
void sim_streams_reset(void); /* stream.c: and events */
void sim_modules_reset(void); /* register.c: variables; kernels load again */
void sim_pools_reset(void);   /* pool.c */
void sim_memory_reset(void);  /* memory.c: all but the libraries' own */

/* ---- pool.c ---- */
/* Frees what was taken from a pool; 0: p was not. */
int sim_pool_take_back(void *p, struct CUstream_st *s);
void sim_pools_settle(void); /* at a call that waits: above its threshold a pool gives back */

/* ---- alloc.c ---- */
/* Host address of what the program may name at an address: device memory or shared host memory. */
char *sim_device_at(uint64_t address, size_t bytes);
/* The same for what runs on the device, which may still use what was freed behind it. *from, *room:
 * the allocation around it; *room is 0 when it may go while a kernel runs. */
char *sim_device_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room);

/* ---- memory.c, pages.c ---- */
cudaError_t sim_memory_start(void); /* reads OOMPROOF_SIM_MEMORY; idempotent */
enum { SIM_HEAP = 2 };              /* private_entry of a kernel's malloc */
cudaError_t sim_memory_alloc(size_t bytes, int private_entry, void **out);
size_t sim_memory_heap_bytes(uint64_t address); /* of a block of that heap; 0: none begins there */
cudaError_t sim_memory_free(void *p, const char *call); /* call: for the message */
void sim_memory_name(void *p,
                     const char *name); /* of a variable, for messages; kept by the caller */
/* As sim_device_at and sim_device_reach, of device memory. */
char *sim_memory_at(uint64_t address, size_t bytes);
char *sim_memory_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room);
int sim_memory_is_device(const void *p); /* inside the address window */
void sim_memory_window(sim_ctx *c);
void sim_memory_info(size_t *free_bytes, size_t *total);
/* For pools: where the pool of a block is noted (NULL: p is no block), and a block that the program
 * has freed and the pool keeps. later: work that is queued may use the address, until it is gone */
struct block;
void **sim_memory_pool(void *p);
size_t sim_memory_bytes(void *p); /* of the block, not what was asked */
struct block *sim_memory_hold(void *p, int later, size_t *bytes);
void sim_memory_gone(void *p);
void *sim_memory_reuse(struct block *b, size_t bytes); /* its address now; NULL: it has none */
void sim_memory_drop(struct block *b);

/* ---- describe.c ---- */
const char *sim_memory_describe(uint64_t address); /* for messages; static */

/* ---- register.c ---- */
typedef struct sim_module sim_module;
typedef struct sim_function {
    const void *host; /* the stub's address: how programs name it */
    const char *name; /* PTX entry */
    sim_module *module;
    const sim_kernel_info *info; /* NULL until the first launch */
    uint64_t *vars;
    uint64_t threads;  /* of it that ran, until it is compiled for strips of them */
    int settled;       /* it is, or never will be */
    int failed;        /* could not be translated or compiled */
    int dynamic_limit; /* cudaFuncAttributeMaxDynamicSharedMemorySize */
    struct sim_function *next;
} sim_function;
sim_function *sim_function_find(const void *host_or_handle);
sim_function *sim_function_next(sim_function *f); /* of all that are registered; NULL: the first */
cudaError_t sim_variable_address(const char *name, const sim_module *m, uint64_t *out);

struct sim_module {
    const void *fatbin;
    sim_ptx *ptx; /* parsed before the first launch */
    const char *text;
    size_t text_bytes;
    int read;
    cudaError_t unread; /* why ptx is NULL */
    uint64_t key;       /* of its compiled kernels; 0: not known yet */
    struct sim_global {
        const char *name;
        uint64_t address;
        size_t bytes;
        int managed; /* the host's under the same address */
    } * global;
    int nglobal;
    sim_module *next;
};
/* Finds and parses the PTX; 209 where there is none. */
cudaError_t sim_module_read(sim_module *m);
cudaError_t sim_module_load(sim_module *m); /* ... and places its variables */

/* ---- launch.c ---- */
int sim_skips_missing(void); /* OOMPROOF_SIM_NO_PTX=skip */

/* ---- jit.c ---- */
/* The kernel compiled and loaded; *info NULL and a message on stderr when it cannot be. */
cudaError_t sim_jit(sim_function *f);
/* ---- strips.c ---- */
int sim_strips_mode(
    void); /* OOMPROOF_SIM_STRIPS: 0 never, 1 from the first launch on, 2 when it pays */
void sim_strips(sim_function *f, uint64_t threads); /* that many of f's are about to run */

/* ---- grid.c ---- */
enum {
    SIM_STACK = 64 * 1024,
    SIM_LOCAL_MOST =
        32 * 1024 /* .local variables; the rest is for frames and the staggered starts */
};
/* Runs a grid to its end. 0, or the CUDA error that stopped it. */
int sim_grid_run(const sim_function *f, dim3 grid, dim3 block, size_t dynamic_shared, void **args);

/* Around the body of every entry. */
#define ENTER()                                               \
    do {                                                      \
        cudaError_t enter_ = sim_enter();                     \
        if (enter_ != cudaSuccess) return sim_return(enter_); \
    } while (0)
#define LEAVE(e)                            \
    do {                                    \
        cudaError_t leave_ = sim_return(e); \
        sim_leave();                        \
        return leave_;                      \
    } while (0)

#endif
