/* threads.c - what a fork would leave behind: the other threads of this process. */
#define _GNU_SOURCE
#include "sweep.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Workers of the simulated device are begun again in a child. */
static int is_ours(const char *name)
{
    return !strcmp(name, "oomproof-sim");
}

int op_sweep_threads(char *names, size_t bytes)
{
    int n = 0;
    size_t used = 0;
    long me = syscall(SYS_gettid);
    DIR *d = opendir("/proc/self/task");
    *names = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[64], name[32] = "";
        long tid = atol(e->d_name);
        if (tid <= 0 || tid == me) continue;
        snprintf(path, sizeof path, "/proc/self/task/%ld/comm", tid);
        FILE *f = fopen(path, "re");
        if (!f) continue; /* it has ended */
        if (fgets(name, sizeof name, f)) name[strcspn(name, "\n")] = 0;
        fclose(f);
        if (is_ours(name)) continue;
        n++;
        if (used + strlen(name) + 3 < bytes && !strstr(names, name))
            used += (size_t)sprintf(names + used, "%s%s", used ? ", " : "", name);
    }
    if (d) closedir(d);
    return n;
}
