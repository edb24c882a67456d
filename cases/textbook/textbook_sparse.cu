/* textbook_sparse.cu - sparse matrices in three formats, and the row operations of networks:
 * softmax, normalisation, cross entropy, embeddings. */
#include "book.h"

/* ---- sparse matrix times vector ---- */
struct sparse {
    int rows, columns, longest;
    std::vector<int> start, column;
    std::vector<float> value;
    std::vector<float> times(const std::vector<float> &x) const
    {
        std::vector<float> y(rows);
        for (int r = 0; r < rows; r++)
            for (int k = start[r]; k < start[r + 1]; k++) y[r] += value[k] * x[column[k]];
        return y;
    }
};

/* Rows of very different lengths, some empty. */
static sparse matrix(int rows, int columns)
{
    sparse m = {rows, columns, 0, {0}, {}, {}};
    for (int r = 0; r < rows; r++) {
        int n = (int)(scramble(r) % 7 == 0 ? scramble(r + 1) % 90 : scramble(r + 1) % 5);
        n = n < columns ? n : columns;
        for (int k = 0; k < n; k++) {
            m.column.push_back((int)((scramble(r + 2) + k * 3u) % columns));
            m.value.push_back((float)(scramble(r * 100 + k) % 19) - 9);
        }
        m.start.push_back((int)m.column.size());
        m.longest = n > m.longest ? n : m.longest;
    }
    return m;
}

__global__ void csr_thread(const int *start, const int *column, const float *value, const float *x,
                           int rows, float *y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int k = start[r]; k < start[r + 1]; k++) sum += value[k] * __ldg(&x[column[k]]);
    y[r] = sum;
}

/* LANES of a warp share a row. */
template <int LANES>
__global__ void csr_vector(const int *start, const int *column, const float *value, const float *x,
                           int rows, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, r = i / LANES, lane = i % LANES;
    float sum = 0;
    if (r < rows)
        for (int k = start[r] + lane; k < start[r + 1]; k += LANES) sum += value[k] * x[column[k]];
    for (int d = LANES / 2; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d, LANES);
    if (lane == 0 && r < rows) y[r] = sum;
}

__global__ void ell(const int *column, const float *value, const float *x, int rows, int longest,
                    float *y)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int k = 0; k < longest; k++) {
        int c = column[k * rows + r];
        if (c < 0) break;
        sum += value[k * rows + r] * x[c];
    }
    y[r] = sum;
}

/* Triples in order of rows: sums of a warp go up by shuffles, the last of a row adds. */
__global__ void coo(const int *row, const int *column, const float *value, const float *x, int n,
                    float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int r = i < n ? row[i] : -1;
    float sum = i < n ? value[i] * x[column[i]] : 0;
    for (int d = 1; d < 32; d *= 2) {
        float s = __shfl_up_sync(~0u, sum, d);
        int other = __shfl_up_sync(~0u, r, d);
        if (lane >= d && other == r) sum += s;
    }
    int next = __shfl_down_sync(~0u, r, 1);
    if (r >= 0 && (lane == 31 || next != r)) atomicAdd(&y[r], sum);
}

START_TEST(sparse_matrices_multiply_in_each_format)
{
    static const int sizes[][2] = {{1, 1}, {100, 64}, {515, 300}};
    for (auto &s : sizes) {
        sparse m = matrix(s[0], s[1]);
        int rows = m.rows, n = (int)m.column.size();
        std::vector<float> v = numbers<float>(m.columns, 19, -9), want = m.times(v);
        std::vector<int> row(n), ec(rows * m.longest, -1);
        std::vector<float> ev(rows * m.longest);
        for (int r = 0; r < rows; r++)
            for (int k = m.start[r]; k < m.start[r + 1]; k++) {
                row[k] = r;
                ec[(k - m.start[r]) * rows + r] = m.column[k];
                ev[(k - m.start[r]) * rows + r] = m.value[k];
            }
        device<int> start(m.start), column(m.column), of(row), c(ec);
        device<float> value(m.value), x(v), w(ev), a(rows), b(rows), d(rows), e(rows), f(rows);
        RUN(blocks_for(rows, 64), 64, csr_thread, start, column, value, x, rows, a);
        RUN(blocks_for(rows, 4), 128, csr_vector<32>, start, column, value, x, rows, b);
        RUN(blocks_for(rows, 16), 128, csr_vector<8>, start, column, value, x, rows, d);
        RUN(blocks_for(rows, 96), 96, ell, c, w, x, rows, m.longest, e);
        if (n) RUN(blocks_for(n, 128), 128, coo, of, column, value, x, n, f);
        same(a.host(), want, "a thread per row");
        same(b.host(), want, "a warp per row");
        same(d.host(), want, "eight lanes per row");
        same(e.host(), want, "ELL");
        same(f.host(), want, "triples");
    }
}
END_TEST

/* ---- rows: a block per row; the reductions come from one helper ---- */
template <class Op> __device__ float block_reduce(float x, float first, Op op)
{
    __shared__ float part[32];
    for (int d = 16; d; d /= 2) x = op(x, __shfl_xor_sync(~0u, x, d));
    __syncthreads(); /* who reads an earlier result may be behind */
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : first;
    for (int d = 16; d; d /= 2) x = op(x, __shfl_xor_sync(~0u, x, d));
    return x;
}
struct sum_of {
    __device__ float operator()(float a, float b) const { return a + b; }
};
struct max_of {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

__global__ void softmax(const float *in, int n, float *out)
{
    const float *row = in + (size_t)blockIdx.x * n;
    float high = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) high = fmaxf(high, row[i]);
    high = block_reduce(high, -INFINITY, max_of());
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - high);
    sum = block_reduce(sum, 0, sum_of());
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[(size_t)blockIdx.x * n + i] = expf(row[i] - high) / sum;
}

/* One pass: maximum and sum are carried together and corrected when the maximum moves. */
__global__ void softmax_online(const float *in, int n, float *out)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    const float *x = in + (size_t)row * n;
    float high = -INFINITY, sum = 0;
    for (int i = lane; i < n; i += 32) {
        float h = fmaxf(high, x[i]);
        sum = sum * __expf(high - h) + __expf(x[i] - h);
        high = h;
    }
    for (int d = 16; d; d /= 2) {
        float h = __shfl_xor_sync(~0u, high, d), s = __shfl_xor_sync(~0u, sum, d),
              m = fmaxf(h, high);
        if (m > -INFINITY) sum = sum * __expf(high - m) + s * __expf(h - m);
        high = m;
    }
    for (int i = lane; i < n; i += 32)
        out[(size_t)row * n + i] = __fdividef(__expf(x[i] - high), sum);
}

static std::vector<double> softmax_of(const std::vector<float> &in, int n)
{
    std::vector<double> out(in.size());
    for (size_t r = 0; r < in.size(); r += n) {
        double sum = 0, high = in[r];
        for (int i = 0; i < n; i++) high = fmax(high, in[r + i]);
        for (int i = 0; i < n; i++) sum += out[r + i] = exp(in[r + i] - high);
        for (int i = 0; i < n; i++) out[r + i] /= sum;
    }
    return out;
}

START_TEST(softmax_of_rows_in_two_ways)
{
    for (int n : {1, 31, 100, 1000}) {
        std::vector<float> in = numbers<float>(8 * n, 4000, -2000);
        for (float &x : in)
            x /= 32; /* as low as -62: exp underflows to denormals, not to nonsense */
        std::vector<double> want = softmax_of(in, n);
        device<float> a(in), o(8 * n), p(8 * n);
        RUN(8, 128, softmax, a, n, o);
        RUN(2, dim3(32, 4), softmax_online, a, n, p);
        /* float rounding of up to 1000 terms; __expf loses |x| ulp more */
        near(o.host(), want, 1e-6, "softmax");
        near(p.host(), want, 2e-5, "softmax in one pass");
    }
}
END_TEST

__global__ void layer_norm(const float *in, const float *scale, const float *shift, int n,
                           float eps, float *out, float *mean_out)
{
    extern __shared__ float row[];
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += row[i] = in[(size_t)blockIdx.x * n + i];
    float mean = block_reduce(sum, 0, sum_of()) / n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
    float rstd = rsqrtf(block_reduce(squares, 0, sum_of()) / n + eps);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[(size_t)blockIdx.x * n + i] = fmaf((row[i] - mean) * rstd, scale[i], shift[i]);
    if (threadIdx.x == 0) mean_out[blockIdx.x] = mean;
}

START_TEST(layers_are_normalised)
{
    for (int n : {1, 48, 129, 1000}) {
        std::vector<float> in = numbers<float>(5 * n, 1000, -200, 1),
                           g = numbers<float>(n, 9, -4, 2), b = numbers<float>(n, 9, -4, 3);
        std::vector<double> want(5 * n), means(5);
        for (int r = 0; r < 5; r++) {
            double squares = 0;
            for (int i = 0; i < n; i++) means[r] += in[r * n + i] / (double)n;
            for (int i = 0; i < n; i++) squares += pow(in[r * n + i] - means[r], 2) / n;
            for (int i = 0; i < n; i++)
                want[r * n + i] = (in[r * n + i] - means[r]) / sqrt(squares + 1e-5) * g[i] + b[i];
        }
        device<float> a(in), scale(g), shift(b), o(5 * n), m(5);
        RUN_SHARED(5, 96, n * sizeof(float), layer_norm, a, scale, shift, n, 1e-5f, o, m);
        near(o.host(), want, 1e-5, "normalised"); /* floats, sums of up to 1000 */
        near(m.host(), means, 1e-5, "means");
    }
}
END_TEST

/* ---- cross entropy and its gradient ---- */
__global__ void cross_entropy(const float *logit, const int *label, int n, float *loss, float *grad)
{
    int row = blockIdx.x;
    float sum = 0, high = -INFINITY;
    for (int i = threadIdx.x; i < n; i += 32) high = fmaxf(high, logit[row * n + i]);
    for (int d = 16; d; d /= 2) high = fmaxf(high, __shfl_xor_sync(~0u, high, d));
    for (int i = threadIdx.x; i < n; i += 32) sum += expf(logit[row * n + i] - high);
    for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    for (int i = threadIdx.x; i < n; i += 32)
        grad[row * n + i] =
            (expf(logit[row * n + i] - high) / sum - (i == label[row] ? 1 : 0)) / gridDim.x;
    if (threadIdx.x == 0)
        atomicAdd(loss, (logf(sum) + high - logit[row * n + label[row]]) / gridDim.x);
}

START_TEST(cross_entropy_and_its_gradient)
{
    for (int n : {2, 10, 77}) {
        int rows = 40;
        std::vector<float> in = numbers<float>(rows * n, 200, -100);
        for (float &x : in) x /= 16;
        std::vector<int> label = numbers<int>(rows, n, 0, 4);
        std::vector<double> p = softmax_of(in, n), loss(1);
        for (int r = 0; r < rows; r++) {
            loss[0] -= log(p[r * n + label[r]]) / rows;
            p[r * n + label[r]] -= 1;
        }
        for (double &x : p) x /= rows;
        device<float> a(in), l(1), g(rows * n);
        device<int> b(label);
        RUN(rows, 32, cross_entropy, a, b, n, l, g);
        near(l.host(), loss, 2e-6, "loss"); /* 40 roundings of floats */
        near(g.host(), p, 1e-6, "gradient");
    }
}
END_TEST

/* ---- rows of a table, gathered by index, and their gradients scattered back ---- */
__global__ void gather(const float4 *table, const int *index, int n, int width, float4 *out)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * width; i += gridDim.x * blockDim.x)
        out[i] = table[index[i / width] * width + i % width];
}

__global__ void scatter_add(const float *grad, const int *index, int n, int width, float *table)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * width; i += gridDim.x * blockDim.x)
        atomicAdd(&table[index[i / width] * width + i % width], grad[i]);
}

START_TEST(embeddings_are_gathered_and_their_gradients_scattered)
{
    enum { ROWS = 30, W = 12 };
    for (int n : {1, 50, 333}) {
        std::vector<float> table = numbers<float>(ROWS * W, 100), want(n * W), back(ROWS * W);
        std::vector<int> index = numbers<int>(n, ROWS, 0, 3);
        for (int i = 0; i < n * W; i++) {
            want[i] = table[index[i / W] * W + i % W];
            back[index[i / W] * W + i % W] += want[i];
        }
        device<float> t(table), o(n * W), g(ROWS * W);
        device<int> k(index);
        RUN(2, 100, gather, reinterpret_cast<float4 *>(t.p), k, n, W / 4,
            reinterpret_cast<float4 *>(o.p));
        RUN(3, 64, scatter_add, o, k, n, W, g);
        same(o.host(), want, "gathered");
        same(g.host(), back, "scattered");
    }
}
END_TEST

static const case_entry cases[] = {
#include "textbook_sparse.def"
};
CASE_MAIN("textbook_sparse")
