/* watch.c - what a sweep compares of the trainer, and how it is computed again. */
#include "loop/batch.h"
#include "probe.h"
#include "recovery/stage.h"
#include <stdio.h>
#include <stdlib.h>

/* Everything that a step changes, tensor by tensor. A gradient that was split is compared to the
 * bounds of the gradient suites (double 1e-12, float 1e-5), but for batch norm, where pieces have
 * statistics of their own; parameters and moments are not, since
 * the optimiser turns a rounding of a gradient near 0 into a step of either sign. */
void pt_watch_state(const pt_trainer *t)
{
    const pt_net *n = t->net;
    int type = sizeof(real) == 8 ? 'd' : 'f';
    double bound = n->options.norm == PT_NORM_BATCH ? 0 : sizeof(real) == 8 ? 1e-12 : 1e-5;
    /* a sum in another order may round the other way where it is made narrow: by one rounding, and
     * by much where a ReLU changes sides, which pt_watch_wider tells */
    if (bound > 0 && n->options.amp != PT_AMP_OFF)
        bound = n->options.amp == PT_AMP_FP16 ? 0x1p-11 : 0x1p-8;
    for (int i = 0; i < n->ntensors; i++) {
        const struct {
            const char *what;
            const real *at;
            double tolerance;
        } part[] = {{"grad", n->grad, bound},
                    {"accum", n->accum, bound},
                    {"param", n->param, 0},
                    {"m", t->optimizer.m, 0},
                    {"v", t->optimizer.v, 0}};
        for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
            if (!part[k].at) continue;
            char name[64];
            snprintf(name, sizeof name, "%s/%s", part[k].what, n->tensor[i].name);
            pt_probe_buffer(name, part[k].at + n->tensor[i].offset,
                            n->tensor[i].count * sizeof(real), 1, type, part[k].tolerance);
        }
    }
    if (n->nrunning) pt_probe_buffer("running", n->running, n->nrunning * sizeof(real), 1, type, 0);
    pt_probe_buffer("optimizer.t", &t->optimizer.t, sizeof t->optimizer.t, 0, 'x', 0);
    pt_probe_buffer("scaler", &t->scaler, sizeof t->scaler, 0, 'x', 0);
    pt_probe_buffer("accum.state", &t->accum, sizeof t->accum, 0, 'b', 0);
    pt_probe_buffer("step", &t->step, sizeof t->step, 0, 'x', 0);
    pt_probe_buffer("scores", t->left.confusion, sizeof t->left.confusion, 0, 'b', 0);
    pt_probe_buffer("checkpoint", &t->left.checkpoint, sizeof t->left.checkpoint, 0, 'b', 0);
}

/* The whole batch unsplit, the points that were dropped without labels. */
int pt_watch_again(void *user)
{
    pt_watch *a = user;
    pt_trainer *t = a->b.t;
    pt_fragment *whole = NULL;
    pt_attempt got = {0};
    pt_status st = PT_OK;
    if (t->o.net.norm == PT_NORM_BATCH) return 1; /* its pieces have statistics of their own */
    TRY(pt_fragment_join(a->scenes, a->keys, a->n, t->o.net.classes, pt_class_weights_of(&t->o),
                         &whole));
    for (int64_t i = 0; i < whole->shape.points; i++)
        if (a->ledger->fate[whole->host.slot[i]][whole->host.point[i]] != PT_FATE_TRAINED)
            whole->host.label[i] = PT_IGNORE;
    TRY(pt_net_zero_grad(t->net));
    TRY(pt_batch_ops.attempt(&a->b, whole, &got));
    TRY(pt_net_commit(t->net));
    if (t->net->accum) TRY(pt_add_to_step(t));
    TRY(pt_device_sync(&t->device));
done:
    if (whole) pt_stage_discard(&t->device, whole);
    pt_fragment_free(whole);
    free(got.position);
    free(got.point);
    return st != PT_OK;
}

int pt_watch_wider(void *user)
{
    pt_watch *a = user;
    pt_net *n = a->b.t->net;
    pt_amp amp = n->options.amp;
    n->options.amp = PT_AMP_OFF; /* the scale of the loss stays: so does that of the gradient */
    int bad = pt_watch_again(a);
    n->options.amp = amp;
    return bad;
}
