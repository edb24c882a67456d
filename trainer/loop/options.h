/* options.h - the command line of `pointtrain train`. */
#ifndef PT_OPTIONS_H
#define PT_OPTIONS_H
#include "loop/trainer.h"

typedef enum pt_on { PT_STOP, PT_SKIP } pt_on;

typedef struct pt_options {
    const char **data; /* as given, in order */
    int ndata;
    const char *classes, *checkpoint, *log;
    int batch, convs, skip_bad, quiet;
    int64_t steps, warmup, gather_rows;
    uint64_t seed;
    float voxel, augment;
    double lr, weight_decay, clip, max_dropped; /* max_dropped: a share, 0.01 = 1 % */
    pt_allocator_kind allocator;
    pt_norm norm;
    pt_split_mode split;
    pt_on_floor on_floor;
    pt_on on_error, on_nan;
    pt_schedule schedule;
} pt_options;

/* 1: go on with *o. 0: the process ends with *code; what to say has been said. */
int pt_options_parse(int argc, char **argv, pt_options *o, int *code);
void pt_options_free(pt_options *o);

#endif
