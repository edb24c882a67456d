/* loop.cu - a training loop that recovers from running out of memory, as small as it can be: linear
 * regression, one allocation a batch, halved when it does not fit. It knows nothing of oomproof.
 *
 * Right here: only cudaErrorMemoryAllocation is caught, by its code; the last error is cleared; the
 * gradient is zeroed once a batch and divided by the whole batch; a batch of one row that does not
 * fit ends the program. usage: bare-loop */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

enum { FEATURES = 8, ROWS = 4096, STEPS = 20 };

/* gradient[f] += sum over rows (x.w - y) x[f] / whole, one thread a feature: a fixed order */
__global__ void add_gradient(int rows, const float *x, const float *y, const double *w,
                             double whole, double *gradient)
{
    int f = threadIdx.x;
    double sum = 0;
    for (int r = 0; r < rows; r++) {
        double error = -y[r];
        for (int k = 0; k < FEATURES; k++) error += (double)x[r * FEATURES + k] * w[k];
        sum += error * x[r * FEATURES + f];
    }
    gradient[f] += sum / whole;
}

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    fprintf(stderr, "bare-loop: %s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}

static int halvings;

static void batch(int rows, const float *x, const float *y, const double *w, double *gradient)
{
    float *d = NULL;
    size_t n = (size_t)rows * FEATURES;
    cudaError_t e = cudaMalloc(&d, (n + (size_t)rows) * sizeof *d);
    if (e == cudaErrorMemoryAllocation && rows > 1) {
        int half = rows / 2;
        cudaGetLastError();
        halvings++;
        batch(half, x, y, w, gradient);
        batch(rows - half, x + (size_t)half * FEATURES, y + half, w, gradient);
        return;
    }
    check(e, "no memory for the batch");
    check(cudaMemcpy(d, x, n * sizeof *d, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(d + n, y, (size_t)rows * sizeof *d, cudaMemcpyHostToDevice), "copy");
    add_gradient<<<1, FEATURES>>>(rows, d, d + n, w, ROWS, gradient);
    check(cudaGetLastError(), "launch");
    check(cudaFree(d), "free");
}

int main(void)
{
    static float x[ROWS * FEATURES], y[ROWS];
    double w[FEATURES] = {0}, g[FEATURES], *dw, *dg;
    unsigned seed = 1;
    for (int i = 0; i < ROWS * FEATURES; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(seed >> 8) / 8388608.0f - 1;
        y[i / FEATURES] += x[i] * (float)(i % FEATURES);
    }
    check(cudaMalloc(&dw, sizeof w), "weights");
    check(cudaMalloc(&dg, sizeof g), "gradient");
    for (int step = 0; step < STEPS; step++) {
        check(cudaMemcpy(dw, w, sizeof w, cudaMemcpyHostToDevice), "copy");
        check(cudaMemset(dg, 0, sizeof g), "zero");
        batch(ROWS, x, y, dw, dg);
        check(cudaMemcpy(g, dg, sizeof g, cudaMemcpyDeviceToHost), "copy");
        for (int f = 0; f < FEATURES; f++) w[f] -= g[f];
    }
    for (int f = 0; f < FEATURES; f++) printf("%.9f%c", w[f], f + 1 < FEATURES ? ' ' : '\n');
    fprintf(stderr, "%d halvings\n", halvings);
    cudaFree(dw);
    cudaFree(dg);
    return 0;
}
