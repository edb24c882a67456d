/* evaluate.h - a net on scenes that it does not learn from: each scene whole, through the same
 * recovery as a batch; one that does not fit is split, and its result is the same. */
#ifndef PT_EVALUATE_H
#define PT_EVALUATE_H
#include "data.h"
#include "loop/trainer.h"
#include <stdio.h>

typedef struct pt_scores {
    int classes;
    int64_t confusion[PT_MAX_CLASSES * PT_MAX_CLASSES]; /* [label][predicted], points */
    int64_t scenes, points, dropped, attempts, retries, splits;
    int regrouped;                                      /* one went by smaller chunks */
    double loss, seconds;                               /* loss: mean over points with a label */
    double miou, accuracy, mean_accuracy;               /* of those */
    double iou[PT_MAX_CLASSES], recall[PT_MAX_CLASSES]; /* NaN: the class is not there */
} pt_scores;

/* One scene. predicted (may be NULL) [scene->n]: the class of each point, PT_IGNORE where it was
 * dropped. Adds to scores. Parameters, statistics and the step are as before. */
pt_status pt_evaluate_scene(pt_trainer *t, const pt_scene *scene, int32_t *predicted,
                            pt_scores *scores);
/* Every scene of a data set, and the scores of all; none of any when one failed. */
pt_status pt_evaluate(pt_trainer *t, pt_dataset *data, pt_scores *scores);
/* From the confusion: IoU = TP / (TP + FP + FN), recall = TP / (TP + FN); means over the classes
 * that have a label or a prediction (IoU), a label (accuracy). */
void pt_scores_finish(pt_scores *s);

void pt_print_scores(FILE *to, const pt_scores *s);
pt_status pt_log_scores(FILE *log, int64_t step, const pt_scores *s);

#endif
