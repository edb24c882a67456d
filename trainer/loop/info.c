/* info.c - what a scene holds: points, size, classes, voxels. */
#include "data.h"
#include "loop/apply.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Voxels that hold a point; -1: no host memory. */
static int64_t voxels(const pt_scene *s)
{
    uint64_t *key = malloc(sizeof *key * (size_t)s->n);
    int64_t n = 0;
    if (!key) return -1;
    for (int64_t p = 0; p < s->n; p++) {
        key[p] = 0;
        for (int c = 0; c < 3; c++)
            key[p] = key[p] << 21 | ((uint64_t)floorf(s->coord[3 * p + c] / s->voxel) & 0x1fffff);
    }
    qsort(key, (size_t)s->n, sizeof *key, by_key);
    for (int64_t p = 0; p < s->n; p++) n += p == 0 || key[p] != key[p - 1];
    free(key);
    return n;
}

static void show(const pt_scene *s)
{
    float low[3], high[3];
    int64_t of[PT_MAX_CLASSES + 1] = {0}, other = 0, n = voxels(s);
    for (int c = 0; c < 3; c++) low[c] = high[c] = s->coord[c];
    for (int64_t p = 0; p < s->n; p++) {
        for (int c = 0; c < 3; c++) {
            float x = s->coord[3 * p + c];
            low[c] = x < low[c] ? x : low[c];
            high[c] = x > high[c] ? x : high[c];
        }
        int32_t l = s->label[p];
        if (l == PT_IGNORE)
            of[PT_MAX_CLASSES]++;
        else if (l >= 0 && l < PT_MAX_CLASSES)
            of[l]++;
        else
            other++;
    }
    printf("%s: %lld points\n  from   ", s->name, (long long)s->n);
    for (int c = 0; c < 3; c++) printf(" %.3f", s->origin[c] + (double)low[c]);
    printf("\n  size   ");
    for (int c = 0; c < 3; c++) printf(" %.3f", (double)high[c] - (double)low[c]);
    printf("\n  voxels  %lld of edge %g (%.1f points each)\n  classes", (long long)n,
           (double)s->voxel, n > 0 ? (double)s->n / (double)n : 0.0);
    for (int l = 0; l < PT_MAX_CLASSES; l++)
        if (of[l]) printf(" %d:%lld", l, (long long)of[l]);
    if (other) printf(" above %d:%lld", PT_MAX_CLASSES - 1, (long long)other);
    printf(" ignored:%lld\n", (long long)of[PT_MAX_CLASSES]);
}

int pt_info(const pt_options *o)
{
    pt_dataset *data = NULL;
    pt_data_options d = {.paths = o->data,
                         .npaths = o->ndata,
                         .class_map = o->classes,
                         .voxel = o->voxel,
                         .unlabelled = 1,
                         .seed = o->seed};
    pt_status st = pt_dataset_open(&d, &data);
    for (int i = 0; st == PT_OK && i < pt_dataset_count(data); i++) {
        pt_scene scene = {0};
        st = pt_dataset_load(data, i, &scene);
        if (st == PT_OK) show(&scene);
        pt_scene_free(&scene);
    }
    if (st != PT_OK) fprintf(stderr, "pointtrain: error: %s\n", pt_error_last()->message);
    pt_dataset_free(data);
    return st == PT_OK ? 0 : 2;
}
