/* step.c - what surrounds the recovery of a batch: its start, the gradients of --accum batches put
 * together, the optimiser step, and the way back. */
#include "kernels/kernels.h"
#include "loop/batch.h"
#include "probe.h"
#include <string.h>

static pt_status copy_running(pt_trainer *t, real *to, const real *from)
{
    return PT_CUDA(cudaMemcpyAsync(to, from, t->net->nrunning * sizeof(real),
                                   cudaMemcpyDeviceToDevice, t->device.stream));
}

/* The state before the batch, whatever was committed of it. On a dead context this fails, and
 * nothing can be used again anyway. */
void pt_roll_back(pt_trainer *t)
{
    pt_error cause = *pt_error_last();
    cudaGetLastError();
    pt_net_zero_grad(t->net);
    if (t->net->nrunning) copy_running(t, t->net->running, t->running_before);
    pt_device_sync(&t->device);
    pt_error_restore(&cause);
}

pt_status pt_start_batch(pt_trainer *t, pt_batch_result *out)
{
    pt_status st = PT_OK;
    pt_phase_set(PT_PHASE_LOAD);
    t->baseline = pt_mem_least(&t->device); /* what is cached stays, until a failure asks for it */
    pt_mem_peak(&t->device, 1);
    TRY(pt_net_zero_grad(t->net));
    if (t->net->nrunning) TRY(copy_running(t, t->running_before, t->net->running));
    if (t->running_step && !t->accum.batches)
        TRY(copy_running(t, t->running_step, t->net->running));
    out->bytes_baseline = t->baseline;
done:
    return st;
}

/* The running statistics of batch norm, from those before the batch: can be repeated. */
pt_status pt_learn_statistics(pt_trainer *t, pt_batch_result *out)
{
    size_t n = t->net->nrunning;
    pt_status st = PT_OK;
    pt_phase_set(PT_PHASE_COMMIT);
    TRY(pt_trainer_read(t, t->running_before, n, t->running_host));
    pt_moments_running(&t->moments, PT_NORM_MOMENTUM, t->running_host, t->running_host + n);
    TRY(pt_trainer_write(t, t->net->running, n, t->running_host + n));
    out->biased = t->moments.pieces > 1 || out->recover.splits_space > 0;
    if (out->biased) out->bias = pt_moments_bias(&t->moments, PT_NORM_EPSILON);
done:
    return st;
}

static pt_status step_once(pt_trainer *t, pt_batch_result *out)
{
    pt_phase_set(PT_PHASE_STEP);
    const pt_accum *a = &t->accum;
    double share = a->batches > 1 && a->weight > 0 ? a->divisor / a->weight : 1;
    double unscale = share / t->scaler.scale;
    pt_status st =
        pt_optimizer_step(t->net, &t->optimizer, out->lr, t->o.clip, unscale, &out->grad_norm);
    if (st != PT_ERR_NAN || !pt_scaler_overflow(&t->scaler)) return st;
    pt_error_clear();
    out->overflow = 1;
    return PT_OK;
}

/* Runs op, and once more when it failed for memory: none of those that come here allocates, and
 * each either happens whole or not at all. */
pt_status pt_twice(pt_trainer *t, pt_batch_result *out,
                   pt_status (*op)(pt_trainer *, pt_batch_result *))
{
    pt_status st = op(t, out);
    if (st != PT_ERR_DEVICE || pt_classify(pt_error_last()) != PT_CLASS_OOM) return st;
    cudaGetLastError();
    if ((st = pt_mem_release(&t->device)) != PT_OK) return st;
    return op(t, out);
}

/* The gradient of the batch, to those of the batches before it. One launch: where the wait after it
 * fails, it is only waited for again. */
pt_status pt_add_to_step(pt_trainer *t)
{
    pt_net *n = t->net;
    pt_status st = PT_OK;
    pt_phase_set(PT_PHASE_COMMIT);
    if (!t->accum.launched) {
        if (t->accum.batches)
            TRY(pt_k_add(n->device, (int64_t)n->nparams, n->grad, n->accum));
        else
            TRY(PT_CUDA(cudaMemcpyAsync(n->accum, n->grad, n->nparams * sizeof(real),
                                        cudaMemcpyDeviceToDevice, n->device->stream)));
        t->accum.launched = 1;
    }
    TRY(pt_device_sync(n->device));
    t->accum.launched = 0;
done:
    return st;
}

static pt_status add_gradient(pt_trainer *t, pt_batch_result *out)
{
    (void)out;
    return pt_add_to_step(t);
}

static int last_of_step(const pt_trainer *t)
{
    return (t->step + 1) % pt_accum_of(&t->o) == 0;
}

/* All of the step's batches take no step: what they taught batch norm goes too, as it would in one
 * batch of all their scenes. The caller may roll its batch back after this: to the same. */
static void give_up(pt_trainer *t, pt_batch_result *out, int64_t of_this)
{
    out->voided = t->accum.points - of_this;
    t->accum = (pt_accum){0};
    if (!t->running_step) return;
    pt_error cause = *pt_error_last();
    copy_running(t, t->running_before, t->running_step);
    pt_error_restore(&cause);
    pt_roll_back(t);
}

pt_status pt_step_batch(pt_trainer *t, double weight, int64_t trained, pt_batch_result *out)
{
    pt_accum *a = &t->accum;
    pt_status st = PT_OK;
    if (t->net->accum) st = pt_twice(t, out, add_gradient);
    if (st != PT_OK) { /* added or not: the sum is not to be trusted */
        if (a->launched) give_up(t, out, 0);
        goto done;
    }
    if (!a->batches) a->divisor = a->offered;
    a->batches++;
    a->points += trained;
    a->weight += weight;
    out->accumulated = a->batches;
    if (!last_of_step(t)) goto done;
    if (a->points > 0) {
        if (t->hooks.before_step) t->hooks.before_step(t->hooks.user);
        st = pt_twice(t, out, step_once);
        if (st != PT_OK || out->overflow) give_up(t, out, trained);
        if (st != PT_OK) goto done;
        out->stepped = !out->overflow;
        if (out->stepped) pt_scaler_good(&t->scaler, t->o.net.amp);
    }
    *a = (pt_accum){0};
done:
    return st;
}

void pt_step_without(pt_trainer *t, pt_batch_result *out)
{
    pt_error cause = *pt_error_last();
    if (!last_of_step(t)) return;
    if (t->accum.points > 0 && pt_classify(&cause) != PT_CLASS_FATAL && !out->recover.dead) {
        if (t->hooks.before_step) t->hooks.before_step(t->hooks.user);
        out->stepped = pt_twice(t, out, step_once) == PT_OK && !out->overflow;
        if (out->stepped) pt_scaler_good(&t->scaler, t->o.net.amp);
        if (!out->stepped) give_up(t, out, 0);
        pt_error_restore(&cause);
    }
    t->accum = (pt_accum){0};
}
