/* former.c - see former.h. */
#define _GNU_SOURCE
#include "trace/former.h"
#include "trace/format.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_trace(int fd, op_head *h)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && read(fd, h, sizeof *h) == sizeof *h &&
           h->magic == OP_TRACE_MAGIC && !h->ring_records;
}

/* A lease for reading is not given while anybody may write the file. */
static int is_written(int fd)
{
    if (fcntl(fd, F_SETLEASE, F_RDLCK) != 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return 0;
}

/* BASE.PID or BASE.PID.N; 0: it is not. */
static uint64_t process_of(const char *name, const char *base)
{
    size_t n = strlen(base);
    char *end;
    if (strncmp(name, base, n) != 0 || name[n] != '.' || name[n + 1] < '1' || name[n + 1] > '9')
        return 0;
    uint64_t pid = strtoull(name + n + 1, &end, 10);
    if (*end == '.' && end[1] >= '1' && end[1] <= '9') strtoull(end + 1, &end, 10);
    return *end ? 0 : pid;
}

static void others(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    DIR *d = folder ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        op_head h;
        const uint64_t pid = process_of(e->d_name, slash ? slash + 1 : path);
        int fd =
            pid ? openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
        if (fd < 0) continue;
        if (is_trace(fd, &h) && h.pid == pid && !is_written(fd)) unlinkat(dirfd(d), e->d_name, 0);
        close(fd);
    }
    if (d) closedir(d);
    free(folder);
}

int op_trace_make_way(const char *path)
{
    struct stat st;
    op_head h;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT) {
        others(path);
        return 1;
    }
    int why = errno;
    int ours = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
               (st.st_size == 0 || is_trace(fd, &h));
    if (fd >= 0) close(fd);
    if (ours && unlink(path) == 0) {
        others(path);
        return 1;
    }
    if (ours) why = errno;
    fprintf(stderr, "oomproof: error: --trace %s: %s\n", path,
            ours || fd < 0 ? strerror(why) : "is there and is no trace; name another file");
    return 0;
}
