/* register.c - what the constructors of nvcc-made objects tell: modules, kernels, variables. They
 * run before main and without a device, so nothing is parsed before it is needed. */
#include "fatbin.h"
#include "state.h"

/* called by code that nvcc makes; no public header declares them */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include <stdlib.h>
#include <string.h>

typedef struct variable {
    const void *host;
    void **managed; /* where the host has the address of a __managed__ one */
    const char *name;
    size_t bytes;
    sim_module *module;
    struct variable *next;
} variable;

static sim_module *modules;
static sim_function *functions;
static variable *variables;

API void **__cudaRegisterFatBinary(void *wrapper)
{
    sim_module *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    m->fatbin = wrapper;
    m->next = modules;
    modules = m;
    return (void **)m;
}

API void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* Runs from atexit, when threads may still launch: what is registered stays. */
API void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *name,
                                int thread_limit, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                                int *warp_size)
{
    (void)device_fun, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid,
        (void)warp_size;
    sim_function *f = calloc(1, sizeof *f);
    if (!f) return;
    f->host = host;
    f->name = name;
    f->module = (sim_module *)handle;
    f->dynamic_limit = 48 * 1024;
    f->next = functions;
    functions = f;
}

API void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                           size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    variable *v = calloc(1, sizeof *v);
    if (!v) return;
    *v = (variable){host, NULL, name, bytes, (sim_module *)handle, variables};
    variables = v;
}

API void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                  int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)constant, (void)global;
    variable *v = calloc(1, sizeof *v);
    if (!v) return;
    *v = (variable){NULL, host, name, bytes, (sim_module *)handle, variables};
    variables = v;
}

API void __cudaRegisterHostVar(void **handle, const char *device, char *host, size_t bytes)
{
    (void)handle, (void)device, (void)host, (void)bytes;
}

sim_function *sim_function_find(const void *key)
{
    for (sim_function *f = functions; f; f = f->next)
        if (f->host == key || f == key) return f;
    return NULL;
}

sim_function *sim_function_next(sim_function *f)
{
    return f ? f->next : functions;
}

cudaError_t sim_module_read(sim_module *m)
{
    char error[256];
    sim_fatbin_text ptx = {0};
    if (m->read) return m->ptx ? cudaSuccess : m->unread;
    m->read = 1;
    const char *reason = sim_fatbin_ptx(m->fatbin, &ptx);
    if (reason) {
        if (!sim_skips_missing()) sim_say("this program's device code cannot be run: %s", reason);
        return m->unread = cudaErrorNoKernelImageForDevice;
    }
    m->text = ptx.text; /* kept: the key of the compiled kernels is made of it */
    m->text_bytes = ptx.bytes;
    m->ptx = sim_ptx_parse(m->text, m->text_bytes, error, sizeof error);
    if (!m->ptx) {
        sim_say("this program's PTX cannot be read: %s", error);
        return m->unread = cudaErrorInvalidPtx;
    }
    return cudaSuccess;
}

static void drop_variables(sim_module *m)
{
    while (m->nglobal) {
        struct sim_global *g = &m->global[--m->nglobal];
        if (g->managed)
            sim_managed_drop((void *)(uintptr_t)g->address);
        else
            sim_memory_free((void *)(uintptr_t)g->address, "a module");
    }
    free(m->global);
    m->global = NULL;
}

static char *contents(const struct sim_global *g)
{
    return g->managed ? (char *)(uintptr_t)g->address
                      : sim_memory_at(g->address, g->bytes ? g->bytes : 1);
}

/* A failure leaves nothing behind: lazily loaded, it may fit at the next launch. */
static cudaError_t place_variables(sim_module *m, const sim_ptx_var *v, int n)
{
    m->global = calloc((size_t)n + 1, sizeof *m->global);
    if (!m->global) return cudaErrorMemoryAllocation;
    for (int i = 0; i < n; i++) {
        void *p;
        /* module variables are part of what the context holds: not the program's allocations */
        size_t bytes = v[i].bytes ? v[i].bytes : 1;
        cudaError_t e = v[i].managed ? sim_managed_make(&p, bytes) : sim_memory_alloc(bytes, 1, &p);
        if (e != cudaSuccess) {
            drop_variables(m);
            return e;
        }
        if (!v[i].managed) sim_memory_name(p, v[i].name);
        struct sim_global *g = &m->global[m->nglobal++];
        *g = (struct sim_global){v[i].name, (uint64_t)(uintptr_t)p, v[i].bytes, v[i].managed};
        memset(contents(g), 0, v[i].bytes);
        if (v[i].init) memcpy(contents(g), v[i].init, v[i].init_bytes);
    }
    for (variable *x = variables; x; x = x->next)
        for (int i = 0; x->managed && x->module == m && i < n; i++)
            if (!strcmp(m->global[i].name, x->name))
                *x->managed = (void *)(uintptr_t)m->global[i].address;
    return cudaSuccess;
}

cudaError_t sim_module_load(sim_module *m)
{
    const sim_ptx_var *v;
    if (m->global) return cudaSuccess;
    cudaError_t e = sim_module_read(m);
    if (e != cudaSuccess) return e;
    int n = sim_ptx_vars(m->ptx, &v);
    e = place_variables(m, v, n);
    if (e != cudaSuccess) return e;
    for (int i = 0; i < n; i++)
        for (int r = 0; r < v[i].nreloc; r++) {
            uint64_t a;
            if (sim_variable_address(v[i].reloc[r].name, m, &a) != cudaSuccess &&
                !(a = sim_ptx_function_address(m->ptx, v[i].reloc[r].name)))
                continue;
            a += v[i].reloc[r].addend;
            memcpy(contents(&m->global[i]) + v[i].reloc[r].offset, &a, sizeof a);
        }
    return cudaSuccess;
}

void sim_modules_reset(void)
{
    for (sim_module *m = modules; m; m = m->next) drop_variables(m);
    for (sim_function *f = functions; f; f = f->next) f->info = NULL;
}

/* The host is about to use a __managed__ variable of the module, for the first time. */
API char __cudaInitModule(void **handle)
{
    cudaError_t e = sim_enter();
    if (e == cudaSuccess) {
        e = sim_module_load((sim_module *)handle);
        sim_leave();
    }
    if (e != cudaSuccess)
        sim_say("the __managed__ variables of the program have no place: %s; the host's access "
                "that follows is by a null pointer",
                cudaGetErrorName(e));
    return e == cudaSuccess;
}

cudaError_t sim_variable_address(const char *name, const sim_module *m, uint64_t *out)
{
    for (int i = 0; i < m->nglobal; i++)
        if (!strcmp(m->global[i].name, name)) {
            *out = m->global[i].address;
            return cudaSuccess;
        }
    return cudaErrorInvalidSymbol;
}

static cudaError_t symbol(const void *host, uint64_t *address, size_t *bytes)
{
    for (variable *v = variables; v; v = v->next) {
        if (v->managed ? *v->managed != host : v->host != host) continue;
        cudaError_t e = sim_module_load(v->module);
        *bytes = v->bytes;
        return e == cudaSuccess ? sim_variable_address(v->name, v->module, address) : e;
    }
    return cudaErrorInvalidSymbol;
}

API cudaError_t cudaGetSymbolAddress(void **out, const void *host)
{
    uint64_t a;
    size_t bytes;
    ENTER();
    if (!out) LEAVE(cudaErrorInvalidValue);
    cudaError_t e = symbol(host, &a, &bytes);
    if (e == cudaSuccess) *out = (void *)(uintptr_t)a;
    LEAVE(e);
}

API cudaError_t cudaGetSymbolSize(size_t *out, const void *host)
{
    uint64_t a;
    ENTER();
    if (!out) LEAVE(cudaErrorInvalidValue);
    LEAVE(symbol(host, &a, out));
}

/* Device address of n bytes inside a symbol. */
static cudaError_t inside(const void *host, size_t n, size_t offset, void **out)
{
    uint64_t a;
    size_t bytes;
    ENTER();
    cudaError_t e = symbol(host, &a, &bytes);
    if (e == cudaSuccess && (offset > bytes || n > bytes - offset)) e = cudaErrorInvalidValue;
    if (e == cudaSuccess) *out = (void *)(uintptr_t)(a + offset);
    LEAVE(e);
}

API cudaError_t cudaMemcpyToSymbolAsync(const void *host, const void *from, size_t n, size_t offset,
                                        enum cudaMemcpyKind kind, cudaStream_t s)
{
    void *at;
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return sim_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t e = inside(host, n, offset, &at);
    return e == cudaSuccess ? cudaMemcpyAsync(at, from, n, kind, s) : e;
}

API cudaError_t cudaMemcpyFromSymbolAsync(void *to, const void *host, size_t n, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t s)
{
    void *at;
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return sim_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t e = inside(host, n, offset, &at);
    return e == cudaSuccess ? cudaMemcpyAsync(to, at, n, kind, s) : e;
}

API cudaError_t cudaMemcpyToSymbol(const void *host, const void *from, size_t n, size_t offset,
                                   enum cudaMemcpyKind kind)
{
    void *at;
    if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
        return sim_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t e = inside(host, n, offset, &at);
    return e == cudaSuccess ? cudaMemcpy(at, from, n, kind) : e;
}

API cudaError_t cudaMemcpyFromSymbol(void *to, const void *host, size_t n, size_t offset,
                                     enum cudaMemcpyKind kind)
{
    void *at;
    if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
        return sim_return(cudaErrorInvalidMemcpyDirection);
    cudaError_t e = inside(host, n, offset, &at);
    return e == cudaSuccess ? cudaMemcpy(to, at, n, kind) : e;
}
