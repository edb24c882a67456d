/* gradient_print.c - writes the gradient of one batch to a file as doubles, unsplit and under a
 * budget, so that two builds of the trainer can be compared. usage: gradient_float|gradient_double
 * FILE */
#include "rig.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static void put(FILE *f, const rig *r)
{
    for (size_t i = 0; i < r->t->net->nparams; i++) {
        double x = (double)r->grad[i];
        if (fwrite(&x, sizeof x, 1, f) != 1) exit(1);
    }
}

int main(int argc, char **argv)
{
    rig r;
    char rule[96];
    FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
    if (!f) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }
    rig_open(&r, &(rig_options){.scenes = 3,
                                .points = {9000, 1500, 1200},
                                .voxel = 0.12f,
                                .allocator = PT_ALLOC_DIRECT});
    double sizes[2] = {(double)r.t->net->nparams, (double)r.t->net->ntensors};
    fwrite(sizes, sizeof *sizes, 2, f);
    for (int t = 0; t < r.t->net->ntensors; t++) {
        double row[2] = {(double)r.t->net->tensor[t].offset, (double)r.t->net->tensor[t].count};
        fwrite(row, sizeof *row, 2, f);
    }
    rig_run(&r, NULL, NULL);
    if (r.status != PT_OK) {
        fprintf(stderr, "%s\n", r.error.message);
        return 1;
    }
    put(f, &r);
    snprintf(rule, sizeof rule, "cudaMalloc budget=%llu -> oom",
             (unsigned long long)((double)r.live +
                                  0.62 * (double)(r.result.bytes_peak - r.result.bytes_baseline)));
    rig_run(&r, rule, NULL);
    if (r.status != PT_OK || !r.result.recover.splits_scene || !r.result.recover.splits_space) {
        fprintf(stderr, "%s: %s; %d scene and %d spatial splits\n", rule, r.error.message,
                (int)r.result.recover.splits_scene, (int)r.result.recover.splits_space);
        return 1;
    }
    put(f, &r);
    rig_close(&r);
    return fclose(f) != 0;
}
