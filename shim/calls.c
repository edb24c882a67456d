/* calls.c - the table of calls, and what a name in a rule means. */
#include "calls.h"
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define ENTRY(name, lib, flags) {#name, lib, flags},
const op_entry op_table[OP_CALLS] = {
#define ALLOC(name, ...)          ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_ALLOC)
#define PINNED(name, ...)         ENTRY(name, OP_CUDA, OP_F_OOM)
#define RELEASE(name, ...)        ENTRY(name, OP_CUDA, 0)
#define COPY(name, ...)           ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT | OP_F_COPY)
#define SET(name, ...)            ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT)
#define LAUNCH(name, ...)         ENTRY(name, OP_CUDA, OP_F_OOM | OP_F_RESULT | OP_F_LAUNCH)
#define CALL(name, ...)           ENTRY(name, OP_CUDA, OP_F_OOM)
#define BLAS(name, ...)           ENTRY(name, OP_CUBLAS, OP_F_OOM)
#define DNN(name, ...)            ENTRY(name, OP_CUDNN, OP_F_OOM)
#define GEMM(name, ...)           ENTRY(name, OP_CUBLAS, OP_F_OOM | OP_F_GEMM)
#define DESCRIPTOR(name, ...)     ENTRY(name, OP_CUDNN, OP_F_OOM | OP_F_DESCRIPTOR)
#define DRIVER_ALLOC(name, ...)   ENTRY(name, OP_DRIVER, OP_F_OOM | OP_F_ALLOC)
#define DRIVER_RELEASE(name, ...) ENTRY(name, OP_DRIVER, 0)
#define DRIVER_CALL(name, ...)    ENTRY(name, OP_DRIVER, OP_F_OOM)
#include "calls.def"
};

const op_code op_codes[] = {
#include "codes.inc" /* made from the toolkit's headers when the build is configured */
    {NULL, OP_CUDA, 0}};

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
