/* vector.h - a piece of PTX over arrays: one thread an element, on the host. */
#ifndef CASES_PTX_VECTOR_H
#define CASES_PTX_VECTOR_H
#include "case.h"
#include <stdint.h>

typedef struct vector {
    size_t n;
    uint64_t *a, *b, *c; /* operands; b and c may be NULL: zeros */
    uint64_t *out;       /* made here */
} vector;

/* Strips of threads that were run, and how many of them were ended one by one. */
extern unsigned long vector_strips, vector_strips_left;

/* `code` writes %rd1 from %rd2 %rd3 %rd4 (a, b, c); %r2, %f2, %fd2, %rs2 and so on are their low
 * bits. May use %rd %r %f %fd %rs %p from 5 to 15. Fails the case when anything is refused, or when
 * it leaves other bits in strips of threads than thread after thread. %r1 is %tid.x; the words of
 * a, b, c and out lie at %at1 to %at4. */
void vector_run(vector *v, const char *code);
/* Number of instructions of `code` that are refused; says: the message of the first. */
int vector_refused(const char *code, char *says, size_t room);
/* Fills v with n places; random (xorshift, fixed seed) until they are written */
void vector_make(vector *v, size_t n);
void vector_free(vector *v);
uint64_t vector_random(void);

#endif
