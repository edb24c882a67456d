/* textbook_stencil.cu - neighbourhoods on grids of one, two and three dimensions: halos in shared
 * memory, filters in constant memory, cells that live and die, filling, sampling. */
#include "book.h"

/* ---- one dimension: the block loads a halo on both sides ---- */
template <int RADIUS, int BLOCK> __global__ void blur_line(const int *in, int n, int *out)
{
    __shared__ int cell[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x, at = threadIdx.x + RADIUS;
    cell[at] = i < n ? in[i] : 0;
    if (threadIdx.x < RADIUS) {
        cell[at - RADIUS] = i - RADIUS >= 0 && i - RADIUS < n ? in[i - RADIUS] : 0;
        cell[at + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0;
    }
    __syncthreads();
    int sum = 0;
#pragma unroll
    for (int d = -RADIUS; d <= RADIUS; d++) sum += cell[at + d];
    if (i < n) out[i] = sum;
}

template <int RADIUS, int BLOCK> static void check_line(void)
{
    for (int n : {1, BLOCK - 1, BLOCK, 5 * BLOCK + 3}) {
        std::vector<int> in = numbers<int>(n, 100), want(n);
        for (int i = 0; i < n; i++)
            for (int d = -RADIUS; d <= RADIUS; d++)
                want[i] += i + d >= 0 && i + d < n ? in[i + d] : 0;
        device<int> a(in), o(n);
        RUN(blocks_for(n, BLOCK), BLOCK, (blur_line<RADIUS, BLOCK>), a, n, o);
        same(o.host(), want, "line");
    }
}

START_TEST(a_halo_in_shared_memory_serves_a_line)
{
    check_line<1, 32>();
    check_line<3, 64>();
    check_line<16, 128>();
}
END_TEST

/* ---- two dimensions: Jacobi steps of the heat equation; the halo by a loop over the tile ---- */
__global__ void heat(const float *in, float *out, int width, int height)
{
    enum { X = 16, Y = 8 };
    __shared__ float tile[Y + 2][X + 2];
    int x0 = blockIdx.x * X - 1, y0 = blockIdx.y * Y - 1;
    for (int k = threadIdx.y * X + threadIdx.x; k < (X + 2) * (Y + 2); k += X * Y) {
        int x = min(max(x0 + k % (X + 2), 0), width - 1);
        int y = min(max(y0 + k / (X + 2), 0), height - 1);
        tile[k / (X + 2)][k % (X + 2)] = in[y * width + x];
    }
    __syncthreads();
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1, x = x0 + tx, y = y0 + ty;
    if (x < width && y < height)
        out[y * width + x] = 0.5f * tile[ty][tx] + 0.125f * (tile[ty - 1][tx] + tile[ty + 1][tx] +
                                                             tile[ty][tx - 1] + tile[ty][tx + 1]);
}

START_TEST(heat_spreads_in_a_plane)
{
    static const int sizes[][2] = {{1, 1}, {16, 8}, {50, 37}};
    for (auto &s : sizes) {
        int w = s[0], h = s[1];
        /* eighths of eighths ...: three steps of multiples of 512 are exact */
        std::vector<float> in = numbers<float>(w * h, 100), want(in), last;
        for (float &v : in) v *= 512;
        want = in;
        device<float> a(in), b(w * h);
        float *from = a, *to = b;
        for (int step = 0; step < 3; step++) {
            last = want;
            for (int y = 0; y < h; y++)
                for (int x = 0; x < w; x++) {
                    auto at = [&](int dx, int dy) {
                        int u = x + dx < 0 ? 0 : x + dx >= w ? w - 1 : x + dx;
                        int v = y + dy < 0 ? 0 : y + dy >= h ? h - 1 : y + dy;
                        return last[v * w + u];
                    };
                    want[y * w + x] =
                        0.5f * at(0, 0) + 0.125f * (at(0, -1) + at(0, 1) + at(-1, 0) + at(1, 0));
                }
            RUN(dim3(blocks_for(w, 16), blocks_for(h, 8)), dim3(16, 8), heat, from, to, w, h);
            std::swap(from, to);
        }
        same(b.host(), want, "heat");
    }
}
END_TEST

/* ---- three dimensions: a plane in shared memory, those above and below in registers ---- */
__global__ void seven_points(const int *in, int *out, int nx, int ny, int nz)
{
    __shared__ int plane[10][18];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    bool inside = x < nx && y < ny;
    auto at = [=](int u, int v, int w) {
        return u >= 0 && u < nx && v >= 0 && v < ny && w >= 0 && w < nz ? in[(w * ny + v) * nx + u]
                                                                        : 0;
    };
    int below = 0, here = at(x, y, 0), above;
    for (int z = 0; z < nz; z++) {
        above = at(x, y, z + 1);
        plane[ty][tx] = here;
        if (threadIdx.x == 0) plane[ty][0] = at(x - 1, y, z);
        if (threadIdx.x == 15) plane[ty][17] = at(x + 1, y, z);
        if (threadIdx.y == 0) plane[0][tx] = at(x, y - 1, z);
        if (threadIdx.y == 7) plane[9][tx] = at(x, y + 1, z);
        __syncthreads();
        if (inside)
            out[(z * ny + y) * nx + x] = below + above + plane[ty][tx - 1] + plane[ty][tx + 1] +
                                         plane[ty - 1][tx] + plane[ty + 1][tx] - 6 * here;
        __syncthreads();
        below = here;
        here = above;
    }
}

START_TEST(a_plane_marches_through_a_volume)
{
    static const int sizes[][3] = {{1, 1, 1}, {16, 8, 4}, {21, 19, 7}};
    for (auto &s : sizes) {
        int nx = s[0], ny = s[1], nz = s[2], n = nx * ny * nz;
        std::vector<int> in = numbers<int>(n, 100), want(n);
        for (int i = 0; i < n; i++) {
            int x = i % nx, y = i / nx % ny, z = i / nx / ny;
            want[i] = -6 * in[i] + (x ? in[i - 1] : 0) + (x + 1 < nx ? in[i + 1] : 0) +
                      (y ? in[i - nx] : 0) + (y + 1 < ny ? in[i + nx] : 0) +
                      (z ? in[i - nx * ny] : 0) + (z + 1 < nz ? in[i + nx * ny] : 0);
        }
        device<int> a(in), o(n);
        RUN(dim3(blocks_for(nx, 16), blocks_for(ny, 8)), dim3(16, 8), seven_points, a, o, nx, ny,
            nz);
        same(o.host(), want, "volume");
    }
}
END_TEST

/* ---- convolution: weights in constant memory; then rows and columns apart ---- */
enum { RADIUS = 2, TAPS = 2 * RADIUS + 1 };
__constant__ int weight[TAPS][TAPS], tap[TAPS];

__global__ void convolve(const int *in, int *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int sum = 0;
    for (int dy = -RADIUS; dy <= RADIUS; dy++)
        for (int dx = -RADIUS; dx <= RADIUS; dx++)
            if (x + dx >= 0 && x + dx < width && y + dy >= 0 && y + dy < height)
                sum += weight[dy + RADIUS][dx + RADIUS] * in[(y + dy) * width + x + dx];
    out[y * width + x] = sum;
}

template <bool ROWS>
__global__ void convolve_separately(const int *in, int *out, int width, int height)
{
    extern __shared__ int line[];
    int along = ROWS ? width : height, stride = ROWS ? 1 : width;
    int base = ROWS ? blockIdx.x * width : blockIdx.x;
    for (int i = threadIdx.x; i < along + 2 * RADIUS; i += blockDim.x) {
        int at = i - RADIUS;
        line[i] = at >= 0 && at < along ? in[base + at * stride] : 0;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < along; i += blockDim.x) {
        int sum = 0;
        for (int k = 0; k < TAPS; k++) sum += tap[k] * line[i + k];
        out[base + i * stride] = sum;
    }
}

START_TEST(filters_in_constant_memory_convolve)
{
    static const int sizes[][2] = {{1, 1}, {16, 16}, {45, 29}};
    int w2[TAPS][TAPS], w1[TAPS] = {1, 4, 6, 4, 1};
    for (int i = 0; i < TAPS * TAPS; i++) w2[i / TAPS][i % TAPS] = w1[i / TAPS] * w1[i % TAPS];
    OK(cudaMemcpyToSymbol(tap, w1, sizeof w1));
    OK(cudaMemcpyToSymbol(weight, w2, sizeof w2));
    for (auto &s : sizes) {
        int w = s[0], h = s[1];
        std::vector<int> in = numbers<int>(w * h, 256), want(w * h);
        for (int i = 0; i < w * h; i++)
            for (int k = 0; k < TAPS * TAPS; k++) {
                int x = i % w + k % TAPS - RADIUS, y = i / w + k / TAPS - RADIUS;
                if (x >= 0 && x < w && y >= 0 && y < h)
                    want[i] += w1[k % TAPS] * w1[k / TAPS] * in[y * w + x];
            }
        device<int> a(in), b(w * h), o(w * h), p(w * h);
        RUN(dim3(blocks_for(w, 16), blocks_for(h, 4)), dim3(16, 4), convolve, a, o, w, h);
        RUN_SHARED(h, 32, (w + 2 * RADIUS) * sizeof(int), convolve_separately<true>, a, b, w, h);
        RUN_SHARED(w, 32, (h + 2 * RADIUS) * sizeof(int), convolve_separately<false>, b, p, w, h);
        same(o.host(), want, "convolution");
        same(p.host(), want, "separable convolution");
    }
}
END_TEST

/* ---- the game of life: bytes, and 32 cells in a word ---- */
__global__ void life(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int near = 0;
    for (int k = 0; k < 9; k++) {
        if (k == 4) continue;
        int u = (x + k % 3 - 1 + width) % width, v = (y + k / 3 - 1 + height) % height;
        near += in[v * width + u];
    }
    out[y * width + x] = near == 3 || (near == 2 && in[y * width + x]);
}

/* A lane is a word of 32 cells; its warp is a row of 1024, which closes to a ring. */
__global__ void life_words(const unsigned *in, unsigned *out, int height)
{
    int lane = threadIdx.x, y = blockIdx.x;
    unsigned bit0 = 0, bit1 = 0, bit2 = 0,
             here = 0; /* the sum of nine, by bits; 8 and 9 are as 0, 1 */
    for (int dy = -1; dy <= 1; dy++) {
        unsigned w = in[(y + dy + height) % height * 32 + lane];
        unsigned left = __shfl_sync(~0u, w, (lane + 31) % 32),
                 right = __shfl_sync(~0u, w, lane + 1);
        unsigned cells[3] = {__funnelshift_l(left, w, 1), w, __funnelshift_r(w, right, 1)};
        if (dy == 0) here = w;
        for (unsigned c : cells) {
            unsigned carry = bit0 & c;
            bit0 ^= c;
            unsigned more = bit1 & carry;
            bit1 ^= carry;
            bit2 ^= more;
        }
    }
    unsigned three = bit0 & bit1 & ~bit2, four = ~bit0 & ~bit1 & bit2;
    out[y * 32 + lane] = three | (four & here);
}

static std::vector<unsigned char> next_life(const std::vector<unsigned char> &in, int w, int h)
{
    std::vector<unsigned char> out(in.size());
    for (int i = 0; i < w * h; i++) {
        int near = -in[i];
        for (int k = 0; k < 9; k++)
            near += in[(i / w + k / 3 - 1 + h) % h * w + (i % w + k % 3 - 1 + w) % w];
        out[i] = near == 3 || (near == 2 && in[i]);
    }
    return out;
}

START_TEST(life_goes_on)
{
    static const int sizes[][2] = {{3, 3}, {40, 31}, {1024, 9}};
    for (auto &s : sizes) {
        int w = s[0], h = s[1];
        std::vector<unsigned char> now = numbers<unsigned char>(w * h, 2);
        std::vector<unsigned> word(w * h / 32 + 1);
        for (int i = 0; i < w * h; i++) word[i / 32] |= (unsigned)now[i] << i % 32;
        device<unsigned char> a(now), b(w * h);
        device<unsigned> c(word), d(word.size());
        for (int step = 0; step < 2; step++) {
            now = next_life(now, w, h);
            unsigned char *from = step ? b : a, *to = step ? a : b;
            RUN(dim3(blocks_for(w, 32), blocks_for(h, 3)), dim3(32, 3), life, from, to, w, h);
            if (w == 1024) RUN(h, 32, life_words, step ? d : c, step ? c : d, h);
        }
        same(a.host(), now, "life");
        if (w != 1024) continue;
        word = c.host();
        for (int i = 0; i < w * h; i++) ck_assert_int_eq(word[i / 32] >> i % 32 & 1, now[i]);
    }
}
END_TEST

/* ---- sampling: an image turned and scaled, between its pixels ---- */
__global__ void sample(const uchar4 *in, int width, int height, float4 *out, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= n) return;
    float u = fminf(x * 0.25f, width - 1), v = fminf(y * 0.5f, height - 1);
    int i = min((int)u, width - 2), j = min((int)v, height - 2);
    float fx = u - i, fy = v - j;
    float4 sum = make_float4(0, 0, 0, 0);
    for (int k = 0; k < 4; k++) {
        uchar4 c = in[(j + k / 2) * width + i + k % 2];
        float w = (k % 2 ? fx : 1 - fx) * (k / 2 ? fy : 1 - fy);
        sum.x += w * c.x, sum.y += w * c.y, sum.z += w * c.z, sum.w += w * c.w;
    }
    out[y * n + x] = sum;
}

START_TEST(an_image_is_sampled_between_pixels)
{
    static const int sizes[][2] = {{2, 2}, {17, 9}, {64, 30}};
    for (auto &s : sizes) {
        int w = s[0], h = s[1], n = 4 * w;
        std::vector<unsigned char> c = numbers<unsigned char>(4 * w * h, 256);
        std::vector<uchar4> in(w * h);
        memcpy(in.data(), c.data(), c.size());
        std::vector<float> want(4 * n * 2 * h), got(want.size());
        for (size_t i = 0; i < want.size(); i++) {
            int k = (int)i % 4, x = (int)i / 4 % n, y = (int)i / 4 / n;
            float u = fminf(x / 4.f, w - 1), v = fminf(y / 2.f, h - 1);
            int l = u > w - 2 ? w - 2 : (int)u, t = v > h - 2 ? h - 2 : (int)v;
            auto at = [&](int dx, int dy) { return (float)c[4 * ((t + dy) * w + l + dx) + k]; };
            float top = at(0, 0) + (u - l) * (at(1, 0) - at(0, 0));
            float bottom = at(0, 1) + (u - l) * (at(1, 1) - at(0, 1));
            want[i] = top + (v - t) * (bottom - top); /* quarters of halves of bytes: exact */
        }
        device<uchar4> a(in);
        device<float4> o(n * 2 * h);
        RUN(dim3(blocks_for(n, 48), 2 * h), 48, sample, a, w, h, o, n);
        memcpy(got.data(), o.host().data(), got.size() * sizeof(float));
        same(got, want, "samples");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_stencil.def"
};
CASE_MAIN("textbook_stencil")
