/* scenes.c - see scenes.h. A failure of another program's batch, made again by the sizes alone. */
#define _GNU_SOURCE
#include "field/scenes.h"
#include "calls.h"
#include "launch.h"
#include "scratch.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_POINTS = 300000,
    MOST_SAMPLES = 1023
}; /* of a generated scene, of pointtrain's batch */

typedef struct batch {
    int samples;
    uint64_t points, need; /* need: the most device bytes that were live */
    int fails, splits, failed;
    uint64_t dropped;
} batch;

typedef struct batches {
    batch *b; /* [n] */
    int n;
    uint64_t *size; /* [samples of all], in the order of the batches */
    size_t sizes;
} batches;

static void batches_free(batches *all)
{
    free(all->b);
    free(all->size);
}

/* For want of device memory; a budget does not reach pinned memory, nor what a library keeps. */
static int is_oom(const op_fx_event *e)
{
    for (int i = 0; i < OP_CALLS; i++)
        if (!strcmp(e->call, op_table[i].name))
            return e->code == 2 && op_table[i].flags & OP_F_ALLOC;
    return e->code == 2; /* imported: an allocator's own name */
}

/* A batch begins with its first sample: the first after a step has ended or, of a program that
 * marks no steps, after other calls. */
static int batches_of(const op_fixture *f, batches *all)
{
    int marked = 0, open = 0;
    *all = (batches){.b = calloc(f->n + 1, sizeof *all->b),
                     .size = calloc(f->n + 1, sizeof *all->size)};
    if (!all->b || !all->size) return 0;
    for (size_t i = 0; i < f->n; i++) marked |= f->event[i].kind == OP_FX_step;
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        if (e->kind == OP_FX_sample) {
            if (!open) all->n++;
            open = 1;
            all->b[all->n - 1].samples++;
            all->b[all->n - 1].points += e->points;
            all->size[all->sizes++] = e->points;
            continue;
        }
        if (!marked) open = 0;
        if (!all->n) continue;
        batch *b = &all->b[all->n - 1];
        if (e->live > b->need) b->need = e->live;
        if (e->kind == OP_FX_fail) b->fails += is_oom(e);
        if (e->kind != OP_FX_step) continue;
        open = 0;
        b->splits += (int)e->splits;
        b->dropped += e->dropped;
        b->failed |= e->failed != 0;
    }
    return 1;
}

static int write_shapes(const op_scenes *how, const batches *all, const char *path)
{
    FILE *to = fopen(path, "we");
    const uint64_t *size = all->size;
    for (int k = 0; to && k < all->n; k++)
        for (int i = 0; i < all->b[k].samples; i++, size++) {
            double points = (double)*size * how->scale;
            if (points > MOST_POINTS || all->b[k].samples > MOST_SAMPLES) {
                fprintf(
                    stderr,
                    "oomproof: error: %s: batch %d has %d samples, one of %.0f points; a "
                    "generated batch has at most %d, of %d points: --scale makes them smaller\n",
                    how->file, k + 1, all->b[k].samples, points, MOST_SAMPLES, MOST_POINTS);
                fclose(to);
                return 2;
            }
            fprintf(to, "%.0f%c", points < 1 ? 1 : points, i + 1 < all->b[k].samples ? ' ' : '\n');
        }
    if (to && fclose(to) == 0) return 0;
    fprintf(stderr, "oomproof: error: %s: %s\n", path, strerror(errno));
    return 7;
}

/* One run of these batches; what became of each. 0: all of them are there. */
static int run(const op_scenes *how, const op_spawn *s, int n, batches *got)
{
    unlink(s->ring);
    int status = op_spawn_run(s), code = op_spawn_code(status);
    *got = (batches){0};
    if (status == OP_SPAWN_NOT_STARTED) status = -1;
    if (status == -1 || status == -2 || code == 5) {
        fprintf(stderr, "oomproof: error: %s: pointtrain %s\n", how->file,
                status == -1   ? "cannot be started"
                : status == -2 ? "did not end in time (--timeout)"
                               : "was killed by a signal");
        return code;
    }
    op_fixture *f = code == 2 ? NULL : op_ring_take(s->ring); /* 2: it said what is wrong */
    if (!f) return code == 2 ? 2 : 4;
    int have = batches_of(f, got);
    op_fixture_free(f);
    if (!have) return 7;
    if (got->n == n) return 0;
    fprintf(stderr, "oomproof: %s: %d of %d batches came through pointtrain, which ended with %d\n",
            how->file, got->n, n, code);
    return 1;
}

/* Just below the smallest need of those that failed: they all fail again, and have as much room as
 * can be to recover in. One that did not fail and needs more does now. */
static uint64_t budget_of(const batches *want, const batches *needs)
{
    uint64_t least = UINT64_MAX;
    for (int k = 0; k < want->n; k++)
        if (want->b[k].fails && needs->b[k].need < least) least = needs->b[k].need;
    return least - 1;
}

static void print_rows(const batches *want, const batches *needs, const batches *got)
{
    int rest = 0;
    fprintf(stderr, "%6s %8s %9s %10s %9s  %s\n", "batch", "samples", "points", "needs MiB",
            "failures", "here");
    for (int k = 0; k < want->n; k++) {
        const batch *w = &want->b[k], *g = k < got->n ? &got->b[k] : NULL;
        rest += !w->fails && g && !g->fails;
        if (!w->fails && g && !g->fails) continue;
        fprintf(stderr, "%6d %8d %9llu %10.1f %9d  ", k + 1, w->samples,
                (unsigned long long)w->points, (double)needs->b[k].need / 1048576.0, w->fails);
        if (!g)
            fprintf(stderr, "not reached\n");
        else
            fprintf(stderr, "%d failures, %d splits, %llu points dropped%s\n", g->fails, g->splits,
                    (unsigned long long)g->dropped, g->failed ? "; the step failed" : "");
    }
    if (rest) fprintf(stderr, "%6d others failed neither there nor here\n", rest);
}

static int judge(const op_scenes *how, const batches *want, const batches *got, int code)
{
    int skipped = 0, failed = 0;
    uint64_t dropped = 0;
    for (int k = 0; k < got->n && k < want->n; k++) {
        skipped += want->b[k].fails && !got->b[k].fails;
        failed += got->b[k].failed;
        dropped += got->b[k].dropped;
    }
    if (skipped)
        fprintf(stderr, "oomproof: %s: %d batches that failed in the recording did not fail here\n",
                how->file, skipped);
    fprintf(stderr, "oomproof: %s: as scenes: %s\n", how->file,
            code || failed ? "refused"
            : dropped      ? "loss"
                           : "recovered");
    return code ? code : failed || skipped ? 1 : 0;
}

static int both(const op_scenes *how, const batches *want, op_spawn *s)
{
    batches needs = {0}, got = {0};
    char rule[64];
    int fails = 0, code = run(how, s, want->n, &needs);
    for (int k = 0; k < want->n; k++) fails += want->b[k].fails > 0;
    for (int k = 0; !code && k < want->n; k++)
        if (needs.b[k].fails) {
            fprintf(stderr,
                    "oomproof: error: %s: batch %d already fails on the card that is to say what "
                    "the batches need; give a larger one by --sim-memory\n",
                    how->file, k + 1);
            code = 2;
        }
    if (code) goto done;
    uint64_t budget = budget_of(want, &needs);
    snprintf(rule, sizeof rule, "* budget=%llu -> oom", (unsigned long long)budget);
    if (fails) {
        s->faults = rule;
        fprintf(stderr,
                "oomproof: %s: %d batches, %d of which failed; under a budget of %.1f MiB\n",
                how->file, want->n, fails, (double)budget / 1048576.0);
    } else
        fprintf(stderr,
                "oomproof: %s: %d batches, none of which failed for want of device memory: "
                "without a budget\n",
                how->file, want->n);
    for (int i = 0; !code && i < how->repeat; i++) {
        code = run(how, s, want->n, &got);
        if (got.b) print_rows(want, &needs, &got);
        if (got.b) code = judge(how, want, &got, code);
        batches_free(&got);
        got = (batches){0};
    }
done:
    batches_free(&needs);
    batches_free(&got);
    return code;
}

int op_scenes_replay(const op_fixture *f, const op_scenes *how)
{
    static char root[4096], program[4200];
    char dir[OP_SCRATCH_ROOM], ring[OP_SCRATCH_ROOM + 8], shapes[OP_SCRATCH_ROOM + 8];
    char data[sizeof shapes + 8], steps[16];
    batches want = {0};
    int code = 0, n = 0, more = 0;
    char **words = NULL;
    if (!batches_of(f, &want)) {
        code = 7;
        goto done;
    }
    if (!want.n) {
        fprintf(stderr,
                "oomproof: error: %s: the recording does not say what its batches were; a program "
                "says it by oomproof_sample() of oomproof.h\n",
                how->file);
        code = 2;
        goto done;
    }
    if (!op_root(root, sizeof root) || !op_scratch("scenes", dir)) {
        code = 7;
        goto done;
    }
    snprintf(program, sizeof program, "%s/bin/pointtrain", root);
    snprintf(ring, sizeof ring, "%s/ring", dir);
    snprintf(shapes, sizeof shapes, "%s/shapes", dir);
    snprintf(data, sizeof data, "shapes:%s", shapes);
    snprintf(steps, sizeof steps, "%d", want.n);
    while (how->s.command && how->s.command[more]) more++;
    words = calloc((size_t)more + 12, sizeof *words);
    if (!(code = words ? write_shapes(how, &want, shapes) : 7)) {
        /* what failed there is to fail here: nothing is split ahead of it */
        char *given[] = {program,   "train",       "--data", data,           "--steps", steps,
                         "--quiet", "--allocator", "direct", "--plan-ahead", "off"};
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) words[n++] = given[i];
        for (int i = 0; i < more; i++) words[n++] = how->s.command[i];
        op_spawn s = how->s;
        s.command = words;
        s.ring = ring;
        s.events = 8192 * (uint64_t)want.n + (1 << 16);
        if (s.events > 1 << 24) s.events = 1 << 24;
        if (!s.memory) s.memory = "512GiB"; /* backed as it is used */
        code = both(how, &want, &s);
    }
    op_scratch_remove(dir);
done:
    batches_free(&want);
    free(words);
    return code;
}
