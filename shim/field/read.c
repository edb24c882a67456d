/* read.c - fixtures from disk, whoever wrote them: nothing in the file is trusted. */
#define _GNU_SOURCE
#include "field/fixture.h"
#include "field/sum.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONGEST = 1 << 18 }; /* bytes of a line */

typedef struct reader {
    op_fixture *f;
    char *error;
    size_t room;
    int line;
} reader;

static int bad(reader *r, const char *what)
{
    if (!*r->error) snprintf(r->error, r->room, "line %d: %s", r->line, what);
    return 0;
}

/* A whole number that is not negative; absent: stays. 0: it is something else. */
static int whole(reader *r, const json_t *o, const char *name, uint64_t *out)
{
    const json_t *v = json_object_get(o, name);
    if (!v) return 1;
    if (!json_is_integer(v) || json_integer_value(v) < 0) {
        char what[80];
        snprintf(what, sizeof what, "%.20s is not a whole number from 0", name);
        return bad(r, what);
    }
    *out = (uint64_t)json_integer_value(v);
    return 1;
}

static int small(reader *r, const json_t *o, const char *name, int *out)
{
    uint64_t v = (uint64_t)*out;
    if (!whole(r, o, name, &v)) return 0;
    if (v > INT32_MAX) return bad(r, "a number is too large");
    *out = (int)v;
    return 1;
}

static int text(reader *r, const json_t *o, const char *name, const char **out)
{
    const json_t *v = json_object_get(o, name);
    if (!v) return 1;
    if (!json_is_string(v) || json_string_length(v) != strlen(json_string_value(v)) ||
        json_string_length(v) > OP_FX_LONGEST_TEXT)
        return bad(r, "a text is not one, or is too long");
    for (const char *c = json_string_value(v); *c && strcmp(name, "note"); c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return bad(r, "a control character in a name: no program has one there");
    *out = op_fixture_text(r->f, json_string_value(v));
    return 1;
}

static int is_one_of(const char *s, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(s, *words)) return 1;
    return 0;
}

/* The names of keys that are not of this version, in their order. */
static int further(reader *r, const json_t *o)
{
    static const char *const known[] = {"oomt",    "program", "source",    "expect", "note",
                                        "command", "device",  "libraries", NULL};
    char *all = NULL;
    size_t n = 0;
    FILE *m = open_memstream(&all, &n);
    for (void *at = m ? json_object_iter((json_t *)(uintptr_t)o) : NULL; at;
         at = json_object_iter_next((json_t *)(uintptr_t)o, at))
        if (!is_one_of(json_object_iter_key(at), known))
            fprintf(m, "%s\n", json_object_iter_key(at));
    if (!m || fclose(m) != 0) return 0;
    r->f->others = op_fixture_text(r->f, all);
    free(all);
    return 1;
}

static int head(reader *r, const json_t *o)
{
    static const char *const outcomes[] = {"recovered", "loss", "refused", "none", "any", "", NULL};
    op_fixture *f = r->f;
    uint64_t version = 0;
    const json_t *device = json_object_get(o, "device"), *libs = json_object_get(o, "libraries");
    if (!json_is_integer(json_object_get(o, "oomt")) || !whole(r, o, "oomt", &version))
        return bad(r, "not a recording: its first line has no \"oomt\"");
    if (version != 1) return bad(r, "of a later version than 1, which this program reads");
    if (!text(r, o, "program", &f->program) || !text(r, o, "source", &f->source) ||
        !text(r, o, "expect", &f->expect) || !text(r, o, "note", &f->note) ||
        !text(r, o, "command", &f->command))
        return 0;
    if (!is_one_of(f->expect, outcomes))
        return bad(r, "\"expect\" is recovered, loss, refused, none or any");
    if (*f->source && !json_object_get(o, "expect"))
        return bad(r, "\"expect\" is missing: recovered, loss, refused, none or any");
    if (!further(r, o)) return bad(r, "no memory");
    if (device && (!text(r, device, "name", &f->device) || !whole(r, device, "total", &f->total) ||
                   !whole(r, device, "free", &f->free_bytes)))
        return 0;
    return !libs ||
           (small(r, libs, "cudart", &f->runtime) && small(r, libs, "driver", &f->driver) &&
            small(r, libs, "cublas", &f->cublas) && small(r, libs, "cudnn", &f->cudnn));
}

static int event(reader *r, const json_t *o)
{
    static const char *const kinds[] = {
#define X(name) #name,
        OP_FX_KINDS(X)
#undef X
            NULL};
    const char *kind = "";
    uint64_t ordinal = 0, n[5] = {0};
    op_fx_event e = {.call = "", .phase = "", .site = ""};
    if (!text(r, o, "e", &kind)) return 0;
    int k = 0;
    while (kinds[k] && strcmp(kinds[k], kind)) k++;
    if (!kinds[k]) return 1; /* of a later writer */
    e.kind = (op_fx_kind)k;
    if (!whole(r, o, "t", &e.ns) || !whole(r, o, "size", &e.size) || !whole(r, o, "p", &e.block) ||
        !whole(r, o, "live", &e.live) || !whole(r, o, "o", &ordinal) ||
        !small(r, o, "th", &e.thread) || !small(r, o, "s", &e.stream) ||
        !small(r, o, "code", &e.code) || !text(r, o, "call", &e.call) ||
        !text(r, o, "ph", &e.phase) || !text(r, o, "site", &e.site) ||
        !whole(r, o, "points", &e.points) || !whole(r, o, "trained", &e.trained) ||
        !whole(r, o, "dropped", &e.dropped) || !whole(r, o, "attempts", &n[0]) ||
        !whole(r, o, "retries", &n[1]) || !whole(r, o, "splits", &n[2]) ||
        !whole(r, o, "failed", &n[3]) || !whole(r, o, "n", &n[4]))
        return 0;
    for (int i = 0; i < 5; i++)
        if (n[i] > UINT32_MAX || ordinal > UINT32_MAX) return bad(r, "a number is too large");
    e.ordinal = (uint32_t)ordinal;
    e.attempts = (uint32_t)n[0], e.retries = (uint32_t)n[1];
    e.splits = (uint32_t)n[2], e.failed = (uint32_t)n[3];
    e.number = (uint32_t)n[4];
    e.injected = json_is_true(json_object_get(o, "injected"));
    if (op_fx_failed(&e) && (!*e.call || !e.code))
        return bad(r, "a failure without its call or its code");
    return op_fixture_add(r->f, &e) || bad(r, "no memory");
}

/* The last line: how many events there were, and their sum. */
static int end(reader *r, const json_t *o, uint64_t sum, uint64_t lines)
{
    static const char *const needed[] = {"events", "lost", "peak", "sum"};
    char hex[20], facts[20];
    const char *said = "", *facts_said = "";
    uint64_t events = 0, peak = 0, highest = 0, code = UINT64_MAX;
    for (int i = 0; i < 4; i++)
        if (!json_object_get(o, needed[i]))
            return bad(r, "damaged: the last line lacks events, lost, peak or sum");
    if (!whole(r, o, "events", &events) || !whole(r, o, "lost", &r->f->lost) ||
        !whole(r, o, "peak", &peak) || !whole(r, o, "unkept", &r->f->unkept) ||
        !whole(r, o, "exit", &code) || !text(r, o, "sum", &said) ||
        !text(r, o, "facts", &facts_said))
        return 0;
    if (code <= 255) r->f->exit_code = (int)code;
    for (size_t i = 0; i < r->f->n; i++)
        if (r->f->event[i].live > highest) highest = r->f->event[i].live;
    snprintf(hex, sizeof hex, "%016llx", (unsigned long long)sum);
    snprintf(facts, sizeof facts, "%016llx", (unsigned long long)op_fixture_facts(r->f));
#ifdef OP_FIXTURE_ANY_SUM /* of a fuzzer */
    return 1;
#endif
    if (events != lines || strcmp(hex, said))
        return bad(r, "damaged: the events are not those that were written (their count or sum "
                      "differs)");
    if (*r->f->source && !*facts_said)
        return bad(r, "damaged: the last line lacks facts, the sum of what the first says");
    if (peak != highest || (*facts_said && strcmp(facts, facts_said)))
        return bad(r, "damaged: the program, the card, the libraries, \"lost\" or \"peak\" are not "
                      "those that were written; expect, note and command may be edited, no more");
    return 1;
}

op_fixture *op_fixture_parse(const char *p, size_t n, char *error, size_t error_bytes)
{
    reader r = {op_fixture_new(), error, error_bytes, 0};
    uint64_t sum = OP_SUM_START, lines = 0;
    int ended = 0, ok = r.f != NULL;
    *error = 0;
    if (!ok) snprintf(error, error_bytes, "no memory");
    for (size_t at = 0; ok && !ended && at < n;) {
        const char *nl = memchr(p + at, '\n', n - at);
        size_t length = nl ? (size_t)(nl - (p + at)) + 1 : n - at;
        json_error_t why;
        r.line++;
        json_t *o =
            length > LONGEST ? NULL : json_loadb(p + at, length, JSON_REJECT_DUPLICATES, &why);
        if (!json_is_object(o) || !nl)
            ok = bad(&r, r.line == 1 ? "not a recording" : "damaged: not a whole line of JSON");
        else if (r.line == 1)
            ok = head(&r, o);
        else if (json_object_get(o, "end")) {
            ok = end(&r, json_object_get(o, "end"), sum, lines);
            ended = 1;
        } else {
            ok = event(&r, o);
            sum = op_sum(sum, p + at, length);
            lines++;
        }
        json_decref(o);
        at += length;
        if (ok && ended && at < n) ok = bad(&r, "something follows the end");
    }
    if (ok && !ended) ok = bad(&r, "cut short: the line of the end is missing");
    if (ok) return r.f;
    op_fixture_free(r.f);
    return NULL;
}

op_fixture *op_fixture_read(const char *path, char *error, size_t error_bytes)
{
    struct stat st;
    char *all = NULL;
    op_fixture *f = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t n = 0;
    if (fd < 0 || fstat(fd, &st) != 0) {
        snprintf(error, error_bytes, "%s", strerror(errno));
    } else if (!S_ISREG(st.st_mode) || st.st_size > (off_t)1 << 32) {
        snprintf(error, error_bytes, "not a file, or one of more than 4 GiB");
    } else if (!(all = malloc((size_t)st.st_size + 1))) {
        snprintf(error, error_bytes, "no memory");
    } else {
        for (ssize_t k;
             n < (size_t)st.st_size && (k = read(fd, all + n, (size_t)st.st_size - n)) > 0;)
            n += (size_t)k;
        f = op_fixture_parse(all, n, error, error_bytes);
    }
    if (fd >= 0) close(fd);
    free(all);
    return f;
}
