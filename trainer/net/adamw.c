/* adamw.c - the optimiser step: the gradient's norm, then one launch that changes everything. */
#include "kernels/kernels.h"
#include "net/layers.h"
#include <math.h>

pt_status pt_adamw_create(pt_net *n, pt_adamw *out)
{
    pt_status st = PT_OK;
    void *p;
    *out = (pt_adamw){.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
    TRY(pt_mem_alloc(n->device, n->nparams, sizeof(real), "adamw/m", &p));
    out->m = p;
    TRY(pt_mem_alloc(n->device, n->nparams, sizeof(real), "adamw/v", &p));
    out->v = p;
    TRY(pt_zero(n->device, out->m, n->nparams * sizeof(real)));
    TRY(pt_zero(n->device, out->v, n->nparams * sizeof(real)));
done:
    if (st != PT_OK) pt_adamw_free(n, out);
    return st;
}

void pt_adamw_free(pt_net *n, pt_adamw *o)
{
    pt_mem_free(n->device, o->m);
    pt_mem_free(n->device, o->v);
    *o = (pt_adamw){0};
}

pt_status pt_adamw_step(pt_net *n, pt_adamw *o, double lr, double clip, double *norm)
{
    pt_status st = PT_OK;
    pt_device *d = n->device;
    double square = 0;
    int64_t t = o->t + 1;
    if (o->launched) goto wait;
    TRY(pt_k_sum_squares(d, (int64_t)n->nparams, n->grad, n->layers->norm_out,
                         n->layers->norm_tmp));
    TRY(pt_copy_down(d, &square, n->layers->norm_out, sizeof square));
    double length = sqrt(square);
    if (norm) *norm = length;
    if (!isfinite(length)) {
        st =
            pt_fail(PT_ERR_NAN,
                    "the gradient's norm is %g in phase step: no optimiser step was taken", length);
        goto done;
    }
    pt_adamw_scalars s = {.lr = lr,
                          .beta1 = o->beta1,
                          .beta2 = o->beta2,
                          .eps = o->eps,
                          .decay = o->weight_decay,
                          .correction1 = 1 - pow(o->beta1, (double)t),
                          .correction2 = 1 - pow(o->beta2, (double)t),
                          .scale = clip > 0 && length > clip ? clip / length : 1};
    TRY(pt_k_adamw(d, (int64_t)n->nparams, &s, n->grad, n->layers->decays, n->param, o->m, o->v));
    o->t = t; /* launched: it happens, or the context is dead */
    o->launched = 1;
wait: /* a step that is repeated because the wait failed must not be taken twice */
    TRY(pt_device_sync(d));
    o->launched = 0;
done:
    return st;
}
