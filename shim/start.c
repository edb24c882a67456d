/* start.c - a preloaded process: its start, its end, its forks, and the real functions. */
#define _GNU_SOURCE
#include "devcode.h"
#include "driver.h"
#include "field/force.h"
#include "live.h"
#include "site.h"
#include "state.h"
#include "sweep/sweep.h"
#include "trace/write.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *op_find(const char *name)
{
    static const char *const libraries[] = {"libcudart.so.13", "libcublas.so.13",
                                            "libcublasLt.so.13", "libcudnn.so.9", "libcuda.so.1"};
    void *p = op_dlsym(RTLD_NEXT, name);
    for (size_t i = 0; !p && i < sizeof libraries / sizeof *libraries;
         i++) { /* a library that was loaded RTLD_LOCAL has no "next" */
        void *h = dlopen(libraries[i], RTLD_NOLOAD | RTLD_LAZY);
        if (h) p = op_dlsym(h, name);
    }
    return p;
}

/* Called as a function of any parameters, none of which it looks at: not C, but what the ABIs of
 * x86-64 and arm64 do. */
static int cuda_absent(void)
{
    return cudaErrorInitializationError; /* and CUDA_ERROR_NOT_INITIALIZED */
}
static int cublas_absent(void)
{
    return 1; /* CUBLAS_STATUS_NOT_INITIALIZED */
}
static int cudnn_absent(void)
{
    return 1001; /* CUDNN_STATUS_NOT_INITIALIZED */
}

/* A program may only have asked whether the name is there, which it is since we are. */
void *op_absent(const char *name)
{
    static int said;
    if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
        fprintf(stderr,
                "oomproof: no CUDA library that is loaded has %s: it returns \"not initialised\"; "
                "the name is there because liboomproof.so is preloaded\n",
                name);
    return !strncmp(name, "cublas", 6)  ? (void *)cublas_absent
           : !strncmp(name, "cudnn", 5) ? (void *)cudnn_absent
                                        : (void *)cuda_absent;
}

int op_first_to_ask(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return fd >= 0 || errno != EEXIST;
}

static void fork_lock(void)
{
    op_gate_enter(&op_lock);
    op_live_hold();
    op_site_hold();
    op_names_hold();
}
static void fork_unlock(void)
{
    op_names_let_go();
    op_site_let_go();
    op_live_let_go();
    op_gate_leave(&op_lock);
}
static void fork_child(void)
{
    op_rules_of_child();
    fork_unlock();
}

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

/* What the program itself carries: also of one that never comes to its end. */
static void note_code(int code)
{
    if (code & OP_CODE_KERNELS) __atomic_fetch_add(&op_shared->with_kernels, 1, __ATOMIC_RELAXED);
    if (code & OP_CODE_STATIC) __atomic_fetch_add(&op_shared->with_static, 1, __ATOMIC_RELAXED);
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
        note_code(op_device_code("/proc/self/exe"));
        int runtime = 0;
        dl_iterate_phdr(is_runtime, &runtime);
        if (runtime) __atomic_fetch_add(&op_shared->with_runtime, 1, __ATOMIC_RELAXED);
    }
    op_sweep_start();
    op_trace_start();
    op_force_start();
    if (op_rules_set(text ? text : "", error, sizeof error) >= 0) return;
    fprintf(stderr, "oomproof: OOMPROOF_FAULTS: %s\n", error);
    _exit(2);
}

static void __attribute__((destructor)) stop(void)
{
    uint64_t seen = 0;
    cuda found = {0};
    op_judge_exit();
    for (int id = 0; id < OP_CALLS; id++) seen += op_shared->calls[id];
    if (!seen) dl_iterate_phdr(look_at, &found);
    if (found.runtime) __atomic_fetch_add(&op_shared->unseen, 1, __ATOMIC_RELAXED);
    note_code(found.code);
}
