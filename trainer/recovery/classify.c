/* classify.c - the table of codes.
 *
 * Values are those of the vendors' headers (CUDA 13 driver_types.h, cublas_api.h, cudnn_graph.h).
 * Traps it answers: code 2 from a pinned-host call is host memory; cuDNN's legacy ALLOC_FAILED is
 * 4003, host, while device memory is 4004; 701 is registers; "not supported" is never memory. */
#include "classify.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <string.h>

const char *pt_class_name(pt_class c)
{
    static const char *const name[] = {"out of memory", "out of host memory", "ambiguous",
                                       "not a memory failure", "fatal"};
    return name[c];
}

static int pinned_host_call(const char *call)
{
    return !strcmp(call, "cudaMallocHost") || !strcmp(call, "cudaHostAlloc") ||
           !strcmp(call, "cudaHostRegister");
}

static pt_class classify_cuda(const pt_error *e)
{
    switch (e->code) {
    case cudaErrorMemoryAllocation: return pinned_host_call(e->call) ? PT_CLASS_HOST : PT_CLASS_OOM;
    case cudaErrorDevicesUnavailable: return PT_CLASS_AMBIGUOUS;
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorMpsClientTerminated:
    case cudaErrorExternalDevice:
    case cudaErrorUnknown: return PT_CLASS_FATAL;
    default: return PT_CLASS_NO;
    }
}

static pt_class classify_cublas(const pt_error *e)
{
    switch (e->code) {
    case CUBLAS_STATUS_ALLOC_FAILED: return PT_CLASS_OOM;
    case CUBLAS_STATUS_NOT_INITIALIZED: /* an OOM inside handle creation looks like this */
        return strncmp(e->call, "cublasCreate", 12) ? PT_CLASS_NO : PT_CLASS_AMBIGUOUS;
    case CUBLAS_STATUS_EXECUTION_FAILED:
    case CUBLAS_STATUS_INTERNAL_ERROR: return PT_CLASS_AMBIGUOUS;
    default: return PT_CLASS_NO;
    }
}

static pt_class classify_cudnn(const pt_error *e)
{
    switch (e->code) {
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED: return PT_CLASS_OOM;
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED: return PT_CLASS_HOST;
    case CUDNN_STATUS_NOT_INITIALIZED:
        return strcmp(e->call, "cudnnCreate") ? PT_CLASS_NO : PT_CLASS_AMBIGUOUS;
    case CUDNN_STATUS_INTERNAL_ERROR: return PT_CLASS_AMBIGUOUS;
    default:
        /* EXECUTION_FAILED and its kinds: a driver, cuBLAS or runtime call inside the library
         * failed */
        return e->code >= CUDNN_STATUS_EXECUTION_FAILED &&
                       e->code < CUDNN_STATUS_EXECUTION_FAILED + 1000
                   ? PT_CLASS_AMBIGUOUS
                   : PT_CLASS_NO;
    }
}

pt_class pt_classify(const pt_error *e)
{
    if (e->status == PT_ERR_HOST) return PT_CLASS_HOST;
    if (e->status != PT_ERR_DEVICE) return PT_CLASS_NO;
    switch (e->lib) {
    case PT_LIB_CUDA: return classify_cuda(e);
    case PT_LIB_CUBLAS: return classify_cublas(e);
    case PT_LIB_CUDNN: return classify_cudnn(e);
    default: return PT_CLASS_NO;
    }
}
