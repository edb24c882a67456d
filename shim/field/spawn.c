/* spawn.c - see spawn.h. */
#define _GNU_SOURCE
#include "field/spawn.h"
#include "family.h"
#include "launch.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int stopped;
int op_spawn_stopped(void)
{
    return stopped;
}

static void begin(const op_spawn *s, const char *root)
{
    char events[32], ring[8300];
    snprintf(events, sizeof events, "%llu", (unsigned long long)s->events);
    op_environment(root, s->sim, s->memory, s->faults, NULL, NULL);
    unsetenv("OOMPROOF_TRACE");
    setenv("OOMPROOF_RECORD", op_from_the_root(s->ring, ring, sizeof ring), 1);
    setenv("OOMPROOF_RECORD_EVENTS", events, 1);
    if (s->first) setenv("OOMPROOF_RECORD_FIRST", "1", 1);
    snprintf(events, sizeof events, "%llu", (unsigned long long)s->until);
    if (s->until) setenv("OOMPROOF_RECORD_UNTIL", events, 1);
    if (s->force) setenv("OOMPROOF_REPLAY", s->force, 1);
    int fd = s->quiet ? open("/dev/null", O_WRONLY) : -1;
    if (fd >= 0) dup2(fd, 1), dup2(fd, 2), close(fd);
    op_exec(s->command);
}

int op_spawn_run(const op_spawn *s)
{
    static char root[4096];
    static int *not_started; /* shared with the child */
    op_ending ending;
    if (!op_loader_root(root, sizeof root)) return -1;
    if (!not_started) {
        void *p =
            mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return -1;
        not_started = p;
    }
    *not_started = 0;
    fflush(NULL);
    pid_t pid = op_family_begin();
    if (pid == 0) {
        begin(s, root);
        *not_started = 1;
        _exit(OP_NOT_STARTED);
    }
    if (pid < 0) return -1;
    int status = op_family_wait(pid, s->timeout, s->quiet, &ending);
    const int ends = ending.told && ending.told != SIGUSR1 && ending.told != SIGUSR2;
    if (ends) stopped = ending.told;
    return *not_started ? OP_SPAWN_NOT_STARTED : ending.hung ? -2 : status;
}

int op_spawn_code(int status)
{
    if (status == -1) return 7;
    if (status == -2) return 6;
    if (status == OP_SPAWN_NOT_STARTED) return OP_NOT_STARTED;
    if (WIFSIGNALED(status)) return 5;
    return WEXITSTATUS(status);
}
