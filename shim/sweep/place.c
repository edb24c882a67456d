/* place.c - what a run of a sweep writes is its own: its output, the files that were open, and a
 * folder in which it finds what its parent had written there. */
#define _GNU_SOURCE
#include "state.h"
#include "sweep.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* What the parent has printed since its own fault. */
static void copy_from(const op_result *parent, int fd, int to)
{
    char path[700], block[4096];
    snprintf(path, sizeof path, "%s/%d.%s", op_sweep->folder, (int)(parent - op_sweep->result),
             fd == 1 ? "out" : "err");
    int from = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; from >= 0 && (n = read(from, block, sizeof block)) > 0;)
        if (write(to, block, (size_t)n) != n) break;
    if (from >= 0) close(from);
}

/* Its output goes to its own files, and what it reads is at an offset of its own. */
void op_sweep_own_files(const op_result *r, const op_result *parent)
{
    char path[700], link[64], target[600];
    for (int fd = 0; fd < 256; fd++) {
        int flags = fcntl(fd, F_GETFL);
        if (flags < 0) continue;
        if (fd == 1 || fd == 2) {
            snprintf(path, sizeof path, "%s/%d.%s", op_sweep->folder, (int)(r - op_sweep->result),
                     fd == 1 ? "out" : "err");
            int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            if (to >= 0 && parent) copy_from(parent, fd, to);
            if (to >= 0) dup2(to, fd);
            if (to >= 0) close(to);
            continue;
        }
        off_t at = lseek(fd, 0, SEEK_CUR);
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, target, sizeof target - 1);
        if (at < 0 || n <= 0 || target[0] != '/') continue;
        target[n] = 0;
        if ((flags & O_ACCMODE) != O_RDONLY)
            snprintf(target, sizeof target, "%s/%d.fd%d", op_sweep->folder,
                     (int)(r - op_sweep->result), fd);
        int again = open(target, (flags & (O_ACCMODE | O_APPEND)) | O_CREAT, 0600);
        if (again < 0) continue;
        lseek(again, at, SEEK_SET);
        dup3(again, fd, fcntl(fd, F_GETFD) & FD_CLOEXEC ? O_CLOEXEC : 0);
        close(again);
    }
}

static char place[600]; /* "": nobody has asked for it */

static void copy_file(const char *from, const char *to)
{
    char block[65536];
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int out = in >= 0 ? open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    for (ssize_t n; out >= 0 && (n = read(in, block, sizeof block)) > 0;)
        if (write(out, block, (size_t)n) != n) break;
    if (in >= 0) close(in);
    if (out >= 0) close(out);
}

void op_sweep_own_place(const op_result *r)
{
    char before[sizeof place], from[900], to[900];
    if (!*place) return;
    memcpy(before, place, sizeof place);
    snprintf(place, sizeof place, "%s/%d.files", op_sweep->folder, (int)(r - op_sweep->result));
    mkdir(place, 0700);
    DIR *d = opendir(before);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_type != DT_REG) continue;
        snprintf(from, sizeof from, "%s/%s", before, e->d_name);
        snprintf(to, sizeof to, "%s/%s", place, e->d_name);
        copy_file(from, to);
    }
    if (d) closedir(d);
}

API const char *op_folder(void)
{
    if (!op_sweep) return NULL;
    if (!*place) { /* of a process that has taken no fault: empty, as for each of them */
        snprintf(place, sizeof place, "%s/%ld.files", op_sweep->folder, (long)getpid());
        if (mkdir(place, 0700) != 0 && errno != EEXIST)
            fprintf(stderr, "oomproof: %s: %s\n", place, strerror(errno));
    }
    return place;
}
