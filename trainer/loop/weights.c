/* weights.c - see weights.h. */
#include "loop/weights.h"
#include "read.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of all scenes, each counted once: integers, so that every run has the same weights. */
static pt_status inverse(pt_dataset *data, pt_trainer_options *o)
{
    int64_t points[PT_MAX_CLASSES] = {0}, all = 0;
    int classes = pt_dataset_classes(data), present = 0;
    for (int s = 0; s < pt_dataset_count(data); s++) {
        pt_scene scene = {0};
        pt_status st = pt_dataset_load(data, s, &scene);
        for (int64_t i = 0; st == PT_OK && i < scene.n; i++)
            if (scene.label[i] >= 0 && scene.label[i] < classes) points[scene.label[i]]++;
        pt_scene_free(&scene);
        if (st != PT_OK) return st;
    }
    for (int c = 0; c < classes; c++) {
        all += points[c];
        present += points[c] > 0;
    }
    for (int c = 0; c < classes; c++)
        o->class_weight[c] =
            points[c] ? (real)((double)all / ((double)present * (double)points[c])) : 1;
    return PT_OK;
}

static pt_status one_line(const char *path, int line, char *text, int classes, real *weight,
                          unsigned char *known)
{
    char *save, *end, *label = strtok_r(text, " \t\r", &save);
    if (!label) return PT_OK;
    char *value = strtok_r(NULL, " \t\r", &save), *more = strtok_r(NULL, " \t\r", &save);
    if (!value || more)
        return pt_fail(PT_ERR_INPUT, "%s: line %d: expected \"label weight\"", path, line);
    long c = strtol(label, &end, 10);
    if (end == label || *end || c < 0 || c >= classes)
        return pt_fail(PT_ERR_INPUT, "%s: line %d: label \"%s\" is none of 0..%d, the data's", path,
                       line, label, classes - 1);
    if (known[c])
        return pt_fail(PT_ERR_INPUT, "%s: line %d: label %ld has a weight already", path, line, c);
    double w = strtod(value, &end);
    if (end == value || *end || !(w >= 0) || w > 1e6)
        return pt_fail(PT_ERR_INPUT, "%s: line %d: weight \"%s\" is not a number from 0 to 1e6",
                       path, line, value);
    known[c] = 1;
    weight[c] = (real)w;
    return PT_OK;
}

static pt_status from_file(const char *path, int classes, real *weight)
{
    unsigned char *bytes = NULL, known[PT_MAX_CLASSES] = {0};
    size_t n;
    int line = 0, some = 0;
    pt_status st = pt_slurp_text(path, &bytes, &n);
    for (char *l = (char *)bytes, *next; st == PT_OK && l; l = next) {
        next = strchr(l, '\n');
        if (next) *next++ = 0;
        l[strcspn(l, "#")] = 0;
        st = one_line(path, ++line, l, classes, weight, known);
    }
    for (int c = 0; c < classes; c++) some |= weight[c] > 0;
    if (st == PT_OK && !some)
        st = pt_fail(PT_ERR_INPUT, "%s: every class has the weight 0: nothing would be learnt",
                     path);
    free(bytes);
    return st;
}

pt_status pt_class_weights(const char *what, pt_dataset *data, pt_trainer_options *o)
{
    int classes = pt_dataset_classes(data);
    if (!what || !strcmp(what, "none")) return PT_OK;
    o->weighted = 1;
    for (int c = 0; c < PT_MAX_CLASSES; c++) o->class_weight[c] = 1;
    return strcmp(what, "inverse") ? from_file(what, classes, o->class_weight) : inverse(data, o);
}
