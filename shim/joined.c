/* joined.c - see joined.h. */
#define _GNU_SOURCE
#include "joined.h"
#include "devcode.h"
#include "driver.h"
#include "simdev.h"
#include "state.h"
#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int op_joined;
static int saw; /* a call of this process came by */
static char file[4096];
static int why_not;   /* the counters could not be opened: errno */
static uint8_t *mine; /* in op_shared->image; NULL: there is no run */

static void note(int what)
{
    if (mine && what) __atomic_fetch_or(mine, (uint8_t)what, __ATOMIC_RELAXED);
}

const char *op_joined_file(void)
{
    return file;
}

/* ---- the end ---- */
static int is_runtime(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    *(int *)found |= info->dlpi_name && strstr(info->dlpi_name, "libcudart.so") != NULL;
    return 0;
}

typedef struct cuda {
    int runtime, code; /* libcudart is loaded; what the other libraries carry */
} cuda;

static int look_at(struct dl_phdr_info *info, size_t size, void *found_)
{
    cuda *found = found_;
    if (!info->dlpi_name || !*info->dlpi_name) return 0; /* the program */
    is_runtime(info, size, &found->runtime);
    found->code |= op_device_code(info->dlpi_name);
    return 0;
}

static int of_code(int code)
{
    return (code & OP_CODE_KERNELS ? OP_I_KERNELS : 0) | (code & OP_CODE_STATIC ? OP_I_STATIC : 0);
}

static void *in_library(const char *library, const char *name)
{
    void *h = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    return h ? op_dlsym(h, name) : NULL;
}

/* Somebody called CUDA here: the simulated card gave memory, or the driver has a context. A program
 * may load the runtime, count the devices and leave the rest to its children. */
static int was_used(void)
{
    __typeof__(sim_memory_read) *figures = in_library("libcudart.so.13", "sim_memory_read");
    __typeof__(cuDeviceGetCount) *count = in_library("libcuda.so.1", "cuDeviceGetCount");
    __typeof__(cuDevicePrimaryCtxGetState) *state =
        in_library("libcuda.so.1", "cuDevicePrimaryCtxGetState");
    sim_memory_figures sim = {0};
    int devices = 0, active = 0;
    unsigned flags;
    if (figures) figures(&sim);
    if (sim.peak_pages_bytes) return 1;
    if (!count || !state) return 0;
    CUresult e = count(&devices);
    for (int i = 0; e == CUDA_SUCCESS && i < devices && !active; i++)
        if (state(i, &flags, &active) != CUDA_SUCCESS) active = 0;
    return active || e == CUDA_ERROR_DEINITIALIZED;
}

/* A runtime that another namespace has (dlmopen), in which nothing of ours is: who goes to that
 * length calls it, too. */
static int in_another_namespace(void)
{
    char line[4400];
    int found = 0;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = strstr(line, "/libcudart.so") != NULL;
    if (f) fclose(f);
    return found;
}

void op_join_ends(void)
{
    cuda found = {0};
    if (!mine || OP_READ(*mine) & OP_I_SEEN) return;
    dl_iterate_phdr(look_at, &found);
    note(of_code(found.code) | (found.runtime ? OP_I_LOADED : 0));
    if (found.runtime && was_used()) note(OP_I_USED);
    if (!found.runtime && in_another_namespace()) note(OP_I_LOADED | OP_I_USED);
}

/* ---- the start ---- */
/* What libraries that start before us have called. */
static void take_over(const op_stats *before)
{
    for (int id = 0; id < OP_CALLS; id++) {
        uint64_t n = OP_READ(before->calls[id]);
        if (!n) continue;
        __atomic_fetch_add(&op_shared->calls[id], n, __ATOMIC_RELAXED);
        note(OP_I_SEEN);
    }
}

static void join(void)
{
    const char *path = getenv("OOMPROOF_STATS");
    if (!path || !*path) return;
    snprintf(file, sizeof file, "%s", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = fd >= 0 ? mmap(NULL, sizeof *op_shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    why_not = p == MAP_FAILED ? errno : 0;
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED) return;
    const op_stats *before = op_shared;
    op_shared = p;
    uint64_t k = 1 + __atomic_fetch_add(&op_shared->images_taken, 1, __ATOMIC_RELAXED);
    mine = &op_shared->image[k < OP_STATS_IMAGES ? k : 0];
    __atomic_fetch_add(&op_shared->processes, 1, __ATOMIC_RELAXED);
    int runtime = 0;
    dl_iterate_phdr(is_runtime, &runtime);
    note(of_code(op_device_code("/proc/self/exe")) | (runtime ? OP_I_RUNTIME : 0));
    take_over(before);
}

void op_join(void)
{
    op_stats *own = op_shared;
    join();
    if (op_shared == own) own->threads = OP_STATS_THREADS;
    OP_WRITE(op_joined, 1);
}

void op_first_call(void)
{
    if (!OP_READ(op_joined) || __atomic_exchange_n(&saw, 1, __ATOMIC_RELAXED)) return;
    note(OP_I_SEEN);
    if (!why_not) return;
    fprintf(stderr,
            "oomproof: %s (process %ld): %s: %s; its calls are intercepted, but not counted in the "
            "closing lines. %s\n",
            program_invocation_short_name, (long)getpid(), file, strerror(why_not),
            why_not == ENOENT
                ? "The run that it belongs to has ended, or its folder cannot be seen from here "
                  "(chroot)"
                : "As another user it needs a TMPDIR of the run that all users may enter");
}
