/* state.c - the armed rules and what is counted; the start of a preloaded process; the control API
 * of oomproof.h. */
#define _GNU_SOURCE
#include "state.h"
#include "driver.h"
#include "field/force.h"
#include "live.h"
#include "site.h"
#include "stats.h"
#include "sweep/sweep.h"
#include "trace/write.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* the functions of the control API are declared weak, for programs, in oomproof.h */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

pthread_mutex_t op_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static op_stats own;
op_stats *op_shared = &own;
static uint64_t spilled[OP_MAX_RULES];
static uint64_t *row; /* of this process in op_shared->matched, or spilled; NULL: none yet */
int op_sticky, op_busy[OP_CALLS];
__thread int op_inside LOCAL;

static op_rule rules[OP_MAX_RULES];
static int nrules, wants_device, wants_site;
static uint64_t forgotten[OP_CALLS]; /* calls counted when the program last reset the counters */
static __thread char phase[24] LOCAL, site[96] LOCAL;
__thread unsigned op_names_changed LOCAL = 1; /* counts: the thread said a new phase or tag */
static uint32_t fitting[OP_CALLS];            /* bit of each rule that fits the call */
static char budgeted[OP_CALLS];               /* one of them has a budget, and the call allocates */
static void (*observer)(const char *, uint64_t, void *);
static void *observer_user;

void *op_find(const char *name)
{
    static const char *const libraries[] = {"libcudart.so.13", "libcublas.so.13", "libcudnn.so.9",
                                            "libcuda.so.1"};
    void *p = op_dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !p && i < 4; i++) { /* a library that was loaded RTLD_LOCAL has no "next" */
        void *h = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        if (h) p = op_dlsym(h, name);
    }
    return p;
}

void *op_resolve(const char *name)
{
    void *p = op_find(name);
    if (!p) {
        fprintf(stderr, "oomproof: %s is called but no library that is loaded has it\n", name);
        _exit(127);
    }
    return p;
}

/* Under the lock, after the rules or the observer changed. */
static void note_interest(void)
{
    int device = 0, by_site = op_sweep != NULL || op_forcing;
    for (int i = 0; i < nrules; i++) {
        device |= rules[i].device >= 0;
        by_site |= *rules[i].site != 0;
    }
    OP_WRITE(wants_device, device);
    OP_WRITE(wants_site, by_site);
    for (int id = 0; id < OP_CALLS; id++) {
        int busy = observer != NULL || op_sweep_wants((op_id)id) || op_force_names((op_id)id);
        fitting[id] = 0;
        budgeted[id] = 0;
        for (int i = 0; i < nrules; i++) fitting[id] |= (uint32_t)OP_FITS(&rules[i], id) << i;
        for (int i = 0; i < nrules; i++)
            budgeted[id] |=
                rules[i].has_budget && OP_FITS(&rules[i], id) && (op_table[id].flags & OP_F_ALLOC);
        busy |= fitting[id] != 0;
        OP_WRITE(op_busy[id], busy);
    }
}

static void fork_lock(void)
{
    pthread_mutex_lock(&op_lock);
    op_live_hold();
    op_site_hold();
    pthread_mutex_lock(&streams_lock);
}
static void fork_unlock(void)
{
    pthread_mutex_unlock(&streams_lock);
    op_site_let_go();
    op_live_let_go();
    pthread_mutex_unlock(&op_lock);
}
static void fork_child(void)
{
    row = NULL;
    fork_unlock();
}

/* Under the lock: where the matches of this process are counted. */
static uint64_t *tally(void)
{
    if (row) return row;
    uint64_t k = 1 + __atomic_fetch_add(&op_shared->rows_taken, 1, __ATOMIC_RELAXED);
    return row = k < OP_STATS_ROWS ? op_shared->matched[k] : spilled;
}

static void spill(uint32_t which)
{
    for (; which; which &= which - 1) {
        int i = __builtin_ctz(which);
        __atomic_fetch_add(&op_shared->matched[0][i], spilled[i], __ATOMIC_RELAXED);
        spilled[i] = 0;
    }
}

static void __attribute__((constructor)) start(void)
{
    const char *path = getenv("OOMPROOF_STATS"), *text = getenv("OOMPROOF_FAULTS");
    char error[256];
    pthread_atfork(fork_lock, fork_unlock, fork_child);
    if (path && *path) {
        int fd = open(path, O_RDWR | O_CLOEXEC);
        void *p = fd >= 0 ? mmap(NULL, sizeof *op_shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                          : MAP_FAILED;
        if (fd >= 0) close(fd);
        if (p != MAP_FAILED) op_shared = p;
        __atomic_fetch_add(&op_shared->processes, 1, __ATOMIC_RELAXED);
    }
    op_sweep_start();
    op_trace_start();
    op_force_start();
    note_interest();
    if (!text || !*text) return;
    nrules = op_parse(text, rules, error, sizeof error);
    note_interest();
    if (nrules >= 0) return;
    fprintf(stderr, "oomproof: OOMPROOF_FAULTS: %s\n", error);
    _exit(2);
}

static int is_runtime(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    *(int *)found |= info->dlpi_name && strstr(info->dlpi_name, "libcudart.so") != NULL;
    return 0;
}

static void __attribute__((destructor)) stop(void)
{
    uint64_t seen = 0;
    int loaded = 0;
    op_judge_exit();
    for (int id = 0; id < OP_CALLS; id++) seen += op_shared->calls[id];
    if (!seen) dl_iterate_phdr(is_runtime, &loaded);
    if (loaded) __atomic_fetch_add(&op_shared->unseen, 1, __ATOMIC_RELAXED);
}

/* ---- live bytes ---- */

/* Where a rule has a budget, what was let through counts until it is live: two threads must not
 * both be given the last room. */
static uint64_t promised[2]; /* bytes, of the runtime and the driver; under the lock */
static __thread uint64_t awaited LOCAL;
static __thread int awaited_driver LOCAL;

/* Under the lock. */
static void promise(const op_call *c)
{
    awaited = c->size > UINT64_MAX / 2 ? 0 : (c->size + 511) / 512 * 512;
    awaited_driver = op_table[c->id].lib == OP_DRIVER;
    promised[awaited_driver] += awaited;
}

static uint64_t add(op_live *l, void *p, uint64_t bytes)
{
    if (!awaited) return op_live_add(l, p, bytes);
    pthread_mutex_lock(&op_lock);
    uint64_t number = op_live_add(l, p, bytes);
    promised[awaited_driver] -= awaited;
    awaited = 0;
    pthread_mutex_unlock(&op_lock);
    return number;
}

uint64_t op_not_allocated(void)
{
    if (!awaited) return 0;
    pthread_mutex_lock(&op_lock);
    promised[awaited_driver] -= awaited;
    awaited = 0;
    pthread_mutex_unlock(&op_lock);
    return 0;
}

uint64_t op_allocated(void *p, uint64_t bytes)
{
    return add(&op_runtime_live, p, bytes);
}
/* Before the real call: once it returns, another thread may be given the same address. */
uint64_t op_freeing(void *p, uint64_t *number)
{
    return op_live_remove(&op_runtime_live, p, number);
}
uint64_t op_driver_allocated(void *p, uint64_t bytes)
{
    return add(&op_driver_live, p, bytes);
}
uint64_t op_driver_freeing(void *p, uint64_t *number)
{
    return op_live_remove(&op_driver_live, p, number);
}

int op_is_live(const void *p, uint64_t bytes)
{
    size_t n = 0;
    int found = 0;
    op_live_block *list = op_live_list(&op_runtime_live, &n);
    for (size_t i = 0; i < n && !found; i++)
        found = (const char *)p >= (char *)list[i].p &&
                (const char *)p + bytes <= (char *)list[i].p + list[i].bytes;
    free(list);
    return found;
}

void op_freed_all(void)
{
    op_live_clear(&op_runtime_live);
}

int op_budget(uint64_t *budget, uint64_t *live)
{
    int found = 0;
    pthread_mutex_lock(&op_lock);
    *live = op_live_now(&op_runtime_live);
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
/* Numbers of threads and streams, by first use: the same in every run, where addresses are not. */
int op_thread_number(void)
{
    static int threads;
    static __thread int mine LOCAL = -1;
    if (mine < 0) mine = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
    return mine;
}

int op_stream_number(cudaStream_t s)
{
    static cudaStream_t seen[256];
    static int n = 1; /* 0: the default stream */
    if (!s) return 0;
    pthread_mutex_lock(&streams_lock);
    int i = 1;
    while (i < n && seen[i] != s) i++;
    if (i == n && n < 256) seen[n++] = s;
    pthread_mutex_unlock(&streams_lock);
    return i < 256 ? i : 255;
}

void op_thread_names(const char **phase_, const char **tag)
{
    *phase_ = phase;
    *tag = site;
}

static int device_number(void)
{
    int d = 0;
    if (!OP_READ(wants_device)) return 0;
    op_inside++;
    if (REAL(cudaGetDevice)(&d) != cudaSuccess) d = 0;
    op_inside--;
    return d;
}

static void act_here(const op_rule *r)
{
    struct timespec t = {r->value / 1000, r->value % 1000 * 1000000};
    if (r->action == OP_DELAY)
        while (nanosleep(&t, &t) != 0 && errno == EINTR) {
        }
    while (r->action == OP_HANG) pause();
    if (r->action == OP_CRASH) {
        signal(SIGSEGV, SIG_DFL);
        raise(SIGSEGV);
    }
}

const op_rule *op_decided(op_call c, cudaStream_t stream, void *caller, void *frame)
{
    static __thread op_rule acting;
    int device = device_number(); /* a call of the runtime: not under the lock */
    c.site = *site                  ? site
             : !OP_READ(wants_site) ? ""
             : c.kernel             ? c.kernel
                                    : op_site_of(caller, frame);
    pthread_mutex_lock(&op_lock);
    c.phase = phase;
    c.live = op_live_now(op_table[c.id].lib == OP_DRIVER ? &op_driver_live : &op_runtime_live) +
             promised[op_table[c.id].lib == OP_DRIVER];
    c.thread = op_thread_number();
    c.stream = op_stream_number(stream);
    c.device = device;
    int k = op_decide(rules, fitting[c.id], tally(), &c);
    if (row == spilled) spill(fitting[c.id]);
    if (k >= 0) {
        __atomic_fetch_add(&op_shared->acted[k], 1, __ATOMIC_RELAXED);
        acting = rules[k];
    }
    if (budgeted[c.id] && !(k >= 0 && (acting.action == OP_OOM || acting.action == OP_CODE)))
        promise(&c);
    int code = 0, forced = op_forcing && op_force(&c, &code) && k < 0;
    void (*fn)(const char *, uint64_t, void *) = observer;
    void *user = observer_user;
    pthread_mutex_unlock(&op_lock);
    if (fn) {
        op_inside++;
        fn(op_table[c.id].name, OP_READ(op_shared->calls[c.id]) - OP_READ(forgotten[c.id]), user);
        op_inside--;
    }
    if (forced) {
        op_not_allocated();
        acting = (op_rule){.action = code == 2 && op_table[c.id].lib == OP_CUDA ? OP_OOM : OP_CODE,
                           .code = code};
        return &acting;
    }
    if (k < 0 && op_sweep_wants(c.id) && op_sweep_point(&c)) {
        op_not_allocated();
        op_sweep_rule(&c, &acting);
        return &acting;
    }
    if (k < 0) return NULL;
    act_here(&acting);
    return &acting;
}

void op_not_acted(const op_rule *r)
{
    pthread_mutex_lock(&op_lock);
    for (int i = 0; i < nrules; i++)
        if (!strcmp(rules[i].text, r->text) && rules[i].acted) {
            rules[i].acted--;
            __atomic_fetch_sub(&op_shared->acted[i], 1, __ATOMIC_RELAXED);
            break;
        }
    pthread_mutex_unlock(&op_lock);
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
        note_interest();
    }
    pthread_mutex_unlock(&op_lock);
    return n;
}

API void op_disarm(void)
{
    pthread_mutex_lock(&op_lock);
    nrules = 0;
    OP_WRITE(op_sticky, 0);
    note_interest();
    pthread_mutex_unlock(&op_lock);
}

static uint64_t counter(const uint64_t *of)
{
    pthread_mutex_lock(&op_lock);
    uint64_t n = *of;
    pthread_mutex_unlock(&op_lock);
    return n;
}

API uint64_t op_fired(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? counter(&rules[i].acted) : 0;
}
API uint64_t op_matched(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? counter(&rules[i].matched) : 0;
}

API uint64_t op_calls(const char *call)
{
    uint64_t n = 0;
    for (int id = 0; id < OP_CALLS; id++)
        if (op_named(call, &op_table[id]))
            n += OP_READ(op_shared->calls[id]) - OP_READ(forgotten[id]);
    return n;
}

API void op_reset_counters(void)
{
    for (int id = 0; id < OP_CALLS; id++) OP_WRITE(forgotten[id], OP_READ(op_shared->calls[id]));
}

API uint64_t op_live_bytes(void)
{
    return op_live_now(&op_runtime_live);
}

API uint64_t op_peak_bytes(int reset)
{
    return op_live_peak(&op_runtime_live, reset);
}

/* No control characters: recordings have a name to a line. */
static void keep(char *to, size_t room, const char *from)
{
    size_t n = 0;
    for (; from && from[n] && n + 1 < room; n++)
        to[n] = (unsigned char)from[n] < 0x20 || from[n] == 0x7f ? '?' : from[n];
    to[n] = 0;
}

API const char *op_phase(const char *name)
{
    static __thread char before[24];
    memcpy(before, phase, sizeof before);
    keep(phase, sizeof phase, name);
    op_names_changed++;
    return before;
}

API const char *op_tag(const char *tag)
{
    static __thread char before[96];
    memcpy(before, site, sizeof before);
    keep(site, sizeof site, tag);
    op_names_changed++;
    return before;
}

API void op_observe(void (*fn)(const char *, uint64_t, void *), void *user)
{
    pthread_mutex_lock(&op_lock);
    observer = fn;
    observer_user = user;
    note_interest();
    pthread_mutex_unlock(&op_lock);
}
