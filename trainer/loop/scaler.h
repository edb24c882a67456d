/* scaler.h - the loss scale of fp16 (Micikevicius et al. 2018): gradients are multiplied by it, so
 * that small ones are not rounded to 0, and divided by it in the step. Too large a one makes them
 * infinite: that batch takes no step, and the scale is halved. It is doubled after many good ones.
 */
#ifndef PT_SCALER_H
#define PT_SCALER_H
#include "net/net.h"

#define PT_SCALE_START    65536.0
#define PT_SCALE_LARGEST  16777216.0
#define PT_SCALE_PATIENCE 2000 /* good steps in a row */

typedef struct pt_scaler {
    double scale; /* a power of 2, at least 1; 1 where there is nothing to scale */
    int64_t good; /* steps since it changed */
} pt_scaler;

static inline pt_scaler pt_scaler_start(pt_amp amp)
{
    return (pt_scaler){amp == PT_AMP_FP16 ? PT_SCALE_START : 1, 0};
}

static inline void pt_scaler_good(pt_scaler *s, pt_amp amp)
{
    if (amp != PT_AMP_FP16 || ++s->good < PT_SCALE_PATIENCE || s->scale >= PT_SCALE_LARGEST) return;
    s->scale *= 2;
    s->good = 0;
}

/* 1: it was the scale, which is smaller now; 0: there is none to blame. */
static inline int pt_scaler_overflow(pt_scaler *s)
{
    if (!(s->scale > 1)) return 0;
    s->scale /= 2;
    s->good = 0;
    return 1;
}

#endif
