/* train.h - the `train` command: data set, batches in keyed order, log, checkpoint. */
#ifndef PT_TRAIN_H
#define PT_TRAIN_H
#include "data.h"
#include "loop/options.h"

/* Runs to the end or to the failure that ends it. Returns the exit code; everything a user must
 * know has been printed. */
int pt_train(const pt_options *o);

/* Scene of position i in the endless sequence of scenes: every epoch is a permutation of 0..count-1
 * keyed by (seed, epoch), so a resumed run goes on where it stopped. The order is that of the epoch
 * asked for last; it starts as zeros, is of one count, and is the caller's to close. */
typedef struct pt_order {
    struct pt_place *place; /* [count] */
    uint64_t seed;
    int64_t epoch;
    int count;
} pt_order;
pt_status pt_scene_at(pt_order *o, uint64_t seed, int64_t i, int count, int *scene);
void pt_order_close(pt_order *o);

/* Leaves out a share of the scene's points, at least one stays: by (seed, step, scene, point). */
void pt_thin(pt_scene *s, double rate, uint64_t seed, uint64_t step, uint32_t scene);

#endif
