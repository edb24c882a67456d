/* plugin.c - a library that needs libcudart, as a Python extension does; loaded RTLD_LOCAL or
 * RTLD_DEEPBIND by host.c. */
#include <cuda_runtime_api.h>
int plugin_one(void);
int plugin_one(void)
{
    void *p = NULL;
    return cudaMalloc(&p, 1000) != cudaSuccess || cudaFree(p) != cudaSuccess;
}
