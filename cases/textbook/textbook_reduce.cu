/* textbook_reduce.cu - sums, extremes and dot products of an array: in shared memory, by shuffles,
 * by atomics, in one and in two launches. Elements are small whole numbers, so that every order of
 * a floating-point sum is exact. */
#include "book.h"

static const int sizes[] = {1, 31, 256, 1000, 5003};
enum { BLOCK = 256 };

/* ---- shared memory: a tree whose active threads are half as many each round ---- */
template <class T> __global__ void sum_shared(const T *in, int n, T *out)
{
    __shared__ T cell[BLOCK];
    int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    cell[t] = i < n ? in[i] : T(0);
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (t < half) cell[t] += cell[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = cell[0];
}

/* The same with neighbours first: strided and divergent, the version the books begin with. */
template <class T> __global__ void sum_interleaved(const T *in, int n, T *out)
{
    extern __shared__ unsigned char raw[];
    T *cell = reinterpret_cast<T *>(raw);
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    cell[t] = i < n ? in[i] : T(0);
    __syncthreads();
    for (int step = 1; step < (int)blockDim.x; step *= 2) {
        if (t % (2 * step) == 0 && t + step < (int)blockDim.x) cell[t] += cell[t + step];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = cell[0];
}

template <class T> static void check_blocks(void (*kernel)(const T *, int, T *), int shared)
{
    for (int n : sizes) {
        std::vector<T> in = numbers<T>(n, 1000, -300);
        int blocks = blocks_for(n, BLOCK);
        std::vector<T> want(blocks);
        for (int i = 0; i < n; i++) want[i / BLOCK] += in[i];
        device<T> a(in), o(blocks);
        RUN_SHARED(blocks, BLOCK, shared, kernel, a, n, o);
        same(o.host(), want, "sums of blocks");
    }
}

START_TEST(a_tree_in_shared_memory_sums_each_type)
{
    check_blocks<int>(sum_shared<int>, 0);
    check_blocks<long long>(sum_shared<long long>, 0);
    check_blocks<float>(sum_shared<float>, 0);
    check_blocks<double>(sum_shared<double>, 0);
    check_blocks<short>(sum_shared<short>, 0);
}
END_TEST

START_TEST(interleaved_addressing_sums_in_dynamic_shared_memory)
{
    check_blocks<int>(sum_interleaved<int>, BLOCK * sizeof(int));
    check_blocks<float>(sum_interleaved<float>, BLOCK * sizeof(float));
    check_blocks<double>(sum_interleaved<double>, BLOCK * sizeof(double));
}
END_TEST

/* ---- the last warp without barriers: every step is unrolled by a template parameter ---- */
template <int N> __device__ void last_warp(volatile int *cell, int t)
{
    if constexpr (N > 0) {
        int x = cell[t + N];
        __syncwarp();
        cell[t] += x;
        __syncwarp();
        last_warp<N / 2>(cell, t);
    }
}

template <int THREADS> __global__ void sum_unrolled(const int *in, int n, int *out)
{
    __shared__ int cell[THREADS + 32];
    int t = threadIdx.x, sum = 0;
    for (int i = blockIdx.x * THREADS * 2 + t; i < n; i += THREADS * 2 * gridDim.x) {
        sum += in[i];
        if (i + THREADS < n) sum += in[i + THREADS];
    }
    cell[t] = sum;
    if (t < 32) cell[THREADS + t] = 0;
    __syncthreads();
#pragma unroll
    for (int half = THREADS / 2; half > 32; half /= 2) {
        if (t < half) cell[t] += cell[t + half];
        __syncthreads();
    }
    if (t < 32) last_warp<32>(cell, t);
    if (t == 0) atomicAdd(out, cell[0]);
}

START_TEST(an_unrolled_last_warp_needs_no_barrier)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000, -300), want(1);
        for (int x : in) want[0] += x;
        device<int> a(in), o(1), p(1);
        RUN(3, 128, sum_unrolled<128>, a, n, o);
        RUN(2, 64, sum_unrolled<64>, a, n, p);
        same(o.host(), want, "sum by 128 threads");
        same(p.host(), want, "sum by 64 threads");
    }
}
END_TEST

/* ---- shuffles ---- */
template <class T, class Op> __device__ T warp_reduce(T x, Op op)
{
    for (int d = 16; d; d /= 2) x = op(x, __shfl_down_sync(0xffffffffu, x, d));
    return x;
}

template <class T, class Op> __global__ void reduce_shuffle(const T *in, int n, T first, T *out)
{
    __shared__ T of_warp[32];
    Op op;
    int t = threadIdx.x;
    T x = first;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) x = op(x, in[i]);
    x = warp_reduce(x, op);
    if (t % 32 == 0) of_warp[t / 32] = x;
    __syncthreads();
    if (t < 32) {
        x = warp_reduce(t < ((int)blockDim.x + 31) / 32 ? of_warp[t] : first, op);
        if (t == 0) out[blockIdx.x] = x;
    }
}

struct add {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a + b; }
};
struct largest {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};
struct bits_of_both {
    template <class T> __host__ __device__ T operator()(T a, T b) const { return a ^ b; }
};

/* Two launches: many blocks, then one block over their results. */
template <class T, class Op> static void two_stages(T first)
{
    for (int n : sizes) {
        std::vector<T> in = numbers<T>(n, 100000, -40000), want(1, first);
        for (T x : in) want[0] = Op()(want[0], x);
        int blocks = blocks_for(n, 192) + 1; /* one of them has nothing to do */
        device<T> a(in), part(blocks), o(1);
        RUN(blocks, 192, (reduce_shuffle<T, Op>), a, n, first, part);
        RUN(1, 96, (reduce_shuffle<T, Op>), part, blocks, first, o);
        same(o.host(), want, "two stages");
    }
}

START_TEST(two_stages_of_shuffles_reduce_by_any_operator)
{
    two_stages<int, add>(0);
    two_stages<int, largest>(INT_MIN);
    two_stages<unsigned, bits_of_both>(0);
    two_stages<long long, largest>(LLONG_MIN);
    two_stages<float, largest>(-1e30f);
    two_stages<double, add>(0);
}
END_TEST

/* ---- atomics ---- */
template <class T> __global__ void sum_atomics(const T *in, int n, T *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, in[i]);
}

template <class T> __device__ double atomic_add_by_cas(T *at, T x)
{
    auto *word = reinterpret_cast<unsigned long long *>(at);
    unsigned long long old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __double_as_longlong(x + __longlong_as_double(seen)));
    } while (seen != old);
    return __longlong_as_double(old);
}

__global__ void sum_cas(const double *in, int n, double *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_add_by_cas(out, in[i]);
}

template <class T> static void check_atomics(void)
{
    for (int n : sizes) {
        std::vector<T> in = numbers<T>(n, 1000), want(1);
        for (T x : in) want[0] += x;
        device<T> a(in), o(1);
        RUN(blocks_for(n, 96), 96, sum_atomics<T>, a, n, o);
        same(o.host(), want, "sum by atomics");
    }
}

START_TEST(atomic_addition_sums_each_type)
{
    check_atomics<int>();
    check_atomics<unsigned long long>();
    check_atomics<float>();
    check_atomics<double>();
}
END_TEST

START_TEST(a_compare_and_swap_loop_adds_doubles)
{
    for (int n : sizes) {
        std::vector<double> in = numbers<double>(n, 1000, -500), want(1);
        for (double x : in) want[0] += x;
        device<double> a(in), o(1);
        RUN(blocks_for(n, 128), 128, sum_cas, a, n, o);
        same(o.host(), want, "sum by compare and swap");
    }
}
END_TEST

/* Floats have no atomic maximum; their bits order like integers when the sign is taken apart. */
__global__ void max_of_floats(const float *in, int n, float *out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (in[i] >= 0)
            atomicMax(reinterpret_cast<int *>(out), __float_as_int(in[i]));
        else
            atomicMin(reinterpret_cast<unsigned *>(out), __float_as_uint(in[i]));
    }
}

START_TEST(the_bits_of_floats_give_an_atomic_maximum)
{
    for (int n : sizes)
        for (int low : {-2000, -500, 5}) {
            std::vector<float> in = numbers<float>(n, 1000, low), want(1, -INFINITY);
            for (float &x : in) want[0] = fmaxf(want[0], x *= 0.37f);
            device<float> a(in), o(std::vector<float>(1, -INFINITY));
            RUN(3, 64, max_of_floats, a, n, o);
            same(o.host(), want, "maximum");
        }
}
END_TEST

/* ---- one launch: the block that counts itself last adds up what the others left ---- */
__device__ unsigned blocks_done;

__global__ void sum_last_block(const float *in, int n, volatile float *part, float *out)
{
    __shared__ float cell[BLOCK];
    __shared__ bool last;
    int t = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * BLOCK + t; i < n; i += gridDim.x * BLOCK) sum += in[i];
    for (int round = 0; round < 2; round++) {
        cell[t] = sum;
        __syncthreads();
        for (int half = BLOCK / 2; half; half /= 2) {
            if (t < half) cell[t] += cell[t + half];
            __syncthreads();
        }
        if (round == 1) break;
        if (t == 0) {
            part[blockIdx.x] = cell[0];
            __threadfence();
            last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (!last) return;
        sum = 0;
        for (int i = t; i < (int)gridDim.x; i += BLOCK) sum += part[i];
    }
    if (t == 0) *out = cell[0];
}

START_TEST(the_last_block_finishes_the_sum)
{
    for (int n : sizes)
        for (int blocks : {1, 7, 300}) { /* the counter wraps to 0 by itself */
            std::vector<float> in = numbers<float>(n, 1000), want(1);
            for (float x : in) want[0] += x;
            device<float> a(in), part(blocks), o(1);
            RUN(blocks, BLOCK, sum_last_block, a, n, part, o);
            same(o.host(), want, "sum in one launch");
        }
}
END_TEST

/* ---- dot product, smallest element with its place ---- */
__global__ void dot(const double *x, const double *y, int n, double *out)
{
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += x[i] * y[i];
    for (int d = 1; d < 32; d *= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

START_TEST(a_dot_product_uses_butterflies_of_doubles)
{
    for (int n : sizes) {
        std::vector<double> x = numbers<double>(n, 100, -50, 1), y = numbers<double>(n, 90, -9, 2),
                            want(1);
        for (int i = 0; i < n; i++) want[0] += x[i] * y[i];
        device<double> a(x), b(y), o(1);
        RUN(2, 160, dot, a, b, n, o);
        same(o.host(), want, "dot product");
    }
}
END_TEST

/* Value and index travel as one 64-bit word, so that one atomic decides about both. */
__global__ void arg_min(const int *in, int n, unsigned long long *out)
{
    unsigned long long best = ~0ull;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned long long key =
            (unsigned long long)(unsigned)(in[i] ^ INT_MIN) << 32 | (unsigned)i;
        best = min(best, key);
    }
    for (int d = 16; d; d /= 2) best = min(best, __shfl_xor_sync(~0u, best, d));
    if (threadIdx.x % 32 == 0) atomicMin(out, best);
}

START_TEST(the_smallest_element_is_found_with_its_place)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 300, -150);
        int at = 0;
        for (int i = 0; i < n; i++)
            if (in[i] < in[at]) at = i;
        device<int> a(in);
        device<unsigned long long> o(std::vector<unsigned long long>(1, ~0ull));
        RUN(4, 64, arg_min, a, n, o);
        unsigned long long got = o.one();
        ck_assert_msg((int)(unsigned)got == at && ((int)(got >> 32) ^ INT_MIN) == in[at],
                      "of %d: element %u, not %d", n, (unsigned)got, at);
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_reduce.def"
};
CASE_MAIN("textbook_reduce")
