/* events_write.c - does to event files what the lines of its input say, and answers each with the
 * status and the message: open STEP FOLDER, scalar STEP VALUE TAG, close, limit BYTES, kill,
 * faster FOLDER (another run starts there in the midst of the next open). */
#include "loop/events.h"
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char faster[9000];
int __real_closedir(DIR *d);
int __wrap_closedir(DIR *d);

/* The folder has been looked through, the file is not there yet: the moment for somebody else. */
int __wrap_closedir(DIR *d)
{
    char folder[sizeof faster];
    pt_events *other;
    int got = __real_closedir(d);
    memcpy(folder, faster, sizeof folder);
    *faster = 0;
    if (*folder &&
        (pt_events_open(folder, 0, &other) != PT_OK ||
         pt_events_scalar(other, 0, "other", 1) != PT_OK || pt_events_close(other) != PT_OK))
        abort();
    return got;
}

/* As a full disk, but for a process: a write gets as far as there is room, the next one fails. */
static int limit(const char *bytes)
{
    struct rlimit r;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &r);
    r.rlim_cur = *bytes == '-' ? r.rlim_max : strtoull(bytes, NULL, 10);
    return setrlimit(RLIMIT_FSIZE, &r) == 0 ? 0 : 9;
}

int main(void)
{
    pt_events *e = NULL;
    char line[9000], text[9000], value[64];
    int64_t step;
    while (fgets(line, sizeof line, stdin)) {
        int st = 9;
        *text = 0;
        pt_error_clear();
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "open %" SCNd64 " %8999[^\n]", &step, text) >= 1)
            st = pt_events_open(text, step, &e);
        else if (sscanf(line, "scalar %" SCNd64 " %63s %8999[^\n]", &step, value, text) >= 2)
            st = pt_events_scalar(e, step, text, strtod(value, NULL));
        else if (sscanf(line, "limit %63s", value) == 1)
            st = limit(value);
        else if (sscanf(line, "faster %8999[^\n]", faster) == 1)
            st = 0;
        else if (!strcmp(line, "close"))
            st = pt_events_close(e), e = NULL;
        else if (!strcmp(line, "kill"))
            raise(SIGKILL);
        printf("%d %s\n", st, pt_error_last()->message);
        fflush(stdout);
    }
    return pt_events_close(e) == PT_OK ? 0 : 9;
}
