/* state.c - the armed rules and what is counted; the start of a preloaded process; the control API
 * of oomproof.h. */
#define _GNU_SOURCE
#include "state.h"
#include "live.h"
#include "stats.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* the functions of the control API are declared weak, for programs, in oomproof.h */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER;
int op_sticky;
__thread int op_inside;

static op_rule rules[OP_MAX_RULES];
static int nrules;
static op_stats own, *shared = &own;
static __thread char phase[24], site[96];
static void (*observer)(const char *, uint64_t, void *);
static void *observer_user;

void *op_resolve(const char *name)
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

static void fork_lock(void)
{
    pthread_mutex_lock(&op_lock);
}
static void fork_unlock(void)
{
    pthread_mutex_unlock(&op_lock);
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

/* ---- live bytes ---- */
void op_allocated(void *p, uint64_t bytes)
{
    pthread_mutex_lock(&op_lock);
    op_live_add(p, bytes);
    pthread_mutex_unlock(&op_lock);
}

/* Before the real call: once it returns, another thread may be given the same address. */
uint64_t op_freeing(void *p)
{
    pthread_mutex_lock(&op_lock);
    uint64_t bytes = op_live_remove(p);
    pthread_mutex_unlock(&op_lock);
    return bytes;
}

int op_budget(uint64_t *budget, uint64_t *live)
{
    int found = 0;
    pthread_mutex_lock(&op_lock);
    *live = op_live_now();
    for (int i = 0; i < nrules; i++) {
        if (!rules[i].has_budget || (found && rules[i].budget >= *budget)) continue;
        *budget = rules[i].budget;
        found = 1;
    }
    pthread_mutex_unlock(&op_lock);
    return found;
}

/* ---- kernels: host function or handle -> name ---- */
static struct {
    const void *key;
    const char *name;
} * kernels;
static size_t nkernels;

const char *op_kernel_name(const void *key)
{
    const char *name = NULL;
    pthread_mutex_lock(&op_lock);
    for (size_t i = 0; i < nkernels && !name; i++)
        if (kernels[i].key == key) name = kernels[i].name;
    pthread_mutex_unlock(&op_lock);
    return name;
}

void op_learn_kernel(const void *key, const char *name)
{
    if (op_kernel_name(key)) return;
    pthread_mutex_lock(&op_lock);
    void *p = realloc(kernels, (nkernels + 1) * sizeof *kernels);
    if (p) {
        kernels = p;
        kernels[nkernels].key = key;
        kernels[nkernels++].name = name;
    }
    pthread_mutex_unlock(&op_lock);
}

/* ---- deciding ---- */
static struct {
    const char *name;
    uint64_t n;
} counts[128];

op_rule op_seen(op_call c)
{
    op_rule r = {.action = OP_NONE};
    uint64_t nth = 0;
    pthread_mutex_lock(&op_lock);
    c.phase = phase;
    c.site = site;
    c.live = op_live_now();
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
    pthread_mutex_unlock(&op_lock);
    if (fn) {
        op_inside++;
        fn(c.name, nth, observer_user);
        op_inside--;
    }
    return r;
}

/* ---- the control API ---- */
API int op_api_version(void)
{
    return 1;
}

API int op_arm(const char *text, char *error, size_t error_bytes)
{
    static op_rule fresh[OP_MAX_RULES];
    pthread_mutex_lock(&op_lock);
    int n = op_parse(text, fresh, error, error_bytes);
    if (n >= 0) {
        memcpy(rules, fresh, sizeof rules);
        nrules = n;
    }
    pthread_mutex_unlock(&op_lock);
    return n;
}

API void op_disarm(void)
{
    pthread_mutex_lock(&op_lock);
    nrules = 0;
    op_sticky = 0;
    pthread_mutex_unlock(&op_lock);
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
    pthread_mutex_lock(&op_lock);
    for (int i = 0; i < 128 && counts[i].name; i++)
        if (op_glob(call, counts[i].name)) n += counts[i].n;
    pthread_mutex_unlock(&op_lock);
    return n;
}

API void op_reset_counters(void)
{
    pthread_mutex_lock(&op_lock);
    memset(counts, 0, sizeof counts);
    pthread_mutex_unlock(&op_lock);
}

API uint64_t op_live_bytes(void)
{
    pthread_mutex_lock(&op_lock);
    uint64_t n = op_live_now();
    pthread_mutex_unlock(&op_lock);
    return n;
}

API uint64_t op_peak_bytes(int reset)
{
    pthread_mutex_lock(&op_lock);
    uint64_t n = op_live_peak(reset);
    pthread_mutex_unlock(&op_lock);
    return n;
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

API void op_observe(void (*fn)(const char *, uint64_t, void *), void *user)
{
    pthread_mutex_lock(&op_lock);
    observer = fn;
    observer_user = user;
    pthread_mutex_unlock(&op_lock);
}
