/* pass.c - one attempt: voxelise, forward, loss, backward into scratch. Everything it allocates
 * dies with its arena, whatever happens. */
#include "kernels/kernels.h"
#include "net/layers.h"
#include "probe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NEW(pointer, count, type, tag)                                             \
    do {                                                                           \
        void *new_;                                                                \
        TRY(pt_arena_alloc(&r->arena, (size_t)(count), sizeof(type), tag, &new_)); \
        pointer = new_;                                                            \
    } while (0)

static real *tensor(const pt_run *r, int t)
{
    return r->net->param + r->net->tensor[t].offset;
}
static real *gradient(const pt_run *r, int t)
{
    return r->net->scratch + r->net->tensor[t].offset;
}

#define NARROW_ROWS 8192

static int64_t longest_list(const pt_map *m, int centre)
{
    int64_t most = 0;
    for (int o = 0; o < m->offsets; o++)
        if (o != centre && m->start[o + 1] - m->start[o] > most)
            most = m->start[o + 1] - m->start[o];
    return most;
}

/* One workspace for the whole pass: the largest need of any block, in rows and in elements. */
static pt_status workspace(pt_run *r, int64_t limit)
{
    const struct pt_net_layers *n = r->net->layers;
    size_t in = 0, out = 0, columns = 0;
    int64_t rows = 0;
    pt_status st = PT_OK;
    for (int b = 0; b < n->nblocks; b++) {
        const pt_block *k = &n->block[b];
        const pt_map *m = k->kind == PT_CONV3     ? &r->levels.same[k->level]
                          : k->kind == PT_CONV_UP ? &r->levels.down[k->level]
                                                  : &r->levels.down[k->level - 1];
        int64_t need = longest_list(m, k->kind == PT_CONV3 ? 13 : -1), v = r->levels.v[k->level];
        /* rows of the centre are made narrow there, not all at once */
        if (r->net->options.amp != PT_AMP_OFF && need < v) need = v < NARROW_ROWS ? v : NARROW_ROWS;
        if (limit > 0 && need > limit) need = limit;
        if (need > rows) rows = need;
        if ((size_t)(need * k->cin) > in) in = (size_t)(need * k->cin);
        if ((size_t)(need * k->cout) > out) out = (size_t)(need * k->cout);
        size_t c = pt_k_columns_room(r->levels.v[k->level], k->cout);
        if (c > columns) columns = c;
        c = r->moments ? pt_k_moments_room(r->levels.v[k->level], k->cout) : 0;
        if (c > columns) columns = c;
    }
    size_t head = pt_k_columns_room(r->levels.v[0], r->net->options.classes);
    r->gather_rows = rows ? rows : 1;
    NEW(r->gather_in, in, real, "net/gather_in");
    NEW(r->gather_out, out, real, "net/gather_out");
    NEW(r->columns, columns > head ? columns : head, double, "net/columns");
done:
    return st;
}

/* What the head takes, or its gradient. The mask is drawn again for the gradient. In place is right
 * for the ReLU before it too: its backward asks for the sign of its output, and where that was left
 * out the gradient is 0 already. */
static pt_status dropout(pt_run *r, real *x)
{
    const pt_pass *p = r->pass;
    if (!(p->dropout > 0)) return PT_OK;
    pt_tag_set("net/dropout");
    return pt_k_dropout(r->net->device, r->levels.v[0], r->net->options.width[0], r->levels.key[0],
                        r->scene, p->seed, p->step, p->dropout, x);
}

static pt_status forward(pt_run *r, real **logits)
{
    const struct pt_net_layers *n = r->net->layers;
    pt_device *d = r->net->device;
    pt_status st = PT_OK;
    real *x = r->levels.feature;
    for (int b = 0; b < n->nblocks; b++) {
        const pt_block *k = &n->block[b];
        int64_t v = r->levels.v[k->level];
        if (k->skip >= 0) {
            real *both;
            int half = k->cin / 2;
            NEW(both, v * k->cin, real, k->tag[5]);
            TRY(pt_k_concat(d, v, half, half, x, r->at[k->skip].y, both));
            pt_arena_drop(&r->arena, x); /* its signs, which its ReLU will ask for, are in both */
            r->at[b - 1].y = NULL;
            x = both;
        }
        r->at[b].x = x;
        r->at[b].v = v;
        NEW(r->at[b].z, v * k->cout, real, k->tag[0]);
        TRY(pt_conv_forward(r, b, r->at[b].z));
        int64_t stats = r->net->options.norm == PT_NORM_LAYER ? v : k->cout;
        NEW(r->at[b].y, v * k->cout, real, k->tag[1]);
        NEW(r->at[b].mean, stats, real, k->tag[2]);
        NEW(r->at[b].inv, stats, real, k->tag[2]);
        TRY(pt_norm_forward(r, b));
        x = r->at[b].y;
    }
    int classes = r->net->options.classes, width = r->net->options.width[0];
    TRY(dropout(r, x));
    NEW(*logits, r->levels.v[0] * classes, real, "net/head/out");
    pt_tag_set("net/head");
    TRY(pt_gemm_forward(d, PT_AMP_OFF, r->levels.v[0], width, classes, x, tensor(r, n->head_weight),
                        *logits));
    TRY(pt_k_add_bias(d, r->levels.v[0], classes, tensor(r, n->head_bias), *logits));
done:
    return st;
}

static pt_status predict(pt_run *r, const real *logp, pt_pass *pass)
{
    pt_status st = PT_OK;
    int32_t *out = NULL;
    int64_t n = r->points;
    NEW(out, n, int32_t, "loss/predicted");
    TRY(pt_k_predict(r->net->device, n, r->net->options.classes, logp, r->levels.member, out));
    if (!(pass->predicted = malloc(sizeof *pass->predicted * (size_t)n))) {
        st = pt_fail(PT_ERR_HOST, "no host memory for the classes of %lld points", (long long)n);
        goto done;
    }
    TRY(pt_copy_down(r->net->device, pass->predicted, out, sizeof *out * (size_t)n));
    pt_arena_drop(&r->arena, out);
done:
    return st;
}

/* logits are overwritten by their log-softmax, then by their gradient. */
static pt_status loss(pt_run *r, real *logits, pt_pass *pass)
{
    pt_device *d = r->net->device;
    int classes = r->net->options.classes;
    int64_t v = r->levels.v[0];
    size_t cells = (size_t)(classes * classes);
    double grad_divisor = pass->grad_divisor > 0 ? pass->grad_divisor : pass->divisor;
    unsigned long long *confusion = NULL;
    double *each = NULL, *total = NULL, *tmp = NULL;
    void *class_weight;
    pt_status st = PT_OK;
    NEW(each, v, double, "loss/voxel");
    NEW(total, 1, double, "loss/total");
    NEW(tmp, pt_k_sum_room(v), double, "loss/tmp");
    NEW(confusion, cells, unsigned long long, "loss/confusion");
    pt_tag_set("loss");
    TRY(pt_zero(d, confusion, cells * sizeof *confusion));
    TRY(pt_dnn_log_softmax(d, v, classes, logits, logits));
    if (pass->predict) TRY(predict(r, logits, pass));
    TRY(pt_source_take(&r->arena, &r->source, PT_FIELD_class_weight, &class_weight));
    TRY(pt_k_loss(d, v, classes, logits, r->levels.count, class_weight, pass->divisor,
                  grad_divisor / (pass->scale > 0 ? pass->scale : 1), pass->smoothing, logits, each,
                  confusion));
    pt_source_give(&r->arena, &r->source, PT_FIELD_class_weight, class_weight);
    TRY(pt_k_sum(d, v, each, total, tmp));
    TRY(pt_fetch(d, total, sizeof pass->loss, &pass->fetched[0]));
    TRY(pt_fetch(d, confusion, cells * sizeof *confusion, &pass->fetched[1]));
    pt_arena_drop(&r->arena, each);
    pt_arena_drop(&r->arena, total);
    pt_arena_drop(&r->arena, tmp);
    pt_arena_drop(&r->arena, confusion);
done:
    return st;
}

/* The gradient of a block's input goes to the block before it, and a part to the block whose output
 * was concatenated: that part waits until its turn comes. */
static pt_status backward(pt_run *r, real *dlogits)
{
    const struct pt_net_layers *n = r->net->layers;
    pt_device *d = r->net->device;
    int classes = r->net->options.classes, width = r->net->options.width[0], last = n->nblocks - 1;
    int64_t v0 = r->levels.v[0];
    real *waiting[PT_MAX_BLOCKS] = {0}, *dy, *dz, *dx;
    pt_status st = PT_OK;
    pt_tag_set("net/head");
    TRY(pt_gemm_weight(d, PT_AMP_OFF, v0, width, classes, r->at[last].y, dlogits,
                       gradient(r, n->head_weight)));
    TRY(pt_k_norm_columns(d, v0, classes, 1, NULL, NULL, NULL, dlogits, NULL,
                          gradient(r, n->head_bias), r->columns));
    NEW(dy, v0 * width, real, "net/head/dx");
    TRY(pt_gemm_input(d, PT_AMP_OFF, v0, width, classes, dlogits, tensor(r, n->head_weight), dy));
    pt_arena_drop(&r->arena, dlogits);
    TRY(dropout(r, dy));
    for (int b = last; b >= 0; b--) {
        const pt_block *k = &n->block[b];
        int64_t v = r->at[b].v, v_in = pt_block_rows_in(r, b);
        if (waiting[b]) {
            TRY(pt_k_add(d, v * k->cout, waiting[b], dy));
            pt_arena_drop(&r->arena, waiting[b]);
        }
        if (r->at[b].y) TRY(pt_relu_backward(r, b, r->at[b].y, k->cout, dy));
        pt_arena_drop(&r->arena, r->at[b].y);
        NEW(dz, v * k->cout, real, k->tag[0]);
        TRY(pt_norm_backward(r, b, dy, dz));
        pt_arena_drop(&r->arena, dy);
        pt_arena_drop(&r->arena, r->at[b].z);
        dx = NULL;
        if (b > 0) NEW(dx, v_in * k->cin, real, k->tag[3]);
        TRY(pt_conv_backward(r, b, dz, dx));
        pt_arena_drop(&r->arena, dz);
        dy = dx;
        if (k->skip >= 0) {
            int half = k->cin / 2;
            /* of both blocks whose outputs these were: the other's is done again with its sum,
             * which changes nothing */
            TRY(pt_relu_backward(r, b - 1, r->at[b].x, k->cin, dx));
            pt_arena_drop(&r->arena, r->at[b].x);
            NEW(dy, v_in * half, real, k->tag[3]);
            NEW(waiting[k->skip], v_in * half, real, k->tag[5]);
            TRY(pt_k_split(d, v_in, half, half, dx, dy, waiting[k->skip]));
            pt_arena_drop(&r->arena, dx);
        }
    }
done:
    return st;
}

pt_status pt_net_pass_end(const pt_net *n, pt_pass *pass)
{
    size_t cells = (size_t)(n->options.classes * n->options.classes);
    memcpy(&pass->loss, pass->fetched[0], sizeof pass->loss);
    memcpy(pass->confusion, pass->fetched[1], cells * sizeof *pass->confusion);
    if (isfinite(pass->loss)) return PT_OK;
    pt_phase_set(PT_PHASE_LOSS);
    return pt_fail(PT_ERR_NAN, "the loss is %g in phase loss: no optimiser step was taken",
                   pass->loss);
}

pt_status pt_net_pass(pt_net *net, const pt_fields *fields, const pt_shape *shape, pt_pass *pass)
{
    pt_run run = {.net = net}, *r = &run;
    real *logits = NULL;
    pt_status st = PT_OK;
    pass->did_forward = pass->did_backward = 0;
    net->added = 0;
    pt_arena_init(&r->arena, net->device);
    if (shape->classes != net->options.classes)
        return pt_fail(PT_ERR_INTERNAL, "a fragment of %d classes for a net of %d", shape->classes,
                       net->options.classes);
    pt_phase_set(PT_PHASE_VOXELISE);
    TRY(pt_zero(net->device, net->scratch, net->nparams * sizeof(real)));
    if (net->narrow)
        TRY(pt_k_narrow(net->device, (int64_t)net->nparams, net->options.amp, net->param,
                        net->narrow));
    r->levels.keep_member = pass->predict;
    r->levels.keep_key = pass->dropout > 0;
    r->pass = pass;
    r->source = (pt_source){fields, pass->host, shape};
    r->given = net->options.norm == PT_NORM_FROZEN || pass->inference || pass->frozen;
    r->moments = net->moments && !pass->inference;
    r->levels.keep_own = r->moments;
    r->points = shape->points;
    TRY(pt_voxelise(&r->arena, &r->source, &r->levels));
    if (pass->dropout > 0) {
        void *scene;
        TRY(pt_source_take(&r->arena, &r->source, PT_FIELD_scene, &scene));
        r->scene = scene;
    }
    pass->voxels = r->levels.v[0];
    pass->pairs = r->levels.same[0].start[27];
    pass->coarsest = r->levels.v[PT_LEVELS - 1];
    pass->keeps = pt_net_keeps(r);
    pt_phase_set(PT_PHASE_FORWARD);
    TRY(workspace(r, pass->gather_rows));
    TRY(forward(r, &logits));
    pass->did_forward = 1;
    pt_phase_set(PT_PHASE_LOSS);
    TRY(loss(r, logits, pass));
    if (pass->backward) {
        pt_phase_set(PT_PHASE_BACKWARD);
        TRY(backward(r, logits));
    }
    pass->did_backward = pass->backward;
    if (r->moments)
        TRY(pt_copy_down(net->device, net->moments, net->moments_device,
                         net->nmoments * sizeof *net->moments));
    if (pass->later) goto done;
    TRY(pt_device_sync(net->device));
    TRY(pt_net_pass_end(net, pass));
done:
    pt_arena_free(&r->arena);
    pt_tag_set("");
    return st;
}
