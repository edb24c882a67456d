/* original.c - the loop that this project grew out of, on the project's net: every failure is
 * caught and split, the gradient is zeroed for every piece, what is too small is left out without a
 * word. Kept as it was, so that a sweep can show what is wrong with it. usage: original rooms|pole
 */
#include "data.h"
#include "loop/trainer.h"
#include "probe.h"
#include "recovery/stage.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENES = 2, PARTS = 64 };

typedef struct loop {
    pt_trainer *t;
    pt_queue queue;
    double divisor;
    int64_t attempts, retries, splits;
} loop;

/* The whole attempt of the write-up: fields to the device, THEN the gradients are zeroed, forward,
 * loss, backward. */
static pt_status attempt(loop *l, pt_fragment *f)
{
    pt_status st = PT_OK;
    const pt_augment none = {0};
    pt_pass pass = {.divisor = l->divisor, .backward = 1};
    l->attempts++;
    TRY(pt_stage_up(&l->t->device, f, &none, PT_DEVICE_ALL));
    TRY(pt_net_zero_grad(l->t->net));
    TRY(pt_net_pass(l->t->net, &f->device, &f->shape, &pass));
    TRY(pt_net_commit(l->t->net));
done:
    return st;
}

/* `<` the middle of the box along x or y, and the rest; 500 points or fewer are left out. */
static void in_space(loop *l, const pt_fragment *f)
{
    float lo = INFINITY, hi = -INFINITY;
    int64_t *index = malloc(sizeof *index * (size_t)f->shape.points);
    for (int64_t i = 0; i < f->shape.points; i++) {
        lo = fminf(lo, f->host.coord[3 * i + f->axis]);
        hi = fmaxf(hi, f->host.coord[3 * i + f->axis]);
    }
    for (int side = 0; index && side < 2; side++) {
        pt_fragment *half;
        int64_t n = 0;
        for (int64_t i = 0; i < f->shape.points; i++)
            if ((f->host.coord[3 * i + f->axis] < (lo + hi) / 2) == !side) index[n++] = i;
        if (n <= 500) {
            printf("skipping a part of less than 500 points\n");
            continue;
        }
        if (pt_fragment_take(f, index, NULL, n, &half) != PT_OK) continue;
        half->axis = !f->axis;
        pt_queue_push(&l->queue, half);
    }
    free(index);
}

/* Catches everything. */
static void handle(loop *l, pt_fragment *f)
{
    pt_fragment *piece[PARTS];
    printf("%s\nout of memory, splitting by %s\n", pt_error_last()->message,
           f->shape.scenes > 1 ? "batch"
           : f->axis           ? "y"
                               : "x");
    cudaGetLastError();
    pt_stage_down(&l->t->device, f);
    pt_stage_discard(&l->t->device, f);
    pt_mem_release(&l->t->device);
    l->splits++;
    l->retries++;
    int64_t state[] = {f->shape.points, f->shape.scenes, f->axis, l->queue.n};
    pt_probe_retry(state, sizeof state);
    if (f->where != PT_ON_HOST || !f->host.coord) return;
    if (f->shape.scenes == 1) {
        in_space(l, f);
    } else if (f->shape.scenes <= PARTS && pt_split_by_scene(f, piece) == PT_OK) {
        for (int s = 0; s < f->shape.scenes; s++) pt_queue_push(&l->queue, piece[s]);
    }
}

static int train(loop *l, const pt_scene *scenes, int n)
{
    uint32_t keys[SCENES] = {0, 1};
    pt_fragment *f;
    int64_t sizes[SCENES], points = 0;
    for (int s = 0; s < n; s++) points += sizes[s] = scenes[s].n;
    pt_probe_step_begin();
    pt_probe_bound(pt_recover_bound(sizes, n, PT_SPLIT_ALTERNATE));
    if (pt_fragment_join(scenes, keys, n, PT_ROOM_CLASSES, NULL, &f) != PT_OK) return 1;
    l->divisor = pt_fragment_valid_weight(f);
    pt_queue_push(&l->queue, f);
    while ((f = pt_queue_pop(&l->queue))) {
        if (attempt(l, f) != PT_OK) handle(l, f);
        pt_stage_discard(&l->t->device, f);
        pt_fragment_free(f);
    }
    pt_optimizer_step(l->t->net, &l->t->optimizer, 1e-3, 0, 1, NULL);
    pt_device_sync(&l->t->device);
    pt_mem_release(&l->t->device);
    pt_probe_step_end(&(pt_probe_step){.points = points,
                                       .trained = points, /* so the curve looks */
                                       .attempts = l->attempts,
                                       .bound = pt_recover_bound(sizes, n, PT_SPLIT_ALTERNATE),
                                       .retries = l->retries,
                                       .splits = l->splits});
    return 0;
}

/* A column of points that share x and y. */
static pt_status pole(pt_scene *out)
{
    const pt_room r = {.least = 1200, .most = 1200, .classes = PT_ROOM_CLASSES, .voxel = 0.05f};
    pt_status st = pt_room_make(1, 0, &r, out);
    for (int64_t i = 0; st == PT_OK && i < out->n; i++) {
        out->coord[3 * i] = out->coord[3 * i + 1] = 0;
        out->coord[3 * i + 2] = 0.05f * (float)i;
    }
    return st;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    pt_scene scene[SCENES] = {{.n = 0}};
    loop l = {.t = NULL};
    int n = strcmp(what, "pole") ? SCENES : 1, bad = 0;
    const pt_room r = {.least = 1200, .most = 1500, .classes = PT_ROOM_CLASSES, .voxel = 0.05f};
    const pt_trainer_options o = {
        .net = {.classes = PT_ROOM_CLASSES, .width = {8, 16, 32}, .convs = 1},
        .allocator = PT_ALLOC_DIRECT,
        .steps = 1};
    if (strcmp(what, "pole") && strcmp(what, "rooms")) {
        fprintf(stderr, "usage: original rooms|pole\n");
        return 2;
    }
    for (int s = 0; s < n && !bad; s++)
        bad = (n == 1 ? pole(&scene[s]) : pt_room_make(1, s, &r, &scene[s])) != PT_OK;
    if (!bad) bad = pt_trainer_open(&o, &l.t) != PT_OK || train(&l, scene, n) != 0;
    if (bad) fprintf(stderr, "original: %s\n", pt_error_last()->message);
    pt_trainer_close(l.t);
    for (int s = 0; s < n; s++) pt_scene_free(&scene[s]);
    return bad;
}
