/* probe.h - tells the shim, when there is one, what the trainer is doing. The only place of the
 * trainer that includes oomproof.h is probe.c. */
#ifndef PT_PROBE_H
#define PT_PROBE_H
#include <stddef.h>
#include <stdint.h>

typedef enum pt_phase {
    PT_PHASE_NONE,
    PT_PHASE_SETUP,
    PT_PHASE_LOAD,
    PT_PHASE_AUGMENT,
    PT_PHASE_VOXELISE,
    PT_PHASE_FORWARD,
    PT_PHASE_LOSS,
    PT_PHASE_BACKWARD,
    PT_PHASE_COMMIT,
    PT_PHASE_STAGE,
    PT_PHASE_SPLIT,
    PT_PHASE_STEP,
    PT_PHASE_VALIDATE,
    PT_PHASE_CHECKPOINT,
    PT_PHASES
} pt_phase;

/* What is going on is this, whatever its parts say, until it is held at PT_PHASE_NONE. */
void pt_phase_hold(pt_phase phase);
void pt_phase_set(pt_phase phase);
pt_phase pt_phase_get(void);
const char *pt_phase_name(pt_phase phase);
/* Seconds that this thread has been in a phase so far, by the host's clock. */
double pt_phase_seconds(pt_phase phase);
/* Call site of the next device calls of this thread ("net/enc1/gather"); kept by pointer, so pass
 * storage that outlives them. Returns the tag before. */
const char *pt_tag_set(const char *tag);
const char *pt_tag_get(void); /* never NULL */

/* What `oomproof sweep` compares; see oomproof.h. on_device 1; type 'f', 'd' or 'b'. */
void pt_probe_buffer(const char *name, const void *p, size_t bytes, int on_device, int type,
                     double tolerance);
void pt_probe_step_begin(void);
void pt_probe_sample(int64_t points); /* a scene of the step's batch: see oomproof_sample */
int pt_probe_watched(void);           /* 1: in a sweep; 0: pt_probe_retry does nothing */
const char *pt_probe_folder(void);    /* to write in instead, in a sweep: see oomproof_folder */
void pt_probe_retry(const void *state, size_t bytes);
/* The most attempts of this step: see oomproof_bound. */
void pt_probe_bound(int64_t attempts);
void pt_probe_carried(int64_t points); /* see oomproof_carried */
/* fn computes the gradient of what was trained again: see oomproof_reference. */
void pt_probe_reference(int (*fn)(void *user), void *user);
void pt_probe_wider(int (*fn)(void *user), void *user, double times); /* see oomproof_wider */
uint64_t pt_probe_hash(uint64_t seed, const void *data, size_t bytes);
typedef struct pt_probe_step {
    int64_t points, trained, dropped, attempts, bound, retries, splits;
    int failed, exit_code, regrouped;
} pt_probe_step;
void pt_probe_step_end(const pt_probe_step *s);
/* A validation, a checkpoint: see oomproof_part_begin. */
void pt_probe_part_begin(const char *name);
void pt_probe_part_end(const char *name, const pt_probe_step *s);

#endif
