/* npy.h - private to data/: an array in a .npy file. */
#ifndef PT_NPY_H
#define PT_NPY_H
#include "read.h"

typedef struct pt_npy {
    const unsigned char *data;
    char kind;          /* 'f', 'i', 'u' */
    int size;           /* bytes of a number */
    int64_t rows, cols; /* of a list of numbers: cols 1 */
} pt_npy;
/* The header and the size of the data are checked; afterwards every row and column is there. */
pt_status pt_npy_open(const pt_part *part, pt_npy *out);
static inline double pt_npy_at(const pt_npy *a, int64_t row, int64_t col)
{
    return pt_number(a->data + (row * a->cols + col) * a->size, a->kind, a->size);
}

#endif
