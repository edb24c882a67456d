/* sgd.cu - stochastic gradient descent with momentum (Polyak 1964, as Sutskever et al. 2013 write
 * it without dampening), weight decay as part of the gradient; one launch over everything: it
 * happens whole or not at all. */
#include "kernels/launch.cuh"

__global__ void sgd_kernel(int64_t n, pt_sgd_scalars s, const real *grad, const uint8_t *decays,
                           real *param, real *m)
{
    int64_t i = pt_item();
    if (i >= n) return;
    real g = grad[i] * (real)s.scale, p = param[i];
    if (decays[i]) g += (real)s.decay * p;
    real a = (real)s.momentum * m[i] + g;
    param[i] = p - (real)s.lr * a;
    m[i] = a;
}

extern "C" pt_status pt_k_sgd(pt_device *d, int64_t n, const pt_sgd_scalars *s, const real *grad,
                              const uint8_t *decays, real *param, real *m)
{
    return LAUNCH(sgd_kernel, n, *s, grad, decays, param, m);
}
