/* aside.c - see aside.h. */
#define _GNU_SOURCE
#include "loop/aside.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where path leads, its folder, and a name beside it that no other process uses. */
typedef struct place {
    char target[PATH_MAX], folder[PATH_MAX], aside[PATH_MAX + 32];
} place;

static int find(const char *path, place *p)
{
    if (!realpath(path, p->target)) {
        if (strlen(path) >= sizeof p->target) return 0;
        strcpy(p->target, path);
    }
    strcpy(p->folder, p->target);
    char *slash = strrchr(p->folder, '/');
    if (!slash)
        strcpy(p->folder, ".");
    else
        slash[slash == p->folder] = 0;
    snprintf(p->aside, sizeof p->aside, "%s.%ld.tmp", p->target, (long)getpid());
    return 1;
}

static int put(int fd, const char *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t k = write(fd, bytes + at, n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return 0;
        at += (size_t)k;
    }
    return fsync(fd) == 0;
}

/* The new name is in the folder for good. Some file systems cannot say so, and need not. */
static void flush_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

pt_status pt_write_whole(const char *path, const void *bytes, size_t n)
{
    place p;
    if (!find(path, &p)) return pt_fail(PT_ERR_INPUT, "%s: too long", path);
    int fd = open(p.aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return pt_fail(PT_ERR_HOST, "%s: cannot be created: %s", p.aside, strerror(errno));
    errno = ENOSPC; /* a write that takes nothing says no more */
    int bad = put(fd, bytes, n) ? 0 : errno;
    if (close(fd) != 0 && !bad) bad = errno;
    if (!bad && rename(p.aside, p.target) != 0) bad = errno;
    if (!bad) {
        flush_folder(p.folder);
        return PT_OK;
    }
    unlink(p.aside);
    return pt_fail(PT_ERR_HOST, "%s: cannot be written: %s", path, strerror(bad));
}

/* Also one that has ended and that its parent has not asked after yet. */
static int is_gone(pid_t pid)
{
    char path[64], state = 0;
    if (kill(pid, 0) != 0) return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    fclose(f);
    return state == 'Z' || state == 'X';
}

/* NAME.PID.tmp of processes that are no more. */
static void remove_leftovers(const place *p)
{
    const char *slash = strrchr(p->target, '/'), *name = slash ? slash + 1 : p->target;
    size_t n = strlen(name);
    DIR *d = opendir(p->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char *end;
        if (strncmp(e->d_name, name, n) || e->d_name[n] != '.') continue;
        long pid = strtol(e->d_name + n + 1, &end, 10);
        if (end == e->d_name + n + 1 || strcmp(end, ".tmp") || pid <= 0) continue;
        if (is_gone((pid_t)pid)) unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
}

pt_status pt_write_possible(const char *path)
{
    place p;
    if (!find(path, &p)) return pt_fail(PT_ERR_INPUT, "%s: too long", path);
    remove_leftovers(&p);
    int fd = open(p.aside, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return pt_fail(PT_ERR_INPUT, "%s: cannot be written there: %s", path, strerror(errno));
    close(fd);
    unlink(p.aside);
    return PT_OK;
}
