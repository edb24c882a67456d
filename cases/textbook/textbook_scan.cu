/* textbook_scan.cu - prefix sums in a warp, a block and a grid, and what is built on them:
 * compaction, partition, run lengths. */
#include "book.h"

static const int sizes[] = {1, 33, 256, 1000, 4097};

static std::vector<int> inclusive(const std::vector<int> &in)
{
    std::vector<int> out(in);
    for (size_t i = 1; i < out.size(); i++) out[i] += out[i - 1];
    return out;
}

static std::vector<int> exclusive(const std::vector<int> &in)
{
    std::vector<int> out = inclusive(in);
    for (size_t i = 0; i < out.size(); i++) out[i] -= in[i];
    return out;
}

/* ---- one block ---- */
/* Hillis and Steele: two buffers take turns. */
__global__ void scan_hillis_steele(const int *in, int n, int *out)
{
    extern __shared__ int cell[];
    int t = threadIdx.x, from = 0, to = n;
    if (t < n) cell[t] = in[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        if (t < n) cell[to + t] = cell[from + t] + (t >= d ? cell[from + t - d] : 0);
        int swap = from;
        from = to;
        to = swap;
        __syncthreads();
    }
    if (t < n) out[t] = cell[from + t];
}

START_TEST(a_hillis_steele_scan_is_inclusive)
{
    for (int n : {1, 2, 31, 100, 512, 1000, 1024}) {
        std::vector<int> in = numbers<int>(n, 100, -20);
        device<int> a(in), o(n);
        RUN_SHARED(1, (n + 31) / 32 * 32, 2 * n * sizeof(int), scan_hillis_steele, a, n, o);
        same(o.host(), inclusive(in), "Hillis-Steele");
    }
}
END_TEST

/* Blelloch: up a tree and down again, an index shifted so that banks differ. */
__device__ int padded(int i)
{
    return i + (i >> 5);
}

template <int N> __global__ void scan_blelloch(const int *in, int n, int *out)
{
    __shared__ int cell[N + N / 32 + 1];
    int t = threadIdx.x, step = 1;
    cell[padded(t)] = t < n ? in[t] : 0;
    cell[padded(t + N / 2)] = t + N / 2 < n ? in[t + N / 2] : 0;
    for (int d = N / 2; d > 0; d /= 2, step *= 2) {
        __syncthreads();
        if (t < d) cell[padded(step * (2 * t + 2) - 1)] += cell[padded(step * (2 * t + 1) - 1)];
    }
    if (t == 0) cell[padded(N - 1)] = 0;
    for (int d = 1; d < N; d *= 2) {
        step /= 2;
        __syncthreads();
        if (t >= d) continue;
        int a = padded(step * (2 * t + 1) - 1), b = padded(step * (2 * t + 2) - 1), x = cell[a];
        cell[a] = cell[b];
        cell[b] += x;
    }
    __syncthreads();
    if (t < n) out[t] = cell[padded(t)];
    if (t + N / 2 < n) out[t + N / 2] = cell[padded(t + N / 2)];
}

START_TEST(a_blelloch_scan_is_exclusive)
{
    for (int n : {1, 2, 63, 64, 500, 1024, 2000}) {
        std::vector<int> in = numbers<int>(n, 100, -20);
        device<int> a(in), o(n);
        if (n <= 64)
            RUN(1, 32, scan_blelloch<64>, a, n, o);
        else
            RUN(1, 1024, scan_blelloch<2048>, a, n, o);
        same(o.host(), exclusive(in), "Blelloch");
    }
}
END_TEST

/* ---- shuffles ---- */
template <class T> __device__ T warp_scan(T x)
{
    int lane = threadIdx.x & 31;
    for (int d = 1; d < 32; d *= 2) {
        T y = __shfl_up_sync(0xffffffffu, x, d);
        if (lane >= d) x += y;
    }
    return x;
}

template <class T> __device__ T block_scan(T x, T *total)
{
    __shared__ T of_warp[32];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    x = warp_scan(x);
    if (lane == 31) of_warp[w] = x;
    __syncthreads();
    if (w == 0) of_warp[lane] = warp_scan(lane < (int)blockDim.x / 32 ? of_warp[lane] : T(0));
    __syncthreads();
    if (w > 0) x += of_warp[w - 1];
    *total = of_warp[blockDim.x / 32 - 1];
    __syncthreads();
    return x;
}

/* One block walks over all and carries the sum along. */
template <class T> __global__ void scan_carry(const T *in, int n, T *out)
{
    T carry = 0, total;
    for (int base = 0; base < n; base += blockDim.x) {
        int i = base + threadIdx.x;
        T x = block_scan(i < n ? in[i] : T(0), &total);
        if (i < n) out[i] = carry + x;
        carry += total;
    }
}

template <class T> static void check_carry(void)
{
    for (int n : sizes)
        for (int threads : {32, 96, 1024}) {
            std::vector<T> in = numbers<T>(n, 100, -20), want(in);
            for (int i = 1; i < n; i++) want[i] += want[i - 1];
            device<T> a(in), o(n);
            RUN(1, threads, scan_carry<T>, a, n, o);
            same(o.host(), want, "scan with a carry");
        }
}

START_TEST(shuffles_scan_each_type_with_a_carry)
{
    check_carry<int>();
    check_carry<unsigned long long>();
    check_carry<float>();
    check_carry<double>();
}
END_TEST

/* ---- three launches: blocks, their sums, addition ---- */
__global__ void scan_blocks(const int *in, int n, int *out, int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, total;
    int x = block_scan(i < n ? in[i] : 0, &total);
    if (i < n) out[i] = x;
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void add_before(int *out, int n, const int *sums)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0) out[i] += sums[blockIdx.x - 1];
}

START_TEST(three_launches_scan_a_grid)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000, -400);
        int blocks = blocks_for(n, 128);
        device<int> a(in), o(n), sums(blocks);
        RUN(blocks, 128, scan_blocks, a, n, o, sums);
        RUN(1, 64, scan_carry<int>, sums, blocks, sums);
        RUN(blocks, 128, add_before, o, n, sums);
        same(o.host(), inclusive(in), "three launches");
    }
}
END_TEST

/* ---- one launch: look back at the blocks before, which say what they know by now ----
 * A state word: 0 nothing, 1 the block's own sum, 2 the sum of all up to it; the sum in the low
 * half. Blocks take numbers when they start, so those before have started too. */
__device__ unsigned next_ticket;

__global__ void scan_look_back(const int *in, int n, int *out, unsigned long long *state)
{
    __shared__ unsigned ticket;
    __shared__ int before;
    if (threadIdx.x == 0) ticket = atomicAdd(&next_ticket, 1);
    __syncthreads();
    int i = ticket * blockDim.x + threadIdx.x, total;
    int x = block_scan(i < n ? in[i] : 0, &total);
    if (threadIdx.x < 32) {
        int sum = 0;
        volatile unsigned long long *see = state;
        if (threadIdx.x == 0 && ticket > 0) {
            see[ticket] = 1ull << 32 | (unsigned)total;
            __threadfence();
        }
        /* the warp looks at 32 blocks at a time, the nearest in lane 0 */
        for (int at = (int)ticket - 1; at >= 0; at -= 32) {
            int look = at - (int)threadIdx.x;
            unsigned long long word;
            do {
                word = look >= 0 ? see[look] : 2ull << 32;
            } while (word == 0);
            unsigned done = __ballot_sync(~0u, word >> 32 == 2);
            int nearest = done ? __ffs(done) - 1 : 31;
            int part = (int)threadIdx.x <= nearest ? (int)(unsigned)word : 0;
            for (int d = 16; d; d /= 2) part += __shfl_xor_sync(~0u, part, d);
            sum += part;
            if (done) break;
        }
        if (threadIdx.x == 0) {
            see[ticket] = 2ull << 32 | (unsigned)(sum + total);
            before = sum;
        }
    }
    __syncthreads();
    if (i < n) out[i] = before + x;
}

START_TEST(a_scan_with_look_back_needs_one_launch)
{
    for (int n : sizes)
        for (int threads : {32, 64, 256}) {
            std::vector<int> in = numbers<int>(n, 1000, -400);
            int blocks = blocks_for(n, threads);
            unsigned zero = 0;
            device<int> a(in), o(n);
            device<unsigned long long> state(blocks);
            OK(cudaMemcpyToSymbol(next_ticket, &zero, sizeof zero));
            RUN(blocks, threads, scan_look_back, a, n, o, state);
            same(o.host(), inclusive(in), "look back");
        }
}
END_TEST

/* ---- segments: a sum starts again at every head ---- */
__global__ void scan_segments(const int *in, const unsigned char *head, int n, int *out)
{
    __shared__ int sum[512];
    __shared__ bool begins[512];
    int t = threadIdx.x;
    sum[t] = t < n ? in[t] : 0;
    begins[t] = t < n && head[t];
    for (int d = 1; d < 512; d *= 2) {
        __syncthreads();
        int x = t >= d && !begins[t] ? sum[t - d] : 0;
        bool b = begins[t] || (t >= d && begins[t - d]);
        __syncthreads();
        sum[t] += x;
        begins[t] = b;
    }
    if (t < n) out[t] = sum[t];
}

START_TEST(a_segmented_scan_starts_again_at_each_head)
{
    for (int n : {1, 100, 512})
        for (unsigned often : {1u, 2u, 9u, 1000u}) {
            std::vector<int> in = numbers<int>(n, 100, -20), want(in);
            std::vector<unsigned char> head(n);
            for (int i = 0; i < n; i++) head[i] = scramble(i + 77) % often == 0;
            for (int i = 1; i < n; i++)
                if (!head[i]) want[i] += want[i - 1];
            device<int> a(in), o(n);
            device<unsigned char> h(head);
            RUN(1, 512, scan_segments, a, h, n, o);
            same(o.host(), want, "segments");
        }
}
END_TEST

/* ---- what keeps an element, in its place: ballots count within a warp ---- */
__global__ void compact(const int *in, int n, int *out, int *count)
{
    __shared__ int of_warp[8], base;
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned ballot = __ballot_sync(~0u, keep);
    if (lane == 0) of_warp[w] = __popc(ballot);
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int k = 0; k < (int)blockDim.x / 32; k++) {
            int c = of_warp[k];
            of_warp[k] = sum;
            sum += c;
        }
        base = atomicAdd(count, sum);
    }
    __syncthreads();
    if (keep) out[base + of_warp[w] + __popc(ballot & ((1u << lane) - 1))] = in[i];
}

START_TEST(ballots_compact_what_is_kept)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000), want;
        for (int x : in)
            if (x % 3 == 0) want.push_back(x);
        device<int> a(in), o(n), count(1);
        RUN(blocks_for(n, 256), 256, compact, a, n, o, count);
        std::vector<int> got = o.host();
        int k = count.one();
        ck_assert_int_eq(k, (int)want.size());
        got.resize(k);
        /* the order of blocks is free: it is the multiset that must be right */
        long long a1 = 0, a2 = 0, b1 = 0, b2 = 0;
        for (int j = 0; j < k; j++) {
            ck_assert_int_eq(got[j] % 3, 0);
            a1 += got[j], a2 += (long long)got[j] * got[j];
            b1 += want[j], b2 += (long long)want[j] * want[j];
        }
        ck_assert_msg(a1 == b1 && a2 == b2, "other elements were kept of %d", n);
    }
}
END_TEST

/* Those that fail follow those that pass, both in their old order. */
__global__ void partition(const int *in, int n, const int *before, int kept, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int passes = in[i] & 1;
    out[passes ? before[i] : kept + i - before[i]] = in[i];
}

__global__ void odd_flags(const int *in, int n, int *flag)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) flag[i] = in[i] & 1;
}

__global__ void to_exclusive(const int *flag, int *sum, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum[i] -= flag[i];
}

START_TEST(a_partition_by_prefix_sums_is_stable)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 1000), want, rest;
        for (int x : in) (x & 1 ? want : rest).push_back(x);
        int kept = (int)want.size();
        want.insert(want.end(), rest.begin(), rest.end());
        device<int> a(in), flag(n), sum(n), o(n);
        RUN(blocks_for(n, 128), 128, odd_flags, a, n, flag);
        RUN(1, 256, scan_carry<int>, flag, n, sum);
        RUN(1, 77, to_exclusive, flag, sum, n);
        RUN(blocks_for(n, 128), 128, partition, a, n, sum, kept, o);
        same(o.host(), want, "partition");
    }
}
END_TEST

/* ---- runs of equal elements: value and length ---- */
__global__ void run_lengths(const int *in, int n, int *value, int *length, int *runs)
{
    int base = 0, total;
    for (int from = 0; from < n; from += blockDim.x) {
        int i = from + threadIdx.x;
        int begins = i < n && (i == 0 || in[i] != in[i - 1]);
        int rank = base + block_scan(begins, &total) - 1;
        if (begins) value[rank] = in[i];
        if (i < n) atomicAdd(&length[rank], 1);
        base += total;
    }
    if (threadIdx.x == 0) *runs = base;
}

START_TEST(run_lengths_come_from_a_scan_of_heads)
{
    for (int n : sizes) {
        std::vector<int> in(n), value, length;
        for (int i = 0; i < n; i++) in[i] = i && scramble(i) % 4 ? in[i - 1] : (int)scramble(i) % 9;
        for (int i = 0; i < n; i++) {
            if (i == 0 || in[i] != in[i - 1]) value.push_back(in[i]), length.push_back(0);
            length.back()++;
        }
        device<int> a(in), v(n), l(n), runs(1);
        RUN(1, 160, run_lengths, a, n, v, l, runs);
        ck_assert_int_eq(runs.one(), (int)value.size());
        value.resize(n), length.resize(n); /* zeros behind, as on the device */
        same(v.host(), value, "values of runs");
        same(l.host(), length, "lengths of runs");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_scan.def"
};
CASE_MAIN("textbook_scan")
