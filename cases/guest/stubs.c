/* stubs.c - calls what the simulated device has only a stub of: told by `oomproof doctor`, and by
 * the call itself. */
#include <cuda_runtime_api.h>
#include <stdio.h>

int main(void)
{
    cudaArray_t array;
    struct cudaChannelFormatDesc d = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
    cudaError_t e = cudaMallocArray(&array, &d, 16, 16, 0);
    printf("%d %d\n", (int)e, (int)cudaGetLastError());
    return e == cudaErrorNotSupported ? 0 : 1;
}
