/* handle.c - handles, versions, status names, the last error's text. */
#include "internal.h"
#include <stdarg.h>
#include <stdio.h>

static __thread char message[256];

cudnnStatus_t sim_dnn_fail(cudnnStatus_t status, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    return status;
}

cudnnStatus_t sim_dnn_check(cudnnHandle_t h)
{
    if (GONE(h)) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the handle is NULL or was destroyed");
    int e = sim_device_error();
    if (e)
        return sim_dnn_fail(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the device is in error %d", e);
    return CUDNN_STATUS_SUCCESS;
}

API size_t cudnnGetVersion(void)
{
    return CUDNN_VERSION;
}
API size_t cudnnGetCudartVersion(void)
{
    return CUDART_VERSION;
}

API cudnnStatus_t cudnnCreate(cudnnHandle_t *out)
{
    if (!out) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "no room for the handle");
    *out = NULL;
    struct cudnnContext *h = sim_live_new(KIND_HANDLE, sizeof *h);
    if (!h)
        return sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, "no host memory");
    int e = sim_device_alloc(&h->workspace, 512);
    if (e) {
        sim_live_take(h, KIND_HANDLE);
        sim_live_free(h);
        if (e == cudaErrorMemoryAllocation)
            return sim_dnn_fail(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED,
                                "no device memory for a handle");
        return sim_dnn_fail(CUDNN_STATUS_NOT_INITIALIZED, "no usable device (%d)", e);
    }
    *out = h;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnDestroy(cudnnHandle_t h)
{
    if (!h) return CUDNN_STATUS_SUCCESS; /* as NVIDIA's library has it */
    if (!sim_live_take(h, KIND_HANDLE))
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "it is no handle, or was destroyed before");
    sim_device_free(h->workspace);
    sim_live_free(h);
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t stream)
{
    if (GONE(h)) return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "the handle is NULL or was destroyed");
    h->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

API cudnnStatus_t cudnnGetStream(cudnnHandle_t h, cudaStream_t *stream)
{
    if (GONE(h) || !stream)
        return sim_dnn_fail(CUDNN_STATUS_BAD_PARAM, "NULL argument, or one that was destroyed");
    *stream = h->stream;
    return CUDNN_STATUS_SUCCESS;
}

API void cudnnGetLastErrorString(char *out, size_t room)
{
    if (room) snprintf(out, room, "%s", message);
    *message = 0;
}

API const char *cudnnGetErrorString(cudnnStatus_t s)
{
    static const struct {
        int code;
        const char *name, *words;
    } names[] = {
#include "codes_cudnn.inc" /* made from the header when the build is configured */
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == (int)s) return names[i].name;
    return "CUDNN_STATUS_unknown";
}
