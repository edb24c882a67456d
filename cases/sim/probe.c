/* probe.c - a process for the cases of the cache and of an inactive device: launches one kernel and
 * prints what the calls gave. "probe 0 1" has said: no errors, the kernel stored what it should. */
#include "kernels.h"
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    int devices = -1, x = 0, v = 77, *p = NULL;
    long long i = 0;
    void *args[] = {&p, &i, &v};
    struct dim3 one = {1, 1, 1};
    cudaError_t count = cudaGetDeviceCount(&devices), e = cudaMalloc((void **)&p, 4);
    if (e == cudaSuccess) e = cudaLaunchKernel((const void *)store, one, one, args, 0, NULL);
    if (e == cudaSuccess) e = cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost);
    fprintf(stderr, "probe %d %d\n", (int)e, x == v);
    fprintf(stderr, "devices %d %d last %d\n", (int)count, devices, (int)cudaGetLastError());
    return 0;
}
