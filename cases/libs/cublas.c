/* cublas.c - matrix and vector products against naive loops in double, in float and double.
 *
 * Tolerance. A sum of k products in any order, fused or not, differs from the exact one by at most
 * k u / (1 - k u) times the sum of the magnitudes; alpha, beta and the store add at most four more
 * roundings. So an element may be off by 2 (k + 4) u (|alpha| sum|a b| + |beta c|): the factor 2
 * covers 1 / (1 - k u) and, in double, the reference's own error. Everything else an output array
 * holds (padding, gaps between strides, slack) must be bit for bit what it was. */
#include "blas.h"
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const cublasOperation_t ops[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
static const char letters[] = "NTC";
static const struct {
    double alpha, beta;
} blends[] = {{1, 0}, {0.75, 0.5}, {-2, 1}, {0, 0.25}, {1, -1}};

typedef struct product {
    cublasOperation_t ta, tb;
    int m, n, k, lda, ldb, ldc;
    double alpha, beta;
} product;

static int columns_a(const product *q)
{
    return q->ta == CUBLAS_OP_N ? q->k : q->m;
}
static int columns_b(const product *q)
{
    return q->tb == CUBLAS_OP_N ? q->n : q->k;
}

static product product_of(int ta, int tb, const int *mnk, int pad, double alpha, double beta)
{
    product q = {.ta = ops[ta], .tb = ops[tb], .m = mnk[0], .n = mnk[1], .k = mnk[2]};
    q.lda = (ta ? q.k : q.m) + pad;
    q.ldb = (tb ? q.n : q.k) + pad;
    q.ldc = q.m + pad;
    q.lda += !q.lda, q.ldb += !q.ldb, q.ldc += !q.ldc; /* at least 1 */
    q.alpha = alpha, q.beta = beta;
    return q;
}

/* r: the part of C from element c0 on, which q writes; A and B from a0 and b0. beta 0 does not look
 * at C. */
static void gemm_reference(const product *q, const arr *a, size_t a0, const arr *b, size_t b0,
                           ref *r, size_t c0)
{
    double factor = 2 * (q->k + 4) * U(a->p);
    for (int j = 0; j < q->n; j++)
        for (int i = 0; i < q->m; i++) {
            double sum = 0, size = 0, *c = &r->want[c0 + (size_t)j * (size_t)q->ldc + (size_t)i];
            for (int l = 0; l < q->k; l++) {
                int ia = q->ta == CUBLAS_OP_N ? l * q->lda + i : i * q->lda + l;
                int ib = q->tb == CUBLAS_OP_N ? j * q->ldb + l : l * q->ldb + j;
                double t = a->h[a0 + (size_t)ia] * b->h[b0 + (size_t)ib];
                sum += t;
                size += fabs(t);
            }
            double old = q->beta == 0 ? 0 : q->beta * *c;
            *c = (q->alpha == 0 ? 0 : q->alpha * sum) + old;
            r->tol[c - r->want] = factor * (fabs(q->alpha) * size + fabs(old)) + TINY(a->p);
        }
}

static size_t max_(int x)
{
    return x > 0 ? (size_t)x : 1;
}

static void gemm_once(prec p, const product *q, int device, double fill)
{
    at("cublas%cgemm %s %c%c m %d n %d k %d ld %d %d %d alpha %g beta %g%s", p ? 'D' : 'S',
       device ? "device scalars" : "host scalars", letters[q->ta], letters[q->tb], q->m, q->n, q->k,
       q->lda, q->ldb, q->ldc, q->alpha, q->beta, isnan(fill) ? " C of NaN" : "");
    arr a = arr_new(p, (size_t)q->lda * max_(columns_a(q)), -1, 1);
    arr b = arr_new(p, (size_t)q->ldb * max_(columns_b(q)), -1, 1);
    arr c = arr_new(p, (size_t)q->ldc * max_(q->n), -1, 1);
    if (fill != 0) arr_fill(&c, fill);
    scalar al, be;
    scalar_make(&al, p, device, q->alpha);
    scalar_make(&be, p, device, q->beta);
    ref r = ref_of(&c);
    gemm_reference(q, &a, 0, &b, 0, &r, 0);
    pointers_on(device);
    OK(BOTH(p, gemm, q->ta, q->tb, q->m, q->n, q->k, al.p, a.dev, q->lda, b.dev, q->ldb, be.p,
            c.dev, q->ldc));
    expect(&c, &r, "C");
    arr_free(&a), arr_free(&b), arr_free(&c), scalar_free(&al), scalar_free(&be);
}

START_TEST(gemm_equals_the_triple_loop_and_leaves_padding)
{
    static const int sizes[][3] = {{1, 1, 1},  {3, 5, 7},    {17, 13, 31},  {33, 1, 9},
                                   {1, 33, 5}, {64, 48, 32}, {129, 65, 67}, {2, 3, 513}};
    open_handle(1);
    for (int s = 0; s < COUNT(sizes); s++)
        for (int ops2 = 0; ops2 < 9; ops2++)
            for (int b = 0; b < COUNT(blends); b++)
                for (int i = 0; i < 4; i++) {
                    product q = product_of(ops2 % 3, ops2 / 3, sizes[s], i & 1 ? 3 : 0,
                                           blends[b].alpha, blends[b].beta);
                    gemm_once(i & 2 ? F64 : F32, &q, (ops2 + b) & 1, 0);
                }
}
END_TEST

/* Large enough to be computed in parts: by column, by row, with a thin last one. */
static const int large[][3] = {{9, 1100, 33}, {1100, 9, 33}, {70, 70, 100}, {65, 1057, 40}};

START_TEST(products_in_parts_equal_the_triple_loop)
{
    setenv("OOMPROOF_SIM_THREADS", "3", 1);
    open_handle(1);
    for (int s = 0; s < COUNT(large); s++)
        for (int i = 0; i < 16; i++) {
            product q = product_of(i & 1, i >> 1 & 1, large[s], i & 4 ? 3 : 0, 0.75, 0.5);
            gemm_once(i & 8 ? F64 : F32, &q, 0, 0);
        }
}
END_TEST

/* C of one product, by a process with so many host threads. */
static void product_by(const char *threads, const int *mnk, float *shared)
{
    int status = 1;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setenv("OOMPROOF_SIM_THREADS", threads, 1);
        open_handle(1);
        product q = product_of(0, 1, mnk, 0, 1, 0);
        arr a = arr_new(F32, (size_t)q.lda * max_(columns_a(&q)), -1, 1);
        arr b = arr_new(F32, (size_t)q.ldb * max_(columns_b(&q)), -1, 1);
        arr c = arr_new(F32, (size_t)q.ldc * max_(q.n), -1, 1);
        float one = 1, none = 0;
        pointers_on(0);
        OK(cublasSgemm_v2(handle, q.ta, q.tb, q.m, q.n, q.k, &one, a.dev, q.lda, b.dev, q.ldb,
                          &none, c.dev, q.ldc));
        _exit(cudaMemcpy(shared, c.dev, c.n * sizeof *shared, cudaMemcpyDeviceToHost) != 0);
    }
    ck_assert(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

START_TEST(products_are_the_same_bits_on_any_number_of_threads)
{
    enum { MOST = 1 << 17 };
    float *c[3];
    for (int i = 0; i < 3; i++)
        c[i] = mmap(NULL, MOST * sizeof **c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                    0);
    for (int s = 0; s < COUNT(large); s++) {
        product_by("1", large[s], c[0]);
        product_by("2", large[s], c[1]);
        product_by("5", large[s], c[2]);
        size_t bytes = sizeof **c * (size_t)large[s][0] * (size_t)large[s][1];
        ck_assert_msg(!memcmp(c[0], c[1], bytes) && !memcmp(c[0], c[2], bytes), "product %d", s);
        ck_assert(c[0][0] != 0);
    }
}
END_TEST

START_TEST(a_zero_beta_does_not_read_c)
{
    static const int sizes[][3] = {{1, 1, 1},     {3, 5, 7},     {40, 40, 40},
                                   {129, 65, 67}, {200, 1, 200}, {1, 1, 300}};
    open_handle(2);
    for (int s = 0; s < COUNT(sizes); s++)
        for (int i = 0; i < 16; i++) {
            product q = product_of(i & 1, i >> 1 & 1, sizes[s], i & 4 ? 2 : 0, 1.5, 0);
            gemm_once(i & 8 ? F64 : F32, &q, 0, NAN);
        }
}
END_TEST

/* Of an empty C nothing is written; an empty sum leaves beta C, which for beta 0 is 0. */
START_TEST(empty_products_scale_c_or_do_nothing)
{
    static const int sizes[][3] = {{0, 4, 3}, {4, 0, 3}, {0, 0, 0},
                                   {5, 4, 0}, {1, 1, 0}, {70, 9, 0}};
    open_handle(3);
    for (int s = 0; s < COUNT(sizes); s++)
        for (int i = 0; i < 16; i++)
            for (int b = 0; b < COUNT(blends); b++) {
                product q = product_of(i & 1, i >> 1 & 1, sizes[s], i & 4 ? 2 : 0, blends[b].alpha,
                                       blends[b].beta);
                gemm_once(i & 8 ? F64 : F32, &q, 0, q.beta == 0 ? NAN : 0);
            }
}
END_TEST

START_TEST(batched_gemm_steps_by_its_strides)
{
    static const int sizes[][3] = {{3, 4, 5}, {1, 7, 2}, {9, 1, 0}, {16, 16, 16}};
    open_handle(4);
    for (int s = 0; s < COUNT(sizes); s++)
        for (int i = 0; i < 16; i++)
            for (int count = 0; count < 4; count++) {
                prec p = i & 8 ? F64 : F32;
                product q = product_of(i & 1, i >> 1 & 1, sizes[s], 1, -0.5, i & 4 ? 0 : 2);
                /* gaps between the matrices; one A for all where i & 2 */
                size_t sa = i & 2 ? 0 : (size_t)q.lda * max_(columns_a(&q)) + 3;
                size_t sb = (size_t)q.ldb * max_(columns_b(&q)), sc = (size_t)(q.ldc * q.n) + 2;
                at("cublas%cgemmStridedBatched %c%c m %d n %d k %d strides %zu %zu %zu count %d "
                   "beta %g",
                   p ? 'D' : 'S', letters[q.ta], letters[q.tb], q.m, q.n, q.k, sa, sb, sc, count,
                   q.beta);
                arr a = arr_new(p, sa * 4 + (size_t)q.lda * max_(columns_a(&q)), -1, 1);
                arr b = arr_new(p, sb * 4, -1, 1), c = arr_new(p, sc * 4, -1, 1);
                if (q.beta == 0) arr_fill(&c, NAN);
                scalar al, be;
                scalar_make(&al, p, 0, q.alpha);
                scalar_make(&be, p, 0, q.beta);
                ref r = ref_of(&c);
                for (size_t x = 0; x < (size_t)count; x++)
                    gemm_reference(&q, &a, x * sa, &b, x * sb, &r, x * sc);
                pointers_on(0);
                OK(BOTH(p, gemmStridedBatched, q.ta, q.tb, q.m, q.n, q.k, al.p, a.dev, q.lda,
                        (long long)sa, b.dev, q.ldb, (long long)sb, be.p, c.dev, q.ldc,
                        (long long)sc, count));
                expect(&c, &r, "C");
                arr_free(&a), arr_free(&b), arr_free(&c);
                scalar_free(&al), scalar_free(&be);
            }
}
END_TEST

START_TEST(gemm_ex_computes_in_the_type_it_is_told)
{
    static const int size[3] = {7, 5, 11};
    open_handle(5);
    pointers_on(0);
    for (int i = 0; i < 8; i++) {
        prec p = i & 1 ? F64 : F32;
        product q = product_of(i >> 1 & 1, i >> 2, size, 2, 0.75, -2);
        cudaDataType t = p == F64 ? CUDA_R_64F : CUDA_R_32F;
        at("cublasGemmEx %s %c%c", PREC_NAME(p), letters[q.ta], letters[q.tb]);
        arr a = arr_new(p, (size_t)(q.lda * columns_a(&q)), -1, 1);
        arr b = arr_new(p, (size_t)(q.ldb * columns_b(&q)), -1, 1);
        arr c = arr_new(p, (size_t)(q.ldc * q.n), -1, 1);
        scalar al, be;
        scalar_make(&al, p, 0, q.alpha);
        scalar_make(&be, p, 0, q.beta);
        for (int pedantic = 0; pedantic < 2; pedantic++) {
            static const cublasComputeType_t how[2][2] = {
                {CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_PEDANTIC},
                {CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_64F_PEDANTIC}};
            ref r = ref_of(&c);
            gemm_reference(&q, &a, 0, &b, 0, &r, 0);
            OK(cublasGemmEx(handle, q.ta, q.tb, q.m, q.n, q.k, al.p, a.dev, t, q.lda, b.dev, t,
                            q.ldb, be.p, c.dev, t, q.ldc, how[p][pedantic], CUBLAS_GEMM_DEFAULT));
            expect(&c, &r, "C");
        }
        ref same = ref_of(&c); /* double out of float is no combination of the table */
        ck_assert_int_eq(cublasGemmEx(handle, q.ta, q.tb, q.m, q.n, q.k, al.p, a.dev, CUDA_R_32F,
                                      q.lda, b.dev, CUDA_R_32F, q.ldb, be.p, c.dev, CUDA_R_64F,
                                      q.ldc, CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT),
                         CUBLAS_STATUS_NOT_SUPPORTED);
        expect(&c, &same, "C after a refusal");
        arr_free(&a), arr_free(&b), arr_free(&c), scalar_free(&al), scalar_free(&be);
    }
}
END_TEST

START_TEST(gemv_equals_the_double_loop)
{
    static const int sizes[][2] = {{1, 1}, {3, 7}, {7, 3}, {33, 1}, {1, 33}, {65, 129}, {300, 11}};
    static const int incs[][2] = {{1, 1}, {2, 3}, {-1, 1}, {3, -2}};
    open_handle(6);
    for (int s = 0; s < COUNT(sizes) * COUNT(incs) * 3; s++)
        for (int b = 0; b < COUNT(blends); b++)
            for (int i = 0; i < 8; i++) {
                prec p = i & 1 ? F64 : F32;
                int t = s % 3, m = sizes[s / 12][0], n = sizes[s / 12][1], ld = m + (i & 2);
                int ix = incs[s / 3 % 4][0], iy = incs[s / 3 % 4][1];
                int nx = t ? m : n, ny = t ? n : m, device = i & 4;
                double alpha = blends[b].alpha, beta = blends[b].beta;
                at("cublas%cgemv %s %c m %d n %d ld %d inc %d %d alpha %g beta %g", p ? 'D' : 'S',
                   device ? "device scalars" : "host scalars", letters[t], m, n, ld, ix, iy, alpha,
                   beta);
                arr a = arr_new(p, (size_t)(ld * n), -1, 1), x = arr_new(p, span(nx, ix), -1, 1);
                arr y = arr_new(p, span(ny, iy), -1, 1);
                if (beta == 0) arr_fill(&y, NAN);
                scalar al, be;
                scalar_make(&al, p, device, alpha);
                scalar_make(&be, p, device, beta);
                ref r = ref_of(&y);
                for (int o = 0; o < ny; o++) {
                    double sum = 0, size = 0;
                    size_t to = nth(o, ny, iy);
                    for (int l = 0; l < nx; l++) {
                        double v = a.h[t ? o * ld + l : l * ld + o] * x.h[nth(l, nx, ix)];
                        sum += v, size += fabs(v);
                    }
                    double old = beta == 0 ? 0 : beta * y.h[to];
                    r.want[to] = alpha * sum + old;
                    r.tol[to] = 2 * (nx + 4) * U(p) * (fabs(alpha) * size + fabs(old)) + TINY(p);
                }
                pointers_on(device);
                OK(BOTH(p, gemv, ops[t], m, n, al.p, a.dev, ld, x.dev, ix, be.p, y.dev, iy));
                expect(&y, &r, "y");
                arr_free(&a), arr_free(&x), arr_free(&y);
                scalar_free(&al), scalar_free(&be);
            }
}
END_TEST

static const case_entry cases[] = {
#include "cublas.def"
};
CASE_MAIN("cublas")
