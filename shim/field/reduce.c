/* reduce.c - `oomproof reduce`: the fewest events of a recording that still fail the same way, by
 * delta debugging (Zeller, Hildebrandt 2002, algorithm ddmin). */
#define _GNU_SOURCE
#include "field/replay.h"
#include "field/spawn.h"
#include "field/stream.h"
#include "launch.h"
#include "rules.h"
#include "scratch.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char op_reduce_help[] =
    "usage: oomproof reduce FIXTURE -o OUT [options] -- CMD...\n"
    "       oomproof reduce FIXTURE -o OUT [--model driver|caching|pool|expandable]\n"
    "With a command: the fewest failures after which it still ends as FIXTURE expects, with the "
    "last\n"
    "failure of the same call, site, phase, size and code. Without: the fewest allocations after "
    "which the same request does\n"
    "not fit, by a model of an allocator (driver).\n\n"
    "  --device D, --timeout S                  as of replay\n"
    "  --sim-memory S                           the program's card (the recorded one; where that\n"
    "                                           itself was too small, one of 16 times its size)\n"
    "  --capacity SIZE                          of the model's card (the recorded one)\n\n"
    "exit codes: 0 OUT is there, 1 it does not fail that way, 2 usage or bad input, 7 internal\n";

typedef struct job {
    op_spawn s;
    const char *device, *file, *out;
    op_model_kind model;
    uint64_t capacity, total; /* of the model's card; of the program's */
    const op_fixture *f;
    const op_fx_event *last; /* the failure that must stay */
    char memory[32], force[OP_SCRATCH_ROOM + 8];
    int trials, trouble; /* trouble: of this machine, an exit code: no trial says anything */
} job;

/* ---- does it still fail the same way? ---- */
static int by_program(job *j, const char *keep)
{
    op_spawn s = j->s;
    if (j->trouble || op_replay_force(j->f, keep, j->force) < 0) {
        if (!j->trouble) fprintf(stderr, "oomproof: error: %s: %s\n", j->force, strerror(errno));
        j->trouble = 7;
        return 0;
    }
    op_replay_anew(&s);
    int code = op_spawn_code(op_spawn_run(&s)), found = 0;
    if (op_spawn_stopped()) j->trouble = 7;
    if (code == 6 || code == 7 || j->trouble) return 0;
    op_fixture *got = op_ring_take(s.ring);
    if (!got) j->trouble = 7; /* which was said */
    for (size_t i = 0; got && i < got->n; i++) {
        const op_fx_event *e = &got->event[i];
        found |= op_fx_failed(e) && !strcmp(e->call, j->last->call) &&
                 !strcmp(e->site, j->last->site) && !strcmp(e->phase, j->last->phase) &&
                 e->size == j->last->size && e->code == j->last->code;
    }
    int any = !*j->f->expect || !strcmp(j->f->expect, "any");
    int same = found && (any || !strcmp(op_fixture_outcome(got, code), j->f->expect));
    op_fixture_free(got);
    return same;
}

static int by_model(job *j, const char *keep)
{
    op_stream_result r;
    size_t at = (size_t)(j->last - j->f->event);
    return keep[at] && op_stream_run(j->f, j->model, &(op_stream){j->capacity, 1, 1, keep}, &r) &&
           r.first == at;
}

/* The failures of a run with those that are kept: with fewer before them they may be of other
 * sizes. 0: none. */
static size_t as_they_are_now(job *j, const char *keep, op_fixture *small)
{
    size_t n = 0;
    if (!by_program(j, keep)) return 0;
    op_fixture *got = op_ring_take(j->s.ring);
    for (size_t i = 0; got && i < got->n; i++) {
        op_fx_event e = got->event[i];
        if (!op_fx_failed(&e)) continue;
        e.call = op_fixture_text(small, e.call);
        e.phase = op_fixture_text(small, e.phase);
        e.site = op_fixture_text(small, e.site);
        n += (size_t)op_fixture_add(small, &e);
    }
    op_fixture_free(got);
    return n;
}

static int fails(job *j, const char *keep)
{
    j->trials++;
    return j->s.command ? by_program(j, keep) : by_model(j, keep);
}

/* Takes chunks out as long as it fails the same way; of the events that `part` has. */
static void ddmin(job *j, char *keep, const size_t *part, size_t n)
{
    char *less = malloc(j->f->n + 1);
    for (size_t chunk = n; less && chunk >= 1;) {
        int any = 0;
        for (size_t from = 0; from < n; from += chunk) {
            size_t to = from + chunk < n ? from + chunk : n, there = 0;
            memcpy(less, keep, j->f->n);
            for (size_t i = from; i < to; i++) {
                there += (size_t)keep[part[i]];
                less[part[i]] = 0;
            }
            if (!there || !fails(j, less)) continue;
            memcpy(keep, less, j->f->n);
            any = 1;
        }
        if (!any && chunk == 1) break;
        if (!any || chunk > 1) chunk = chunk > 1 ? (chunk + 1) / 2 : 1;
        if (!any) continue;
        if (chunk == 1 && n > 4096) break; /* once is enough for a long one */
    }
    free(less);
}

/* Failures that the card itself made come again on it without being forced, and none could go: a
 * card with more room, if the same failures by force end the same way there. */
static void larger_card(job *j, const char *keep)
{
    char recorded[sizeof j->memory];
    int by_itself = 0;
    for (size_t i = 0; i < j->f->n; i++)
        by_itself |= op_fx_failed(&j->f->event[i]) && !j->f->event[i].injected;
    if (!by_itself || j->s.memory != j->memory || j->f->total > UINT64_MAX / 16) return;
    memcpy(recorded, j->memory, sizeof recorded);
    snprintf(j->memory, sizeof j->memory, "%llu", 16 * (unsigned long long)j->f->total);
    if (fails(j, keep))
        j->total = 16 * j->f->total;
    else
        memcpy(j->memory, recorded, sizeof recorded);
}

static int whole_file(job *j)
{
    const op_fixture *f = j->f;
    char *keep = malloc(f->n + 1);
    size_t *part = malloc(sizeof *part * (f->n + 1)), n = 0, kept = 0;
    op_fixture *small = op_fixture_new();
    int code = 7;
    if (!keep || !part || !small) goto done;
    memset(keep, 1, f->n);
    for (size_t i = 0; i < f->n; i++)
        if (j->s.command ? op_fx_failed(&f->event[i]) : op_fx_is_call(&f->event[i])) part[n++] = i;
    if (!fails(j, keep)) {
        if ((code = j->trouble)) goto done;
        fprintf(stderr,
                "oomproof: error: %s: already the whole of it does not fail that way (%s)\n",
                j->file, j->s.command ? f->expect : "by this model");
        code = 1;
        goto done;
    }
    if (j->s.command) larger_card(j, keep);
    ddmin(j, keep, part, n);
    if ((code = j->trouble)) goto done;
    if (j->s.command && !(kept = as_they_are_now(j, keep, small))) {
        fprintf(stderr,
                "oomproof: error: %s: the same failures do not come each time: the program makes "
                "other calls from run to run\n",
                j->file);
        code = 1;
        goto done;
    }
    for (size_t i = 0; i < f->n && !j->s.command; i++) {
        if (!op_fx_is_call(&f->event[i]) || !keep[i]) continue;
        op_fixture_add(small, &f->event[i]);
        kept++;
    }
    small->program = f->program, small->device = f->device, small->source = f->source;
    small->expect = "any", small->note = f->note; /* a stream is of no program any more */
    if (j->s.command) small->expect = f->expect, small->command = f->command;
    small->total = j->s.command ? j->total : j->capacity;
    small->free_bytes = f->free_bytes < small->total ? f->free_bytes : small->total;
    small->runtime = f->runtime, small->driver = f->driver;
    small->cublas = f->cublas, small->cudnn = f->cudnn;
    small->lost = f->lost;
    const char *not_there = op_fixture_not_there(j->out, j->file);
    code = !not_there && op_fixture_write(small, j->out) == 0 ? 0 : 7;
    if (code)
        fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", j->out,
                not_there ? not_there : strerror(errno));
    else {
        size_t left = 0;
        for (size_t i = 0; i < n; i++) left += (size_t)keep[part[i]];
        fprintf(stderr, "oomproof: %s: %zu of %zu %s, %d trials\n", j->out, left, n,
                j->s.command ? "failures" : "events", j->trials);
        if (j->s.command && kept > left)
            fprintf(stderr, "oomproof: %zu more come with them, which are made by the card\n",
                    kept - left);
    }
done:
    op_fixture_free(small); /* its texts are those of f */
    free(keep);
    free(part);
    return code;
}

static int read_options(int argc, char **argv, job *j)
{
    static const struct option table[] = {{"device", 1, 0, 'd'},
                                          {"sim-memory", 1, 0, 'm'},
                                          {"timeout", 1, 0, 't'},
                                          {"capacity", 1, 0, 'c'},
                                          {"model", 1, 0, 'M'},
                                          {"help", 0, 0, 'h'},
                                          {0}};
    uint64_t n;
    int c;
    *j = (job){.device = "auto", .s = {.timeout = 600, .quiet = 1, .events = 1 << 16}};
    while ((c = getopt_long(argc, argv, "-o:h", table, NULL)) != -1) {
        if (op_usage_value(argv)) return 2;
        switch (c) {
        case 1:
            if (j->file)
                return op_usage("one recording at a time, and -- before the command: ", optarg);
            j->file = optarg;
            break;
        case 'o': j->out = optarg; break;
        case 'd': j->device = optarg; break;
        case 'm': j->s.memory = optarg; break;
        case 't':
            if (!op_number(optarg, &n) || n < 1 || n > 1 << 30)
                return op_usage("--timeout is a number of seconds, not ", optarg);
            j->s.timeout = (int)n;
            break;
        case 'c':
            if (!op_number(optarg, &j->capacity))
                return op_usage("--capacity is a size, as 8GiB, not ", optarg);
            break;
        case 'M':
            for (c = 0; c < OP_MODELS && strcmp(op_model_name[c], optarg);) c++;
            if (c == OP_MODELS)
                return op_usage("--model is driver, caching, pool or expandable, not ", optarg);
            j->model = (op_model_kind)c;
            break;
        case 'h': fputs(op_reduce_help, stdout); return -1;
        default: return op_usage_option(table, argv);
        }
    }
    if (!j->file) return op_usage("which recording? Give its file", "");
    if (!j->out) return op_usage("where to? Give -o FILE", "");
    if ((j->s.sim = op_device(j->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", j->device);
    j->s.command = optind < argc ? argv + optind : NULL;
    return 0;
}

int op_reduce_command(int argc, char **argv)
{
    static job j;
    char why[300], dir[OP_SCRATCH_ROOM], ring[OP_SCRATCH_ROOM + 8];
    int code = read_options(argc, argv, &j);
    if (code) return code < 0 ? 0 : code;
    op_fixture *f = op_fixture_read(j.file, why, sizeof why);
    if (!f) {
        fprintf(stderr, "oomproof: error: %s: %s\n", j.file, why);
        return 2;
    }
    j.f = f;
    if (!j.capacity) j.capacity = f->total;
    j.total = f->total;
    if (j.s.memory && !op_number(j.s.memory, &j.total))
        return op_usage("--sim-memory is a size, as 8GiB, not ", j.s.memory);
    op_stream_result first = {.first = f->n};
    if (!j.s.command && j.capacity)
        op_stream_run(f, j.model, &(op_stream){j.capacity, 1, 1, NULL}, &first);
    for (size_t i = f->n; j.s.command && i-- && !j.last;)
        if (f->event[i].kind == OP_FX_fail) j.last = &f->event[i];
    if (first.first < f->n) j.last = &f->event[first.first];
    if (!j.last)
        fprintf(stderr,
                "oomproof: error: %s: nothing fails in it; --capacity makes the card smaller\n",
                j.file);
    if (!j.last || !op_scratch("reduce", dir)) {
        op_fixture_free(f);
        return j.last ? 7 : 1;
    }
    snprintf(ring, sizeof ring, "%s/ring", dir);
    snprintf(j.force, sizeof j.force, "%s/fail", dir);
    j.s.ring = ring;
    j.s.force = j.force;
    snprintf(j.memory, sizeof j.memory, "%llu", (unsigned long long)f->total);
    if (!j.s.memory && f->total) j.s.memory = j.memory;
    code = whole_file(&j);
    op_scratch_remove(dir);
    op_fixture_free(f);
    if (op_spawn_stopped()) {
        signal(op_spawn_stopped(), SIG_DFL);
        raise(op_spawn_stopped());
    }
    return code;
}
