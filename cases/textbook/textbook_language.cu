/* textbook_language.cu - what the language offers to kernels: pointers to functions, virtual
 * calls, recursion, templates, lambdas, the device heap, inline PTX, printf. */
#include "book.h"
#include <cstdio>
#include <unistd.h>

/* ---- pointers to device functions: in tables, from symbols, as parameters ---- */
typedef float (*unary)(float, int);

__device__ float twice(float x, int k)
{
    return 2 * x + k;
}
__device__ float squared(float x, int k)
{
    return x * x - k;
}
__device__ __noinline__ float summed(float x, int k)
{
    float sum = 0;
    for (int i = 0; i < k; i++) sum += x;
    return sum;
}

__device__ unary table[3] = {twice, squared, summed};
__constant__ unary constant_table[2] = {summed, twice};
__device__ unary one_function = squared;

__global__ void by_table(const float *in, int n, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[i % 3](in[i], i % 5) + constant_table[i & 1](1.f, 3);
}

__global__ void by_parameter(unary f, const float *in, int n, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(in[i], 4);
}

/* The pointer is made in the kernel. */
__global__ void by_choice(const float *in, int n, int which, float *out)
{
    unary f = which == 0 ? twice : which == 1 ? squared : summed;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = f(in[i], 4);
}

static float host_function(int which, float x, int k)
{
    return which == 0 ? 2 * x + k : which == 1 ? x * x - k : k * x;
}

START_TEST(device_functions_are_called_through_tables)
{
    for (int n : {1, 64, 300}) {
        std::vector<float> in = numbers<float>(n, 100, -50), want(n);
        for (int i = 0; i < n; i++)
            want[i] = host_function(i % 3, in[i], i % 5) + (i & 1 ? 2 + 3 : 3);
        device<float> a(in), o(n);
        RUN(blocks_for(n, 64), 64, by_table, a, n, o);
        same(o.host(), want, "by table");
    }
}
END_TEST

START_TEST(a_function_pointer_travels_through_the_host)
{
    for (int n : {1, 100}) {
        std::vector<float> in = numbers<float>(n, 100, -50), want(n);
        device<float> a(in), o(n), p(n);
        unary f;
        for (int which = 0; which < 3; which++) {
            for (int i = 0; i < n; i++) want[i] = host_function(which, in[i], 4);
            RUN(blocks_for(n, 32), 32, by_choice, a, n, which, p);
            same(p.host(), want, "by choice");
            OK(cudaMemcpyFromSymbol(&f, table, sizeof f, which * sizeof f));
            RUN(blocks_for(n, 32), 32, by_parameter, f, a, n, o);
            same(o.host(), want, "by parameter");
        }
        OK(cudaMemcpyFromSymbol(&f, one_function, sizeof f));
        RUN(blocks_for(n, 32), 32, by_parameter, f, a, n, o);
        for (int i = 0; i < n; i++) want[i] = in[i] * in[i] - 4;
        same(o.host(), want, "by symbol");
    }
}
END_TEST

START_TEST(a_call_through_a_null_pointer_is_718)
{
    device<float> a(32), o(32);
    by_parameter<<<1, 32>>>(nullptr, a, 32, o);
    cudaError_t e = cudaDeviceSynchronize();
    ck_assert_msg(e == cudaErrorInvalidPc, "%s", cudaGetErrorName(e));
}
END_TEST

/* ---- virtual functions: objects are made on the device, where their tables are ---- */
struct shape {
    __device__ virtual int area() const = 0;
    __device__ virtual int edges() const { return 4; }
    __device__ virtual ~shape() {}
};
struct square : shape {
    int side;
    __device__ explicit square(int s) : side(s) {}
    __device__ int area() const override { return side * side; }
};
struct triangle : shape {
    int base, height;
    __device__ triangle(int b, int h) : base(b), height(h) {}
    __device__ int area() const override { return base * height / 2; }
    __device__ int edges() const override { return 3; }
};

__global__ void make_shapes(shape **s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i % 3)
        s[i] = new square(i);
    else
        s[i] = new triangle(i, 8);
}

__global__ void measure_shapes(shape **s, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = s[i]->area() * 10 + s[i]->edges();
}

__global__ void delete_shapes(shape **s, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) delete s[i];
}

START_TEST(virtual_functions_of_objects_from_the_device_heap)
{
    for (int n : {1, 50, 257}) {
        std::vector<int> want(n);
        for (int i = 0; i < n; i++) want[i] = i % 3 ? i * i * 10 + 4 : i * 8 / 2 * 10 + 3;
        device<shape *> s(n);
        device<int> o(n);
        RUN(blocks_for(n, 64), 64, make_shapes, s, n);
        RUN(blocks_for(n, 32), 32, measure_shapes, s, n, o);
        RUN(blocks_for(n, 64), 64, delete_shapes, s, n);
        same(o.host(), want, "shapes");
    }
}
END_TEST

/* ---- the device heap: it ends, and what is given back can be had again ---- */
__global__ void fill_heap(int *got, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        char *p[32];
        int n = 0;
        while (n < 32 && (p[n] = (char *)malloc(1 << 20))) {
            p[n][0] = p[n][(1 << 20) - 1] = 'x';
            n++;
        }
        got[r] = n;
        while (n > 0) free(p[--n]);
    }
}

START_TEST(the_device_heap_ends_and_recovers)
{
    device<int> o(3);
    RUN(1, 1, fill_heap, o, 3);
    std::vector<int> got = o.host();
    /* 8 MiB less what the heap needs for itself */
    ck_assert_msg(got[0] >= 4 && got[0] <= 8, "%d pieces of 1 MiB", got[0]);
    same(got, std::vector<int>(3, got[0]), "pieces");
}
END_TEST

/* ---- recursion ---- */
__device__ int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ int odd(int n);
__device__ __noinline__ int even(int n)
{
    return n == 0 ? 1 : odd(n - 1);
}
__device__ __noinline__ int odd(int n)
{
    return n == 0 ? 0 : even(n - 1);
}

__device__ void hanoi(int n, int from, int to, unsigned *rods, int *moves)
{
    if (n == 0) return;
    hanoi(n - 1, from, 3 - from - to, rods, moves);
    rods[from] &= ~(1u << n);
    rods[to] |= 1u << n;
    ++*moves;
    hanoi(n - 1, 3 - from - to, to, rods, moves);
}

__global__ void recurse(int *out)
{
    int t = threadIdx.x, moves = 0;
    unsigned rods[3] = {(2u << t % 8) - 2, 0, 0};
    hanoi(t % 8, 0, 2, rods, &moves);
    out[t] =
        ackermann(2, t % 10) * 100000 + even(t) * 10000 + (rods[0] | rods[1] ? 5000 : 0) + moves;
}

START_TEST(device_functions_recurse)
{
    std::vector<int> want(40);
    for (int t = 0; t < 40; t++)
        want[t] = (2 * (t % 10) + 3) * 100000 + (t % 2 == 0) * 10000 + (1 << t % 8) - 1;
    device<int> o(40);
    RUN(1, 40, recurse, o);
    same(o.host(), want, "recursion");
}
END_TEST

/* ---- structures as parameters: an array in one is indexed where it lies, or by its address ----
 */
struct filter {
    int taps;
    short weight[37];
};

__global__ void by_value(filter f, const int *in, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (int k = 0; k < f.taps; k++) sum += f.weight[k] * in[(i + k) % n];
    out[i] = sum + f.weight[in[i] % 37];
}

__device__ __noinline__ int weights_at(const filter *f, int k)
{
    return f->weight[k % 37] * f->taps;
}

__global__ void by_address(const __grid_constant__ filter f, int n, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weights_at(&f, i);
}

START_TEST(arrays_in_parameters_are_indexed)
{
    for (int n : {1, 64, 333}) {
        filter f = {11, {}};
        for (int k = 0; k < 37; k++) f.weight[k] = (short)(k * k - 30 * k);
        std::vector<int> in = numbers<int>(n, 1000), want(n), other(n);
        for (int i = 0; i < n; i++) {
            want[i] = f.weight[in[i] % 37];
            other[i] = f.weight[i % 37] * 11;
            for (int k = 0; k < 11; k++) want[i] += f.weight[k] * in[(i + k) % n];
        }
        device<int> a(in), o(n), p(n);
        RUN(blocks_for(n, 32), 32, by_value, f, a, n, o);
        RUN(blocks_for(n, 32), 32, by_address, f, n, p);
        same(o.host(), want, "by value");
        same(p.host(), other, "by address");
    }
}
END_TEST

/* ---- templates: variadic, by policy, a lambda as a parameter ---- */
template <class... T> __device__ auto sum_of(T... x)
{
    return (x + ... + 0);
}

template <class T> struct pair_of {
    T a;
    char tag;
    T b;
    __host__ __device__ T operator()(T x) const { return a * x + b + tag; }
};

template <class F, class T> __global__ void map(F f, T *io, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) io[i] = sum_of(f(io[i]), T(i), T(1));
}

template <class T> static void check_map(void)
{
    for (int n : {1, 33, 200}) {
        std::vector<T> in = numbers<T>(n, 100, -50), want(n);
        pair_of<T> f = {T(3), 7, T(-2)};
        for (int i = 0; i < n; i++) want[i] = f(in[i]) + T(i) + T(1);
        device<T> io(in);
        RUN(blocks_for(n, 64), 64, (map<pair_of<T>, T>), f, io, n);
        same(io.host(), want, "map");
    }
}

START_TEST(functors_travel_as_parameters)
{
    check_map<int>();
    check_map<double>();
    check_map<long long>();
    check_map<float>();
}
END_TEST

/* ---- inline PTX ---- */
__global__ void inline_ptx(const unsigned *a, const unsigned *b, unsigned *out)
{
    unsigned i = threadIdx.x, lane, high, low, packed, found;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("{\n\t.reg .u64 w;\n\tmul.wide.u32 w, %2, %3;\n\tmov.b64 {%0, %1}, w;\n\t}"
        : "=r"(low), "=r"(high)
        : "r"(a[i]), "r"(b[i]));
    asm("prmt.b32 %0, %1, %2, 0x5140;" : "=r"(packed) : "r"(a[i]), "r"(b[i]));
    asm("{ .reg .pred p; setp.gt.u32 p, %1, %2; @p bfind.u32 %0, %1; @!p popc.b32 %0, %2; }"
        : "=r"(found)
        : "r"(a[i]), "r"(b[i]));
    asm("add.cc.u32 %0, %0, %2; addc.u32 %1, %1, 0;" : "+r"(low), "+r"(high) : "r"(lane));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * i), "r"(low), "r"(high),
                 "r"(packed), "r"(found)
                 : "memory");
}

START_TEST(inline_ptx_computes)
{
    std::vector<unsigned> x(64), y(64), want;
    for (unsigned i = 0; i < 64; i++) {
        x[i] = scramble(i) >> i % 31, y[i] = scramble(i + 64) >> i % 29;
        unsigned long long w = (unsigned long long)x[i] * y[i] + i % 32;
        unsigned a = x[i], b = y[i];
        want.insert(want.end(),
                    {(unsigned)w, (unsigned)(w >> 32),
                     (a & 255) | (b & 255) << 8 | (a >> 8 & 255) << 16 | (b >> 8 & 255) << 24,
                     a > b ? 31u - __builtin_clz(a) : (unsigned)__builtin_popcount(b)});
    }
    device<unsigned> a(x), b(y), o(256);
    RUN(1, 64, inline_ptx, a, b, o);
    same(o.host(), want, "inline PTX");
}
END_TEST

/* ---- printf ---- */
__global__ void say(double x)
{
    if (threadIdx.x == 0)
        printf("%s %d|%5d|%-5d|%05d %u %x %c%% %lld %.3f %8.2e\n", "text", -3, 42, 42, 42, 7u, 255,
               'q', -(1ll << 40), x, 12345.678);
    else if (threadIdx.x == 1 && printf("%d %d\n", 1, 2) == 2)
        printf("no argument\n");
}

START_TEST(printf_writes_from_kernels)
{
    char text[400] = "", want[400];
    int pipes[2], before = dup(1);
    ck_assert_int_eq(pipe(pipes), 0);
    fflush(stdout);
    dup2(pipes[1], 1);
    say<<<1, 32>>>(2.5);
    cudaError_t e = cudaDeviceSynchronize();
    fflush(stdout);
    dup2(before, 1);
    close(pipes[1]);
    for (size_t n = 0, k; (k = (size_t)read(pipes[0], text + n, sizeof text - 1 - n)) > 0; n += k) {
    }
    OK(e);
    snprintf(want, sizeof want, "text -3|   42|42   |00042 7 ff q%% %lld 2.500 1.23e+04\n",
             -(1ll << 40));
    ck_assert_msg(!strncmp(text, want, strlen(want)) && strstr(text, "\n1 2\nno argument\n"), "%s",
                  text);
}
END_TEST

/* ---- variables that the host and kernels share ---- */
struct shared_record {
    float a[3];
    int n;
};
__managed__ int shared_count = 11;
__managed__ shared_record shared_records[4];
static __managed__ double hidden_sum = 0.5;

__global__ void change_shared()
{
    shared_count += 1;
    shared_records[2].n = shared_count * 2;
    hidden_sum += shared_records[1].a[2];
}

START_TEST(managed_variables_are_the_same_for_both_sides)
{
    shared_records[1].a[2] = 2; /* before anything else is asked of the device */
    ck_assert_int_eq(shared_count, 11);
    RUN(1, 1, change_shared);
    ck_assert_int_eq(shared_count, 12);
    ck_assert_int_eq(shared_records[2].n, 24);
    ck_assert(hidden_sum == 2.5);
    int seven = 7;
    void *at;
    OK(cudaMemcpyToSymbol(shared_count, &seven, sizeof seven));
    ck_assert_int_eq(shared_count, 7);
    OK(cudaGetSymbolAddress(&at, shared_count));
    ck_assert_ptr_eq(at, &shared_count);
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, &shared_count));
    ck_assert_int_eq(a.type, cudaMemoryTypeManaged);
    ck_assert(cudaFree(&shared_count) != cudaSuccess);
    cudaGetLastError();
    ck_assert_int_eq(shared_count, 7);
}
END_TEST

static const case_entry cases[] = {
#include "textbook_language.def"
};
CASE_MAIN("textbook_language")
