/* import.c - `oomproof import`: starts import.py, which is installed beside the library. Reading
 * what strangers wrote is Python's work: its unpickler can be told to know no names. */
#define _GNU_SOURCE
#include "launch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int op_import_command(int argc, char **argv)
{
    static char root[4096], script[4200];
    char **all = calloc((size_t)argc + 3, sizeof *all);
    if (!all || !op_root(root, sizeof root)) return 7;
    snprintf(script, sizeof script, "%s/lib/oomproof/import.py", root);
    all[0] = (char *)"python3";
    all[1] = (char *)"-I"; /* nothing of the folder it runs in */
    all[2] = script;
    for (int i = 1; i < argc; i++) all[i + 2] = argv[i];
    execvp(all[0], all);
    fprintf(stderr, "oomproof: error: python3 cannot be started, which import needs: %s\n",
            strerror(errno));
    free(all);
    return 7;
}
