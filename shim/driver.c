/* driver.c - the driver level, for CUDA runtimes that are linked statically (into programs, cuBLAS,
 * cuDNN): they look the driver's functions up, by dlsym and then by cuGetProcAddress, and get the
 * wrappers made here from calls.def. A call from within an intercepted one is passed on: only the
 * outermost counts. */
#define _GNU_SOURCE
#include "driver.h"
#include "live.h"
#include "wrap.h"
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#undef cuGetProcAddress

/* What lookups answered, by call and by kind of default stream. NULL: the exported function. */
static void *found[OP_CALLS][2];
#define REAL_DRIVER(name, kind)                                             \
    ({                                                                      \
        void *found_ = OP_READ(found[OP_ID_##name][kind]);                  \
        found_ ? (__typeof__(&name))found_ : (__typeof__(&name))REAL(name); \
    })

static CUresult failed(const op_rule *r)
{
    int code = r->action == OP_OOM ? (int)CUDA_ERROR_OUT_OF_MEMORY : r->code;
    if (r->stays && op_is_sticky(code)) OP_WRITE(op_sticky, code);
    return (CUresult)code;
}

#define DRIVER_PASS(name, arguments, kind)                        \
    if (OP_IS_WITHIN()) return REAL_DRIVER(name, kind) arguments; \
    if (OP_READ(op_sticky)) {                                     \
        const CUresult dead_ = (CUresult)OP_READ(op_sticky);      \
        op_count(OP_ID_##name);                                   \
        return TRACED(name, dead_, 0, 0, NULL, 0);                \
    }                                                             \
    OP_WITHIN;

/* What a row may say after its key, else 0. */
#define HOST_OF(host, ...)                    host
#define TAKES_OF(host, takes, ...)            takes
#define COUNTED_OF(host, takes, counted, ...) counted
#define OR_0(of, ...)                         of(__VA_ARGS__ __VA_OPT__(, ) 0, 0, 0, 0)

/* Each wrapper twice: the exported one, and one for lookups of the per-thread variant. */
#define DRIVER_ALLOC_(name, own, kind, parameters, arguments, bytes, key, ...)            \
    own CUresult parameters                                                               \
    {                                                                                     \
        DRIVER_PASS(name, arguments, kind)                                                \
        const uint64_t asked_ = bytes;                                                    \
        const int host_ = OR_0(HOST_OF, __VA_ARGS__);                                     \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name,                        \
                                               .size = asked_,                            \
                                               .takes = OR_0(TAKES_OF, __VA_ARGS__),      \
                                               .host = host_}),                           \
                                    NULL);                                                \
        if (FAULTED(rule_)) return TRACED(name, failed(rule_), 0, asked_, NULL, 1);       \
        CUresult done_ = OUTER(REAL_DRIVER(name, kind) arguments);                        \
        const uint64_t rows_ = done_ == CUDA_SUCCESS ? OR_0(COUNTED_OF, __VA_ARGS__) : 0; \
        uint64_t number_ =                                                                \
            done_ == CUDA_SUCCESS && !host_                                               \
                ? op_driver_allocated((void *)(uintptr_t)(key), rows_ ? rows_ : asked_)   \
                : op_not_allocated();                                                     \
        return TRACED(name, done_, number_, asked_, NULL, 0);                             \
    }
#define DRIVER_RELEASE_(name, own, kind, parameters, arguments, key)           \
    own CUresult parameters                                                    \
    {                                                                          \
        DRIVER_PASS(name, arguments, kind)                                     \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);    \
        if (FAULTED(rule_)) return TRACED(name, failed(rule_), 0, 0, NULL, 1); \
        void *given_ = (void *)(uintptr_t)(key);                               \
        uint64_t number_ = 0, bytes_ = op_driver_freeing(given_, &number_);    \
        CUresult done_ = OUTER(REAL_DRIVER(name, kind) arguments);             \
        if (done_ != CUDA_SUCCESS && bytes_) op_driver_not_freed();            \
        return TRACED(name, done_, number_, bytes_, NULL, 0);                  \
    }
#define DRIVER_CALL_(name, own, kind, parameters, arguments, ...)              \
    own CUresult parameters                                                    \
    {                                                                          \
        DRIVER_PASS(name, arguments, kind)                                     \
        const op_rule *rule_ = SEEN(((op_call){.id = OP_ID_##name}), NULL);    \
        if (FAULTED(rule_)) return TRACED(name, failed(rule_), 0, 0, NULL, 1); \
        CUresult done_ = OUTER(REAL_DRIVER(name, kind) arguments);             \
        __VA_OPT__(if (done_ == CUDA_SUCCESS) __VA_ARGS__;)                    \
        return TRACED(name, done_, 0, 0, NULL, 0);                             \
    }

#define DRIVER_ALLOC(name, asked, since, parameters, arguments, ...)                     \
    API CUresult name parameters;                                                        \
    DRIVER_ALLOC_(name, static, 1, per_thread_##name parameters, arguments, __VA_ARGS__) \
    DRIVER_ALLOC_(name, API, 0, name parameters, arguments, __VA_ARGS__)
#define DRIVER_RELEASE(name, asked, since, parameters, arguments, key)             \
    API CUresult name parameters;                                                  \
    DRIVER_RELEASE_(name, static, 1, per_thread_##name parameters, arguments, key) \
    DRIVER_RELEASE_(name, API, 0, name parameters, arguments, key)
#define DRIVER_CALL(name, asked, since, parameters, arguments, ...)                     \
    API CUresult name parameters;                                                       \
    DRIVER_CALL_(name, static, 1, per_thread_##name parameters, arguments, __VA_ARGS__) \
    DRIVER_CALL_(name, API, 0, name parameters, arguments, __VA_ARGS__)
#include "calls.def"

/* ---- lookups ---- */
static const struct {
    op_id id;
    const char *asked;
    int since;
    void *wrapper[2];
} wrappers[] = {
/* #asked here and not a macro further in, where cuda.h would have made cuMemAlloc_v2 of it */
#define ENTRY_(name, word, since) \
    {OP_ID_##name, word, since, {(void *)name, (void *)per_thread_##name}},
#define DRIVER_ALLOC(name, asked, since, ...)   ENTRY_(name, #asked, since)
#define DRIVER_RELEASE(name, asked, since, ...) ENTRY_(name, #asked, since)
#define DRIVER_CALL(name, asked, since, ...)    ENTRY_(name, #asked, since)
#include "calls.def"
};
enum { WRAPPERS = sizeof wrappers / sizeof *wrappers };

typedef CUresult lookup_1(const char *, void **, int, cuuint64_t);
typedef CUresult lookup_2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static lookup_1 *real_lookup_1;
static lookup_2 *real_lookup_2;

/* The driver hands out itself as well: asked for cuGetProcAddress, it must answer with ours. */
API CUresult cuGetProcAddress(const char *symbol, void **fn, int version, cuuint64_t flags)
{
    lookup_1 *real = __atomic_load_n(&real_lookup_1, __ATOMIC_RELAXED);
    if (!real) real = REAL(cuGetProcAddress);
    CUresult e = real(symbol, fn, version, flags);
    if (e == CUDA_SUCCESS && symbol && fn && *fn)
        op_driver_wrap(symbol, version,
                       (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, fn);
    return e;
}

API CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *status)
{
    lookup_2 *real = __atomic_load_n(&real_lookup_2, __ATOMIC_RELAXED);
    if (!real) real = REAL(cuGetProcAddress_v2);
    CUresult e = real(symbol, fn, version, flags, status); /* status may be NULL */
    if (e == CUDA_SUCCESS && symbol && fn && *fn)
        op_driver_wrap(symbol, version,
                       (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, fn);
    return e;
}

static int is_wrapper(const void *p)
{
    for (int i = 0; i < WRAPPERS; i++)
        if (p == wrappers[i].wrapper[0] || p == wrappers[i].wrapper[1]) return 1;
    return p == (void *)cuGetProcAddress || p == (void *)cuGetProcAddress_v2;
}

void op_driver_wrap(const char *symbol, int version, int per_thread, void **fn)
{
    if (is_wrapper(*fn)) return;
    if (!strcmp(symbol, "cuGetProcAddress") || !strcmp(symbol, "cuGetProcAddress_v2")) {
        int second = version >= 12000 || symbol[16];
        if (second)
            __atomic_store_n(&real_lookup_2, (lookup_2 *)*fn, __ATOMIC_RELAXED);
        else
            __atomic_store_n(&real_lookup_1, (lookup_1 *)*fn, __ATOMIC_RELAXED);
        *fn = second ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
        return;
    }
    for (int i = 0; i < WRAPPERS; i++)
        if (!strcmp(symbol, wrappers[i].asked) && version >= wrappers[i].since) {
            OP_WRITE(found[wrappers[i].id][per_thread], *fn);
            *fn = wrappers[i].wrapper[per_thread];
            return;
        }
}

static int version_of_runtime(void)
{
    return CUDART_VERSION;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/* name: the runtime's, or its variant for per-thread default streams */
#define BY_RUNTIME(name, per_thread)                                                           \
    API cudaError_t name(const char *symbol, void **fn, unsigned long long flags,              \
                         enum cudaDriverEntryPointQueryResult *status)                         \
    {                                                                                          \
        cudaError_t e = REAL(name)(symbol, fn, flags, status);                                 \
        if (e == cudaSuccess && symbol && fn && *fn)                                           \
            op_driver_wrap(symbol, version_of_runtime(),                                       \
                           per_thread || (flags & cudaEnablePerThreadDefaultStream) != 0, fn); \
        return e;                                                                              \
    }
#define BY_VERSION(name, per_thread)                                                             \
    API cudaError_t name(const char *symbol, void **fn, unsigned version,                        \
                         unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) \
    {                                                                                            \
        cudaError_t e = REAL(name)(symbol, fn, version, flags, status);                          \
        if (e == cudaSuccess && symbol && fn && *fn)                                             \
            op_driver_wrap(symbol, (int)version,                                                 \
                           per_thread || (flags & cudaEnablePerThreadDefaultStream) != 0, fn);   \
        return e;                                                                                \
    }
BY_RUNTIME(cudaGetDriverEntryPoint, 0)
BY_VERSION(cudaGetDriverEntryPointByVersion, 0)
/* no public header declares these */
API __typeof__(cudaGetDriverEntryPoint) cudaGetDriverEntryPoint_ptsz;
API __typeof__(cudaGetDriverEntryPointByVersion) cudaGetDriverEntryPointByVersion_ptsz;
BY_RUNTIME(cudaGetDriverEntryPoint_ptsz, 1)
BY_VERSION(cudaGetDriverEntryPointByVersion_ptsz, 1)
#pragma GCC diagnostic pop

/* ---- dlsym ---- */
typedef void *dlsym_fn(void *, const char *);

static __attribute__((noinline)) dlsym_fn *real_dlsym(void)
{
    static dlsym_fn *cached;
    dlsym_fn *real = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.0"};
    if (real) return real;
    for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++)
        *(void **)&real = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    __atomic_store_n(&cached, real, __ATOMIC_RELAXED);
    return real;
}

void *op_dlsym(void *handle, const char *name)
{
    return real_dlsym()(handle, name);
}

/* The wrapper for a function of libcuda that was looked up by this handle; NULL: none. */
static __attribute__((noinline)) void *looked_up(void *handle, const char *name)
{
    Dl_info info;
    int i = 0, lookup = !strcmp(name, "cuGetProcAddress") || !strcmp(name, "cuGetProcAddress_v2");
    while (!lookup && i < WRAPPERS && strcmp(name, op_table[wrappers[i].id].name)) i++;
    if (!lookup && i == WRAPPERS) return NULL;
    void *p = op_dlsym(handle, name);
    if (!p || !dladdr(p, &info) || !info.dli_fname || !strstr(info.dli_fname, "libcuda.so"))
        return NULL;
    if (lookup)
        op_driver_wrap(name, name[16] ? 12000 : 11030, 0, &p);
    else
        op_driver_wrap(wrappers[i].asked, wrappers[i].since, 0, &p);
    return p;
}

/* A tail call, so that RTLD_NEXT stays relative to the caller: the real dlsym looks at its return
 * address. Hence no frame, whatever the rest is compiled with. */
__attribute__((optimize("O2", "omit-frame-pointer"))) API void *dlsym(void *handle,
                                                                      const char *name)
{
    if (name[0] == 'c' && name[1] == 'u' && handle != RTLD_NEXT) {
        void *p = looked_up(handle, name);
        if (p) return p;
    }
    return real_dlsym()(handle, name);
}
