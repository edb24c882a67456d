/* scratch.c - see scratch.h. */
#define _GNU_SOURCE
#include "scratch.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { YOUNG = 600 }; /* seconds, in which its maker may not have locked it yet */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void op_scratch_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* A descriptor whose lock says that somebody uses the folder; -1: it is not ours, or in use. Forked
 * children hold it too. */
static int lock(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static void remove_left(const char *pattern)
{
    struct stat st;
    glob_t g;
    if (glob(pattern, GLOB_NOSORT, NULL, &g) != 0) return;
    for (size_t i = 0; i < g.gl_pathc; i++) {
        if (lstat(g.gl_pathv[i], &st) != 0 || st.st_mtime > time(NULL) - YOUNG) continue;
        int fd = lock(g.gl_pathv[i]);
        if (fd < 0) continue;
        op_scratch_remove(g.gl_pathv[i]);
        close(fd);
    }
    globfree(&g);
}

int op_scratch(const char *what, char path[OP_SCRATCH_ROOM])
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp || !*tmp || strlen(tmp) > OP_SCRATCH_ROOM - 64) tmp = "/tmp";
    snprintf(path, OP_SCRATCH_ROOM, "%s/oomproof.*.??????", tmp);
    remove_left(path);
    snprintf(path, OP_SCRATCH_ROOM, "%s/oomproof.%s.XXXXXX", tmp, what);
    if (!mkdtemp(path)) {
        fprintf(
            stderr,
            "oomproof: error: %s: %s; TMPDIR names another place for what is needed on the way\n",
            path, strerror(errno));
        return 0;
    }
    (void)lock(path); /* until this process ends */
    return 1;
}
