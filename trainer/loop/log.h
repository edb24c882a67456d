/* log.h - one JSON object a batch, a last line with the summary, and the progress bar. */
#ifndef PT_LOG_H
#define PT_LOG_H
#include "loop/trainer.h"
#include <stdio.h>

/* Totals of a run. */
typedef struct pt_totals {
    int64_t batches, failed_batches, steps, points, trained, dropped;
    int64_t overflows, overflowed; /* batches without a step for that; their points */
    int64_t attempts, retries, splits_scene, splits_space, planned, wasted_forward, wasted_backward,
        forward;
    int64_t biased; /* batches whose norms had other statistics than the whole batch */
    double bias_mean, bias_scale; /* the largest, of pt_norm_bias */
    size_t bytes_peak;
    size_t bytes_used, bytes_kept; /* of the batch that used most: see pt_batch_result */
    int64_t voxels_used;
    double loss_first, loss_last; /* mean of the first / last (up to) 3 batches that were trained */
    double seconds, seconds_recover;
    double recent[3], first[3];
    int nfirst, nrecent;
} pt_totals;

void pt_totals_add(pt_totals *t, const pt_batch_result *r, pt_status st);

/* Appends the batch's line. The line reaches the file at once, so a killed run loses none. */
pt_status pt_log_batch(FILE *log, int64_t batch, int64_t step, const pt_batch_result *r,
                       const pt_ledger *ledger, pt_status st);
pt_status pt_log_summary(FILE *log, const pt_totals *t, int halo, int exit_code);

/* ,"attempt_list":[...] and ,"name":"text", inside a line. */
void pt_log_notes(FILE *log, const pt_batch_result *r);
void pt_log_text(FILE *log, const char *name, const char *text);

/* One line that is rewritten on a terminal, a line a batch otherwise. */
void pt_progress(FILE *to, int64_t batch, int64_t batches, const pt_batch_result *r, pt_status st);
void pt_print_summary(FILE *to, const pt_totals *t, int exit_code);

#endif
