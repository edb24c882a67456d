/* runtime.c - wrappers around the CUDA runtime, made from calls.def; the last-error calls. */
#define _GNU_SOURCE
#include "sweep/sweep.h"
#include "wrap.h"
#include <stdio.h>
#include <string.h>

/* the stubs that nvcc makes call some of these; no public header declares them */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
/* no card has it: the real function fails, with the real error */
#define IMPOSSIBLE ((size_t)1 << 62)

static __thread cudaError_t overlay LOCAL; /* last error where the real one could not be made */

/* A runtime code returned without the real call. */
static cudaError_t injected(const op_rule *r)
{
    int code = r->action == OP_OOM ? (int)cudaErrorMemoryAllocation : r->code;
    if (r->stays && op_is_sticky(code)) OP_WRITE(op_sticky, code);
    overlay = (cudaError_t)code;
    return (cudaError_t)code;
}

/* A real failure after an injected one is the last error. */
static cudaError_t real(cudaError_t e)
{
    if (e != cudaSuccess) overlay = cudaSuccess;
    return e;
}

/* The real function was asked for the impossible; what it said is what the program gets. */
static cudaError_t out_of_memory(const op_rule *r, cudaError_t e)
{
    if (e != cudaErrorMemoryAllocation && op_not_acted(r))
        fprintf(stderr,
                "oomproof: rule '%s': the call returned %d and not out of memory (2), as it would "
                "have without the rule; the rule has not fired\n",
                r->text, (int)e);
    return e;
}

int op_error_before(void)
{
    return (int)REAL(cudaPeekAtLastError)();
}

void op_error_after(int before)
{
    if ((int)REAL(cudaPeekAtLastError)() == before) return;
    REAL(cudaGetLastError)();
    if (before && !overlay) overlay = (cudaError_t)before;
}

static op_kind kind_of(enum cudaMemcpyKind k)
{
    return (unsigned)k <= 3 ? (op_kind)(k + 1) : OP_ANY_KIND;
}

#define RT_PASS(name, arguments) PASS(name, arguments, (cudaError_t)OP_READ(op_sticky))
#define NOTE(pointer, bytes)     op_allocated(pointer, bytes)
#define HAS_ASK(...)             (sizeof(#__VA_ARGS__) > 1)

/* takes: 0, or the bytes that will be counted */
#define ALLOC_(name, parameters, arguments, bytes, takes_, live, stream, ask, pinned_)            \
    API cudaError_t name parameters                                                               \
    {                                                                                             \
        RT_PASS(name, arguments);                                                                 \
        const uint64_t asked_ = bytes;                                                            \
        const int host_ = pinned_;                                                                \
        const cudaStream_t given_to_ = stream;                                                    \
        const op_rule *rule_ =                                                                    \
            SEEN(((op_call){.id = OP_ID_##name, .size = asked_, .takes = takes_, .host = host_}), \
                 given_to_);                                                                      \
        if (FAULTED(rule_)) {                                                                     \
            void *nowhere = NULL;                                                                 \
            (void)nowhere;                                                                        \
            if (rule_->action != OP_OOM || !HAS_ASK(ask))                                         \
                return TRACED(name, injected(rule_), 0, asked_, given_to_, 1);                    \
            ask;                                                                                  \
            return TRACED(name, out_of_memory(rule_, real(OUTER(REAL(name) arguments))), 0,       \
                          asked_, given_to_, 1);                                                  \
        }                                                                                         \
        cudaError_t done_ = real(OUTER(REAL(name) arguments));                                    \
        uint64_t number_ = done_ == cudaSuccess && !host_ ? NOTE live : op_not_allocated();       \
        return TRACED(name, done_, number_, asked_, given_to_, 0);                                \
    }
#define ALLOC(name, parameters, arguments, bytes, live, stream, ask, ...) \
    ALLOC_(name, parameters, arguments, bytes, 0, live, stream, ask, 0 __VA_OPT__(+(__VA_ARGS__)))
#define PITCHED(name, parameters, arguments, bytes, takes, live) \
    ALLOC_(name, parameters, arguments, bytes, takes, live, NULL, , 0)

#define SIMPLE(name, arguments, bytes, stream)                                           \
    RT_PASS(name, arguments);                                                            \
    const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name, .size = bytes}), stream); \
    return FAULTED(rule_) ? TRACED(name, injected(rule_), 0, bytes, stream, 1)           \
                          : TRACED(name, real(OUTER(REAL(name) arguments)), 0, bytes, stream, 0);

#define PINNED(name, parameters, arguments, bytes) \
    API cudaError_t name parameters                \
    {                                              \
        SIMPLE(name, arguments, bytes, NULL)       \
    }

/* Forgotten before the real call: once it returns, another thread may be given the address. */
#define RELEASE(name, parameters, arguments, pointer, device, stream)                       \
    API cudaError_t name parameters                                                         \
    {                                                                                       \
        RT_PASS(name, arguments);                                                           \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), stream);               \
        if (FAULTED(rule_)) return TRACED(name, injected(rule_), 0, 0, stream, 1);          \
        void *given_ = pointer;                                                             \
        uint64_t number_ = 0, bytes_ = device && given_ ? op_freeing(given_, &number_) : 0; \
        cudaError_t done_ = real(OUTER(REAL(name) arguments));                              \
        if (done_ != cudaSuccess && bytes_) op_not_freed();                                 \
        return TRACED(name, done_, number_, bytes_, stream, 0);                             \
    }

#define RESULT(name, arguments, call, area, on_host, stream)                        \
    const size_t bytes_ = op_area_bytes(area);                                      \
    const op_rule *rule_ = SEEN(call, stream);                                      \
    if (FAULTED(rule_)) return TRACED(name, injected(rule_), 0, bytes_, stream, 1); \
    cudaError_t done_ = real(OUTER(REAL(name) arguments));                          \
    int poisoned_ = rule_ && rule_->action == OP_POISON &&                          \
                    op_poison_area(rule_, area, on_host, stream, (int)done_);       \
    if (__builtin_expect(op_sweep && (on_host), 0))                                 \
        op_sweep_read(OP_ID_##name, (area).to, bytes_, stream);                     \
    return TRACED(name, done_, 0, bytes_, stream, poisoned_);

#define COPY(name, parameters, arguments, area, from_, kind_, stream)                            \
    API cudaError_t name parameters                                                              \
    {                                                                                            \
        RT_PASS(name, arguments);                                                                \
        const op_kind way_ = (kind_) == cudaMemcpyDefault && OP_READ(op_busy[OP_ID_##name])      \
                                 ? op_direction((area).to, from_)                                \
                                 : kind_of(kind_);                                               \
        RESULT(name, arguments,                                                                  \
               ((op_call){.id = OP_ID_##name, .size = op_area_bytes(area), .kind = way_}), area, \
               way_ == OP_D2H || way_ == OP_H2H, stream)                                         \
    }

#define SET(name, parameters, arguments, area, stream)                                        \
    API cudaError_t name parameters                                                           \
    {                                                                                         \
        RT_PASS(name, arguments);                                                             \
        RESULT(name, arguments, ((op_call){.id = OP_ID_##name, .size = op_area_bytes(area)}), \
               area, 0, stream)                                                               \
    }

#define LAUNCH(name, parameters, arguments, kernel_, values, stream)                            \
    API cudaError_t name parameters                                                             \
    {                                                                                           \
        RT_PASS(name, arguments);                                                               \
        const char *named_ = OP_READ(op_busy[OP_ID_##name]) || OP_READ(op_tracing)              \
                                 ? op_kernel_name(kernel_)                                      \
                                 : NULL;                                                        \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name, .kernel = named_}), stream); \
        if (FAULTED(rule_)) return TRACED_AT(name, injected(rule_), 0, 0, stream, 1, named_);   \
        cudaError_t done_ = real(OUTER(REAL(name) arguments));                                  \
        int poisoned_ = rule_ && rule_->action == OP_POISON &&                                  \
                        op_poison_argument(rule_, values, stream, (int)done_);                  \
        return TRACED_AT(name, done_, 0, 0, stream, poisoned_, named_);                         \
    }

#define CALL(name, parameters, arguments, stream, ...)                             \
    API cudaError_t name parameters                                                \
    {                                                                              \
        RT_PASS(name, arguments);                                                  \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), stream);      \
        if (FAULTED(rule_)) return TRACED(name, injected(rule_), 0, 0, stream, 1); \
        cudaError_t done_ = real(OUTER(REAL(name) arguments));                     \
        __VA_OPT__(if (done_ == cudaSuccess) __VA_ARGS__;)                         \
        return TRACED(name, done_, 0, 0, stream, 0);                               \
    }
#include "calls.def"

/* Never failed: a stub keeps the handle of its first call for ever. */
API cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    cudaError_t e = REAL(__cudaGetKernel)(out, host);
    const char *name = op_kernel_name(host);
    if (e == cudaSuccess && name) op_learn_kernel(*out, name);
    return e;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *fun, const char *name,
                                int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                int *warp)
{
    op_learn_kernel(host, name);
    REAL(__cudaRegisterFunction)(handle, host, fun, name, limit, tid, bid, block, grid, warp);
}

API cudaError_t cudaGetLastError(void)
{
    PASS_UNTOLD(cudaGetLastError, (), (cudaError_t)OP_READ(op_sticky));
    cudaError_t e = REAL(cudaGetLastError)();
    if (overlay) e = overlay;
    overlay = cudaSuccess;
    return e;
}

API cudaError_t cudaPeekAtLastError(void)
{
    PASS_UNTOLD(cudaPeekAtLastError, (), (cudaError_t)OP_READ(op_sticky));
    return overlay ? overlay : REAL(cudaPeekAtLastError)();
}

/* A budgeted card is a smaller one. Over the budget, nothing is free: that is no error. */
API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    PASS_UNTOLD(cudaMemGetInfo, (free_bytes, total), (cudaError_t)OP_READ(op_sticky));
    cudaError_t e = real(REAL(cudaMemGetInfo)(free_bytes, total));
    uint64_t budget = 0, live;
    if (e == cudaSuccess && op_budget(&budget, &live)) {
        size_t room = live < budget ? budget - live : 0;
        if (*total > budget) *total = budget;
        if (*free_bytes > room) *free_bytes = room;
    }
    return e;
}

API cudaError_t cudaDeviceReset(void)
{
    if (OP_IS_WITHIN()) return REAL(cudaDeviceReset)();
    OP_WITHIN;
    OP_WRITE(op_sticky, 0);
    overlay = cudaSuccess;
    cudaError_t e = OUTER(REAL(cudaDeviceReset)());
    if (e == cudaSuccess) op_freed_all();
    return e;
}
