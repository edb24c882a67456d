/* jit.c - a kernel's PTX to a loaded shared object, once per machine: kept in a cache folder under
 * a key of everything that goes into it. */
#define _GNU_SOURCE
#include "jit.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const char sim_simrt_text[], sim_prelude_text[], sim_half_text[], sim_lanes_text[];

enum {
    AT_ONCE = 16, /* compilers at a time, at most, however many processors there are */
    AHEAD = 48    /* kernels compiled for one that is wanted, at most */
};

/* Everything that goes into the objects of a module. */
static uint64_t module_key(sim_module *m)
{
    static uint64_t common;
    if (!common)
        common = sim_fnv_text(
            sim_fnv_text(
                sim_fnv_text(sim_fnv_text(sim_fnv_text(sim_compile_identity(), sim_ptx_version()),
                                          sim_simrt_text),
                             sim_prelude_text),
                sim_half_text),
            sim_lanes_text);
    if (!m->key) m->key = sim_fnv(common, m->text, m->text_bytes);
    return m->key;
}

void sim_object_path(char *out, const char *folder, const sim_function *f, int in_strips)
{
    uint64_t module = module_key(f->module);
    snprintf(out, SIM_PATH, "%s/%016llx%016llx%s.so", folder, (unsigned long long)module,
             (unsigned long long)sim_fnv_text(module, f->name), in_strips ? ".strips" : "");
}

/* Place of the kernel in its module; -1: not in there. */
int sim_kernel_index(const sim_function *f)
{
    const sim_ptx_kernel *k;
    int n = sim_ptx_kernels(f->module->ptx, &k);
    for (int i = 0; i < n; i++)
        if (!strcmp(k[i].name, f->name)) return i;
    return -1;
}

/* The kernel that is wanted and, where objects are kept, others that no object is there for yet:
 * a program that launches one kernel usually launches the rest, and this way they are compiled on
 * all processors. Those of the same module first. */
static int choose(sim_function *wanted, const char *folder, int kept, sim_function **list)
{
    char object[SIM_PATH];
    int n = 0;
    list[n++] = wanted;
    for (int same = 1; kept && same >= 0; same--)
        for (sim_function *f = sim_function_next(NULL); f && n < AHEAD; f = sim_function_next(f)) {
            if (f == wanted || f->info || f->failed || (f->module == wanted->module) != same ||
                sim_module_read(f->module) != cudaSuccess || sim_kernel_index(f) < 0)
                continue;
            sim_object_path(object, folder, f, 0);
            if (access(object, F_OK) != 0) list[n++] = f;
        }
    return n;
}

/* Kernels that are compiled together: starting a compiler and reading what every
 * kernel begins with costs it as much as a small kernel does. */
typedef struct group {
    sim_compile c;
    sim_function **f;
    int n;
} group;

/* How many of the list, from its first on. */
static int cut(sim_function **list, int n, int most)
{
    for (int k = 1; k < n && k < most; k++)
        for (int i = 0; i < k; i++)
            if (!strcmp(list[i]->name, list[k]->name)) return k; /* of two modules */
    return n < most ? n : most;
}

static int start(group *g, int in_strips, const char *folder, int serial)
{
    sim_ptx_one list[AHEAD];
    for (int i = 0; i < g->n; i++)
        list[i] = (sim_ptx_one){g->f[i]->module->ptx, sim_kernel_index(g->f[i])};
    return sim_compile_start(&g->c, list, g->n, in_strips, folder, serial);
}

/* 1: the first one is compiled. */
static int finish(group *g, int in_strips, const char *folder, int wanted)
{
    char object[SIM_PATH];
    for (int i = 1; i < g->n; i++) {
        sim_object_path(object, folder, g->f[i], in_strips);
        sim_compile_share(&g->c, object);
    }
    sim_object_path(object, folder, g->f[0], in_strips);
    if (wanted && g->c.refused)
        sim_say("kernel %s has %d instructions that are not supported; it stops where it reaches "
                "one",
                g->f[0]->name, g->c.refused);
    return sim_compile_finish(&g->c, g->f[0]->name, object, wanted && g->n == 1);
}

static int build(sim_function *wanted, int in_strips, const char *folder, int kept)
{
    group *running = calloc(AT_ONCE, sizeof *running);
    sim_function *list[AHEAD];
    cpu_set_t set;
    int processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    /* twice as many as processors: behind a long one that is waited for, others start */
    int at_once = 2 * processors < AT_ONCE ? 2 * processors : AT_ONCE;
    int n = running ? choose(wanted, folder, kept && !in_strips, list) : 0;
    int most = n / (4 * processors) + 1; /* so that each processor gets some groups */
    int at = 0, started = 0, finished = 0, done = 0, alone = 1;
    for (;; finished++) { /* first started, first waited for */
        while (at < n && started - finished < at_once) {
            group *g = &running[started % at_once];
            g->f = &list[at];
            g->n = cut(g->f, n - at, most);
            if (!start(g, in_strips, folder, started)) {
                n = at; /* no more of them */
                break;
            }
            at += g->n;
            started++;
        }
        if (finished == started) break;
        group *g = &running[finished % at_once];
        int ok = finish(g, in_strips, folder, finished == 0);
        if (finished > 0) continue;
        alone = g->n == 1;
        done = ok;
    }
    if (running && !done && !alone) { /* it may be another one that the compiler stumbles over */
        group g = {.f = list, .n = 1};
        done = start(&g, in_strips, folder, 0) && finish(&g, in_strips, folder, 1);
    }
    free(running);
    return done;
}

/* Of an object of several kernels, or of one. */
static void *find(void *library, const char *what, const char *kernel)
{
    char own[600];
    snprintf(own, sizeof own, "%s_%s", what, kernel);
    for (char *p = own; *p; p++)
        if (*p == '.') *p = '_';
    void *found = dlsym(library, own);
    return found ? found : dlsym(library, what);
}

int sim_object_load(sim_function *f, const char *object)
{
    void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    const sim_kernel_info *info = library ? find(library, "sim_kernel", f->name) : NULL;
    uint64_t *vars = library ? find(library, "sim_vars", f->name) : NULL;
    if (!info || !vars || info->abi != SIM_RT_ABI || strcmp(info->name, f->name)) {
        if (library) dlclose(library);
        return 0;
    }
    for (int i = 0; i < info->nvar; i++) sim_variable_address(info->vars[i], f->module, &vars[i]);
    f->vars = vars;
    f->info = info;
    return 1;
}

/* From the folder in which objects are kept; where that cannot be written (read-only, full),
 * compiled for this process alone. */
static int find_or_build(sim_function *f, int in_strips)
{
    static int warned;
    char object[SIM_PATH];
    const char *folder = sim_cache_folder();
    if (folder) {
        sim_object_path(object, folder, f, 1); /* compiled when it ran often, in another process */
        if (sim_strips_mode() && access(object, F_OK) == 0 && sim_cache_whole(object) &&
            sim_object_load(f, object))
            return f->settled = 1;
        sim_object_path(object, folder, f, in_strips);
        if (sim_cache_whole(object) && sim_object_load(f, object)) return 1;
        /* not unlinked: another process may just have put a good one there; the name is replaced */
        if (access(folder, W_OK) == 0 && build(f, in_strips, folder, 1) &&
            sim_object_load(f, object))
            return 1;
        if (!warned++)
            sim_say("%s cannot be written, so this process compiles its kernels for itself",
                    folder);
    }
    if (!(folder = sim_cache_temporary())) return 0;
    sim_object_path(object, folder, f, in_strips);
    int ok = build(f, in_strips, folder, 0) && sim_object_load(f, object);
    unlink(object); /* it stays loaded */
    return ok;
}

cudaError_t sim_jit(sim_function *f)
{
    if (f->failed) return cudaErrorInvalidKernelImage;
    cudaError_t e = sim_module_load(f->module);
    if (e != cudaSuccess) return e;
    f->failed = 1; /* until it is not */
    if (sim_kernel_index(f) < 0) {
        sim_say("the program's PTX has no kernel %s", f->name);
        return cudaErrorInvalidDeviceFunction;
    }
    int in_strips = sim_strips_mode() == 1 && sim_ptx_strips(f->module->ptx, sim_kernel_index(f));
    if (!find_or_build(f, in_strips)) return cudaErrorInvalidKernelImage;
    if (f->info->local_bytes > SIM_LOCAL_MOST) {
        /* it would reach over the guard page into another thread's stack */
        sim_say("kernel %s needs %u bytes of local memory a thread; there are %d", f->name,
                f->info->local_bytes, SIM_LOCAL_MOST);
        f->info = NULL;
        return cudaErrorInvalidKernelImage;
    }
    f->failed = 0;
    return cudaSuccess;
}
