/* place.c - a folder for each run of a sweep, in which it finds what its parent had written there.
 */
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
