/* libs.h - what the conformance cases of cuBLAS and cuDNN share: arrays that lie both on the
 * device (float or double) and on the host (double), and a comparison that prints what it needs to
 * be repeated. Only public CUDA headers: the cases mean the same against NVIDIA's libraries. */
#ifndef CASES_LIBS_H
#define CASES_LIBS_H
#include "case.h"
#include <cuda_runtime_api.h>
#include <math.h>

typedef enum prec { F32, F64 } prec;
#define PREC_NAME(p) ((p) == F32 ? "f32" : "f64")
/* unit roundoff; smallest normal number, below which a device may flush to zero */
#define U(p)    ((p) == F32 ? 0x1p-24 : 0x1p-53)
#define TINY(p) ((p) == F32 ? 0x1p-126 : 0x1p-1022)
#define SLACK   5 /* elements behind every array, which nothing may write */

typedef struct arr {
    prec p;
    size_t n; /* with the slack */
    void *dev;
    double *h; /* what was last pushed or pulled, exactly */
} arr;

/* What an array must hold: want[i] within tol[i]; tol 0 asks for the very value. */
typedef struct ref {
    size_t n;
    double *want, *tol;
} ref;

void seed(unsigned s);
double uniform(double lo, double hi);
double rounded(prec p, double x);

/* n elements and the slack, uniform in [lo, hi], on both sides. */
arr arr_new(prec p, size_t n, double lo, double hi);
void arr_fill(arr *a, double value); /* on both sides */
void arr_push(arr *a);               /* h, rounded, to the device */
void arr_pull(arr *a);
void arr_free(arr *a);

ref ref_of(const arr *a); /* all of a as it is, exactly */
void ref_free(ref *r);

/* Names the call under test for messages, as printf. */
void at(const char *format, ...) __attribute__((format(printf, 1, 2)));
extern char where[400];

/* Pulls a and compares; frees r. */
void expect(arr *a, ref *r, const char *what);
void expect_value(double got, double want, double tol, const char *what);

#define CUDA(call)                                                                            \
    do {                                                                                      \
        cudaError_t e_ = (call);                                                              \
        ck_assert_msg(e_ == cudaSuccess, "%s: %s: %s", where, #call, cudaGetErrorString(e_)); \
    } while (0)

#endif
