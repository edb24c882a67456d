/* outside.c - what the recovery finds around it in the trainer, for a program without a device: no
 * phases, no tags, and the names of the few codes that the bisector's budget fails with. */
#include "data.h"
#include "probe.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdlib.h>

pt_phase pt_phase_get(void)
{
    return PT_PHASE_FORWARD;
}
const char *pt_phase_name(pt_phase phase)
{
    return phase == PT_PHASE_FORWARD ? "forward" : "none";
}
const char *pt_tag_get(void)
{
    return "";
}

const char *cudaGetErrorName(cudaError_t code)
{
    return code == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : NULL;
}
const char *cublasGetStatusName(cublasStatus_t code)
{
    return code == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : NULL;
}
const char *cudnnGetErrorString(cudnnStatus_t code)
{
    (void)code;
    return NULL;
}

void pt_scene_free(pt_scene *s)
{
    if (!s) return;
    free(s->coord);
    free(s->feature);
    free(s->label);
    s->coord = s->feature = NULL;
    s->label = NULL;
}
