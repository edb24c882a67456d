/* stacks.c - see stacks.h. By eu-stack, else by gdb; where neither works, what /proc says. */
#define _GNU_SOURCE
#include "stacks.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 4096, TOOL_SECONDS = 30 };
typedef struct process {
    pid_t pid, parent;
    char state, name[32];
} process;
typedef struct tree {
    process of[MOST];
    int n;
} tree;

/* A line of /proc; the name in it may hold anything, so that it is read from its end. */
static int read_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, room - 1) : -1;
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static int read_stat(const char *path, process *p)
{
    char text[512];
    long parent;
    if (!read_text(path, text, sizeof text)) return 0;
    char *open_ = strchr(text, '('), *close_ = strrchr(text, ')');
    if (!open_ || !close_ || sscanf(close_ + 1, " %c %ld", &p->state, &parent) != 2) return 0;
    p->pid = (pid_t)atol(text);
    p->parent = (pid_t)parent;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(close_ - open_ - 1), open_ + 1);
    return 1;
}

static int is_in(const tree *t, pid_t pid)
{
    for (int i = 0; i < t->n; i++)
        if (t->of[i].pid == pid) return 1;
    return 0;
}

static pid_t strangers[256];
static int nstrangers;

static int is_stranger(pid_t pid)
{
    for (int i = 0; i < nstrangers; i++)
        if (strangers[i] == pid) return 1;
    return 0;
}

/* All descendants: those whose parents are gone have become children of this process. One may have
 * a lower number than its parent: again until none is new. */
static void find(tree *t)
{
    int before;
    const pid_t self = getpid();
    t->n = 0;
    do {
        DIR *d = opendir("/proc");
        before = t->n;
        for (struct dirent *e; d && (e = readdir(d));) {
            char path[300];
            process p;
            if (!isdigit((unsigned char)*e->d_name)) continue;
            snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
            if (t->n < MOST && read_stat(path, &p) && p.state != 'Z' && p.state != 'X' &&
                !is_in(t, p.pid) && !is_stranger(p.pid) && (p.parent == self || is_in(t, p.parent)))
                t->of[t->n++] = p;
        }
        if (d) closedir(d);
    } while (t->n > before);
}

static tree found;

void op_strangers(void)
{
    find(&found);
    for (int i = 0; i < found.n && nstrangers < (int)(sizeof strangers / sizeof *strangers); i++)
        strangers[nstrangers++] = found.of[i].pid;
}

int op_left_behind(pid_t *first, char name[32])
{
    find(&found);
    if (found.n) *first = found.of[0].pid;
    if (found.n) memcpy(name, found.of[0].name, 32);
    return found.n;
}

/* A debugger that hangs itself must not keep the command from its end. */
static void wait_at_most(pid_t tool, int *status)
{
    struct timespec end, now, left = {0};
    sigset_t set, before;
    pid_t got;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += TOOL_SECONDS;
    while ((got = waitpid(tool, status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        left.tv_sec = end.tv_sec - now.tv_sec;
        if (left.tv_sec <= 0) kill(tool, SIGKILL);
        left.tv_sec = left.tv_sec > 0 ? left.tv_sec : 1;
        sigtimedwait(&set, NULL, &left);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* 0: it printed the stacks; 1: it could not; 2: it is not installed */
static int by_tool(char *const command[])
{
    int status = 0;
    pid_t tool = fork();
    if (tool == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL); /* a debugger waits for SIGCHLD */
        int nothing = open("/dev/null", O_RDWR);
        dup2(2, 1);
        dup2(nothing, 0);
        if (strcmp(command[0], "gdb") == 0) dup2(nothing, 2); /* what it could not load */
        unsetenv("DEBUGINFOD_URLS");                          /* no network */
        execvp(command[0], command);
        _exit(127);
    }
    if (tool < 0) return 1;
    wait_at_most(tool, &status);
    return !status ? 0 : WIFEXITED(status) && WEXITSTATUS(status) == 127 ? 2 : 1;
}

/* What the kernel says of each thread. */
static void by_proc(pid_t pid)
{
    char path[300], where[64];
    snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        process p;
        if (!isdigit((unsigned char)*e->d_name)) continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/stat", (long)pid, e->d_name);
        if (!read_stat(path, &p)) continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%s/wchan", (long)pid, e->d_name);
        if (!read_text(path, where, sizeof where) || !strcmp(where, "0")) strcpy(where, "?");
        fprintf(stderr, "  thread %ld (%s) state %c, in the kernel's %s\n", (long)p.pid, p.name,
                p.state, where);
    }
    if (d) closedir(d);
}

void op_stacks(void)
{
    tree *t = &found;
    int lacking = 0;
    find(t);
    for (int i = 0; i < t->n; i++) {
        char number[32];
        snprintf(number, sizeof number, "%ld", (long)t->of[i].pid);
        fprintf(stderr, "oomproof: process %s (%s), state %c:\n", number, t->of[i].name,
                t->of[i].state);
        char *const stack[] = {"eu-stack", "-p", number, NULL};
        char *const gdb[] = {"gdb", "-nx", "-batch", "-p", number, "-ex", "thread apply all bt",
                             NULL};
        int first = by_tool(stack), second = first ? by_tool(gdb) : 0;
        if (first && second) by_proc(t->of[i].pid);
        lacking |= first == 2 && second == 2 ? 1 : first && second ? 2 : 0;
    }
    if (lacking & 1) fprintf(stderr, "oomproof: for stacks, install elfutils (eu-stack) or gdb\n");
    if (lacking & 2)
        fprintf(stderr, "oomproof: some stacks could not be read: debuggers need ptrace, see "
                        "/proc/sys/kernel/yama/ptrace_scope; in a container, --cap-add "
                        "SYS_PTRACE\n");
}

void op_kill_tree(void)
{
    const struct timespec moment = {0, 1000000};
    for (find(&found); found.n; find(&found)) {
        for (int i = 0; i < found.n; i++) kill(found.of[i].pid, SIGSTOP); /* starts no more */
        for (int i = 0; i < found.n; i++) kill(found.of[i].pid, SIGKILL);
        nanosleep(&moment, NULL); /* a killed process is there until it has let go of all */
    }
}
