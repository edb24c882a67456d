/* notes.c - each attempt of a batch, for the log and the report. */
#include "loop/batch.h"
#include "loop/log.h"
#include <stdio.h>
#include <string.h>

void pt_note_begin(pt_batch *b, pt_fragment *f)
{
    size_t peak = pt_mem_peak(&b->t->device, 1); /* from here on, of this attempt */
    if (peak > b->out->bytes_peak) b->out->bytes_peak = peak;
    if (!f->id) f->id = ++b->fragments;
}

void pt_note_end(pt_batch *b, const pt_fragment *f, pt_status st)
{
    pt_batch_result *out = b->out;
    size_t peak = pt_mem_peak(&b->t->device, 0);
    if (peak > out->bytes_peak) out->bytes_peak = peak;
    size_t used = pt_mem_used_peak(&b->t->device) - b->used;
    if (st == PT_OK && !b->evaluate && used > out->bytes_used) {
        out->bytes_used = used;
        out->bytes_kept = b->pass.keeps;
        out->voxels_used = b->pass.voxels;
    }
    if (out->notes++ >= PT_NOTES) return;
    pt_note *n = &out->note[out->notes - 1];
    *n = (pt_note){.fragment = f->id,
                   .parent = f->parent,
                   .scenes = f->shape.scenes,
                   .spatial = f->spatial,
                   .own = f->shape.own,
                   .points = f->shape.points,
                   .gather_rows = f->gather_rows,
                   .bytes = peak};
    const pt_error *e = pt_error_last();
    snprintf(n->outcome, sizeof n->outcome, "%s",
             st == PT_OK ? "ok" : pt_class_name(pt_classify(e)));
    if (st == PT_OK) return;
    snprintf(n->phase, sizeof n->phase, "%.15s", e->phase);
    snprintf(n->site, sizeof n->site, "%.47s", e->site);
    n->memory = e->memory;
}

/* A second failure in a row is evidence, one may have been a moment: and so what a single fault
 * leaves behind is the same as without it. */
void pt_note_plan(pt_batch *b, const pt_fragment *f, pt_status st)
{
    const pt_error *e = pt_error_last();
    double base = (double)b->used;
    if (!b->plan) return;
    if (st == PT_OK)
        pt_plan_fitted(b->plan, f->gather_rows != 0, b->pass.voxels, f->shape.points,
                       (double)pt_mem_used_peak(&b->t->device) - base);
    else if (f->tried & PT_TRIED_AGAIN && e->bytes > 0 && pt_classify(e) == PT_CLASS_OOM)
        pt_plan_failed(b->plan, (double)pt_mem_missed(&b->t->device) - base);
}

void pt_log_notes(FILE *log, const pt_batch_result *r)
{
    int n = r->notes < PT_NOTES ? r->notes : PT_NOTES;
    fputs(",\"attempt_list\":[", log);
    for (int i = 0; i < n; i++) {
        const pt_note *a = &r->note[i];
        fprintf(log,
                "%s{\"fragment\":%d,\"parent\":%d,\"scenes\":%d,\"spatial\":%s,\"own\":%lld,"
                "\"points\":%lld,\"gather_rows\":%lld,\"bytes\":%zu,\"outcome\":\"%s\"",
                i ? "," : "", a->fragment, a->parent, a->scenes, a->spatial ? "true" : "false",
                (long long)a->own, (long long)a->points, (long long)a->gather_rows, a->bytes,
                a->outcome);
        if (*a->site) { /* names of our own: tags and phases */
            pt_log_text(log, "phase", a->phase);
            pt_log_text(log, "site", a->site);
            if (a->memory) pt_log_text(log, "memory", a->memory);
        }
        fputc('}', log);
    }
    fputc(']', log);
    if (r->notes > n) fprintf(log, ",\"attempts_not_listed\":%d", r->notes - n);
}
