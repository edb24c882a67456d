/* differences.c - the gradient itself, in double: central differences of the loss on at least 50
 * entries of every parameter tensor. */
#include "case.h"
#include "recovery/stage.h"
#include "rig.h"
#include <math.h>

typedef struct problem {
    rig r;
    pt_fragment *f;
    pt_pass pass; /* what every pass of it is like */
} problem;

static void open_with(problem *p, int64_t points, const real *class_weight)
{
    pt_augment none = {0};
    uint32_t key = 0;
    rig_open(&p->r, &(rig_options){.scenes = 1, .points = {points}, .width0 = 4, .voxel = 0.1f});
    ck_assert_int_eq(pt_fragment_join(p->r.scene, &key, 1, PT_ROOM_CLASSES, class_weight, &p->f),
                     PT_OK);
    p->pass = (pt_pass){.divisor = pt_fragment_valid_weight(p->f)};
    ck_assert_int_eq(pt_stage_up(&p->r.t->device, p->f, &none, PT_DEVICE_ALL), PT_OK);
}

static void open_problem(problem *p, int64_t points)
{
    open_with(p, points, NULL);
}

static void close_problem(problem *p)
{
    pt_stage_discard(&p->r.t->device, p->f);
    pt_fragment_free(p->f);
    rig_close(&p->r);
}

static const real weights[PT_ROOM_CLASSES] = {0.25, 2, 0, 3, 1.5, 0.75};

static double loss_of(problem *p, int backward)
{
    pt_pass pass = p->pass;
    pass.backward = backward;
    pt_status st = pt_net_pass(p->r.t->net, &p->f->device, &p->f->shape, &pass);
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
    return pass.loss;
}

static double at(problem *p, size_t i, real x, double h)
{
    real moved = x + (real)h;
    ck_assert_int_eq(pt_trainer_write(p->r.t, p->r.t->net->param + i, 1, &moved), PT_OK);
    return loss_of(p, 0);
}

/* `most` entries of every parameter tensor, or all where there are fewer */
static void agrees(problem *p, size_t most)
{
    pt_net *n = p->r.t->net;
    loss_of(p, 1);
    real *g = rig_copy(&p->r, p->r.start.param), *param = rig_copy(&p->r, p->r.start.param);
    ck_assert_int_eq(pt_trainer_read(p->r.t, n->scratch, n->nparams, g), PT_OK);
    double all = 0, worst = 0;
    for (size_t i = 0; i < n->nparams; i++) all = fmax(all, fabs((double)g[i]));
    for (int t = 0; t < n->ntensors; t++) {
        const pt_tensor *k = &n->tensor[t];
        size_t entries = k->count < most ? k->count : most;
        double largest = 1e-3 * all;
        for (size_t i = 0; i < k->count; i++)
            largest = fmax(largest, fabs((double)g[k->offset + i]));
        for (size_t e = 0; e < entries; e++) {
            size_t i = k->offset + e * k->count / entries;
            /* two step sizes: where a ReLU changes sides within the larger one, the smaller decides
             */
            double best = INFINITY;
            for (double h = 1e-5; h >= 1e-7; h /= 10) {
                double d = (at(p, i, param[i], h) - at(p, i, param[i], -h)) / (2 * h);
                best = fmin(best, fabs(d - (double)g[i]) / largest);
            }
            at(p, i, param[i], 0);
            ck_assert_msg(best <= 1e-6, "%s[%zu]: gradient %.12g is off by %.3g", k->name,
                          i - k->offset, (double)g[i], best);
            worst = fmax(worst, best);
        }
    }
    printf("%d tensors, at most %zu entries each: worst relative difference %.2g\n", n->ntensors,
           most, worst);
    free(g);
    free(param);
}

START_TEST(every_parameter_tensor_agrees_with_central_differences)
{
    problem p;
    open_problem(&p, 500);
    agrees(&p, 50);
    close_problem(&p);
}
END_TEST

START_TEST(the_gradient_of_smoothed_labels_agrees_with_central_differences)
{
    problem p;
    open_problem(&p, 500);
    double plain = loss_of(&p, 0);
    p.pass.smoothing = 0.3;
    ck_assert_double_gt(fabs(loss_of(&p, 0) - plain), 1e-3 * plain);
    agrees(&p, 10);
    close_problem(&p);
}
END_TEST

START_TEST(the_gradient_of_weighted_classes_agrees_with_central_differences)
{
    problem p;
    open_with(&p, 500, weights);
    agrees(&p, 10);
    p.pass.smoothing = 0.3;
    agrees(&p, 5);
    close_problem(&p);
}
END_TEST

START_TEST(the_gradient_under_dropout_agrees_with_central_differences)
{
    problem p;
    open_problem(&p, 500);
    double plain = loss_of(&p, 0);
    p.pass.dropout = 0.4;
    p.pass.seed = 3;
    p.pass.step = 1;
    double first = loss_of(&p, 0);
    ck_assert_double_gt(fabs(first - plain), 1e-4 * plain);
    p.pass.step = 2;
    ck_assert_double_gt(fabs(loss_of(&p, 0) - first), 1e-4 * plain);
    agrees(&p, 10);
    close_problem(&p);
}
END_TEST

START_TEST(two_runs_are_equal_in_every_bit)
{
    problem p;
    open_problem(&p, 3000);
    pt_net *n = p.r.t->net;
    real *a = rig_copy(&p.r, p.r.start.param), *b = rig_copy(&p.r, p.r.start.param);
    loss_of(&p, 1);
    ck_assert_int_eq(pt_trainer_read(p.r.t, n->scratch, n->nparams, a), PT_OK);
    loss_of(&p, 1);
    ck_assert_int_eq(pt_trainer_read(p.r.t, n->scratch, n->nparams, b), PT_OK);
    ck_assert_mem_eq(a, b, n->nparams * sizeof *a);
    free(a);
    free(b);
    close_problem(&p);
}
END_TEST

START_TEST(the_halo_comes_from_the_net)
{
    ck_assert_int_eq(pt_net_halo(&(pt_net_options){.width = {32, 64, 128}, .convs = 1}), 14);
    ck_assert_int_eq(pt_net_halo(&(pt_net_options){.width = {32, 64, 128}, .convs = 2}), 24);
}
END_TEST

static const case_entry cases[] = {
#include "differences.def"
};
CASE_MAIN("differences")
