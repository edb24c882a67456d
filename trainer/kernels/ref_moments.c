/* ref_moments.c - reference of moments.cu: two passes over all rows. */
#include "kernels/ref.h"

void ref_first_own(int64_t v, const int32_t *first, const int32_t *index, const uint8_t *own,
                   uint8_t *out)
{
    for (int64_t i = 0; i < v; i++) out[i] = own[index[first[i]]];
}

void ref_moments(int64_t v, int c, const real *x, const uint8_t *own, wide *n, wide *mean, wide *m2)
{
    *n = 0;
    for (int64_t r = 0; r < v; r++) *n += own[r] != 0;
    for (int k = 0; k < c; k++) {
        wide sum = 0;
        mean[k] = m2[k] = 0;
        for (int64_t r = 0; r < v; r++)
            if (own[r]) sum += x[r * c + k];
        if (*n > 0) mean[k] = sum / *n;
        for (int64_t r = 0; r < v; r++)
            if (own[r]) m2[k] += (x[r * c + k] - mean[k]) * (x[r * c + k] - mean[k]);
    }
}
