/* libs.c - arrays on both sides, references and comparison. See libs.h. */
#include "libs.h"
#include <stdarg.h>
#include <stdint.h>

char where[400];
static uint64_t state = 1;

void seed(unsigned s)
{
    state = s * 0x9e3779b97f4a7c15u + 1;
}

double uniform(double lo, double hi)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return lo + (hi - lo) * (double)(state >> 11) * 0x1p-53;
}

double rounded(prec p, double x)
{
    return p == F32 ? (double)(float)x : x;
}

static size_t bytes_of(const arr *a)
{
    return a->n * (a->p == F32 ? sizeof(float) : sizeof(double));
}

arr arr_new(prec p, size_t n, double lo, double hi)
{
    arr a = {.p = p, .n = n + SLACK};
    a.h = malloc(a.n * sizeof *a.h);
    ck_assert_ptr_nonnull(a.h);
    CUDA(cudaMalloc(&a.dev, bytes_of(&a)));
    for (size_t i = 0; i < a.n; i++) a.h[i] = uniform(lo, hi);
    arr_push(&a);
    return a;
}

void arr_fill(arr *a, double value)
{
    for (size_t i = 0; i < a->n; i++) a->h[i] = value;
    arr_push(a);
}

void arr_push(arr *a)
{
    float *narrow = malloc(a->n * sizeof *narrow);
    ck_assert_ptr_nonnull(narrow);
    for (size_t i = 0; i < a->n; i++) {
        a->h[i] = rounded(a->p, a->h[i]);
        narrow[i] = (float)a->h[i];
    }
    const void *from = a->p == F32 ? (const void *)narrow : a->h;
    CUDA(cudaMemcpy(a->dev, from, bytes_of(a), cudaMemcpyHostToDevice));
    free(narrow);
}

void arr_pull(arr *a)
{
    float *narrow = malloc(a->n * sizeof *narrow);
    ck_assert_ptr_nonnull(narrow);
    void *to = a->p == F32 ? (void *)narrow : a->h;
    CUDA(cudaMemcpy(to, a->dev, bytes_of(a), cudaMemcpyDeviceToHost));
    for (size_t i = 0; a->p == F32 && i < a->n; i++) a->h[i] = narrow[i];
    free(narrow);
}

void arr_free(arr *a)
{
    CUDA(cudaFree(a->dev));
    free(a->h);
}

ref ref_of(const arr *a)
{
    ref r = {a->n, malloc(a->n * sizeof(double)), calloc(a->n, sizeof(double))};
    ck_assert(r.want && r.tol);
    memcpy(r.want, a->h, a->n * sizeof(double));
    return r;
}

void ref_free(ref *r)
{
    free(r->want);
    free(r->tol);
}

void at(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(where, sizeof where, format, ap);
    va_end(ap);
}

/* NaN wanted is NaN got; a NaN never passes for a number, whatever the tolerance. */
static int close_enough(double got, double want, double tol)
{
    if (isnan(want)) return isnan(got);
    return got == want || fabs(got - want) <= tol;
}

void expect_value(double got, double want, double tol, const char *what)
{
    ck_assert_msg(close_enough(got, want, tol), "%s: %s: got %.17g, wanted %.17g, allowed %.3g",
                  where, what, got, want, tol);
}

void expect(arr *a, ref *r, const char *what)
{
    arr_pull(a);
    ck_assert(a->n == r->n);
    for (size_t i = 0; i < a->n; i++)
        ck_assert_msg(close_enough(a->h[i], r->want[i], r->tol[i]),
                      "%s: %s[%zu] of %zu%s: got %.17g, wanted %.17g, allowed %.3g", where, what, i,
                      a->n - SLACK, r->tol[i] == 0 ? " (to be left alone, or exact)" : "", a->h[i],
                      r->want[i], r->tol[i]);
    ref_free(r);
}
