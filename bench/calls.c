/* calls.c - what a call costs: cudaStreamQuery and cudaMalloc/cudaFree of the stand-in library,
 * which only counts. Prints nanoseconds a call of each, the best of 7 rounds. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
    enum { N = 200000 };
    double query = 1e9, pair = 1e9;
    for (int round = 0; round < 7; round++) {
        double a = now();
        for (int i = 0; i < N; i++) cudaStreamQuery(NULL);
        double b = now();
        for (int i = 0; i < N; i++) {
            void *p = (void *)0x1000;
            cudaMalloc(&p, 512);
            cudaFree(p);
        }
        double c = now();
        if ((b - a) / N < query) query = (b - a) / N;
        if ((c - b) / N / 2 < pair) pair = (c - b) / N / 2;
    }
    printf("%.2f %.2f\n", query, pair);
    return 0;
}
