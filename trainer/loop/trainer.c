/* trainer.c - opens a run and takes batches through it. */
#include "loop/batch.h"
#include "probe.h"
#include "recovery/stage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DROPOUT_SEED 0x6a09e667f3bcc908u /* dropout draws other numbers than augmentation */

const real *pt_class_weights_of(const pt_trainer_options *o)
{
    return o->weighted ? o->class_weight : NULL;
}

int pt_exit_code(const pt_error *e, const pt_batch_result *r)
{
    if (r && r->recover.floor_error) return 13;
    switch (e->status) {
    case PT_OK: return 0;
    case PT_ERR_INPUT: return 2;
    case PT_ERR_NAN: return 12;
    case PT_ERR_HOST: return 10;
    case PT_ERR_DEVICE:
        return pt_classify(e) == PT_CLASS_OOM || pt_classify(e) == PT_CLASS_HOST ? 10 : 11;
    case PT_ERR_INTERNAL: break;
    }
    return 11;
}

/* A failure for memory before anything is trained, with what is wanted against what there is. */
static void say_does_not_fit(const pt_trainer_options *o, const pt_device *d)
{
    size_t params = pt_net_params(&o->net), free_now = 0, total = 0, element = sizeof(real);
    size_t arrays = 3 + (o->optimizer == PT_SGD ? 1 : 2) + (pt_accum_of(o) > 1);
    size_t bytes = params * (arrays * element + 1 + (o->net.amp != PT_AMP_OFF ? 2 : 0));
    char text[256];
    if (!d->mem || pt_classify(pt_error_last()) != PT_CLASS_OOM) return;
    if (cudaMemGetInfo(&free_now, &total) != cudaSuccess) total = d->total_bytes;
    snprintf(text, sizeof text,
             "; the model does not fit: %zu parameters, their gradients and the optimiser's state "
             "take %.1f MiB before any point; the device has %.1f MiB, of which %.1f MiB are free",
             params, (double)bytes / 1048576.0, (double)total / 1048576.0,
             (double)free_now / 1048576.0);
    pt_error_say(text);
    cudaGetLastError();
}

pt_status pt_trainer_open(const pt_trainer_options *o, pt_trainer **out)
{
    pt_status st = PT_OK;
    pt_trainer *t = calloc(1, sizeof *t);
    *out = NULL;
    if (!t) return pt_fail(PT_ERR_HOST, "no host memory for the trainer");
    t->o = *o;
    pt_phase_set(PT_PHASE_SETUP);
    TRY(pt_device_open(o->allocator, &t->device));
    TRY(pt_net_create(&t->device, &o->net, &t->net));
    TRY(pt_optimizer_create(t->net, o->optimizer, &t->optimizer));
    t->scaler = pt_scaler_start(o->net.amp);
    t->plan = t->plan_forward = pt_plan_start();
    t->optimizer.weight_decay = o->weight_decay;
    t->optimizer.momentum = o->momentum;
    if (t->net->nrunning) {
        void *p = NULL;
        TRY(pt_mem_alloc(&t->device, t->net->nrunning, sizeof(real), "trainer/running_before", &p));
        t->running_before = p;
    }
    if (t->net->nrunning && pt_accum_of(o) > 1) {
        void *p = NULL;
        TRY(pt_mem_alloc(&t->device, t->net->nrunning, sizeof(real), "trainer/running_step", &p));
        t->running_step = p;
    }
    if (t->net->nmoments) {
        TRY(pt_net_moments(t->net, &t->moments));
        if (!(t->running_host = calloc(2 * t->net->nrunning, sizeof *t->running_host))) {
            st = pt_fail(PT_ERR_HOST, "no host memory for the running statistics");
            goto done;
        }
    }
    if (pt_accum_of(o) > 1) {
        void *p = NULL;
        TRY(pt_mem_alloc(&t->device, t->net->nparams, sizeof(real), "trainer/accum", &p));
        t->net->accum = p;
        TRY(pt_zero(&t->device, p, t->net->nparams * sizeof(real)));
    }
    t->halo = pt_net_halo(&o->net);
    TRY(pt_device_sync(&t->device));
    pt_watch_state(t);
    *out = t;
done:
    if (st != PT_OK) {
        say_does_not_fit(o, &t->device);
        pt_error cause = *pt_error_last(); /* closing after a failure must not hide it */
        pt_trainer_close(t);
        pt_error_restore(&cause);
    }
    return st;
}

pt_status pt_trainer_close(pt_trainer *t)
{
    if (!t) return PT_OK;
    if (t->net) {
        pt_mem_free(&t->device, t->running_before);
        pt_mem_free(&t->device, t->running_step);
        pt_optimizer_free(t->net, &t->optimizer);
    }
    pt_net_free(t->net);
    pt_status st = pt_device_close(&t->device);
    pt_moments_close(&t->moments);
    free(t->running_host);
    free(t);
    return st;
}

pt_status pt_trainer_read(pt_trainer *t, const real *device, size_t count, real *host)
{
    return pt_copy_down(&t->device, host, device, count * sizeof *host);
}

pt_status pt_trainer_write(pt_trainer *t, real *device, size_t count, const real *host)
{
    return pt_copy_up(&t->device, device, host, count * sizeof *host);
}

static pt_status op_attempt(void *user, pt_fragment *f, pt_attempt *got)
{
    pt_batch *b = user;
    pt_trainer *t = b->t;
    pt_status st = PT_OK;
    if (t->hooks.before_attempt) t->hooks.before_attempt(t->hooks.user, f);
    TRY(pt_stage_up(&t->device, f, &b->augment, t->o.device_fields));
    memset(&b->pass, 0, sizeof b->pass);
    b->pass.divisor = b->divisor;
    b->pass.grad_divisor = b->grad_divisor;
    b->pass.scale = t->scaler.scale;
    b->pass.backward = !b->evaluate;
    b->pass.inference = b->evaluate;
    b->pass.predict = b->predicted != NULL;
    b->pass.host = &f->host;
    b->pass.later = 1;  /* one wait, that of the receipt, is for the pass too */
    if (!b->evaluate) { /* a net is measured without */
        b->pass.smoothing = t->o.smoothing;
        b->pass.dropout = t->o.dropout;
        b->pass.seed = b->augment.seed ^ DROPOUT_SEED;
        b->pass.step = b->augment.step;
        b->pass.frozen = t->o.norm_on_split == PT_SPLIT_FROZEN && t->o.net.norm == PT_NORM_BATCH &&
                         f->shape.own < b->out->points;
    }
    b->pass.gather_rows = f->gather_rows ? f->gather_rows : t->o.gather_rows;
    st = pt_net_pass(t->net, &f->device, &f->shape, &b->pass);
    got->forward = b->pass.did_forward;
    got->backward = b->pass.did_backward;
    if (st == PT_OK) {
        pt_phase_set(PT_PHASE_COMMIT);
        st = pt_stage_receipt(&t->device, f, got);
    }
    if (st == PT_OK) st = pt_net_pass_end(t->net, &b->pass);
    if (st == PT_OK && b->predicted) st = pt_predictions_keep(b, f, got);
    free(b->pass.predicted);
    b->pass.predicted = NULL;
done:
    return st;
}

/* The gradient, and what batch norm learnt; nothing after the gradient can fail. */
static pt_status commit_net(pt_batch *b)
{
    pt_trainer *t = b->t;
    pt_status st = PT_OK;
    int kind = b->pass.frozen ? 2 : 1;
    if (b->frozen && b->frozen != kind)
        return pt_fail(PT_ERR_INTERNAL, "pieces of one batch were normalised in two ways");
    if (t->net->nmoments) TRY(pt_moments_reserve(&t->moments));
    TRY(pt_net_commit(t->net));
    b->frozen = kind;
    if (t->net->nmoments) pt_moments_add(&t->moments, t->net->moments);
    if (!b->out->coarsest || b->pass.coarsest < b->out->coarsest)
        b->out->coarsest = b->pass.coarsest;
done:
    return st;
}

static pt_status op_commit(void *user, pt_fragment *f)
{
    pt_batch *b = user;
    pt_status st = PT_OK;
    pt_phase_set(PT_PHASE_COMMIT);
    if (!b->evaluate) TRY(commit_net(b));
    b->out->loss += b->pass.loss;
    b->out->voxels += b->pass.voxels;
    b->out->pairs += b->pass.pairs;
    int n = b->t->o.net.classes * b->t->o.net.classes;
    for (int i = 0; i < n; i++) b->out->confusion[i] += b->pass.confusion[i];
    b->out->regrouped |= f->gather_rows != 0;
    if (b->t->hooks.after_fragment) b->t->hooks.after_fragment(b->t->hooks.user, f, &b->pass);
done:
    return st;
}

static pt_status op_stage(void *user, pt_fragment *f)
{
    pt_batch *b = user;
    if (b->t->hooks.before_stage) b->t->hooks.before_stage(b->t->hooks.user, f);
    pt_status st = pt_stage_down(&b->t->device, f);
    if (st == PT_OK && b->t->hooks.after_stage) b->t->hooks.after_stage(b->t->hooks.user, f);
    pt_phase_set(PT_PHASE_SPLIT);
    return st;
}

static pt_status op_augment(void *user, pt_fragment *f)
{
    pt_batch *b = user;
    pt_status st = pt_stage_augment(&b->t->device, f, &b->augment);
    pt_phase_set(PT_PHASE_SPLIT);
    return st;
}

static void op_discard(void *user, pt_fragment *f)
{
    pt_stage_discard(&((pt_batch *)user)->t->device, f);
}

static pt_status op_release(void *user)
{
    return pt_mem_release(&((pt_batch *)user)->t->device);
}
static size_t op_held(void *user)
{
    return pt_mem_held(&((pt_batch *)user)->t->device);
}

static void op_clear(void *user)
{
    (void)user;
    cudaGetLastError(); /* a handled OOM must not blame the next launch */
}

static int op_alive(void *user)
{
    pt_device *d = &((pt_batch *)user)->t->device;
    void *probe = NULL;
    if (pt_device_sync(d) != PT_OK) return 0;
    int alive = cudaMalloc(&probe, 512) == cudaSuccess &&
                cudaMemsetAsync(probe, 0, 512, d->stream) == cudaSuccess &&
                cudaStreamSynchronize(d->stream) == cudaSuccess;
    cudaFree(probe);
    cudaGetLastError();
    return alive;
}

static uint64_t hash_fragment(uint64_t h, const pt_fragment *f)
{
    h = pt_probe_hash(h, &f->shape, sizeof f->shape);
    h = pt_probe_hash(h, f->member, sizeof *f->member * (size_t)f->shape.scenes);
    int64_t rest[] = {f->augmented, f->spatial, f->tried, f->gather_rows, f->axis, f->where};
    h = pt_probe_hash(h, rest, sizeof rest);
    for (int k = 0; f->where == PT_ON_HOST && k < PT_FIELD_COUNT; k++)
        h = pt_probe_hash(h, *pt_field_at((pt_fields *)&f->host, (pt_field)k),
                          pt_field_bytes((pt_field)k, &f->shape));
    return h;
}

/* All that decides how the batch goes on, but for device memory, which a sweep looks at itself. */
static void op_before_retry(void *user, const pt_fragment *next, const pt_queue *rest,
                            const pt_ledger *ledger)
{
    pt_batch *b = user;
    if (!pt_probe_watched()) return;
    uint64_t h = hash_fragment(1, next);
    for (const pt_fragment *f = rest->head; f; f = f->next) h = hash_fragment(h, f);
    for (int s = 0; s < ledger->scenes; s++)
        h = pt_probe_hash(h, ledger->fate[s], (size_t)ledger->points[s]);
    int64_t left[] = {b->out->recover.attempts, b->t->step, b->t->optimizer.t};
    h = pt_probe_hash(h, left, sizeof left);
    h = pt_probe_hash(h, &b->t->plan, sizeof b->t->plan);
    h = pt_probe_hash(h, &b->t->plan_forward, sizeof b->t->plan_forward);
    h = pt_probe_hash(h, &b->out->loss, sizeof b->out->loss);
    if (b->scores) {
        h = pt_probe_hash(h, b->scores->confusion, sizeof b->scores->confusion);
        h = pt_probe_hash(h, b->out->confusion, sizeof b->out->confusion);
        h = pt_probe_hash(h, &b->scores->dropped, sizeof b->scores->dropped);
    }
    const pt_moments *m = &b->t->moments; /* empty, but for batch norm */
    h = pt_probe_hash(h, m->piece, (size_t)m->pieces * m->size * sizeof *m->piece);
    pt_probe_retry(&h, sizeof h);
}

static pt_status op_noted(void *user, pt_fragment *f, pt_attempt *got)
{
    pt_note_begin(user, f);
    pt_status st = op_attempt(user, f, got);
    pt_note_end(user, f, st);
    pt_note_plan(user, f, st);
    return st;
}

const pt_recover_ops pt_batch_ops = {NULL,       op_noted,   op_commit,      op_stage,
                                     op_augment, op_discard, op_release,     op_held,
                                     op_clear,   op_alive,   op_before_retry};

pt_status pt_trainer_batch(pt_trainer *t, const pt_scene *scenes, const uint32_t *keys, int n,
                           pt_ledger *ledger, pt_batch_result *out)
{
    pt_status st = PT_OK;
    pt_fragment *whole = NULL;
    pt_batch b = {
        .t = t,
        .out = out,
        .augment = {t->o.seed, (uint64_t)t->step, t->o.augment, t->o.elastic, t->o.colour_drop}};
    pt_recover_ops ops = pt_batch_ops;
    double start = pt_now(), weight = 0;
    ops.user = &b;
    /* pieces of a batch have batch statistics of their own: what has them is not split unasked */
    if (t->o.plan_ahead && t->o.net.norm != PT_NORM_BATCH) b.plan = &t->plan;
    memset(out, 0, sizeof *out);
    *ledger = (pt_ledger){0};
    int64_t carried = 0, *sizes = calloc((size_t)n, sizeof *sizes);
    if (!sizes) return pt_fail(PT_ERR_HOST, "no host memory for a batch of %d scenes", n);
    pt_probe_step_begin(); /* from here on the way out is done, which ends the step */
    for (int p = 0; p < PT_PHASES; p++) out->seconds_phase[p] = -pt_phase_seconds((pt_phase)p);
    t->optimizer.launched = t->accum.launched = 0;
    pt_moments_reset(&t->moments);
    out->lr = pt_learning_rate(&t->o, t->step / pt_accum_of(&t->o));
    out->loss_scale = t->scaler.scale;
    for (int s = 0; s < n; s++) {
        out->points += sizes[s] = scenes[s].n;
        pt_probe_sample(sizes[s]);
    }
    pt_probe_bound((b.plan ? pt_recover_bound_planned : pt_recover_bound)(sizes, n, t->o.split));
    TRY(pt_ledger_open(ledger, sizes, n));
    TRY(pt_fragment_join(scenes, keys, n, t->o.net.classes, pt_class_weights_of(&t->o), &whole));
    weight = b.divisor = pt_fragment_valid_weight(whole);
    if (b.divisor <= 0) b.divisor = 1; /* nothing has a weight: the loss and its gradient are 0 */
    b.grad_divisor = t->accum.batches ? t->accum.divisor : b.divisor;
    t->accum.offered = b.grad_divisor;
    carried = t->accum.points;
    TRY(pt_twice(t, out, pt_start_batch));
    b.used = pt_mem_used(&t->device);
    pt_recover_options ro = {.split = {t->o.split, t->halo, PT_HALF_WORTH},
                             .on_floor = t->o.on_floor,
                             .gather_small = PT_SMALL_GATHER_ROWS,
                             .plan = b.plan,
                             .baseline = t->baseline};
    pt_fragment *given = whole;
    whole = NULL;
    TRY(pt_recover_batch(&ops, &ro, given, ledger, &out->recover));
    if (ledger->count[PT_FATE_TRAINED] > 0) {
        if (t->net->nmoments) TRY(pt_twice(t, out, pt_learn_statistics));
        out->frozen = b.frozen == 2;
    }
    TRY(pt_step_batch(t, weight, ledger->count[PT_FATE_TRAINED], out));
done:
    pt_fragment_free(whole);
    free(sizes);
    if (st != PT_OK || out->overflow) pt_roll_back(t);
    if (st != PT_OK) pt_step_without(t, out);
    if (out->overflow && st == PT_OK) pt_ledger_fail(ledger, PT_FATE_OVERFLOW);
    t->step++;
    out->trained = ledger->count[PT_FATE_TRAINED];
    out->dropped = pt_ledger_dropped(ledger);
    if (st == PT_OK && out->recover.planned) pt_plan_kept(&t->plan);
    if (pt_mem_peak(&t->device, 0) > out->bytes_peak) out->bytes_peak = pt_mem_peak(&t->device, 0);
    out->seconds = pt_now() - start;
    pt_phase_set(PT_PHASE_NONE);
    for (int p = 0; p < PT_PHASES; p++) out->seconds_phase[p] += pt_phase_seconds((pt_phase)p);
    if (st == PT_OK && t->hooks.after_batch) t->hooks.after_batch(t->hooks.user, out);
    if (pt_probe_watched()) { /* a cache is no leak */
        pt_status freed = pt_mem_release(&t->device);
        if (st == PT_OK) st = freed;
    }
    const pt_recover_stats *r = &out->recover;
    b.plan = NULL; /* what is computed again teaches nothing */
    pt_watch a = {b, scenes, keys, n, ledger};
    pt_probe_carried(carried);
    pt_probe_reference(pt_watch_again, &a);
    if (t->o.net.amp != PT_AMP_OFF) pt_probe_wider(pt_watch_wider, &a, 2);
    pt_probe_step_end(
        &(pt_probe_step){out->points, out->trained, out->dropped, r->attempts, r->bound, r->retries,
                         r->splits_scene + r->splits_space, st != PT_OK,
                         st != PT_OK ? pt_exit_code(pt_error_last(), out) : 0, out->regrouped});
    return st;
}
