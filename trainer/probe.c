/* probe.c - phases and tags of this thread, passed on to the shim when there is one. */
#include "probe.h"
#include "oomproof.h"

static _Thread_local pt_phase current_phase;
static _Thread_local const char *current_tag = "";

const char *pt_phase_name(pt_phase phase)
{
    static const char *const name[PT_PHASES] = {
        [PT_PHASE_NONE] = "none",         [PT_PHASE_SETUP] = "setup",
        [PT_PHASE_LOAD] = "load",         [PT_PHASE_AUGMENT] = "augment",
        [PT_PHASE_VOXELISE] = "voxelise", [PT_PHASE_FORWARD] = "forward",
        [PT_PHASE_LOSS] = "loss",         [PT_PHASE_BACKWARD] = "backward",
        [PT_PHASE_COMMIT] = "commit",     [PT_PHASE_STAGE] = "stage",
        [PT_PHASE_SPLIT] = "split",       [PT_PHASE_STEP] = "step",
        [PT_PHASE_VALIDATE] = "validate", [PT_PHASE_CHECKPOINT] = "checkpoint",
    };
    return name[phase];
}

void pt_phase_set(pt_phase phase)
{
    current_phase = phase;
    oomproof_phase(pt_phase_name(phase));
}

pt_phase pt_phase_get(void)
{
    return current_phase;
}

const char *pt_tag_set(const char *tag)
{
    const char *before = current_tag;
    current_tag = tag ? tag : "";
    oomproof_tag(current_tag);
    return before;
}

const char *pt_tag_get(void)
{
    return current_tag;
}
