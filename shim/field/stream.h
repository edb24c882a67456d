/* stream.h - the allocations of a recording without its program, by models of allocators. */
#ifndef OP_STREAM_H
#define OP_STREAM_H
#include "field/fixture.h"
#include "field/models.h"

typedef struct op_stream_result {
    uint64_t events, failures; /* requests that did not fit */
    size_t first;              /* event of the first of them; n: none */
    uint64_t unexpected;       /* that had fitted when it was recorded */
    uint64_t peak_mapped, peak_asked;
    double seconds;
} op_stream_result;

/* How a recording is played. */
typedef struct op_stream {
    uint64_t capacity; /* bytes of the card */
    double scale;      /* of all sizes */
    int threads;       /* that do the same, event by event in turn, on one card */
    const char *keep;  /* [n] 0: without that event; NULL: all */
} op_stream;

/* 0: no memory. */
int op_stream_run(const op_fixture *f, op_model_kind kind, const op_stream *how,
                  op_stream_result *out);

/* A table of all models. 0; 2 when nothing says how large the card was. */
int op_stream_report(FILE *to, const op_fixture *f, const op_stream *how);

#endif
