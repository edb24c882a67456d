/* checkpoint.h - parameters, moments, running statistics and the step on disk. */
#ifndef PT_CHECKPOINT_H
#define PT_CHECKPOINT_H
#include "loop/trainer.h"

/* By pt_write_whole: PATH is always a whole checkpoint.
 * Format: 8 bytes "OOMPROOF", then little-endian int64: version 5, bytes a real, nparams, nrunning,
 * steps of the optimiser, batches seen, seed, options digest, classes, convolutions, norm,
 * optimiser (0 AdamW, 1 SGD), amp, loss scale, good steps; batches a step, and of the step in
 * progress: batches, points trained, bits of the doubles divisor and weight; then param, m
 * [nparams], of AdamW v [nparams], running [nrunning] and, where the step in progress has batches,
 * their gradient [nparams]; then a 64-bit FNV-1a of everything before, and the mark of the end.
 * Read are also version 4, without the mark, version 3, which ends with good steps, and version 2,
 * which has no optimiser: AdamW. */
pt_status pt_checkpoint_save(pt_trainer *t, const char *path);
/* *found 0: there is no such file. A file that is not a whole checkpoint of this net is
 * PT_ERR_INPUT and changes nothing. */
pt_status pt_checkpoint_load(pt_trainer *t, const char *path, int *found);
/* The net in a checkpoint, from its header alone. */
typedef struct pt_checkpoint_about {
    int classes, convs, norm, optimizer, amp, accum;
    int64_t step;
    uint64_t seed;
} pt_checkpoint_about;
pt_status pt_checkpoint_look(const char *path, pt_checkpoint_about *out);

#endif
