/* loss.cu - cross-entropy of a voxel, each of its own points counted: with n_c own points of label
 * c and class weights w_c, loss = - sum_c n_c w_c log p_c / divisor,   dloss/dlogit_c = (p_c sum_k
 * n_k w_k - n_c w_c) / divisor. A halo voxel has no own points: its loss and gradient are 0. With
 * smoothing s (Szegedy et al. 2016) a point's target is 1 - s on its label plus s / K on every
 * class, all under the weight of its label: n_c w_c becomes (1 - s) n_c w_c + s / K sum_k n_k w_k.
 */
#include "kernels/launch.cuh"

__global__ void cross_entropy_kernel(int64_t v, int classes, const real *logp, const int32_t *count,
                                     const real *weight, double divisor, real *dlogits,
                                     double *loss, unsigned long long *confusion, double smoothing,
                                     double grad_divisor)
{
    int64_t i = pt_item();
    if (i >= v) return;
    const real *lp = logp + i * classes;
    const int32_t *n = count + i * classes;
    double total = 0, sum = 0;
    int best = 0;
    for (int c = 0; c < classes; c++) {
        double nw = (double)n[c] * (double)weight[c];
        sum += nw;
        if (n[c]) total -= nw * (double)lp[c];
        if (lp[c] > lp[best]) best = c;
    }
    if (smoothing > 0 && sum != 0) { /* apart: without it the loss keeps its bits */
        double kept = 1 - smoothing, each = smoothing * sum / classes;
        total *= kept;
        for (int c = 0; c < classes; c++) total -= each * (double)lp[c];
        for (int c = 0; c < classes; c++)
            dlogits[i * classes + c] = (real)((sum * exp((double)lp[c]) - each -
                                               kept * ((double)n[c] * (double)weight[c])) /
                                              grad_divisor);
    } else {
        for (int c = 0; c < classes; c++)
            dlogits[i * classes + c] =
                sum == 0 ? (real)0
                         : (real)((sum * exp((double)lp[c]) - (double)n[c] * (double)weight[c]) /
                                  grad_divisor);
    }
    loss[i] = total / divisor;
    /* integers: the order does not matter */
    for (int c = 0; c < classes; c++)
        if (n[c]) atomicAdd(&confusion[c * classes + best], (unsigned long long)n[c]);
}

extern "C" pt_status pt_k_loss(pt_device *d, int64_t v, int classes, const real *logp,
                               const int32_t *count, const real *weight, double divisor,
                               double grad_divisor, double smoothing, real *dlogits, double *loss,
                               unsigned long long *confusion)
{
    return LAUNCH(cross_entropy_kernel, v, classes, logp, count, weight, divisor, dlogits, loss,
                  confusion, smoothing, grad_divisor);
}

__global__ void predict_kernel(int64_t n, int classes, const real *logp, const int32_t *member,
                               int32_t *out)
{
    int64_t i = pt_item();
    if (i >= n) return;
    const real *lp = logp + (int64_t)member[i] * classes;
    int best = 0;
    for (int c = 1; c < classes; c++)
        if (lp[c] > lp[best]) best = c;
    out[i] = best;
}

extern "C" pt_status pt_k_predict(pt_device *d, int64_t n, int classes, const real *logp,
                                  const int32_t *member, int32_t *out)
{
    return LAUNCH(predict_kernel, n, classes, logp, member, out);
}
