/* rude.c - a program that does to the shim what programs do: closes descriptors that are not its
 * own, forks while others look call sites up, cancels threads, loads another library where one was,
 * says odd names, asks for impossible sizes. alarm ends it where the shim would hang it. */
#define _GNU_SOURCE
#include "oomproof.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void calls(int n)
{
    for (int i = 0; i < n; i++) cudaStreamQuery(NULL);
}

/* Its first descriptors are those of libraries that believed them open. */
static int closes(const char *path)
{
    char nine[] = "nine byte";
    calls(1);
    closefrom(3);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), more = open("/dev/null", O_RDWR);
    if (fd < 0 || more < 0 || write(fd, nine, 9) != 9) return 2;
    if (chdir("/") != 0) return 2;
    calls(5000);
    pid_t child = fork();
    if (child == 0) {
        calls(1);
        _exit(fcntl(fd, F_GETFD) < 0 || fcntl(more, F_GETFD) < 0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    if (status) fprintf(stderr, "the child lost a descriptor\n");
    return status || lseek(fd, 0, SEEK_END) != 9;
}

/* 256 call sites. */
#define SITE_1(n)   \
    case n:         \
        calls_at(); \
        break;
#define SITE_4(n)  SITE_1(n) SITE_1(n + 1) SITE_1(n + 2) SITE_1(n + 3)
#define SITE_16(n) SITE_4(n) SITE_4(n + 4) SITE_4(n + 8) SITE_4(n + 12)
#define SITE_64(n) SITE_16(n) SITE_16(n + 16) SITE_16(n + 32) SITE_16(n + 48)
#define calls_at() cudaStreamQuery(NULL), cudaFree(NULL)
static void site(int n)
{
    switch (n) {
        SITE_64(0)
        SITE_64(64)
        SITE_64(128)
        SITE_64(192)
    }
}

static pthread_barrier_t together;
static void *sites(void *from)
{
    if (from) pthread_barrier_wait(&together);
    for (int i = 0; i < 32; i++) site((int)(intptr_t)from + i);
    return NULL;
}

static int forks(void)
{
    pthread_t t[6];
    pthread_barrier_init(&together, NULL, 7);
    for (int i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, sites, (void *)(intptr_t)(32 * (i + 1)));
    int bad = 0;
    pthread_barrier_wait(&together);
    for (int i = 0; i < 8; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);
            sites(NULL);
            _exit(0);
        }
        int status = 1;
        waitpid(child, &status, 0);
        bad |= status;
    }
    for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
    return bad != 0;
}

/* A library is loaded, and its constructor calls, while others look call sites up: the loader's
 * lock is held there, and wanted here. */
static int early(const char *library)
{
    pthread_t t[4];
    alarm(60);
    pthread_barrier_init(&together, NULL, 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, sites, (void *)(intptr_t)(32 * (i + 1)));
    pthread_barrier_wait(&together);
    int bad = 0;
    for (int i = 0; i < 20; i++) {
        void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        bad |= !h;
        if (h) dlclose(h);
    }
    for (int i = 0; i < 4; i++) pthread_join(t[i], NULL);
    return bad;
}

static void *until_cancelled(void *unused)
{
    for (;;) calls(3000), pthread_testcancel(); /* a block of the trace is written in there */
    return unused;
}

static int cancels(void)
{
    alarm(60);
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        pthread_create(&t, NULL, until_cancelled, NULL);
        calls(100 + 7 * i);
        pthread_cancel(t);
        pthread_join(t, NULL);
        calls(1);
    }
    return 0;
}

static int loads(int n, char **libraries)
{
    for (int i = 0; i < n; i++) {
        void *h = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        int (*call)(void) = h ? (int (*)(void))dlsym(h, "plugin_one") : NULL;
        if (!call) return fprintf(stderr, "%s\n", dlerror()), 2;
        call();
        dlclose(h);
    }
    return 0;
}

static int odd(void)
{
    void *p = NULL;
    oomproof_phase("a\tb\nc");
    oomproof_tag("x\ty\n\x7f");
    cudaMalloc(&p, (size_t)-1);
    cudaMalloc(&p, 4096);
    cudaFree(p);
    return 0;
}

/* Nothing where something is expected: as much as none, with and without the shim. */
static int nulls(void)
{
    char error[8];
    int bad = oomproof_arm(NULL, error, sizeof error) != 0 || oomproof_calls(NULL) != 0;
    bad |= oomproof_arm("cudaMalloc ->", NULL, 0) > 0;
    oomproof_phase(NULL);
    oomproof_tag(NULL);
    oomproof_observe(NULL, NULL);
    oomproof_reference(NULL, NULL);
    oomproof_retry(NULL, 0);
    oomproof_part_begin(NULL);
    oomproof_part_end(NULL, NULL);
    oomproof_part_begin("part");
    calls(1);
    oomproof_part_end("part", NULL);
    oomproof_step_begin();
    void *p = NULL;
    if (cudaMalloc(&p, 512) == cudaSuccess) cudaFree(p);
    cudaGetLastError();
    oomproof_step_end(NULL);
    return bad;
}

static int child_fails(void)
{
    void *p = NULL;
    calls(1);
    cudaMalloc(&p, 512);
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            cudaFree(NULL);
            cudaMalloc(&p, i ? 512 : (size_t)1 << 50);
            _exit(0);
        } else
            wait(NULL);
    cudaFree(p);
    return 0;
}

/* Its child is the first to call. */
static int child_first(void)
{
    if (fork() == 0) {
        calls(1);
        _exit(0);
    }
    wait(NULL);
    calls(1);
    return 0;
}

static uint64_t budget;
static int over;
static void *allocates(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        void *p = NULL;
        if (cudaMalloc(&p, 700 << 10) != cudaSuccess) continue;
        if (oomproof_live_bytes() > budget) __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
        cudaFree(p);
    }
    return unused;
}

/* Under a budget of 1 MiB: never two at once. */
static int budgets(void)
{
    pthread_t t[8];
    budget = 1 << 20;
    for (int i = 0; i < 8; i++) pthread_create(&t[i], NULL, allocates, NULL);
    for (int i = 0; i < 8; i++) pthread_join(t[i], NULL);
    if (over) fprintf(stderr, "more than the budget was live\n");
    return over;
}

/* A child that no handler of fork hears of, and both call. */
static int clones(int same)
{
    calls(1);
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child < 0) return 2;
    for (int i = 0; i < 20000; i++) {
        if (child == 0 && !same)
            cudaStreamQuery(NULL);
        else
            cudaFree(NULL);
    }
    if (child == 0) _exit(0);
    int status = 1;
    return waitpid(child, &status, 0) != child || status;
}

/* Frees that fail, since the block is in use by a capture; then one that does not. */
static int frees(void)
{
    void *p = NULL;
    cudaStream_t s;
    cudaGraph_t g;
    cudaMalloc(&p, 1000);
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    int bad = cudaFree(p) == cudaSuccess || cudaFree(p) == cudaSuccess;
    cudaStreamEndCapture(s, &g);
    cudaGetLastError();
    return bad || oomproof_live_bytes() != 1024 || cudaFree(p) != cudaSuccess ||
           oomproof_live_bytes() != 0;
}

/* A call that a signal handler leaves; then one more, from depth frames further down. */
static sigjmp_buf out;
static void leave(int s)
{
    siglongjmp(out, s);
}

static int deeper(int depth)
{
    volatile char used[200];
    memset((char *)used, depth, sizeof used);
    void *p = NULL;
    return depth ? deeper(depth - 1) + (used[7] != (char)depth) : cudaMalloc(&p, 100) == 0;
}

static int leaves(int depth)
{
    void *p = NULL;
    signal(SIGSEGV, leave);
    if (cudaMalloc(&p, 4096) != cudaSuccess) return 2;
    if (!sigsetjmp(out, 1)) {
        cudaMemcpy((char *)NULL + 16, p, 4096, cudaMemcpyDeviceToHost);
        return 2;
    }
    return deeper(depth); /* the rule fails it */
}

/* A thread that is cancelled in a rule's delay, or leaves while its request is on its way, holds
 * none of a budget of 10 MiB. */
static void ends_thread(const char *call, uint64_t nth, void *first)
{
    (void)call, (void)nth;
    if (!pthread_equal(pthread_self(), *(pthread_t *)first)) pthread_exit(NULL);
}

static void *cancels_itself(void *cancelled)
{
    void *p = NULL;
    if (cancelled) pthread_cancel(pthread_self());
    if (cudaMalloc(&p, 6 << 20) == cudaSuccess) cudaFree(p);
    return NULL;
}

static int promises(int observed)
{
    pthread_t t, self = pthread_self();
    void *p = NULL;
    if (observed) oomproof_observe(ends_thread, &self);
    pthread_create(&t, NULL, cancels_itself, observed ? NULL : &self);
    pthread_join(t, NULL);
    oomproof_observe(NULL, NULL);
    return cudaMalloc(&p, 6 << 20) != cudaSuccess;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "closes") && argc > 2) return closes(argv[2]);
    if (!strcmp(how, "forks")) return forks();
    if (!strcmp(how, "cancels")) return cancels();
    if (!strcmp(how, "loads")) return loads(argc - 2, argv + 2);
    if (!strcmp(how, "early") && argc > 2) return early(argv[2]);
    if (!strcmp(how, "odd")) return odd();
    if (!strcmp(how, "clones")) return clones(argc > 2);
    if (!strcmp(how, "frees")) return frees();
    if (!strcmp(how, "leaves") && argc > 2) return leaves(atoi(argv[2]));
    if (!strcmp(how, "promises")) return promises(argc > 2);
    if (!strcmp(how, "nulls")) return nulls();
    if (!strcmp(how, "child-fails")) return child_fails();
    if (!strcmp(how, "child-first")) return child_first();
    if (!strcmp(how, "budgets")) return budgets();
    if (!strcmp(how, "calls") && argc > 2) return calls(atoi(argv[2])), 0;
    if (!strcmp(how, "says")) { /* its words, a line each */
        for (int i = 2; i < argc; i++) printf("<%s>\n", argv[i]);
        calls(1);
        return 0;
    }
    fprintf(stderr, "rude: how?\n");
    return 2;
}
