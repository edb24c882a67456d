/* textbook_numeric.cu - numerics: random numbers, clustering, transforms, bodies, fractals, primes,
 * tables of dynamic programming. */
#include "book.h"

/* ---- random numbers: the same sequence on both sides; normal ones by Box and Muller ---- */
struct xorshift {
    unsigned x;
    __host__ __device__ unsigned next()
    {
        x ^= x << 13;
        x ^= x >> 17;
        return x ^= x << 5;
    }
};

__global__ void normals(int n, double *out, unsigned *last)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    xorshift r = {scramble(i) | 1};
    double u = (r.next() + 1.) / 4294967296., v = r.next() / 4294967296.;
    double s, c, radius = sqrt(-2 * log(u));
    sincospi(2 * v, &s, &c);
    out[2 * i] = radius * c;
    out[2 * i + 1] = radius * s;
    last[i] = r.x;
}

START_TEST(random_numbers_become_normal)
{
    for (int n : {1, 100, 3000}) {
        std::vector<double> want(2 * n);
        std::vector<unsigned> last(n);
        double sum = 0, squares = 0;
        for (int i = 0; i < n; i++) {
            xorshift r = {scramble(i) | 1};
            double u = (r.next() + 1.) / 4294967296., v = r.next() / 4294967296.;
            want[2 * i] = sqrt(-2 * log(u)) * cos(2 * M_PI * v);
            want[2 * i + 1] = sqrt(-2 * log(u)) * sin(2 * M_PI * v);
            last[i] = r.x;
        }
        device<double> o(2 * n);
        device<unsigned> l(n);
        RUN(blocks_for(n, 64), 64, normals, n, o, l);
        same(l.host(), last, "state");
        near(o.host(), want, 1e-14, "normal numbers"); /* 2 pi v is rounded on one side only */
        for (double x : o.host()) sum += x, squares += x * x;
        if (n == 3000) /* four standard errors of mean and variance */
            ck_assert(fabs(sum / 6000) < 0.052 && fabs(squares / 6000 - 1) < 0.073);
    }
}
END_TEST

/* ---- darts: 64-bit linear congruence, each thread jumps to its part of one sequence ---- */
__device__ __host__ unsigned long long step_by(unsigned long long x, unsigned long long n)
{
    unsigned long long a = 6364136223846793005ull, c = 1442695040888963407ull, A = 1, C = 0;
    for (; n; n >>= 1) {
        if (n & 1) A *= a, C = C * a + c;
        c *= a + 1;
        a *= a;
    }
    return A * x + C;
}

__global__ void darts(unsigned each, unsigned *hits)
{
    unsigned in = 0, i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long state = step_by(42, 2ull * each * i);
    for (unsigned k = 0; k < each; k++) {
        unsigned long long x = (state = step_by(state, 1)) >> 33,
                           y = (state = step_by(state, 1)) >> 33;
        in += x * x + y * y < 1ull << 62;
    }
    in += __shfl_xor_sync(~0u, in, 16);
    in += __shfl_xor_sync(~0u, in, 8);
    in += __shfl_xor_sync(~0u, in, 4);
    in += __shfl_xor_sync(~0u, in, 2);
    in += __shfl_xor_sync(~0u, in, 1);
    if (threadIdx.x % 32 == 0) atomicAdd(hits, in);
}

START_TEST(darts_share_one_sequence)
{
    for (unsigned each : {1u, 7u, 40u}) {
        unsigned want = 0;
        unsigned long long s = 42;
        for (unsigned k = 0; k < 3 * 64 * each; k++) {
            unsigned long long x = (s = step_by(s, 1)) >> 33, y = (s = step_by(s, 1)) >> 33;
            want += x * x + y * y < 1ull << 62;
        }
        device<unsigned> hits(1);
        RUN(3, 64, darts, each, hits);
        ck_assert_uint_eq(hits.one(), want);
    }
}
END_TEST

/* ---- k-means: assignment, sums in shared memory, centres ---- */
enum { K = 4, DIM = 3 };
__constant__ float centre[K][DIM];

__global__ void assign(const float *point, int n, int *cluster, float *sum, int *count)
{
    __shared__ float part[K][DIM];
    __shared__ int members[K];
    for (int k = threadIdx.x; k < K * DIM; k += blockDim.x) part[k / DIM][k % DIM] = 0;
    if (threadIdx.x < K) members[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float best = INFINITY;
        int at = 0;
        for (int k = 0; k < K; k++) {
            float d = 0;
            for (int c = 0; c < DIM; c++) {
                float x = point[c * n + i] - centre[k][c];
                d = fmaf(x, x, d);
            }
            if (d < best) best = d, at = k;
        }
        cluster[i] = at;
        atomicAdd(&members[at], 1);
        for (int c = 0; c < DIM; c++) atomicAdd(&part[at][c], point[c * n + i]);
    }
    __syncthreads();
    if (threadIdx.x < K * DIM) atomicAdd(&sum[threadIdx.x], part[0][threadIdx.x]);
    if (threadIdx.x < K) atomicAdd(&count[threadIdx.x], members[threadIdx.x]);
}

START_TEST(a_step_of_k_means)
{
    for (int n : {1, 64, 1000}) {
        std::vector<float> p = numbers<float>(DIM * n, 100), c = numbers<float>(K * DIM, 100, 0, 9),
                           sums(K * DIM);
        std::vector<int> which(n), members(K);
        for (int i = 0; i < n; i++) {
            float best = INFINITY;
            for (int k = 0; k < K; k++) {
                float d = 0;
                for (int j = 0; j < DIM; j++) d += powf(p[j * n + i] - c[k * DIM + j], 2);
                if (d < best) best = d, which[i] = k;
            }
            members[which[i]]++;
            for (int j = 0; j < DIM; j++) sums[which[i] * DIM + j] += p[j * n + i];
        }
        OK(cudaMemcpyToSymbol(centre, c.data(), sizeof centre));
        device<float> a(p), sum(K * DIM);
        device<int> cluster(n), count(K);
        RUN(blocks_for(n, 96), 96, assign, a, n, cluster, sum, count);
        same(cluster.host(), which, "clusters");
        same(count.host(), members, "members");
        same(sum.host(), sums, "sums");
    }
}
END_TEST

/* ---- Mandelbrot: without contraction both sides round alike, so the counts are equal ---- */
__global__ void mandelbrot(int width, int height, int limit, unsigned short *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float cr = __fsub_rn(__fdiv_rn(__fmul_rn(3, x), width), 2),
          ci = __fsub_rn(__fdiv_rn(__fmul_rn(2, y), height), 1);
    float r = 0, i = 0;
    int k = 0;
    for (; k < limit; k++) {
        float rr = __fmul_rn(r, r), ii = __fmul_rn(i, i);
        if (__fadd_rn(rr, ii) > 4) break;
        i = __fadd_rn(__fmul_rn(__fmul_rn(2, r), i), ci);
        r = __fadd_rn(__fsub_rn(rr, ii), cr);
    }
    out[y * width + x] = (unsigned short)k;
}

START_TEST(mandelbrot_counts_are_equal)
{
    static const int sizes[][2] = {{1, 1}, {32, 16}, {75, 50}};
    for (auto &s : sizes) {
        int w = s[0], h = s[1];
        std::vector<unsigned short> want(w * h);
        for (int p = 0; p < w * h; p++) {
            volatile float cr = 3.f * (p % w) / w - 2, ci = 2.f * (p / w) / h - 1, r = 0, i = 0, t,
                           u;
            int k = 0;
            for (; k < 200; k++) {
                t = r * r;
                u = i * i;
                if (t + u > 4) break;
                i = 2 * r * i;
                i = i + ci;
                r = t - u;
                r = r + cr;
            }
            want[p] = (unsigned short)k;
        }
        device<unsigned short> o(w * h);
        RUN(dim3(blocks_for(w, 16), blocks_for(h, 8)), dim3(16, 8), mandelbrot, w, h, 200, o);
        same(o.host(), want, "counts");
    }
}
END_TEST

/* ---- Fourier transform of one block: bits reversed, then butterflies ---- */
__global__ void fft(float2 *io, int bits)
{
    extern __shared__ float2 cell[];
    int n = 1 << bits, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) cell[__brev(i) >> (32 - bits)] = io[i];
    for (int half = 1; half < n; half *= 2) {
        __syncthreads();
        for (int k = t; k < n / 2; k += blockDim.x) {
            int a = k / half * 2 * half + k % half, b = a + half;
            float s, c;
            sincosf(-3.14159265f * (k % half) / half, &s, &c);
            float2 x = cell[a],
                   y = make_float2(c * cell[b].x - s * cell[b].y, c * cell[b].y + s * cell[b].x);
            cell[a] = make_float2(x.x + y.x, x.y + y.y);
            cell[b] = make_float2(x.x - y.x, x.y - y.y);
        }
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) io[i] = cell[i];
}

START_TEST(a_fourier_transform_in_shared_memory)
{
    for (int bits : {1, 5, 9}) {
        int n = 1 << bits;
        std::vector<float> in = numbers<float>(2 * n, 20, -10), got(2 * n);
        std::vector<double> want(2 * n);
        for (int k = 0; k < n; k++) {
            for (int i = 0; i < n; i++) {
                double angle = -2 * M_PI * ((long)k * i % n) / n, c = cos(angle), si = sin(angle);
                want[2 * k] += c * in[2 * i] - si * in[2 * i + 1];
                want[2 * k + 1] += c * in[2 * i + 1] + si * in[2 * i];
            }
        }
        std::vector<float2> z(n);
        memcpy(z.data(), in.data(), n * sizeof(float2));
        device<float2> io(z);
        RUN_SHARED(1, 64, n * sizeof(float2), fft, io, bits);
        memcpy(got.data(), io.host().data(), n * sizeof(float2));
        near(got, want, 2e-4, "spectrum"); /* small sums of floats that reach some 200 */
    }
}
END_TEST

/* ---- bodies: tiles of positions in shared memory ---- */
__global__ void forces(const float4 *body, int n, float3 *out)
{
    __shared__ float4 tile[64];
    int i = blockIdx.x * 64 + threadIdx.x;
    float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 64) {
        __syncthreads();
        if (base + (int)threadIdx.x < n) tile[threadIdx.x] = body[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < min(64, n - base); k++) {
            float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1), f = tile[k].w * r * r * r;
            sum.x += dx * f, sum.y += dy * f, sum.z += dz * f;
        }
    }
    if (i < n) out[i] = sum;
}

START_TEST(bodies_attract_each_other)
{
    for (int n : {1, 64, 150}) {
        std::vector<float> v = numbers<float>(4 * n, 50, 1), got(3 * n);
        std::vector<double> want(3 * n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                double d[3], r = 1;
                for (int c = 0; c < 3; c++) d[c] = v[4 * j + c] - v[4 * i + c], r += d[c] * d[c];
                for (int c = 0; c < 3; c++) want[3 * i + c] += d[c] * v[4 * j + 3] * pow(r, -1.5);
            }
        std::vector<float4> b(n);
        memcpy(b.data(), v.data(), n * sizeof(float4));
        device<float4> a(b);
        device<float3> o(n);
        RUN(blocks_for(n, 64), 64, forces, a, n, o);
        memcpy(got.data(), o.host().data(), n * sizeof(float3));
        near(got, want, 1e-5, "forces"); /* floats; some 150 terms of both signs */
    }
}
END_TEST

/* ---- primes: a sieve of bits; and powers modulo a 64-bit number by 128-bit products ---- */
__global__ void sieve(unsigned *composite, int n)
{
    for (int p = 2 + blockIdx.x * blockDim.x + threadIdx.x; p * p <= n; p += gridDim.x * blockDim.x)
        for (int m = p * p; m <= n; m += p) atomicOr(&composite[m / 32], 1u << m % 32);
}

__device__ unsigned long long times_mod(unsigned long long a, unsigned long long b,
                                        unsigned long long m)
{
    unsigned long long high = __umul64hi(a, b) % m, low = a * b;
    for (int bit = 63; bit >= 0; bit--) {
        bool carry = high >> 63;
        high = high << 1 | (low >> bit & 1);
        if (carry || high >= m) high -= m;
    }
    return high;
}

__global__ void fermat(const unsigned long long *n, int count, unsigned char *passes)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long r = 1, base = 2;
    for (unsigned long long e = n[i] - 1; e; e >>= 1) {
        if (e & 1) r = times_mod(r, base, n[i]);
        base = times_mod(base, base, n[i]);
    }
    passes[i] = r == 1;
}

START_TEST(a_sieve_and_wide_modular_powers_find_primes)
{
    for (int n : {10, 1000, 5000}) {
        std::vector<unsigned> want(n / 32 + 1);
        for (int m = 2; m <= n; m++)
            for (int p = 2; p * p <= m; p++)
                if (m % p == 0) want[m / 32] |= 1u << m % 32;
        device<unsigned> o(n / 32 + 1);
        RUN(2, 32, sieve, o, n);
        same(o.host(), want, "composites");
    }
    std::vector<unsigned long long> big;
    std::vector<unsigned char> want;
    for (int i = 0; i < 70; i++) {
        unsigned long long m = ~0ull - 2 * (scramble(i) % 500), e = m - 1, r = 1, b = 2;
        if (i == 0) m = 18446744073709551557ull, e = m - 1; /* the largest prime of 64 bits */
        for (; e; e >>= 1) {
            if (e & 1) r = (unsigned long long)((unsigned __int128)r * b % m);
            b = (unsigned long long)((unsigned __int128)b * b % m);
        }
        big.push_back(m), want.push_back(r == 1);
    }
    ck_assert_int_eq(want[0], 1);
    device<unsigned long long> a(big);
    device<unsigned char> o(big.size());
    RUN(3, 32, fermat, a, (int)big.size(), o);
    same(o.host(), want, "primes");
}
END_TEST

/* ---- edit distance: the table's diagonals one after the other, bytes compared ---- */
__global__ void edit_distance(const char *a, int na, const char *b, int nb, int *out)
{
    extern __shared__ int line[]; /* three diagonals */
    int width = na + 1;
    for (int d = 0; d <= na + nb; d++) {
        int *now = line + d % 3 * width, *last = line + (d + 2) % 3 * width,
            *before = line + (d + 1) % 3 * width;
        for (int i = threadIdx.x; i <= na; i += blockDim.x) {
            int j = d - i;
            if (j < 0 || j > nb) continue;
            if (i == 0 || j == 0)
                now[i] = d;
            else
                now[i] = min(before[i - 1] + (a[i - 1] != b[j - 1]), min(last[i - 1], last[i]) + 1);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = line[(na + nb) % 3 * width + na];
}

START_TEST(edit_distance_by_diagonals)
{
    static const int lengths[][2] = {{1, 1}, {40, 33}, {100, 170}};
    for (auto &l : lengths) {
        std::vector<char> x = numbers<char>(l[0], 4, 'a', 1), y = numbers<char>(l[1], 4, 'a', 2);
        std::vector<int> row(l[1] + 1), next(row);
        for (int j = 0; j <= l[1]; j++) row[j] = j;
        for (int i = 1; i <= l[0]; i++, row = next)
            for (int j = next[0] = i, k = 1; k <= l[1]; k++) {
                j = row[k - 1] + (x[i - 1] != y[k - 1]);
                next[k] = std::min(j, std::min(row[k], next[k - 1]) + 1);
            }
        device<char> a(x), b(y);
        device<int> o(1);
        RUN_SHARED(1, 48, 3 * (l[0] + 1) * sizeof(int), edit_distance, a, l[0], b, l[1], o);
        ck_assert_int_eq(o.one(), row[l[1]]);
    }
}
END_TEST

/* ---- integers of 128 bits, which nvcc divides by chains of sub.cc and addc ---- */
typedef __int128 wide;
typedef unsigned __int128 unsigned_wide;

static wide wide_of(int i) /* of every length */
{
    wide x = (wide)((unsigned_wide)scramble(i) << 96 ^ (unsigned_wide)scramble(i + 7) << 64 ^
                    (unsigned_wide)scramble(i + 13) << 32 ^ scramble(i + 29));
    return x >> scramble(i + 31) % 127;
}

__global__ void divide_wide(int n, const wide *a, const wide *b, wide *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i];
    out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = (wide)((unsigned_wide)a[i] / (unsigned_wide)b[i]);
    out[4 * i + 3] = (wide)((unsigned_wide)a[i] % (unsigned_wide)b[i]);
}

START_TEST(wide_integers_divide)
{
    int n = 2000;
    std::vector<wide> a(n), b(n);
    for (int i = 0; i < n; i++) {
        a[i] = wide_of(2 * i);
        b[i] = i % 5 ? wide_of(2 * i + 1) : a[i] + i % 3 - 1; /* also beside the quotient 1 */
        if (!b[i]) b[i] = 1;
    }
    device<wide> x(a), y(b), o(4 * n);
    RUN(blocks_for(n, 64), 64, divide_wide, n, x, y, o);
    std::vector<wide> got = o.host();
    for (int i = 0; i < n; i++) {
        unsigned_wide ua = (unsigned_wide)a[i], ub = (unsigned_wide)b[i];
        ck_assert_msg(got[4 * i] == a[i] / b[i] && got[4 * i + 1] == a[i] % b[i] &&
                          (unsigned_wide)got[4 * i + 2] == ua / ub &&
                          (unsigned_wide)got[4 * i + 3] == ua % ub,
                      "division %d", i);
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_numeric.def"
};
CASE_MAIN("textbook_numeric")
