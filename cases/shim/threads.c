/* threads.c - 64 threads in the shim at once: allocations, frees, launches, counters, rules armed
 * and disarmed, tags, a trace. Built with ThreadSanitizer, the shim's own sources in the program.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "oomproof.h"
#include "standin.h"
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Without driver.c: TSan looks its own functions up by dlsym before it is ready for ours. */
void *op_dlsym(void *handle, const char *name)
{
    return dlsym(handle, name);
}

enum { THREADS = 64, TURNS = 300 };

static void *work(void *number)
{
    char tag[32];
    snprintf(tag, sizeof tag, "thread/%d", (int)(intptr_t)number);
    for (int i = 0; i < TURNS; i++) {
        void *p = (char *)NULL + 4096 * (1 + (intptr_t)number);
        oomproof_tag(i % 3 ? tag : NULL);
        oomproof_phase(i % 2 ? "forward" : "backward");
        cudaMalloc(&p, 512 * (size_t)(i + 1));
        cudaLaunchKernel((const void *)work, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, NULL);
        cudaStreamSynchronize((cudaStream_t)number);
        if (cudaGetLastError() == cudaSuccess) cudaFree(p);
        if (number == 0 && i % 50 == 0) {
            char error[256];
            if (oomproof_arm("cudaMalloc interval=7 -> oom; cudaMalloc phase=forward -> delay(0)",
                             error, sizeof error) < 0)
                abort();
        }
        if (number == (void *)1 && i % 70 == 0) oomproof_disarm();
        cudaStream_t s = (cudaStream_t)(1 + (intptr_t)number % 5);
        void *q = (char *)NULL + (4096 << 8) * (1 + (intptr_t)number), *h = NULL;
        cudaMallocAsync(&q, 4096, s);
        if (cudaGetLastError() == cudaSuccess) cudaFreeAsync(q, s);
        if (cudaMallocHost(&h, 64) == cudaSuccess) cudaFreeHost(h);
        cudaMemcpyAsync(q, tag, 8, cudaMemcpyHostToDevice, s);
        cudaMemsetAsync(q, 0, 8, s);
        oomproof_sample(100);
        if (i % 10 == 0) oomproof_step_begin();
        (void)oomproof_peak_bytes(i % 100 == 0);
        (void)oomproof_live_bytes();
        (void)oomproof_calls("cuda*");
        (void)oomproof_fired(0);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    uint64_t n = oomproof_calls("cudaMalloc");
    printf("%d threads, %llu calls of cudaMalloc\n", THREADS, (unsigned long long)n);
    return n != (uint64_t)THREADS * TURNS;
}
