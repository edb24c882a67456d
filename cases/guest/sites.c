/* sites.c - calls from several functions, none exported. An argument: only the first of them. */
#include <cuda_runtime_api.h>
#include <stddef.h>

#define ALLOCATES(name)                             \
    __attribute__((noinline)) static int name(void) \
    {                                               \
        void *p = NULL;                             \
        int e = cudaMalloc(&p, 512);                \
        return e + (cudaFree(p) != cudaSuccess);    \
    }
ALLOCATES(first)
ALLOCATES(second)
ALLOCATES(third)

int main(int argc, char **argv)
{
    (void)argv;
    return first() || (argc == 1 && (second() || third() || second()));
}
