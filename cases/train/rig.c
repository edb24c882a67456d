/* rig.c - see rig.h */
#include "rig.h"
#include "data.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const rig *r)
{
    return r->t->net->nparams * sizeof(real);
}

static real *new_array(size_t n)
{
    real *a = calloc(n ? n : 1, sizeof *a);
    ck_assert_ptr_nonnull(a);
    return a;
}

real *rig_copy(const rig *r, const real *values)
{
    real *a = new_array(r->t->net->nparams);
    memcpy(a, values, bytes_of(r));
    return a;
}

void rig_read_state(rig *r, rig_state *s)
{
    pt_net *n = r->t->net;
    if (!s->param) {
        s->param = new_array(n->nparams);
        s->m = new_array(n->nparams);
        s->v = new_array(n->nparams);
        s->running = new_array(n->nrunning);
    }
    ck_assert_int_eq(pt_trainer_read(r->t, n->param, n->nparams, s->param), PT_OK);
    ck_assert_int_eq(pt_trainer_read(r->t, r->t->optimizer.m, n->nparams, s->m), PT_OK);
    if (r->t->optimizer.v)
        ck_assert_int_eq(pt_trainer_read(r->t, r->t->optimizer.v, n->nparams, s->v), PT_OK);
    if (n->nrunning)
        ck_assert_int_eq(pt_trainer_read(r->t, n->running, n->nrunning, s->running), PT_OK);
    s->t = r->t->optimizer.t;
    s->step = r->t->step;
}

static void write_state(rig *r, const rig_state *s)
{
    pt_net *n = r->t->net;
    ck_assert_int_eq(pt_trainer_write(r->t, n->param, n->nparams, s->param), PT_OK);
    ck_assert_int_eq(pt_trainer_write(r->t, r->t->optimizer.m, n->nparams, s->m), PT_OK);
    if (r->t->optimizer.v)
        ck_assert_int_eq(pt_trainer_write(r->t, r->t->optimizer.v, n->nparams, s->v), PT_OK);
    if (n->nrunning)
        ck_assert_int_eq(pt_trainer_write(r->t, n->running, n->nrunning, s->running), PT_OK);
    r->t->optimizer.t = s->t;
    r->t->step = s->step;
}

rig_state rig_state_copy(const rig *r, const rig_state *s)
{
    rig_state c = *s;
    c.param = rig_copy(r, s->param);
    c.m = rig_copy(r, s->m);
    c.v = rig_copy(r, s->v);
    c.running = new_array(r->t->net->nrunning);
    memcpy(c.running, s->running, r->t->net->nrunning * sizeof(real));
    return c;
}

void rig_state_free(rig_state *s)
{
    free(s->param);
    free(s->m);
    free(s->v);
    free(s->running);
    *s = (rig_state){0};
}

/* The gradient is whole: every fragment is committed, the step is not yet taken. */
static void keep_gradient(void *user)
{
    rig *r = user;
    ck_assert_int_eq(pt_trainer_read(r->t, r->t->net->grad, r->t->net->nparams, r->grad), PT_OK);
    r->stepped = 1;
}

void rig_open(rig *r, const rig_options *o)
{
    *r = (rig){.o = *o};
    int w = o->width0 ? o->width0 : 8;
    pt_trainer_options t = {.net = {.classes = PT_ROOM_CLASSES,
                                    .width = {w, 2 * w, 4 * w},
                                    .convs = o->convs ? o->convs : 1,
                                    .norm = o->norm,
                                    .amp = o->amp,
                                    .seed = 5},
                            .allocator = o->allocator,
                            .split = o->split,
                            .on_floor = o->on_floor,
                            .seed = 11,
                            .lr = 1e-3,
                            .weight_decay = 0.01,
                            .optimizer = o->optimizer,
                            .momentum = 0.9,
                            .clip = o->clip,
                            .smoothing = o->smoothing,
                            .dropout = o->dropout,
                            .plan_ahead = o->plan_ahead,
                            .weighted = o->class_weight != NULL,
                            .steps = 100,
                            .accum = o->accum,
                            .device_fields = o->device_fields,
                            .augment = 1};
    for (int c = 0; o->class_weight && c < PT_ROOM_CLASSES; c++)
        t.class_weight[c] = o->class_weight[c];
    for (int s = 0; s < o->scenes; s++) {
        float voxel = o->voxel > 0 ? o->voxel : 0.1f;
        int i = 0;
        pt_room how = {.most = 300000, .classes = PT_ROOM_CLASSES, .voxel = voxel};
        while (pt_room_points(3, i + 100 * s, &how) < o->points[s]) i++;
        how.most = o->points[s];
        ck_assert_int_eq(pt_room_make(3, i + 100 * s, &how, &r->scene[s]), PT_OK);
        r->key[s] = (uint32_t)s;
    }
    pt_status st = pt_trainer_open(&t, &r->t);
    ck_assert_msg(st == PT_OK, "the trainer did not open: %s", pt_error_last()->message);
    r->grad = new_array(r->t->net->nparams);
    r->t->hooks.user = r;
    r->t->hooks.before_step = keep_gradient;
    rig_read_state(r, &r->start);
    r->live = oomproof_live_bytes();
}

void rig_close(rig *r)
{
    pt_ledger_close(&r->ledger);
    rig_state_free(&r->start);
    rig_state_free(&r->end);
    free(r->grad);
    for (int s = 0; s < r->o.scenes; s++) pt_scene_free(&r->scene[s]);
    pt_trainer_close(r->t);
}

void rig_run(rig *r, const char *rules, uint64_t *fired)
{
    char error[256] = "";
    pt_ledger_close(&r->ledger);
    write_state(r, &r->start);
    r->stepped = 0;
    pt_error_clear();
    if (rules) {
        ck_assert_msg(oomproof_present(), "the shim is not loaded");
        ck_assert_msg(oomproof_arm(rules, error, sizeof error) >= 1, "%s: %s", rules, error);
    }
    r->status = pt_trainer_batch(r->t, r->scene, r->key, r->o.scenes, &r->ledger, &r->result);
    r->error = *pt_error_last();
    if (fired) *fired = oomproof_fired(0);
    oomproof_disarm();
    if (r->status == PT_OK || pt_classify(&r->error) != PT_CLASS_FATAL) rig_read_state(r, &r->end);
}

void rig_run_on_budget(rig *r, double share, uint64_t room)
{
    char rule[96];
    snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)((double)r->live + share * (double)room));
    rig_run(r, rule, NULL);
    ck_assert_msg(r->status == PT_OK, "%s: %s", rule, r->error.message);
    ck_assert_msg(r->result.dropped == 0, "%s: %lld points dropped", rule,
                  (long long)r->result.dropped);
    rig_check_invariants(r, rule);
}

double rig_distance(const rig *r, const real *a, const real *reference)
{
    const pt_net *n = r->t->net;
    double all = 0, worst = 0;
    for (size_t i = 0; i < n->nparams; i++) all = fmax(all, fabs((double)reference[i]));
    for (int t = 0; t < n->ntensors; t++) {
        double largest = 0, apart = 0;
        for (size_t i = n->tensor[t].offset; i < n->tensor[t].offset + n->tensor[t].count; i++) {
            double d = fabs((double)a[i] - (double)reference[i]);
            largest = fmax(largest, fabs((double)reference[i]));
            if (isnan(d)) return d; /* nothing after it is larger */
            if (d > apart) apart = d;
        }
        double scale = fmax(largest, 1e-3 * all);
        double e = apart == 0 ? 0 : apart / scale;
        if (e > worst) worst = e;
    }
    return worst;
}

const char *rig_state_diff(const rig *r, const rig_state *a, const rig_state *b)
{
    static char out[128];
    *out = 0;
    if (memcmp(a->param, b->param, bytes_of(r))) strcat(out, " parameters");
    if (memcmp(a->m, b->m, bytes_of(r))) strcat(out, " first moments");
    if (memcmp(a->v, b->v, bytes_of(r))) strcat(out, " second moments");
    if (memcmp(a->running, b->running, r->t->net->nrunning * sizeof(real)))
        strcat(out, " running statistics");
    if (a->t != b->t) strcat(out, " optimiser step");
    return out;
}

void rig_check_invariants(rig *r, const char *what)
{
    if (r->status == PT_OK)
        ck_assert_msg(pt_ledger_check(&r->ledger) == PT_OK, "%s: %s", what,
                      pt_error_last()->message);
    ck_assert_msg(pt_mem_release(&r->t->device) == PT_OK, "%s: blocks cannot be released", what);
    uint64_t live = oomproof_live_bytes();
    ck_assert_msg(live == r->live, "%s: %lld device bytes more than before the batch", what,
                  (long long)(live - r->live));
    cudaError_t last = cudaPeekAtLastError();
    ck_assert_msg(last == cudaSuccess, "%s: the last error is still %s", what,
                  cudaGetErrorName(last));
    const pt_recover_stats *s = &r->result.recover;
    ck_assert_msg(s->attempts <= s->bound, "%s: %lld attempts, the bound is %lld", what,
                  (long long)s->attempts, (long long)s->bound);
}
