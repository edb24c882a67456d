/* error.c - per-thread last error, sticky errors, names. */
#include "state.h"
#include <stdarg.h>
#include <stdio.h>

cudaError_t sim_sticky, sim_pending;
static __thread cudaError_t last;

void sim_say(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("simulated device: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}

static void settle(void)
{
    if (sim_pending && !sim_sticky) sim_sticky = sim_pending;
    sim_pending = cudaSuccess;
}

void sim_settle(void)
{
    sim_run_all();
    settle();
    sim_pools_settle();
}

void sim_settle_stream(struct CUstream_st *s)
{
    sim_run_until(s, UINT64_MAX);
    settle();
    sim_pools_settle();
}

/* Success does not clear an error before it; a dead context answers every call with its error. */
cudaError_t sim_return(cudaError_t e)
{
    if (sim_sticky) e = sim_sticky;
    if (e != cudaSuccess && e != cudaErrorNotReady) last = e;
    return e;
}

API cudaError_t cudaGetLastError(void)
{
    cudaError_t e = sim_sticky ? sim_sticky : last;
    last = cudaSuccess;
    return e;
}

API cudaError_t cudaPeekAtLastError(void)
{
    return sim_sticky ? sim_sticky : last;
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} table[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidDevicePointer, "cudaErrorInvalidDevicePointer", "invalid device pointer"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
     "invalid copy direction for memcpy"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidPtx, "cudaErrorInvalidPtx", "a PTX JIT compilation failed"},
    {cudaErrorNvlinkUncorrectable, "cudaErrorNvlinkUncorrectable",
     "uncorrectable NVLink error detected during the execution"},
    {cudaErrorJitCompilerNotFound, "cudaErrorJitCompilerNotFound",
     "PTX JIT compiler library not found"},
    {cudaErrorContained, "cudaErrorContained", "contained memory error"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorSymbolNotFound, "cudaErrorSymbolNotFound", "named symbol not found"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "cudaErrorLaunchTimeout", "the launch timed out and was terminated"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorHardwareStackError, "cudaErrorHardwareStackError", "hardware stack error"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction",
     "an illegal instruction was encountered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorInvalidAddressSpace, "cudaErrorInvalidAddressSpace",
     "operation not supported on global/shared address space"},
    {cudaErrorInvalidPc, "cudaErrorInvalidPc", "invalid program counter"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge",
     "too many blocks in cooperative launch"},
    {cudaErrorTensorMemoryLeak, "cudaErrorTensorMemoryLeak", "tensor memory leak"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorSystemNotReady, "cudaErrorSystemNotReady", "system not yet initialized"},
    {cudaErrorMpsClientTerminated, "cudaErrorMpsClientTerminated", "MPS client terminated"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorExternalDevice, "cudaErrorExternalDevice", "external device error"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

/* Of all codes, made from the toolkit's header when the build is configured. */
static const struct {
    int code;
    const char *name, *text;
} others[] = {
#include "codes_cudart.inc"
};

API const char *cudaGetErrorName(cudaError_t e)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e) return table[i].name;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].code == (int)e) return others[i].name;
    return "unrecognized error code";
}

API const char *cudaGetErrorString(cudaError_t e)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e) return table[i].text;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].code == (int)e) return others[i].text;
    return "unrecognized error code";
}

/* What stubs/stubs.c returns. */
int sim_stub_status(void);
int sim_stub_status(void)
{
    cudaError_t e = sim_enter();
    if (e == cudaSuccess) sim_leave();
    return sim_return(e == cudaSuccess ? cudaErrorNotSupported : e);
}
