/* probe.cu - a process for the cases of the cache and of an inactive device: launches its only
 * kernel and prints what the calls gave. "probe 0 1" has said: no errors, the kernel stored what it
 * should. */
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void probe(int *out, int value)
{
    *out = value;
}

int main(void)
{
    int devices = -1, x = 0, v = 77, *p = NULL;
    cudaError_t count = cudaGetDeviceCount(&devices), e = cudaMalloc((void **)&p, 4);
    if (e == cudaSuccess) {
        probe<<<1, 1>>>(p, v);
        e = cudaPeekAtLastError();
    }
    if (e == cudaSuccess) e = cudaMemcpy(&x, p, 4, cudaMemcpyDeviceToHost);
    fprintf(stderr, "probe %d %d\n", (int)e, x == v);
    fprintf(stderr, "devices %d %d last %d\n", (int)count, devices, (int)cudaGetLastError());
    return 0;
}
