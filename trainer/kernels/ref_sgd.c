/* ref_sgd.c - reference of sgd.cu. */
#include "kernels/ref.h"
#include <math.h>

void ref_sgd(int64_t n, const pt_sgd_scalars *s, const real *grad, const uint8_t *decays,
             wide *param, wide *m, wide *scale)
{
    for (int64_t i = 0; i < n; i++) {
        wide decay = decays[i] ? s->decay * param[i] : 0;
        scale[i] = fabsl(s->momentum * m[i]) + fabsl((wide)grad[i] * s->scale) + fabsl(decay);
        m[i] = s->momentum * m[i] + (wide)grad[i] * s->scale + decay;
        param[i] -= s->lr * m[i];
    }
}
