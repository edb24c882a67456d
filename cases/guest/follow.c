/* follow.c - a program that starts itself in every way there is, with and without its environment,
 * to make two calls. */
#define _GNU_SOURCE
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int calls(void)
{
    void *p = NULL;
    cudaMalloc(&p, 1000); /* it may be failed, or there is no card */
    cudaFree(p);
    return 0;
}

static int waited(pid_t pid)
{
    int status = 1;
    return waitpid(pid, &status, 0) != pid || status;
}

static int spawns(const char *self, char **env, int by_path)
{
    char *const argv[] = {(char *)(uintptr_t)self, "calls", NULL};
    pid_t pid;
    int e = by_path ? posix_spawnp(&pid, self, NULL, NULL, argv, env)
                    : posix_spawn(&pid, self, NULL, NULL, argv, env);
    return e || waited(pid);
}

static void becomes(const char *how, const char *self)
{
    char *const argv[] = {(char *)(uintptr_t)self, "calls", NULL};
    char *const nothing[] = {NULL};
    if (!strcmp(how, "unset")) unsetenv("LD_PRELOAD");
    if (!strcmp(how, "execl") || !strcmp(how, "unset")) execl(self, self, "calls", (char *)NULL);
    if (!strcmp(how, "execlp")) execlp(self, self, "calls", (char *)NULL);
    if (!strcmp(how, "execle")) execle(self, self, "calls", (char *)NULL, nothing);
    if (!strcmp(how, "execle-kept")) execle(self, self, "calls", (char *)NULL, environ);
    if (!strcmp(how, "execv")) execv(self, argv);
    if (!strcmp(how, "execvp")) execvp(self, argv);
    if (!strcmp(how, "execvpe")) execvpe(self, argv, environ);
    if (!strcmp(how, "fexecve")) fexecve(open(self, O_RDONLY), argv, environ);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *self = argv[0];
    char *nothing[] = {NULL};
    if (!strcmp(how, "calls")) return calls();
    if (!strcmp(how, "no")) return 0;
    if (!strcmp(how, "waits")) {
        calls();
        fclose(stdout);
        for (;;) pause();
    }
    if (!strcmp(how, "children")) { /* it makes no call itself, and loads the runtime */
        pid_t pid = fork();
        if (pid == 0) becomes("execl", self);
        return waited(pid);
    }
    /* without CUDA's libraries, which the environment names, it cannot end well: it was started */
    if (!strcmp(how, "spawn")) return spawns(self, nothing, 0), calls();
    if (!strcmp(how, "spawnp")) return spawns(self, environ, 1);
    pid_t pid = fork();
    if (pid == 0) {
        if (!strcmp(how, "clearenv")) exit(clearenv() != 0 || (spawns(self, environ, 0), 0));
        becomes(how, self);
        _exit(127);
    }
    int bad = waited(pid);
    int lost = !strcmp(how, "clearenv") || !strcmp(how, "execle") || !strcmp(how, "unset");
    return lost ? calls() : bad;
}
