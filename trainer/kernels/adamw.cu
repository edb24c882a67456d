/* adamw.cu - AdamW with decoupled weight decay (Loshchilov, Hutter 2019), one launch over
 * everything: it happens whole or not at all. */
#include "kernels/launch.cuh"

#define WIDE 4

__global__ void adamw_kernel(int64_t items, int64_t n, pt_adamw_scalars s, const real *grad,
                             const uint8_t *decays, real *param, real *m, real *v)
{
    int64_t i = pt_item();
    if (i >= items) return;
    for (int64_t k = i * WIDE, end = k + WIDE < n ? k + WIDE : n; k < end; k++) {
        real g = grad[k] * (real)s.scale;
        real a = (real)s.beta1 * m[k] + (real)(1 - s.beta1) * g;
        real b = (real)s.beta2 * v[k] + (real)(1 - s.beta2) * g * g;
        real p = param[k];
        if (decays[k]) p -= (real)(s.lr * s.decay) * p;
        param[k] = p - (real)s.lr * (a / (real)s.correction1) /
                           (sqrt(b / (real)s.correction2) + (real)s.eps);
        m[k] = a;
        v[k] = b;
    }
}

extern "C" pt_status pt_k_adamw(pt_device *d, int64_t n, const pt_adamw_scalars *s,
                                const real *grad, const uint8_t *decays, real *param, real *m,
                                real *v)
{
    return LAUNCH(adamw_kernel, (n + WIDE - 1) / WIDE, n, *s, grad, decays, param, m, v);
}
