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
int sim_pinned(const void *p, size_t bytes); /* inside one block of pinned host memory */
void sim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- error.c ---- */
extern cudaError_t sim_sticky;  /* the context is dead with this */
extern cudaError_t sim_pending; /* a kernel failed; becomes sticky at the next call that waits */
void sim_settle(void);          /* a call that waits for everything: pending becomes sticky */
void sim_settle_stream(struct CUstream_st *s); /* a call that waits for one stream */

/* ---- queue.c: work of streams ---- */
struct CUstream_st {
    unsigned flags;
    struct sim_op *head, *tail; /* queued work, when streams are lazy */
    struct CUstream_st *next;
};
extern struct CUstream_st *sim_streams;
int sim_lazy(void);
struct CUstream_st *sim_stream(cudaStream_t s); /* NULL: no such stream */
/* fn(arg) in stream order; arg is copied when it has to wait. */
cudaError_t sim_submit(struct CUstream_st *s, void (*fn)(void *), const void *arg, size_t bytes);
/* What s is given from here on follows the other stream's work up to seq. */
cudaError_t sim_submit_after(struct CUstream_st *s, struct CUstream_st *behind, uint64_t seq);
uint64_t sim_last_work(const struct CUstream_st *s);     /* 0: nothing is queued */
void sim_run_until(struct CUstream_st *s, uint64_t seq); /* and what has to come before */
void sim_run_all(void);
int sim_run_one(struct CUstream_st *s); /* 1: more is queued */

/* ---- memory.c ---- */
cudaError_t sim_memory_start(void); /* reads OOMPROOF_SIM_MEMORY; idempotent */
enum { SIM_HEAP = 2 };              /* private_entry of a kernel's malloc */
cudaError_t sim_memory_alloc(size_t bytes, int private_entry, void **out);
size_t sim_memory_heap_bytes(uint64_t address); /* of a block of that heap; 0: none begins there */
cudaError_t sim_memory_free(void *p);
/* Host address of a device range inside one allocation; NULL: not one. */
char *sim_memory_at(uint64_t address, size_t bytes);
int sim_memory_is_device(const void *p); /* inside the address window */
void sim_memory_window(sim_ctx *c);
void sim_memory_info(size_t *free_bytes, size_t *total);
const char *sim_memory_describe(uint64_t address); /* for messages; static */

/* ---- register.c ---- */
typedef struct sim_module sim_module;
typedef struct sim_function {
    const void *host; /* the stub's address: how programs name it */
    const char *name; /* PTX entry */
    sim_module *module;
    const sim_kernel_info *info; /* NULL until the first launch */
    uint64_t *vars;
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
    uint64_t key; /* of its compiled kernels; 0: not known yet */
    struct sim_global {
        const char *name;
        uint64_t address;
        size_t bytes;
    } * global;
    int nglobal;
    sim_module *next;
};
/* fatbin.c: the PTX text in a registered fat binary; NULL with a reason */
const char *sim_fatbin_ptx(const void *wrapper, size_t *bytes, const char **reason);
cudaError_t sim_module_read(sim_module *m); /* finds and parses the PTX */
cudaError_t sim_module_load(sim_module *m); /* ... and places its variables */

/* ---- jit.c ---- */
/* The kernel compiled and loaded; *info NULL and a message on stderr when it cannot be. */
cudaError_t sim_jit(sim_function *f);

/* ---- grid.c ---- */
enum {
    SIM_STACK = 64 * 1024,
    SIM_LOCAL_MOST =
        32 * 1024 /* .local variables; the rest is for frames and the staggered starts */
};
/* Runs a grid to its end. 0, or the CUDA error that stopped it. */
int sim_grid_run(const sim_function *f, dim3 grid, dim3 block, size_t dynamic_shared, void **args);
extern __thread int sim_in_kernel;

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
