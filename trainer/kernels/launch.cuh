/* launch.cuh - one way to launch: one thread an item, the launch's own error returned. */
#ifndef PT_LAUNCH_CUH
#define PT_LAUNCH_CUH
/* C++ headers of the vendor first: their templates may not stand inside extern "C" */
#include <cublas_v2.h>
#include <cudnn.h>
#include <utility>

extern "C" {
#include "recovery/fragment.h"
}
#include "kernels/kernels.h"

#define PT_BLOCK 256

/* Runs kernel(n, args...) with a thread for each of n items; n == 0: nothing. */
template <class... P, class... A>
static inline pt_status pt_launch(pt_device *d, const char *name, void (*kernel)(int64_t, P...),
                                  int64_t n, A... a)
{
    if (n <= 0) return PT_OK;
    int64_t blocks = (n + PT_BLOCK - 1) / PT_BLOCK;
    if (blocks > 0x7fffffff)
        return pt_fail(PT_ERR_INTERNAL, "%s: %lld items are more than a grid holds", name,
                       (long long)n);
    /* by hand, for the launch's own return code: <<<>>> throws it away */
    auto run = [&](P... p) {
        void *args[] = {(void *)&n, (void *)&p...};
        return cudaLaunchKernel((const void *)kernel, dim3((unsigned)blocks), dim3(PT_BLOCK), args,
                                0, d->stream);
    };
    return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, (int)run(static_cast<P>(a)...),
                       "cudaLaunchKernel", name, 0);
}
#define LAUNCH(kernel, n, ...) pt_launch(d, #kernel, kernel, n, __VA_ARGS__)

static __device__ __forceinline__ int64_t pt_item()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

#endif
