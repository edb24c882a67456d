/* list.c - `oomproof calls`: the table of calls, for people. */
#include "calls.h"
#include "launch.h"
#include <stdio.h>

const char op_calls_help[] =
    "usage: oomproof calls [GLOB]\n"
    "Every call that a rule can name: its API, the code that means out of memory, the faults that\n"
    "fit it besides status, error, delay, hang and crash. Codes: every error code of that API.\n\n"
    "exit codes: 0 listed, 2 no call has that name\n";

int op_calls_command(int argc, char **argv)
{
    static const char *const api[] = {"cuda", "cublas", "cudnn", "driver"};
    static const char *const oom[] = {"2 cudaErrorMemoryAllocation", "3 CUBLAS_STATUS_ALLOC_FAILED",
                                      "4004 CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED",
                                      "2 CUDA_ERROR_OUT_OF_MEMORY"};
    const char *pattern = argc > 1 ? argv[1] : "*";
    int n = 0;
    if (pattern[0] == '-') {
        fputs(op_calls_help, pattern[1] == '-' && pattern[2] == 'h' ? stdout : stderr);
        return pattern[1] == '-' && pattern[2] == 'h' ? 0 : 2;
    }
    for (int id = 0; id < OP_CALLS; id++) {
        const op_entry *e = &op_table[id];
        if (!op_named(pattern, e)) continue;
        printf("%-42s %-7s%s%s%s%s%s\n", e->name, api[e->lib],
               e->flags & OP_F_OOM ? " oom: " : " never out of memory",
               e->flags & OP_F_OOM ? oom[e->lib] : "", e->flags & OP_F_ALLOC ? ", budget" : "",
               e->flags & OP_F_RESULT ? ", poison" : "",
               e->flags & (OP_F_GEMM | OP_F_DESCRIPTOR) ? ", shape" : "");
        n++;
    }
    return n ? 0 : op_usage("no intercepted call has this name: ", pattern);
}
