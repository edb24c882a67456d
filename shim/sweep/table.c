/* table.c - see table.h. */
#include "table.h"
#include "json.h"
#include "junit.h"
#include <math.h>
#include <string.h>

static int same_site(const op_point *a, const op_point *b)
{
    return a->id == b->id && !strcmp(a->site, b->site);
}

void op_tally_up(const op_sweep_file *s, op_tally *t)
{
    for (int i = 0; i < s->npoints; i++) t->points += s->point[i].kinds != 0;
    for (int i = 0; i < s->npoints; i++) {
        int k = 0;
        while (k < i && !same_site(&s->point[k], &s->point[i])) k++;
        t->sites += k == i;
    }
    for (int i = 0; i < s->nresults; i++) {
        const op_result *r = &s->result[i];
        t->runs++;
        t->pairs += r->second >= 0;
        t->pruned += r->inherited >= 0 && !op_is_check(s, r);
        t->checked += r->inherited >= 0 && op_is_check(s, r);
        t->verdict[r->fault][r->mode][r->verdict]++;
        t->findings += op_verdict_finding[r->verdict];
    }
}

/* Runs of all kinds and modes with that verdict. */
static int runs_with(const op_tally *t, op_verdict v)
{
    int n = 0;
    for (int k = 0; k < OP_FAULTS; k++)
        for (int m = 0; m < OP_MODES; m++) n += t->verdict[k][m][v];
    return n;
}

static const op_point *point_of(const op_sweep_file *s, const op_result *r)
{
    static const op_point budget = {.site = "any", .phase = "step"};
    return r->point < 0 ? &budget : &s->point[r->point];
}

static void repeat(FILE *f, const op_result *r, const op_tally *t)
{
    if (r->point < 0)
        fprintf(f, "%s --budget %llu -- %s", t->again, (unsigned long long)r->budget, t->command);
    else {
        fprintf(f, "%s --point %d", t->again, r->point + 1);
        if (r->second >= 0) fprintf(f, " --then %d", r->second + 1);
        fprintf(f, " --%s -- %s", op_mode_text[r->mode], t->command);
    }
}

static const char *repeat_text(const op_result *r, const op_tally *t)
{
    static char command[2048];
    FILE *m = fmemopen(command, sizeof command, "w");
    command[0] = 0;
    if (m) {
        repeat(m, r, t);
        fclose(m);
        command[sizeof command - 1] = 0;
    }
    return command;
}

void op_print_tally(FILE *f, const op_sweep_file *s, const op_tally *t)
{
    for (int i = 0; i < s->nresults; i++) {
        const op_result *r = &s->result[i];
        if (!op_verdict_finding[r->verdict]) continue;
        const op_point *p = point_of(s, r);
        if (r->point < 0)
            fprintf(f, "FINDING %s: a budget of %llu bytes", op_verdict_text[r->verdict],
                    (unsigned long long)r->budget);
        else
            fprintf(f, "FINDING %s: point %d, %s %s (%s, %llu bytes, call %d there), %s %s",
                    op_verdict_text[r->verdict], r->point + 1, op_table[p->id].name, p->site,
                    *p->phase ? p->phase : "no phase", (unsigned long long)p->size, p->nth_at_site,
                    op_fault_text[r->fault], op_mode_text[r->mode]);
        if (r->second >= 0) fprintf(f, ", then at %s", r->second_site);
        fprintf(f, "\n  %s\n", *r->why ? r->why : op_verdict_text[r->verdict]);
        if (*p->frames) fprintf(f, "  stack: %s\n", p->frames);
        if (*r->second_frames) fprintf(f, "  stack of the second: %s\n", r->second_frames);
        fputs("  repeat: ", f);
        repeat(f, r, t);
        fputc('\n', f);
    }
    for (int v = 0; v < OP_VERDICT_COUNT; v++)
        if (op_verdict_finding[v] && runs_with(t, (op_verdict)v))
            fprintf(f, "%s: %s\n", op_verdict_text[v], op_verdict_means[v]);
    for (int k = 0; k < OP_FAULTS; k++) {
        int n = 0;
        for (int i = 0; i < s->npoints; i++) n += s->point[i].kinds >> k & 1;
        if (s->modes[k] && !n)
            fprintf(f, "oomproof: no call of it can have the fault %s: none was tried\n",
                    op_fault_text[k]);
    }
    int unknown = 0;
    for (int i = 0; i < s->nresults; i++)
        unknown += s->result[i].verdict == OP_V_DECLARED && *s->result[i].why;
    if (unknown)
        fprintf(
            f,
            "oomproof: %d runs lost points, and their gradient was not compared: the program does "
            "not say how, or could not (oomproof_reference)\n",
            unknown);
    const int *once = t->verdict[OP_FAULT_OOM][OP_ONCE];
    if (s->marked && s->compared == 0)
        fputs("oomproof: no buffer was compared: the program gave none (oomproof_buffer)\n", f);
    int came = 0;
    for (int v = 0; v < OP_VERDICT_COUNT; v++) came += once[v];
    if (!s->marked && came && once[OP_V_REFUSED] == came)
        fprintf(f,
                "oomproof: none of the %d out-of-memories that came once was recovered from: the "
                "program ends at each (--must-recover makes that a finding)\n",
                once[OP_V_REFUSED]);
    for (int k = 0; k < OP_FAULTS; k++)
        for (int m = 0; m < OP_MODES; m++)
            for (int v = 0; v < OP_VERDICT_COUNT; v++)
                if (t->verdict[k][m][v])
                    fprintf(f, "%6d %s%s%s: %s\n", t->verdict[k][m][v],
                            k == OP_FAULT_OOM ? "" : op_fault_text[k], k == OP_FAULT_OOM ? "" : " ",
                            op_mode_text[m], op_verdict_text[v]);
    fprintf(
        f,
        "oomproof: %d fault points at %d sites, %d runs (%d pairs), %d pruned, %d of the pruned "
        "run on as a check, %d findings, %.1f s%s\n",
        t->points, t->sites, t->runs, t->pairs, t->pruned, t->checked, t->findings, t->seconds,
        t->proved ? "; the run after the last point fired nothing" : "; NOT PROVED COMPLETE");
}

/* Equal stacks are one: of each point the number of its own, from 0. */
static int stack_of[OP_POINTS];

static void json_stacks(FILE *f, const op_sweep_file *s)
{
    static int first[OP_POINTS]; /* the first point of each */
    int n = 0;
    fputs("],\n\"stacks\":[", f);
    for (int i = 0; i < s->npoints; i++) {
        int k = 0;
        while (k < n && strcmp(s->point[first[k]].stack, s->point[i].stack) != 0) k++;
        stack_of[i] = k;
        if (k < n) continue;
        first[n++] = i;
        fputs(k ? ",\n" : "\n", f);
        op_json_text(f, s->point[i].stack);
    }
}

static void json_result(FILE *f, const op_sweep_file *s, int i, const op_tally *t, int full)
{
    const op_result *r = &s->result[i];
    const op_point *p = point_of(s, r);
    fprintf(f, "{\"run\":%d,\"point\":%d,\"call\":\"%s\",\"site\":", i, r->point + 1,
            op_table[p->id].name);
    op_json_text(f, p->site);
    fputs(",\"phase\":", f);
    op_json_text(f, p->phase);
    fprintf(
        f, ",\"bytes\":%llu,\"nth_at_site\":%d,\"mode\":\"%s\",\"fault\":\"%s\",\"verdict\":\"%s\"",
        (unsigned long long)p->size, p->nth_at_site, op_mode_text[r->mode], op_fault_text[r->fault],
        op_verdict_text[r->verdict]);
    fprintf(f, ",\"inherited_from\":%d,\"retries\":%lld,\"splits\":%lld,\"dropped\":%lld",
            r->inherited, (long long)r->retries, (long long)r->splits, (long long)r->dropped);
    if (r->measure != 0) { /* JSON has neither infinities nor NaN */
        if (isfinite(r->measure))
            fprintf(f, ",\"measure\":%.3g,\"worst\":", r->measure);
        else
            fputs(",\"measure\":null,\"worst\":", f);
        op_json_text(f, r->worst);
    }
    if (r->point < 0)
        fprintf(f, ",\"budget\":%llu", (unsigned long long)r->budget);
    else
        fprintf(f, ",\"stack\":%d", stack_of[r->point]);
    if (r->second >= 0) {
        fputs(",\"second_site\":", f);
        op_json_text(f, r->second_site);
    }
    if (full || *r->why) {
        fputs(",\"why\":", f);
        op_json_text(f, r->why);
    }
    if (full) {
        fputs(",\"repeat\":", f);
        op_json_text(f, repeat_text(r, t));
    }
    fputc('}', f);
}

int op_write_json(FILE *f, const op_sweep_file *s, const op_tally *t)
{
    int modes = 0;
    for (int k = 0; k < OP_FAULTS; k++) modes |= s->modes[k];
    fprintf(f, "{\"fault_points\":%d,\"sites\":%d,\"modes\":[", t->points, t->sites);
    for (int m = 0, n = 0; m < OP_MODES; m++)
        if (modes >> m & 1) fprintf(f, "%s\"%s\"", n++ ? "," : "", op_mode_text[m]);
    fputs("],\"kinds\":[", f);
    for (int k = 0, n = 0; k < OP_FAULTS; k++)
        if (s->modes[k]) fprintf(f, "%s\"%s\"", n++ ? "," : "", op_fault_text[k]);
    json_stacks(f, s);
    fputs("],\"verdicts\":{", f);
    for (int v = 1, n = 0; v < OP_VERDICT_COUNT; v++) {
        int count = runs_with(t, (op_verdict)v);
        if (count) fprintf(f, "%s\"%s\":%d", n++ ? "," : "", op_verdict_text[v], count);
    }
    fputs("},\"findings\":[", f);
    for (int i = 0, n = 0; i < s->nresults; i++)
        if (op_verdict_finding[s->result[i].verdict]) {
            fputs(n++ ? ",\n" : "\n", f);
            json_result(f, s, i, t, 1);
        }
    fputs("],\n\"results\":[", f);
    for (int i = 0; i < s->nresults; i++) {
        fputs(i ? ",\n" : "\n", f);
        json_result(f, s, i, t, 0);
    }
    fputs("],\n\"command\":", f); /* which shards belong together */
    op_json_text(f, t->command);
    fputs(",\"options\":", f);
    op_json_text(f, t->again);
    fprintf(f, ",\"marked\":%s,\"part\":", s->marked ? "true" : "false");
    op_json_text(f, s->part);
    fprintf(f,
            ",\n\"shard\":[%d,%d],\"asked\":%d,\"runs\":%d,\"pairs\":%d,\"pruned\":%d,\"checked\":%"
            "d,\"fork\":%s,"
            "\"seconds\":%.3f,\"finished\":%s,\"proof\":%s}\n",
            s->shard + 1, s->shards, t->asked, t->runs, t->pairs, t->pruned, t->checked,
            t->fork ? "true" : "false", t->seconds, t->finished ? "true" : "false",
            t->proved ? "true" : "false");
    return ferror(f) || fflush(f) != 0;
}

int op_write_junit(FILE *f, const op_sweep_file *s, const op_tally *t)
{
    op_junit_open(f, &(op_junit_suite){.name = "oomproof sweep",
                                       .tests = t->runs + !t->finished,
                                       .errors = !t->finished,
                                       .failures = t->findings,
                                       .seconds = t->seconds});
    for (int i = 0; i < s->nresults; i++) {
        const op_result *r = &s->result[i];
        const op_point *p = point_of(s, r);
        fprintf(f, "<testcase classname=\"%s\" name=\"", op_table[p->id].name);
        if (r->point < 0)
            fprintf(f, "budget %llu ", (unsigned long long)r->budget);
        else
            fprintf(f, "point %d ", r->point + 1);
        op_xml(f, p->site);
        fprintf(f, " %s %s\">", op_fault_text[r->fault], op_mode_text[r->mode]);
        if (op_verdict_finding[r->verdict]) {
            fprintf(f, "<failure message=\"%s\">", op_verdict_text[r->verdict]);
            op_xml(f, r->why);
            if (*p->frames) fputs("\nstack: ", f);
            op_xml(f, p->frames);
            if (*r->second_frames) fputs("\nstack of the second: ", f);
            op_xml(f, r->second_frames);
            fputs("\nrepeat: ", f);
            op_xml(f, repeat_text(r, t));
            fputs("</failure>", f);
        }
        fputs("</testcase>\n", f);
    }
    if (!t->finished)
        fputs("<testcase classname=\"sweep\" name=\"the whole sweep\"><error message=\"not "
              "finished\">it is still running, or it was stopped or killed</error></testcase>\n",
              f);
    return op_junit_close(f);
}
