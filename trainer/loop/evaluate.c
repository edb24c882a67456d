/* evaluate.c - see evaluate.h. */
#include "loop/evaluate.h"
#include "loop/batch.h"
#include "probe.h"
#include "recovery/stage.h"
#include <stdlib.h>
#include <string.h>

/* The pass gives a class to every point, halo too; the attempt's own points keep theirs. One that
 * is not committed is tried again, and says the same. */
pt_status pt_predictions_keep(pt_batch *b, const pt_fragment *f, const pt_attempt *got)
{
    pt_status st = PT_OK;
    uint8_t *own = malloc((size_t)f->shape.points);
    if (!own) return pt_fail(PT_ERR_HOST, "no host memory for the classes of a scene");
    if (f->device.own)
        TRY(pt_copy_down(&b->t->device, own, f->device.own, (size_t)f->shape.points));
    else
        memcpy(own, f->host.own, (size_t)f->shape.points);
    for (int64_t p = 0, k = 0; p < f->shape.points; p++)
        if (own[p] && k < got->n) {
            b->predicted[got->position[k]][got->point[k]] = b->pass.predicted[p];
            k++;
        }
done:
    free(own);
    return st;
}

pt_status pt_evaluate_scene(pt_trainer *t, const pt_scene *scene, int32_t *predicted,
                            pt_scores *scores)
{
    pt_status st = PT_OK;
    pt_ledger ledger = {0};
    pt_fragment *whole = NULL;
    pt_batch_result *out = calloc(1, sizeof *out);
    uint32_t key = 0;
    int32_t *predictions[] = {predicted};
    double start = pt_now();
    pt_batch b = {.t = t,
                  .out = out,
                  .evaluate = 1,
                  .divisor = 1,
                  .scores = scores,
                  .predicted = predicted ? predictions : NULL,
                  .augment = {t->o.seed, (uint64_t)t->step, 0}};
    pt_recover_ops ops = pt_batch_ops;
    ops.user = &b;
    if (t->o.plan_ahead) b.plan = &t->plan_forward;
    if (!out) return pt_fail(PT_ERR_HOST, "no host memory for a scene");
    pt_phase_hold(PT_PHASE_VALIDATE);
    for (int64_t p = 0; predicted && p < scene->n; p++) predicted[p] = PT_IGNORE;
    pt_probe_bound(
        (b.plan ? pt_recover_bound_planned : pt_recover_bound)(&scene->n, 1, t->o.split));
    TRY(pt_ledger_open(&ledger, &scene->n, 1));
    TRY(pt_fragment_join(scene, &key, 1, t->o.net.classes, NULL, &whole));
    b.used = pt_mem_used(&t->device);
    pt_recover_options ro = {.split = {t->o.split, t->halo, PT_HALF_WORTH},
                             .on_floor = t->o.on_floor,
                             .gather_small = PT_SMALL_GATHER_ROWS,
                             .plan = b.plan,
                             .baseline = pt_mem_least(&t->device)};
    pt_fragment *given = whole;
    whole = NULL;
    TRY(pt_recover_batch(&ops, &ro, given, &ledger, &out->recover));
    TRY(pt_device_sync(&t->device)); /* and whether what was given back was taken */
    for (int i = 0; i < t->o.net.classes * t->o.net.classes; i++)
        scores->confusion[i] += out->confusion[i];
    if (out->recover.planned) pt_plan_kept(&t->plan_forward);
    scores->classes = t->o.net.classes;
    scores->scenes++;
    scores->points += scene->n;
    scores->dropped += pt_ledger_dropped(&ledger);
    scores->attempts += out->recover.attempts;
    scores->retries += out->recover.retries;
    scores->splits += out->recover.splits_scene + out->recover.splits_space;
    scores->regrouped |= out->regrouped;
    scores->loss += out->loss;
    scores->seconds += pt_now() - start;
done:
    pt_phase_hold(PT_PHASE_NONE);
    pt_fragment_free(whole);
    pt_ledger_close(&ledger);
    free(out);
    return st;
}

pt_status pt_evaluate(pt_trainer *t, pt_dataset *data, pt_scores *scores)
{
    pt_status st = PT_OK;
    memset(scores, 0, sizeof *scores);
    pt_probe_part_begin("validate");
    for (int i = 0; st == PT_OK && i < pt_dataset_count(data); i++) {
        pt_scene scene = {0};
        st = pt_dataset_load(data, i, &scene);
        if (st == PT_OK) st = pt_evaluate_scene(t, &scene, NULL, scores);
        pt_scene_free(&scene);
    }
    if (st != PT_OK) memset(scores, 0, sizeof *scores);
    pt_scores_finish(scores);
    if (pt_probe_watched()) { /* a cache is no leak */
        pt_status freed = pt_mem_release(&t->device);
        if (st == PT_OK) st = freed;
        memcpy(t->left.confusion, scores->confusion, sizeof t->left.confusion);
    }
    pt_probe_part_end(
        "validate",
        &(pt_probe_step){scores->points, scores->points - scores->dropped, scores->dropped,
                         scores->attempts, 0, scores->retries, scores->splits, st != PT_OK,
                         st != PT_OK ? pt_exit_code(pt_error_last(), NULL) : 0, scores->regrouped});
    return st;
}
