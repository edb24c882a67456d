/* follow.c - the programs that this one starts: whether they will be followed. exec and spawn are
 * passed on as they are; what is started without the library, or cannot reach the counters, is
 * noted there, since nothing in it could say so. */
#define _GNU_SOURCE
#include "devcode.h"
#include "driver.h"
#include "image.h"
#include "joined.h"
#include "state.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *value(char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (!strncmp(*env, name, n) && (*env)[n] == '=') return *env + n + 1;
    return NULL;
}

/* As the program will find it: what a process that gave up root may still do, it may not after the
 * exec. */
static int can_reach(const char *file)
{
    char path[4096];
    struct stat st;
    if (faccessat(AT_FDCWD, file, R_OK | W_OK, AT_EACCESS)) return 0;
    const uid_t me = geteuid();
    int n = snprintf(path, sizeof path, "%s", file);
    for (mode_t need = 6; me && n > 0 && n < (int)sizeof path; need = 1) {
        if (stat(path, &st) != 0) return 0;
        mode_t shift = st.st_uid == me ? 6 : group_member(st.st_gid) ? 3 : 0;
        if ((st.st_mode >> shift & need) != need) return 0;
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) return 1;
        *slash = 0;
    }
    return 1;
}

static int why_not(char *const *env, const image *f, const struct stat *st)
{
    const char *preload = value(env, "LD_PRELOAD"), *stats = value(env, "OOMPROOF_STATS");
    if (!preload || !strstr(preload, "liboomproof") || !stats) return OP_LEFT_ENVIRONMENT;
    if (strcmp(stats, op_joined_file())) return OP_LEFT_OTHER;
    if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
        (st->st_mode & S_ISGID && st->st_gid != getegid()))
        return OP_LEFT_SETUID;
    if (f->sections && !op_image_loader(f)) return OP_LEFT_STATIC;
    return can_reach(stats) ? 0 : OP_LEFT_UNREACHABLE;
}

/* Also in the child of a vfork: nothing is allocated or kept. */
static void look(const char *path, char *const *env)
{
    struct stat st;
    image f;
    if (!*op_joined_file() || stat(path, &st) != 0 || !op_image_open(path, &f)) return;
    int why = why_not(env, &f, &st), uses = 0;
    op_image_close(&f);
    if (!why) return;
    uses = op_device_code(path) != 0;
    if (why == OP_LEFT_STATIC && !uses) return; /* the programs that it starts are followed */
    op_left *left = &op_shared->left[uses];
    if (__atomic_fetch_add(&left->n, 1, __ATOMIC_RELAXED)) return;
    left->why = why;
    snprintf(left->name, sizeof left->name, "%s", path);
}

static void look_for(const char *name, char *const *env)
{
    const char *all = getenv("PATH"), *p = all ? all : "/bin:/usr/bin";
    char path[4096];
    if (strchr(name, '/')) {
        look(name, env);
        return;
    }
    for (; *name && *p; p += strcspn(p, ":"), p += *p == ':') {
        int n = snprintf(path, sizeof path, "%.*s/%s", (int)strcspn(p, ":"), p, name);
        if (n >= (int)sizeof path || access(path, X_OK) != 0) continue;
        look(path, env);
        return;
    }
}

/* Looked up once, at the start: not in the child of a vfork. */
static struct {
    __typeof__(execve) *execve;
    __typeof__(execvpe) *execvpe;
    __typeof__(fexecve) *fexecve;
    __typeof__(posix_spawn) *spawn, *spawnp;
} next;

static void __attribute__((constructor(101))) find_them(void)
{
    *(void **)&next.execve = op_dlsym(RTLD_NEXT, "execve");
    *(void **)&next.execvpe = op_dlsym(RTLD_NEXT, "execvpe");
    *(void **)&next.fexecve = op_dlsym(RTLD_NEXT, "fexecve");
    *(void **)&next.spawn = op_dlsym(RTLD_NEXT, "posix_spawn");
    *(void **)&next.spawnp = op_dlsym(RTLD_NEXT, "posix_spawnp");
}
#define NEXT(name) (next.name ? next.name : (find_them(), next.name))

API int execve(const char *path, char *const argv[], char *const env[])
{
    look(path, env);
    return NEXT(execve)(path, argv, env);
}
API int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}
API int execvpe(const char *name, char *const argv[], char *const env[])
{
    look_for(name, env);
    return NEXT(execvpe)(name, argv, env);
}
API int execvp(const char *name, char *const argv[])
{
    return execvpe(name, argv, environ);
}

/* The arguments from first on, with their NULL, and for execle the environment behind it. */
#define LISTED(first, call, env)                                        \
    va_list list;                                                       \
    size_t n = 1;                                                       \
    va_start(list, first);                                              \
    while (va_arg(list, char *)) n++;                                   \
    va_end(list);                                                       \
    char *argv[n + 1];                                                  \
    va_start(list, first);                                              \
    argv[0] = (char *)(uintptr_t)first;                                 \
    for (size_t i = 1; i <= n; i++) argv[i] = va_arg(list, char *);     \
    char *const *given = (env) ? va_arg(list, char *const *) : environ; \
    va_end(list);                                                       \
    return call(path, argv, given)

API int execl(const char *path, const char *first, ...)
{
    LISTED(first, execve, 0);
}
API int execlp(const char *path, const char *first, ...)
{
    LISTED(first, execvpe, 0);
}
API int execle(const char *path, const char *first, ...)
{
    LISTED(first, execve, 1);
}

API int fexecve(int fd, char *const argv[], char *const env[])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    look(path, env);
    return NEXT(fexecve)(fd, argv, env);
}

API int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                    const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    look(path, env);
    return NEXT(spawn)(pid, path, actions, attributes, argv, env);
}
API int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
    look_for(name, env);
    return NEXT(spawnp)(pid, name, actions, attributes, argv, env);
}
