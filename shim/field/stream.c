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

/* What is under way. */
typedef struct play {
    op_model *model;
    held *all;
    size_t room;
    uint64_t asked;
    op_stream_result *out;
} play;

static void one(play *p, const op_fx_event *e, size_t i, uint64_t number, uint64_t bytes,
                size_t none)
{
    op_stream_result *out = p->out;
    held *h = number ? place(p->all, p->room, number) : NULL;
    out->events++;
    if (e->kind == OP_FX_free) {
        if (!h || !h->block) return; /* it never came, or did not fit */
        op_model_give(p->model, h->block);
        p->asked -= h->bytes;
        h->block = NULL;
        return;
    }
    op_block *b = op_model_take(p->model, bytes);
    if (!b) {
        out->failures++;
        out->unexpected += e->kind != OP_FX_fail;
        if (out->first == none) out->first = i;
    } else if (e->kind == OP_FX_fail) {
        op_model_give(p->model, b); /* the program had nothing of it */
    } else {
        p->asked += bytes;
        if (h) *h = (held){number, bytes, b};
    }
    if (p->asked > out->peak_asked) out->peak_asked = p->asked;
    if (op_model_mapped(p->model) > out->peak_mapped) out->peak_mapped = op_model_mapped(p->model);
}

int op_stream_run(const op_fixture *f, op_model_kind kind, const op_stream *how,
                  op_stream_result *out)
{
    uint64_t threads = how->threads > 1 ? (uint64_t)how->threads : 1;
    play p = {.model = op_model_new(kind, how->capacity), .room = 64, .out = out};
    while (p.room < 2 * threads * f->n) p.room *= 2;
    p.all = calloc(p.room, sizeof *p.all);
    *out = (op_stream_result){.first = f->n};
    if (!p.all || !p.model) {
        free(p.all);
        op_model_free(p.model);
        return 0;
    }
    double start = now();
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        if (!op_fx_is_call(e) || (how->keep && !how->keep[i])) continue;
        uint64_t bytes = how->scale == 1 ? e->size : (uint64_t)((double)e->size * how->scale);
        for (uint64_t t = 0; t < threads; t++)
            one(&p, e, i, e->block ? e->block * threads + t : 0, bytes, f->n);
    }
    out->seconds = now() - start;
    free(p.all);
    op_model_free(p.model);
    return 1;
}

enum { SHOWN = 10 }; /* failures, before the table */

int op_stream_report(FILE *to, const op_fixture *f, const op_stream *how)
{
    uint64_t recorded = 0, injected = 0;
    if (!how->capacity) {
        fprintf(stderr, "oomproof: error: the recording does not say how large the card was; give "
                        "--capacity SIZE\n");
        return 2;
    }
    for (size_t i = 0; i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        char what[600];
        if (e->kind != OP_FX_fail) continue;
        injected += e->injected != 0;
        if (recorded++ >= SHOWN) continue;
        op_fx_describe(e, what, sizeof what);
        fprintf(to, "event %zu failed: %s, %.1f MiB live%s\n", i + 1, what,
                (double)e->live / 1048576.0, e->injected ? ", by a rule" : "");
    }
    if (recorded > SHOWN)
        fprintf(to, "... and %llu more\n", (unsigned long long)(recorded - SHOWN));
    fprintf(to, "%zu events, %llu recorded failures, a card of %.1f MiB\n", f->n,
            (unsigned long long)recorded, (double)how->capacity / 1048576.0);
    fprintf(to, "%-11s %9s %12s %12s %14s %11s  %s\n", "allocator", "failures", "peak MiB",
            "asked MiB", "fragmentation", "M events/s", "first failure");
    for (int k = 0; k < OP_MODELS; k++) {
        op_stream_result r;
        char what[400] = "none";
        if (!op_stream_run(f, (op_model_kind)k, how, &r)) return 7;
        if (r.first < f->n) {
            op_fx_event e = f->event[r.first];
            snprintf(what, sizeof what, "event %zu, %llu bytes at %s", r.first + 1,
                     (unsigned long long)e.size, *e.site ? e.site : "an unknown site");
        }
        fprintf(to, "%-11s %9llu %12.1f %12.1f %12.1f %% %11.1f  %s\n", op_model_name[k],
                (unsigned long long)r.failures, (double)r.peak_mapped / 1048576.0,
                (double)r.peak_asked / 1048576.0,
                r.peak_mapped ? 100 - 100 * (double)r.peak_asked / (double)r.peak_mapped : 0.0,
                r.seconds > 0 ? (double)r.events / r.seconds * 1e-6 : 0.0, what);
    }
    if (injected)
        fprintf(
            to,
            "%llu of the failures were made by rules, not by the card: --capacity SIZE asks for "
            "a card on which the same would not fit\n",
            (unsigned long long)injected);
    return fflush(to) == 0 ? 0 : 7;
}
