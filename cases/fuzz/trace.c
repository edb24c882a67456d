/* trace.c - libFuzzer target: any bytes as a trace. Every event and name can be printed, and the
 * reading ends. */
#include "trace/read.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char error[128] = "";
    static volatile size_t seen;
    unsigned char *copy = malloc(n ? n : 1); /* of exactly this size, for ASan */
    if (!copy) return 0;
    memcpy(copy, data, n);
    op_trace *t = op_trace_open(copy, n, error, sizeof error);
    if (!t && !*error) abort();
    size_t events = 0;
    for (const op_event *e; t && (e = op_trace_next(t)); events++) {
        seen += strlen(op_trace_name(t, OP_NAME_CALL, e->call));
        seen += strlen(op_trace_name(t, OP_NAME_SITE, e->site));
        seen += strlen(op_trace_name(t, OP_NAME_PHASE, e->phase));
    }
    if (events > n / 64) abort();
    size_t failures = 0;
    for (const op_event *e; t && (e = op_trace_failure(t, failures)); failures++)
        seen += strlen(op_trace_name(t, OP_NAME_SITE, e->site));
    if (failures > n / 64) abort();
    op_trace_close(t);
    free(copy);
    return 0;
}
