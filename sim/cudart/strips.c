/* strips.c - a kernel of which many threads have run is compiled once more, for strips of them,
 * while the program goes on; when that is done it runs so, with the same results. The object is
 * kept: the next process begins with it. */
#define _GNU_SOURCE
#include "jit.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OFTEN = 1 << 22, /* threads; as long as a compiler takes to start */
    LOOKS = 16       /* launches from one look at the compiler to the next */
};

static struct {
    sim_function *f; /* NULL: no compiler runs */
    sim_compile c;
    int launches;
    pid_t of; /* a child has the variables, not the compiler */
} now;

int sim_strips_mode(void)
{
    static int mode = -1;
    const char *s = getenv("OOMPROOF_SIM_STRIPS");
    if (mode >= 0) return mode;
    mode = !s || !*s ? 2 : !strcmp(s, "1") ? 1 : 0;
    if (mode == 0 && strcmp(s, "0"))
        sim_say("OOMPROOF_SIM_STRIPS=%s: expected 0 or 1; 0 is taken", s);
    return mode;
}

static void drop(void)
{
    char done[SIM_PATH + 8];
    snprintf(done, sizeof done, "%s.done", now.c.made);
    unlink(done);
    unlink(now.c.made);
    unlink(now.c.source);
    unlink(now.c.log);
    now.f = NULL;
}

static void at_exit(void)
{
    if (!now.f || now.of != getpid()) return;
    char done[SIM_PATH + 8];
    snprintf(done, sizeof done, "%s.done", now.c.made);
    if (access(done, F_OK) != 0) kill(-now.c.pid, SIGKILL); /* else its number may be another's */
    drop();
}

/* What a process left that ended in between by a signal. */
static void clear(const char *folder)
{
    DIR *d = opendir(folder);
    char path[SIM_PATH];
    struct stat about;
    for (struct dirent *x; d && (x = readdir(d));) {
        snprintf(path, sizeof path, "%s/%.255s", folder, x->d_name);
        if (strstr(x->d_name, SIM_BESIDE) && stat(path, &about) == 0 &&
            about.st_mtime < time(NULL) - 3600)
            unlink(path);
    }
    if (d) closedir(d);
}

static void begin(sim_function *f)
{
    static int before, failed;
    const char *folder = sim_cache_folder();
    int k = sim_kernel_index(f);
    f->settled = 1;
    if (failed || !folder || access(folder, W_OK) != 0 || k < 0 ||
        !sim_ptx_strips_pay(f->module->ptx, k))
        return;
    if (!before++) {
        clear(folder);
        atexit(at_exit);
    }
    failed = !sim_compile_beside(&now.c, f->module->ptx, k, folder);
    if (failed) return;
    now.f = f;
    now.of = getpid();
    now.launches = 0;
}

static void look(void)
{
    char done[SIM_PATH + 8], object[SIM_PATH];
    struct stat about;
    snprintf(done, sizeof done, "%s.done", now.c.made);
    if (stat(done, &about) != 0) return;
    sim_object_path(object, sim_cache_folder(), now.f, 1);
    if (about.st_size > 0 && sim_cache_seal(done) && rename(done, object) == 0)
        sim_object_load(now.f, object);
    drop();
}

void sim_strips(sim_function *f, uint64_t threads)
{
    static pid_t first; /* a process forked from it, to try something in, leaves this to it */
    if (now.f && ++now.launches % LOOKS == 0 && now.of == getpid()) look();
    if (f->settled) return;
    if (sim_strips_mode() != 2) {
        f->settled = 1;
        return;
    }
    if (!first) first = getpid();
    f->threads += threads;
    if (f->threads >= OFTEN && !now.f && first == getpid()) begin(f);
}
