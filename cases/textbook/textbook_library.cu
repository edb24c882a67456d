/* textbook_library.cu - what comes with the toolkit, used in kernels: cooperative groups, CUB's
 * block primitives, atomic references and barriers of libcu++, cuRAND's generators, pipelines. */
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <curand_kernel.h>

#include "book.h"
#include <algorithm>

namespace cg = cooperative_groups;

static const int sizes[] = {1, 100, 256, 1001};

/* ---- cooperative groups ---- */
template <int TILE> __global__ void tiles(const int *in, int n, int *sum, int *before)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<TILE>(block);
    int i = blockIdx.x * blockDim.x + block.thread_rank(), x = i < n ? in[i] : 0, s = x;
    for (int d = tile.size() / 2; d; d /= 2) s += tile.shfl_xor(s, d);
    int reduced = cg::reduce(tile, x, cg::plus<int>());
    int scanned = cg::exclusive_scan(tile, x, cg::plus<int>());
    if (i >= n) return;
    sum[i] = s == reduced ? s : INT_MIN;
    before[i] = scanned + 100000 * tile.thread_rank();
}

template <int TILE> static void check_tiles(void)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 100), sum(n), before(n);
        for (int i = 0; i < n; i++) {
            int base = i / TILE * TILE;
            for (int k = base; k < base + TILE && k < n; k++) {
                sum[i] += in[k];
                before[i] += k < i ? in[k] : 0;
            }
            before[i] += 100000 * (i - base);
        }
        device<int> a(in), s(n), b(n);
        RUN(blocks_for(n, 128), 128, tiles<TILE>, a, n, s, b);
        same(s.host(), sum, "sums of tiles");
        same(b.host(), before, "sums before");
    }
}

START_TEST(tiles_of_a_block_reduce_and_scan)
{
    check_tiles<32>();
    check_tiles<8>();
    check_tiles<2>();
}
END_TEST

/* Lanes with one label form a group; whoever is active forms one too. */
__global__ void groups(const int *label, int n, int *rank, int *size, int *taken)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    auto same_label = cg::labeled_partition(warp, i < n ? label[i] : -1);
    auto half = cg::binary_partition(warp, i % 2 == 0);
    if (i >= n) return;
    rank[i] = same_label.thread_rank();
    size[i] = same_label.size() + 100 * half.size();
    if (label[i] == 1) {
        auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(taken, active.size());
        base = active.shfl(base, 0) + active.thread_rank();
        atomicAdd(&taken[1], base);
    }
}

START_TEST(groups_form_by_label)
{
    for (int n : sizes) {
        std::vector<int> label = numbers<int>(n, 5), rank(n), size(n, 1600);
        int ones = 0;
        for (int i = 0; i < n; i++) {
            ones += label[i] == 1;
            for (int k = i / 32 * 32; k < i / 32 * 32 + 32 && k < n; k++) {
                rank[i] += k < i && label[k] == label[i];
                size[i] += label[k] == label[i];
            }
        }
        device<int> a(label), r(n), s(n), taken(2);
        RUN(blocks_for(n, 64), 64, groups, a, n, r, s, taken);
        same(r.host(), rank, "ranks");
        same(s.host(), size, "sizes");
        same(taken.host(), {ones, ones * (ones - 1) / 2}, "places");
    }
}
END_TEST

/* A copy to shared memory that the group waits for; a barrier in two parts. */
__global__ void staged(const int *in, int n, int *out)
{
    __shared__ int cell[128];
    auto block = cg::this_thread_block();
    int base = blockIdx.x * 128, count = min(128, n - base);
    cg::memcpy_async(block, cell, in + base, sizeof(int) * count);
    cg::wait(block);
    int x = (int)threadIdx.x < count ? cell[count - 1 - threadIdx.x] : 0;
    auto token = block.barrier_arrive();
    x *= 2;
    block.barrier_wait(std::move(token));
    if ((int)threadIdx.x < count) cell[threadIdx.x] = x;
    block.sync();
    for (int i = block.thread_rank(); i < count; i += block.num_threads()) out[base + i] = cell[i];
}

START_TEST(a_group_copies_and_waits)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000), want(n);
        for (int i = 0; i < n; i++) {
            int base = i / 128 * 128, count = std::min(128, n - base);
            want[i] = 2 * in[base + count - 1 - (i - base)];
        }
        device<int> a(in), o(n);
        RUN(blocks_for(n, 128), 128, staged, a, n, o);
        same(o.host(), want, "staged");
    }
}
END_TEST

/* ---- CUB ---- */
enum { THREADS = 64, EACH = 3, PART = THREADS * EACH };

template <class T> __global__ void cub_block(const T *in, int n, T *sorted, T *before, T *sum)
{
    typedef cub::BlockLoad<T, THREADS, EACH, cub::BLOCK_LOAD_WARP_TRANSPOSE> load;
    typedef cub::BlockStore<T, THREADS, EACH, cub::BLOCK_STORE_TRANSPOSE> store;
    typedef cub::BlockRadixSort<T, THREADS, EACH> sort;
    typedef cub::BlockScan<T, THREADS> scan;
    typedef cub::BlockReduce<T, THREADS, cub::BLOCK_REDUCE_RAKING> reduce;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
        typename sort::TempStorage sort;
        typename scan::TempStorage scan;
        typename reduce::TempStorage reduce;
    } temp;
    T item[EACH], prefix[EACH], total;
    int base = blockIdx.x * PART, count = min((int)PART, n - base);
    load(temp.load).Load(in + base, item, count, T(0));
    __syncthreads();
    scan(temp.scan).ExclusiveSum(item, prefix, total);
    __syncthreads();
    store(temp.store).Store(before + base, prefix, count);
    __syncthreads();
    T again = reduce(temp.reduce).Sum(item);
    if (threadIdx.x == 0) sum[blockIdx.x] = total == again ? total : T(-1);
    __syncthreads();
    sort(temp.sort).Sort(item);
    __syncthreads();
    store(temp.store).Store(sorted + base, item);
}

template <class T> static void check_cub(int low)
{
    for (int n : sizes) {
        int blocks = blocks_for(n, PART);
        std::vector<T> in = numbers<T>(n, 1000, low), sorted(in), before(n), sum(blocks);
        for (int i = 0; i < n; i++) {
            before[i] = sum[i / PART];
            sum[i / PART] += in[i];
        }
        sorted.resize(blocks * PART);
        for (int b = 0; b < blocks; b++)
            std::sort(sorted.begin() + b * PART, sorted.begin() + (b + 1) * PART);
        device<T> a(in), s(blocks * PART), p(n), t(blocks);
        RUN(blocks, THREADS, cub_block<T>, a, n, s, p, t);
        same(p.host(), before, "scan");
        same(t.host(), sum, "sum");
        same(s.host(), sorted, "sort");
    }
}

START_TEST(block_primitives_load_scan_reduce_and_sort)
{
    check_cub<unsigned>(0);
    check_cub<int>(-500);
    check_cub<float>(-500);
}
END_TEST

/* ---- libcu++: atomics by reference and in shared memory, a barrier object ---- */
#pragma nv_diag_suppress static_var_with_dynamic_init /* init() below makes the barrier */
__global__ void atomics(int *total, unsigned long long *high, int *out)
{
    __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
    __shared__ cuda::barrier<cuda::thread_scope_block> meet;
    __shared__ int cell[96];
    int t = threadIdx.x;
    if (t == 0) {
        init(&meet, blockDim.x);
        count.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    cuda::atomic_ref<int, cuda::thread_scope_device> sum(*total);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> most(*high);
    sum.fetch_add(t, cuda::memory_order_relaxed);
    most.fetch_max(blockIdx.x * 1000ull + t);
    count.fetch_or(1 << t % 20);
    for (int round = 0; round < 3; round++) {
        cell[t] = t * (round + 1);
        auto token = meet.arrive();
        meet.wait(std::move(token));
        out[blockIdx.x * blockDim.x + t] = cell[blockDim.x - 1 - t] + count.load();
        meet.arrive_and_wait();
    }
}

START_TEST(atomic_references_and_barrier_objects)
{
    for (int threads : {20, 32, 96}) {
        std::vector<int> want(3 * threads);
        for (int i = 0; i < 3 * threads; i++)
            want[i] = 3 * (threads - 1 - i % threads) + (1 << 20) - 1;
        device<int> total(1), o(3 * threads);
        device<unsigned long long> high(1);
        RUN(3, threads, atomics, total, high, o);
        same(o.host(), want, "after barriers");
        ck_assert_int_eq(total.one(), 3 * threads * (threads - 1) / 2);
        ck_assert_int_eq(high.one(), 2000 + threads - 1);
    }
}
END_TEST

/* ---- cuRAND: counters and long recurrences; the host runs the same code for one of them ---- */
template <class S> __global__ void draw(int n, unsigned *bits, float *uniform)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    S state;
    curand_init(1234, i, 5, &state);
    for (int k = 0; k < 4; k++) bits[4 * i + k] = curand(&state);
    uniform[i] = curand_uniform(&state);
}

/* Philox 4x32-10, by its definition: ten rounds of two products and two keys. */
static void philox(unsigned c[4], unsigned k0, unsigned k1)
{
    for (int r = 0; r < 10; r++, k0 += 0x9e3779b9u, k1 += 0xbb67ae85u) {
        unsigned long long a = 0xd2511f53ull * c[0], b = 0xcd9e8d57ull * c[2];
        unsigned next[4] = {(unsigned)(b >> 32) ^ c[1] ^ k0, (unsigned)b,
                            (unsigned)(a >> 32) ^ c[3] ^ k1, (unsigned)a};
        for (int i = 0; i < 4; i++) c[i] = next[i];
    }
}

START_TEST(philox_draws_what_its_definition_says)
{
    for (int n : {1, 70, 200}) {
        std::vector<unsigned> want(4 * n);
        std::vector<float> uniform(n);
        for (int i = 0; i < n; i++)
            for (unsigned k = 5; k < 10; k++) {
                unsigned c[4] = {k / 4, 0, (unsigned)i, 0};
                philox(c, 1234, 0);
                if (k < 9)
                    want[4 * i + k - 5] = c[k % 4];
                else
                    uniform[i] = c[k % 4] * 0x1p-32f + 0x1p-33f;
            }
        device<unsigned> b(4 * n);
        device<float> u(n);
        RUN(blocks_for(n, 64), 64, draw<curandStatePhilox4_32_10_t>, n, b, u);
        same(b.host(), want, "bits");
        same(u.host(), uniform, "uniform numbers");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_library.def"
};
CASE_MAIN("textbook_library")
