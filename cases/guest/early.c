/* early.c - a library whose constructor calls CUDA from places that nobody has seen. */
#include <cuda_runtime_api.h>

#define CALL_4  cudaStreamQuery(NULL), cudaFree(NULL), cudaStreamQuery(NULL), cudaFree(NULL)
#define CALL_16 CALL_4, CALL_4, CALL_4, CALL_4
static void __attribute__((constructor)) begin(void)
{
    CALL_16, CALL_16;
}
