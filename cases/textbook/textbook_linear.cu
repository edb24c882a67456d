/* textbook_linear.cu - dense linear algebra: transposition, products by tiles and registers, small
 * systems. Elements are small whole numbers: products are exact in every order. */
#include "book.h"

static const int shapes[][3] = {{1, 1, 1}, {16, 16, 16}, {33, 20, 17}, {70, 65, 50}};

static dim3 grid2(int x, int y, int tile_x, int tile_y)
{
    return dim3(blocks_for(x, tile_x), blocks_for(y, tile_y));
}

/* ---- transposition ---- */
template <class T> __global__ void transpose_naive(const T *in, int rows, int columns, T *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}

/* A tile of 32 x 32 by 8 rows of threads; the padding column moves a column into all banks. */
template <class T> __global__ void transpose_tiled(const T *in, int rows, int columns, T *out)
{
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * columns + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < rows && y + j < columns)
            out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <class T> static void check_transposition(void)
{
    for (auto &s : shapes) {
        int rows = s[0], columns = s[1];
        std::vector<T> in = numbers<T>(rows * columns, 30000), want(rows * columns);
        for (int y = 0; y < rows; y++)
            for (int x = 0; x < columns; x++) want[x * rows + y] = in[y * columns + x];
        device<T> a(in), o(in.size()), p(in.size());
        RUN(grid2(columns, rows, 16, 4), dim3(16, 4), transpose_naive<T>, a, rows, columns, o);
        RUN(grid2(columns, rows, 32, 32), dim3(32, 8), transpose_tiled<T>, a, rows, columns, p);
        same(o.host(), want, "naive transposition");
        same(p.host(), want, "tiled transposition");
    }
}

START_TEST(tiles_transpose_each_type)
{
    check_transposition<short>();
    check_transposition<float>();
    check_transposition<double>();
}
END_TEST

/* ---- matrix products: out[m][n] = a[m][k] b[k][n] ---- */
__global__ void gemm_naive(const float *a, const float *b, float *c, int m, int n, int k)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= m) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[y * k + i] * b[i * n + x];
    c[y * n + x] = sum;
}

template <class T, int TILE>
__global__ void gemm_tiled(const T *a, const T *b, T *c, int m, int n, int k)
{
    __shared__ T as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    T sum = 0;
    for (int from = 0; from < k; from += TILE) {
        as[ty][tx] = y < m && from + tx < k ? a[y * k + from + tx] : T(0);
        bs[ty][tx] = x < n && from + ty < k ? b[(from + ty) * n + x] : T(0);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

/* Two buffers: the next tile is on its way while this one is multiplied. One barrier a tile. */
__global__ void gemm_double_buffered(const float *a, const float *b, float *c, int m, int n, int k)
{
    enum { TILE = 16 };
    __shared__ float as[2][TILE][TILE + 1], bs[2][TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
    float sum = 0, next_a, next_b;
    as[0][ty][tx] = y < m && tx < k ? a[y * k + tx] : 0;
    bs[0][ty][tx] = x < n && ty < k ? b[ty * n + x] : 0;
    __syncthreads();
    for (int from = 0, at = 0; from < k; from += TILE, at ^= 1) {
        int then = from + TILE;
        next_a = y < m && then + tx < k ? a[y * k + then + tx] : 0;
        next_b = x < n && then + ty < k ? b[(then + ty) * n + x] : 0;
#pragma unroll 4
        for (int i = 0; i < TILE; i++) sum = fmaf(as[at][ty][i], bs[at][i][tx], sum);
        if (then < k) {
            as[at ^ 1][ty][tx] = next_a;
            bs[at ^ 1][ty][tx] = next_b;
        }
        __syncthreads();
    }
    if (x < n && y < m) c[y * n + x] = sum;
}

/* Four by four results in the registers of a thread; rows of b are read as float4. */
__global__ void gemm_registers(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float as[8][32];
    __shared__ __align__(16) float bs[8][32];
    int t = threadIdx.x, tx = t % 8, ty = t / 8, x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    float r[4][4] = {};
    for (int from = 0; from < k; from += 8) {
        for (int i = t; i < 256; i += 64) {
            int row = i / 8, q = i % 8, at = i / 32, column = i % 32;
            as[q][row] = y0 + row < m && from + q < k ? a[(y0 + row) * k + from + q] : 0;
            bs[at][column] =
                x0 + column < n && from + at < k ? b[(from + at) * n + x0 + column] : 0;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 8; q++) {
            float4 v = *reinterpret_cast<const float4 *>(&bs[q][tx * 4]);
            float row[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) r[i][j] += as[q][ty * 4 + i] * row[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            if (y0 + ty * 4 + i < m && x0 + tx * 4 + j < n)
                c[(y0 + ty * 4 + i) * n + x0 + tx * 4 + j] = r[i][j];
}

template <class T>
static void check_gemm(void (*kernel)(const T *, const T *, T *, int, int, int), int tile,
                       dim3 threads)
{
    for (auto &s : shapes) {
        int m = s[0], n = s[1], k = s[2];
        std::vector<T> x = numbers<T>(m * k, 20, -9, 1), y = numbers<T>(k * n, 20, -9, 2),
                       want(m * n);
        for (int i = 0; i < m; i++)
            for (int q = 0; q < k; q++)
                for (int j = 0; j < n; j++) want[i * n + j] += x[i * k + q] * y[q * n + j];
        device<T> a(x), b(y), c(m * n);
        RUN(grid2(n, m, tile, tile), threads, kernel, a, b, c, m, n, k);
        same(c.host(), want, "matrix product");
    }
}

START_TEST(a_naive_product_is_right)
{
    check_gemm<float>(gemm_naive, 16, dim3(16, 16));
}
END_TEST

START_TEST(a_tiled_product_is_right_for_each_type)
{
    check_gemm<float>(gemm_tiled<float, 16>, 16, dim3(16, 16));
    check_gemm<double>(gemm_tiled<double, 8>, 8, dim3(8, 8));
    check_gemm<int>(gemm_tiled<int, 32>, 32, dim3(32, 32));
}
END_TEST

START_TEST(a_double_buffered_product_is_right)
{
    check_gemm<float>(gemm_double_buffered, 16, dim3(16, 16));
}
END_TEST

START_TEST(a_product_in_registers_is_right)
{
    check_gemm<float>(gemm_registers, 32, dim3(64));
}
END_TEST

/* ---- matrix times vector: a warp per row; and by columns with atomics for the transposed ---- */
__global__ void gemv(const float *a, const float *x, float *y, int m, int n)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= m) return; /* whole warps leave */
    float sum = 0;
    for (int j = threadIdx.x; j < n; j += 32) sum += a[row * n + j] * x[j];
    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x == 0) y[row] = sum;
}

__global__ void gemv_transposed(const float *a, const float *x, float *y, int m, int n)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (j >= n) return;
    for (int i = blockIdx.y; i < m; i += gridDim.y) sum += a[i * n + j] * x[i];
    atomicAdd(&y[j], sum);
}

START_TEST(a_warp_per_row_multiplies_a_vector)
{
    for (auto &s : shapes) {
        int m = s[0], n = s[1];
        std::vector<float> in = numbers<float>(m * n, 20, -9, 1), v = numbers<float>(n, 20, -9, 2),
                           w = numbers<float>(m, 20, -9, 3), want(m), other(n);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                want[i] += in[i * n + j] * v[j], other[j] += in[i * n + j] * w[i];
        device<float> a(in), x(v), y(m), z(w), o(n);
        RUN(blocks_for(m, 4), dim3(32, 4), gemv, a, x, y, m, n);
        RUN(dim3(blocks_for(n, 48), 3), 48, gemv_transposed, a, z, o, m, n);
        same(y.host(), want, "rows times vector");
        same(o.host(), other, "columns times vector");
    }
}
END_TEST

/* ---- a batch of small systems, one a thread: elimination with pivots in local memory ---- */
template <int N> __global__ void solve(const double *a, const double *b, double *x, int count)
{
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= count) return;
    double m[N][N + 1];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) m[i][j] = a[(s * N + i) * N + j];
        m[i][N] = b[s * N + i];
    }
    for (int k = 0; k < N; k++) {
        int pivot = k;
        for (int i = k + 1; i < N; i++)
            if (fabs(m[i][k]) > fabs(m[pivot][k])) pivot = i;
        for (int j = 0; j <= N; j++) {
            double swap = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = swap;
        }
        for (int i = k + 1; i < N; i++) {
            double f = m[i][k] / m[k][k];
            for (int j = k; j <= N; j++) m[i][j] -= f * m[k][j];
        }
    }
    for (int i = N - 1; i >= 0; i--) {
        double sum = m[i][N];
        for (int j = i + 1; j < N; j++) sum -= m[i][j] * x[s * N + j];
        x[s * N + i] = sum / m[i][i];
    }
}

START_TEST(a_batch_of_small_systems_is_solved)
{
    enum { N = 5 };
    for (int count : {1, 64, 150}) {
        std::vector<double> m = numbers<double>(count * N * N, 20, -10, 1),
                            x = numbers<double>(count * N, 20, -10, 2), rhs(count * N);
        for (int s = 0; s < count; s++)
            for (int i = 0; i < N; i++) {
                m[(s * N + i) * N + (i + s) % N] +=
                    100; /* well-conditioned, pivots off the diagonal */
                for (int j = 0; j < N; j++) rhs[s * N + i] += m[(s * N + i) * N + j] * x[s * N + j];
            }
        device<double> a(m), b(rhs), o(count * N);
        RUN(blocks_for(count, 64), 64, solve<N>, a, b, o, count);
        near(o.host(), x, 1e-12, "solutions"); /* condition below 10: rounding stays in 1e-14 */
    }
}
END_TEST

/* ---- Cholesky in one block: columns one after the other, rows by threads ---- */
__global__ void cholesky(double *a, int n)
{
    int t = threadIdx.x;
    for (int k = 0; k < n; k++) {
        if (t == 0) a[k * n + k] = sqrt(a[k * n + k]);
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x) a[i * n + k] /= a[k * n + k];
        __syncthreads();
        for (int i = k + 1 + t; i < n; i += blockDim.x)
            for (int j = k + 1; j <= i; j++) a[i * n + j] -= a[i * n + k] * a[j * n + k];
        __syncthreads();
    }
}

START_TEST(a_factor_times_its_transpose_is_the_matrix)
{
    for (int n : {1, 17, 40}) {
        std::vector<double> low = numbers<double>(n * n, 9, 1), m(n * n);
        for (int i = 0; i < n; i++) low[i * n + i] += 20;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                for (int k = 0; k <= j; k++) m[i * n + j] += low[i * n + k] * low[j * n + k];
        device<double> a(m);
        RUN(1, 24, cholesky, a, n);
        std::vector<double> got = a.host();
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++) low[i * n + j] = 0;
        near(got, low, 1e-11, "factor"); /* some 40 roundings of numbers up to 1e4 */
    }
}
END_TEST

/* ---- vectors ---- */
template <class T> __global__ void axpy(int n, T alpha, const T *x, T *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        y[i] = alpha * x[i] + y[i];
}

__global__ void axpy4(int n, float alpha, const float4 *__restrict__ x, float4 *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 a = __ldg(&x[i]), b = y[i];
    y[i] = make_float4(alpha * a.x + b.x, alpha * a.y + b.y, alpha * a.z + b.z, alpha * a.w + b.w);
}

template <class T> static void check_axpy(void)
{
    for (int n : {1, 100, 1000, 4099}) {
        std::vector<T> u = numbers<T>(n, 100, -50, 1), v = numbers<T>(n, 100, -50, 2), want(v);
        for (int i = 0; i < n; i++) want[i] += 3 * u[i];
        device<T> x(u), y(v);
        RUN(3, 128, axpy<T>, n, T(3), x, y);
        same(y.host(), want, "axpy");
    }
}

START_TEST(axpy_strides_over_the_grid)
{
    check_axpy<int>();
    check_axpy<float>();
    check_axpy<double>();
    std::vector<float> u = numbers<float>(400, 100, -50, 1), v(400, 7), want(v);
    for (int i = 0; i < 400; i++) want[i] += 2 * u[i];
    device<float> x(u), y(v);
    RUN(2, 64, axpy4, 100, 2.f, reinterpret_cast<float4 *>(x.p), reinterpret_cast<float4 *>(y.p));
    same(y.host(), want, "axpy by fours");
}
END_TEST

static const case_entry cases[] = {
#include "textbook_linear.def"
};
CASE_MAIN("textbook_linear")
