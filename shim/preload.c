/* preload.c - liboomproof.so: wrappers around the CUDA runtime, cuBLAS and cuDNN. Depends on libc
 * and libdl only, unversioned, so it satisfies versioned references. A failing fault comes before
 * the real call: nothing leaks and outputs stay as they were. Only the outermost call of a thread
 * counts. */
#define _GNU_SOURCE
#include "rules.h"
#include "stats.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* the stubs that nvcc makes call these; no public header declares them */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define API __attribute__((visibility("default")))
#define IMPOSSIBLE \
    ((size_t)1 << 62) /* no card has it: the real function fails with the real error */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static op_rule rules[OP_MAX_RULES];
static int nrules, sticky;
static op_stats own, *shared = &own;
static uint64_t live, peak;
static __thread int inside;
static __thread cudaError_t overlay; /* last error where the real one could not be made */
static __thread char phase[24], site[96];
static void (*observer)(const char *, uint64_t, void *);
static void *observer_user;

/* ---- the real functions ---- */
static void *resolve(const char *name)
{
    static const char *const libraries[] = {"libcudart.so.13", "libcublas.so.13", "libcudnn.so.9"};
    void *p = dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !p && i < 3; i++) { /* a library that was loaded RTLD_LOCAL has no "next" */
        void *h = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        if (h) p = dlsym(h, name);
    }
    if (!p) {
        fprintf(stderr, "oomproof: %s is called but no library that is loaded has it\n", name);
        _exit(127);
    }
    return p;
}
#define REAL(name)                                              \
    ({                                                          \
        static __typeof__(name) *real_;                         \
        if (!real_) real_ = (__typeof__(name) *)resolve(#name); \
        real_;                                                  \
    })

/* ---- start ---- */
static void fork_lock(void)
{
    pthread_mutex_lock(&lock);
}
static void fork_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void __attribute__((constructor)) start(void)
{
    const char *path = getenv("OOMPROOF_STATS"), *text = getenv("OOMPROOF_FAULTS");
    char error[256];
    pthread_atfork(fork_lock, fork_unlock, fork_unlock);
    if (path && *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        void *p = fd >= 0 ? mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                          : MAP_FAILED;
        if (fd >= 0) close(fd);
        if (p != MAP_FAILED) shared = p;
    }
    if (!text || !*text) return;
    nrules = op_parse(text, rules, error, sizeof error);
    if (nrules >= 0) return;
    fprintf(stderr, "oomproof: OOMPROOF_FAULTS: %s\n", error);
    _exit(2);
}

/* ---- live bytes: pointer -> size, open addressing ---- */
static struct {
    void *p;
    uint64_t bytes;
} * table;
static size_t slots, filled;
#define GONE ((void *)1)

static void remember(void *p, uint64_t bytes)
{
    if (2 * (filled + 1) > slots) {
        size_t n = slots ? 2 * slots : 1024, old = slots;
        __typeof__(table) t = calloc(n, sizeof *t), from = table;
        if (!t) return;
        table = t;
        slots = n;
        filled = 0;
        for (size_t i = 0; i < old; i++)
            if (from[i].p && from[i].p != GONE) {
                size_t k = ((uintptr_t)from[i].p >> 9) * 0x9e3779b97f4a7c15u % n;
                while (table[k].p) k = (k + 1) % n;
                table[k] = from[i];
                filled++;
            }
        free(from);
    }
    size_t k = ((uintptr_t)p >> 9) * 0x9e3779b97f4a7c15u % slots;
    while (table[k].p && table[k].p != GONE) k = (k + 1) % slots;
    filled += !table[k].p;
    table[k].p = p;
    table[k].bytes = (bytes + 511) / 512 * 512;
    live += table[k].bytes;
    if (live > peak) peak = live;
}

static void forget(void *p)
{
    if (!slots) return;
    size_t k = ((uintptr_t)p >> 9) * 0x9e3779b97f4a7c15u % slots;
    for (; table[k].p; k = (k + 1) % slots)
        if (table[k].p == p) {
            live -= table[k].bytes;
            table[k].p = GONE;
            return;
        }
}

/* ---- kernels: host function -> name ---- */
static struct {
    const void *host;
    const char *name;
} * kernels;
static size_t nkernels;

static const char *kernel_name(const void *host)
{
    for (size_t i = 0; i < nkernels; i++)
        if (kernels[i].host == host) return kernels[i].name;
    return NULL;
}

static void learn(const void *host, const char *name)
{
    pthread_mutex_lock(&lock);
    void *p = realloc(kernels, (nkernels + 1) * sizeof *kernels);
    if (p) {
        kernels = p;
        kernels[nkernels].host = host;
        kernels[nkernels++].name = name;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- deciding ---- */
static struct {
    const char *name;
    uint64_t n;
} counts[128];

/* The rule that acts on this call, copied; action OP_NONE: none. The call is counted. */
static op_rule decide(op_call c)
{
    op_rule r = {.action = OP_NONE};
    uint64_t nth = 0;
    pthread_mutex_lock(&lock);
    c.phase = phase;
    c.site = site;
    c.live = live;
    __atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
    if (c.allocates) __atomic_fetch_add(&shared->allocations, 1, __ATOMIC_RELAXED);
    if (strstr(c.name, "LaunchKernel")) __atomic_fetch_add(&shared->launches, 1, __ATOMIC_RELAXED);
    if (c.lib != OP_CUDA) __atomic_fetch_add(&shared->library, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 128; i++) {
        if (!counts[i].name) counts[i].name = c.name;
        if (strcmp(counts[i].name, c.name)) continue;
        nth = ++counts[i].n;
        break;
    }
    uint64_t before[OP_MAX_RULES];
    for (int i = 0; i < nrules; i++) before[i] = rules[i].matched;
    int k = nrules > 0 ? op_decide(rules, nrules, &c) : -1;
    for (int i = 0; i < nrules; i++)
        if (rules[i].matched != before[i])
            __atomic_fetch_add(&shared->matched[i], 1, __ATOMIC_RELAXED);
    if (k >= 0) {
        __atomic_fetch_add(&shared->acted[k], 1, __ATOMIC_RELAXED);
        r = rules[k];
    }
    void (*fn)(const char *, uint64_t, void *) = observer;
    pthread_mutex_unlock(&lock);
    if (fn) {
        inside++;
        fn(c.name, nth, observer_user);
        inside--;
    }
    return r;
}

static int is_sticky(int code)
{
    return code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719 && code != 711);
}

/* A runtime code returned without the real call. */
static cudaError_t injected(int code)
{
    if (is_sticky(code)) sticky = code;
    overlay = (cudaError_t)code;
    return (cudaError_t)code;
}

#define PASS_IF_INSIDE(call) \
    if (inside) return (call)
#define STICKY() \
    if (sticky) return (cudaError_t)sticky
#define OUTER(call)                   \
    ({                                \
        inside++;                     \
        __typeof__(call) r_ = (call); \
        inside--;                     \
        r_;                           \
    })

static cudaError_t allocation_fault(const op_rule *r)
{
    if (r->action == OP_CODE) return injected(r->code);
    return injected(cudaErrorMemoryAllocation);
}

API cudaError_t cudaMalloc(void **out, size_t bytes)
{
    PASS_IF_INSIDE(REAL(cudaMalloc)(out, bytes));
    STICKY();
    op_rule r =
        decide((op_call){.lib = OP_CUDA, .name = "cudaMalloc", .size = bytes, .allocates = 1});
    if (r.action == OP_OOM) {
        void *unused;
        return OUTER(REAL(cudaMalloc)(&unused, IMPOSSIBLE));
    }
    if (r.action == OP_CODE) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMalloc)(out, bytes));
    if (e == cudaSuccess && *out) {
        pthread_mutex_lock(&lock);
        remember(*out, bytes);
        pthread_mutex_unlock(&lock);
    }
    return e;
}

API cudaError_t cudaFree(void *p)
{
    PASS_IF_INSIDE(REAL(cudaFree)(p));
    STICKY();
    op_rule r = decide((op_call){.lib = OP_CUDA, .name = "cudaFree"});
    if (r.action == OP_CODE || r.action == OP_OOM) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaFree)(p));
    if (e == cudaSuccess && p) {
        pthread_mutex_lock(&lock);
        forget(p);
        pthread_mutex_unlock(&lock);
    }
    return e;
}

API cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    PASS_IF_INSIDE(REAL(cudaMallocHost)(out, bytes));
    STICKY();
    op_rule r = decide((op_call){.lib = OP_CUDA, .name = "cudaMallocHost", .size = bytes});
    if (r.action == OP_CODE || r.action == OP_OOM) return allocation_fault(&r);
    return OUTER(REAL(cudaMallocHost)(out, bytes));
}

static op_kind kind_of(enum cudaMemcpyKind k)
{
    return k >= 0 && k <= 3 ? (op_kind)(k + 1) : OP_ANY_KIND;
}

static void fill_poison(const op_rule *r, void *to, size_t bytes)
{
    double d = r->infinite ? INFINITY : NAN;
    float f = (float)d;
    size_t size = r->f64 ? sizeof d : sizeof f;
    for (int i = 0; i < r->count && (size_t)(i + 1) * size <= bytes; i++)
        memcpy((char *)to + (size_t)i * size, r->f64 ? (void *)&d : (void *)&f, size);
}

/* After the copy, in stream order: a copy to the host is waited for first. */
static void poison_copy(const op_rule *r, void *to, size_t bytes, enum cudaMemcpyKind kind,
                        cudaStream_t stream)
{
    char pattern[4096];
    size_t n = bytes < sizeof pattern ? bytes : sizeof pattern;
    inside++;
    REAL(cudaStreamSynchronize)(stream);
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        fill_poison(r, to, bytes);
    else if (REAL(cudaMemcpy)(pattern, to, n, cudaMemcpyDeviceToHost) == cudaSuccess) {
        fill_poison(r, pattern, n);
        REAL(cudaMemcpy)(to, pattern, n, cudaMemcpyHostToDevice);
    }
    inside--;
}

#define FAULTED(r) ((r).action == OP_CODE || (r).action == OP_OOM)

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    PASS_IF_INSIDE(REAL(cudaMemcpyAsync)(to, from, bytes, kind, stream));
    STICKY();
    op_rule r = decide(
        (op_call){.lib = OP_CUDA, .name = "cudaMemcpyAsync", .size = bytes, .kind = kind_of(kind)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMemcpyAsync)(to, from, bytes, kind, stream));
    if (r.action == OP_POISON && e == cudaSuccess) poison_copy(&r, to, bytes, kind, stream);
    return e;
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    PASS_IF_INSIDE(REAL(cudaMemcpy)(to, from, bytes, kind));
    STICKY();
    op_rule r = decide(
        (op_call){.lib = OP_CUDA, .name = "cudaMemcpy", .size = bytes, .kind = kind_of(kind)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaMemcpy)(to, from, bytes, kind));
    if (r.action == OP_POISON && e == cudaSuccess) poison_copy(&r, to, bytes, kind, NULL);
    return e;
}

#define RUNTIME(fn_name, parameters, arguments)                          \
    API cudaError_t fn_name parameters                                   \
    {                                                                    \
        PASS_IF_INSIDE(REAL(fn_name) arguments);                         \
        STICKY();                                                        \
        op_rule r = decide((op_call){.lib = OP_CUDA, .name = #fn_name}); \
        if (FAULTED(r)) return allocation_fault(&r);                     \
        return OUTER(REAL(fn_name) arguments);                           \
    }
RUNTIME(cudaMemsetAsync, (void *p, int v, size_t n, cudaStream_t s), (p, v, n, s))
RUNTIME(cudaMemset, (void *p, int v, size_t n), (p, v, n))
RUNTIME(cudaMemcpy2DAsync,
        (void *t, size_t tp, const void *f, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k,
         cudaStream_t s),
        (t, tp, f, fp, w, h, k, s))
RUNTIME(cudaStreamSynchronize, (cudaStream_t s), (s))
RUNTIME(cudaDeviceSynchronize, (void), ())
RUNTIME(cudaStreamCreate, (cudaStream_t * s), (s))

static void poison_launch(const op_rule *r, void **args, cudaStream_t stream)
{
    if (r->arg < 0) return;
    void *p = *(void **)args[r->arg];
    poison_copy(r, p, (size_t)r->count * (r->f64 ? 8 : 4), cudaMemcpyDeviceToDevice, stream);
}

API cudaError_t cudaLaunchKernel(const void *host, dim3 g, dim3 b, void **args, size_t smem,
                                 cudaStream_t s)
{
    PASS_IF_INSIDE(REAL(cudaLaunchKernel)(host, g, b, args, smem, s));
    STICKY();
    op_rule r =
        decide((op_call){.lib = OP_CUDA, .name = "cudaLaunchKernel", .kernel = kernel_name(host)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(REAL(cudaLaunchKernel)(host, g, b, args, smem, s));
    if (r.action == OP_POISON && e == cudaSuccess) poison_launch(&r, args, s);
    return e;
}

API cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 g, dim3 b, void **args, size_t smem,
                                   cudaStream_t s)
{
    static __typeof__(__cudaLaunchKernel) *real;
    if (!real) real = (__typeof__(real))resolve("__cudaLaunchKernel");
    PASS_IF_INSIDE(real(kernel, g, b, args, smem, s));
    STICKY();
    op_rule r = decide(
        (op_call){.lib = OP_CUDA, .name = "__cudaLaunchKernel", .kernel = kernel_name(kernel)});
    if (FAULTED(r)) return allocation_fault(&r);
    cudaError_t e = OUTER(real(kernel, g, b, args, smem, s));
    if (r.action == OP_POISON && e == cudaSuccess) poison_launch(&r, args, s);
    return e;
}

/* Never failed: a stub keeps the handle of its first call for ever. */
API cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host)
{
    static __typeof__(__cudaGetKernel) *real;
    if (!real) real = (__typeof__(real))resolve("__cudaGetKernel");
    cudaError_t e = real(out, host);
    const char *name = kernel_name(host);
    if (e == cudaSuccess && name) learn(*out, name);
    return e;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *fun, const char *name,
                                int limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                int *warp)
{
    static __typeof__(__cudaRegisterFunction) *real;
    if (!real) real = (__typeof__(real))resolve("__cudaRegisterFunction");
    learn(host, name);
    real(handle, host, fun, name, limit, tid, bid, block, grid, warp);
}

API cudaError_t cudaGetLastError(void)
{
    PASS_IF_INSIDE(REAL(cudaGetLastError)());
    STICKY();
    cudaError_t e = REAL(cudaGetLastError)();
    if (overlay) e = overlay;
    overlay = cudaSuccess;
    return e;
}

API cudaError_t cudaPeekAtLastError(void)
{
    PASS_IF_INSIDE(REAL(cudaPeekAtLastError)());
    STICKY();
    return overlay ? overlay : REAL(cudaPeekAtLastError)();
}

API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    PASS_IF_INSIDE(REAL(cudaMemGetInfo)(free_bytes, total));
    STICKY();
    cudaError_t e = REAL(cudaMemGetInfo)(free_bytes, total);
    for (int i = 0; e == cudaSuccess && i < nrules; i++) { /* the smaller card */
        if (!rules[i].has_budget) continue;
        size_t room = live < rules[i].budget ? rules[i].budget - live : 0;
        if (*total > rules[i].budget) *total = rules[i].budget;
        if (*free_bytes > room) *free_bytes = room;
    }
    return e;
}

/* ---- cuBLAS and cuDNN: their own codes; the runtime's last error stays clean ---- */
static int library_code(const op_rule *r, op_lib lib)
{
    if (r->action == OP_CODE) return r->code;
    return lib == OP_CUBLAS ? CUBLAS_STATUS_ALLOC_FAILED
                            : CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

static long changed(const op_rule *r, const char *field, long value, long m, long n, long k)
{
    if (r->action != OP_SHAPE || strcmp(r->field, field)) return value;
    return (*r->base == 'm' ? m : *r->base == 'n' ? n : *r->base == 'k' ? k : 0) + r->value;
}

#define GEMM(fn_name, type)                                                                     \
    API cublasStatus_t fn_name(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb,    \
                               int m, int n, int k, const type *al, const type *A, int lda,     \
                               const type *B, int ldb, const type *be, type *C, int ldc)        \
    {                                                                                           \
        PASS_IF_INSIDE(REAL(fn_name)(h, ta, tb, m, n, k, al, A, lda, B, ldb, be, C, ldc));      \
        if (sticky) return CUBLAS_STATUS_EXECUTION_FAILED;                                      \
        op_rule r = decide((op_call){.lib = OP_CUBLAS, .name = #fn_name});                      \
        if (FAULTED(r)) return (cublasStatus_t)library_code(&r, OP_CUBLAS);                     \
        int cm = (int)changed(&r, "m", m, m, n, k), cn = (int)changed(&r, "n", n, m, n, k);     \
        int ck = (int)changed(&r, "k", k, m, n, k), ca = (int)changed(&r, "lda", lda, m, n, k); \
        int cb = (int)changed(&r, "ldb", ldb, m, n, k),                                         \
            cc = (int)changed(&r, "ldc", ldc, m, n, k);                                         \
        return OUTER(REAL(fn_name)(h, ta, tb, cm, cn, ck, al, A, ca, B, cb, be, C, cc));        \
    }
GEMM(cublasSgemm_v2, float)
GEMM(cublasDgemm_v2, double)

#define LIBRARY(lib_id, st_type, fn_name, parameters, arguments)        \
    API st_type fn_name parameters                                      \
    {                                                                   \
        PASS_IF_INSIDE(REAL(fn_name) arguments);                        \
        if (sticky) return (st_type)(lib_id == OP_CUBLAS ? 13 : 5003);  \
        op_rule r = decide((op_call){.lib = lib_id, .name = #fn_name}); \
        if (FAULTED(r)) return (st_type)library_code(&r, lib_id);       \
        return OUTER(REAL(fn_name) arguments);                          \
    }
#define DNN(name, parameters, arguments) \
    LIBRARY(OP_CUDNN, cudnnStatus_t, name, parameters, arguments)
LIBRARY(OP_CUBLAS, cublasStatus_t, cublasCreate_v2, (cublasHandle_t * h), (h))
DNN(cudnnCreate, (cudnnHandle_t * h), (h))
DNN(cudnnSoftmaxForward,
    (cudnnHandle_t h, cudnnSoftmaxAlgorithm_t a, cudnnSoftmaxMode_t m, const void *al,
     const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t yd, void *y),
    (h, a, m, al, xd, x, be, yd, y))
DNN(cudnnActivationForward,
    (cudnnHandle_t h, cudnnActivationDescriptor_t a, const void *al,
     const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t yd, void *y),
    (h, a, al, xd, x, be, yd, y))
DNN(cudnnActivationBackward,
    (cudnnHandle_t h, cudnnActivationDescriptor_t a, const void *al,
     const cudnnTensorDescriptor_t yd, const void *y, const cudnnTensorDescriptor_t dyd,
     const void *dy, const cudnnTensorDescriptor_t xd, const void *x, const void *be,
     const cudnnTensorDescriptor_t dxd, void *dx),
    (h, a, al, yd, y, dyd, dy, xd, x, be, dxd, dx))
DNN(cudnnSetTensor4dDescriptor,
    (cudnnTensorDescriptor_t t, cudnnTensorFormat_t f, cudnnDataType_t d, int n, int c, int hh,
     int w),
    (t, f, d, n, c, hh, w))

/* ---- the control API ---- */
API int op_api_version(void)
{
    return 1;
}

API int op_arm(const char *text, char *error, size_t error_bytes)
{
    static op_rule fresh[OP_MAX_RULES];
    pthread_mutex_lock(&lock);
    int n = op_parse(text, fresh, error, error_bytes);
    if (n >= 0) {
        memcpy(rules, fresh, sizeof rules);
        nrules = n;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

API void op_disarm(void)
{
    pthread_mutex_lock(&lock);
    nrules = 0;
    sticky = 0;
    pthread_mutex_unlock(&lock);
}

API uint64_t op_fired(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? rules[i].acted : 0;
}
API uint64_t op_matched(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? rules[i].matched : 0;
}

API uint64_t op_calls(const char *call)
{
    uint64_t n = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 128 && counts[i].name; i++)
        if (op_glob(call, counts[i].name)) n += counts[i].n;
    pthread_mutex_unlock(&lock);
    return n;
}

API void op_reset_counters(void)
{
    pthread_mutex_lock(&lock);
    memset(counts, 0, sizeof counts);
    pthread_mutex_unlock(&lock);
}

API uint64_t op_live_bytes(void)
{
    return live;
}

API uint64_t op_peak_bytes(int reset)
{
    uint64_t p = peak;
    if (reset) peak = live;
    return p;
}

API const char *op_phase(const char *name)
{
    static __thread char before[24];
    memcpy(before, phase, sizeof before);
    snprintf(phase, sizeof phase, "%s", name ? name : "");
    return before;
}

API const char *op_tag(const char *tag)
{
    static __thread char before[96];
    memcpy(before, site, sizeof before);
    snprintf(site, sizeof site, "%s", tag ? tag : "");
    return before;
}

API void op_watch(const char *name, const void *device, size_t bytes)
{
    (void)name, (void)device, (void)bytes; /* kept for reports to come */
}

API void op_observe(void (*fn)(const char *, uint64_t, void *), void *user)
{
    pthread_mutex_lock(&lock);
    observer = fn;
    observer_user = user;
    pthread_mutex_unlock(&lock);
}
