/* compile.c - runs the C compiler over a translated kernel; several may run at a time. A file
 * appears under its name only when it is whole: written aside, sealed, renamed. */
#define _GNU_SOURCE
#include "jit.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern char **environ;

static const char *const flags[] = {/* the kernels of bench/translated.cu are as fast as with -O2
                                     * (3.1 times the host's, 4.7 without -fcaller-saves), and
                                     * those of the trainer are made in two thirds of the time */
                                    "-O1", "-fcaller-saves", "-std=gnu11", "-fPIC", "-shared", "-w",
                                    "-march=native",
                                    /* what PTX means and C does not: no fused multiply-add of its
                                     * own, no assumption about types in memory or about overflow */
                                    "-ffp-contract=off", "-fno-strict-aliasing", "-fwrapv",
                                    "-fno-trapping-math", "-fno-math-errno", "-x", "c"};
#define NFLAGS (sizeof flags / sizeof *flags)
static const char *const more[] = {/* where it runs often, and in strips: a fifth faster */
                                   "-O2", "-fno-tree-vectorize"};

static const char *compiler(void)
{
    const char *cc = getenv("OOMPROOF_SIM_CC");
    return cc && *cc ? cc : "cc";
}

/* Identity of the compiler: where the name leads, its size and time; no process is started for it.
 */
static uint64_t compiler_hash(void)
{
    const char *cc = compiler(), *path = getenv("PATH");
    char file[4096];
    uint64_t h = sim_fnv_text(SIM_FNV_START, cc);
    struct stat st;
    if (strchr(cc, '/')) {
        if (stat(cc, &st) == 0) h = sim_fnv(h, &st.st_mtim, sizeof st.st_mtim);
        return h;
    }
    for (const char *p = path ? path : "/usr/bin"; *p;) {
        size_t n = strcspn(p, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, p, cc);
        char *real = realpath(file, NULL);
        if (real && stat(real, &st) == 0) {
            h = sim_fnv_text(h, real);
            h = sim_fnv(h, &st.st_size, sizeof st.st_size);
            h = sim_fnv(h, &st.st_mtim, sizeof st.st_mtim);
            free(real);
            return h;
        }
        free(real);
        p += n + (p[n] == ':');
    }
    return h;
}

static uint64_t cpu_hash(void)
{
    uint64_t h = SIM_FNV_START;
#if defined(__x86_64__)
    unsigned r[4];
    for (unsigned leaf = 1; leaf <= 7; leaf += 6)
        if (__get_cpuid_count(leaf, 0, &r[0], &r[1], &r[2], &r[3])) {
            if (leaf == 1) r[1] = 0; /* holds the number of the core */
            h = sim_fnv(h, r, sizeof r);
        }
#endif
    return h;
}

uint64_t sim_compile_identity(void)
{
    uint64_t h = compiler_hash() ^ cpu_hash();
    for (size_t i = 0; i < NFLAGS; i++) h = sim_fnv_text(h, flags[i]);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) h = sim_fnv_text(h, more[i]);
    return h;
}

/* The compiler must not run under the shim, nor find the simulated libraries. */
static char **clean_environment(void)
{
    size_t n = 0, k = 0;
    while (environ[n]) n++;
    char **e = calloc(n + 1, sizeof *e);
    for (size_t i = 0; e && i < n; i++)
        if (strncmp(environ[i], "LD_", 3) && strncmp(environ[i], "OOMPROOF_", 9))
            e[k++] = environ[i];
    return e;
}

/* beside: by a shell that ends at once, so that nobody's wait() meets the compiler; in a group of
 * its own, whose number is c->pid. */
static int spawn_compiler(sim_compile *c, int in_strips, int beside)
{
    static const char script[] =
        "m=$1; shift; { if \"$@\"; then mv \"$m\" \"$m.done\"; else : >\"$m.done\"; fi; } &";
    const char *argv[NFLAGS + 16];
    size_t n = 0;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    if (beside) {
        const char *const shell[] = {"sh", "-c", script, "sh", c->made, "nice"};
        for (size_t i = 0; i < sizeof shell / sizeof *shell; i++) argv[n++] = shell[i];
    }
    argv[n++] = compiler();
    for (size_t i = 0; i < NFLAGS; i++) argv[n++] = flags[i];
    for (size_t i = 0; in_strips && i < sizeof more / sizeof *more; i++)
        argv[n++] = more[i]; /* the last one counts */
    argv[n++] = c->source;
    argv[n++] = "-o";
    argv[n++] = c->made;
    argv[n++] = "-lm";
    argv[n] = NULL;
    char **env = clean_environment();
    if (!env || posix_spawn_file_actions_init(&files) != 0 || posix_spawnattr_init(&how) != 0) {
        free(env);
        return 0;
    }
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, c->log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    if (beside) {
        posix_spawnattr_setpgroup(&how, 0);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
        posix_spawn_file_actions_addclosefrom_np(&files, 3); /* pipes whose end somebody awaits */
    }
    int e = posix_spawnp(&c->pid, argv[0], &files, &how, (char **)argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    free(env);
    if (e != 0)
        sim_say("the C compiler %s cannot be started: %s; install it or set OOMPROOF_SIM_CC",
                argv[0], strerror(e));
    return e == 0;
}

/* A name that no other process has: containers that share the folder have the same process ids. */
static unsigned long long own_name(void)
{
    static unsigned long long name;
    static pid_t of;
    if (of != getpid()) {
        of = getpid();
        if (getentropy(&name, sizeof name) != 0) name = (unsigned long long)of;
    }
    return name;
}

static int start(sim_compile *c, const sim_ptx_one *list, int n, int in_strips, const char *folder,
                 int serial, int beside)
{
    unsigned long long self = own_name();
    char number[16];
    const char *name = beside ? SIM_BESIDE : number;
    snprintf(number, sizeof number, "%d", serial);
    snprintf(c->source, sizeof c->source, "%s/%016llx.%s.c", folder, self, name);
    snprintf(c->made, sizeof c->made, "%s/%016llx.%s.so", folder, self, name);
    snprintf(c->log, sizeof c->log, "%s/%016llx.%s.log", folder, self, name);
    c->sealed = -1;
    FILE *f = fopen(c->source, "we");
    c->refused = f ? sim_ptx_emit_several(list, n, in_strips, f) : -1;
    if (f && fclose(f) != 0) c->refused = -1;
    if (c->refused < 0) sim_say("%s cannot be written: %s", c->source, strerror(errno));
    if (c->refused >= 0 && spawn_compiler(c, in_strips, beside)) return 1;
    unlink(c->source);
    unlink(c->log);
    return 0;
}

int sim_compile_start(sim_compile *c, const sim_ptx_one *list, int n, int in_strips,
                      const char *folder, int serial)
{
    return start(c, list, n, in_strips, folder, serial, 0);
}

int sim_compile_beside(sim_compile *c, const sim_ptx *ptx, int kernel, const char *folder)
{
    if (!start(c, &(sim_ptx_one){ptx, kernel}, 1, 1, folder, 0, 1)) return 0;
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return 1;
}

/* What the compiler had to say found no room: nothing of it is worth keeping. */
static int nothing_fits(const char *log)
{
    struct stat about;
    struct statvfs room;
    return (stat(log, &about) == 0 && about.st_size == 0) ||
           (statvfs(log, &room) == 0 && room.f_bavail * room.f_frsize < 256 * 1024);
}

/* Waits; 1: the compiler has made the object, and it is sealed. */
static int compiled(sim_compile *c)
{
    int status = -1;
    if (c->sealed >= 0) return c->sealed;
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR) { /* somebody else reaps our children: the object tells */
            status = access(c->made, R_OK) == 0 ? 0 : -1;
            break;
        }
    c->made_it = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return c->sealed = c->made_it && sim_cache_seal(c->made);
}

/* By a link, which the file system may not have: then it is compiled again when it is launched. */
int sim_compile_share(sim_compile *c, const char *object)
{
    char name[SIM_PATH + 8];
    snprintf(name, sizeof name, "%s.share", c->made);
    int ok = compiled(c) && link(c->made, name) == 0 && rename(name, object) == 0;
    unlink(name);
    return ok;
}

int sim_compile_finish(sim_compile *c, const char *kernel, const char *object, int loud)
{
    int ok = compiled(c) && rename(c->made, object) == 0, made_it = c->made_it;
    if (made_it && !ok && loud) sim_say("%s cannot be written: %s", object, strerror(errno));
    int full = !made_it && nothing_fits(c->log);
    if (full && loud)
        sim_say("kernel %s could not be compiled: the folder of %s is full, or the compiler ended "
                "without a word",
                kernel, c->source);
    else if (!made_it && loud)
        sim_say("kernel %s could not be compiled; what the compiler said is in %s, the source "
                "beside it",
                kernel, c->log);
    if (made_it || !loud || full) {
        unlink(c->source);
        unlink(c->log);
    }
    unlink(c->made);
    return ok;
}
