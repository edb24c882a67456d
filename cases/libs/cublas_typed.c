/* cublas_typed.c - products and vectors in half precision, bfloat16, bytes and mixtures of them.
 *
 * Tolerance. Sums are of float: 2 (k + 4) 2^-24 of the magnitudes as in cublas.c, for 16F sums
 * (k + 4) 2^-11; then one rounding to C's type. Into int32 everything is exact. */
#include "blas.h"
#include "typed.h"

static const struct combination {
    cublasComputeType_t compute;
    cudaDataType ab, c, scalar;
} combinations[] = {
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
};

/* Scalars that each type holds exactly. */
typedef union number {
    double d;
    float f;
    int32_t i;
    uint16_t h;
} number;
static number number_of(cudaDataType t, int x)
{
    static const uint16_t halves[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200};
    number n = {.d = x};
    if (t == CUDA_R_32F) n.f = (float)x;
    if (t == CUDA_R_32I) n.i = x;
    if (t == CUDA_R_16F) n.h = halves[x + 2];
    return n;
}

/* Sets what the product must leave in C from c0 on. */
static void reference(const struct combination *q, int ta, int tb, const int *s, int lda, int ldb,
                      int ldc, int alpha, int beta, const typed *a, size_t a0, const typed *b,
                      size_t b0, ref *r, size_t c0)
{
    double u = q->scalar == CUDA_R_16F   ? 0x1p-11
               : q->scalar == CUDA_R_32F ? 0x1p-24
               : q->scalar == CUDA_R_64F ? 0x1p-53
                                         : 0;
    for (int j = 0; j < s[1]; j++)
        for (int i = 0; i < s[0]; i++) {
            double sum = 0, size = 0, *c = &r->want[c0 + (size_t)(j * ldc + i)];
            for (int l = 0; l < s[2]; l++) {
                double t = a->h[a0 + (size_t)(ta ? i * lda + l : l * lda + i)] *
                           b->h[b0 + (size_t)(tb ? l * ldb + j : j * ldb + l)];
                sum += t, size += fabs(t);
            }
            double old = beta ? beta * *c : 0;
            *c = alpha * sum + old;
            if (q->c == CUDA_R_32I) continue;
            size = abs(alpha) * size + fabs(old);
            r->tol[c - r->want] =
                2 * (s[2] + 4) * u * size + typed_u(q->c) * size + typed_tiny(q->c);
        }
}

static const int sizes[][3] = {{1, 1, 1}, {4, 8, 12}, {5, 3, 7}, {17, 9, 33}, {3, 2, 0}};
static const int scalars[][2] = {{1, 0}, {2, -1}, {-1, 3}, {0, 2}};
enum { ONE, STRIDED, LISTED, KINDS };
static const char *const kinds[] = {"Ex", "StridedBatchedEx", "BatchedEx"};

static int four(int x) /* a leading dimension that bytes may have */
{
    return (x + 3) / 4 * 4 + 4;
}

START_TEST(products_of_every_type_equal_the_triple_loop)
{
    enum { BATCH = 3 };
    open_handle(61);
    pointers_on(0);
    for (int i = 0; i < COUNT(combinations) * COUNT(sizes) * 4 * KINDS; i++) {
        const struct combination *q = &combinations[i % COUNT(combinations)];
        int rest = i / COUNT(combinations), kind = rest % KINDS, ta = rest / KINDS & 1;
        int tb = rest / KINDS >> 1 & 1, batch = kind == ONE ? 1 : BATCH;
        const int *s = sizes[rest / KINDS / 4 % COUNT(sizes)];
        const int *ab = scalars[rest % COUNT(scalars)];
        int lda = four(ta ? s[2] : s[0]), ldb = four(tb ? s[1] : s[2]), ldc = four(s[0]);
        size_t sa = (size_t)(lda * (ta ? s[0] : s[2])) + 4, sc = (size_t)(ldc * s[1]) + 4;
        size_t sb = (size_t)(ldb * (tb ? s[2] : s[1])) + 4;
        at("cublasGemm%s %s into %s %d%d m %d n %d k %d alpha %d beta %d", kinds[kind],
           typed_name(q->ab), typed_name(q->c), ta, tb, s[0], s[1], s[2], ab[0], ab[1]);
        typed a = typed_new(q->ab, sa * BATCH), b = typed_new(q->ab, sb * BATCH);
        typed c = typed_new(q->c, sc * BATCH);
        if (ab[1] == 0) typed_nan(&c);
        number al = number_of(q->scalar, ab[0]), be = number_of(q->scalar, ab[1]);
        ref r = typed_ref(&c);
        for (size_t x = 0; x < (size_t)batch; x++)
            reference(q, ta, tb, s, lda, ldb, ldc, ab[0], ab[1], &a, x * sa, &b, x * sb, &r,
                      x * sc);
        cublasOperation_t oa = ta ? CUBLAS_OP_T : CUBLAS_OP_N, ob = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
        if (kind == ONE)
            OK(cublasGemmEx(handle, oa, ob, s[0], s[1], s[2], &al, a.dev, q->ab, lda, b.dev, q->ab,
                            ldb, &be, c.dev, q->c, ldc, q->compute, CUBLAS_GEMM_DEFAULT));
        if (kind == STRIDED)
            OK(cublasGemmStridedBatchedEx(handle, oa, ob, s[0], s[1], s[2], &al, a.dev, q->ab, lda,
                                          (long long)sa, b.dev, q->ab, ldb, (long long)sb, &be,
                                          c.dev, q->c, ldc, (long long)sc, BATCH, q->compute,
                                          CUBLAS_GEMM_DEFAULT));
        if (kind == LISTED) {
            void *list[3][BATCH], **dev;
            for (size_t x = 0; x < BATCH; x++) {
                list[0][x] = (char *)a.dev + x * sa * a.size;
                list[1][x] = (char *)b.dev + x * sb * b.size;
                list[2][x] = (char *)c.dev + x * sc * c.size;
            }
            CUDA(cudaMalloc((void **)&dev, sizeof list));
            CUDA(cudaMemcpy(dev, list, sizeof list, cudaMemcpyHostToDevice));
            OK(cublasGemmBatchedEx(handle, oa, ob, s[0], s[1], s[2], &al, (const void *const *)dev,
                                   q->ab, lda, (const void *const *)dev + BATCH, q->ab, ldb, &be,
                                   dev + 2 * BATCH, q->c, ldc, BATCH, q->compute,
                                   CUBLAS_GEMM_DEFAULT));
            CUDA(cudaFree(dev));
        }
        typed_expect(&c, &r, "C");
        typed_free(&a), typed_free(&b), typed_free(&c);
    }
}
END_TEST

/* A product of two halves has 22 bits, so the one rounding can be told: to the nearest, and of two
 * as near to the even one; too large is infinite, too small a subnormal or 0. */
START_TEST(a_half_is_rounded_once_to_the_nearest)
{
    static const struct {
        uint16_t a, b, want;
    } rows[] = {
        {0x3c01, 0x3c01, 0x3c02}, /* (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20 */
        {0x3e00, 0x3c01, 0x3e02}, /* 1.5 (1 + 2^-10): half way, to the even one */
        {0x3e00, 0x3c03, 0x3e04}, /* 1.5 (1 + 3 2^-10): half way, to the even one below */
        {0x7bff, 0x3c00, 0x7bff}, {0x7bff, 0x4000, 0x7c00}, {0xfbff, 0x7bff, 0xfc00},
        {0x0001, 0x3c00, 0x0001}, {0x0001, 0x3800, 0x0000}, /* half the smallest, to 0 */
        {0x0003, 0x3800, 0x0002},                           /* 1.5 of the smallest, to 2 */
        {0x0400, 0x3800, 0x0200}, {0x03ff, 0x4000, 0x07fe},
    };
    open_handle(62);
    pointers_on(0);
    float one = 1, zero = 0;
    typed t = typed_new(CUDA_R_16F, 3);
    for (int i = 0; i < COUNT(rows); i++) {
        uint16_t *raw = t.raw;
        raw[0] = rows[i].a, raw[1] = rows[i].b, raw[2] = 0;
        typed_push(&t);
        uint16_t *d = t.dev;
        OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, d, CUDA_R_16F, 1, d + 1,
                        CUDA_R_16F, 1, &zero, d + 2, CUDA_R_16F, 1, CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT));
        typed_pull(&t);
        ck_assert_msg(raw[2] == rows[i].want, "%04x times %04x: got %04x, wanted %04x", rows[i].a,
                      rows[i].b, raw[2], rows[i].want);
    }
    typed_free(&t);
}
END_TEST

/* Of __half, which is a type of C++ alone. */
cublasStatus_t cublasHgemm(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int,
                           const void *, const void *, int, const void *, int, const void *, void *,
                           int);

START_TEST(hgemm_is_the_product_in_half_precision)
{
    static const int s[3] = {5, 4, 9};
    static const struct combination half = {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F};
    open_handle(65);
    pointers_on(0);
    at("cublasHgemm");
    number al = number_of(CUDA_R_16F, 2), be = number_of(CUDA_R_16F, -1);
    typed a = typed_new(CUDA_R_16F, 90), b = typed_new(CUDA_R_16F, 90),
          c = typed_new(CUDA_R_16F, 40);
    ref r = typed_ref(&c);
    reference(&half, 1, 0, s, 9, 10, 6, 2, -1, &a, 0, &b, 0, &r, 0);
    OK(cublasHgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, s[0], s[1], s[2], &al, a.dev, 9, b.dev, 10,
                   &be, c.dev, 6));
    typed_expect(&c, &r, "C");
    typed_free(&a), typed_free(&b), typed_free(&c);
}
END_TEST

START_TEST(vectors_of_every_type_equal_their_loops)
{
    static const cudaDataType types[] = {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F, CUDA_R_64F};
    static const int shapes[][3] = {{1, 1, 1}, {9, 2, 3}, {70, 1, -2}, {0, 1, 1}};
    open_handle(63);
    pointers_on(0);
    for (int i = 0; i < COUNT(types) * COUNT(shapes); i++) {
        cudaDataType t = types[i % 4], in = t == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
        const int *s = shapes[i / 4];
        int n = s[0], ix = s[1], iy = s[2];
        double u = typed_u(t), sum = 0, size = 0, squares = 0, ones = 0, got;
        number al = number_of(in, 3);
        at("cublas...Ex %s n %d inc %d %d", typed_name(t), n, ix, iy);
        typed x = typed_new(t, span(n, ix)), y = typed_new(t, span(n, iy));
        ref ry = typed_ref(&y), rx;
        int best[2] = {0, 0};
        for (int j = 0; j < n; j++) {
            size_t to = nth(j, n, iy), from = nth(j, n, ix);
            double p = x.h[from] * y.h[to];
            sum += p, size += fabs(p), squares += x.h[from] * x.h[from], ones += fabs(x.h[from]);
            ry.want[to] += 3 * x.h[from];
            ry.tol[to] = 2 * u * (fabs(3 * x.h[from]) + fabs(y.h[to]));
            if (!best[0] || fabs(x.h[from]) > fabs(x.h[nth(best[0] - 1, n, ix)])) best[0] = j + 1;
            if (!best[1] || fabs(x.h[from]) < fabs(x.h[nth(best[1] - 1, n, ix)])) best[1] = j + 1;
        }
        number out;
        double factor = (2 * (n + 4) * typed_u(in) + u) * 1.01;
#define RESULT(call, want, tol)     \
    OK(call);                       \
    got = typed_decode(t, &out, 0); \
    expect_value(got, want, (tol), #call)
        RESULT(cublasDotEx(handle, n, x.dev, t, ix, y.dev, t, iy, &out, t, in), sum, factor * size);
        RESULT(cublasDotcEx(handle, n, x.dev, t, ix, y.dev, t, iy, &out, t, in), sum,
               factor * size);
        RESULT(cublasNrm2Ex(handle, n, x.dev, t, ix, &out, t, in), sqrt(squares),
               factor * sqrt(squares));
        RESULT(cublasAsumEx(handle, n, x.dev, t, ix, &out, t, in), ones, factor * ones);
        int index[2];
        OK(cublasIamaxEx(handle, n, x.dev, t, ix, &index[0]));
        OK(cublasIaminEx(handle, n, x.dev, t, ix, &index[1]));
        ck_assert_int_eq(index[0], best[0]);
        ck_assert_int_eq(index[1], best[1]);
        OK(cublasAxpyEx(handle, n, &al, in, x.dev, t, ix, y.dev, t, iy, in));
        typed_expect(&y, &ry, "y of AxpyEx");
        rx = typed_ref(&x), ry = typed_ref(&y);
        for (int j = 0; j < n; j++) {
            rx.want[nth(j, n, ix)] = y.h[nth(j, n, iy)];
            ry.want[nth(j, n, iy)] = x.h[nth(j, n, ix)];
        }
        OK(cublasSwapEx(handle, n, x.dev, t, ix, y.dev, t, iy));
        typed_expect(&x, &rx, "x of SwapEx");
        typed_expect(&y, &ry, "y of SwapEx");
        ry = typed_ref(&y);
        for (int j = 0; j < n; j++) ry.want[nth(j, n, iy)] = x.h[nth(j, n, ix)];
        OK(cublasCopyEx(handle, n, x.dev, t, ix, y.dev, t, iy));
        typed_expect(&y, &ry, "y of CopyEx");
        rx = typed_ref(&x);
        for (int j = 0; j < n; j++) {
            double *e = &rx.want[nth(j, n, ix)];
            *e *= 3;
            rx.tol[nth(j, n, ix)] = u * fabs(*e);
        }
        OK(cublasScalEx(handle, n, &al, in, x.dev, t, ix, in));
        typed_expect(&x, &rx, "x of ScalEx");
        typed_free(&x), typed_free(&y);
    }
}
END_TEST

START_TEST(combinations_outside_the_table_are_refused)
{
    open_handle(64);
    pointers_on(0);
    double one = 1;
    typed a = typed_new(CUDA_R_64F, 64);
    void *d = a.dev;
    int index;
    const cublasGemmAlgo_t al = CUBLAS_GEMM_DEFAULT;
    const cublasOperation_t no = CUBLAS_OP_N;
    ref r = typed_ref(&a);
    at("refused");
#define GEMMEX(at, bt, ct, how, ld)                                                              \
    cublasGemmEx(handle, no, no, 2, 2, 2, &one, d, CUDA_R_##at, ld, d, CUDA_R_##bt, ld, &one, d, \
                 CUDA_R_##ct, ld, CUBLAS_COMPUTE_##how, al)
    ck_assert_int_eq(GEMMEX(16F, 16BF, 32F, 32F, 2), CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(GEMMEX(16F, 16F, 16F, 64F, 2), CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(GEMMEX(16BF, 16BF, 16BF, 16F, 2), CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(GEMMEX(64F, 64F, 32F, 64F, 2), CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(GEMMEX(8I, 8I, 32I, 32I, 2), CUBLAS_STATUS_NOT_SUPPORTED); /* ld 2 */
    ck_assert_int_eq(GEMMEX(16F, 16F, 16F, 32F, 1), CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasGemmStridedBatchedEx(handle, no, no, 2, 2, 2, &one, d, CUDA_R_16F, 2, 4,
                                                d, CUDA_R_16F, 2, 4, &one, d, CUDA_R_16F, 2, 4, -1,
                                                CUBLAS_COMPUTE_32F, al),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasGemmBatchedEx(handle, no, no, 2, 2, -2, &one, NULL, CUDA_R_16F, 2, NULL,
                                         CUDA_R_16F, 2, &one, NULL, CUDA_R_16F, 2, 1,
                                         CUBLAS_COMPUTE_32F, al),
                     CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(
        cublasAxpyEx(handle, 2, &one, CUDA_R_32F, d, CUDA_R_16F, 1, d, CUDA_R_32F, 1, CUDA_R_32F),
        CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(cublasScalEx(handle, 2, &one, CUDA_R_64F, d, CUDA_R_16F, 1, CUDA_R_32F),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    ck_assert_int_eq(cublasIamaxEx(handle, 2, d, CUDA_R_16F, 1, NULL), CUBLAS_STATUS_INVALID_VALUE);
    ck_assert_int_eq(cublasIamaxEx(NULL, 2, d, CUDA_R_16F, 1, &index),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    typed_expect(&a, &r, "the array after refusals");
    CUDA(cudaDeviceSynchronize());
    typed_free(&a);
}
END_TEST

static const case_entry cases[] = {
#include "cublas_typed.def"
};
CASE_MAIN("cublas_typed")
