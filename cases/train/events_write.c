/* events_write.c - does to event files what the lines of its input say, and answers each with the
 * status and the message: open STEP FOLDER, scalar STEP VALUE TAG, close, limit BYTES, kill. */
#include "loop/events.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

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
        else if (!strcmp(line, "close"))
            st = pt_events_close(e), e = NULL;
        else if (!strcmp(line, "kill"))
            raise(SIGKILL);
        printf("%d %s\n", st, pt_error_last()->message);
        fflush(stdout);
    }
    return pt_events_close(e) == PT_OK ? 0 : 9;
}
