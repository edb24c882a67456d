/* outputs.c - see outputs.h. */
#define _GNU_SOURCE
#include "sweep/outputs.h"
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef int op_writer(FILE *, const op_sweep_file *, const op_tally *);

/* Where a chain of links ends, be there a file or not: 1; 0: nowhere; -1: it leads to a descriptor
 * of ours (/dev/stdout), and what that is open on is not replaced. */
static int place(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX], link[PATH_MAX];
    snprintf(out, PATH_MAX, "%s", path);
    for (int links = 0; links < 40; links++) {
        char *slash = strrchr(out, '/');
        if (!strncmp(out, "/dev/fd/", 8) || !strncmp(out, "/proc/", 6)) return -1;
        ssize_t n = readlink(out, link, sizeof link - 1);
        if (n < 0) { /* the file itself, or what will be it: its folder may be a link */
            char *name = slash ? slash + 1 : out;
            snprintf(link, sizeof link, "%s", name);
            if (slash) *name = 0;
            if (!realpath(slash ? out : ".", folder)) return 0;
            return snprintf(out, PATH_MAX, "%s/%s", folder, link) < PATH_MAX;
        }
        link[n] = 0;
        if (slash && *link != '/') {
            slash[1] = 0;
            snprintf(folder, sizeof folder, "%s", out);
            if (snprintf(out, PATH_MAX, "%s%s", folder, link) >= PATH_MAX) return 0;
        } else
            snprintf(out, PATH_MAX, "%s", link);
    }
    errno = ELOOP;
    return 0;
}

static int handed(const char *path)
{
    char end[PATH_MAX];
    return place(path, end) < 0;
}

int op_output_stays(const char *path)
{
    struct stat st;
    return !handed(path) && (stat(path, &st) != 0 || S_ISREG(st.st_mode));
}

int op_output_writable(const char *path)
{
    struct stat st;
    int was_there = access(path, F_OK) == 0;
    if (handed(path) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return 1;
    FILE *probe = fopen(path, "ae");
    const int why = errno;
    char *made = probe && !was_there ? realpath(path, NULL) : NULL; /* behind a link */
    if (probe) fclose(probe);
    if (made) unlink(made);
    free(made);
    errno = why;
    return probe != NULL;
}

int op_outputs_same(const char *a, const char *b)
{
    struct stat x, y;
    char p[PATH_MAX], q[PATH_MAX];
    if (stat(a, &x) == 0 && stat(b, &y) == 0) return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return place(a, p) > 0 && place(b, q) > 0 && !strcmp(p, q);
}

static int cannot(const char *path)
{
    fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", path, strerror(errno));
    return 7;
}

static int filled(FILE *f, op_writer *fn, const op_sweep_file *s, const op_tally *t)
{
    int bad = !f || fn(f, s, t), code = errno;
    if (f && fclose(f) != 0) bad = 1, code = errno;
    errno = code;
    return bad;
}

static int put(const char *path, op_writer *fn, const op_sweep_file *s, const op_tally *t)
{
    char target[PATH_MAX], aside[PATH_MAX + 16];
    struct stat st;
    if (!op_output_stays(path))
        return filled(op_output_open(path, handed(path) ? "ae" : "we"), fn, s, t) ? cannot(path)
                                                                                  : 0;
    if (place(path, target) <= 0) return cannot(path);
    snprintf(aside, sizeof aside, "%s.XXXXXX", target);
    int fd = mkostemp(aside, O_CLOEXEC);
    if (fd < 0) return cannot(path);
    mode_t mask = umask(0);
    umask(mask);
    if (fchmod(fd, stat(target, &st) == 0 ? st.st_mode & 07777 : 0666 & ~mask) == 0 &&
        !filled(fdopen(fd, "w"), fn, s, t) && rename(aside, target) == 0)
        return 0;
    cannot(path);
    unlink(aside);
    return 7;
}

static int page_to_come(FILE *f, const op_sweep_file *s, const op_tally *t)
{
    (void)s, (void)t;
    fputs("<!doctype html><html lang=en><meta charset=utf-8><title>oomproof: not finished</title>"
          "<p>This sweep has not finished: it is still running, or it was killed. What was here "
          "before is gone, so that it cannot pass for its result.</p></html>\n",
          f);
    return ferror(f) || fflush(f) != 0;
}

int op_outputs_begin(const op_sweep_options *o, const char *const *inputs, int count,
                     const op_sweep_file *s, const op_tally *t)
{
    const struct {
        const char *option, *path;
        op_writer *fn;
    } out[] = {{"--json", o->json, op_write_json},
               {"--junit", o->junit, op_write_junit},
               {"--html", o->html, page_to_come}};
    char what[200];
    struct stat st;
    const int outs = sizeof out / sizeof *out;
    for (int i = 0; i < outs; i++) {
        if (!out[i].path) continue;
        if (stat(out[i].path, &st) == 0 && S_ISDIR(st.st_mode)) {
            snprintf(what, sizeof what, "%s needs a file, and this is a folder: ", out[i].option);
            return op_usage(what, out[i].path);
        }
        for (int k = 0; k < i + count && op_output_stays(out[i].path); k++) {
            const char *other = k < i ? out[k].path : inputs[k - i];
            if (!other || !op_outputs_same(out[i].path, other)) continue;
            snprintf(what, sizeof what, "%s would be written over %s: ", out[i].option,
                     k < i ? out[k].option : "what the sweep reads");
            return op_usage(what, out[i].path);
        }
    }
    for (int i = 0; i < outs; i++)
        if (out[i].path && op_output_stays(out[i].path) && put(out[i].path, out[i].fn, s, t))
            return 7;
    return 0;
}

int op_outputs_end(const op_sweep_options *o, const op_sweep_file *s, const op_tally *t)
{
    int bad = o->json ? put(o->json, op_write_json, s, t) : 0;
    return (o->junit ? put(o->junit, op_write_junit, s, t) : 0) | bad;
}
