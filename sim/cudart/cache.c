/* cache.c - the folder of compiled kernels: private, and only whole files are taken out of it. */
#define _GNU_SOURCE
#include "jit.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t sim_fnv(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

uint64_t sim_fnv_text(uint64_t h, const char *s)
{
    return sim_fnv(h, s, strlen(s) + 1);
}

static int not_usable(const char *path, const char *why)
{
    sim_say("the cache folder %s: %s; compiled kernels are not kept (OOMPROOF_SIM_CACHE names "
            "another)",
            path, why);
    return 0;
}

/* A folder of ours that only we can write to: 1; another: 0 and a message. Made if it is not there.
 */
static int private_folder(const char *path)
{
    struct stat st;
    char *copy = strdup(path);
    for (char *p = copy ? copy + 1 : NULL; p && *p; p++)
        if (*p == '/') {
            *p = 0;
            mkdir(copy, 0700);
            *p = '/';
        }
    free(copy);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return not_usable(path, strerror(errno));
    if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        !(st.st_mode & 022))
        return 1;
    return not_usable(path, "not a folder of ours that only we can write to");
}

static char folder_path[4096], temporary_path[4096];
static int has_temporary;

static void remove_temporary(void)
{
    rmdir(temporary_path); /* empty: what was loaded has been unlinked */
}

const char *sim_cache_folder(void)
{
    static int known; /* 1: usable, -1: none */
    const char *s = getenv("OOMPROOF_SIM_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    if (known) return known > 0 ? folder_path : NULL;
    if (s && *s)
        snprintf(folder_path, sizeof folder_path, "%s", s);
    else if (xdg && *xdg)
        snprintf(folder_path, sizeof folder_path, "%s/oomproof", xdg);
    else if (home && *home)
        snprintf(folder_path, sizeof folder_path, "%s/.cache/oomproof", home);
    known = *folder_path && private_folder(folder_path) ? 1 : -1;
    return known > 0 ? folder_path : NULL;
}

const char *sim_cache_temporary(void)
{
    const char *tmp = getenv("TMPDIR");
    if (has_temporary) return temporary_path;
    snprintf(temporary_path, sizeof temporary_path, "%s/oomproof-XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(temporary_path)) {
        sim_say("no folder for compiled kernels: %s: %s; set OOMPROOF_SIM_CACHE", temporary_path,
                strerror(errno));
        return NULL;
    }
    has_temporary = 1;
    atexit(remove_temporary);
    return temporary_path;
}

static char *read_file(const char *path, size_t *bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *p = NULL;
    if (fd < 0) return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (p = malloc((size_t)st.st_size + 1))) {
        *bytes = 0;
        for (ssize_t n; *bytes < (size_t)st.st_size &&
                        (n = read(fd, p + *bytes, (size_t)st.st_size - *bytes)) > 0;)
            *bytes += (size_t)n;
        p[*bytes] = 0;
    }
    close(fd);
    return p;
}

/* Whole: the last 8 bytes are the checksum of those before. */
int sim_cache_whole(const char *path)
{
    size_t n = 0;
    uint64_t sum = 0;
    char *p = read_file(path, &n);
    int ok = p && n > 8 && (memcpy(&sum, p + n - 8, 8), sum == sim_fnv(SIM_FNV_START, p, n - 8));
    free(p);
    return ok;
}

int sim_cache_seal(const char *path)
{
    size_t n = 0;
    char *p = read_file(path, &n);
    if (!p) return 0;
    uint64_t sum = sim_fnv(SIM_FNV_START, p, n);
    free(p);
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0) return 0;
    int ok = write(fd, &sum, sizeof sum) == sizeof sum;
    return close(fd) == 0 && ok;
}
