/* broken.cu - a program with no knowledge of oomproof that sums numbers on the device, half by half
 * when they do not fit. BUG in its environment makes one of the usual mistakes in the error path.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static const char *bug;
static int is(const char *name)
{
    return !strcmp(bug, name);
}

__global__ void add(int n, const int *x, int *sum)
{
    for (int i = 0; i < n; i++) *sum += x[i];
}

static int add_all(int n, const int *x, int *sum)
{
    int *d = NULL, *copy = NULL;
    cudaError_t e = cudaMalloc(&copy, sizeof(int) * n);
    if (e == cudaSuccess) e = cudaMalloc(&d, sizeof(int) * n);
    if (e == cudaErrorMemoryAllocation || (is("catches-everything") && e != cudaSuccess)) {
        if (!is("leak") && cudaFree(copy) != cudaSuccess) return 1;
        if (!is("last-error")) cudaGetLastError();
        if (is("crash")) *(volatile int *)copy = 1;
        if (is("never-ends")) return add_all(n, x, sum);
        if (is("gives-up")) return 1;
        if (is("swallow")) return 0;
        if (n < 2) return 1;
        if (is("loses-half")) return add_all(n / 2, x, sum);
        return add_all(n / 2, x, sum) || add_all(n - n / 2, x + n / 2, sum);
    }
    if (e != cudaSuccess) return 1;
    if (cudaMemcpy(d, x, sizeof(int) * n, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
    add<<<1, 1>>>(n, d, sum);
    if (cudaGetLastError() != cudaSuccess) return 1;
    return cudaFree(d) != cudaSuccess || cudaFree(copy) != cudaSuccess;
}

int main(void)
{
    int x[64], *sum, total = 0;
    float scale = 1;
    bug = getenv("BUG") ? getenv("BUG") : "";
    for (int i = 0; i < 64; i++) x[i] = i;
    if (cudaMalloc(&sum, sizeof *sum) != cudaSuccess) return 1;
    if (cudaMemcpy(sum, &scale, sizeof scale, cudaMemcpyHostToDevice) != cudaSuccess) return 1;
    if (cudaMemcpy(&scale, sum, sizeof scale, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    if (scale != scale && !is("nan-blind")) return 1;
    if (cudaMemset(sum, 0, sizeof *sum) != cudaSuccess) return 1;
    for (int step = 0; step < 3; step++)
        if (add_all(64, x, sum)) return 1;
    if (cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
    printf("%.0f\n", (double)scale * total);
    return 0;
}
