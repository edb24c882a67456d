/* formkit.h - every form of an instruction that the translator accepts, run on the simulated device
 * over operands at their edges, and held against a reference. */
#ifndef CASES_PTX_FORMKIT_H
#define CASES_PTX_FORMKIT_H
#include "case.h"
#include <stdint.h>

typedef struct form {
    const char *op;
    char mod[8][24];
    int n;
    char name[160]; /* "add.rn.f32" */
} form;

/* Operands: one thread each, blocks of FORM_BLOCK. */
enum { FORM_BLOCK = 128 };
typedef struct operands {
    size_t n;
    uint64_t *a, *b, *c;
} operands;

void operands_fill(operands *o); /* the caller frees the three */

/* What must come out: bits; or a number, of which a NaN may be any and `ulps` may be off */
typedef struct wanted {
    uint64_t bits;
    const char *number; /* "f32" or "f64"; NULL: bits */
    int ulps;
    int any; /* PTX leaves it open */
} wanted;

/* How a family of opcodes is tested. */
typedef struct family {
    const char *opcodes; /* words between spaces */
    /* writes %rd1, of zero so far, by the form from %rd2 %rd3 %rd4 (a, b, c). Their low bits: %r2
     * %f2 %fd2 %rs2 and so on; %r7 is the upper half of a, %r6 that of c; %p2 %p3 %p4 the lowest
     * bits. Free: all from 8 to 15. Returns 0 for a form that it does not know. */
    int (*code)(const form *f, char *out, size_t room);
    wanted (*reference)(const form *f, const operands *o, size_t i);
} family;

extern const family form_integers, form_bits, form_floats, form_compares, form_converts,
    form_halves, form_memory, form_atomics, form_warps, form_moves;
extern const family *const form_families[];
extern const int form_family_count;

/* Runs every accepted form of the family; fails with the first that gives something else. */
void forms_check(const family *x);
/* Which family has the form; NULL: none */
const family *form_family(const form *f);
/* All accepted forms; the caller frees them. */
form *forms_all(size_t *n);

const char *form_type(const form *f, int from_end); /* 1: the last modifier */
int form_has(const form *f, const char *mod);
/* "add.rn.f32 %f5, %f2, %f3;" and what brings the result to %rd1. types: of the result and of each
 * source, "T" the last modifier, "D" the one before it, "W" twice as wide as T, else by name; the
 * sources are a, b, c and then the upper half of c. */
int form_plain(const form *f, const char *types, char *out, size_t room);
const char *form_register(const char *type);               /* its prefix: "%f" */
void form_bring(const char *type, char *out, size_t room); /* register 5 of this type to %rd1 */

int type_bits(const char *type);
int type_float(const char *type); /* f32 or f64 */
int type_half(const char *type);
__int128 type_value(const char *type, uint64_t x); /* of an integer or of bits */
uint64_t type_mask(const char *type, __int128 x);
float as_float(uint64_t x);
double as_double(uint64_t x);

#endif
