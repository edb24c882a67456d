/* simrt.h - what the C made from PTX (one shared object a kernel) and the grid runner agree on.
 *
 * The translator emits, for each kernel, one C file that includes this header and defines the
 * entry and the metadata below. The runner calls the entry once for each thread of the grid, on
 * a stackful fiber. Nothing here is public: both sides are built from the same tree and
 * SIM_RT_ABI is part of the cache key. */
#ifndef SIMRT_H
#define SIMRT_H
#include <stddef.h>
#include <stdint.h>

#define SIM_RT_ABI 9

typedef struct sim_u3 {
    uint32_t x, y, z;
} sim_u3;

/* Where the last access of one load or store was found: it may access [from, from + room) without
 * another look, at address + delta. Per instruction, since most stay within one allocation. */
typedef struct sim_near {
    uint64_t from, room;
    int64_t delta;
} sim_near;

/* State of the thread that runs now. The runner rewrites it at each switch, so translated code
 * reads it through the pointer each time. */
typedef struct sim_ctx {
    sim_u3 tid, ntid, ctaid, nctaid;
    uint32_t lane, warp;         /* of the thread, within its block */
    char *shared;                /* the block's shared memory: static part first, then dynamic */
    uint32_t shared_bytes;       /* static + dynamic */
    uint64_t base, bytes;        /* device addresses are [base, base + bytes) ... */
    int64_t delta;               /* ... and their contents lie at address + delta */
    sim_near *near;              /* [sim_kernel_info.naccess]; empty when a grid starts */
    const struct sim_calls *rt;  /* the runner's services */
    uint64_t stack, stack_bytes; /* of the running fiber: .local variables live there */
    int many;                    /* other host threads run blocks of the same grid */
    uint32_t more;               /* threads of the row behind tid that run at the same time */
    uint64_t clock;              /* goes on with each look at it: the same in every run */
} sim_ctx;

/* Generic addresses: shared memory and local memory are seen by generic loads at their host
 * address (cvta adds the host base); rt->address admits exactly those of the running block and
 * thread, and raises SIM_ILLEGAL_ADDRESS for everything else. */
enum {
    SIM_SHFL_IDX,
    SIM_SHFL_UP,
    SIM_SHFL_DOWN,
    SIM_SHFL_BFLY,
    SIM_BALLOT,
    SIM_SYNCWARP,
    SIM_MATCH_ANY,
    SIM_MATCH_ALL,
    SIM_REDUX_ADD,
    SIM_REDUX_MIN,
    SIM_REDUX_MAX,
    SIM_REDUX_AND,
    SIM_REDUX_OR,
    SIM_REDUX_XOR
};
enum { SIM_BAR_POPC, SIM_BAR_AND, SIM_BAR_OR, SIM_BAR_ARRIVE };
enum {
    SIM_TRAP = 719,
    SIM_INVALID_PC = 718,
    SIM_ASSERT = 710,
    SIM_ILLEGAL_ADDRESS = 700,
    SIM_MISALIGNED = 716,
    SIM_ILLEGAL_INSTRUCTION = 715
};
/* access bits for rt->address */
enum { SIM_READ = 1, SIM_WRITE = 2 };

typedef struct sim_calls {
    /* bar: count is that of the threads that meet, in whole warps; 0: the block. The value is that
     * of bar.red over their predicates */
    uint32_t (*barrier)(sim_ctx *c, uint32_t id, uint32_t count, int op, int pred);
    /* every warp-wide operation. value, b and clamp as in PTX shfl (c operand: clamp | segmask<<8);
     * pred receives the "in range" predicate (shfl) or "all equal" (match.all) */
    uint64_t (*warp)(sim_ctx *c, int op, uint32_t mask, uint64_t value, uint32_t b, uint32_t clamp,
                     int *pred);
    uint32_t (*activemask)(sim_ctx *c);
    /* host address of a device, shared or local address that is not inside [base, base+bytes), or
     * that needs checking; raises and does not return when it is bad. near: of the instruction,
     * filled where that is safe; may be NULL */
    char *(*address)(sim_ctx *c, uint64_t address, uint32_t bytes, int access, sim_near *near);
    /* kernel: its name; NULL: the one that runs */
    void (*raise)(sim_ctx *c, int cuda_error, const char *kernel, int ptx_line, const char *why)
        __attribute__((noreturn));
    /* called after every SIM_TICKS jumps backwards of a thread: yields to other threads, or raises
     * SIM_TRAP when the launch's step budget is used up */
    void (*tick)(sim_ctx *c, const char *kernel, int ptx_line);
    int (*printf)(sim_ctx *c, const char *format, const void *args); /* device vprintf */
    /* device heap: bytes of room, 0 when it is used up; release raises for what is none of it */
    uint64_t (*reserve)(sim_ctx *c, uint64_t bytes);
    void (*release)(sim_ctx *c, uint64_t address, const char *kernel, int ptx_line);
    /* what __assertfail gets; does not return */
    void (*assertion)(sim_ctx *c, uint64_t expression, uint64_t file, uint32_t line,
                      uint64_t function) __attribute__((noreturn));
} sim_calls;

/* One shared object defines, with default visibility:
 *   const sim_kernel_info sim_kernel;   -- the kernel
 *   uint64_t sim_vars[];                -- device addresses of module variables, filled by the
 *                                          loader in the order of sim_kernel.vars */
typedef struct sim_kernel_info {
    int abi;                                /* SIM_RT_ABI */
    const char *name;                       /* the PTX .entry name */
    void (*entry)(sim_ctx *c, void **args); /* one thread; args[i] points to parameter i */
    uint32_t static_shared;                 /* bytes */
    uint32_t local_bytes;                   /* bytes of .local variables, callees' included */
    int nparam;
    const uint32_t *param_bytes; /* [nparam]: so that arguments can be copied */
    int nvar;
    const char *const *vars; /* [nvar] names of the module variables it uses */
    int uses_barrier;        /* 0: no barrier, no warp-wide operation anywhere */
    uint32_t naccess;        /* loads, stores and atomics of global or generic space */
    /* all threads of a block, one after the other; NULL: they may have to wait for each other.
     * Either this or entry */
    void (*all)(sim_ctx *c, void **args);
    /* [2] how many strips of threads were begun of late, and how many of them were ended one by
     * one; NULL: it does not run in strips */
    const uint32_t *strips;
} sim_kernel_info;

#endif
