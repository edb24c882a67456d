/* batch.h - private to loop/: what the operations of one batch share. */
#ifndef PT_BATCH_H
#define PT_BATCH_H
#include "loop/evaluate.h"
#include "loop/trainer.h"
#include <time.h>

#define PT_SMALL_GATHER_ROWS 1024 /* of the "smaller chunks" remedy */
#define PT_HALF_WORTH        0.9  /* a spatial half, halo included, against the whole, in voxels */

/* Seconds since some moment. */
static inline double pt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct pt_batch {
    pt_trainer *t;
    pt_augment augment;
    double divisor;      /* of the loss */
    double grad_divisor; /* of the gradient: the same for all batches of a step */
    pt_pass pass;        /* of the attempt in progress */
    pt_batch_result *out;
    int fragments; /* numbers given so far */
    pt_plan *plan; /* learns from the attempts; NULL: it does not */
    size_t used;   /* device bytes in use before the batch */
    int frozen;    /* fragments committed by statistics of their own: 1, by running ones: 2 */
    int evaluate;  /* forward only, by the running statistics; nothing is learnt */
    const pt_scores *scores; /* of the scenes before, where one is evaluated */
    int32_t **predicted;     /* [scenes][points]: the class of every own point; NULL: not wanted */
} pt_batch;

/* step.c. Before a batch; the running statistics of batch norm, from those before it. */
pt_status pt_start_batch(pt_trainer *t, pt_batch_result *out);
pt_status pt_learn_statistics(pt_trainer *t, pt_batch_result *out);
/* Runs op, and once more when it failed for memory. */
pt_status pt_twice(pt_trainer *t, pt_batch_result *out,
                   pt_status (*op)(pt_trainer *, pt_batch_result *));
/* A batch that ended well and weighs so much: its gradient counts, and a step is taken where it is
 * the last of --accum. */
pt_status pt_step_batch(pt_trainer *t, double weight, int64_t trained, pt_batch_result *out);
pt_status pt_add_to_step(pt_trainer *t); /* the gradient of a batch, to that of its step */
/* The last of --accum failed: the step of the others, if there are any; the error stays. */
void pt_step_without(pt_trainer *t, pt_batch_result *out);
/* The state before the batch, whatever was committed of it. */
void pt_roll_back(pt_trainer *t);

/* evaluate.c: into b->predicted, from the pass that just ended. */
pt_status pt_predictions_keep(pt_batch *b, const pt_fragment *f, const pt_attempt *got);

/* notes.c: before and after each attempt */
void pt_note_begin(pt_batch *b, pt_fragment *f);
void pt_note_end(pt_batch *b, const pt_fragment *f, pt_status st);
/* What an attempt that ended says of memory. */
void pt_note_plan(pt_batch *b, const pt_fragment *f, pt_status st);

/* user: a pt_batch */
extern const pt_recover_ops pt_batch_ops;

/* What a sweep compares: every tensor, and how to compute the gradient again for the points that
 * were trained. */
void pt_watch_state(const pt_trainer *t);
typedef struct pt_watch {
    pt_batch b;
    const pt_scene *scenes;
    const uint32_t *keys;
    int n;
    const pt_ledger *ledger;
} pt_watch;
int pt_watch_again(void *user); /* a pt_watch; 0, or it cannot be computed */
int pt_watch_wider(void *user); /* the same, all of it in 32 bits */

#endif
