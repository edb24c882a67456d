/* scratch.c - see scratch.h. */
#define _GNU_SOURCE
#include "scratch.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MARK ".ours"
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

/* Only what has the mark of one: other things may have such a name. */
static void remove_left(const char *tmp)
{
    char path[2 * OP_SCRATCH_ROOM], mark[sizeof path + 8];
    struct stat st;
    DIR *d = opendir(tmp);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (fnmatch("oomproof.*.??????", e->d_name, 0) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", tmp, e->d_name);
        snprintf(mark, sizeof mark, "%s/" MARK, path);
        if (lstat(path, &st) != 0 || st.st_mtime > time(NULL) - YOUNG || access(mark, F_OK) != 0)
            continue;
        int fd = lock(path);
        if (fd < 0) continue;
        op_scratch_remove(path);
        close(fd);
    }
    if (d) closedir(d);
}

int op_scratch(const char *what, char path[OP_SCRATCH_ROOM])
{
    const char *tmp = getenv("TMPDIR");
    char full[OP_SCRATCH_ROOM - 64];
    if (!tmp || !*tmp || strlen(tmp) >= sizeof full) tmp = "/tmp";
    if (*tmp != '/') { /* what is started may change folders */
        size_t n = getcwd(full, sizeof full) ? strlen(full) : 0;
        int fits = n && n + 1 + strlen(tmp) < sizeof full;
        if (fits) full[n] = '/', strcpy(full + n + 1, tmp);
        tmp = fits ? full : "/tmp";
    }
    remove_left(tmp);
    snprintf(path, OP_SCRATCH_ROOM, "%s/oomproof.%s.XXXXXX", tmp, what);
    if (!mkdtemp(path)) {
        fprintf(
            stderr,
            "oomproof: error: %s: %s; TMPDIR names another place for what is needed on the way\n",
            path, strerror(errno));
        return 0;
    }
    (void)lock(path); /* until this process ends */
    char mark[OP_SCRATCH_ROOM + 8];
    snprintf(mark, sizeof mark, "%s/" MARK, path);
    int fd = open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) close(fd);
    return 1;
}
