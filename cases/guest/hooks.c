/* hooks.c - a program whose calloc and malloc take managed memory of CUDA for what is large, as
 * allocators for shared host and device data do; also where the shim allocates. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void __libc_free(void *);

enum { LARGE = 64, MOST = 4096 };
static int on;
static __thread int inside;
static char *given[MOST];
static int ngiven;

static void *managed(size_t bytes)
{
    void *p = NULL;
    if (!on || inside || bytes < LARGE || ngiven == MOST) return NULL;
    inside = 1;
    if (cudaMallocManaged(&p, bytes, cudaMemAttachGlobal) != cudaSuccess) p = NULL;
    inside = 0;
    if (p) given[ngiven++] = p, memset(p, 0, bytes);
    return p;
}

void *malloc(size_t bytes)
{
    void *p = managed(bytes);
    return p ? p : __libc_malloc(bytes);
}
void *calloc(size_t n, size_t each)
{
    void *p = managed(n * each);
    return p ? p : __libc_calloc(n, each);
}
void free(void *p)
{
    for (int i = 0; i < ngiven; i++)
        if (p && p == given[i]) return; /* kept: the shim may have it from before */
    __libc_free(p);
}

int main(void)
{
    void *p = NULL;
    int bad = cudaFree(NULL) != cudaSuccess;
    on = 1;
    for (int i = 0; i < 3000 && !bad; i++) bad = cudaMalloc(&p, 512) != cudaSuccess;
    on = 0;
    if (!ngiven) fprintf(stderr, "hooks: nothing was asked for\n");
    return bad || !ngiven;
}
