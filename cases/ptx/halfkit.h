/* halfkit.h - what the suites of half precision share: the two types with their edges, arrays of
 * operands, comparison. */
#ifndef CASES_PTX_HALFKIT_H
#define CASES_PTX_HALFKIT_H
#include "halfref.h"
#include "vector.h"

typedef struct kind {
    const char *name; /* "f16" */
    int m;
    unsigned edge[32]; /* NaN, infinity, zeros, the smallest, ones, the largest, odd ones */
    size_t edges;
} kind;
extern const kind half_kinds[2];
#define EACH(k) for (const kind *k = half_kinds; k < half_kinds + 2; k++)

typedef struct half_mode {
    const char *name;
    mpfr_rnd_t r;
} half_mode;
extern const half_mode half_modes[4];

/* printf into one of a few buffers */
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void same(const vector *v, size_t i, uint64_t want, const char *code);
/* a and b: all values with some of the edges each, and half as many random pairs */
void pairs(vector *v, const kind *k);
void all_values(vector *v);
/* "add.f16 ..." of 1 to 3 operands, mods before the type: "rn." */
const char *scalar(const char *op, const char *mods, const kind *k, int operands);
uint64_t bits64(double x);
uint64_t bits32(double x);
double wide_value(uint64_t u, int f64); /* of the bits of an f64 or f32 */

#endif
