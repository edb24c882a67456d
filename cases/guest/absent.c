/* absent.c - a program without CUDA that finds the calls of CUDA all the same, since the shim is
 * preloaded, and makes each: it gets that API's own "not initialised", and goes on. Then the
 * runtime is loaded, and its calls work. */
#define _GNU_SOURCE
#include "calls.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int any_call(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                     void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                     void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                     void *, void *);
static uint64_t z[512];
static int call(const char *name)
{
    any_call *f;
    *(void **)&f = dlsym(RTLD_DEFAULT, name);
    memset(z, 0, sizeof z);
    return !f ? -1
              : f(z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z, z,
                  z, z, z, z, z);
}

int main(void)
{
    static const int not_initialised[] = {
        [OP_CUDA] = 3, [OP_CUBLAS] = 1, [OP_CUDNN] = 1001, [OP_DRIVER] = 3};
    static const char *const others[] = {
        "cudaGetLastError",    "cudaPeekAtLastError", "cudaMemGetInfo",         "cudaDeviceReset",
        "cuGetProcAddress_v2", "cuGetProcAddress",    "cudaGetDriverEntryPoint"};
    int wrong = 0, code;
    for (int twice = 0; twice < 2; twice++)
        for (int id = 0; id < OP_CALLS; id++)
            if ((code = call(op_table[id].name)) != not_initialised[op_table[id].lib])
                wrong += printf("%s: %d\n", op_table[id].name, code) > 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((code = call(others[i])) != 3) wrong += printf("%s: %d\n", others[i], code) > 0;
    int (*allocate)(void **, size_t);
    void *p = NULL;
    if (!dlopen("libcudart.so.13", RTLD_NOW | RTLD_GLOBAL)) return 2;
    *(void **)&allocate = dlsym(RTLD_DEFAULT, "cudaMalloc");
    if ((code = allocate(&p, 1000)) != 0 || !p) wrong += printf("once loaded: %d\n", code) > 0;
    return wrong != 0;
}
