/* fixture.h - a recorded failure as it is kept and shared: JSON lines, described in
 * fixtures/README.md. */
#ifndef OP_FIXTURE_H
#define OP_FIXTURE_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* X(name in the file); lost: a failure before the first event that is kept */
#define OP_FX_KINDS(X) X(hold) X(alloc) X(free) X(fail) X(step) X(sample) X(lost)
typedef enum op_fx_kind {
#define X(name) OP_FX_##name,
    OP_FX_KINDS(X)
#undef X
        OP_FX_KIND_COUNT
} op_fx_kind;

typedef struct op_fx_event {
    op_fx_kind kind;
    uint64_t ns, size, block, live; /* block: the allocation's number; 0: not known */
    uint32_t ordinal;               /* of the call at its site, from 1; 0: not known */
    int thread, stream, code, injected;
    const char *call, *phase, *site; /* "" where not known; kept by the fixture */
    uint64_t points;                 /* of a step, or of a sample of the next step's batch */
    uint64_t trained, dropped;       /* of a step */
    uint32_t attempts, retries, splits, failed, number; /* number: from 1; 0: not known */
} op_fx_event;

enum { OP_FX_LONGEST_TEXT = 1 << 15 }; /* bytes, as a command of many words */

typedef struct op_fixture {
    const char *program, *device, *source, *expect, *note, *command; /* "": not said */
    uint64_t total, free_bytes;                                      /* of the card */
    int runtime, driver, cublas, cudnn; /* versions as their headers number them; 0: not known */
    op_fx_event *event;                 /* [n] */
    size_t n, room;
    uint64_t lost;      /* events of the same run that are not here */
    uint64_t unkept;    /* failures among them that are not even here as lost */
    const char *others; /* names of keys of the first line that this program does not know */
    /* fresh from a ring: a step of that run failed, or dropped points; a later failure is not here
     */
    int refused, loses, missed;
    int whole;     /* the ring was never full: nothing came after its last event */
    int exit_code; /* of the run, which ended by itself, after the last event; -1: not known */
    struct op_fx_text *texts[4096]; /* by hash */
} op_fixture;

/* NULL, with a reason that names the line. What it does not know in the file is passed over. */
op_fixture *op_fixture_read(const char *path, char *error, size_t error_bytes);
op_fixture *op_fixture_parse(const char *text, size_t n, char *error, size_t error_bytes);
op_fixture *op_fixture_new(void);
void op_fixture_free(op_fixture *f);

/* A copy that lives as long as the fixture; equal texts are one. Never NULL. */
const char *op_fixture_text(op_fixture *f, const char *s);
/* Something that the device's memory notices. */
static inline int op_fx_is_call(const op_fx_event *e)
{
    return e->kind <= OP_FX_fail;
}
static inline int op_fx_failed(const op_fx_event *e)
{
    return e->kind == OP_FX_fail || e->kind == OP_FX_lost;
}
size_t op_fixture_failures(const op_fixture *f);

/* 0: no memory. */
int op_fixture_add(op_fixture *f, const op_fx_event *e);

/* Over what a recording says besides its events and what may be edited (expect, note, command);
 * and over the names of further keys, since one of these with a damaged name is such a key. */
uint64_t op_fixture_facts(const op_fixture *f);

int op_same_file(const char *a, const char *b); /* 0: also where one is not there */
/* NULL, or why a recording must not be written there: it is something else than a file, or from,
 * which may be NULL. */
const char *op_fixture_not_there(const char *path, const char *from);
/* 0; -1: errno says why not. Written aside and renamed. */
int op_fixture_write(const op_fixture *f, const char *path);
void op_fixture_put(const op_fixture *f, FILE *to);

/* "recovered", "loss", "refused", or "none": nothing failed; as the steps say, else as the
 * program's exit code does. */
const char *op_fixture_outcome(const op_fixture *f, int exit_code);

/* One line about a failed call, for people. */
void op_fx_describe(const op_fx_event *e, char *out, size_t room);

#endif
