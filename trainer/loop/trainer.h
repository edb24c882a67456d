/* trainer.h - a training run: one batch at a time through the recovery, one optimiser step each. */
#ifndef PT_TRAINER_H
#define PT_TRAINER_H
#include "device/device.h"
#include "loop/scaler.h"
#include "net/net.h"
#include "probe.h"
#include "recovery/recover.h"
#include "recovery/stage.h"

typedef enum pt_schedule { PT_LR_CONSTANT, PT_LR_COSINE, PT_LR_POLY, PT_LR_ONECYCLE } pt_schedule;

/* What batch norm takes in a batch that had to be split: each piece its own statistics, or all of
 * them the running ones, as constants. The first split comes before anything of a batch is
 * committed, so all of its pieces are of one kind. The running statistics learn from both. */
typedef enum pt_norm_on_split { PT_SPLIT_BATCH, PT_SPLIT_FROZEN } pt_norm_on_split;

typedef struct pt_trainer_options {
    pt_net_options net;
    pt_allocator_kind allocator;
    pt_split_mode split;
    pt_on_floor on_floor;
    pt_norm_on_split norm_on_split;
    pt_device_fields device_fields;
    uint64_t seed;
    pt_optimizer_kind optimizer;
    double lr, weight_decay, clip; /* clip 0: none */
    double momentum;               /* of SGD */
    double smoothing;              /* of the labels, 0..1: see pt_pass */
    double dropout;                /* before the head, 0..0.99 */
    int weighted;                  /* classes have the weights below, and not all 1 */
    real class_weight[PT_MAX_CLASSES];
    pt_schedule schedule;
    int64_t steps, warmup;      /* of the schedule, in optimiser steps */
    int accum;                  /* batches an optimiser step; 0: 1 */
    float augment;              /* strength 0..1 */
    float elastic, colour_drop; /* see pt_augment */
    int64_t gather_rows;        /* rows of the gather workspace; 0: no limit */
    int plan_ahead;             /* 1: batches known not to fit are split before they are tried */
} pt_trainer_options;

static inline int64_t pt_accum_of(const pt_trainer_options *o)
{
    return o->accum > 1 ? o->accum : 1;
}

/* The batches of a step so far. Batch b belongs to step b / accum, whatever became of it. All of
 * them divide their gradients by one number, which the first brings, and the step multiplies by
 * divisor / weight: together they are the gradient of one batch of all their scenes. A batch that
 * failed is not among them; what was dropped of one counts in its weight. */
typedef struct pt_accum {
    int64_t batches, points; /* points that were trained */
    double divisor, weight;  /* weight: sum of the batches' valid weights */
    double offered;          /* divisor, should the batch in progress be the first */
    int launched;            /* an addition is on its way and was not yet waited for */
} pt_accum;

struct pt_batch_result;
/* What tests look at and change; every entry may be NULL. */
typedef struct pt_hooks {
    void *user;
    void (*before_attempt)(void *user, const pt_fragment *f);
    void (*before_stage)(void *user, const pt_fragment *f);
    void (*after_stage)(void *user, pt_fragment *f);
    void (*after_fragment)(void *user, const pt_fragment *f, const pt_pass *pass); /* committed */
    void (*before_step)(void *user); /* the batch's gradient is whole */
    void (*after_batch)(void *user, const struct pt_batch_result *r); /* of one that ended well */
} pt_hooks;

/* One attempt, for the log. */
#define PT_NOTES 200
typedef struct pt_note {
    int fragment, parent, scenes, spatial; /* parent: of which it is a piece, 0: none */
    int64_t own, points, gather_rows;      /* gather_rows 0: as many as needed */
    size_t bytes;                          /* most that the device held during it */
    char outcome[32];                      /* "ok", or the class of the failure */
    char phase[16], site[48];              /* of the failure */
    const char *memory;                    /* of an OOM: fragmented, exhausted, NULL: not known */
} pt_note;

typedef struct pt_batch_result {
    pt_note note[PT_NOTES];
    int notes; /* attempts; the first PT_NOTES of them are in note */
    int64_t points, trained, dropped, voxels, pairs;
    pt_recover_stats recover;
    size_t bytes_peak, bytes_baseline;
    /* of the committed attempt that had most in use: that, beside what is there anyway, what the
     * net must keep of it, and its voxels */
    size_t bytes_used, bytes_kept;
    int64_t voxels_used;
    double loss, lr, grad_norm;
    double seconds;
    double seconds_load;             /* of its scenes, by whoever loads them */
    double seconds_phase[PT_PHASES]; /* in each phase, failed attempts too */
    int regrouped;       /* a fragment was trained with smaller chunks: other rounding */
    int stepped;         /* 0: everything was dropped or overflowed, no optimiser step */
    int overflow;        /* of the gradient, in fp16 */
    int64_t accumulated; /* batches in the step so far, this one included */
    int64_t voided;      /* points of earlier batches whose step was not taken after all */
    double loss_scale;   /* that the batch had */
    int64_t confusion[PT_MAX_CLASSES * PT_MAX_CLASSES];
    int64_t coarsest; /* fewest voxels that a norm saw */
    int biased;       /* batch norm over pieces: what follows is of them */
    int frozen;       /* they took the running statistics */
    pt_norm_bias bias;
} pt_batch_result;

typedef struct pt_trainer {
    pt_trainer_options o;
    pt_device device;
    pt_net *net;
    pt_optimizer optimizer;
    pt_scaler scaler;
    pt_plan plan, plan_forward; /* of batches; of scenes that are only evaluated, in this run */
    real *running_before;       /* running statistics at the start of the batch */
    real *running_step;         /* and of the step, where it has several batches */
    real *running_host;         /* of batch norm: [2, nrunning] to compute them in */
    pt_moments moments;         /* of the committed pieces of a batch */
    pt_accum accum;
    int64_t step; /* batches seen; the position in the schedule is step / accum */
    int halo;
    size_t baseline;
    pt_hooks hooks;
    struct { /* what parts beside the steps leave, for a sweep: scores; the file, as its hash */
        int64_t confusion[PT_MAX_CLASSES * PT_MAX_CLASSES];
        uint64_t checkpoint;
    } left;
} pt_trainer;

/* Everything that a run needs besides batches is allocated here. */
pt_status pt_trainer_open(const pt_trainer_options *o, pt_trainer **out);
/* What could not be given back, which is told here and nowhere else. NULL is allowed. */
pt_status pt_trainer_close(pt_trainer *t);

/* One batch. keys[i]: number of scene i in the data set. The ledger is opened here and the caller's
 * to close (pt_ledger_close), also on failure. On failure parameters, moments and running
 * statistics are as before, the gradient is zero, and t->step has advanced, so that the caller may
 * go on; where it was the last batch of a step, the others of it have taken that step. A gradient
 * that overflows in fp16 is no failure: the batch takes no step, its points are in the ledger as
 * such, running statistics are as before, and the next batch has a smaller scale. What is said of a
 * batch that takes no step after all is true of all batches of its step: out->voided.
 */
pt_status pt_trainer_batch(pt_trainer *t, const pt_scene *scenes, const uint32_t *keys, int n,
                           pt_ledger *ledger, pt_batch_result *out);

/* The weight of each class in the loss, for pt_fragment_join; NULL: all 1. */
const real *pt_class_weights_of(const pt_trainer_options *o);

double pt_learning_rate(const pt_trainer_options *o, int64_t step);

/* Exit code of a run that ended with this failure (DESIGN: 2, 10..14). */
int pt_exit_code(const pt_error *e, const pt_batch_result *r);

/* Host copies of the flat buffers, for checkpoints and tests. host: [net->nparams] */
pt_status pt_trainer_read(pt_trainer *t, const real *device, size_t count, real *host);
pt_status pt_trainer_write(pt_trainer *t, real *device, size_t count, const real *host);

#endif
