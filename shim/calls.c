/* calls.c - the table of calls, and what a name in a rule means. */
#include "calls.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define ENTRY(name, lib, flags) {#name, lib, flags},
/* whether the table names a stream: anything but NULL */
#define ON_(text) (sizeof text == sizeof "NULL" ? 0u : OP_F_STREAM)
const op_entry op_table[OP_CALLS] = {
#define ALLOC(name, parameters, arguments, bytes, live, stream, ...) \
    ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_ALLOC | OP_F_SIZE | ON_(#stream))
#define PITCHED(name, ...) ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_ALLOC | OP_F_SIZE)
#define PINNED(name, ...)  ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_SIZE)
#define RELEASE(name, parameters, arguments, pointer, device, stream) \
    ENTRY(name, OP_CUDA, ON_(#stream))
#define COPY(name, ...) \
    ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT | OP_F_COPY | OP_F_SIZE | OP_F_STREAM)
#define SET(name, ...)                                 ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT | OP_F_SIZE | OP_F_STREAM)
#define LAUNCH(name, ...)                              ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT | OP_F_LAUNCH | OP_F_STREAM)
#define CALL(name, parameters, arguments, stream, ...) ENTRY(name, OP_CUDA, OP_F_OOM | ON_(#stream))
#define BLAS(name, ...)                                ENTRY(name, OP_CUBLAS, OP_F_OOM)
#define DNN(name, ...)                                 ENTRY(name, OP_CUDNN, OP_F_OOM)
#define GEMM(name, ...)                                ENTRY(name, OP_CUBLAS, OP_F_OOM | OP_F_GEMM)
#define DESCRIPTOR(name, ...)                          ENTRY(name, OP_CUDNN, OP_F_OOM | OP_F_DESCRIPTOR)
#define DRIVER_ALLOC(name, ...)                        ENTRY(name, OP_DRIVER, OP_F_OOM | OP_F_ALLOC | OP_F_SIZE)
#define DRIVER_RELEASE(name, ...)                      ENTRY(name, OP_DRIVER, 0)
#define DRIVER_CALL(name, ...)                         ENTRY(name, OP_DRIVER, OP_F_OOM)
#include "calls.def"
};

const op_code op_codes[] = {
#include "codes.inc" /* made from the toolkit's headers when the build is configured */
    {NULL, OP_CUDA, 0}};

/* One of the table is found there first. */
const char *const op_others[] = {
#include "others.inc" /* made likewise */
    NULL};

int op_glob(const char *p, const char *s)
{
    const char *star = NULL, *from = NULL; /* the last * and where it was tried: no recursion */
    while (*s)
        if (*p == '*')
            star = p++, from = s;
        else if (*p == '?' || (*p && tolower((unsigned char)*p) == tolower((unsigned char)*s)))
            p++, s++;
        else if (star)
            p = star + 1, s = ++from;
        else
            return 0;
    while (*p == '*') p++;
    return !*p;
}

int op_named(const char *pattern, const op_entry *call)
{
    static const char *const endings[] = {"_v2", "_ptsz", "_ptds"};
    if (op_glob(pattern, call->name)) return 1;
    if (call->flags & OP_F_LAUNCH) return op_glob(pattern, "cudaLaunchKernel");
    size_t n = strlen(call->name);
    char plain[80];
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t e = strlen(endings[i]);
        if (n <= e || n >= sizeof plain || strcmp(call->name + n - e, endings[i])) continue;
        memcpy(plain, call->name, n - e);
        plain[n - e] = 0;
        return op_glob(pattern, plain);
    }
    return 0;
}
