/* ref_adamw.c - reference of adamw.cu, in the order of the paper's algorithm 2. */
#include "kernels/ref.h"
#include <math.h>

void ref_adamw(int64_t n, const pt_adamw_scalars *s, const real *grad, const uint8_t *decays,
               wide *param, wide *m, wide *v, wide *scale)
{
    for (int64_t i = 0; i < n; i++) {
        wide g = (wide)grad[i] * s->scale;
        wide size = fabsl(s->beta1 * m[i]) + fabsl((1 - (wide)s->beta1) * g);
        m[i] = s->beta1 * m[i] + (1 - (wide)s->beta1) * g;
        v[i] = s->beta2 * v[i] + (1 - (wide)s->beta2) * g * g;
        wide root = sqrtl(v[i] / s->correction2) + s->eps;
        wide decay = decays[i] ? s->lr * s->decay * param[i] : 0;
        scale[i] = fabsl(param[i]) + s->lr * size / s->correction1 / root;
        param[i] -= decay + s->lr * (m[i] / s->correction1) / root;
    }
}
