/* buffers.c - what a program gave to be compared: its parameters, moments, gradients, as they were
 * at the beginning of the reference's step and at its end, and as they are. */
#define _GNU_SOURCE
#include "buffers.h"
#include "oomproof.h"
#include "state.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct buffer {
    char name[64];
    const void *p;
    size_t bytes;
    int on_device, type;
    double tolerance;
} buffers[OP_BUFFERS];
static int nbuffers;

/* Scratch is kept apart: its contents decide nothing. */
static struct {
    const char *p;
    size_t bytes;
} scratch[64];
static int nscratch;

API void op_buffer(const char *name, const void *p, size_t bytes, int on_device, int type,
                   double tolerance)
{
    if (!name || (!p && bytes)) {
        op_sweep_note("oomproof_buffer", name ? "its address is NULL: it is not compared"
                                              : "its name is NULL: it is told as (no name)");
        if (name) return;
        name = "(no name)";
    }
    if (!op_sweep || nbuffers == OP_BUFFERS || (!p && bytes)) return;
    if (type == 's') {
        if (nscratch < 64) scratch[nscratch].p = p, scratch[nscratch++].bytes = bytes;
        return;
    }
    if (op_sweep->marked && op_sweep_in_step()) { /* what it was at the beginning is not known */
        static int told;
        if (!told++)
            fprintf(stderr, "oomproof: the buffer %s was given within the step: not compared\n",
                    name);
        return;
    }
    struct buffer *b = &buffers[nbuffers++];
    *b = (struct buffer){
        .p = p, .bytes = bytes, .on_device = on_device, .type = type, .tolerance = tolerance};
    snprintf(b->name, sizeof b->name, "%s", name);
}

static void *fetch(const struct buffer *b)
{
    void *copy = malloc(b->bytes + 1);
    if (!copy) return NULL;
    op_within within;
    op_enter(&within);
    if (!b->on_device)
        memcpy(copy, b->p, b->bytes);
    else if (REAL(cudaMemcpy)(copy, b->p, b->bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
        free(copy);
        copy = NULL;
    }
    op_leave(&within);
    return copy;
}

uint64_t op_buffers_write(const char *name)
{
    char path[600];
    uint64_t h = 1;
    snprintf(path, sizeof path, "%s/%s", op_sweep->folder, name);
    FILE *f = fopen(path, "we");
    for (int i = 0; f && i < nbuffers; i++) {
        void *copy = fetch(&buffers[i]);
        if (copy && fwrite(copy, 1, buffers[i].bytes, f) != buffers[i].bytes) h = 0;
        if (copy && h) h = oomproof_hash(h, copy, buffers[i].bytes);
        free(copy);
    }
    if (!f || fclose(f) != 0 || !h) {
        fprintf(stderr, "oomproof: %s cannot be written\n", path);
        _exit(7);
    }
    return h;
}

uint64_t op_buffers_hash(void)
{
    uint64_t h = 1;
    for (int i = 0; i < nbuffers; i++) {
        void *copy = fetch(&buffers[i]);
        if (copy) h = oomproof_hash(h, copy, buffers[i].bytes);
        free(copy);
    }
    return h;
}

uint64_t op_buffers_host_hash(uint64_t seed)
{
    for (int i = 0; i < nbuffers; i++)
        if (!buffers[i].on_device) seed = oomproof_hash(seed, buffers[i].p, buffers[i].bytes);
    return seed;
}

/* ---- distances: max|d| / max(max|reference|, 1e-3 of the largest of all) ---- */
static double value(const void *p, int type, size_t i)
{
    return type == 'd' ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static double largest(const void *p, int type, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(value(p, type, i)));
    return m;
}

static double distance(const void *a, const void *reference, int type, size_t n, double floor_)
{
    double d = 0, m = fmax(largest(reference, type, n), floor_);
    for (size_t i = 0; i < n; i++) {
        double e = fabs(value(a, type, i) - value(reference, type, i));
        if (isnan(e)) return e; /* nothing after it is larger */
        if (e > d) d = e;
    }
    return d == 0 ? 0 : d / m;
}

static void note_worst(op_result *r, const struct buffer *b, double d)
{
    if (isnan(r->measure) || d <= r->measure) return;
    r->measure = d;
    snprintf(r->worst, sizeof r->worst, "%.63s", b->name);
}

/* A file of write_state; ends the process when it is not there. */
static char *map_state(const char *name, size_t *bytes)
{
    char path[600];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", op_sweep->folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) op_sweep_end_process(OP_V_CRASH, "the reference is gone");
    *bytes = (size_t)st.st_size;
    char *p = *bytes ? mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (p == MAP_FAILED) op_sweep_end_process(OP_V_CRASH, "the reference cannot be mapped");
    return p;
}

static int all_zero(const char *p, size_t n)
{
    while (n && !*p) p++, n--;
    return n == 0;
}

int op_buffers_unmoved(op_result *r)
{
    size_t bytes, at = 0;
    char *start = map_state("start.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < nbuffers; at += buffers[i++].bytes) {
        const struct buffer *b = &buffers[i];
        char *copy = b->type == 'b' ? NULL : fetch(b);
        if (b->type == 'b') continue; /* the schedule goes on */
        ok = copy &&
             (b->tolerance > 0 ? all_zero(copy, b->bytes) : !memcmp(copy, start + at, b->bytes));
        if (!ok)
            snprintf(r->why, sizeof r->why, "every point was dropped, but %.63s moved", b->name);
        free(copy);
    }
    if (start) munmap(start, bytes);
    return ok;
}

int op_buffers_compare(op_result *r, int exact, int *same)
{
    size_t bytes;
    char *ref = map_state("reference.bin", &bytes);
    int ok = 1;
    size_t at = 0;
    double all = 0;
    *same = 1;
    for (int i = 0; i < nbuffers; at += buffers[i++].bytes)
        if (buffers[i].type != 'b' && buffers[i].tolerance > 0)
            all = fmax(all, largest(ref + at, buffers[i].type,
                                    buffers[i].bytes / (buffers[i].type == 'd' ? 8 : 4)));
    at = 0;
    for (int i = 0; i < nbuffers; at += buffers[i++].bytes) {
        const struct buffer *b = &buffers[i];
        void *copy = fetch(b);
        int equal = copy && !memcmp(copy, ref + at, b->bytes);
        *same &= equal;
        if (!equal && copy && b->type != 'b') {
            double d =
                distance(copy, ref + at, b->type, b->bytes / (b->type == 'd' ? 8 : 4), 1e-3 * all);
            int off = exact || (b->tolerance > 0 && !(d <= b->tolerance));
            if (b->tolerance > 0) note_worst(r, b, d);
            if (off && ok)
                snprintf(r->why, sizeof r->why, "%.63s is off by %.3g (bound %.3g)", b->name, d,
                         exact ? 0 : b->tolerance);
            ok &= !off;
        } else if (!equal && (exact || !copy)) {
            if (ok) snprintf(r->why, sizeof r->why, "%.63s differs", b->name);
            ok = 0;
        }
        free(copy);
    }
    if (ref) munmap(ref, bytes);
    return ok;
}

/* Of a part, which must be the same in every bit: what is off, and by how much. */
static void say_by_how_much(op_result *r, const struct buffer *b, const char *copy,
                            const char *wanted, int written)
{
    const char *how = written ? "differs" : "was changed";
    size_t first = 0, many = 0;
    for (size_t i = b->bytes; copy && i--;)
        if (copy[i] != wanted[i]) first = i, many++;
    if (!copy)
        snprintf(r->why, sizeof r->why, "%.63s cannot be read", b->name);
    else if (b->type == 'b')
        snprintf(r->why, sizeof r->why, "%.63s %s: %zu of its %zu bytes, the first at %zu", b->name,
                 how, many, b->bytes, first);
    else {
        size_t each = b->type == 'd' ? 8 : 4;
        double d = distance(copy, wanted, b->type, b->bytes / each, 0);
        note_worst(r, b, d);
        snprintf(r->why, sizeof r->why,
                 "%.63s %s: off by %.3g (bound 0), first at number %zu of %zu", b->name, how, d,
                 first / each, b->bytes / each);
    }
}

int op_buffers_of_part(op_result *r, int failed, int lost)
{
    size_t bytes, at = 0;
    char *start = map_state("start.bin", &bytes), *ref = map_state("reference.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < nbuffers; at += buffers[i++].bytes) {
        const struct buffer *b = &buffers[i];
        char *copy = fetch(b);
        int written = memcmp(start + at, ref + at, b->bytes) != 0;
        int as_before = copy && !memcmp(copy, start + at, b->bytes);
        ok = written ? lost || (failed && as_before) || (copy && !memcmp(copy, ref + at, b->bytes))
                     : as_before;
        if (!ok) say_by_how_much(r, b, copy, written ? ref + at : start + at, written);
        free(copy);
    }
    if (start) munmap(start, bytes);
    if (ref) munmap(ref, bytes);
    return ok;
}

void op_buffers_blank(char *copy, const char *from, size_t n)
{
    for (int i = 0; i < nscratch; i++) {
        const char *lo = scratch[i].p > from ? scratch[i].p : from;
        const char *end = scratch[i].p + scratch[i].bytes, *hi = end < from + n ? end : from + n;
        if (lo < hi) memset(copy + (lo - from), 0, (size_t)(hi - lo));
    }
}

/* ---- what the points that were trained give by themselves ---- */
static int (*compute_again)(void *user);
static void *compute_user;

API void op_reference(int (*fn)(void *user), void *user)
{
    compute_again = fn;
    compute_user = user;
}

static int restore(const char *start)
{
    int ok = 1;
    op_within within;
    op_enter(&within);
    for (int i = 0; i < nbuffers; start += buffers[i++].bytes)
        if (!buffers[i].on_device)
            memcpy((void *)buffers[i].p, start, buffers[i].bytes);
        else
            ok &= REAL(cudaMemcpy)((void *)buffers[i].p, start, buffers[i].bytes,
                                   cudaMemcpyHostToDevice) == cudaSuccess;
    op_leave(&within);
    return ok;
}

/* The worst of the buffers with a tolerance, had[i] against what is there now, into r. */
static int agree(op_result *r, void **had)
{
    int ok = 1;
    double all = 0;
    void *now[OP_BUFFERS] = {0};
    for (int i = 0; i < nbuffers; i++) {
        const struct buffer *b = &buffers[i];
        if (!had[i] || !(now[i] = fetch(b))) continue;
        all = fmax(all, largest(now[i], b->type, b->bytes / (b->type == 'd' ? 8 : 4)));
    }
    for (int i = 0; i < nbuffers; i++) {
        const struct buffer *b = &buffers[i];
        if (!now[i]) continue;
        double d =
            distance(had[i], now[i], b->type, b->bytes / (b->type == 'd' ? 8 : 4), 1e-3 * all);
        note_worst(r, b, d);
        if (ok && !(d <= b->tolerance)) {
            snprintf(
                r->why, sizeof r->why,
                "%.63s is off by %.3g (bound %.3g) from what the points that were trained give",
                b->name, d, b->tolerance);
            ok = 0;
        }
        free(now[i]);
    }
    return ok;
}

int op_buffers_recomputed(op_result *r)
{
    void *had[OP_BUFFERS] = {0};
    size_t bytes;
    int ok = 1;
    if (!compute_again) {
        snprintf(r->why, sizeof r->why,
                 "the gradient was not compared: the program does not say "
                 "how (oomproof_reference)");
        return 1;
    }
    for (int i = 0; i < nbuffers; i++)
        if (buffers[i].type != 'b' && buffers[i].tolerance > 0) had[i] = fetch(&buffers[i]);
    char *start = map_state("start.bin", &bytes);
    op_sweep_calm();
    if (!restore(start) || compute_again(compute_user) != 0)
        snprintf(r->why, sizeof r->why,
                 "the gradient was not compared: it could not be computed "
                 "again from the step's beginning");
    else
        ok = agree(r, had);
    for (int i = 0; i < nbuffers; i++) free(had[i]);
    if (start) munmap(start, bytes);
    return ok;
}
