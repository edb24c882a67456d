/* log.c - what a run says: JSON lines for programs, a bar and a summary for people. */
#include "loop/log.h"
#include "loop/timers.h"
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

void pt_totals_add(pt_totals *t, const pt_batch_result *r, pt_status st)
{
    const pt_recover_stats *s = &r->recover;
    t->batches++;
    t->failed_batches += st != PT_OK;
    t->steps += r->stepped;
    t->points += r->points;
    t->trained += r->trained - r->voided;
    t->dropped += r->dropped + r->voided;
    t->overflows += r->overflow;
    t->overflowed += r->overflow ? (st == PT_OK ? r->points : 0) + r->voided : 0;
    t->attempts += s->attempts;
    t->retries += s->retries;
    t->splits_scene += s->splits_scene;
    t->splits_space += s->splits_space;
    t->planned += s->planned;
    t->wasted_forward += s->wasted_forward;
    t->wasted_backward += s->wasted_backward;
    t->forward += s->fragments + s->wasted_forward;
    t->biased += r->biased;
    t->bias_mean = fmax(t->bias_mean, r->bias.mean);
    t->bias_scale = fmax(t->bias_scale, r->bias.scale);
    if (r->bytes_peak > t->bytes_peak) t->bytes_peak = r->bytes_peak;
    if (r->bytes_used > t->bytes_used) {
        t->bytes_used = r->bytes_used;
        t->bytes_kept = r->bytes_kept;
        t->voxels_used = r->voxels_used;
    }
    t->seconds += r->seconds;
    t->seconds_recover += s->seconds;
    if (st != PT_OK || r->trained == 0) return;
    if (t->nfirst < 3) t->first[t->nfirst++] = r->loss;
    t->recent[t->nrecent++ % 3] = r->loss;
    int n = t->nrecent < 3 ? t->nrecent : 3;
    t->loss_first = t->loss_last = 0;
    for (int i = 0; i < t->nfirst; i++) t->loss_first += t->first[i] / t->nfirst;
    for (int i = 0; i < n; i++) t->loss_last += t->recent[i] / n;
}

/* JSON has no NaN. */
static void put_number(FILE *f, const char *name, double x)
{
    if (isfinite(x))
        fprintf(f, ",\"%s\":%.17g", name, x);
    else
        fprintf(f, ",\"%s\":null", name);
}

void pt_log_text(FILE *f, const char *name, const char *s)
{
    fprintf(f, ",\"%s\":\"", name);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static pt_status finish(FILE *log)
{
    if (fflush(log) == 0 && !ferror(log)) return PT_OK;
    return pt_fail(PT_ERR_HOST, "the log cannot be written: %s", strerror(errno));
}

pt_status pt_log_batch(FILE *log, int64_t batch, int64_t step, const pt_batch_result *r,
                       const pt_ledger *ledger, pt_status st)
{
    const pt_recover_stats *s = &r->recover;
    fprintf(log, "{\"batch\":%lld,\"step\":%lld,\"points\":%lld,\"trained\":%lld,\"dropped\":%lld",
            (long long)batch, (long long)step, (long long)r->points, (long long)r->trained,
            (long long)r->dropped);
    fprintf(log, ",\"attempts\":%lld,\"retries\":%lld,\"splits_scene\":%lld,\"splits_space\":%lld",
            (long long)s->attempts, (long long)s->retries, (long long)s->splits_scene,
            (long long)s->splits_space);
    fprintf(log, ",\"planned\":%lld,\"wasted_forward\":%lld,\"wasted_backward\":%lld",
            (long long)s->planned, (long long)s->wasted_forward, (long long)s->wasted_backward);
    fprintf(log, ",\"bytes_peak\":%zu,\"bytes_baseline\":%zu", r->bytes_peak, r->bytes_baseline);
    if (r->voxels_used)
        fprintf(log, ",\"bytes_used\":%zu,\"bytes_kept\":%zu,\"voxels_used\":%lld", r->bytes_used,
                r->bytes_kept, (long long)r->voxels_used);
    put_number(log, "loss", r->loss);
    put_number(log, "lr", r->lr);
    put_number(log, "seconds", r->seconds);
    put_number(log, "seconds_recover", s->seconds);
    pt_timer timer[PT_TIMERS];
    pt_timers_of(r, timer);
    for (int i = 0; i < PT_TIMERS; i++)
        fprintf(log, "%s\"%s.%s\":%.9g", i ? "," : ",\"timers\":{", timer[i].group, timer[i].name,
                timer[i].seconds);
    fputc('}', log);
    fprintf(log, ",\"voxels\":%lld,\"pairs\":%lld,\"stepped\":%s", (long long)r->voxels,
            (long long)r->pairs, r->stepped ? "true" : "false");
    if (r->loss_scale > 1 || r->overflow)
        fprintf(log, ",\"loss_scale\":%.0f,\"overflow\":%s", r->loss_scale,
                r->overflow ? "true" : "false");
    for (int f = PT_FATE_FLOOR; f < PT_FATES; f++)
        if (ledger->count[f])
            fprintf(log, ",\"dropped_%s\":%lld", pt_fate_name((pt_fate)f),
                    (long long)ledger->count[f]);
    if (r->accumulated > 1) fprintf(log, ",\"accumulated\":%lld", (long long)r->accumulated);
    if (r->voided) fprintf(log, ",\"voided\":%lld", (long long)r->voided);
    if (r->biased) {
        fprintf(log, ",\"norm_on_split\":\"%s\"", r->frozen ? "frozen" : "batch");
        put_number(log, "norm_bias_mean", r->bias.mean);
        put_number(log, "norm_bias_scale", r->bias.scale);
        put_number(log, "norm_bias_first_mean", r->bias.first_mean);
        put_number(log, "norm_bias_first_scale", r->bias.first_scale);
    }
    if (r->notes > 1) pt_log_notes(log, r); /* one attempt has nothing to tell */
    if (st != PT_OK) {
        const pt_error *e = pt_error_last();
        pt_log_text(log, "error", e->message);
        pt_log_text(log, "phase", e->phase);
        pt_log_text(log, "site", e->site);
        if (e->memory) pt_log_text(log, "memory", e->memory);
        pt_log_text(log, "class", pt_class_name(pt_classify(e)));
    }
    fputs("}\n", log);
    return finish(log);
}

pt_status pt_log_summary(FILE *log, const pt_totals *t, int halo, int exit_code)
{
    fprintf(log,
            "{\"summary\":{\"exit\":%d,\"batches\":%lld,\"failed_batches\":%lld,\"steps\":%lld",
            exit_code, (long long)t->batches, (long long)t->failed_batches, (long long)t->steps);
    fprintf(log, ",\"points\":%lld,\"trained\":%lld,\"dropped\":%lld", (long long)t->points,
            (long long)t->trained, (long long)t->dropped);
    fprintf(log, ",\"attempts\":%lld,\"retries\":%lld,\"splits_scene\":%lld,\"splits_space\":%lld",
            (long long)t->attempts, (long long)t->retries, (long long)t->splits_scene,
            (long long)t->splits_space);
    fprintf(log, ",\"planned\":%lld", (long long)t->planned);
    fprintf(log, ",\"wasted_forward\":%lld,\"wasted_backward\":%lld,\"halo\":%d,\"bytes_peak\":%zu",
            (long long)t->wasted_forward, (long long)t->wasted_backward, halo, t->bytes_peak);
    put_number(log, "loss_first3", t->loss_first);
    put_number(log, "loss_last3", t->loss_last);
    put_number(log, "seconds", t->seconds);
    put_number(log, "seconds_recover", t->seconds_recover);
    fputs("}}\n", log);
    return finish(log);
}

void pt_progress(FILE *to, int64_t batch, int64_t batches, const pt_batch_result *r, pt_status st)
{
    char bar[21];
    int full = batches > 0 ? (int)(20 * (batch + 1) / batches) : 20;
    for (int i = 0; i < 20; i++) bar[i] = i < full ? '=' : ' ';
    bar[20] = 0;
    int tty = isatty(fileno(to));
    fprintf(to, "%s[%s] %lld/%lld loss %.4f  %.0f points/s  retries %lld", tty ? "\r" : "", bar,
            (long long)batch + 1, (long long)batches, r->loss,
            r->seconds > 0 ? (double)r->trained / r->seconds : 0.0, (long long)r->recover.retries);
    if (r->recover.splits_scene + r->recover.splits_space)
        fprintf(to, "  splits %lld scene %lld space", (long long)r->recover.splits_scene,
                (long long)r->recover.splits_space);
    if (r->dropped) fprintf(to, "  DROPPED %lld points", (long long)r->dropped);
    if (st != PT_OK) fprintf(to, "  FAILED");
    fputs(tty ? "\033[K" : "\n", to);
    if (tty && batch + 1 == batches) fputc('\n', to);
    fflush(to);
}

static double share(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

void pt_print_summary(FILE *to, const pt_totals *t, int exit_code)
{
    fprintf(to, "\n%lld batches, %lld optimiser steps, %.1f s; loss %.4f -> %.4f\n",
            (long long)t->batches, (long long)t->steps, t->seconds, t->loss_first, t->loss_last);
    fprintf(to, "points:   %lld trained once, %lld dropped of %lld\n", (long long)t->trained,
            (long long)t->dropped, (long long)t->points);
    fprintf(to, "memory:   peak %.1f MiB on the device", (double)t->bytes_peak / 1048576.0);
    if (t->voxels_used)
        fprintf(to, "; %.0f bytes a voxel, %.2f times what the net must keep",
                (double)t->bytes_used / (double)t->voxels_used,
                (double)t->bytes_used / (double)t->bytes_kept);
    fputc('\n', to);
    fprintf(to, "recovery: %lld retries, %lld splits by scene, %lld in space; %lld ahead\n",
            (long long)t->retries, (long long)t->splits_scene, (long long)t->splits_space,
            (long long)t->planned);
    fprintf(to,
            "          cost %.2f s (%.1f %% of the time), %lld forward and %lld backward passes "
            "rolled back after their end (%.1f %% of forward passes)\n",
            t->seconds_recover, share(t->seconds_recover, t->seconds), (long long)t->wasted_forward,
            (long long)t->wasted_backward, share((double)t->wasted_forward, (double)t->forward));
    if (t->overflows)
        fprintf(to, "fp16:     %lld batches overflowed and took no step\n",
                (long long)t->overflows);
    if (t->biased)
        fprintf(
            to,
            "norm:     statistics of pieces in %lld batches: means up to %.3g standard deviations "
            "off, deviations up to %.3g of themselves\n",
            (long long)t->biased, t->bias_mean, t->bias_scale);
    if (t->failed_batches) fprintf(to, "failed:   %lld batches\n", (long long)t->failed_batches);
    if (exit_code) fprintf(to, "exit code %d\n", exit_code);
}
