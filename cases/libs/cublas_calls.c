/* cublas_calls.c - vectors (axpy, scal, copy, dot, nrm2), handles and their settings, and what each
 * call refuses, with the codes of the cuBLAS documentation.
 *
 * Tolerance. axpy and scal round twice an element: 2 u of the magnitudes, doubled because the
 * reference in double rounds too. dot and nrm2 of n: 2 (n + 4) u of the sum of magnitudes, as for a
 * product (see cublas.c); the root halves a relative error, so nrm2 stays inside. */
#include "blas.h"

typedef struct shape {
    int n, ix, iy;
} shape;
static const shape shapes[] = {{1, 1, 1},  {2, 1, 1},   {7, 1, 1},    {7, 2, 3},   {33, 1, 5},
                               {33, 4, 1}, {129, 1, 1}, {9, -1, 1},   {9, 2, -3},  {9, -2, -1},
                               {0, 1, 1},  {-3, 1, 1},  {1027, 1, 1}, {1027, 3, 2}};

static void name_call(const char *name, int i, const shape *s)
{
    at("cublas%c%s %s n %d inc %d %d", i & 1 ? 'D' : 'S', name,
       i & 2 ? "device scalars" : "host scalars", s->n, s->ix, s->iy);
    pointers_on(i & 2);
}

START_TEST(axpy_adds_and_leaves_the_gaps)
{
    static const double alphas[] = {1, -0.75, 0, 3};
    open_handle(11);
    for (int i = 0; i < COUNT(shapes) * 16; i++) {
        const shape *s = &shapes[i / 16];
        prec p = i & 1 ? F64 : F32;
        name_call("axpy", i, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1), y = arr_new(p, span(s->n, s->iy), -1, 1);
        scalar al;
        scalar_make(&al, p, i & 2, alphas[i / 4 % 4]);
        ref r = ref_of(&y), rx = ref_of(&x);
        for (int j = 0; j < s->n; j++) {
            size_t to = nth(j, s->n, s->iy);
            double t = al.d * x.h[nth(j, s->n, s->ix)];
            r.want[to] += t;
            r.tol[to] = 4 * U(p) * (fabs(t) + fabs(y.h[to]));
        }
        OK(BOTH(p, axpy, s->n, al.p, x.dev, s->ix, y.dev, s->iy));
        expect(&y, &r, "y");
        expect(&x, &rx, "x");
        arr_free(&x), arr_free(&y), scalar_free(&al);
    }
}
END_TEST

START_TEST(scal_multiplies_and_leaves_the_gaps)
{
    static const double alphas[] = {1, -0.75, 0, 3};
    open_handle(12);
    for (int i = 0; i < COUNT(shapes) * 16; i++) {
        const shape *s = &shapes[i / 16];
        prec p = i & 1 ? F64 : F32;
        if (s->ix < 0) continue; /* not defined by the documentation */
        name_call("scal", i, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1);
        scalar al;
        scalar_make(&al, p, i & 2, alphas[i / 4 % 4]);
        ref r = ref_of(&x);
        for (int j = 0; j < s->n; j++) {
            size_t to = nth(j, s->n, s->ix);
            r.want[to] *= al.d;
            r.tol[to] = 4 * U(p) * fabs(r.want[to]);
        }
        OK(BOTH(p, scal, s->n, al.p, x.dev, s->ix));
        expect(&x, &r, "x");
        arr_free(&x), scalar_free(&al);
    }
}
END_TEST

START_TEST(copy_is_exact_and_leaves_the_gaps)
{
    open_handle(13);
    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        const shape *s = &shapes[i / 2];
        prec p = i & 1 ? F64 : F32;
        name_call("copy", i & 1, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1), y = arr_new(p, span(s->n, s->iy), -1, 1);
        ref r = ref_of(&y);
        for (int j = 0; j < s->n; j++) r.want[nth(j, s->n, s->iy)] = x.h[nth(j, s->n, s->ix)];
        OK(BOTH(p, copy, s->n, x.dev, s->ix, y.dev, s->iy));
        expect(&y, &r, "y");
        arr_free(&x), arr_free(&y);
    }
}
END_TEST

START_TEST(dot_and_nrm2_land_where_the_pointer_mode_says)
{
    open_handle(14);
    for (int i = 0; i < COUNT(shapes) * 4; i++) {
        const shape *s = &shapes[i / 4];
        prec p = i & 1 ? F64 : F32;
        name_call("dot", i, s);
        arr x = arr_new(p, span(s->n, s->ix), -1, 1), y = arr_new(p, span(s->n, s->iy), -1, 1);
        double sum = 0, size = 0, squares = 0, factor = 2 * (fabs((double)s->n) + 4) * U(p);
        for (int j = 0; j < s->n; j++) {
            double t = x.h[nth(j, s->n, s->ix)] * y.h[nth(j, s->n, s->iy)];
            sum += t, size += fabs(t);
            squares += pow(x.h[nth(j, s->n, s->ix)], 2);
        }
        scalar out; /* 99: an empty vector must write 0 */
        scalar_make(&out, p, i & 2, 99);
        OK(BOTH(p, dot, s->n, x.dev, s->ix, y.dev, s->iy, out.p));
        expect_value(scalar_value(&out, p), sum, factor * size, "dot");
        scalar_free(&out);
        name_call("nrm2", i, s);
        if (s->ix < 0) squares = 0; /* documented: 0 if n or incx is not positive */
        scalar_make(&out, p, i & 2, 99);
        OK(BOTH(p, nrm2, s->n, x.dev, s->ix, out.p));
        expect_value(scalar_value(&out, p), sqrt(squares), factor * sqrt(squares), "nrm2");
        arr_free(&x), arr_free(&y), scalar_free(&out);
    }
}
END_TEST

/* The squares overflow or vanish, the norm does neither. */
START_TEST(nrm2_survives_squares_out_of_range)
{
    static const double size[2][2] = {{0x1p100, 0x1p-100}, {0x1p900, 0x1p-900}};
    open_handle(15);
    for (int i = 0; i < 4; i++) {
        prec p = i & 1 ? F64 : F32;
        at("cublas%cnrm2 of 25 elements of %g", p ? 'D' : 'S', size[p][i >> 1]);
        arr x = arr_new(p, 25, 0, 0);
        arr_fill(&x, size[p][i >> 1]);
        scalar out;
        scalar_make(&out, p, 0, 0);
        OK(BOTH(p, nrm2, 25, x.dev, 1, out.p));
        expect_value(scalar_value(&out, p) / size[p][i >> 1], 5, 5 * 2 * 29 * U(p), "nrm2 scaled");
        arr_free(&x);
    }
}
END_TEST

#define REFUSED(call, code)                                                         \
    do {                                                                            \
        cublasStatus_t got_ = (call);                                               \
        ck_assert_msg(got_ == CUBLAS_STATUS_##code, "%s: got %s, wanted %s", #call, \
                      cublasGetStatusName(got_), "CUBLAS_STATUS_" #code);           \
    } while (0)

/* One argument wrong a row; the sizes beside it are good. */
START_TEST(gemm_refuses_bad_arguments)
{
    enum { N = CUBLAS_OP_N, T = CUBLAS_OP_T, C = CUBLAS_OP_C };
    const cublasOperation_t no = CUBLAS_OP_N;
    static const int rows[][8] = {
        /* ta tb m n k lda ldb ldc */
        {N, N, -1, 4, 5, 3, 5, 3}, {N, N, 3, -1, 5, 3, 5, 3}, {N, N, 3, 4, -1, 3, 5, 3},
        {9, N, 3, 4, 5, 9, 9, 9},  {N, 9, 3, 4, 5, 9, 9, 9},  {N, N, 3, 4, 5, 2, 5, 3},
        {T, N, 3, 4, 5, 4, 5, 3},  {C, N, 3, 4, 5, 4, 5, 3},  {N, N, 3, 4, 5, 3, 4, 3},
        {N, T, 3, 4, 5, 3, 3, 3},  {N, C, 3, 4, 5, 3, 3, 3},  {N, N, 3, 4, 5, 3, 5, 2},
        {N, N, 0, 4, 5, 0, 5, 1},  {N, N, 3, 4, 0, 3, 0, 3},  {N, N, 0, 4, 5, 1, 5, 0}};
    open_handle(16);
    for (int i = 0; i < COUNT(rows) * 2; i++) {
        const int *q = rows[i / 2];
        prec p = i & 1 ? F64 : F32;
        arr a = arr_new(p, 100, -1, 1);
        scalar one;
        scalar_make(&one, p, 0, 1);
        ref r = ref_of(&a);
        cublasStatus_t got[2];
        got[0] = BOTH(p, gemm, (cublasOperation_t)q[0], (cublasOperation_t)q[1], q[2], q[3], q[4],
                      one.p, a.dev, q[5], a.dev, q[6], one.p, a.dev, q[7]);
        got[1] = BOTH(p, gemmStridedBatched, (cublasOperation_t)q[0], (cublasOperation_t)q[1], q[2],
                      q[3], q[4], one.p, a.dev, q[5], 0, a.dev, q[6], 0, one.p, a.dev, q[7], 0, 1);
        for (int k = 0; k < 2; k++)
            ck_assert_msg(got[k] == CUBLAS_STATUS_INVALID_VALUE,
                          "gemm%s %s ops %d %d m %d n %d k %d ld %d %d %d: got %s, wanted "
                          "CUBLAS_STATUS_INVALID_VALUE",
                          k ? "StridedBatched" : "", PREC_NAME(p), q[0], q[1], q[2], q[3], q[4],
                          q[5], q[6], q[7], cublasGetStatusName(got[k]));
        expect(&a, &r, "C after a refusal");
        arr_free(&a);
    }
    arr a = arr_new(F32, 100, -1, 1);
    float one = 1;
    float *d = a.dev;
    REFUSED(cublasSgemm(handle, no, no, 2, 2, 2, NULL, d, 2, d, 2, &one, d, 2), INVALID_VALUE);
    REFUSED(cublasSgemm(handle, no, no, 2, 2, 2, &one, d, 2, d, 2, NULL, d, 2), INVALID_VALUE);
    REFUSED(cublasSgemm(handle, no, no, 2, 2, 2, &one, d, 2, d, 2, &one, NULL, 2), INVALID_VALUE);
    REFUSED(cublasSgemmStridedBatched(handle, no, no, 2, 2, 2, &one, d, 2, 0, d, 2, 0, &one, d, 2,
                                      0, -1),
            INVALID_VALUE);
    REFUSED(cublasSgemmStridedBatched(handle, no, no, -2, 2, 2, &one, d, 2, 0, d, 2, 0, &one, d, 2,
                                      0, 0),
            INVALID_VALUE);
    CUDA(cudaDeviceSynchronize());
    arr_free(&a);
}
END_TEST

START_TEST(vectors_refuse_bad_arguments)
{
    open_handle(17);
    arr a = arr_new(F32, 100, -1, 1);
    float one = 1, *d = a.dev, *none = NULL;
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, -1, 2, &one, d, 2, d, 1, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, -1, &one, d, 2, d, 1, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, d, 1, d, 1, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, d, 2, d, 0, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, &one, d, 2, d, 1, &one, d, 0), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, 9, 2, 2, &one, d, 2, d, 1, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSgemv(handle, CUBLAS_OP_N, 2, 2, none, d, 2, d, 1, &one, d, 1), INVALID_VALUE);
    REFUSED(cublasSnrm2(handle, 2, d, 1, none), INVALID_VALUE);
    REFUSED(cublasSdot(handle, 2, d, 1, d, 1, none), INVALID_VALUE);
    CUDA(cudaDeviceSynchronize());
}
END_TEST

/* Said before anything else is looked at. */
START_TEST(without_a_handle_nothing_is_done)
{
    float x = 0;
    cudaStream_t stream;
    cublasPointerMode_t pointers;
    cublasMath_t math;
    at("no handle");
    REFUSED(cublasCreate(NULL), INVALID_VALUE);
    REFUSED(cublasDestroy(NULL), NOT_INITIALIZED);
    REFUSED(cublasSetStream(NULL, NULL), NOT_INITIALIZED);
    REFUSED(cublasGetStream(NULL, &stream), NOT_INITIALIZED);
    REFUSED(cublasSetPointerMode(NULL, CUBLAS_POINTER_MODE_HOST), NOT_INITIALIZED);
    REFUSED(cublasGetPointerMode(NULL, &pointers), NOT_INITIALIZED);
    REFUSED(cublasSetMathMode(NULL, CUBLAS_DEFAULT_MATH), NOT_INITIALIZED);
    REFUSED(cublasGetMathMode(NULL, &math), NOT_INITIALIZED);
    REFUSED(cublasSetWorkspace(NULL, NULL, 0), NOT_INITIALIZED);
    REFUSED(cublasSgemm(NULL, 0, 0, -1, 1, 1, &x, &x, 1, &x, 1, &x, &x, 1), NOT_INITIALIZED);
    REFUSED(cublasSgemmStridedBatched(NULL, 0, 0, 1, 1, 1, &x, &x, 1, 1, &x, 1, 1, &x, &x, 1, 1, 0),
            NOT_INITIALIZED);
    REFUSED(
        cublasSgemmStridedBatched(NULL, 0, 0, 1, 1, 1, &x, &x, 1, 1, &x, 1, 1, &x, &x, 1, 1, -1),
        NOT_INITIALIZED);
    REFUSED(cublasGemmEx(NULL, 0, 0, 1, 1, 1, &x, &x, CUDA_R_32F, 1, &x, CUDA_R_32F, 1, &x, &x,
                         CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            NOT_INITIALIZED);
    REFUSED(cublasSgemv(NULL, 0, 1, 1, &x, &x, 1, &x, 1, &x, &x, 1), NOT_INITIALIZED);
    REFUSED(cublasSaxpy(NULL, 1, &x, &x, 1, &x, 1), NOT_INITIALIZED);
    REFUSED(cublasSscal(NULL, 1, &x, &x, 1), NOT_INITIALIZED);
    REFUSED(cublasScopy(NULL, 1, &x, 1, &x, 1), NOT_INITIALIZED);
    REFUSED(cublasSdot(NULL, 1, &x, 1, &x, 1, &x), NOT_INITIALIZED);
    REFUSED(cublasSnrm2(NULL, 1, &x, 1, &x), NOT_INITIALIZED);
}
END_TEST

START_TEST(settings_are_kept_and_bad_ones_refused)
{
    cudaStream_t stream, got;
    cublasPointerMode_t pointers;
    cublasMath_t math;
    int version = 0;
    open_handle(18);
    at("settings");
    OK(cublasGetStream(handle, &got));
    ck_assert_ptr_null(got);
    CUDA(cudaStreamCreate(&stream));
    OK(cublasSetStream(handle, stream));
    OK(cublasGetStream(handle, &got));
    ck_assert_ptr_eq(got, stream);
    OK(cublasSetStream(handle, NULL));
    OK(cublasGetPointerMode(handle, &pointers));
    ck_assert_int_eq(pointers, CUBLAS_POINTER_MODE_HOST);
    OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    REFUSED(cublasSetPointerMode(handle, (cublasPointerMode_t)7), INVALID_VALUE);
    OK(cublasGetPointerMode(handle, &pointers));
    ck_assert_int_eq(pointers, CUBLAS_POINTER_MODE_DEVICE);
    OK(cublasGetMathMode(handle, &math));
    ck_assert_int_eq(math, CUBLAS_DEFAULT_MATH);
    OK(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
    REFUSED(cublasSetMathMode(handle, (cublasMath_t)999), INVALID_VALUE);
    OK(cublasGetMathMode(handle, &math));
    ck_assert_int_eq(math, CUBLAS_PEDANTIC_MATH);
    void *room;
    CUDA(cudaMalloc(&room, 1 << 20)); /* aligned to 256 at least */
    OK(cublasSetWorkspace(handle, room, 1 << 20));
    REFUSED(cublasSetWorkspace(handle, (char *)room + 8, 1 << 10), INVALID_VALUE);
    OK(cublasGetVersion(handle, &version));
    ck_assert_int_eq(version / 10000, CUBLAS_VER_MAJOR);
    ck_assert_str_eq(cublasGetStatusName(CUBLAS_STATUS_ALLOC_FAILED), "CUBLAS_STATUS_ALLOC_FAILED");
    ck_assert_str_ne(cublasGetStatusString(CUBLAS_STATUS_ALLOC_FAILED),
                     cublasGetStatusString(CUBLAS_STATUS_SUCCESS));
    OK(cublasDestroy(handle));
}
END_TEST

static const case_entry cases[] = {
#include "cublas_calls.def"
};
CASE_MAIN("cublas_calls")
