/* textbook_sort_search.cu - networks, a radix pass, counting, merging, searching, hashing. */
#include "book.h"
#include <algorithm>

/* ---- sorting networks ---- */
__device__ void order(int &a, int &b, bool up)
{
    if ((a > b) == up) {
        int x = a;
        a = b;
        b = x;
    }
}

__global__ void bitonic_block(int *io, int n)
{
    __shared__ int cell[512];
    int t = threadIdx.x;
    cell[t] = t < n ? io[t] : INT_MAX;
    for (int size = 2; size <= 512; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            int other = t ^ step;
            if (other > t) order(cell[t], cell[other], (t & size) == 0);
        }
    __syncthreads();
    if (t < n) io[t] = cell[t];
}

/* One step of the network for all elements, whose count is a power of two. */
__global__ void bitonic_step(int *io, unsigned n, unsigned size, unsigned step)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned other = i ^ step;
        if (other > i) order(io[i], io[other], (i & size) == 0);
    }
}

/* 32 elements in the registers of a warp. */
__global__ void bitonic_warp(int *io)
{
    int lane = threadIdx.x, x = io[blockIdx.x * 32 + lane];
    for (int size = 2; size <= 32; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            int y = __shfl_xor_sync(~0u, x, step);
            bool low = (lane & step) == 0, up = (lane & size) == 0;
            x = low == up ? min(x, y) : max(x, y);
        }
    io[blockIdx.x * 32 + lane] = x;
}

__global__ void odd_even(int *io, int n)
{
    extern __shared__ int cell[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) cell[i] = io[i];
    for (int round = 0; round < n; round++) {
        __syncthreads();
        for (int i = 2 * threadIdx.x + (round & 1); i + 1 < n; i += 2 * blockDim.x)
            order(cell[i], cell[i + 1], true);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) io[i] = cell[i];
}

static std::vector<int> sorted(std::vector<int> v)
{
    std::sort(v.begin(), v.end());
    return v;
}

START_TEST(bitonic_networks_sort)
{
    for (int n : {1, 2, 300, 512}) {
        std::vector<int> in = numbers<int>(n, 1000, -500);
        device<int> io(in);
        RUN(1, 512, bitonic_block, io, n);
        same(io.host(), sorted(in), "bitonic in a block");
    }
    std::vector<int> in = numbers<int>(2048, 100000, -500);
    device<int> io(in);
    for (unsigned size = 2; size <= 2048; size *= 2)
        for (unsigned step = size / 2; step; step /= 2)
            RUN(3, 96, bitonic_step, io, 2048, size, step);
    same(io.host(), sorted(in), "bitonic in memory");
    device<int> w(in);
    RUN(64, 32, bitonic_warp, w);
    for (int i = 0; i < 2048; i += 32) std::sort(in.begin() + i, in.begin() + i + 32);
    same(w.host(), in, "bitonic in warps");
}
END_TEST

START_TEST(odd_even_transposition_sorts)
{
    for (int n : {1, 2, 65, 301}) {
        std::vector<int> in = numbers<int>(n, 50, -20);
        device<int> io(in);
        RUN_SHARED(1, 64, n * sizeof(int), odd_even, io, n);
        same(io.host(), sorted(in), "odd-even");
    }
}
END_TEST

/* ---- radix sort: four bits a pass; counts by digit and block, scanned, then a stable scatter ----
 */
enum { RADIX = 16, PART = 128 };

__global__ void radix_count(const unsigned *in, int n, int shift, int *count)
{
    __shared__ int digit[RADIX];
    if (threadIdx.x < RADIX) digit[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * PART + threadIdx.x;
    if (i < n) atomicAdd(&digit[in[i] >> shift & (RADIX - 1)], 1);
    __syncthreads();
    if (threadIdx.x < RADIX) count[threadIdx.x * gridDim.x + blockIdx.x] = digit[threadIdx.x];
}

__global__ void scan_serial(int *io, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        int x = io[i];
        io[i] = sum;
        sum += x;
    }
}

__global__ void radix_scatter(const unsigned *in, int n, int shift, const int *base, unsigned *out)
{
    __shared__ int of_warp[PART / 32][RADIX];
    int i = blockIdx.x * PART + threadIdx.x, w = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = lane; k < RADIX; k += 32) of_warp[w][k] = 0;
    __syncwarp();
    unsigned x = i < n ? in[i] : 0, d = x >> shift & (RADIX - 1);
    unsigned peers = __match_any_sync(~0u, i < n ? d : RADIX), below = peers & ((1u << lane) - 1);
    if (i < n && below == 0) of_warp[w][d] = __popc(peers);
    __syncthreads();
    if (i >= n) return;
    int at = base[d * gridDim.x + blockIdx.x] + __popc(below);
    for (int k = 0; k < w; k++) at += of_warp[k][d];
    out[at] = x;
}

START_TEST(radix_passes_sort_words)
{
    for (int n : {1, 127, 1000, 2049}) {
        std::vector<unsigned> in(n), want;
        for (int i = 0; i < n; i++) in[i] = scramble(i) >> scramble(i + 9) % 32;
        want = in;
        std::sort(want.begin(), want.end());
        int blocks = blocks_for(n, PART);
        device<unsigned> a(in), b(n);
        device<int> count(RADIX * blocks);
        unsigned *from = a, *to = b;
        for (int shift = 0; shift < 32; shift += 4) {
            RUN(blocks, PART, radix_count, from, n, shift, count);
            RUN(1, 1, scan_serial, count, RADIX * blocks);
            RUN(blocks, PART, radix_scatter, from, n, shift, count, to);
            std::swap(from, to);
        }
        same(a.host(), want, "radix sort");
    }
}
END_TEST

/* ---- rank sort: every element counts those before it, tile by tile ---- */
__global__ void rank_sort(const float *in, int n, float *out)
{
    __shared__ float tile[64];
    int i = blockIdx.x * 64 + threadIdx.x, rank = 0;
    float x = i < n ? in[i] : 0;
    for (int base = 0; base < n; base += 64) {
        int j = base + threadIdx.x;
        __syncthreads();
        tile[threadIdx.x] = j < n ? in[j] : INFINITY;
        __syncthreads();
        for (int k = 0; k < 64 && base + k < n; k++)
            rank += tile[k] < x || (tile[k] == x && base + k < i);
    }
    if (i < n) out[rank] = x;
}

START_TEST(ranks_sort_floats_with_equals)
{
    for (int n : {1, 64, 500}) {
        std::vector<float> in = numbers<float>(n, 90, -45), want;
        for (float &x : in) x /= 8;
        want = in;
        std::sort(want.begin(), want.end());
        device<float> a(in), o(n);
        RUN(blocks_for(n, 64), 64, rank_sort, a, n, o);
        same(o.host(), want, "rank sort");
    }
}
END_TEST

/* ---- merge path: each thread finds by bisection where its share of the merge begins ---- */
__device__ int diagonal(const int *a, int na, const int *b, int nb, int d)
{
    int low = max(0, d - nb), high = min(d, na);
    while (low < high) {
        int mid = (low + high) / 2;
        if (a[mid] <= b[d - 1 - mid])
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

__global__ void merge_path(const int *a, int na, const int *b, int nb, int *out)
{
    int n = na + nb, share = (n + gridDim.x * blockDim.x - 1) / (gridDim.x * blockDim.x);
    int d = min(n, (int)(blockIdx.x * blockDim.x + threadIdx.x) * share), end = min(n, d + share);
    int i = diagonal(a, na, b, nb, d), j = d - i;
    for (; d < end; d++) out[d] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

START_TEST(merge_path_merges_two_sorted_arrays)
{
    static const int lengths[][2] = {{1, 0}, {0, 5}, {100, 100}, {1000, 37}, {11, 2000}};
    for (auto &l : lengths) {
        std::vector<int> x = sorted(numbers<int>(l[0], 500, 0, 1)),
                         y = sorted(numbers<int>(l[1], 900, 0, 2)), want(x);
        want.insert(want.end(), y.begin(), y.end());
        device<int> a(x), b(y), o(want.size());
        RUN(3, 50, merge_path, a, l[0], b, l[1], o);
        same(o.host(), sorted(want), "merge path");
    }
}
END_TEST

/* ---- binary search: first place not below ---- */
template <class T> __global__ void lower_bound(const T *in, int n, const T *key, int m, int *out)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= m) return;
    int low = 0, count = n;
    while (count > 0) {
        int half = count >> 1;
        if (in[low + half] < key[k]) {
            low += half + 1;
            count -= half + 1;
        } else
            count = half;
    }
    out[k] = low;
}

template <class T> static void check_search(void)
{
    for (int n : {1, 2, 100, 1023}) {
        std::vector<T> in = numbers<T>(n, 600, -300), key = numbers<T>(333, 700, -350, 5);
        std::sort(in.begin(), in.end());
        std::vector<int> want;
        for (T k : key)
            want.push_back((int)(std::lower_bound(in.begin(), in.end(), k) - in.begin()));
        device<T> a(in), b(key);
        device<int> o(333);
        RUN(4, 96, lower_bound<T>, a, n, b, 333, o);
        same(o.host(), want, "lower bound");
    }
}

START_TEST(binary_search_finds_the_lower_bound)
{
    check_search<int>();
    check_search<long long>();
    check_search<double>();
    check_search<short>();
}
END_TEST

/* ---- hash table: linear probing, a slot is claimed by compare and swap ---- */
__global__ void hash_insert(unsigned *keys, int *sums, unsigned mask, const unsigned *key,
                            const int *value, int n, int *distinct)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        for (unsigned at = scramble(key[i]) & mask;; at = (at + 1) & mask) {
            unsigned old = atomicCAS(&keys[at], 0u, key[i]);
            if (old != 0 && old != key[i]) continue;
            if (old == 0) atomicAdd(distinct, 1);
            atomicAdd(&sums[at], value[i]);
            break;
        }
}

__global__ void hash_lookup(const unsigned *keys, const int *sums, unsigned mask, unsigned n,
                            int *out)
{
    unsigned key = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (key > n) return;
    unsigned at = scramble(key) & mask;
    while (keys[at] && keys[at] != key) at = (at + 1) & mask;
    out[key - 1] = keys[at] ? sums[at] : INT_MIN;
}

START_TEST(a_hash_table_adds_up_by_key)
{
    enum { SLOTS = 512, KEYS = 500 }; /* nearly full: long probes, also around the end */
    for (int n : {1, 100, 3001}) {
        std::vector<unsigned> key = numbers<unsigned>(n, KEYS, 1);
        std::vector<int> value = numbers<int>(n, 100, 0, 3), want(KEYS, INT_MIN);
        int distinct = 0;
        for (int i = 0; i < n; i++) {
            int &w = want[key[i] - 1];
            if (w == INT_MIN) distinct++, w = 0;
            w += value[i];
        }
        device<unsigned> keys(SLOTS), k(key);
        device<int> sums(SLOTS), v(value), count(1), o(KEYS);
        RUN(3, 128, hash_insert, keys, sums, SLOTS - 1, k, v, n, count);
        RUN(4, 128, hash_lookup, keys, sums, SLOTS - 1, KEYS, o);
        ck_assert_int_eq(count.one(), distinct);
        same(o.host(), want, "sums by key");
    }
}
END_TEST

/* ---- the k smallest, kept sorted in local memory by each thread ---- */
template <int K>
__global__ void nearest(const float2 *point, int n, const float2 *query, int m, int *out)
{
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= m) return;
    float best[K];
    int at[K];
    for (int k = 0; k < K; k++) best[k] = INFINITY, at[k] = -1;
    for (int i = 0; i < n; i++) {
        float dx = point[i].x - query[q].x, dy = point[i].y - query[q].y, d = dx * dx + dy * dy;
        int k = K;
        for (; k > 0 && d < best[k - 1]; k--)
            if (k < K) best[k] = best[k - 1], at[k] = at[k - 1];
        if (k < K) best[k] = d, at[k] = i;
    }
    for (int k = 0; k < K; k++) out[q * K + k] = at[k];
}

START_TEST(the_nearest_neighbours_come_in_order)
{
    enum { K = 5, M = 70 };
    for (int n : {3, 5, 400}) {
        std::vector<float> c = numbers<float>(2 * n, 64), d = numbers<float>(2 * M, 64, 0, 2);
        std::vector<float2> p(n), q(M);
        for (int i = 0; i < n; i++) p[i] = make_float2(c[2 * i], c[2 * i + 1]);
        for (int i = 0; i < M; i++) q[i] = make_float2(d[2 * i], d[2 * i + 1]);
        std::vector<int> want;
        for (float2 x : q) {
            std::vector<int> by(n);
            for (int i = 0; i < n; i++) by[i] = i;
            auto far = [&](int i) { return powf(p[i].x - x.x, 2) + powf(p[i].y - x.y, 2); };
            std::stable_sort(by.begin(), by.end(), [&](int i, int j) { return far(i) < far(j); });
            by.resize(K, -1);
            want.insert(want.end(), by.begin(), by.end());
        }
        device<float2> a(p), b(q);
        device<int> o(M * K);
        RUN(3, 32, nearest<K>, a, n, b, M, o);
        same(o.host(), want, "nearest neighbours");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_sort_search.def"
};
CASE_MAIN("textbook_sort_search")
