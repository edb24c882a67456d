/* apply.c - the commands of a trained net: eval measures it, predict labels scenes by it. */
#include "loop/apply.h"
#include "loop/checkpoint.h"
#include "loop/evaluate.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct job {
    const pt_options *o;
    pt_dataset *data;
    pt_trainer *trainer;
    FILE *log;
    int bad_checkpoint;
} job;

static pt_status open_all(job *j)
{
    const pt_options *o = j->o;
    pt_status st = PT_OK;
    pt_checkpoint_about about;
    int found;
    j->bad_checkpoint = 1;
    TRY(pt_checkpoint_look(o->checkpoint, &about));
    j->bad_checkpoint = 0;
    pt_data_options d = {.paths = o->data,
                         .npaths = o->ndata,
                         .class_map = o->classes,
                         .voxel = o->voxel,
                         .skip_bad = o->skip_bad,
                         .unlabelled = o->command == PT_PREDICT,
                         .seed = o->seed};
    TRY(pt_dataset_open(&d, &j->data));
    if (o->command == PT_EVAL && pt_dataset_classes(j->data) != about.classes) {
        st = pt_fail(PT_ERR_INPUT, "%s: of a net with %d classes; the data has %d", o->checkpoint,
                     about.classes, pt_dataset_classes(j->data));
        goto done;
    }
    pt_trainer_options t = {.net = {.classes = about.classes,
                                    .width = {32, 64, 128},
                                    .convs = about.convs,
                                    .norm = (pt_norm)about.norm,
                                    .amp = (pt_amp)about.amp,
                                    .seed = about.seed},
                            .allocator = (pt_allocator_kind)o->allocator,
                            .split = (pt_split_mode)o->split,
                            .on_floor = (pt_on_floor)o->on_floor,
                            .seed = about.seed,
                            .optimizer = (pt_optimizer_kind)about.optimizer,
                            .steps = 1,
                            .device_fields = (pt_device_fields)o->device_fields,
                            .accum = about.accum,
                            .gather_rows = o->gather_rows};
    TRY(pt_trainer_open(&t, &j->trainer));
    j->bad_checkpoint = 1;
    TRY(pt_checkpoint_load(j->trainer, o->checkpoint, &found));
    j->bad_checkpoint = 0;
    if (o->log && !(j->log = fopen(o->log, "we")))
        st = pt_fail(PT_ERR_INPUT, "%s: cannot be written: %s", o->log, strerror(errno));
done:
    return st;
}

/* A scene's name without folders and without anything that a file name should not have. */
static void file_name(const char *name, char *out, size_t room)
{
    size_t n = 0;
    for (; *name && n + 5 < room; name++) out[n++] = strchr("/\\:", *name) ? '_' : *name;
    if (!n || (n == 1 && out[0] == '.') || (n == 2 && !strncmp(out, "..", 2))) out[n++] = '_';
    snprintf(out + n, room - n, ".ply");
}

static void put_header(FILE *f, const pt_scene *s)
{
    fprintf(
        f,
        "ply\nformat binary_little_endian 1.0\ncomment classes predicted by pointtrain\nelement "
        "vertex %lld\nproperty double x\nproperty double y\nproperty double z\nproperty uchar "
        "red\nproperty uchar green\nproperty uchar blue\nproperty int label\nproperty int "
        "predicted\nend_header\n",
        (long long)s->n);
}

static unsigned char byte_of(float x)
{
    return (unsigned char)(x <= 0 ? 0 : x >= 1 ? 255 : x * 255 + 0.5f);
}

/* In the file's own coordinates; written aside and renamed. */
static pt_status write_ply(const char *folder, const pt_scene *s, const int32_t *predicted)
{
    char name[300], path[4400], aside[4440];
    file_name(s->name, name, sizeof name);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return pt_fail(PT_ERR_INPUT, "--out %s: too long", folder);
    snprintf(aside, sizeof aside, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(aside, "wbe");
    if (!f) return pt_fail(PT_ERR_INPUT, "%s: cannot be written: %s", aside, strerror(errno));
    put_header(f, s);
    for (int64_t p = 0; p < s->n; p++) {
        double at[3];
        for (int c = 0; c < 3; c++) at[c] = s->origin[c] + (double)s->coord[3 * p + c];
        unsigned char rgb[3];
        for (int c = 0; c < 3; c++) rgb[c] = byte_of(s->feature[PT_FEATURES * p + c]);
        int32_t both[2] = {s->label[p], predicted[p]};
        fwrite(at, sizeof at, 1, f);
        fwrite(rgb, sizeof rgb, 1, f);
        fwrite(both, sizeof both, 1, f);
    }
    int bad = fflush(f) != 0 || ferror(f);
    int why = errno;
    bad |= fclose(f) != 0;
    if (!bad && rename(aside, path) == 0) return PT_OK;
    if (!bad) why = errno;
    unlink(aside);
    return pt_fail(PT_ERR_INPUT, "%s: cannot be written: %s", path, strerror(why));
}

static pt_status predict_one(job *j, int i, pt_scores *scores)
{
    pt_status st = PT_OK;
    pt_scene scene = {0};
    int32_t *predicted = NULL;
    TRY(pt_dataset_load(j->data, i, &scene));
    for (int64_t p = 0; p < scene.n; p++) /* of other nets, or of no map */
        if (scene.label[p] >= j->trainer->o.net.classes) scene.label[p] = PT_IGNORE;
    if (!(predicted = malloc(sizeof *predicted * (size_t)scene.n))) {
        st = pt_fail(PT_ERR_HOST, "%s: no host memory for its classes", scene.name);
        goto done;
    }
    TRY(pt_evaluate_scene(j->trainer, &scene, predicted, scores));
    TRY(write_ply(j->o->out, &scene, predicted));
    if (!j->o->quiet) fprintf(stderr, "%s: %lld points\n", scene.name, (long long)scene.n);
done:
    free(predicted);
    pt_scene_free(&scene);
    return st;
}

static pt_status run(job *j, pt_scores *scores)
{
    pt_status st = PT_OK;
    if (j->o->command == PT_EVAL) return pt_evaluate(j->trainer, j->data, scores);
    if (mkdir(j->o->out, 0777) != 0 && errno != EEXIST)
        return pt_fail(PT_ERR_INPUT, "--out %s: cannot be made: %s", j->o->out, strerror(errno));
    for (int i = 0; st == PT_OK && i < pt_dataset_count(j->data); i++)
        st = predict_one(j, i, scores);
    pt_scores_finish(scores);
    return st;
}

int pt_apply(const pt_options *o)
{
    job j = {.o = o};
    pt_scores *scores = calloc(1, sizeof *scores);
    int code;
    pt_status st = scores ? open_all(&j) : pt_fail(PT_ERR_HOST, "no host memory for the scores");
    if (st == PT_OK) st = run(&j, scores);
    if (st == PT_OK && j.log) st = pt_log_scores(j.log, j.trainer->step, scores);
    code = st == PT_OK ? 0 : pt_exit_code(pt_error_last(), NULL);
    if (st != PT_OK) fprintf(stderr, "pointtrain: error: %s\n", pt_error_last()->message);
    if (j.bad_checkpoint && code == 2) code = 14;
    if (st == PT_OK) {
        pt_print_scores(stdout, scores);
        double share = scores->points ? (double)scores->dropped / (double)scores->points : 0;
        if (share > o->max_dropped) {
            fprintf(stderr,
                    "pointtrain: error: %.2f %% of the points were dropped: out of memory\n",
                    100 * share);
            code = 13;
        }
    }
    if (pt_trainer_close(j.trainer) != PT_OK && !code) {
        fprintf(stderr, "pointtrain: error: %s\n", pt_error_last()->message);
        code = pt_exit_code(pt_error_last(), NULL);
    }
    pt_dataset_free(j.data);
    if (j.log) fclose(j.log);
    free(scores);
    return code;
}
