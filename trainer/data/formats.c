/* formats.c - the table of formats, and the way from a path to a scene: its parts are loaded, the
 * reader of its format takes them, the common step makes the scene. */
#define _GNU_SOURCE
#include "data.h"
#include "read.h"
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first that fits is taken. */
const pt_format pt_formats[] = {{".las", pt_parse_las, {{0}}, 0},
                                {".laz", pt_parse_las, {{0}}, 0}, /* which says why it is refused */
                                {".ply", pt_parse_ply, {{0}}, 0},
                                {".pcd", pt_parse_pcd, {{0}}, 0},
                                {".bin", pt_parse_kitti, {{"*.label", "../labels/*.label"}}, 1},
                                {".f32", pt_parse_flat, {{"*.i64", NULL}}, 1},
                                {"coord.npy",
                                 pt_parse_npy_folder,
                                 {{"color.npy", NULL}, {"normal.npy", NULL}, {"segment.npy", NULL}},
                                 0},
                                {".npy", pt_parse_npy, {{0}}, 0},
                                {0}};

const pt_format *pt_format_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (const pt_format *f = pt_formats; f->ending; f++) {
        size_t n = strlen(name), m = strlen(f->ending);
        /* an ending needs something before it, a whole name nothing */
        if (*f->ending == '.' ? n > m && !strcasecmp(name + n - m, f->ending)
                              : !strcmp(name, f->ending))
            return f;
    }
    return NULL;
}

/* The path of a part from that of the first and a pattern. */
static char *beside(const char *first, const char *pattern)
{
    const char *slash = strrchr(first, '/'), *name = slash ? slash + 1 : first;
    const char *dot = strrchr(name, '.'), *star = strchr(pattern, '*');
    int folder = (int)(name - first), base = dot ? (int)(dot - name) : (int)strlen(name);
    char *path;
    int n = star ? asprintf(&path, "%.*s%.*s%.*s%s", folder, first, (int)(star - pattern), pattern,
                            base, name, star + 1)
                 : asprintf(&path, "%.*s%s", folder, first, pattern);
    return n < 0 ? NULL : path;
}

/* Finds and loads part k (1 and up) of a scene. *path is the caller's to free, as are the bytes. */
static pt_status load(const char *first, const pt_format *f, int k, char **path,
                      unsigned char **bytes, size_t *n)
{
    for (int i = 0; i < 2 && f->part[k - 1][i]; i++) {
        free(*path);
        if (!(*path = beside(first, f->part[k - 1][i])))
            return pt_fail(PT_ERR_HOST, "no host memory for a path");
        if (access(*path, F_OK) == 0) return pt_slurp(*path, bytes, n);
    }
    if (!f->needed) return PT_OK;
    return pt_fail(PT_ERR_INPUT, "%s: its labels are missing: there is no %s%s%s", first,
                   f->part[k - 1][0], f->part[k - 1][1] ? " and no " : "",
                   f->part[k - 1][1] ? f->part[k - 1][1] : "");
}

static pt_status read_parts(const char *path, const pt_format *f, pt_part *part, char **paths,
                            unsigned char **bytes)
{
    pt_status st = pt_slurp(path, &bytes[0], &part[0].n);
    part[0].path = path;
    part[0].bytes = bytes[0];
    for (int k = 1; st == PT_OK && k < PT_MAX_PARTS && f->part[k - 1][0]; k++) {
        st = load(path, f, k, &paths[k], &bytes[k], &part[k].n);
        part[k].path = paths[k];
        part[k].bytes = bytes[k];
    }
    return st;
}

pt_status pt_read_file(const char *path, const pt_class_map *map, pt_scene *out)
{
    pt_part part[PT_MAX_PARTS] = {{0}};
    char *paths[PT_MAX_PARTS] = {0}, *whole = NULL;
    unsigned char *bytes[PT_MAX_PARTS] = {0};
    pt_raw raw = {0};
    pt_status st = PT_OK;
    struct stat s;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    int folder = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
    if (asprintf(&whole, "%.*s%s", (int)n, path, folder ? "/coord.npy" : "") < 0) {
        whole = NULL;
        return pt_fail(PT_ERR_HOST, "no host memory for a path");
    }
    const pt_format *f = pt_format_of(whole);
    if (!f) {
        st = pt_fail(PT_ERR_INPUT,
                     "%s: unknown format; .las .ply .pcd .bin .f32 .npy are read, .list and .txt "
                     "name such files",
                     path);
        goto done;
    }
    TRY(read_parts(whole, f, part, paths, bytes));
    TRY(f->parse(part, &raw));
    /* a scene of arrays is called after its folder */
    if (*f->ending != '.' && strrchr(whole, '/')) *strrchr(whole, '/') = 0;
    TRY(pt_finish_scene(whole, &raw, map, out));
done:
    for (int k = 0; k < PT_MAX_PARTS; k++) {
        free(paths[k]);
        free(bytes[k]);
    }
    free(whole);
    pt_raw_free(&raw);
    return st;
}
