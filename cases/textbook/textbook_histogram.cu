/* textbook_histogram.cu - counting into bins: in global and shared memory, by replicas, and with
 * lanes of a warp that agree on a bin first. */
#include "book.h"

static const int sizes[] = {1, 100, 256, 3001};
enum { BINS = 64 };

static std::vector<unsigned char> bytes(int n, unsigned range)
{
    return numbers<unsigned char>(n, range);
}

static std::vector<int> counted(const std::vector<unsigned char> &in)
{
    std::vector<int> want(BINS);
    for (unsigned char b : in) want[b % BINS]++;
    return want;
}

__global__ void bins_global(const unsigned char *in, int n, int *bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bin[in[i] % BINS], 1);
}

__global__ void bins_shared(const unsigned char *in, int n, int *bin)
{
    __shared__ int mine[BINS];
    for (int b = threadIdx.x; b < BINS; b += blockDim.x) mine[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&mine[in[i] % BINS], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        if (mine[b]) atomicAdd(&bin[b], mine[b]);
}

/* Four bytes at a time, a copy of the bins for each warp. */
__global__ void bins_replicas(const unsigned char *in, int n, int *bin)
{
    __shared__ unsigned mine[4][BINS];
    for (int b = threadIdx.x; b < 4 * BINS; b += blockDim.x) mine[0][b] = 0;
    __syncthreads();
    unsigned *of_warp = mine[threadIdx.x / 32 % 4];
    for (int i = threadIdx.x; i < n / 4; i += blockDim.x) {
        uchar4 four = reinterpret_cast<const uchar4 *>(in)[i];
        atomicAdd(&of_warp[four.x % BINS], 1u);
        atomicAdd(&of_warp[four.y % BINS], 1u);
        atomicAdd(&of_warp[four.z % BINS], 1u);
        atomicAdd(&of_warp[four.w % BINS], 1u);
    }
    for (int i = n / 4 * 4 + threadIdx.x; i < n; i += blockDim.x)
        atomicAdd(&of_warp[in[i] % BINS], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < BINS; b += blockDim.x)
        bin[b] += mine[0][b] + mine[1][b] + mine[2][b] + mine[3][b];
}

/* No atomics: each thread has 8-bit counters of its own in a column of shared memory. */
__global__ void bins_private(const unsigned char *in, int n, int *bin)
{
    __shared__ unsigned char column[BINS * 32];
    int t = threadIdx.x;
    for (int from = 0; from < n; from += 32 * 255) {
        for (int b = 0; b < BINS; b++) column[b * 32 + t] = 0;
        for (int i = from + t; i < n && i < from + 32 * 255; i += 32)
            column[(in[i] % BINS) * 32 + t]++;
        __syncthreads();
        for (int b = t; b < BINS; b += 32)
            for (int k = 0; k < 32; k++) bin[b] += column[b * 32 + k];
        __syncthreads();
    }
}

/* Lanes with the same bin: the first adds for all. */
__global__ void bins_matched(const unsigned char *in, int n, int *bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned live = __ballot_sync(~0u, i < n);
    if (i >= n) return;
    int b = in[i] % BINS;
    unsigned peers = __match_any_sync(live, b);
    if (__ffs(peers) - 1 == (int)threadIdx.x % 32) atomicAdd(&bin[b], __popc(peers));
}

/* The same without match: the leader's bin is handed out until no lane is left. */
__global__ void bins_led(const unsigned char *in, int n, int *bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, b = i < n ? in[i] % BINS : -1;
    unsigned left = __ballot_sync(~0u, i < n);
    while (left) {
        int leader = __ffs(left) - 1, theirs = __shfl_sync(~0u, b, leader);
        unsigned peers = __ballot_sync(~0u, b == theirs);
        if ((int)threadIdx.x % 32 == leader) atomicAdd(&bin[theirs], __popc(peers));
        left &= ~peers;
    }
}

typedef void (*counter)(const unsigned char *, int, int *);

static void check(counter kernel, int threads, int fixed_blocks)
{
    for (int n : sizes)
        for (unsigned range : {1u, 3u, 256u}) {
            std::vector<unsigned char> in = bytes(n, range);
            device<unsigned char> a(in);
            device<int> o(BINS);
            RUN(fixed_blocks ? fixed_blocks : blocks_for(n, threads), threads, kernel, a, n, o);
            same(o.host(), counted(in), "bins");
        }
}

START_TEST(atomics_in_global_memory_count)
{
    check(bins_global, 128, 0);
}
END_TEST
START_TEST(atomics_in_shared_memory_count)
{
    check(bins_shared, 96, 3);
}
END_TEST
START_TEST(replicated_bins_count_bytes_by_fours)
{
    check(bins_replicas, 200, 1);
}
END_TEST
START_TEST(byte_counters_of_each_thread_add_up)
{
    check(bins_private, 32, 1);
}
END_TEST
START_TEST(matching_lanes_count_together)
{
    check(bins_matched, 64, 0);
}
END_TEST
START_TEST(a_leader_counts_for_lanes_with_its_bin)
{
    check(bins_led, 64, 0);
}
END_TEST

/* ---- opportunistic: whoever is here adds with one atomic ---- */
__device__ int take_places(int *count)
{
    unsigned here = __activemask(), lane = threadIdx.x % 32;
    int leader = __ffs(here) - 1, base = 0;
    if ((int)lane == leader) base = atomicAdd(count, __popc(here));
    base = __shfl_sync(here, base, leader);
    return base + __popc(here & ((1u << lane) - 1));
}

__global__ void opportunistic(const int *in, int n, int *out, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) out[take_places(count)] = in[i];
}

START_TEST(active_lanes_take_places_together)
{
    for (int n : sizes) {
        std::vector<int> in = numbers<int>(n, 2000, -1000), seen(2001), want(2001);
        for (int x : in)
            if (x > 0) want[x]++;
        device<int> a(in), o(n), count(1);
        RUN(blocks_for(n, 128), 128, opportunistic, a, n, o, count);
        std::vector<int> got = o.host();
        for (int i = 0; i < count.one(); i++) seen[got[i]]++;
        same(seen, want, "elements that took a place");
    }
}
END_TEST

/* ---- weights by bin, in two dimensions, with saturation ---- */
__global__ void joint(const float *x, const float *y, const float *weight, int n, float *bin)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bx = min(max((int)floorf(x[i] * 0.25f), 0), 15);
    int by = min(max(__float2int_rd(y[i] * 0.25f), 0), 15);
    atomicAdd(&bin[by * 16 + bx], weight[i]);
}

START_TEST(weights_fall_into_a_joint_histogram)
{
    for (int n : sizes) {
        std::vector<float> x = numbers<float>(n, 90, -10, 1), y = numbers<float>(n, 90, -10, 2),
                           w = numbers<float>(n, 9, -4, 3), want(256);
        for (int i = 0; i < n; i++) {
            int bx = (int)fminf(fmaxf(floorf(x[i] / 4), 0), 15);
            int by = (int)fminf(fmaxf(floorf(y[i] / 4), 0), 15);
            want[by * 16 + bx] += w[i];
        }
        device<float> a(x), b(y), c(w), o(256);
        RUN(blocks_for(n, 96), 96, joint, a, b, c, n, o);
        same(o.host(), want, "joint histogram");
    }
}
END_TEST

/* ---- equalisation: the cumulated histogram maps every level ---- */
__global__ void equalise(unsigned char *io, int n, const int *bin)
{
    __shared__ int sum[BINS];
    int t = threadIdx.x;
    if (t < BINS) sum[t] = bin[t];
    __syncthreads();
    for (int d = 1; d < BINS; d *= 2) {
        int x = t >= d && t < BINS ? sum[t - d] : 0;
        __syncthreads();
        if (t < BINS) sum[t] += x;
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x)
        io[i] = (unsigned char)((long long)sum[io[i]] * 255 / n);
}

START_TEST(a_cumulated_histogram_equalises_levels)
{
    for (int n : sizes) {
        std::vector<unsigned char> in = bytes(n, 40), want(in);
        std::vector<int> bin = counted(in), sum(bin);
        for (int b = 1; b < BINS; b++) sum[b] += sum[b - 1];
        for (unsigned char &x : want) x = (unsigned char)((long long)sum[x] * 255 / n);
        device<unsigned char> io(in);
        device<int> h(bin);
        RUN(1, 128, equalise, io, n, h);
        same(io.host(), want, "levels");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_histogram.def"
};
CASE_MAIN("textbook_histogram")
