/* kernels.cu - small kernels, one behaviour each. */
#undef NDEBUG /* assert is one of the behaviours */
#include "kernels.h"
#include <cassert>
#include <cstdio>
#include <cuda_fp16.h>

__constant__ int table[4] = {2, 3, 5, 7};
__device__ int counter = 11;
__device__ int *counter_address = &counter;

KERNEL(block_reduce, (const int *in, int n, long long *out))
{
    __shared__ long long part[REDUCE_THREADS];
    int t = threadIdx.x;
    long long sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int half = REDUCE_THREADS / 2; half; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

/* Threads from `live` on end before the barriers that the others meet at. */
KERNEL(early_exit, (int live, int *out))
{
    __shared__ int cell[1024];
    int t = threadIdx.x;
    if (t >= live) return;
    cell[t] = t;
    __syncthreads();
    int next = cell[(t + 1) % live];
    __syncthreads();
    cell[t] = next;
    __syncthreads();
    out[t] = cell[(t + 1) % live];
}

KERNEL(reverse_dynamic, (int *io, int n))
{
    extern __shared__ int cell[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) cell[i] = io[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) io[i] = cell[n - 1 - i];
}

KERNEL(block_votes, (const int *in, int *out))
{
    int p = in[threadIdx.x];
    int count = __syncthreads_count(p), all = __syncthreads_and(p), any = __syncthreads_or(p);
    if (threadIdx.x == blockDim.x - 1) {
        out[0] = count;
        out[1] = all != 0;
        out[2] = any != 0;
    }
}

KERNEL(warp_operations, (unsigned *out))
{
    unsigned lane = threadIdx.x & 31, all = 0xffffffffu, *o = out + threadIdx.x;
    unsigned v = 100 + threadIdx.x, n = blockDim.x;
    o[0 * n] = __shfl_sync(all, v, 7);
    o[1 * n] = __shfl_up_sync(all, v, 3);
    o[2 * n] = __shfl_down_sync(all, v, 5);
    o[3 * n] = __shfl_xor_sync(all, v, 12);
    o[4 * n] = __shfl_sync(all, v, 1, 8); /* the second lane of each eight */
    o[5 * n] = __ballot_sync(all, lane % 3 == 0);
    o[6 * n] = __any_sync(all, lane == 31);
    o[7 * n] = __all_sync(all, lane < 31);
    o[8 * n] = __match_any_sync(all, lane / 10);
    if (lane & 1)
        o[9 * n] = __shfl_xor_sync(0xaaaaaaaau, v, 2); /* two halves, each with its own mask */
    else
        o[9 * n] = __ballot_sync(0x55555555u, lane < 8);
    __syncwarp();
    double d = v * 0.5; /* eight bytes: two shuffles */
    o[10 * n] = (unsigned)(2 * __shfl_down_sync(all, d, 1));
}

/* Lanes 20 and above are gone when the others vote under the full mask. */
KERNEL(warp_after_exit, (unsigned *out))
{
    unsigned lane = threadIdx.x;
    if (lane >= 20) return;
    unsigned seen = __ballot_sync(0xffffffffu, 1);
    out[lane] = seen;
}

KERNEL(indices, (unsigned *out))
{
    unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned *o = out + block * blockDim.x * blockDim.y * blockDim.z + thread;
    *o += threadIdx.x | threadIdx.y << 4 | threadIdx.z << 8 | blockIdx.x << 12 | blockIdx.y << 16 |
          blockIdx.z << 20 | 1u << 24;
}

KERNEL(atomics_int, (int *io))
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ int inside;
    if (threadIdx.x == 0) inside = 0;
    __syncthreads();
    atomicAdd(&io[0], v);
    atomicMin(&io[1], v);
    atomicMax(&io[2], v);
    atomicAnd(&io[3], ~(1 << v % 7));
    atomicOr(&io[4], 1 << v % 31);
    atomicXor(&io[5], v);
    atomicInc((unsigned *)&io[6], 9);
    atomicSub(&io[7], 2);
    atomicAdd(&inside, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&io[8], inside);
}

KERNEL(atomics_float, (float *f, double *d))
{
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(f, 1.0f / (1 + v));
    atomicAdd(d, 1.0 / (1 + v));
}

KERNEL(multiply_by_cas, (unsigned long long *io))
{
    unsigned long long seen = *io, was;
    do {
        was = seen;
        seen = atomicCAS(io, was, was * 3);
    } while (seen != was);
}

/* Volta and later: threads of a warp make progress on their own. */
KERNEL(wait_for_later_thread, (volatile int *flag, int *out))
{
    if (threadIdx.x == blockDim.x - 1) *flag = 5;
    while (*flag == 0) {
    }
    out[threadIdx.x] = *flag;
}

KERNEL(wait_for_ever, (volatile int *flag))
{
    while (*flag == 0) {
    }
}

/* A chain through the grid against the order in which blocks begin: each waits for the next one. */
KERNEL(wait_for_next_block, (volatile int *flag, int *out))
{
    __shared__ int seen;
    if (threadIdx.x == 0) {
        if (blockIdx.x < gridDim.x - 1)
            while (flag[blockIdx.x + 1] == 0) {
            }
        seen = blockIdx.x < gridDim.x - 1 ? flag[blockIdx.x + 1] : 0;
        __threadfence();
        flag[blockIdx.x] = seen + 1;
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = seen;
}

/* A barrier of the whole grid by hand, as is written where all blocks are on the card at once. */
KERNEL(meet_by_hand, (unsigned *arrived, int rounds, int *io))
{
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; r++) {
        int next = ((volatile int *)io)[r * n + (i + 1) % n] + 1;
        ((volatile int *)io)[(r + 1) * n + i] = next;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (*(volatile unsigned *)arrived < (r + 1) * gridDim.x) {
            }
        }
        __syncthreads();
    }
}

KERNEL(say, (int i, double d))
{
    printf("%s %d %5.2f %llu %x %c 100%%\n", "words", i - (int)threadIdx.x, d, 1ull << 40, 255u,
           'z');
}

static __device__ __noinline__ int scramble(const int *a, int n, int at)
{
    int h = at;
    for (int i = 0; i < n; i++) h = h * 31 + a[(i * 7 + at) % 16];
    return h;
}

KERNEL(local_array, (int n, int *out))
{
    int a[16];
    for (int i = 0; i < 16; i++) a[i] = i * n + threadIdx.x;
    out[threadIdx.x] = scramble(a, 16, threadIdx.x & 15);
}

KERNEL(big_local_array, (int n, int *out))
{
    int a[50000];
    for (int i = 0; i < n; i++) a[i * 7 % n] = i;
    out[threadIdx.x] = a[n / 2] + a[threadIdx.x];
}

KERNEL(use_variables, (int *out))
{
    out[threadIdx.x] = table[threadIdx.x & 3] * counter;
    __syncthreads();
    if (threadIdx.x == 0) ++*counter_address;
}

KERNEL(where_variables_are, (int **out))
{
    *out = counter_address;
}

/* by assembler: the compiler knows the answers of __isGlobal() here and asks nobody */
#define IN_SPACE(space, pointer)                                                         \
    ({                                                                                   \
        int yes;                                                                         \
        asm volatile("{ .reg .pred p; isspacep." space " p, %1; selp.b32 %0, 1, 0, p; }" \
                     : "=r"(yes)                                                         \
                     : "l"(pointer));                                                    \
        yes;                                                                             \
    })

KERNEL(spaces, (const int *global, int *out))
{
    __shared__ int shared[32];
    volatile int local[32];
    local[threadIdx.x] = shared[threadIdx.x] = 0;
    const void *p[] = {global, shared, (const void *)local};
    for (int i = 0; i < 3; i++)
        out[i] =
            IN_SPACE("global", p[i]) << 2 | IN_SPACE("shared", p[i]) << 1 | IN_SPACE("local", p[i]);
}

KERNEL(math_float, (const float *x, const float *y, int n, float *out))
{
    int i = threadIdx.x, f = 0;
#define ONE(name) out[f++ * n + i] = name##f(x[i]);
#define TWO(name) out[f++ * n + i] = name##f(x[i], y[i]);
    MATH_ONE(ONE) MATH_TWO(TWO)
#undef ONE
#undef TWO
}

KERNEL(math_double, (const double *x, const double *y, int n, double *out))
{
    int i = threadIdx.x, f = 0;
#define ONE(name) out[f++ * n + i] = name(x[i]);
#define TWO(name) out[f++ * n + i] = name(x[i], y[i]);
    MATH_ONE(ONE) MATH_TWO(TWO)
}

KERNEL(store, (int *p, long long index, int value))
{
    if (threadIdx.x == 0) p[index] = value;
}

HOST allocate_by_type(int **out, unsigned long n) __attribute__((optimize("O0")));
HOST allocate_by_type(int **out, unsigned long n)
{
    cudaMalloc(out, n);
}

HOST store_by_chevrons(unsigned threads, int *p, int value)
{
    store<<<1, threads>>>(p, 0, value);
}

KERNEL(store_each, (long long *const *p, int n))
{
#pragma unroll 1
    for (int i = 0; i < n; i++) *p[i] = i;
}

/* The same instruction in both rounds of the loop: the second time the block may be gone. */
KERNEL(store_after_free, (int after, int *out))
{
    volatile int *p = (volatile int *)malloc(64);
#pragma unroll 1
    for (int i = 0; i < 2; i++) {
        p[i] = i;
        if (i == 0 && after) free((void *)p);
    }
    *out = after;
}

KERNEL(free_twice, (int *out))
{
    void *p = malloc(400);
    free(p);
    *out = 1;
    free(p);
}

KERNEL(load_vector, (const char *p, float *out))
{
    float4 v = *(const float4 *)p;
    *out = v.x + v.y + v.z + v.w;
}

KERNEL(store_shared, (int index, int *out))
{
    __shared__ int cell[32];
    cell[index + threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = cell[31 - threadIdx.x];
}

KERNEL(trap_in_thread, (int thread))
{
    if ((int)threadIdx.x == thread) __trap();
}

KERNEL(assert_less, (int a, int b))
{
    assert(a < b);
}
LINE(assert_line, __LINE__ - 2);

/* One barrier for one half, another for the other: on hardware this hangs. */
KERNEL(barrier_for_half, (int *out))
{
    if (threadIdx.x < blockDim.x / 2)
        asm volatile("bar.sync 1;");
    else
        asm volatile("bar.sync 2;");
    out[threadIdx.x] = 1;
}

KERNEL(mask_without_caller, (int *out))
{
    asm volatile("{ .reg .pred p; setp.ne.u32 p, 1, 0; vote.sync.ballot.b32 %0, p, 0x2; }"
                 : "=r"(out[threadIdx.x]));
}

KERNEL(exotic, (int take, unsigned *out))
{
    unsigned v = 1;
    if (take) asm volatile("vavrg4.u32.u32.u32 %0, %1, %1, %1;" : "=r"(v) : "r"((unsigned)take));
    *out = v;
}

/* A product of matrices by a warp, in half precision: what the simulated device has no part of. */
KERNEL(tensor_core, (float x, unsigned *out))
{
    unsigned d[2] = {0, 0}, a = __half_as_ushort(__float2half(x));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2}, {%2}, {%0, %1};"
        : "+r"(d[0]), "+r"(d[1])
        : "r"(a));
    *out = d[0];
}
