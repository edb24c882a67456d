/* train.c - the training loop of the command line. */
#include "loop/train.h"
#include "data.h"
#include "loop/aside.h"
#include "loop/batch.h"
#include "loop/charts.h"
#include "loop/checkpoint.h"
#include "loop/evaluate.h"
#include "loop/log.h"
#include "loop/weights.h"
#include "probe.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEW_VOXELS 32 /* under these, batch norm is said to have little to learn from */

static volatile sig_atomic_t stop_asked;
static void on_signal(int s)
{
    (void)s;
    stop_asked = 1;
}

/* The first signal ends the run after its batch; the second kills as usual. */
static void catch_signals(void)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

typedef struct run {
    const pt_options *o;
    pt_dataset *data, *val; /* val NULL: none */
    pt_trainer *trainer;
    FILE *log;
    pt_charts *charts; /* NULL: none */
    pt_totals totals;
    pt_scene *scene; /* [batch] */
    uint32_t *key;   /* [batch] */
    pt_order order;
    pt_batch_result last;
    int bad_checkpoint, log_lost, warned, warned_few;
} run;

static void say_error(const pt_error *e)
{
    fprintf(stderr, "pointtrain: error: %s\n", e->message);
}

/* A resumed run goes on in its log. A file that is no log is left alone. */
static pt_status open_log(run *r, int resumed)
{
    const char *path = r->o->log;
    char head[8] = "";
    struct stat st;
    if (!path) return PT_OK;
    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        FILE *f = fopen(path, "re");
        size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
        if (f) fclose(f);
        if (n < 7 || (strncmp(head, "{\"batch", 7) && strncmp(head, "{\"summa", 7)))
            return pt_fail(PT_ERR_INPUT, "--log %s: is there and is no log; name another file",
                           path);
    }
    if (!(r->log = fopen(path, resumed ? "ae" : "we")))
        return pt_fail(PT_ERR_INPUT, "%s: cannot be written: %s", path, strerror(errno));
    return PT_OK;
}

static pt_status open_all(run *r)
{
    int resumed = 0;
    pt_status st = PT_OK;
    const pt_options *o = r->o;
    pt_data_options d = {.paths = o->data,
                         .npaths = o->ndata,
                         .class_map = o->classes,
                         .voxel = o->voxel,
                         .skip_bad = o->skip_bad,
                         .seed = o->seed};
    TRY(pt_dataset_open(&d, &r->data));
    if (o->nval) {
        d.paths = o->val;
        d.npaths = o->nval;
        d.seed = o->seed + 1; /* generated rooms are other ones */
        TRY(pt_dataset_open(&d, &r->val));
        if (pt_dataset_classes(r->val) != pt_dataset_classes(r->data)) {
            st = pt_fail(PT_ERR_INPUT, "--val has %d classes, --data %d",
                         pt_dataset_classes(r->val), pt_dataset_classes(r->data));
            goto done;
        }
    }
    pt_trainer_options t = {.net = {.classes = pt_dataset_classes(r->data),
                                    .width = {32, 64, 128},
                                    .convs = o->convs,
                                    .norm = (pt_norm)o->norm,
                                    .amp = (pt_amp)o->amp,
                                    .seed = o->seed},
                            .allocator = (pt_allocator_kind)o->allocator,
                            .split = (pt_split_mode)o->split,
                            .on_floor = (pt_on_floor)o->on_floor,
                            .device_fields = (pt_device_fields)o->device_fields,
                            .norm_on_split = (pt_norm_on_split)o->norm_on_split,
                            .seed = o->seed,
                            .lr = o->lr,
                            .optimizer = (pt_optimizer_kind)o->optimizer,
                            .momentum = o->momentum < 0 ? 0.9 : o->momentum,
                            .weight_decay = o->weight_decay,
                            .clip = o->clip,
                            .smoothing = o->label_smoothing,
                            .dropout = o->dropout,
                            .schedule = (pt_schedule)o->schedule,
                            .steps = o->steps / o->accum,
                            .accum = o->accum,
                            .warmup = o->warmup,
                            .augment = o->augment,
                            .elastic = o->elastic,
                            .colour_drop = o->colour_drop,
                            .gather_rows = o->gather_rows,
                            .plan_ahead = o->plan_ahead && o->norm != PT_NORM_BATCH};
    TRY(pt_class_weights(o->class_weights, r->data, &t));
    int most = PT_MAX_SCENES; /* of a batch */
    r->scene = calloc((size_t)most, sizeof *r->scene);
    r->key = calloc((size_t)most, sizeof *r->key);
    if (!r->scene || !r->key) {
        st = pt_fail(PT_ERR_HOST, "no host memory for batches of %d scenes", most);
        goto done;
    }
    TRY(pt_trainer_open(&t, &r->trainer));
    if (o->checkpoint) {
        int found;
        r->bad_checkpoint = 1; /* until it is not */
        TRY(pt_checkpoint_load(r->trainer, o->checkpoint, &found));
        TRY(pt_write_possible(o->checkpoint));
        r->bad_checkpoint = 0;
        resumed = found;
        if (found && !o->quiet)
            fprintf(stderr, "resumed from %s at batch %lld\n", o->checkpoint,
                    (long long)r->trainer->step);
    }
    if (o->tensorboard) TRY(pt_charts_open(o->tensorboard, r->trainer->step, &r->charts));
    TRY(open_log(r, resumed)); /* last: a run that cannot start leaves the old log alone */
done:
    return st;
}

static void close_all(run *r)
{
    pt_trainer_close(r->trainer);
    pt_dataset_free(r->data);
    pt_dataset_free(r->val);
    if (r->log) fclose(r->log);
    pt_charts_close(r->charts);
    free(r->scene);
    free(r->key);
    pt_order_close(&r->order);
}

static void describe(const run *r)
{
    const pt_trainer *t = r->trainer;
    fprintf(stderr, "device:  %s%s, %.1f MiB\n", t->device.name,
            t->device.simulated ? " (simulated)" : "", (double)t->device.total_bytes / 1048576.0);
    fprintf(stderr, "data:    %d scenes, %d classes", pt_dataset_count(r->data),
            pt_dataset_classes(r->data));
    if (pt_dataset_skipped(r->data))
        fprintf(stderr, ", %d bad files skipped", pt_dataset_skipped(r->data));
    fprintf(stderr, "\nnet:     %zu parameters (%s), halo %d voxels\n", t->net->nparams,
            PT_REAL_NAME, t->halo);
}

/* A full disk must not end weeks of training: the run goes on, and its exit code tells. */
static void give_up_log(run *r)
{
    fprintf(stderr, "pointtrain: error: %s: %s; the run goes on without its log\n", r->o->log,
            pt_error_last()->message);
    fclose(r->log);
    r->log = NULL;
    r->log_lost = 1;
}

static int labelled(const run *r, int n)
{
    for (int s = 0; s < n; s++)
        for (int64_t i = 0; i < r->scene[s].n; i++)
            if (r->scene[s].label[i] != PT_IGNORE) return 1;
    return 0;
}

/* What became of the other batches of its step. */
static void say_left_out(const run *r, int64_t batch)
{
    int64_t first = batch - batch % r->o->accum;
    if (r->last.voided)
        fprintf(stderr,
                "pointtrain: the batches %lld to %lld take no optimiser step: their gradient of "
                "%lld points is discarded\n",
                (long long)first, (long long)batch, (long long)r->last.voided);
    else
        fprintf(stderr,
                "pointtrain: batch %lld is left out of the optimiser step of the batches "
                "%lld to %lld%s\n",
                (long long)batch, (long long)first, (long long)(first + r->o->accum - 1),
                r->last.stepped ? ", which was taken" : "");
}

/* Loads and trains one batch; the result and ledger go to the log. */
static pt_status one_batch(run *r)
{
    pt_status st = PT_OK;
    pt_ledger ledger = {0};
    int64_t batch = r->trainer->step;
    int first = 0, said = pt_dataset_batch(r->data, batch, &first);
    int n = said ? said : r->o->batch, count = pt_dataset_count(r->data);
    double start = pt_now();
    memset(&r->last, 0, sizeof r->last);
    if (n > PT_MAX_SCENES)
        return pt_fail(PT_ERR_INPUT, "batch %lld has %d scenes; there may be %d", (long long)batch,
                       n, PT_MAX_SCENES);
    for (int i = 0; i < n; i++) {
        int s = first + i;
        if (!said) TRY(pt_scene_at(&r->order, r->o->seed, batch * n + i, count, &s));
        r->key[i] = (uint32_t)s;
        TRY(pt_dataset_load(r->data, s, &r->scene[i]));
        pt_thin(&r->scene[i], r->o->point_dropout, r->o->seed, (uint64_t)batch, r->key[i]);
    }
    double load = pt_now() - start;
    if (!r->warned && !labelled(r, n)) {
        fprintf(stderr,
                "pointtrain: batch %lld: no point has a label, so it teaches nothing; does "
                "--class-map name the classes of these files?\n",
                (long long)batch);
        r->warned = 1;
    }
    st = pt_trainer_batch(r->trainer, r->scene, r->key, n, &ledger, &r->last);
    r->last.seconds_load = load;
    if (st != PT_OK) {
        pt_ledger_fail(&ledger, PT_FATE_BATCH);
        r->last.dropped = pt_ledger_dropped(&ledger);
        r->last.trained = ledger.count[PT_FATE_TRAINED];
    } else if (r->last.overflow) {
        fprintf(stderr,
                "pointtrain: %s %lld: the gradient overflowed at a loss scale of %g; no "
                "optimiser step, the scale is %g now\n",
                r->o->accum > 1 ? "the batches up to" : "batch", (long long)batch,
                r->last.loss_scale, r->trainer->scaler.scale);
    } else if (!r->last.stepped && (batch + 1) % r->o->accum == 0) {
        fprintf(stderr, "pointtrain: %s %lld: every point was dropped, no optimiser step\n",
                r->o->accum > 1 ? "the batches up to" : "batch", (long long)batch);
    }
    if (st != PT_OK && r->o->accum > 1) say_left_out(r, batch);
    if (st == PT_OK && r->o->norm == PT_NORM_BATCH && !r->last.frozen && !r->warned_few &&
        r->last.coarsest && r->last.coarsest < FEW_VOXELS) {
        fprintf(
            stderr,
            "pointtrain: batch %lld: batch norm over %lld voxels of the coarsest level, which is "
            "little to learn from; larger batches or --norm layer would help\n",
            (long long)batch, (long long)r->last.coarsest);
        r->warned_few = 1;
    }
    pt_totals_add(&r->totals, &r->last, st);
    if (r->log) {
        pt_error cause = *pt_error_last();
        if (pt_log_batch(r->log, batch, r->trainer->optimizer.t, &r->last, &ledger, st) != PT_OK)
            give_up_log(r);
        pt_error_restore(&cause);
    }
    pt_charts_batch(r->charts, batch, &r->last);
    if (!r->o->quiet) pt_progress(stderr, batch, r->o->steps, &r->last, st);
done:
    for (int i = 0; i < n; i++) pt_scene_free(&r->scene[i]);
    pt_ledger_close(&ledger);
    return st;
}

/* Whether the run goes on after a failed batch. */
static int goes_on(const run *r)
{
    const pt_error *e = pt_error_last();
    if (e->status == PT_ERR_NAN) return r->o->on_nan == PT_SKIP;
    if (e->status != PT_ERR_DEVICE || r->last.recover.floor_error) return 0;
    return r->o->on_error == PT_SKIP && pt_classify(e) != PT_CLASS_FATAL && !r->last.recover.dead;
}

static pt_status validate(run *r)
{
    pt_status st = PT_OK;
    pt_scores *scores = calloc(1, sizeof *scores);
    if (!scores) return pt_fail(PT_ERR_HOST, "no host memory for the scores");
    TRY(pt_evaluate(r->trainer, r->val, scores));
    if (!r->o->quiet) pt_print_scores(stderr, scores);
    pt_charts_scores(r->charts, r->trainer->step, scores);
    if (r->log && pt_log_scores(r->log, r->trainer->step, scores) != PT_OK) give_up_log(r);
done:
    free(scores);
    return st;
}

static pt_status save(const run *r)
{
    char aside[700]; /* the runs of a sweep all begin with the file as it is */
    if (!pt_probe_folder()) return pt_checkpoint_save(r->trainer, r->o->checkpoint);
    snprintf(aside, sizeof aside, "%s/checkpoint", pt_probe_folder());
    return pt_checkpoint_save(r->trainer, aside);
}

/* What comes after every so many batches, and validation at the end. */
static pt_status between(run *r)
{
    const pt_options *o = r->o;
    pt_status st = PT_OK;
    int64_t step = r->trainer->step;
    int last = step == o->steps;
    if (r->val && (last || (o->val_every && step % o->val_every == 0))) TRY(validate(r));
    if (!last && o->checkpoint_every && step % o->checkpoint_every == 0) {
        st = save(r);
        r->bad_checkpoint = st != PT_OK;
    }
done:
    return st;
}

static pt_status loop(run *r)
{
    pt_status st = PT_OK;
    while (st == PT_OK && r->trainer->step < r->o->steps && !stop_asked) {
        st = one_batch(r);
        if (st == PT_OK) {
            st = between(r);
            if (st == PT_OK) continue;
            say_error(pt_error_last());
            break;
        }
        say_error(pt_error_last());
        if (!goes_on(r)) break;
        fprintf(stderr, "pointtrain: the batch is skipped, the run goes on as asked\n");
        st = PT_OK;
    }
    return st;
}

static int finish(run *r, pt_status st)
{
    int code = st == PT_OK ? 0 : r->bad_checkpoint ? 14 : pt_exit_code(pt_error_last(), &r->last);
    /* what overflowed was not given up for want of memory: the scale was still being found */
    int64_t lost = r->totals.dropped - r->totals.overflowed;
    double share = r->totals.points ? (double)lost / (double)r->totals.points : 0;
    if (stop_asked)
        fprintf(stderr, "\npointtrain: stopped by a signal after batch %lld\n",
                (long long)r->trainer->step - 1);
    if (st == PT_OK && share > r->o->max_dropped) {
        fprintf(stderr,
                "pointtrain: error: %.2f %% of the points were dropped, more than --max-dropped "
                "%.2f %%\n",
                100 * share, 100 * r->o->max_dropped);
        code = 13;
    }
    /* after a failure the state is that of the last whole batch: worth keeping, unless the device
     * is gone */
    if (r->o->checkpoint && (st == PT_OK || pt_classify(pt_error_last()) != PT_CLASS_FATAL) &&
        save(r) != PT_OK) {
        say_error(pt_error_last());
        code = code ? code : 14;
    }
    int halo = r->trainer->halo;
    pt_status closed = pt_trainer_close(r->trainer); /* the summary tells what comes of that too */
    r->trainer = NULL;
    if (closed != PT_OK && !code) {
        say_error(pt_error_last());
        code = pt_exit_code(pt_error_last(), NULL);
    }
    if (r->log && pt_log_summary(r->log, &r->totals, halo, code) != PT_OK) give_up_log(r);
    if (r->log_lost && !code) code = 2;
    if (!r->o->quiet) pt_print_summary(stderr, &r->totals, code);
    return code;
}

int pt_train(const pt_options *o)
{
    run r = {.o = o};
    int code;
    pt_status st = open_all(&r);
    if (st != PT_OK) {
        say_error(pt_error_last());
        code = pt_exit_code(pt_error_last(), NULL);
        if (r.bad_checkpoint && code == 2) code = 14;
    } else {
        catch_signals();
        if (!o->quiet) describe(&r);
        st = loop(&r);
        code = finish(&r, st);
    }
    close_all(&r);
    return code;
}
