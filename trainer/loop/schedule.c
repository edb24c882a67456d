/* schedule.c - the learning rate of a step: by its number and the options alone. */
#include "loop/trainer.h"
#include <math.h>

/* From a to b along half a cosine. */
static double glide(double a, double b, double x)
{
    return b + (a - b) * 0.5 * (1 + cos(acos(-1.0) * x));
}

/* Smith, Topin 2017, with the numbers of PyTorch's OneCycleLR: from lr / 25 up to lr, then down to
 * lr / 250000 at the last step. The way up is the warm-up, or 30 % of the steps. */
static double one_cycle(const pt_trainer_options *o, int64_t step)
{
    double top = o->warmup > 0 ? (double)o->warmup : floor(0.3 * (double)o->steps);
    double fall = (double)(o->steps - 1) - top, at = (double)step;
    if (at < top) return glide(o->lr / 25, o->lr, at / top);
    return glide(o->lr, o->lr / 25e4, fall > 0 ? fmin((at - top) / fall, 1) : 0);
}

double pt_learning_rate(const pt_trainer_options *o, int64_t step)
{
    if (o->schedule == PT_LR_ONECYCLE) return one_cycle(o, step);
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)o->warmup;
    double span = (double)(o->steps - o->warmup), at = (double)(step - o->warmup);
    double x = span > 0 ? fmin(at / span, 1) : 0;
    switch (o->schedule) {
    case PT_LR_COSINE: return o->lr * 0.5 * (1 + cos(acos(-1.0) * x));
    case PT_LR_POLY: return o->lr * pow(1 - x, 0.9);
    case PT_LR_ONECYCLE:
    case PT_LR_CONSTANT: break;
    }
    return o->lr;
}
