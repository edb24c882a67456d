/* probe.h - tells the shim, when there is one, what the trainer is doing. The only place of the
 * trainer that includes oomproof.h is probe.c. */
#ifndef PT_PROBE_H
#define PT_PROBE_H
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

void pt_phase_set(pt_phase phase);
pt_phase pt_phase_get(void);
const char *pt_phase_name(pt_phase phase);
/* Call site of the next device calls of this thread ("net/enc1/gather"); kept by pointer, so pass
 * storage that outlives them. Returns the tag before. */
const char *pt_tag_set(const char *tag);
const char *pt_tag_get(void); /* never NULL */

#endif
