/* numbers.c - calls whose sites, threads and streams are numbered: some of each kind that no rule
 * of the case names, so that a number which counts only what a rule looks at is another one. */
#include "oomproof.h"
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* B's site is here's second or third. */
__attribute__((noinline)) static void sites(void)
{
    void *p = NULL;
    cudaStreamQuery(NULL);
    printf("A %d\n", cudaMalloc(&p, 1000));
    oomproof_tag("tagged");
    cudaFree(NULL);
    oomproof_tag(NULL);
    printf("B %d\n", cudaMalloc(&p, 2000));
    printf("C %d\n", cudaMalloc(&p, 3000));
}

static void *asks(void *unused)
{
    cudaStreamQuery(NULL);
    return unused;
}

static void *allocates(void *name)
{
    void *p = NULL;
    printf("%s %d\n", (char *)name, cudaMalloc(&p, 1000));
    return NULL;
}

static void on_thread(void *(*fn)(void *), void *what)
{
    pthread_t t;
    pthread_create(&t, NULL, fn, what);
    pthread_join(t, NULL);
}

/* Thread 0 is this one, 1 only asks; stream 1 is a, which is only waited for. */
static void users(void)
{
    cudaStream_t a, b;
    void *p = NULL;
    cudaFree(NULL);
    on_thread(asks, NULL);
    on_thread(allocates, "thread 2");
    on_thread(allocates, "thread 3");
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaStreamSynchronize(a);
    printf("stream 2 %d\n", cudaMallocAsync(&p, 1000, b));
    printf("stream 1 %d\n", cudaMallocAsync(&p, 1000, a));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "sites")) return sites(), 0;
    if (argc > 1 && !strcmp(argv[1], "users")) return users(), 0;
    fprintf(stderr, "numbers: sites or users?\n");
    return 2;
}
