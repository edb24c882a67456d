/* gpu.c - the driver level on a real card, as a plain program (no Check there): libcuda's
 * allocation is found by cuGetProcAddress, works, is failed by a rule, and works again. Exit code
 * 77: no device. Run under the shim. */
#define _GNU_SOURCE
#include "oomproof.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#undef cuGetProcAddress
#define WANT(condition)                                             \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            return 1;                                               \
        }                                                           \
    } while (0)

typedef CUresult lookup_fn(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);

int main(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *p;
    if (!driver) return 77;
    lookup_fn *look;
    *(void **)&look = dlsym(driver, "cuGetProcAddress_v2");
    WANT(look && oomproof_present());
    CUresult (*init)(unsigned), (*retain)(CUcontext *, CUdevice), (*set)(CUcontext);
    CUresult (*get)(CUdeviceptr *, size_t), (*give)(CUdeviceptr);
    CUcontext context;
    CUdeviceptr a = 0, b = 0;
    char error[256];
    WANT(look("cuInit", &p, 12000, 0, NULL) == 0);
    *(void **)&init = p;
    if (init(0) != CUDA_SUCCESS) return 77;
    WANT(look("cuDevicePrimaryCtxRetain", &p, 12000, 0, NULL) == 0);
    *(void **)&retain = p;
    WANT(look("cuCtxSetCurrent", &p, 12000, 0, NULL) == 0);
    *(void **)&set = p;
    WANT(retain(&context, 0) == 0 && set(context) == 0);
    WANT(look("cuMemAlloc", &p, 12000, 0, NULL) == 0);
    *(void **)&get = p;
    WANT(look("cuMemFree", &p, 12000, 0, NULL) == 0);
    *(void **)&give = p;
    WANT(oomproof_arm("cuMemAlloc nth=2 -> oom", error, sizeof error) == 1);
    WANT(get(&a, 1 << 20) == CUDA_SUCCESS && a);
    WANT(get(&b, 1 << 20) == CUDA_ERROR_OUT_OF_MEMORY && !b);
    WANT(oomproof_fired(0) == 1);
    WANT(get(&b, 1 << 20) == CUDA_SUCCESS && b);
    WANT(give(a) == CUDA_SUCCESS && give(b) == CUDA_SUCCESS);
    puts("the driver's allocations go through the shim");
    return 0;
}
