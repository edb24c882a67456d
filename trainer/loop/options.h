/* options.h - the command line of pointtrain: one table of options for all of its commands. */
#ifndef PT_OPTIONS_H
#define PT_OPTIONS_H
#include "loop/trainer.h"

typedef enum pt_on { PT_STOP, PT_SKIP } pt_on;
typedef enum pt_command { PT_TRAIN, PT_EVAL, PT_PREDICT, PT_INFO, PT_COMMANDS } pt_command;

typedef struct pt_options {
    pt_command command;
    const char **data, **val; /* as given, in order */
    int ndata, nval;
    const char *classes, *class_weights, *checkpoint, *log, *out, *tensorboard;
    int batch, accum, convs, skip_bad, quiet;
    int64_t steps, warmup, gather_rows, val_every, checkpoint_every;
    uint64_t seed;
    float voxel, augment, elastic, colour_drop;
    double lr, weight_decay, momentum, clip, label_smoothing, dropout, point_dropout,
        max_dropped; /* max_dropped: a share, 0.01 = 1 % */
    int allocator, norm, split, on_floor, on_error, on_nan, schedule, optimizer, amp, norm_on_split,
        device_fields, plan_ahead; /* of their enums */
} pt_options;

/* 1: go on with *o. 0: the process ends with *code; what to say has been said. */
int pt_options_parse(int argc, char **argv, pt_options *o, int *code);
void pt_options_free(pt_options *o);

#endif
