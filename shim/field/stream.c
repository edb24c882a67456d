/* stream.c - see stream.h. */
#include "field/stream.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Blocks by their number: open addressing, twice as many places as events. */
typedef struct held {
    uint64_t number, bytes;
    op_block *block;
} held;

static held *place(held *all, size_t room, uint64_t number)
{
    size_t k = (size_t)(number * 0x9e3779b97f4a7c15u >> 20) & (room - 1);
    while (all[k].number && all[k].number != number) k = (k + 1) & (room - 1);
    return &all[k];
}

int op_stream_run(const op_fixture *f, const char *keep, op_model_kind kind, uint64_t capacity,
                  double scale, op_stream_result *out)
{
    size_t room = 64;
    uint64_t asked = 0;
    while (room < 2 * f->n) room *= 2;
    held *all = calloc(room, sizeof *all);
    op_model *m = op_model_new(kind, capacity);
    *out = (op_stream_result){.first = f->n};
    if (!all || !m) {
        free(all);
        op_model_free(m);
        return 0;
    }
    double start = now();
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        if (e->kind == OP_FX_step || (keep && !keep[i])) continue;
        uint64_t bytes = scale == 1 ? e->size : (uint64_t)((double)e->size * scale);
        held *h = e->block ? place(all, room, e->block) : NULL;
        out->events++;
        if (e->kind == OP_FX_free) {
            if (!h || !h->block) continue; /* it never came, or did not fit */
            op_model_give(m, h->block);
            asked -= h->bytes;
            h->block = NULL;
            continue;
        }
        op_block *b = op_model_take(m, bytes);
        if (!b) {
            out->failures++;
            out->unexpected += e->kind != OP_FX_fail;
            if (out->first == f->n) out->first = i;
        } else if (e->kind == OP_FX_fail) {
            op_model_give(m, b); /* the program had nothing of it */
        } else {
            asked += bytes;
            if (h) *h = (held){e->block, bytes, b};
        }
        if (asked > out->peak_asked) out->peak_asked = asked;
        if (op_model_mapped(m) > out->peak_mapped) out->peak_mapped = op_model_mapped(m);
    }
    out->seconds = now() - start;
    free(all);
    op_model_free(m);
    return 1;
}

int op_stream_report(FILE *to, const op_fixture *f, uint64_t capacity, double scale)
{
    uint64_t recorded = 0;
    if (!capacity) {
        fprintf(stderr, "oomproof: error: the recording does not say how large the card was; give "
                        "--capacity SIZE\n");
        return 2;
    }
    for (size_t i = 0; i < f->n; i++) recorded += f->event[i].kind == OP_FX_fail;
    fprintf(to, "%zu events, %llu recorded failures, a card of %.1f MiB\n", f->n,
            (unsigned long long)recorded, (double)capacity / 1048576.0);
    fprintf(to, "%-11s %9s %12s %12s %14s  %s\n", "allocator", "failures", "peak MiB", "asked MiB",
            "fragmentation", "first failure");
    for (int k = 0; k < OP_MODELS; k++) {
        op_stream_result r;
        char what[400] = "none";
        if (!op_stream_run(f, NULL, (op_model_kind)k, capacity, scale, &r)) return 7;
        if (r.first < f->n) {
            op_fx_event e = f->event[r.first];
            snprintf(what, sizeof what, "event %zu, %llu bytes at %s", r.first + 1,
                     (unsigned long long)e.size, *e.site ? e.site : "an unknown site");
        }
        fprintf(to, "%-11s %9llu %12.1f %12.1f %12.1f %%  %s\n", op_model_name[k],
                (unsigned long long)r.failures, (double)r.peak_mapped / 1048576.0,
                (double)r.peak_asked / 1048576.0,
                r.peak_mapped ? 100 - 100 * (double)r.peak_asked / (double)r.peak_mapped : 0.0,
                what);
    }
    return fflush(to) == 0 ? 0 : 7;
}
