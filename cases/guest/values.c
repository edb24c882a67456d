/* values.c - results that a rule poisons, and those in which there is nothing to poison; failures
 * that are not what a rule asked for. An argument says which. Prints how many values are not
 * finite, and the last error. */
#include "oomproof.h"
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 4096 };
static float host[VALUES], *device;
static const char *how;

static int is(const char *word)
{
    return !strcmp(how, word);
}

static void result(int code)
{
    int n = 0, last = (int)cudaGetLastError();
    for (int i = 0; i < VALUES; i++) n += !isfinite(host[i]);
    printf("code %d poisoned %d last error %d\n", code, n, last);
}

static void captured(void)
{
    cudaStream_t s = NULL;
    cudaGraph_t graph = NULL;
    void *p = NULL;
    cudaStreamCreate(&s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    int code = is("captured-alloc")
                   ? (int)cudaMalloc(&p, 1000)
                   : (int)cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, s);
    int end = (int)cudaStreamEndCapture(s, &graph);
    printf("copy %d end %d graph %d\n", code, end, graph != NULL);
}

/* 8 rows of one value, 16 apart. */
static void rows(void)
{
    result((int)cudaMemcpy2D(host, 64, device, 64, 4, 8, cudaMemcpyDeviceToHost));
    int outside = 0;
    for (int i = 0; i < VALUES; i++) outside += i % 16 != 0 && !isfinite(host[i]);
    printf("outside %d\n", outside);
}

static void *crashes(void *unused)
{
    sigset_t set;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGSEGV, SIG_IGN);
    printf("not crashed: %d\n", cudaMalloc(&unused, 1000));
    return unused;
}

static void pitches(void)
{
    struct cudaPitchedPtr p;
    size_t pitch;
    void *q = NULL;
    printf("exactly %d", cudaMallocPitch(&q, &pitch, 1, 2048)); /* 1 MiB, of 2 KiB */
    cudaFree(q);
    printf(" over %d", cudaMallocPitch(&q, &pitch, 1, 2049));
    printf(" 3D %d", cudaMalloc3D(&p, (struct cudaExtent){1, 100, 100}));
    printf(" live %d\n", (int)oomproof_live_bytes());
}

int main(int argc, char **argv)
{
    int copied = (how = argc > 1 ? argv[1] : "", 4);
    if (is("pitch")) return pitches(), 0;
    if (is("crash")) {
        pthread_t t;
        pthread_create(&t, NULL, crashes, NULL);
        return pthread_join(t, NULL);
    }
    if (is("armed")) {
        char error[80];
        void *p = NULL;
        oomproof_arm("cudaStreamQuery nth=1 -> oom", error, sizeof error);
        printf("malloc %d query %d\n", cudaMalloc(&p, 10), cudaStreamQuery(NULL));
        return 0;
    }
    cudaMalloc((void **)&device, sizeof host);
    cudaMemset(device, 0, sizeof host);
    if (is("default")) result((int)cudaMemcpy(host, device, 16, cudaMemcpyDefault));
    if (is("up")) result((int)cudaMemcpy(device, host, 16, cudaMemcpyDefault));
    if (is("whole")) {
        cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
        result((int)cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    }
    if (is("none")) copied = 0;
    if (is("odd")) copied = 2;
    if (is("none") || is("odd") || is("four"))
        result((int)cudaMemcpy(host, device, (size_t)copied, cudaMemcpyDeviceToHost));
    if (is("fails")) result((int)cudaMemcpy(host, (void *)8, 4, cudaMemcpyDeviceToHost));
    if (is("rows")) rows();
    if (is("sets")) {
        struct cudaPitchedPtr block = {device, 64, 8, 4};
        cudaMemset2D(device, 64, 0, 4, 8);
        cudaMemset3D(block, 0, (struct cudaExtent){8, 4, 2});
        result((int)cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    }
    if (is("captured") || is("captured-alloc")) captured();
    return 0;
}
