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

void sim_settle(void)
{
    if (sim_pending && !sim_sticky) sim_sticky = sim_pending;
    sim_pending = cudaSuccess;
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
#define E(code, text) {code, #code, text},
    E(cudaSuccess, "no error") E(cudaErrorInvalidValue, "invalid argument") E(
        cudaErrorMemoryAllocation,
        "out of memory") E(cudaErrorInitializationError,
                           "initialization error") E(cudaErrorInvalidConfiguration,
                                                     "invalid configuration argument")
        E(cudaErrorInvalidPitchValue, "invalid pitch argument") E(
            cudaErrorInvalidSymbol,
            "invalid device symbol") E(cudaErrorInvalidDevicePointer,
                                       "invalid device pointer") E(cudaErrorInvalidMemcpyDirection,
                                                                   "invalid copy direction for "
                                                                   "memcpy")
            E(cudaErrorInsufficientDriver,
              "CUDA driver version is insufficient for CUDA runtime "
              "version") E(cudaErrorDevicesUnavailable,
                           "CUDA-capable "
                           "device(s) "
                           "is/are busy "
                           "or "
                           "unavailable") E(cudaErrorInvalidDeviceFunction,
                                            "invalid device function") E(cudaErrorNoDevice,
                                                                         "no CUDA-capable device "
                                                                         "is detected")
                E(cudaErrorInvalidDevice, "invalid device ordinal") E(
                    cudaErrorInvalidKernelImage,
                    "device kernel image is invalid") E(cudaErrorNoKernelImageForDevice,
                                                        "no kernel image is available for "
                                                        "execution on the device")
                    E(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered") E(
                        cudaErrorInvalidPtx,
                        "a PTX JIT compilation failed") E(cudaErrorNvlinkUncorrectable,
                                                          "uncorrectable NVLink error detected "
                                                          "during the execution")
                        E(cudaErrorJitCompilerNotFound, "PTX JIT compiler library not found") E(
                            cudaErrorContained,
                            "contained memory error") E(cudaErrorInvalidResourceHandle,
                                                        "invalid resource handle")
                            E(cudaErrorSymbolNotFound, "named symbol not found") E(
                                cudaErrorNotReady,
                                "device not ready") E(cudaErrorIllegalAddress,
                                                      "an illegal memory access was encountered")
                                E(cudaErrorLaunchOutOfResources,
                                  "too many resources requested for "
                                  "launch") E(cudaErrorLaunchTimeout,
                                              "the launch timed out and was terminated")
                                    E(cudaErrorAssert, "device-side assert triggered") E(
                                        cudaErrorHardwareStackError,
                                        "hardware stack error") E(cudaErrorIllegalInstruction,
                                                                  "an illegal instruction was "
                                                                  "encountered")
                                        E(cudaErrorMisalignedAddress, "misaligned address") E(
                                            cudaErrorInvalidAddressSpace,
                                            "operation not supported on global/shared address "
                                            "space") E(cudaErrorInvalidPc,
                                                       "invalid program counter")
                                            E(cudaErrorLaunchFailure, "unspecified launch failure")
                                                E(cudaErrorCooperativeLaunchTooLarge,
                                                  "too many "
                                                  "blocks in "
                                                  "cooperative "
                                                  "launch") E(cudaErrorTensorMemoryLeak,
                                                              "tensor "
                                                              "memory "
                                                              "leak") E(cudaErrorNotPermitted,
                                                                        "operation not "
                                                                        "permitted")
                                                    E(cudaErrorNotSupported, "operation not "
                                                                             "supported") E(
                                                        cudaErrorSystemNotReady, "system not yet "
                                                                                 "initialized")
                                                        E(cudaErrorMpsClientTerminated,
                                                          "MPS client terminated")
                                                            E(cudaErrorStreamCaptureUnsupported,
                                                              "operation not permitted when stream "
                                                              "is capturing")
                                                                E(cudaErrorStreamCaptureInvalidated,
                                                                  "operation failed due to a "
                                                                  "previous error during capture")
                                                                    E(cudaErrorExternalDevice,
                                                                      "external device error")
                                                                        E(cudaErrorUnknown,
                                                                          "unknown error")
#undef E
};

API const char *cudaGetErrorName(cudaError_t e)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e) return table[i].name;
    return "unrecognized error code";
}

API const char *cudaGetErrorString(cudaError_t e)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].code == e) return table[i].text;
    return "unrecognized error code";
}
