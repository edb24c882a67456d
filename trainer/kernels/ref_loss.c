/* ref_loss.c - reference of loss.cu: point by point, as if each own point stood alone. */
#include "kernels/ref.h"
#include <math.h>

void ref_loss(int64_t v, int classes, const real *logp, const int32_t *count, const real *weight,
              double divisor, double smoothing, wide *dlogits, wide *scale, wide *loss,
              unsigned long long *confusion)
{
    for (int64_t i = 0; i < v; i++) {
        const real *lp = logp + i * classes;
        int best = 0;
        loss[i] = 0;
        for (int c = 0; c < classes; c++) {
            dlogits[i * classes + c] = scale[i * classes + c] = 0;
            if (lp[c] > lp[best]) best = c;
        }
        for (int label = 0; label < classes; label++)
            for (int32_t p = 0; p < count[i * classes + label]; p++) {
                wide w = weight[label] / (wide)divisor;
                confusion[label * classes + best]++;
                for (int c = 0; c < classes; c++) {
                    wide prob = expl(lp[c]);
                    wide target =
                        (wide)smoothing / classes + (c == label ? 1 - (wide)smoothing : 0);
                    if (target > 0) loss[i] -= w * target * lp[c];
                    dlogits[i * classes + c] += w * (prob - target);
                    scale[i * classes + c] += w * (prob + target);
                }
            }
    }
}

void ref_predict(int64_t n, int classes, const real *logp, const int32_t *member, int32_t *out)
{
    for (int64_t p = 0; p < n; p++) {
        const real *lp = logp + (int64_t)member[p] * classes;
        out[p] = 0;
        for (int c = classes - 1; c >= 0; c--)
            if (lp[c] >= lp[out[p]]) out[p] = c;
    }
}
