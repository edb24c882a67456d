/* guest.cu - one program that calls the runtime in the ways that interposers trip over. First
 * argument: which. Exit code 0 when it saw what it should. */
#include "oomproof.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void nothing() {}

static int early = -1; /* result of a call made before main() */
__attribute__((constructor)) static void before_main(void)
{
    void *p;
    if (getenv("GUEST_EARLY")) early = cudaMalloc(&p, 100);
}

static int one(void)
{
    void *p = NULL;
    return cudaMalloc(&p, 1000) != cudaSuccess || cudaFree(p) != cudaSuccess;
}

static void *lookups(void *failed)
{
    for (int i = 0; i < 10000; i++)
        if (!dlsym(RTLD_NEXT, "open") || !dlsym(RTLD_DEFAULT, "cudaMalloc")) *(int *)failed = 1;
    return NULL;
}

static int threads_look_up(void)
{
    pthread_t t[8];
    int failed = 0;
    for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, lookups, &failed);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    return failed || one();
}

static int child(int how, char **argv)
{
    int status;
    pid_t pid = how == 'v' ? vfork() : fork();
    if (pid == 0) {
        if (how == 'f') _exit(one());
        if (how == 'd') { /* a daemon: the child's child outlives it */
            setsid();
            if (fork()) _exit(0);
            _exit(one());
        }
        execl(argv[0], argv[0], "one", (char *)NULL);
        _exit(127);
    }
    if (waitpid(pid, &status, 0) != pid) return 1;
    return status || one();
}

static int by_handle(int flags)
{
    void *h = dlopen("libcudart.so.13", flags), *p;
    cudaError_t (*f)(void **, size_t) =
        h ? (cudaError_t(*)(void **, size_t))dlsym(h, "cudaMalloc") : NULL;
    return !f || f(&p, 100) != cudaSuccess;
}

static void once(const char *, uint64_t, void *left)
{
    if ((*(int *)left)-- > 0) throw 1;
}

/* Out of the shim, by way of what it calls; then as if nothing had been. */
static int throws()
{
    int left = 1, caught = 0;
    void *p = nullptr;
    oomproof_observe(once, &left);
    try {
        cudaMalloc(&p, 1000);
    } catch (int) {
        caught = 1;
    }
    oomproof_observe(nullptr, nullptr);
    return !caught || cudaMalloc(&p, 1000) != cudaErrorMemoryAllocation;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    if (!strcmp(way, "early")) return early != cudaSuccess;
    if (!strcmp(way, "one")) return one();
    if (!strcmp(way, "threads")) return threads_look_up();
    if (!strcmp(way, "fork")) return child('f', argv);
    if (!strcmp(way, "exec")) return child('e', argv);
    if (!strcmp(way, "vfork")) return child('v', argv);
    if (!strcmp(way, "daemon")) return child('d', argv);
    if (!strcmp(way, "throws")) return throws();
    if (!strcmp(way, "handle")) return by_handle(RTLD_NOW);
    if (!strcmp(way, "launch")) {
        nothing<<<1, 1>>>();
        return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
    }
    if (!strcmp(way, "for-ever"))
        for (;;) one();
    fprintf(stderr, "guest: no such way: %s\n", way);
    return 2;
}
