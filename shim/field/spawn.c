/* spawn.c - see spawn.h. */
#define _GNU_SOURCE
#include "field/spawn.h"
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t running;
static volatile sig_atomic_t stopped;
static void forward(int s)
{
    stopped = s;
    if (running > 0) kill(running, s);
}

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
    if (s->timeout) setpgid(0, 0);
    execvp(s->command[0], s->command);
    fprintf(stderr, "oomproof: error: %s cannot be started: %s\n", s->command[0], strerror(errno));
    _exit(127);
}

int op_spawn_run(const op_spawn *s)
{
    static char root[4096];
    int status = 0;
    sigset_t set, before;
    struct timespec end, now;
    if (!op_loader_root(root, sizeof root)) return -1;
    fflush(NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += s->timeout;
    pid_t pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        begin(s, root);
    }
    running = pid;
    signal(SIGINT, forward);
    signal(SIGTERM, forward);
    while (pid > 0) {
        pid_t got = waitpid(pid, &status, s->timeout ? WNOHANG : 0);
        if (got == pid) break;
        if (got < 0 && errno != EINTR) break;
        if (!s->timeout) continue;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec >= end.tv_sec) {
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            status = -2;
            break;
        }
        sigtimedwait(&set, NULL, &(struct timespec){end.tv_sec - now.tv_sec, 0});
    }
    running = 0;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid < 0 ? -1 : status;
}

int op_spawn_code(int status)
{
    if (status == -1) return 7;
    if (status == -2) return 6;
    if (WIFSIGNALED(status)) return 5;
    return WEXITSTATUS(status);
}
