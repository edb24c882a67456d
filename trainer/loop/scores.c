/* scores.c - from a confusion matrix to scores, printed and logged. */
#include "loop/evaluate.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void pt_scores_finish(pt_scores *s)
{
    int64_t right = 0, labelled = 0;
    double iou = 0, recall = 0;
    int there = 0, wanted = 0;
    for (int c = 0; c < s->classes; c++) {
        int64_t hit = s->confusion[c * s->classes + c], label = 0, said = 0;
        for (int k = 0; k < s->classes; k++) {
            label += s->confusion[c * s->classes + k];
            said += s->confusion[k * s->classes + c];
        }
        right += hit;
        labelled += label;
        s->iou[c] = label + said ? (double)hit / (double)(label + said - hit) : NAN;
        s->recall[c] = label ? (double)hit / (double)label : NAN;
        if (label + said) iou += s->iou[c], there++;
        if (label) recall += s->recall[c], wanted++;
    }
    s->miou = there ? iou / there : 0;
    s->accuracy = labelled ? (double)right / (double)labelled : 0;
    s->mean_accuracy = wanted ? recall / wanted : 0;
    if (labelled) s->loss /= (double)labelled;
}

void pt_print_scores(FILE *to, const pt_scores *s)
{
    fprintf(to,
            "mIoU %.4f  accuracy %.4f  mean class accuracy %.4f  loss %.4f  (%lld scenes, %lld "
            "points%s)\n",
            s->miou, s->accuracy, s->mean_accuracy, s->loss, (long long)s->scenes,
            (long long)s->points, s->dropped ? "" : ", none dropped");
    fprintf(to, "class       points     IoU  accuracy\n");
    for (int c = 0; c < s->classes; c++) {
        int64_t label = 0;
        for (int k = 0; k < s->classes; k++) label += s->confusion[c * s->classes + k];
        if (isnan(s->iou[c]))
            fprintf(to, "%5d %12lld       -         -\n", c, (long long)label);
        else if (isnan(s->recall[c]))
            fprintf(to, "%5d %12lld  %6.4f         -\n", c, (long long)label, s->iou[c]);
        else
            fprintf(to, "%5d %12lld  %6.4f    %6.4f\n", c, (long long)label, s->iou[c],
                    s->recall[c]);
    }
    if (s->retries)
        fprintf(to, "recovery: %lld retries, %lld splits, %lld points dropped\n",
                (long long)s->retries, (long long)s->splits, (long long)s->dropped);
}

pt_status pt_log_scores(FILE *log, int64_t step, const pt_scores *s)
{
    fprintf(log,
            "{\"validation\":{\"step\":%lld,\"miou\":%.17g,\"accuracy\":%.17g,\"mean_accuracy\":"
            "%.17g,\"loss\":%.17g,\"scenes\":%lld,\"points\":%lld,\"dropped\":%lld,\"attempts\":"
            "%lld,\"retries\":%lld,\"splits\":%lld,\"seconds\":%.6f,\"iou\":[",
            (long long)step, s->miou, s->accuracy, s->mean_accuracy, s->loss, (long long)s->scenes,
            (long long)s->points, (long long)s->dropped, (long long)s->attempts,
            (long long)s->retries, (long long)s->splits, s->seconds);
    for (int c = 0; c < s->classes; c++)
        if (isnan(s->iou[c]))
            fprintf(log, "%snull", c ? "," : "");
        else
            fprintf(log, "%s%.17g", c ? "," : "", s->iou[c]);
    fputs("]}}\n", log);
    if (fflush(log) == 0 && !ferror(log)) return PT_OK;
    return pt_fail(PT_ERR_HOST, "the log cannot be written: %s", strerror(errno));
}
