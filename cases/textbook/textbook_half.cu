/* textbook_half.cu - kernels in f16 and bf16 as nvcc makes them of cuda_fp16.h and cuda_bf16.h for
 * sm_90: what comes out is held against MPFR bit for bit, step by step. */
#include "book.h"
#include "halfref.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef std::vector<unsigned short> shorts;

/* Halves of any kind: NaN, infinities, small ones, all. */
static shorts any_halves(size_t n, unsigned seed)
{
    shorts v(n);
    for (size_t i = 0; i < n; i++) v[i] = (unsigned short)scramble((unsigned)i + seed * 7919u);
    return v;
}

/* Halves of ordinary size: 1/16 to 16. */
static shorts plain_halves(size_t n, unsigned seed, int m)
{
    shorts v = any_halves(n, seed);
    int bias = (1 << (14 - m)) - 1;
    for (unsigned short &h : v)
        h = (unsigned short)((h & 0x8000) | (bias - 4 + (h >> m) % 8) << m | (h & ((1 << m) - 1)));
    return v;
}

/* ---- elementary operations ---- */
struct results {
    unsigned short sum, difference, product, fused, narrowed;
    float widened;
};

__global__ void elementary_f16(int n, const __half *a, const __half *b, const __half *c, float *x,
                               results *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i].sum = __half_as_ushort(a[i] + b[i]);
    o[i].difference = __half_as_ushort(__hsub(a[i], b[i]));
    o[i].product = __half_as_ushort(a[i] * b[i]);
    o[i].fused = __half_as_ushort(__hfma(a[i], b[i], c[i]));
    o[i].narrowed = __half_as_ushort(__float2half(x[i]));
    o[i].widened = __half2float(a[i]);
}

__global__ void elementary_bf16(int n, const __nv_bfloat16 *a, const __nv_bfloat16 *b,
                                const __nv_bfloat16 *c, float *x, results *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i].sum = __bfloat16_as_ushort(a[i] + b[i]);
    o[i].difference = __bfloat16_as_ushort(__hsub(a[i], b[i]));
    o[i].product = __bfloat16_as_ushort(a[i] * b[i]);
    o[i].fused = __bfloat16_as_ushort(__hfma(a[i], b[i], c[i]));
    o[i].narrowed = __bfloat16_as_ushort(__float2bfloat16(x[i]));
    o[i].widened = __bfloat162float(a[i]);
}

static void check_elementary(int m)
{
    const int n = 20000;
    shorts a = any_halves(n, 1), b = any_halves(n, 2), c = any_halves(n, 3);
    for (int i = n / 2; i < n; i++) /* half of them near each other, where sums are not trivial */
        b[i] = (unsigned short)(a[i] ^ (b[i] & 0x8fff >> (10 - m))), c[i] = a[i] ^ 0x8001;
    std::vector<float> x = numbers<float>(n, 200000, -100000);
    for (float &f : x) f /= 1024;
    device<unsigned short> da(a), db(b), dc(c);
    device<float> dx(x);
    device<results> o(n);
    if (m == 10)
        RUN(blocks_for(n, 128), 128, elementary_f16, n, (__half *)da.p, (__half *)db.p,
            (__half *)dc.p, dx, o);
    else
        RUN(blocks_for(n, 128), 128, elementary_bf16, n, (__nv_bfloat16 *)da.p,
            (__nv_bfloat16 *)db.p, (__nv_bfloat16 *)dc.p, dx, o);
    std::vector<results> got = o.host();
    for (int i = 0; i < n; i++) {
        double w = ref_value(a[i], m), x_ = got[i].widened;
        if (got[i].sum != ref_add(a[i], b[i], m) ||
            got[i].difference != ref_add(a[i], b[i] ^ 0x8000u, m) ||
            got[i].product != ref_mul(a[i], b[i], m) ||
            got[i].fused != ref_fma(a[i], b[i], c[i], m) ||
            got[i].narrowed != ref_round(x[i], m, MPFR_RNDN) || !(x_ == w || (w != w && x_ != x_)))
            ck_abort_msg("%#x, %#x, %#x, %.9g: + %#x - %#x * %#x fma %#x, %#x, %.9g", a[i], b[i],
                         c[i], x[i], got[i].sum, got[i].difference, got[i].product, got[i].fused,
                         got[i].narrowed, x_);
    }
}

START_TEST(the_operators_of_half_are_rounded_once)
{
    check_elementary(10);
}
END_TEST

START_TEST(the_operators_of_bfloat16_are_rounded_once)
{
    check_elementary(7);
}
END_TEST

/* ---- a dot product in pairs: two sums by fma, added at the end ---- */
__global__ void dot_half2(int n, const __half2 *a, const __half2 *b, __half *o)
{
    __half2 sum = __float2half2_rn(0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum = __hfma2(a[i], b[i], sum);
    o[threadIdx.x] = __hadd(__low2half(sum), __high2half(sum));
}

START_TEST(a_dot_product_in_pairs)
{
    const int n = 1000, threads = 64;
    shorts a = plain_halves(2 * n, 4, 10), b = plain_halves(2 * n, 5, 10), want(threads);
    for (int t = 0; t < threads; t++) {
        unsigned sum[2] = {0, 0};
        for (int i = t; i < n; i += threads)
            for (int k = 0; k < 2; k++) sum[k] = ref_fma(a[2 * i + k], b[2 * i + k], sum[k], 10);
        want[t] = (unsigned short)ref_add(sum[0], sum[1], 10);
    }
    device<unsigned short> da(a), db(b), o(threads);
    RUN(1, threads, dot_half2, n, (__half2 *)da.p, (__half2 *)db.p, (__half *)o.p);
    same(o.host(), want, "dot product");
}
END_TEST

/* ---- the functions of the headers, for all values: sequences of instructions around f32 ---- */
enum { EXP, EXP2, LOG, SQRT, RECIPROCAL, SINE, TANH, FLOOR, FUNCTIONS };

template <class T> __global__ void functions(const T *x, T *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    T *r = o + FUNCTIONS * i;
    r[EXP] = hexp(x[i]);
    r[EXP2] = hexp2(x[i]);
    r[LOG] = hlog(x[i]);
    r[SQRT] = hsqrt(x[i]);
    r[RECIPROCAL] = hrcp(x[i]);
    r[SINE] = hsin(x[i]);
    r[TANH] = htanh(x[i]);
    r[FLOOR] = hfloor(x[i]);
}

static double function_of(int f, double x)
{
    switch (f) {
    case EXP: return exp(x);
    case EXP2: return exp2(x);
    case LOG: return log(x);
    case SQRT: return sqrt(x);
    case RECIPROCAL: return 1 / x;
    case SINE: return sin(x);
    case TANH: return tanh(x);
    default: return floor(x);
    }
}

/* Steps from one number to the other, through zero. */
static int steps(unsigned a, unsigned b)
{
    int x = a & 0x8000 ? -(int)(a & 0x7fff) : (int)a, y = b & 0x8000 ? -(int)(b & 0x7fff) : (int)b;
    return abs(x - y);
}

template <class T> static void check_functions(int m)
{
    shorts x(65536);
    for (int i = 0; i < 65536; i++) x[i] = (unsigned short)i;
    device<unsigned short> in(x), o(65536 * FUNCTIONS);
    RUN(256, 256, functions<T>, (const T *)in.p, (T *)o.p);
    shorts got = o.host();
    for (int i = 0; i < 65536 * FUNCTIONS; i++) {
        int f = i % FUNCTIONS;
        double a = ref_value(x[i / FUNCTIONS], m), e = function_of(f, a);
        unsigned want = ref_round(e, m, MPFR_RNDN);
        /* the headers promise two steps of sines and one of the rest */
        int away = f == FLOOR ? 0 : f == SINE ? 2 : 1;
        if (isnan(e) ? !ref_isnan(got[i], m) : ref_isnan(got[i], m) || steps(got[i], want) > away)
            ck_abort_msg("function %d of %#x gave %#x, not %#x", f, x[i / FUNCTIONS], got[i], want);
    }
}

START_TEST(the_functions_of_the_header_of_half)
{
    check_functions<__half>(10);
}
END_TEST

START_TEST(the_functions_of_the_header_of_bfloat16)
{
    check_functions<__nv_bfloat16>(7);
}
END_TEST

static const case_entry cases[] = {
#include "textbook_half.def"
};
CASE_MAIN("textbook_half")
