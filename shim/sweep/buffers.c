/* buffers.c - what a program gave to be compared: its parameters, moments, gradients, as they were
 * at the beginning of the reference's step and at its end, and as they are. */
#define _GNU_SOURCE
#include "compared.h"
#include "oomproof.h"
#include "state.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

op_compared op_buffers_all[OP_BUFFERS];
int op_nbuffers;

enum { MOST_SCRATCH = 64 };
/* Scratch is kept apart: its contents decide nothing. */
static struct {
    const char *p;
    size_t bytes;
} scratch[MOST_SCRATCH];
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
    if (!op_sweep || (!p && bytes)) return;
    if (type != 'f' && type != 'd' && type != 'b' && type != 'x' && type != 's') {
        op_sweep_note("oomproof_buffer", "a type is none of f, d, b, x and s: taken for bytes, b");
        type = 'b';
    }
    if (type == 's' ? nscratch == MOST_SCRATCH : op_nbuffers == OP_BUFFERS) {
        op_sweep_note("oomproof_buffer", type == 's'
                                             ? "there are too many of scratch: one is compared"
                                             : "there are too many: one is not compared");
        return;
    }
    if (type == 's') {
        scratch[nscratch].p = p, scratch[nscratch++].bytes = bytes;
        return;
    }
    if (op_sweep->marked && op_sweep_in_step()) { /* what it was at the beginning is not known */
        op_sweep_note("oomproof_buffer", "one was given within the step: it is not compared");
        return;
    }
    op_compared *b = &op_buffers_all[op_nbuffers++];
    *b = (op_compared){
        .p = p, .bytes = bytes, .on_device = on_device, .type = type, .tolerance = tolerance};
    snprintf(b->name, sizeof b->name, "%s", name);
}

void *op_buffers_fetch(const op_compared *b)
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
    for (int i = 0; f && i < op_nbuffers; i++) {
        void *copy = op_buffers_fetch(&op_buffers_all[i]);
        if (copy && fwrite(copy, 1, op_buffers_all[i].bytes, f) != op_buffers_all[i].bytes) h = 0;
        if (copy && h) h = oomproof_hash(h, copy, op_buffers_all[i].bytes);
        free(copy);
    }
    if (!f || fclose(f) != 0 || !h) {
        fprintf(stderr, "oomproof: %s cannot be written\n", path);
        _exit(7);
    }
    return h;
}

int op_buffers_count(void)
{
    return op_nbuffers;
}

uint64_t op_buffers_hash(void)
{
    uint64_t h = 1;
    for (int i = 0; i < op_nbuffers; i++) {
        void *copy = op_buffers_fetch(&op_buffers_all[i]);
        if (copy) h = oomproof_hash(h, copy, op_buffers_all[i].bytes);
        free(copy);
    }
    return h;
}

uint64_t op_buffers_host_hash(uint64_t seed)
{
    for (int i = 0; i < op_nbuffers; i++)
        if (!op_buffers_all[i].on_device)
            seed = oomproof_hash(seed, op_buffers_all[i].p, op_buffers_all[i].bytes);
    return seed;
}

char *op_map_state(const char *name, size_t *bytes)
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
    char *start = op_map_state("start.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < op_nbuffers; at += op_buffers_all[i++].bytes) {
        const op_compared *b = &op_buffers_all[i];
        char *copy = !op_is_of_numbers(b) ? NULL : op_buffers_fetch(b);
        if (!op_is_of_numbers(b)) continue; /* the schedule goes on */
        ok = copy && (!memcmp(copy, start + at, b->bytes) ||
                      (b->tolerance > 0 && all_zero(copy, b->bytes)));
        if (!ok)
            snprintf(r->why, sizeof r->why, "every point was dropped, but %.63s moved", b->name);
        free(copy);
    }
    if (start) munmap(start, bytes);
    return ok;
}

/* The first that is not the same in every bit. */
static int all_equal(op_result *r, void **had, void **ref)
{
    int ok = 1;
    for (int i = 0; i < op_nbuffers; i++) {
        const op_compared *b = &op_buffers_all[i];
        if (had[i] && !memcmp(had[i], ref[i], b->bytes)) continue;
        double d = had[i] && op_is_of_numbers(b)
                       ? op_distance(had[i], ref[i], b->type, op_numbers(b), op_least_of(ref))
                       : 0;
        if (b->tolerance > 0) op_note_worst(r, b, d);
        if (ok && had[i] && op_is_of_numbers(b))
            snprintf(r->why, sizeof r->why, "%.63s is off by %.3g (bound 0)", b->name, d);
        else if (ok)
            snprintf(r->why, sizeof r->why, "%.63s differs", b->name);
        ok = 0;
    }
    return ok;
}

int op_buffers_fixed(op_result *r)
{
    size_t bytes, at = 0;
    char *ref = op_map_state("reference.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < op_nbuffers; at += op_buffers_all[i++].bytes) {
        const op_compared *b = &op_buffers_all[i];
        if (b->type != 'x') continue;
        void *had = op_buffers_fetch(b);
        ok = had && !memcmp(had, ref + at, b->bytes);
        free(had);
        if (!ok)
            snprintf(r->why, sizeof r->why, "%.63s differs, which a split does not excuse",
                     b->name);
    }
    if (ref) munmap(ref, bytes);
    return ok;
}

int op_buffers_compare(op_result *r, int exact, int *same)
{
    size_t bytes, at = 0;
    char *all = op_map_state("reference.bin", &bytes);
    void *had[OP_BUFFERS], *ref[OP_BUFFERS];
    *same = 1;
    int ok = 1;
    for (int i = 0; i < op_nbuffers; at += op_buffers_all[i++].bytes) {
        had[i] = op_buffers_fetch(&op_buffers_all[i]);
        ref[i] = all + at;
        *same &= had[i] && !memcmp(had[i], ref[i], op_buffers_all[i].bytes);
        if (had[i] || exact) continue;
        if (ok) snprintf(r->why, sizeof r->why, "%.63s cannot be read", op_buffers_all[i].name);
        ok = 0;
    }
    if (exact)
        ok = all_equal(r, had, ref);
    else if (ok)
        ok = op_agree(r, had, ref, &op_sweep->rounding, "");
    for (int i = 0; i < op_nbuffers; i++) free(had[i]);
    if (all) munmap(all, bytes);
    return ok;
}

/* Of a part, which must be the same in every bit: what is off, and by how much. */
static void say_by_how_much(op_result *r, const op_compared *b, const char *copy,
                            const char *wanted, int written)
{
    const char *how = written ? "differs" : "was changed";
    size_t first = 0, many = 0;
    for (size_t i = b->bytes; copy && i--;)
        if (copy[i] != wanted[i]) first = i, many++;
    if (!copy)
        snprintf(r->why, sizeof r->why, "%.63s cannot be read", b->name);
    else if (!op_is_of_numbers(b))
        snprintf(r->why, sizeof r->why, "%.63s %s: %zu of its %zu bytes, the first at %zu", b->name,
                 how, many, b->bytes, first);
    else {
        size_t each = b->type == 'd' ? 8 : 4;
        double d = op_distance(copy, wanted, b->type, b->bytes / each, 0);
        op_note_worst(r, b, d);
        snprintf(r->why, sizeof r->why,
                 "%.63s %s: off by %.3g (bound 0), first at number %zu of %zu", b->name, how, d,
                 first / each, b->bytes / each);
    }
}

int op_buffers_of_part(op_result *r, int failed, int lost)
{
    size_t bytes, at = 0;
    char *start = op_map_state("start.bin", &bytes), *ref = op_map_state("reference.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < op_nbuffers; at += op_buffers_all[i++].bytes) {
        const op_compared *b = &op_buffers_all[i];
        char *copy = op_buffers_fetch(b);
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
