/* plugin.cu - a library with one kernel, NAME, which plugin_one launches: two of them are alike in
 * all but this name, and the loader puts one where the other was. */
#include <cuda_runtime.h>

__global__ void NAME(float *p)
{
    p[0] = 1;
}

extern "C" int plugin_one(void)
{
    float *p = NULL;
    if (cudaMalloc(&p, 4096) != cudaSuccess) return 1;
    NAME<<<1, 1>>>(p);
    int e = (int)cudaGetLastError();
    cudaFree(p);
    return e;
}
