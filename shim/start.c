/* start.c - a preloaded process: its start, its end, its forks, and the real functions. */
#define _GNU_SOURCE
#include "driver.h"
#include "field/force.h"
#include "joined.h"
#include "live.h"
#include "site.h"
#include "state.h"
#include "sweep/sweep.h"
#include "trace/write.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
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
    op_pools_hold();
}
static void fork_unlock(void)
{
    op_pools_let_go();
    op_names_let_go();
    op_site_let_go();
    op_live_let_go();
    op_gate_leave(&op_lock);
}
static void fork_child(void)
{
    op_rules_of_child();
    op_count_of_child();
    fork_unlock();
    OP_WRITE(*op_here, 1);
}

static char always = 1;
char *op_here = &always;

/* A page that the kernel clears in the child, where it can. */
static void watch_for_children(void)
{
#ifdef MADV_WIPEONFORK
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    if (madvise(p, 4096, MADV_WIPEONFORK) != 0) {
        munmap(p, 4096);
        return;
    }
    op_here = p;
    *op_here = 1;
#endif
}

/* No other thread of the parent is here: a lock that one held is nobody's. What it guarded may be
 * half changed, which libc's own fork would not have allowed either. */
void op_other_process(void)
{
    OP_WRITE(*op_here, 1);
    op_gate_leave(&op_lock);
    op_live_let_go();
    op_site_free();
    op_names_free();
    op_pools_let_go();
    op_rules_of_child();
    op_count_of_child();
    op_trace_other_process();
    op_force_of_child();
}

static void __attribute__((constructor)) start(void)
{
    const char *text = getenv("OOMPROOF_FAULTS");
    char error[256];
    pthread_atfork(fork_lock, fork_unlock, fork_child);
    watch_for_children();
    op_join();
    op_sweep_start();
    op_trace_start();
    op_force_start();
    if (op_tracing || op_sweep || op_forcing) op_site_start();
    if (op_rules_set(text ? text : "", error, sizeof error) >= 0) return;
    fprintf(stderr, "oomproof: OOMPROOF_FAULTS: %s\n", error);
    _exit(2);
}

static void __attribute__((destructor)) stop(void)
{
    op_judge_exit();
    op_join_ends();
}
