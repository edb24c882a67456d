/* optimizer.c - the optimiser step: the gradient's norm, then one launch that changes everything.
 */
#include "kernels/kernels.h"
#include "net/layers.h"
#include <math.h>

pt_status pt_optimizer_create(pt_net *n, pt_optimizer_kind kind, pt_optimizer *out)
{
    pt_status st = PT_OK;
    void *p;
    *out = (pt_optimizer){.kind = kind, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .momentum = 0.9};
    TRY(pt_mem_alloc(n->device, n->nparams, sizeof(real), kind == PT_SGD ? "sgd/m" : "adamw/m",
                     &p));
    out->m = p;
    if (kind == PT_ADAMW) {
        TRY(pt_mem_alloc(n->device, n->nparams, sizeof(real), "adamw/v", &p));
        out->v = p;
    }
    TRY(pt_zero(n->device, out->m, n->nparams * sizeof(real)));
    if (out->v) TRY(pt_zero(n->device, out->v, n->nparams * sizeof(real)));
done:
    if (st != PT_OK) pt_optimizer_free(n, out);
    return st;
}

void pt_optimizer_free(pt_net *n, pt_optimizer *o)
{
    pt_mem_free(n->device, o->m);
    pt_mem_free(n->device, o->v);
    *o = (pt_optimizer){0};
}

static const real *gradient(const pt_net *n)
{
    return n->accum ? n->accum : n->grad;
}

static pt_status launch(pt_net *n, const pt_optimizer *o, double lr, double scale)
{
    double t = (double)(o->t + 1);
    if (o->kind == PT_SGD) {
        pt_sgd_scalars s = {
            .lr = lr, .momentum = o->momentum, .decay = o->weight_decay, .scale = scale};
        return pt_k_sgd(n->device, (int64_t)n->nparams, &s, gradient(n), n->layers->decays,
                        n->param, o->m);
    }
    pt_adamw_scalars s = {.lr = lr,
                          .beta1 = o->beta1,
                          .beta2 = o->beta2,
                          .eps = o->eps,
                          .decay = o->weight_decay,
                          .correction1 = 1 - pow(o->beta1, t),
                          .correction2 = 1 - pow(o->beta2, t),
                          .scale = scale};
    return pt_k_adamw(n->device, (int64_t)n->nparams, &s, gradient(n), n->layers->decays, n->param,
                      o->m, o->v);
}

pt_status pt_optimizer_step(pt_net *n, pt_optimizer *o, double lr, double clip, double unscale,
                            double *norm)
{
    pt_status st = PT_OK;
    pt_device *d = n->device;
    double square = 0;
    if (o->launched) goto wait;
    TRY(pt_k_sum_squares(d, (int64_t)n->nparams, gradient(n), n->layers->norm_out,
                         n->layers->norm_tmp));
    TRY(pt_copy_down(d, &square, n->layers->norm_out, sizeof square));
    double length = sqrt(square) * unscale;
    if (norm) *norm = length;
    if (!isfinite(length)) {
        st =
            pt_fail(PT_ERR_NAN,
                    "the gradient's norm is %g in phase step: no optimiser step was taken", length);
        goto done;
    }
    TRY(launch(n, o, lr, unscale * (clip > 0 && length > clip ? clip / length : 1)));
    o->t++; /* launched: it happens, or the context is dead */
    o->launched = 1;
wait: /* a step that is repeated because the wait failed must not be taken twice */
    TRY(pt_device_sync(d));
    o->launched = 0;
done:
    return st;
}
