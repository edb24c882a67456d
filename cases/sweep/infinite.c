/* infinite.c - a step whose gradient is nothing at all, and infinite (NAN=1: not a number) after a
 * failure: what a sweep measures of it is no number that JSON has. */
#include "oomproof.h"
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>

int main(void)
{
    float gradient[4] = {0};
    void *p = NULL;
    oomproof_step s = {.points = 1, .trained = 1, .attempts = 1};
    oomproof_buffer("gradient", gradient, sizeof gradient, 0, 'f', 1e-4);
    oomproof_step_begin();
    if (cudaMalloc(&p, 512) != cudaSuccess) {
        cudaGetLastError();
        gradient[1] = getenv("NAN") ? NAN : INFINITY;
        s.attempts = 2;
        s.retries = s.splits = 1;
    }
    cudaFree(p);
    oomproof_step_end(&s);
    return 0;
}
