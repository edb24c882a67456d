/* error.c - the last failure of each thread: what failed, where, with which code. */
#include "error.h"
#include "probe.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local pt_error last;

const pt_error *pt_error_last(void)
{
    return &last;
}

void pt_error_clear(void)
{
    last = (pt_error){0};
}

/* Starts a new record; the position is the base name, so that messages do not depend on where the
 * tree was built. */
static void begin(const char *file, int line, pt_status status)
{
    const char *slash = strrchr(file, '/');
    last = (pt_error){.status = status, .file = slash ? slash + 1 : file, .line = line};
    snprintf(last.phase, sizeof last.phase, "%s", pt_phase_name(pt_phase_get()));
    snprintf(last.site, sizeof last.site, "%s", pt_tag_get());
}

void pt_error_restore(const pt_error *e)
{
    last = *e;
}

pt_status pt_fail_at(const char *file, int line, pt_status status, const char *format, ...)
{
    begin(file, line, status);
    va_list ap;
    va_start(ap, format);
    vsnprintf(last.message, sizeof last.message, format, ap);
    va_end(ap);
    return status;
}

pt_status pt_check_at(const char *file, int line, pt_lib lib, int code, const char *expression,
                      const char *site, size_t bytes)
{
    if (code == 0) return PT_OK;
    begin(file, line, PT_ERR_DEVICE);
    last.lib = lib;
    last.code = code;
    last.bytes = bytes;
    size_t n = strcspn(expression, "( ");
    snprintf(last.call, sizeof last.call, "%.*s", (int)n, expression);
    if (site) snprintf(last.site, sizeof last.site, "%s", site);
    char size[40] = "";
    if (bytes) snprintf(size, sizeof size, " of %zu bytes", bytes);
    snprintf(last.message, sizeof last.message, "%s%s failed with %s (%s code %d)%s%s in phase %s",
             last.call, size, pt_code_name(lib, code), pt_lib_name(lib), code,
             *last.site ? " at " : "", last.site, last.phase);
    return PT_ERR_DEVICE;
}

void pt_error_say(const char *more)
{
    size_t n = strlen(last.message);
    snprintf(last.message + n, sizeof last.message - n, "%s", more);
}

void pt_error_spare(size_t free, size_t largest)
{
    size_t n = strlen(last.message);
    last.memory = free >= last.bytes ? "fragmented" : "exhausted";
    snprintf(last.message + n, sizeof last.message - n,
             "; device memory is %s: of what the allocator holds, %zu bytes are free, the largest "
             "block has %zu",
             last.memory, free, largest);
}

const char *pt_lib_name(pt_lib lib)
{
    static const char *const name[] = {"no library", "CUDA", "cuBLAS", "cuDNN"};
    return name[lib];
}

const char *pt_code_name(pt_lib lib, int code)
{
    const char *name = NULL;
    switch (lib) {
    case PT_LIB_CUDA: name = cudaGetErrorName((cudaError_t)code); break;
    case PT_LIB_CUBLAS: name = cublasGetStatusName((cublasStatus_t)code); break;
    case PT_LIB_CUDNN: name = cudnnGetErrorString((cudnnStatus_t)code); break;
    case PT_LIB_NONE: break;
    }
    return name ? name : "an unknown code";
}
