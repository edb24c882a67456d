/* charts.c - which numbers of a run become charts, and under which tags. */
#include "loop/charts.h"
#include "loop/events.h"
#include "loop/timers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct pt_charts {
    pt_events *events;
    int lost;
};

pt_status pt_charts_open(const char *folder, int64_t step, pt_charts **out)
{
    pt_charts *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) return pt_fail(PT_ERR_HOST, "no host memory for the charts");
    pt_status st = pt_events_open(folder, step, &c->events);
    if (st == PT_OK)
        *out = c;
    else
        free(c);
    return st;
}

static void put(pt_charts *c, int64_t step, const char *tag, double value)
{
    pt_error cause = *pt_error_last();
    if (pt_events_scalar(c->events, step, tag, value) != PT_OK && !c->lost) {
        fprintf(stderr, "pointtrain: error: %s; the run goes on without these charts\n",
                pt_error_last()->message);
        c->lost = 1;
    }
    pt_error_restore(&cause);
}

void pt_charts_batch(pt_charts *c, int64_t step, const pt_batch_result *r)
{
    if (!c) return;
    const struct {
        const char *tag;
        double value;
    } all[] = {
        {"train/loss", r->loss},
        {"train/lr", r->lr},
        {"train/points", (double)r->trained},
        {"train/seconds", r->seconds},
        {"recover/retries", (double)r->recover.retries},
        {"recover/splits", (double)(r->recover.splits_scene + r->recover.splits_space)},
        {"recover/planned", (double)r->recover.planned},
        {"recover/wasted_passes", (double)(r->recover.wasted_forward + r->recover.wasted_backward)},
        {"recover/dropped_points", (double)r->dropped},
        {"memory/peak_bytes", (double)r->bytes_peak},
        {"memory/baseline_bytes", (double)r->bytes_baseline}};
    pt_timer timer[PT_TIMERS];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) put(c, step, all[i].tag, all[i].value);
    pt_timers_of(r, timer);
    for (int i = 0; i < PT_TIMERS; i++) {
        char tag[64]; /* what stands before the slash is a group of charts */
        snprintf(tag, sizeof tag, "%s/%s", timer[i].group, timer[i].name);
        put(c, step, tag, timer[i].seconds);
    }
    if (!r->biased) return;
    put(c, step, "recover/norm_bias_mean", r->bias.mean);
    put(c, step, "recover/norm_bias_scale", r->bias.scale);
}

void pt_charts_scores(pt_charts *c, int64_t step, const pt_scores *s)
{
    if (!c) return;
    put(c, step, "validation/miou", s->miou);
    put(c, step, "validation/accuracy", s->accuracy);
    put(c, step, "validation/mean_accuracy", s->mean_accuracy);
    put(c, step, "validation/loss", s->loss);
    for (int k = 0; k < s->classes; k++) {
        char tag[64];
        snprintf(tag, sizeof tag, "iou/class_%d", k);
        if (!isnan(s->iou[k])) put(c, step, tag, s->iou[k]);
    }
}

void pt_charts_close(pt_charts *c)
{
    if (!c) return;
    pt_events_close(c->events);
    free(c);
}
