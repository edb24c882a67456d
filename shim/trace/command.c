/* command.c - `oomproof trace FILE`: a trace, for people, as CSV or as JSON lines. */
#include "json.h"
#include "launch.h"
#include "trace/read.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char op_trace_help[] =
    "usage: oomproof trace FILE [--csv|--json]\n"
    "Prints what `oomproof run --trace FILE` wrote, also after a kill or a full disk.\n\n"
    "  --csv    with a line of names; --json: an object a line\n\n"
    "columns: seconds since the start; tN the thread, sN the stream, by first use (s0: the "
    "default\n"
    "one); the call; bytes; #N the N-th allocation of the process, also where it is freed (#0: of\n"
    "none, as of a call that failed); -> the code that was returned (0: success), INJECTED where "
    "a\n"
    "rule made it; [the phase]; the site, as module:function#ordinal. --faults site=GLOB is held\n"
    "against the site as it stands here: functions of C++ by their mangled names (site=*grow*)\n\n"
    "exit codes: 0 whole, 1 damaged further on, 2 usage or not a trace, 7 the output cannot be "
    "written\n";

enum { PLAIN, CSV, JSON };

static void text(const char *s, int form)
{
    if (form == JSON) op_json_text(stdout, s);
    int quoted = form == CSV && strpbrk(s, ",\""); /* RFC 4180 */
    if (quoted) putchar('"');
    for (; *s && form != JSON; s++) {
        unsigned char c = (unsigned char)*s;
        if (quoted && c == '"') putchar('"');
        putchar(c < 0x20 || c > 0x7e ? '?' : c);
    }
    if (quoted) putchar('"');
}

static void step(const op_step_event *e, int form)
{
    static const char *const shape[] = {
        "%12.6f step: %llu points, %llu trained, %llu dropped, %u attempts, %u splits%s\n", "",
        "{\"seconds\":%.9f,\"points\":%llu,\"trained\":%llu,\"dropped\":%llu,\"attempts\":%u,"
        "\"splits\":%u%s}\n"};
    if (form == CSV) return; /* its columns are those of calls */
    printf(shape[form], (double)e->ns * 1e-9, (unsigned long long)e->points,
           (unsigned long long)e->trained, (unsigned long long)e->dropped, e->attempts, e->splits,
           !e->failed     ? ""
           : form == JSON ? ",\"failed\":true"
                          : ", failed");
}

static void sample(const op_step_event *e, int form)
{
    if (form == CSV) return;
    printf(form == JSON ? "{\"seconds\":%.9f,\"sample\":%llu}\n"
                        : "%12.6f sample of the batch: %llu points\n",
           (double)e->ns * 1e-9, (unsigned long long)e->points);
}

/* What a program writes, and what a rule is written for: nvcc makes __cudaLaunchKernel of <<<>>>,
 * the header of the runtime other names where each thread has its own default stream. */
static void called(const char *name, char *out, size_t room)
{
    snprintf(out, room, "%.60s", name + (strncmp(name, "__cuda", 6) ? 0 : 2));
    size_t n = strlen(out);
    if (n > 5 && (!strcmp(out + n - 5, "_ptsz") || !strcmp(out + n - 5, "_ptds"))) out[n - 5] = 0;
}

static void event(const op_trace *t, const op_event *e, int form)
{
    if (e->kind != OP_RECORD_EVENT) {
        const op_step_event *s = (const op_step_event *)(const void *)e;
        if (e->kind == OP_RECORD_STEP)
            step(s, form);
        else
            sample(s, form);
        return;
    }
    static const char *const shape[] = {
        "%12.6f t%u s%u %-28s %12llu bytes  #%-8llu -> %d%s  ", "%.9f,%u,%u,%s,%llu,%llu,%d,%s,",
        "{\"seconds\":%.9f,\"thread\":%u,\"stream\":%u,\"call\":\"%s\",\"bytes\":%llu,\"pointer\":"
        "%llu,\"result\":%d,\"injected\":%s,\"phase\":"};
    char call[64];
    called(op_trace_name(t, OP_NAME_CALL, e->call), call, sizeof call);
    for (char *c = call; *c; c++)
        if (*c < 0x21 || *c > 0x7e || *c == '"' || *c == '\\' || *c == ',') *c = '?';
    const char *injected = form == PLAIN ? (e->injected ? " INJECTED" : "")
                           : form == CSV ? (e->injected ? "1" : "0")
                                         : (e->injected ? "true" : "false");
    printf(shape[form], (double)e->ns * 1e-9, e->thread, e->stream, call,
           (unsigned long long)e->bytes, (unsigned long long)e->pointer, e->result, injected);
    text(op_trace_name(t, OP_NAME_PHASE, e->phase), form);
    fputs(form == JSON ? ",\"site\":" : form == CSV ? "," : "  ", stdout);
    text(op_trace_name(t, OP_NAME_SITE, e->site), form);
    puts(form == JSON ? "}" : "");
}

int op_trace_command(int argc, char **argv)
{
    static const struct option table[] = {
        {"csv", 0, 0, CSV}, {"json", 0, 0, JSON}, {"help", 0, 0, 'h'}, {0}};
    int form = PLAIN, c;
    char error[128];
    struct stat st;
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'h') {
            fputs(op_trace_help, stdout);
            return 0;
        }
        if (c != CSV && c != JSON) return op_usage_option(table, argv);
        form = c;
    }
    if (optind + 1 != argc) return op_usage("expected one trace", "");
    const char *path = argv[optind];
    static const char how[] = "; oomproof run --trace FILE writes one\n";
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fprintf(stderr, "oomproof: error: %s: %s", path,
                fd < 0 ? strerror(errno) : "not a regular file");
        fputs(how, stderr);
        return 2;
    }
    size_t n = (size_t)st.st_size;
    void *p = n ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    op_trace *t = p != MAP_FAILED ? op_trace_open(p, n, error, sizeof error) : NULL;
    if (!t) {
        fprintf(stderr, "oomproof: error: %s: %s%s", path,
                p == MAP_FAILED ? strerror(errno) : error,
                p != MAP_FAILED && n > 8 && !memcmp(p, "{\"oomt\":", 8)
                    ? "; it is a recording: oomproof replay FILE shows its failures\n"
                    : how);
        return 2;
    }
    if (form == CSV) puts("seconds,thread,stream,call,bytes,pointer,result,injected,phase,site");
    for (const op_event *e; (e = op_trace_next(t));) event(t, e, form);
    int damaged = op_trace_damage(t) != NULL;
    if (damaged)
        fprintf(stderr, "oomproof: %s: %s; the rest is not shown\n", path, op_trace_damage(t));
    op_trace_close(t);
    munmap(p, n);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "oomproof: error: the output cannot be written: %s\n", strerror(errno));
        return 7;
    }
    return damaged;
}
