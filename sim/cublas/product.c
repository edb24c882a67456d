/* product.c - one matrix product, or a batch of them, in any of the types of cublasGemmEx. Float
 * and double go to OpenBLAS as they are; 16-bit floats and bytes are widened to float, and rounded
 * once when they are stored; bytes into int32 are exact. Arguments are checked before memory is
 * touched. */
#include "element.h"
#include "handle.h"
#include <cblas.h>
#include <stdlib.h>

/* The combinations of the documentation's table, without complex numbers. A and B have one type. */
static const struct row {
    cublasComputeType_t compute;
    cudaDataType ab, c, scalar;
} rows[] = {
    {CUBLAS_COMPUTE_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_16F_PEDANTIC, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},
    {CUBLAS_COMPUTE_32I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
    {CUBLAS_COMPUTE_32I_PEDANTIC, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I},
#define FLOATS(compute)                                 \
    {compute, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F},    \
        {compute, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F},  \
        {compute, CUDA_R_8I, CUDA_R_32F, CUDA_R_32F},   \
        {compute, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F}, \
        {compute, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F},  \
    {                                                   \
        compute, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F     \
    }
    FLOATS(CUBLAS_COMPUTE_32F),
    FLOATS(CUBLAS_COMPUTE_32F_PEDANTIC),
    {CUBLAS_COMPUTE_32F_FAST_16F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_16BF, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},
    {CUBLAS_COMPUTE_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
    {CUBLAS_COMPUTE_64F_PEDANTIC, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},
};

static const struct row *row_of(const sim_gemm *g)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].compute == g->compute && rows[i].ab == g->a && g->a == g->b &&
            rows[i].c == g->c)
            return &rows[i];
    return NULL;
}

cublasStatus_t sim_gemm_shape(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              int lda, int ldb, int ldc)
{
    if (!sim_blas_op(ta) || !sim_blas_op(tb) || m < 0 || n < 0 || k < 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (lda < sim_blas_one(ta == CUBLAS_OP_N ? m : k)) return CUBLAS_STATUS_INVALID_VALUE;
    if (ldb < sim_blas_one(tb == CUBLAS_OP_N ? k : n)) return CUBLAS_STATUS_INVALID_VALUE;
    if (ldc < sim_blas_one(m)) return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

static CBLAS_TRANSPOSE to_cblas(cublasOperation_t t)
{
    return t == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

/* op(X), rows x columns, packed, as float */
static float *widened(cudaDataType t, const void *p, int ld, cublasOperation_t op, int rows_,
                      int columns)
{
    float *out = malloc(((size_t)rows_ * (size_t)columns + 1) * sizeof *out);
    for (int64_t j = 0; out && j < columns; j++)
        for (int64_t i = 0; i < rows_; i++)
            out[j * rows_ + i] = (float)sim_element(
                t, p, op == CUBLAS_OP_N ? j * (int64_t)ld + i : i * (int64_t)ld + j);
    return out;
}

/* Products of 16-bit floats and bytes with sums in float. */
static cublasStatus_t narrow(const sim_gemm *g, double alpha, double beta, const void *A,
                             const void *B, void *C)
{
    cublasStatus_t st = CUBLAS_STATUS_ALLOC_FAILED;
    float *a = widened(g->a, A, g->lda, g->ta, g->m, g->k);
    float *b = widened(g->b, B, g->ldb, g->tb, g->k, g->n);
    float *sum = malloc((size_t)g->m * (size_t)g->n * sizeof *sum);
    if (!a || !b || !sum) goto out;
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, g->m, g->n, g->k, 1, a, g->m, b,
                sim_blas_one(g->k), 0, sum, g->m);
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            int64_t at = j * (int64_t)g->ldc + i;
            double r = alpha == 0 ? 0 : alpha * (double)sum[j * g->m + i];
            if (beta != 0) r += beta * sim_element(g->c, C, at);
            sim_element_put(g->c, C, at, r);
        }
    st = CUBLAS_STATUS_SUCCESS;
out:
    free(a), free(b), free(sum);
    return st;
}

static void bytes_into_int(const sim_gemm *g, int32_t alpha, int32_t beta, const int8_t *A,
                           const int8_t *B, int32_t *C)
{
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            uint32_t sum = 0; /* wraps */
            for (int64_t l = 0; l < g->k; l++)
                sum += (uint32_t)(A[g->ta == CUBLAS_OP_N ? l * g->lda + i : i * g->lda + l] *
                                  B[g->tb == CUBLAS_OP_N ? j * g->ldb + l : l * g->ldb + j]);
            int32_t *c = &C[j * g->ldc + i];
            *c = (int32_t)((uint32_t)alpha * sum + (beta ? (uint32_t)beta * (uint32_t)*c : 0));
        }
}

/* Alpha and beta, read once a call by the pointer mode. */
typedef struct scalars {
    cudaDataType type;
    union {
        double d;
        float f;
        int32_t i;
        uint16_t h;
    } alpha, beta;
} scalars;

/* Columns of C, or rows where it has more, in parts that depend on the shape alone: so the results
 * are the same bits however many host threads there are. A thin part would copy its share of A and
 * B more often than it uses it. */
struct parts {
    const sim_gemm *g;
    const scalars *s;
    const char *A, *B;
    char *C;
    int by_row, width;
};

static void one_part(void *arg, int i)
{
    const struct parts *p = arg;
    const sim_gemm *g = p->g;
    int64_t from = (int64_t)i * p->width, size = p->s->type == CUDA_R_64F ? 8 : 4;
    int all = p->by_row ? g->m : g->n, n = all - from < p->width ? (int)(all - from) : p->width;
    const void *A = p->A, *B = p->B;
    void *C = p->C + size * from * (p->by_row ? 1 : g->ldc);
    if (p->by_row)
        A = p->A + size * from * (g->ta == CUBLAS_OP_N ? 1 : g->lda);
    else
        B = p->B + size * from * (g->tb == CUBLAS_OP_N ? g->ldb : 1);
    if (size == 8)
        cblas_dgemm(CblasColMajor, to_cblas(g->ta), to_cblas(g->tb), p->by_row ? n : g->m,
                    p->by_row ? g->n : n, g->k, p->s->alpha.d, A, g->lda, B, g->ldb, p->s->beta.d,
                    C, g->ldc);
    else
        cblas_sgemm(CblasColMajor, to_cblas(g->ta), to_cblas(g->tb), p->by_row ? n : g->m,
                    p->by_row ? g->n : n, g->k, p->s->alpha.f, A, g->lda, B, g->ldb, p->s->beta.f,
                    C, g->ldc);
}

static void in_parts(const sim_gemm *g, const scalars *s, const void *A, const void *B, void *C)
{
    struct parts p = {g, s, A, B, C, g->m > g->n, 0};
    int all = p.by_row ? g->m : g->n;
    int parts = (int64_t)g->m * g->n * g->k < 1 << 18 ? 1 : all >= 1024 ? 8 : all >= 64 ? 2 : 1;
    p.width = (all + parts - 1) / parts;
    if (parts > 1) p.width = (p.width + 31) / 32 * 32;
    sim_device_share(one_part, &p, (all + p.width - 1) / p.width);
}

/* beta == 0 must not read C, which may hold NaN: OpenBLAS keeps that promise. k == 0 scales C. */
static cublasStatus_t product(const sim_gemm *g, const scalars *s, const void *A, const void *B,
                              void *C)
{
    if (g->m == 0 || g->n == 0) return CUBLAS_STATUS_SUCCESS;
    int plain_a = g->ta == CUBLAS_OP_N, plain_b = g->tb == CUBLAS_OP_N;
    A = RANGE(A,
              sim_blas_extent(plain_a ? g->m : g->k, plain_a ? g->k : g->m, g->lda,
                              sim_element_size(g->a)),
              0);
    B = RANGE(B,
              sim_blas_extent(plain_b ? g->k : g->n, plain_b ? g->n : g->k, g->ldb,
                              sim_element_size(g->b)),
              0);
    C = RANGE(C, sim_blas_extent(g->m, g->n, g->ldc, sim_element_size(g->c)), 1);
    if (!A || !B || !C) return CUBLAS_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    switch (s->type) {
    case CUDA_R_64F: in_parts(g, s, A, B, C); return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_32I:
        bytes_into_int(g, s->alpha.i, s->beta.i, A, B, C);
        return CUBLAS_STATUS_SUCCESS;
    case CUDA_R_16F:
        return narrow(g, sim_half_float(s->alpha.h), sim_half_float(s->beta.h), A, B, C);
    default:
        if (g->a != CUDA_R_32F) return narrow(g, s->alpha.f, s->beta.f, A, B, C);
        in_parts(g, s, A, B, C);
        return CUBLAS_STATUS_SUCCESS;
    }
}

/* All that can be wrong whatever the matrices are. */
static cublasStatus_t prepare(cublasHandle_t h, const sim_gemm *g, scalars *s)
{
    LIVE();
    const struct row *row = row_of(g);
    if (!row) return CUBLAS_STATUS_NOT_SUPPORTED;
    TRY(sim_gemm_shape(g->ta, g->tb, g->m, g->n, g->k, g->lda, g->ldb, g->ldc));
    /* bytes are read four at a time */
    if (g->a == CUDA_R_8I && (g->lda % 4 || g->ldb % 4)) return CUBLAS_STATUS_NOT_SUPPORTED;
    s->type = row->scalar;
    TRY(sim_blas_scalar(h, g->alpha, sim_element_size(row->scalar), &s->alpha));
    return sim_blas_scalar(h, g->beta, sim_element_size(row->scalar), &s->beta);
}

cublasStatus_t sim_gemm_one(cublasHandle_t h, const sim_gemm *g, const void *A, const void *B,
                            void *C)
{
    scalars s;
    cublasStatus_t st = prepare(h, g, &s);
    if (st != CUBLAS_STATUS_SUCCESS || g->m == 0 || g->n == 0) return st;
    if (!C && sim_element(s.type, &s.beta, 0) != 0 && h->pointer_mode == CUBLAS_POINTER_MODE_HOST)
        return CUBLAS_STATUS_INVALID_VALUE;
    return product(g, &s, A, B, C);
}

cublasStatus_t sim_gemm_strided(cublasHandle_t h, const sim_gemm *g, const void *A, long long sa,
                                const void *B, long long sb, void *C, long long sc, int count)
{
    scalars s;
    cublasStatus_t st = prepare(h, g, &s); /* a batch of 0 is checked too */
    if (st != CUBLAS_STATUS_SUCCESS) return st;
    if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    sa *= (long long)sim_element_size(g->a), sb *= (long long)sim_element_size(g->b),
        sc *= (long long)sim_element_size(g->c);
    for (int i = 0; i < count; i++)
        TRY(product(g, &s, (const char *)A + i * sa, (const char *)B + i * sb, (char *)C + i * sc));
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t sim_gemm_listed(cublasHandle_t h, const sim_gemm *g, const void *const *A,
                               const void *const *B, void *const *C, int count)
{
    scalars s;
    cublasStatus_t st = prepare(h, g, &s);
    if (st != CUBLAS_STATUS_SUCCESS) return st;
    if (count < 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (count == 0 || g->m == 0 || g->n == 0) return CUBLAS_STATUS_SUCCESS;
    A = RANGE(A, (size_t)count * sizeof *A, 0);
    B = RANGE(B, (size_t)count * sizeof *B, 0);
    C = RANGE(C, (size_t)count * sizeof *C, 0);
    if (!A || !B || !C) return CUBLAS_STATUS_SUCCESS; /* asynchronous: 700 is pending */
    for (int i = 0; i < count; i++) TRY(product(g, &s, A[i], B[i], C[i]));
    return CUBLAS_STATUS_SUCCESS;
}
