/* halfref.h - f16 and bf16 by GNU MPFR, rounded once: what the cases of half precision hold the
 * translation against. m: bits behind the point, 10 of f16 and 7 of bf16. */
#ifndef CASES_PTX_HALFREF_H
#define CASES_PTX_HALFREF_H
#include <mpfr.h>

#define REF_NAN 0x7fffu

#ifdef __cplusplus
extern "C" {
#endif

double ref_value(unsigned h, int m);
unsigned ref_bits(double exact, int m); /* of a value that the type has */
int ref_isnan(unsigned h, int m);
unsigned ref_add(unsigned a, unsigned b, int m);
unsigned ref_mul(unsigned a, unsigned b, int m);
unsigned ref_fma(unsigned a, unsigned b, unsigned c, int m);
unsigned ref_round(double x, int m, mpfr_rnd_t r);
unsigned ref_integer(unsigned long long u, int negative, int m, mpfr_rnd_t r);
/* to a whole number, as the type has it or as an integer of `bits`: clamped, NaN 0 (of 64: the
 * highest bit) */
unsigned ref_whole(unsigned h, int m, mpfr_rnd_t r);
unsigned long long ref_to_integer(unsigned h, int m, mpfr_rnd_t r, int bits, int sign);
unsigned ref_exp2(double x, int m);
unsigned ref_tanh(double x, int m);

#ifdef __cplusplus
}
#endif
#endif
