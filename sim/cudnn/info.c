/* info.c - versions, properties, and the questions that have one answer here. */
#include "internal.h"

#define VERSION_CHECK(name)                           \
    API cudnnStatus_t cudnn##name##VersionCheck(void) \
    {                                                 \
        return CUDNN_STATUS_SUCCESS;                  \
    }
VERSION_CHECK(Ops)
VERSION_CHECK(Cnn)
VERSION_CHECK(Adv)
VERSION_CHECK(Graph)

API cudnnStatus_t cudnnGetProperty(libraryPropertyType which, int *value)
{
    if (!value) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument");
    switch (which) {
    case MAJOR_VERSION: *value = CUDNN_MAJOR; return CUDNN_STATUS_SUCCESS;
    case MINOR_VERSION: *value = CUDNN_MINOR; return CUDNN_STATUS_SUCCESS;
    case PATCH_LEVEL: *value = CUDNN_PATCHLEVEL; return CUDNN_STATUS_SUCCESS;
    default: return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "property %d", (int)which);
    }
}

/* No work fails behind a caller's back: what did is the device's error. */
API cudnnStatus_t cudnnQueryRuntimeError(cudnnHandle_t h, cudnnStatus_t *status,
                                         cudnnErrQueryMode_t mode, cudnnRuntimeTag_t *tag)
{
    (void)tag;
    if (GONE(h) || !status)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    if (mode < CUDNN_ERRQUERY_RAWCODE || mode > CUDNN_ERRQUERY_BLOCKING)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "query mode %d", (int)mode);
    *status = sim_device_error() ? CUDNN_STATUS_EXECUTION_FAILED_CUDART : CUDNN_STATUS_SUCCESS;
    return CUDNN_STATUS_SUCCESS;
}
