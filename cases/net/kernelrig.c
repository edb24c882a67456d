/* kernelrig.c - the device, the random numbers and the arrays of the suites of kernels. */
#include "kernelrig.h"

pt_device D;

void open_device(void)
{
    ck_assert_msg(pt_device_open(PT_ALLOC_DIRECT, &D) == PT_OK, "%s", pt_error_last()->message);
}

void ran(pt_status st)
{
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
    ck_assert_int_eq(pt_device_sync(&D), PT_OK);
}

static uint64_t state;

void draw_from(uint64_t from)
{
    state = from;
}

uint64_t bits(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double between(double a, double b)
{
    return a + (b - a) * (double)(bits() >> 11) / 9007199254740992.0;
}

int64_t below(int64_t n)
{
    return (int64_t)(bits() % (uint64_t)n);
}

void *room(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size);
    ck_assert_ptr_nonnull(p);
    return p;
}

real *reals(int64_t n, double a, double b)
{
    real *x = NEW(real, n);
    for (int64_t i = 0; i < n; i++) x[i] = (real)between(a, b);
    return x;
}

void *up_(const void *host, int64_t n, size_t size)
{
    void *p;
    ran(pt_mem_alloc(&D, (size_t)n + 1, size, "case", &p));
    ran(pt_copy_up(&D, p, host, (size_t)n * size));
    return p;
}

void down_(void *device, void *host, int64_t n, size_t size)
{
    ran(pt_copy_down(&D, host, device, (size_t)n * size));
    pt_mem_free(&D, device);
}

void close_to(const real *got, const wide *want, const wide *scale, int64_t n, double roundings,
              const char *what, int64_t size)
{
    for (int64_t i = 0; i < n; i++) {
        wide bound = (wide)roundings * (scale ? scale[i] : fabsl(want[i])) * EPS;
        if (fabsl(got[i] - want[i]) <= bound) continue;
        ck_abort_msg("%s of size %lld: [%lld] is %.17g, not %.17Lg; off by %.3Lg, bound %.3Lg",
                     what, (long long)size, (long long)i, (double)got[i], want[i],
                     fabsl(got[i] - want[i]), bound);
    }
}
