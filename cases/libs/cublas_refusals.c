/* cublas_refusals.c - what the calls on matrices refuse, with the codes of the cuBLAS
 * documentation, and batches of vectors and matrices. */
#include "blas.h"

/* Each with all arguments right, and the named ones wrong: order, triangle, stride, ld. */
START_TEST(matrix_calls_refuse_bad_arguments)
{
    const cublasFillMode_t lo = CUBLAS_FILL_MODE_LOWER, no_fill = (cublasFillMode_t)9;
    const cublasOperation_t no = CUBLAS_OP_N, no_op = (cublasOperation_t)9;
    const cublasDiagType_t nu = CUBLAS_DIAG_NON_UNIT, no_diag = (cublasDiagType_t)9;
    const cublasSideMode_t le = CUBLAS_SIDE_LEFT, no_side = (cublasSideMode_t)9;
    open_handle(86);
    pointers_on(0);
    arr a = arr_new(F32, 64, -1, 1);
    float one = 1, *d = a.dev, *e = d + 16, *f = d + 32, *none = NULL;
    at("refused");
    ref r = ref_of(&a);
#define BAD(call)                                                               \
    do {                                                                        \
        cublasStatus_t got_ = (call);                                           \
        ck_assert_msg(got_ == CUBLAS_STATUS_INVALID_VALUE, "%s: got %s", #call, \
                      cublasGetStatusName(got_));                               \
    } while (0)
    BAD(cublasSger(handle, -1, 2, &one, d, 1, d, 1, e, 2));
    BAD(cublasSger(handle, 2, 2, &one, d, 0, d, 1, e, 2));
    BAD(cublasSger(handle, 2, 2, &one, d, 1, d, 1, e, 1));
    BAD(cublasSger(handle, 2, 2, none, d, 1, d, 1, e, 2));
    BAD(cublasSsymv(handle, no_fill, 2, &one, d, 2, d, 1, &one, e, 1));
    BAD(cublasSsymv(handle, lo, -2, &one, d, 2, d, 1, &one, e, 1));
    BAD(cublasSsymv(handle, lo, 2, &one, d, 1, d, 1, &one, e, 1));
    BAD(cublasSsymv(handle, lo, 2, &one, d, 2, d, 1, &one, e, 0));
    BAD(cublasSsyr(handle, lo, 2, &one, d, 0, e, 2));
    BAD(cublasSsyr2(handle, no_fill, 2, &one, d, 1, d, 1, e, 2));
    BAD(cublasStrmv(handle, lo, no_op, nu, 2, d, 2, e, 1));
    BAD(cublasStrsv(handle, lo, no, no_diag, 2, d, 2, e, 1));
    BAD(cublasStrsv(handle, lo, no, nu, 2, d, 1, e, 1));
    BAD(cublasStrsv(handle, lo, no, nu, 2, d, 2, e, 0));
    BAD(cublasSsymm(handle, no_side, lo, 2, 2, &one, d, 2, e, 2, &one, f, 2));
    BAD(cublasSsymm(handle, le, lo, 2, 2, &one, d, 1, e, 2, &one, f, 2));
    BAD(cublasSsymm(handle, le, lo, 2, 2, &one, d, 2, e, 2, &one, f, 1));
    BAD(cublasSsymm(handle, CUBLAS_SIDE_RIGHT, lo, 1, 3, &one, d, 2, e, 1, &one, f, 1));
    BAD(cublasSsyrk(handle, no_fill, no, 2, 2, &one, d, 2, &one, e, 2));
    BAD(cublasSsyrk(handle, lo, no_op, 2, 2, &one, d, 2, &one, e, 2));
    BAD(cublasSsyrk(handle, lo, no, 2, -2, &one, d, 2, &one, e, 2));
    BAD(cublasSsyrk(handle, lo, CUBLAS_OP_T, 2, 5, &one, d, 4, &one, e, 2));
    BAD(cublasSsyr2k(handle, lo, no, 3, 2, &one, d, 3, e, 2, &one, f, 3));
    BAD(cublasSsyrkx(handle, lo, no, 3, 2, &one, d, 3, e, 3, none, f, 3));
    BAD(cublasStrsm(handle, le, lo, no, nu, 2, -2, &one, d, 2, e, 2));
    BAD(cublasStrsm(handle, le, lo, no, nu, 2, 2, &one, d, 1, e, 2));
    BAD(cublasStrsm(handle, le, lo, no, nu, 2, 2, &one, d, 2, e, 1));
    BAD(cublasStrsm(handle, le, lo, no, nu, 2, 2, none, d, 2, e, 2));
    BAD(cublasStrmm(handle, le, lo, no, nu, 2, 2, &one, d, 2, e, 3, e, 2)); /* in place, other ld */
    BAD(cublasStrsmBatched(handle, le, lo, no, nu, 2, 2, &one, NULL, 2, NULL, 2, -1));
    BAD(cublasSgeam(handle, no, no, 2, 2, &one, d, 1, &one, e, 2, f, 2));
    BAD(cublasSgeam(handle, no_op, no, 2, 2, &one, d, 2, &one, e, 2, f, 2));
    BAD(cublasSgeam(handle, CUBLAS_OP_T, no, 2, 2, &one, f, 2, &one, e, 2, f, 2)); /* in place */
    BAD(cublasSgeam(handle, no, no, 2, 2, &one, f, 3, &one, e, 2, f, 2));
    BAD(cublasSdgmm(handle, no_side, 2, 2, d, 2, e, 1, f, 2));
    BAD(cublasSdgmm(handle, le, 2, 2, d, 1, e, 1, f, 2));
    BAD(cublasSgemvStridedBatched(handle, no, 2, 2, &one, d, 2, 4, e, 1, 2, &one, f, 1, 2, -1));
    BAD(cublasSgemvBatched(handle, no, 2, 2, &one, NULL, 1, NULL, 1, &one, NULL, 1, 1));
    BAD(cublasSgemmBatched(handle, no, no, 2, 2, 2, &one, NULL, 2, NULL, 2, &one, NULL, 2, -1));
    ck_assert_int_eq(cublasSger(NULL, 2, 2, &one, d, 1, d, 1, e, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    ck_assert_int_eq(cublasStrsm(NULL, le, lo, no, nu, 2, 2, &one, d, 2, e, 2),
                     CUBLAS_STATUS_NOT_INITIALIZED);
    ck_assert_int_eq(cublasSdgmm(NULL, le, 2, 2, d, 2, e, 1, f, 2), CUBLAS_STATUS_NOT_INITIALIZED);
    expect(&a, &r, "the array after refusals");
    CUDA(cudaDeviceSynchronize());
    arr_free(&a);
}
END_TEST

/* A matrix and vectors at a stride, and by lists of addresses, with beta 0 over NaN; every other
 * entry is one of them, in the 64-bit form. */
START_TEST(batches_do_each_of_their_members)
{
    enum { SIZE = 3, BATCHES = 3 };
    open_handle(87);
    for (int i = 0; i < 16; i++) {
        prec p = i & 1 ? F64 : F32;
        int t = i >> 1 & 1, listed = i >> 2 & 1, wide = i >> 3 & 1, m = 5, n = SIZE;
        int nx = t ? m : n, ny = t ? n : m;
        cublasOperation_t op = t ? CUBLAS_OP_T : CUBLAS_OP_N;
        at("gemv batch %s trans %d listed %d wide %d", PREC_NAME(p), t, listed, wide);
        arr a = arr_new(p, 20 * BATCHES, -1, 1), x = arr_new(p, 6 * BATCHES, -1, 1);
        arr y = arr_new(p, 6 * BATCHES, NAN, NAN);
        scalar al, be;
        scalar_make(&al, p, 0, -2);
        scalar_make(&be, p, 0, 0);
        ref r = ref_of(&y);
        for (int b = 0; b < BATCHES; b++)
            for (int o = 0; o < ny; o++) {
                double sum = 0, size = 0;
                for (int l = 0; l < nx; l++) {
                    double v = a.h[b * 20 + (t ? o * m + l : l * m + o)] * x.h[b * 6 + l];
                    sum += v, size += fabs(v);
                }
                r.want[b * 6 + o] = -2 * sum;
                r.tol[b * 6 + o] = 4 * (nx + 4) * U(p) * size;
            }
        pointers_on(0);
        if (listed) {
            void *list[3][BATCHES], **dev;
            size_t e = p == F32 ? 4 : 8;
            for (size_t b = 0; b < BATCHES; b++) {
                list[0][b] = (char *)a.dev + b * 20 * e;
                list[1][b] = (char *)x.dev + b * 6 * e;
                list[2][b] = (char *)y.dev + b * 6 * e;
            }
            CUDA(cudaMalloc((void **)&dev, sizeof list));
            CUDA(cudaMemcpy(dev, list, sizeof list, cudaMemcpyHostToDevice));
            if (wide) /* the same as products with one column */
                OK(BOTH(p, gemmBatched_64, op, CUBLAS_OP_N, ny, 1, nx, al.p, (void *)dev, m,
                        (void *)(dev + BATCHES), nx, be.p, (void *)(dev + 2 * BATCHES), ny,
                        BATCHES));
            else
                OK(BOTH(p, gemvBatched, op, m, n, al.p, (void *)dev, m, (void *)(dev + BATCHES), 1,
                        be.p, (void *)(dev + 2 * BATCHES), 1, BATCHES));
            CUDA(cudaFree(dev));
        } else if (wide)
            OK(BOTH(p, gemvStridedBatched_64, op, m, n, al.p, a.dev, m, 20, x.dev, 1, 6, be.p,
                    y.dev, 1, 6, BATCHES));
        else
            OK(BOTH(p, gemvStridedBatched, op, m, n, al.p, a.dev, m, 20, x.dev, 1, 6, be.p, y.dev,
                    1, 6, BATCHES));
        expect(&y, &r, "y");
        arr_free(&a), arr_free(&x), arr_free(&y), scalar_free(&al), scalar_free(&be);
    }
}
END_TEST

/* Each _64 call, on the same numbers, leaves the same bits as the other. */
START_TEST(the_64_bit_variants_do_the_same)
{
    enum { ROOM = 96 };
    const cublasFillMode_t up = CUBLAS_FILL_MODE_UPPER;
    const cublasOperation_t no = CUBLAS_OP_N, tr = CUBLAS_OP_T;
    const cublasDiagType_t nu = CUBLAS_DIAG_NON_UNIT;
    const cublasSideMode_t le = CUBLAS_SIDE_LEFT;
    open_handle(88);
    float one = 1, two = 2, result[2];
    arr a[2] = {arr_new(F32, ROOM, 0.5, 1), arr_new(F32, ROOM, 0, 0)};
    float *d;
    pointers_on(0);
#define SAME(name, ...)                                                                  \
    do {                                                                                 \
        at("cublasS" #name "_64");                                                       \
        memcpy(a[1].h, a[0].h, a[0].n * sizeof(double));                                 \
        arr_push(&a[1]);                                                                 \
        d = a[0].dev;                                                                    \
        OK(cublasS##name(handle, __VA_ARGS__));                                          \
        d = a[1].dev;                                                                    \
        result[0] = result[1];                                                           \
        OK(cublasS##name##_64(handle, __VA_ARGS__));                                     \
        arr_pull(&a[0]);                                                                 \
        ref r_ = ref_of(&a[0]);                                                          \
        expect(&a[1], &r_, "the array");                                                 \
        ck_assert_msg(result[0] == result[1], "%s: %g and %g", where, (double)result[0], \
                      (double)result[1]);                                                \
        for (int i_ = 0; i_ < ROOM; i_++) a[0].h[i_] = uniform(0.5, 1);                  \
        arr_push(&a[0]);                                                                 \
    } while (0)
    result[0] = result[1] = 0;
    SAME(axpy, 5, &two, d, 2, d + 20, 3);
    SAME(scal, 5, &two, d, 2);
    SAME(copy, 5, d, 2, d + 20, 3);
    SAME(swap, 5, d, 2, d + 20, 3);
    SAME(dot, 5, d, 2, d + 20, 3, &result[1]);
    SAME(nrm2, 5, d, 2, &result[1]);
    SAME(asum, 5, d, 2, &result[1]);
    SAME(rot, 5, d, 2, d + 20, 3, &one, &two);
    SAME(gemv, tr, 4, 3, &two, d, 5, d + 20, 2, &one, d + 40, 3);
    SAME(ger, 4, 3, &two, d, 2, d + 20, 1, d + 40, 5);
    SAME(symv, up, 4, &two, d, 5, d + 20, 2, &one, d + 40, 3);
    SAME(syr, up, 4, &two, d, 2, d + 40, 5);
    SAME(syr2, up, 4, &two, d, 2, d + 20, 1, d + 40, 5);
    SAME(trmv, up, tr, nu, 4, d, 5, d + 40, 2);
    SAME(trsv, up, tr, nu, 4, d, 5, d + 40, 2);
    SAME(gemm, no, tr, 4, 3, 2, &two, d, 5, d + 20, 4, &one, d + 40, 6);
    SAME(gemmStridedBatched, no, tr, 4, 3, 2, &two, d, 4, 1, d + 20, 4, 2, &one, d + 40, 4, 13, 2);
    SAME(symm, le, up, 4, 3, &two, d, 5, d + 24, 5, &one, d + 48, 6);
    SAME(syrk, up, no, 4, 3, &two, d, 5, &one, d + 48, 6);
    SAME(syr2k, up, no, 4, 3, &two, d, 5, d + 24, 6, &one, d + 48, 6);
    SAME(syrkx, up, no, 4, 3, &two, d, 5, d + 24, 6, &one, d + 48, 6);
    SAME(trmm, le, up, no, nu, 4, 3, &two, d, 5, d + 24, 6, d + 48, 7);
    SAME(trsm, le, up, no, nu, 4, 3, &two, d, 5, d + 24, 6);
    SAME(geam, no, tr, 4, 3, &two, d, 5, &one, d + 24, 6, d + 48, 7);
    SAME(dgmm, le, 4, 3, d, 5, d + 24, 2, d + 48, 7);
    arr_free(&a[0]), arr_free(&a[1]);
}
END_TEST

static const case_entry cases[] = {
#include "cublas_refusals.def"
};
CASE_MAIN("cublas_refusals")
