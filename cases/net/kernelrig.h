/* kernelrig.h - what the suites of kernels share: every kernel is held against its reference in
 * plain C (trainer/kernels/ref.h), in both precisions. Integers and moved values must be equal.
 * Where rounding can change a value, the bound is roundings * scale * epsilon: the scale is what
 * the reference added up in absolute values, the number of roundings is counted beside each call;
 * epsilon is twice the rounding unit, which covers second-order terms. */
#ifndef KERNELRIG_H
#define KERNELRIG_H
#include "case.h"
#include "kernels/ref.h"
#include "recovery/fragment.h"
#include <float.h>
#include <math.h>

#ifdef PT_DOUBLE
#define EPS DBL_EPSILON
#else
#define EPS FLT_EPSILON
#endif

static const int64_t sizes[] = {1, 2, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1000, 20011};
static const int channels[] = {1, 3, 8, 32, 64, 128};
#define EACH(type, x, list) for (const type *x = list; x < list + sizeof list / sizeof *list; x++)

extern pt_device D; /* after open_device */
void open_device(void);
void ran(pt_status st); /* and what it started has ended well */

/* ---- random numbers (SplitMix64): every case says where its own begin ---- */
void draw_from(uint64_t state);
uint64_t bits(void);
double between(double a, double b);
int64_t below(int64_t n);

/* ---- arrays on the host, of one element more so that none is empty; free() ---- */
void *room(int64_t n, size_t size);
#define NEW(type, n) ((type *)room(n, sizeof(type)))
real *reals(int64_t n, double a, double b);

/* ---- copies on the device ---- */
void *up_(const void *host, int64_t n, size_t size);
#define UP(host, n) up_(host, n, sizeof *(host))
/* Brings a device array down over `host` and frees it. */
void down_(void *device, void *host, int64_t n, size_t size);
#define DOWN(device, host, n) down_(device, host, n, sizeof *(host))
#define GONE(device)          pt_mem_free(&D, device)

/* An assertion for each element would cost more than the kernels do. */
#define SAME(got, want, n, what, size)                                                          \
    do {                                                                                        \
        int64_t i_ = 0, n_ = (n);                                                               \
        while (i_ < n_ && (got)[i_] == (want)[i_]) i_++;                                        \
        ck_assert_msg(i_ == n_, "%s of size %lld: [%lld] is %.17g, not %.17g", what,            \
                      (long long)(size), (long long)i_, (double)(got)[i_], (double)(want)[i_]); \
    } while (0)

/* |got - want| <= roundings * scale * EPS; without a scale, that is |want| */
void close_to(const real *got, const wide *want, const wide *scale, int64_t n, double roundings,
              const char *what, int64_t size);

#endif
