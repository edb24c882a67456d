/* format.h - a trace on disk: records of 64 bytes, each written whole before its kind is, so that a
 * process killed at any moment leaves a readable file that lacks at most the event in flight.
 * Native byte order; a reader of another one sees it by the magic.
 *
 * A trace: the head, a window of window_records records, and blocks of as many. The window is
 * mapped; when it is full it is written behind the others as a block, and used anew. So a record
 * costs a store, a block one call, and no new page of the file is ever touched. With next records
 * written in all, the first next / window_records blocks are in the file, and the rest is at the
 * window's beginning; a last block that is not there yet is all of the window.
 *
 * A recording: the head, names up to a record of kind 0, and from ring_first on room for the last
 * ring_records events, over which the writer goes again and again; next counts the events. From
 * ring_first downwards, up to a record of kind 0, is a copy of each failure, the first next to the
 * ring: what came after a failure depends on it also when the ring has long gone over it. */
#ifndef OP_TRACE_FORMAT_H
#define OP_TRACE_FORMAT_H
#include <stddef.h>
#include <stdint.h>

#define OP_TRACE_MAGIC   0x656361727470706full /* "opptrace" */
#define OP_TRACE_VERSION 5

enum {
    OP_RECORD_END,
    OP_RECORD_HEAD,
    OP_RECORD_NAME,
    OP_RECORD_EVENT,
    OP_RECORD_STEP,
    OP_RECORD_DEVICE,
    OP_RECORD_SAMPLE
};
/* OP_NAME_FACT: of the program, "name=value": program, cublas, cudnn (versions as their own
 * headers number them). */
enum { OP_NAME_CALL, OP_NAME_SITE, OP_NAME_PHASE, OP_NAME_FACT, OP_NAME_KINDS };
enum { OP_NAME_BYTES = 48 };

typedef struct op_head {
    uint64_t magic, pid, start_ns; /* CLOCK_REALTIME at the start */
    uint32_t version, record_bytes;
    uint64_t next;                         /* records, of a ring events, written so far */
    uint32_t ring_first, ring_records;     /* 0: a trace */
    uint32_t steps_failed, steps_dropping; /* of a ring: of the whole run */
    union {
        uint32_t window_records; /* of a trace */
        uint32_t failures;       /* of a ring: of the whole run */
    };
    uint8_t kind;
    uint8_t full,
        missed; /* of a ring: it was, before the run ended; and something failed after it */
    uint8_t pad;
} op_head;

/* A name that later records give by its number. Longer ones go on in the next record: more 1. */
typedef struct op_name {
    char text[OP_NAME_BYTES]; /* NUL-terminated unless more */
    uint32_t id;
    uint8_t of, more, unused[6];
    uint8_t kind, pad[3];
} op_name;

typedef struct op_event {
    uint64_t ns;      /* since the start */
    uint64_t pointer; /* number of the allocation, from 1; 0: none */
    uint64_t bytes;
    int32_t result; /* what the program was told */
    uint32_t site;
    uint16_t call, thread, stream, phase;
    uint64_t live;    /* of a recording: device bytes held after it */
    uint32_t ordinal; /* of the call among those of its name at its site, from 1 */
    uint8_t injected, unused[7];
    uint8_t kind, pad[3];
} op_event;

/* A step that the program marked has ended (oomproof_step_end). OP_RECORD_SAMPLE is the same with
 * only points: a sample of the step's batch (oomproof_sample). */
typedef struct op_step_event {
    uint64_t ns, points, trained, dropped;
    uint32_t attempts, retries, splits, failed;
    uint32_t number; /* of the step, from 1 */
    char unused[8];
    uint8_t kind, pad[3];
} op_step_event;

/* The card, at the first event of a recording. */
typedef struct op_device_record {
    uint64_t total, free;
    int32_t runtime, driver; /* versions, as cudaRuntimeGetVersion gives them */
    char name[36];
    uint8_t kind, pad[3];
} op_device_record;

_Static_assert(sizeof(op_head) == 64 && sizeof(op_name) == 64 && sizeof(op_event) == 64 &&
                   sizeof(op_step_event) == 64 && sizeof(op_device_record) == 64,
               "records are of 64 bytes");
_Static_assert(offsetof(op_head, kind) == 60 && offsetof(op_name, kind) == 60 &&
                   offsetof(op_event, kind) == 60 && offsetof(op_step_event, kind) == 60 &&
                   offsetof(op_device_record, kind) == 60,
               "the kind is the last thing written, at one place");

#endif
