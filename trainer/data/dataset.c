/* dataset.c - what --data names: files, folders, lists, generated rooms and batches. Files are read
 * one at a time, when they are needed; a first look at the start tells a bad one before hours have
 * gone by.
 */
#define _GNU_SOURCE
#include "data.h"
#include "read.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct entry {
    char *path; /* NULL: a room */
    float voxel;
    int room;
    pt_room how;
} entry;

struct pt_dataset {
    entry *e;
    int n, room_for, skipped, files, skip_bad, classes;
    int rooms;  /* classes of the generated rooms; 0: there are none */
    int *start; /* [batches + 1] first scene of each batch, where the data says them */
    int batches;
    pt_class_map map;
    int mapped;
    uint64_t seed;
    float voxel;
};

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcasecmp(s + n - m, end);
}

static int is_list(const char *path)
{
    return ends_with(path, ".list") || ends_with(path, ".txt");
}

/* A folder with coord.npy is one scene, not many. */
static int is_scene_folder(const char *path)
{
    char *inside;
    if (asprintf(&inside, "%s/coord.npy", path) < 0) return 0;
    int there = access(inside, F_OK) == 0;
    free(inside);
    return there;
}

static pt_status push(pt_dataset *d, entry e)
{
    if (d->n == d->room_for) {
        int room = d->room_for ? 2 * d->room_for : 64;
        entry *all = realloc(d->e, sizeof *all * (size_t)room);
        if (!all) return pt_fail(PT_ERR_HOST, "no host memory for the list of scenes");
        d->e = all;
        d->room_for = room;
    }
    d->e[d->n++] = e;
    return PT_OK;
}

/* A bad file ends the run, or with --skip-bad is left out, with a line that says why. */
static pt_status add_file(pt_dataset *d, const char *path, float voxel)
{
    pt_scene probe = {.voxel = voxel};
    pt_status st = pt_read_file(path, d->mapped ? &d->map : NULL, &probe);
    pt_scene_free(&probe);
    if (st == PT_ERR_INPUT && d->skip_bad) {
        fprintf(stderr, "pointtrain: skipped: %s\n", pt_error_last()->message);
        d->skipped++;
        return PT_OK;
    }
    if (st != PT_OK) return st;
    char *copy = strdup(path);
    if (!copy) return pt_fail(PT_ERR_HOST, "no host memory for the list of scenes");
    d->files++;
    return push(d, (entry){.path = copy, .voxel = voxel});
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static pt_status add_folder(pt_dataset *d, const char *path, float voxel)
{
    struct dirent **names;
    pt_status st = PT_OK;
    int n = scandir(path, &names, not_hidden, alphasort), before = d->n + d->skipped;
    if (n < 0) return pt_fail(PT_ERR_INPUT, "%s: cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *full = NULL;
        if (st == PT_OK && asprintf(&full, "%s/%s", path, names[i]->d_name) < 0) {
            full = NULL;
            st = pt_fail(PT_ERR_HOST, "no host memory for a path");
        }
        if (st == PT_OK && (pt_format_of(full) || is_scene_folder(full)))
            st = add_file(d, full, voxel);
        free(full);
        free(names[i]);
    }
    free(names);
    if (st == PT_OK && d->n + d->skipped == before)
        st = pt_fail(PT_ERR_INPUT,
                     "%s: the folder holds no scene: no .las .ply .pcd .bin .f32 or .npy file, and "
                     "no folder with coord.npy",
                     path);
    return st;
}

/* A scene, or a folder of scenes. */
static pt_status add_path(pt_dataset *d, const char *path, float voxel)
{
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) && !is_scene_folder(path))
        return add_folder(d, path, voxel);
    return add_file(d, path, voxel);
}

static int positive(const char *s, float *out)
{
    char *end;
    double v = strtod(s, &end);
    if (end == s || *end || !(v >= 1e-9) || v > 1e9) return 0;
    *out = (float)v;
    return 1;
}

static pt_status list_line(pt_dataset *d, const char *list, int number, char *line)
{
    char *save = NULL, *path = NULL, *full = NULL;
    float voxel = d->voxel;
    pt_status st;
    for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        if (!path)
            path = w;
        else if (strncmp(w, "voxel=", 6))
            return pt_fail(PT_ERR_INPUT,
                           "%s: line %d: \"%s\" is not known; a line is: path [voxel=SIZE]", list,
                           number, w);
        else if (!positive(w + 6, &voxel))
            return pt_fail(PT_ERR_INPUT, "%s: line %d: %s: not a size from 1e-9 to 1e9", list,
                           number, w);
    }
    if (!path) return PT_OK;
    const char *slash = strrchr(list, '/');
    if (path[0] == '/' || !slash ? asprintf(&full, "%s", path) < 0
                                 : asprintf(&full, "%.*s/%s", (int)(slash - list), list, path) < 0)
        return pt_fail(PT_ERR_HOST, "no host memory for a path");
    st = add_path(d, full, voxel);
    free(full);
    return st;
}

/* Each line of a text file, without its comment. */
static pt_status each_line(pt_dataset *d, const char *path,
                           pt_status (*line_fn)(pt_dataset *, const char *, int, char *))
{
    unsigned char *bytes = NULL;
    size_t n;
    int number = 0;
    pt_status st = pt_slurp_text(path, &bytes, &n);
    for (char *line = (char *)bytes, *next; st == PT_OK && line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        number++;
        line[strcspn(line, "#")] = 0;
        st = line_fn(d, path, number, line);
    }
    free(bytes);
    return st;
}

/* ",min=P" or ",max=P" at *at; 0: something else is there. */
static int limit(char **at, const char *name, int64_t *out)
{
    size_t n = strlen(name);
    if (strncmp(*at, name, n) || !isdigit((unsigned char)(*at)[n])) return 0;
    *out = strtoll(*at + n, at, 10);
    return 1;
}

/* rooms:N[,min=P][,max=P], rooms8:... */
static pt_status add_rooms(pt_dataset *d, const char *text)
{
    const char *number = strchr(text, ':') + 1;
    char *end = (char *)number;
    long long n = 0;
    pt_room r = {.least = PT_ROOM_LEAST,
                 .most = 300000,
                 .classes = text[5] == '8' ? 8 : PT_ROOM_CLASSES,
                 .voxel = d->voxel};
    if (isdigit((unsigned char)*number)) n = strtoll(number, &end, 10);
    limit(&end, ",min=", &r.least);
    limit(&end, ",max=", &r.most);
    if (n < 1 || n > 1000000 || *end || r.most < 1 || r.most > 300000 || r.least < 1 ||
        r.least > 300000)
        return pt_fail(
            PT_ERR_INPUT,
            "%s: expected rooms:N[,min=P][,max=P] or rooms8:... with N from 1 to 1000000 "
            "and P from 1 to 300000",
            text);
    for (int i = 0; i < n; i++) {
        pt_status st = push(d, (entry){.room = i, .how = r});
        if (st != PT_OK) return st;
    }
    if (d->rooms < r.classes) d->rooms = r.classes;
    return PT_OK;
}

/* A line of sizes: the generated rooms of one batch. */
static pt_status shapes_line(pt_dataset *d, const char *path, int number, char *line)
{
    char *save = NULL, *end;
    int n = 0;
    for (char *w = strtok_r(line, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save), n++) {
        long long points = strtoll(w, &end, 10);
        if (end == w || *end || points < 1 || points > 300000)
            return pt_fail(PT_ERR_INPUT, "%s: line %d: %s: not a number of points from 1 to 300000",
                           path, number, w);
        pt_room r = {points, points, PT_ROOM_CLASSES, d->voxel};
        pt_status st = push(d, (entry){.room = d->n, .how = r});
        if (st != PT_OK) return st;
    }
    if (!n) return PT_OK;
    int *start = realloc(d->start, sizeof *start * (size_t)(d->batches + 2));
    if (!start) return pt_fail(PT_ERR_HOST, "no host memory for %d batches", d->batches);
    d->start = start;
    start[d->batches++] = d->n - n;
    start[d->batches] = d->n;
    return PT_OK;
}

/* shapes:FILE */
static pt_status add_shapes(pt_dataset *d, const char *path)
{
    pt_status st = each_line(d, path, shapes_line);
    if (st == PT_OK && !d->batches)
        st = pt_fail(PT_ERR_INPUT,
                     "%s: no batch is in it; a line is the sizes of one, as 20000 500", path);
    if (d->rooms < PT_ROOM_CLASSES) d->rooms = PT_ROOM_CLASSES;
    return st;
}

int pt_dataset_batch(const pt_dataset *d, int64_t b, int *first)
{
    if (!d->batches) return 0;
    int k = (int)(b % d->batches);
    *first = d->start[k];
    return d->start[k + 1] - d->start[k];
}

static pt_status add(pt_dataset *d, const char *path)
{
    struct stat st;
    if (!strncmp(path, "rooms:", 6) || !strncmp(path, "rooms8:", 7)) return add_rooms(d, path);
    if (!strncmp(path, "shapes:", 7)) return add_shapes(d, path + 7);
    if (stat(path, &st) != 0) return pt_fail(PT_ERR_INPUT, "%s: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode) && is_list(path)) return each_line(d, path, list_line);
    return add_path(d, path, d->voxel);
}

pt_status pt_dataset_open(const pt_data_options *o, pt_dataset **out)
{
    pt_status st = PT_OK;
    pt_dataset *d = calloc(1, sizeof *d);
    *out = NULL;
    if (!d) return pt_fail(PT_ERR_HOST, "no host memory for the data set");
    d->skip_bad = o->skip_bad;
    d->seed = o->seed;
    d->voxel = o->voxel;
    if (o->class_map) {
        TRY(pt_class_map_load(o->class_map, &d->map));
        d->mapped = 1;
        d->classes = d->map.classes;
    }
    if (!(o->voxel > 0)) {
        st = pt_fail(PT_ERR_INPUT, "a voxel must be larger than 0");
        goto done;
    }
    for (int i = 0; i < o->npaths; i++) TRY(add(d, o->paths[i]));
    if (d->batches && o->npaths > 1) {
        st = pt_fail(PT_ERR_INPUT, "shapes:FILE says what each batch is: no other data beside it");
        goto done;
    }
    if (d->n == 0)
        st = pt_fail(PT_ERR_INPUT, "no scene is left to train on");
    else if (d->files && !d->mapped && !o->unlabelled)
        st = pt_fail(PT_ERR_INPUT,
                     "files need a class map: --class-map FILE, a text file of lines \"from to\"");
    else if (d->rooms && d->classes < d->rooms)
        d->classes = d->rooms;
done:
    if (st != PT_OK)
        pt_dataset_free(d);
    else
        *out = d;
    return st;
}

void pt_dataset_free(pt_dataset *d)
{
    if (!d) return;
    for (int i = 0; i < d->n; i++) free(d->e[i].path);
    free(d->e);
    free(d->start);
    free(d);
}

int pt_dataset_count(const pt_dataset *d)
{
    return d->n;
}
int pt_dataset_classes(const pt_dataset *d)
{
    return d->classes;
}
int pt_dataset_skipped(const pt_dataset *d)
{
    return d->skipped;
}

pt_status pt_dataset_load(pt_dataset *d, int i, pt_scene *out)
{
    const entry *e = &d->e[i];
    if (!e->path) return pt_room_make(d->seed, e->room, &e->how, out);
    *out = (pt_scene){.voxel = e->voxel};
    return pt_read_file(e->path, d->mapped ? &d->map : NULL, out);
}
