/* threads.c - 64 threads in the shim at once: allocations, frees, launches, counters, rules armed
 * and disarmed, tags, a trace. Built with ThreadSanitizer, the shim's own sources in the program.
 */
#define _GNU_SOURCE
#include "driver.h"
#include "oomproof.h"
#include "standin.h"
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* driver.c's dlsym under a name of its own (CMakeLists.txt): TSan looks its own functions up by
 * dlsym before it is ready for ours. */
void *shim_dlsym(void *handle, const char *name);

typedef CUresult lookup(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
static void *driver;

/* The driver level as a static runtime finds it: by dlsym, then by cuGetProcAddress. */
static void call_the_driver(intptr_t number)
{
    lookup *look;
    CUresult (*allocate)(CUdeviceptr *, size_t) = NULL;
    CUresult (*give_back)(CUdeviceptr) = NULL;
    void *found = NULL;
    CUdeviceptr p = 0;
    *(void **)&look = shim_dlsym(driver, "cuGetProcAddress_v2");
    *(void **)&give_back = shim_dlsym(driver, "cuMemFree_v2");
    if (!look || !give_back || look("cuMemAlloc", &found, 12000, 0, NULL) != CUDA_SUCCESS) abort();
    *(void **)&allocate = found;
    if (look("cuGetProcAddress", &found, 12000, 0, NULL) != CUDA_SUCCESS) abort();
    if (look("cuMemAllocAsync", &found, 12000, number & 1 ? 2 : 0, NULL) != CUDA_SUCCESS) abort();
    if (allocate(&p, 512) == CUDA_SUCCESS) give_back(p);
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
        call_the_driver((intptr_t)number);
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
    if (!(driver = dlopen("libcuda.so.1", RTLD_NOW))) return fprintf(stderr, "%s\n", dlerror()), 2;
    for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
    uint64_t n = oomproof_calls("cudaMalloc");
    uint64_t driver_calls = oomproof_calls("cuMemAlloc");
    printf("%d threads, %llu calls of cudaMalloc, %llu of cuMemAlloc\n", THREADS,
           (unsigned long long)n, (unsigned long long)driver_calls);
    return n != (uint64_t)THREADS * TURNS || driver_calls != n;
}
