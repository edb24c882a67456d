/* python.c - the commands that are Python programs, installed beside the library: import, whose
 * unpickler can be told to know no names, and report. */
#define _GNU_SOURCE
#include "launch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Becomes python3 on DIR/lib/oomproof/NAME with these words; a code when it cannot. */
static int become(const char *name, char *const *first, int argc, char **argv)
{
    static char root[4096], script[4200];
    char **all = calloc((size_t)argc + 8, sizeof *all);
    int n = 0;
    if (!all || !op_root(root, sizeof root)) {
        free(all);
        return 7;
    }
    snprintf(script, sizeof script, "%s/lib/oomproof/%s", root, name);
    all[n++] = (char *)"python3";
    all[n++] = (char *)"-I"; /* nothing of the folder it runs in */
    all[n++] = script;
    for (; first && *first; first++) all[n++] = *first;
    for (int i = 1; i < argc; i++) all[n++] = argv[i];
    execvp(all[0], all);
    fprintf(stderr, "oomproof: error: python3 cannot be started, which %s needs: %s\n", name,
            strerror(errno));
    free(all);
    return 7;
}

int op_import_command(int argc, char **argv)
{
    return become("import.py", NULL, argc, argv);
}

int op_report_page(const char *json, const char *page)
{
    char *words[] = {(char *)"report", (char *)"--html", (char *)page, (char *)json, NULL};
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) _exit(op_report_command(4, words));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    /* 2: something is missing, as the other shards of this one, which the page says */
    return pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 2 || access(page, F_OK) != 0 ? 7
                                                                                               : 0;
}

int op_report_command(int argc, char **argv)
{
    static char root[4096], self[4200];
    char *first[] = {(char *)"--oomproof", self, NULL};
    if (!op_root(root, sizeof root)) return 7;
    snprintf(self, sizeof self, "%s/bin/oomproof", root);
    return become("report", first, argc, argv);
}
