/* read.c - see read.h. */
#include "read.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 16, LONGEST = 4 * OP_NAME_BYTES };

struct op_trace {
    const unsigned char *p;
    size_t records, at,
        end;               /* in the file; the next one, of those in their order; after the last */
    size_t blocks, window; /* of a trace: records in blocks; in the window after them */
    size_t left, from;     /* of a ring: events to come; record of the next one */
    size_t failures;       /* of a ring: copies of them before it */
    int short_of;          /* of a trace: blocks are missing */
    op_head head;
    op_event event;
    op_device_record device;
    char **name[OP_NAME_KINDS]; /* [names] */
    size_t names[OP_NAME_KINDS];
    int whole; /* names of a ring were read */
    const char *damage;
};

/* Where the records of a trace are; the file may be cut anywhere. */
static void lay_out(op_trace *t)
{
    const uint64_t w = t->head.window_records, next = t->head.next;
    uint64_t there = t->records > 1 + w ? (t->records - 1 - w) / w : 0, full = next / w;
    uint64_t last = next % w;
    if (!last && full && there < full) full--, last = w; /* its block is not there yet */
    t->short_of = there < full || last > t->records - 1;
    t->blocks = (size_t)(full * w);
    if (there < full) t->blocks = t->records > 1 + w ? (size_t)(t->records - 1 - w) : 0;
    if (t->blocks > full * w) t->blocks = (size_t)(full * w);
    if (there >= full) t->window = (size_t)(last < t->records - 1 ? last : t->records - 1);
    t->end = 1 + t->blocks + t->window;
}

/* The i-th record in the order of writing, from 1; the 0th is the head. */
static const unsigned char *record(const op_trace *t, size_t i)
{
    if (t->head.ring_records) return t->p + 64 * i;
    if (i > t->blocks) return t->p + 64 * (i - t->blocks);
    return t->p + 64 * (i + t->head.window_records);
}

op_trace *op_trace_open(const void *bytes, size_t n, char *error, size_t error_bytes)
{
    op_trace *t = calloc(1, sizeof *t);
    if (!t) {
        snprintf(error, error_bytes, "no memory");
        return NULL;
    }
    t->p = bytes;
    t->records = n / 64;
    if (n >= sizeof t->head) memcpy(&t->head, bytes, sizeof t->head);
    const char *why = NULL;
    if (n < sizeof t->head)
        why = "shorter than the head of a trace";
    else if (t->head.magic == __builtin_bswap64(OP_TRACE_MAGIC))
        why = "written on a machine with the other byte order";
    else if (t->head.magic != OP_TRACE_MAGIC || t->head.kind != OP_RECORD_HEAD)
        why = "not a trace";
    else if (t->head.version != OP_TRACE_VERSION || t->head.record_bytes != 64)
        why = "a trace of another version";
    else if (t->head.ring_records &&
             ((uint64_t)t->head.ring_first + t->head.ring_records > n / 64 || !t->head.ring_first))
        why = "a recording that was cut short";
    else if (!t->head.ring_records && !t->head.window_records)
        why = "neither a trace nor a recording: its head is damaged";
    if (why) {
        snprintf(error, error_bytes, "%s", why);
        free(t);
        return NULL;
    }
    t->at = 1;
    t->end = t->head.ring_records ? t->head.ring_first : 0;
    if (!t->head.ring_records) lay_out(t);
    return t;
}

void op_trace_close(op_trace *t)
{
    if (!t) return;
    for (int k = 0; k < OP_NAME_KINDS; k++) {
        for (size_t i = 0; i < t->names[k]; i++) free(t->name[k][i]);
        free(t->name[k]);
    }
    free(t);
}

const op_head *op_trace_head(const op_trace *t)
{
    return &t->head;
}
const char *op_trace_damage(const op_trace *t)
{
    return t->damage;
}

const char *op_trace_name(const op_trace *t, int of, uint32_t id)
{
    return of >= 0 && of < OP_NAME_KINDS && id < t->names[of] && t->name[of][id] ? t->name[of][id]
                                                                                 : "?";
}

const char *op_trace_fact(const op_trace *t, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < t->names[OP_NAME_FACT]; i++) {
        const char *s = t->name[OP_NAME_FACT][i];
        if (s && !strncmp(s, name, n) && s[n] == '=') return s + n + 1;
    }
    return "";
}

static int keep_name(op_trace *t, uint32_t of, uint32_t id, const char *text)
{
    if (id >= t->names[of]) {
        size_t n = id + 64 < MOST ? id + 64 : MOST;
        char **p = realloc(t->name[of], n * sizeof *p);
        if (!p) return 0;
        memset(p + t->names[of], 0, (n - t->names[of]) * sizeof *p);
        t->name[of] = p;
        t->names[of] = n;
    }
    free(t->name[of][id]);
    t->name[of][id] = strdup(text);
    return 1;
}

/* A name, and the records it goes on in. 0: damaged. */
static int take_name(op_trace *t)
{
    char text[LONGEST + 1];
    size_t n = 0;
    op_name r;
    memcpy(&r, record(t, t->at), sizeof r);
    uint32_t id = r.id, of = r.of;
    if (of >= OP_NAME_KINDS || id >= MOST) return 0;
    for (;;) {
        size_t k = strnlen(r.text, OP_NAME_BYTES);
        if (n + k > LONGEST) return 0;
        memcpy(text + n, r.text, k);
        n += k;
        t->at++;
        if (!r.more) break;
        if (t->at >= t->end) return 0;
        memcpy(&r, record(t, t->at), sizeof r);
        if (r.kind != OP_RECORD_NAME || r.id != id || r.of != of) return 0;
    }
    text[n] = 0;
    return keep_name(t, of, id, text);
}

/* The names of a ring come before it. */
static void take_names(op_trace *t)
{
    while (!t->damage && t->at < t->end && record(t, t->at)[60] != OP_RECORD_END)
        if (record(t, t->at)[60] == OP_RECORD_DEVICE)
            memcpy(&t->device, record(t, t->at++), sizeof t->device);
        else if (record(t, t->at)[60] != OP_RECORD_NAME || !take_name(t))
            t->damage = "a name is damaged";
    while (t->at + t->failures < t->end &&
           record(t, t->end - 1 - t->failures)[60] == OP_RECORD_EVENT)
        t->failures++;
    uint64_t r = t->head.ring_records;
    t->left = t->head.next < r ? t->head.next : r;
    t->from = t->head.next < r ? 0 : t->head.next % r;
}

static const op_event *next_of_ring(op_trace *t)
{
    while (t->left) { /* one that was being written when the process ended is passed over */
        const unsigned char *p = record(t, t->head.ring_first + t->from);
        t->left--;
        t->from = (t->from + 1) % t->head.ring_records;
        if (p[60] != OP_RECORD_EVENT && p[60] != OP_RECORD_STEP && p[60] != OP_RECORD_SAMPLE)
            continue;
        memcpy(&t->event, p, sizeof t->event);
        return &t->event;
    }
    return NULL;
}

const op_event *op_trace_failure(const op_trace *t, size_t i)
{
    return i < t->failures ? (const op_event *)(const void *)record(t, t->head.ring_first - 1 - i)
                           : NULL;
}

const op_device_record *op_trace_device(const op_trace *t)
{
    return t->device.kind ? &t->device : NULL;
}

const op_event *op_trace_next(op_trace *t)
{
    if (t->head.ring_records) {
        if (!t->whole) take_names(t);
        t->whole = 1;
        return t->damage ? NULL : next_of_ring(t);
    }
    while (!t->damage && t->at < t->end) {
        memcpy(&t->event, record(t, t->at), sizeof t->event);
        switch (t->event.kind) {
        case OP_RECORD_STEP:
        case OP_RECORD_SAMPLE:
        case OP_RECORD_EVENT: t->at++; return &t->event;
        case OP_RECORD_NAME:
            if (!take_name(t)) t->damage = "a name is damaged";
            break;
        default: t->damage = "a record of an unknown kind";
        }
    }
    if (!t->damage && t->short_of) t->damage = "the file was cut short";
    return NULL;
}
