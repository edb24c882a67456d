/* nbody.cu - gravitation between bodies: pinned memory, two streams, events, asynchronous copies.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                             \
    do {                                                                        \
        cudaError_t err = (call);                                               \
        if (err != cudaSuccess) {                                               \
            fprintf(stderr, "%s failed: %s\n", #call, cudaGetErrorString(err)); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

const int N = 1024, BLOCK = 256, STEPS = 20;
const float SOFT = 0.01f, DT = 0.001f;

__global__ void accelerate(const float4 *p, float3 *v, int n)
{
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = p[i];
    float3 a = make_float3(0, 0, 0);
    for (int t = 0; t < n; t += blockDim.x) {
        tile[threadIdx.x] = p[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + SOFT), f = tile[j].w * r * r * r;
            a.x += dx * f;
            a.y += dy * f;
            a.z += dz * f;
        }
        __syncthreads();
    }
    v[i].x += a.x * DT;
    v[i].y += a.y * DT;
    v[i].z += a.z * DT;
}

__global__ void move(float4 *p, const float3 *v)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p[i].x += v[i].x * DT;
    p[i].y += v[i].y * DT;
    p[i].z += v[i].z * DT;
}

int main(void)
{
    float4 *p, *dp;
    float3 *v, *dv;
    cudaStream_t compute, transfer;
    cudaEvent_t start, stop, moved;
    CHECK(cudaHostAlloc((void **)&p, N * sizeof(float4), cudaHostAllocDefault));
    CHECK(cudaMallocHost((void **)&v, N * sizeof(float3)));
    CHECK(cudaMalloc((void **)&dp, N * sizeof(float4)));
    CHECK(cudaMalloc((void **)&dv, N * sizeof(float3)));
    CHECK(cudaStreamCreate(&compute));
    CHECK(cudaStreamCreate(&transfer));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&moved, cudaEventDisableTiming));
    srand(1);
    for (int i = 0; i < N; i++) {
        p[i] = make_float4(rand() / (float)RAND_MAX, rand() / (float)RAND_MAX,
                           rand() / (float)RAND_MAX, 1.0f / N);
        v[i] = make_float3(0, 0, 0);
    }
    CHECK(cudaMemcpyAsync(dp, p, N * sizeof(float4), cudaMemcpyHostToDevice, compute));
    CHECK(cudaMemcpyAsync(dv, v, N * sizeof(float3), cudaMemcpyHostToDevice, compute));
    CHECK(cudaEventRecord(start, compute));
    for (int s = 0; s < STEPS; s++) {
        accelerate<<<N / BLOCK, BLOCK, BLOCK * sizeof(float4), compute>>>(dp, dv, N);
        move<<<N / BLOCK, BLOCK, 0, compute>>>(dp, dv);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(moved, compute));
    CHECK(cudaEventRecord(stop, compute));
    CHECK(cudaStreamWaitEvent(transfer, moved, 0));
    CHECK(cudaMemcpyAsync(v, dv, N * sizeof(float3), cudaMemcpyDeviceToHost, transfer));
    CHECK(cudaStreamSynchronize(transfer));
    CHECK(cudaEventSynchronize(stop));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    /* forces come in pairs: the momentum of all stays 0 */
    double x = 0, y = 0, z = 0, speed = 0;
    for (int i = 0; i < N; i++) {
        x += v[i].x;
        y += v[i].y;
        z += v[i].z;
        speed += sqrt((double)v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z);
    }
    double drift = sqrt(x * x + y * y + z * z) / speed;
    printf("%d steps of %d bodies in %.1f ms, momentum %.1e of the mean speed\n", STEPS, N, ms,
           drift);
    int good = speed > 0 && drift < 1e-4 && ms > 0; /* float sums of 1024 terms */
    printf(good ? "PASSED\n" : "FAILED\n");
    CHECK(cudaFreeHost(p));
    CHECK(cudaFreeHost(v));
    CHECK(cudaFree(dp));
    CHECK(cudaFree(dv));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaEventDestroy(moved));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(transfer));
    CHECK(cudaDeviceReset());
    return !good;
}
