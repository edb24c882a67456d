/* halfref.c - see halfref.h */
#include "halfref.h"
#include <math.h>

static mpfr_t A, B, C, R;

/* Emulates the type: R has its precision, then its range and its subnormal numbers are applied. */
static void start(int m)
{
    static int made;
    if (!made) {
        mpfr_inits2(64, A, B, C, (mpfr_ptr)0);
        mpfr_init2(R, 11);
        made = 1;
    }
    mpfr_set_prec(R, m + 1);
}

static unsigned finish(int inexact, int m, mpfr_rnd_t r)
{
    mpfr_exp_t low = mpfr_get_emin(), high = mpfr_get_emax();
    if (mpfr_nan_p(R)) return REF_NAN;
    int bias = (1 << (14 - m)) - 1;
    mpfr_set_emin(2 - bias - m); /* the smallest number is 0.5 * 2^emin */
    mpfr_set_emax(bias + 1);
    inexact = mpfr_check_range(R, inexact, r);
    mpfr_subnormalize(R, inexact, r);
    unsigned h = ref_bits(mpfr_get_d(R, MPFR_RNDN), m);
    mpfr_set_emin(low);
    mpfr_set_emax(high);
    return h;
}

double ref_value(unsigned h, int m)
{
    int e = (int)(h >> m) & ((1 << (15 - m)) - 1), bias = (1 << (14 - m)) - 1;
    double low = h & ((1u << m) - 1), x;
    if (e == 2 * bias + 1)
        x = low ? NAN : INFINITY;
    else
        x = e ? ldexp(ldexp(1, m) + low, e - bias - m) : ldexp(low, 1 - bias - m);
    return h & 0x8000 ? -x : x;
}

int ref_isnan(unsigned h, int m)
{
    return isnan(ref_value(h, m));
}

unsigned ref_bits(double x, int m)
{
    int e, bias = (1 << (14 - m)) - 1;
    unsigned sign = signbit(x) ? 0x8000 : 0;
    if (isnan(x)) return REF_NAN;
    if (isinf(x)) return sign | ((2u * (unsigned)bias + 1) << m);
    if (x == 0) return sign;
    double f = frexp(fabs(x), &e); /* f in [0.5, 1) */
    if (e - 1 < 1 - bias) return sign | (unsigned)ldexp(fabs(x), bias - 1 + m);
    return sign | (unsigned)(e - 1 + bias) << m | (unsigned)ldexp(2 * f - 1, m);
}

unsigned ref_add(unsigned a, unsigned b, int m)
{
    start(m);
    mpfr_set_d(A, ref_value(a, m), MPFR_RNDN);
    mpfr_set_d(B, ref_value(b, m), MPFR_RNDN);
    return finish(mpfr_add(R, A, B, MPFR_RNDN), m, MPFR_RNDN);
}

unsigned ref_mul(unsigned a, unsigned b, int m)
{
    start(m);
    mpfr_set_d(A, ref_value(a, m), MPFR_RNDN);
    mpfr_set_d(B, ref_value(b, m), MPFR_RNDN);
    return finish(mpfr_mul(R, A, B, MPFR_RNDN), m, MPFR_RNDN);
}

unsigned ref_fma(unsigned a, unsigned b, unsigned c, int m)
{
    start(m);
    mpfr_set_d(A, ref_value(a, m), MPFR_RNDN);
    mpfr_set_d(B, ref_value(b, m), MPFR_RNDN);
    mpfr_set_d(C, ref_value(c, m), MPFR_RNDN);
    return finish(mpfr_fma(R, A, B, C, MPFR_RNDN), m, MPFR_RNDN);
}

unsigned ref_round(double x, int m, mpfr_rnd_t r)
{
    start(m);
    return finish(mpfr_set_d(R, x, r), m, r);
}

unsigned ref_integer(unsigned long long u, int negative, int m, mpfr_rnd_t r)
{
    start(m);
    mpfr_set_ui(A, u, MPFR_RNDN); /* 64 bits: exact */
    if (negative) mpfr_neg(A, A, MPFR_RNDN);
    return finish(mpfr_set(R, A, r), m, r);
}

unsigned ref_whole(unsigned h, int m, mpfr_rnd_t r)
{
    start(m);
    mpfr_set_d(A, ref_value(h, m), MPFR_RNDN);
    mpfr_rint(B, A, r);
    return ref_bits(mpfr_get_d(B, MPFR_RNDN), m);
}

unsigned long long ref_to_integer(unsigned h, int m, mpfr_rnd_t r, int bits, int sign)
{
    start(m);
    mpfr_set_d(A, ref_value(h, m), MPFR_RNDN);
    if (mpfr_nan_p(A)) return bits == 64 ? 1ull << 63 : 0;
    mpfr_rint(B, A, r);
    if (!sign) {
        mpfr_set_ui_2exp(C, 1, bits, MPFR_RNDN);
        mpfr_sub_ui(C, C, 1, MPFR_RNDN);
        return mpfr_sgn(B) <= 0 ? 0 : mpfr_get_ui(mpfr_cmp(B, C) < 0 ? B : C, MPFR_RNDN);
    }
    mpfr_set_si_2exp(C, -1, bits - 1, MPFR_RNDN);
    if (mpfr_cmp(B, C) <= 0) return (unsigned long long)mpfr_get_si(C, MPFR_RNDN);
    mpfr_add_ui(C, C, 1, MPFR_RNDN);
    mpfr_neg(C, C, MPFR_RNDN);
    return (unsigned long long)mpfr_get_si(mpfr_cmp(B, C) < 0 ? B : C, MPFR_RNDN);
}

unsigned ref_exp2(double x, int m)
{
    start(m);
    mpfr_set_d(A, x, MPFR_RNDN);
    return finish(mpfr_exp2(R, A, MPFR_RNDN), m, MPFR_RNDN);
}

unsigned ref_tanh(double x, int m)
{
    start(m);
    mpfr_set_d(A, x, MPFR_RNDN);
    return finish(mpfr_tanh(R, A, MPFR_RNDN), m, MPFR_RNDN);
}
