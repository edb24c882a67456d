/* ring.c - from what a preloaded process left, whole or killed, to a fixture. */
#define _GNU_SOURCE
#include "field/spawn.h"
#include "plain.h"
#include "trace/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOT_READY = 600 }; /* cudaErrorNotReady is no failure */

/* A recording's numbers are those of JSON as most programs read it. */
static uint64_t number(uint64_t n)
{
    return n > INT64_MAX ? INT64_MAX : n;
}

static int version(const char *s)
{
    long v = strtol(s, NULL, 10);
    return v < 0 || v > INT32_MAX ? 0 : (int)v;
}

/* As a line of JSON can hold it. */
static const char *plain(op_fixture *f, const char *name)
{
    char text[4 * OP_NAME_BYTES + 1];
    op_plain_text(text, sizeof text, name);
    return op_fixture_text(f, text);
}

static void take_event(op_fixture *f, const op_trace *t, const op_event *e, int lost)
{
    int failed = e->result != 0 && e->result != NOT_READY;
    op_fx_event x = {.kind = lost     ? OP_FX_lost
                             : failed ? OP_FX_fail
                             : strstr(op_trace_name(t, OP_NAME_CALL, e->call), "Free")
                                 ? OP_FX_free
                                 : OP_FX_alloc,
                     .ns = number(e->ns),
                     .size = number(e->bytes),
                     .block = number(e->pointer),
                     .live = number(e->live),
                     .ordinal = e->ordinal,
                     .thread = e->thread,
                     .stream = e->stream,
                     .code = e->result < 0 ? INT32_MAX : e->result,
                     .injected = e->injected != 0,
                     .call = plain(f, op_trace_name(t, OP_NAME_CALL, e->call)),
                     .phase = plain(f, op_trace_name(t, OP_NAME_PHASE, e->phase)),
                     .site = plain(f, op_trace_name(t, OP_NAME_SITE, e->site))};
    if (failed || e->pointer) op_fixture_add(f, &x);
}

static void take_step(op_fixture *f, const op_step_event *e)
{
    op_fx_event x = {.kind = e->kind == OP_RECORD_STEP ? OP_FX_step : OP_FX_sample,
                     .ns = number(e->ns),
                     .call = "",
                     .phase = "",
                     .site = "",
                     .points = number(e->points),
                     .trained = number(e->trained),
                     .dropped = number(e->dropped),
                     .attempts = e->attempts,
                     .retries = e->retries,
                     .splits = e->splits,
                     .failed = e->failed,
                     .number = e->number};
    op_fixture_add(f, &x);
}

/* What was held when the first event came: blocks that go without having come, and the rest in one.
 */
static op_fixture *with_holds(op_fixture *f)
{
    op_fixture *all = op_fixture_new();
    uint64_t known = 0, live = 0, first = UINT64_MAX; /* number of the first that came */
    if (!all) return f;
    for (size_t i = 0; i < f->n; i++)
        if (f->event[i].kind == OP_FX_alloc && f->event[i].block < first) first = f->event[i].block;
    for (size_t i = 0; i < f->n; i++)
        if (op_fx_is_call(&f->event[i])) {
            const op_fx_event *e = &f->event[i];
            uint64_t rounded = (e->size + 511) / 512 * 512;
            live = e->live;
            if (e->kind == OP_FX_alloc) live -= rounded < live ? rounded : live;
            if (e->kind == OP_FX_free) live += rounded;
            break;
        }
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        if (e->kind != OP_FX_free || e->block >= first) continue; /* numbers go up */
        op_fixture_add(all, &(op_fx_event){.kind = OP_FX_hold,
                                           .block = e->block,
                                           .size = e->size,
                                           .call = "",
                                           .phase = "",
                                           .site = ""});
        known += (e->size + 511) / 512 * 512;
    }
    if (live > known)
        op_fixture_add(
            all,
            &(op_fx_event){
                .kind = OP_FX_hold, .size = live - known, .call = "", .phase = "", .site = ""});
    for (size_t i = 0; i < f->n; i++) {
        op_fx_event e = f->event[i];
        e.call = op_fixture_text(all, e.call);
        e.phase = op_fixture_text(all, e.phase);
        e.site = op_fixture_text(all, e.site);
        op_fixture_add(all, &e);
    }
    op_fixture_free(f);
    return all;
}

int op_ring_writer(const char *ring, op_writer *out)
{
    op_head h = {0};
    struct stat st;
    int fd = open(ring, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
             read(fd, &h, sizeof h) == sizeof h && h.magic == OP_TRACE_MAGIC && h.ring_records;
    if (fd >= 0) close(fd);
    if (ok) *out = (op_writer){h.pid, h.start_ns};
    return ok;
}

static int maps_it(uint64_t pid, const struct stat *st)
{
    char maps[64], line[4400];
    struct stat mapped;
    int found = 0;
    snprintf(maps, sizeof maps, "/proc/%llu/maps", (unsigned long long)pid);
    FILE *f = fopen(maps, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        char *path = strchr(line, '/');
        if (!path) continue;
        path[strcspn(path, "\n")] = 0;
        found =
            stat(path, &mapped) == 0 && mapped.st_ino == st->st_ino && mapped.st_dev == st->st_dev;
    }
    if (f) fclose(f);
    return found;
}

/* A lease for reading is not given while anybody may write the file, in whatever container; some
 * file systems have none, and then the process tells, where it can be seen. */
int op_ring_written(const char *ring)
{
    op_writer span;
    struct stat st;
    int fd = open(ring, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0; /* whoever takes it says what it is */
    int found = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && op_ring_writer(ring, &span);
    if (found) {
        int free_of_writers = fcntl(fd, F_SETLEASE, F_RDLCK) == 0;
        int writers = !free_of_writers && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (free_of_writers) fcntl(fd, F_SETLEASE, F_UNLCK);
        found = writers || (!free_of_writers && maps_it(span.pid, &st));
    }
    close(fd);
    if (found)
        fprintf(
            stderr,
            "oomproof: error: %s: process %llu still writes it; finish it when that has ended\n",
            ring, (unsigned long long)span.pid);
    return found;
}

op_fixture *op_ring_take(const char *ring)
{
    char why[200] = "";
    struct stat st;
    op_fixture *f = NULL;
    int fd = open(ring, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        fprintf(stderr,
                "oomproof: error: nothing was recorded: %s: %s. The program made no CUDA call that "
                "was seen (`oomproof doctor -- CMD` says why), or the ring could not be written, "
                "which the program's output says, or it was made a recording before\n",
                ring,
                fd < 0                ? strerror(errno)
                : S_ISREG(st.st_mode) ? "an empty file"
                                      : "not a file");
        if (fd >= 0) close(fd);
        return NULL;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    op_trace *t = p == MAP_FAILED ? NULL : op_trace_open(p, (size_t)st.st_size, why, sizeof why);
    if (t && !op_trace_head(t)->ring_records) {
        snprintf(why, sizeof why,
                 "a trace, and no ring of a recording: oomproof trace FILE prints it");
        op_trace_close(t);
        t = NULL;
    }
    if (t && (f = op_fixture_new())) {
        uint64_t seen = 0;
        const op_event *e = op_trace_next(t), *lost;
        const uint64_t first = e ? e->ns : 0; /* all events have their time there */
        for (size_t i = 0; (lost = op_trace_failure(t, i)) && lost->ns < first; i++)
            take_event(f, t, lost, 1);
        for (; e; e = op_trace_next(t), seen++)
            if (e->kind == OP_RECORD_EVENT)
                take_event(f, t, e, 0);
            else
                take_step(f, (const op_step_event *)(const void *)e);
        const uint64_t failures = op_trace_head(t)->failures, here = op_fixture_failures(f);
        f->unkept = failures > here ? failures - here : 0;
        const op_device_record *d = op_trace_device(t);
        uint64_t written = op_trace_head(t)->next;
        const uint64_t unkept = f->unkept;
        f = with_holds(f);
        f->unkept = unkept;
        f->refused = op_trace_head(t)->steps_failed > 0;
        f->loses = op_trace_head(t)->steps_dropping > 0;
        f->missed = op_trace_head(t)->missed != 0;
        f->whole = !op_trace_head(t)->full;
        f->lost = number(written > seen ? written - seen : 0);
        f->source = op_fixture_text(f, "record");
        if (d) {
            char name[sizeof d->name + 1] = "";
            memcpy(name, d->name, sizeof d->name);
            f->device = plain(f, name);
            f->total = number(d->total), f->free_bytes = number(d->free);
            f->runtime = d->runtime < 0 ? 0 : d->runtime;
            f->driver = d->driver < 0 ? 0 : d->driver;
        }
        f->program = plain(f, op_trace_fact(t, "program"));
        f->cublas = version(op_trace_fact(t, "cublas"));
        f->cudnn = version(op_trace_fact(t, "cudnn"));
    } else
        fprintf(stderr, "oomproof: error: %s: %s\n", ring, *why ? why : strerror(errno));
    op_trace_close(t);
    if (p != MAP_FAILED) munmap(p, (size_t)st.st_size);
    return f;
}
