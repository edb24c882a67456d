/* timers.c - see timers.h. A pass waits for the device at its end, and so do the loss and the maps
 * of voxels: what a kernel takes may be told of the phase that waits for it. */
#include "loop/timers.h"

void pt_timers_of(const pt_batch_result *r, pt_timer out[PT_TIMERS])
{
    const double *s = r->seconds_phase;
    const pt_timer all[PT_TIMERS] = {
        {"Data", "load", r->seconds_load}, /* its files, and what augmentation leaves out of them */
        {"transf", "upload", s[PT_PHASE_LOAD]},
        {"transf", "augment", s[PT_PHASE_AUGMENT]},
        {"transf", "voxelise", s[PT_PHASE_VOXELISE]},
        {"net", "forward", s[PT_PHASE_FORWARD]},
        {"net", "loss", s[PT_PHASE_LOSS]},
        {"net", "backward", s[PT_PHASE_BACKWARD]},
        {"net", "commit", s[PT_PHASE_COMMIT]},
        {"net", "step", s[PT_PHASE_STEP]},
        {"recover", "seconds", r->recover.seconds}, /* all that a batch without failures does not */
        {"recover", "stage", s[PT_PHASE_STAGE]},
        {"recover", "split", s[PT_PHASE_SPLIT]}};
    for (int i = 0; i < PT_TIMERS; i++) out[i] = all[i];
}
