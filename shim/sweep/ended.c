/* ended.c - see ended.h. */
#define _GNU_SOURCE
#include "sweep/ended.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

static void copy(FILE *to, const char *path, int64_t most)
{
    char block[4096];
    FILE *from = fopen(path, "re");
    size_t n;
    while (from && most && (n = fread(block, 1, most < 4096 ? (size_t)most : 4096, from)) > 0) {
        fwrite(block, 1, n, to);
        most -= (int64_t)n;
    }
    if (from) fclose(from);
}

static int equal(const char *a, const char *b)
{
    FILE *f = fopen(a, "re"), *g = fopen(b, "re");
    int x = f && g ? 0 : 1, y = 0;
    while (x == y && x != EOF) x = getc_unlocked(f), y = getc_unlocked(g);
    if (f) fclose(f);
    if (g) fclose(g);
    return x == y;
}

int op_compare_failed, op_output_lost;

/* Whether what runs print had room: else it is not whole. */
static int has_room(const op_sweep_file *s)
{
    struct statvfs v;
    return statvfs(s->folder, &v) != 0 || v.f_bavail * v.f_frsize > 0;
}

/* All of what the run printed: before its fault, where it was one with the walker, and after. */
static int printed_the_same(const op_sweep_file *s, const op_sweep_options *o, const op_result *r,
                            const char *way)
{
    char wanted[700], own[700], got[700], before[700];
    snprintf(wanted, sizeof wanted, "%s/reference.out", s->folder);
    snprintf(before, sizeof before, "%s/%s.out", s->folder, way);
    snprintf(own, sizeof own, "%s/%d.out", s->folder, (int)(r - s->result));
    snprintf(got, sizeof got, "%s/whole.out", s->folder);
    FILE *to = fopen(got, "we");
    if (!to) return 0;
    copy(to, before, r->out_at > 0 ? r->out_at : 0);
    copy(to, own, INT64_MAX);
    if (fclose(to) != 0 || !has_room(s)) {
        op_output_lost = 1;
        return 0;
    }
    if (!o->compare) return equal(wanted, got);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        char line[4200];
        snprintf(line, sizeof line, "%s \"$0\" \"$1\" >/dev/null", o->compare);
        execl("/bin/sh", "sh", "-c", line, wanted, got, (char *)NULL);
        _exit(127);
    }
    int status = 1;
    if (pid < 0 || waitpid(pid, &status, 0) != pid) return 0;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127))
        op_compare_failed = 1;
    return status == 0;
}

/* A line of the program's own, after its fault. */
static int told(const op_sweep_file *s, const op_result *r, const char *stream)
{
    char path[700], line[400];
    int found = 0, whole = 1;
    snprintf(path, sizeof path, "%s/%d.%s", s->folder, (int)(r - s->result), stream);
    FILE *f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        found = whole && strncmp(line, "oomproof:", 9) != 0 && line[strspn(line, " \t\r\n")];
        whole = strchr(line, '\n') != NULL;
    }
    if (f) fclose(f);
    return found;
}

/* It ended within its step, which is not judged then. What cannot be recovered may end it, with a
 * cause that reaches the user. */
static void ended_within(const op_sweep_file *s, op_result *r, int code, const char *what)
{
    int oom = r->fault == OP_FAULT_OOM;
    if (!oom && r->retries) {
        r->verdict = OP_V_SWALLOWED;
        snprintf(r->why, sizeof r->why,
                 "retried, though it was no out-of-memory; then ended within its %s", what);
    } else if (!code) {
        r->verdict = oom ? OP_V_DRIFT : OP_V_SWALLOWED;
        snprintf(r->why, sizeof r->why, "ended within its %s with exit code 0, as if it were done",
                 what);
    } else if (oom && r->mode == OP_ONCE && r->second < 0) {
        r->verdict = OP_V_DRIFT;
        snprintf(r->why, sizeof r->why,
                 "a transient out-of-memory was not recovered: ended within its %s with exit code "
                 "%d",
                 what, code);
    } else if (!told(s, r, "err") && !told(s, r, "out")) {
        r->verdict = OP_V_SWALLOWED;
        snprintf(r->why, sizeof r->why, "ended within its %s with exit code %d, and said nothing",
                 what, code);
    } else {
        r->verdict = OP_V_REFUSED;
        snprintf(r->why, sizeof r->why, "exit code %d within the %s", code, what);
    }
}

void op_judge_ended(op_sweep_file *s, const op_sweep_options *o, op_result *r, int status,
                    const char *way)
{
    const char *what = *s->part ? "part" : "step";
    if (r->closed || r->verdict == OP_V_CRASH || r->verdict == OP_V_HANG) return;
    if (s->marked) {
        if (r->verdict == OP_V_RUNNING) ended_within(s, r, WEXITSTATUS(status), what);
        if (!o->compare || r->verdict != OP_V_EXACT || printed_the_same(s, o, r, way)) return;
        r->verdict = OP_V_DRIFT;
        snprintf(r->why, sizeof r->why,
                 "what it printed until the %s ended is not right (--compare)", what);
        return;
    }
    r->closed = 1;
    if (WEXITSTATUS(status) && o->must_recover && r->fault == OP_FAULT_OOM && r->mode == OP_ONCE &&
        r->second < 0) {
        r->verdict = OP_V_DRIFT;
        snprintf(r->why, sizeof r->why,
                 "a transient out-of-memory was not recovered: exit code %d (--must-recover)",
                 WEXITSTATUS(status));
    } else if (WEXITSTATUS(status)) {
        r->verdict = OP_V_REFUSED;
        snprintf(r->why, sizeof r->why, "exit code %d", WEXITSTATUS(status));
    } else if (r->verdict == OP_V_EXACT && !printed_the_same(s, o, r, way)) {
        r->verdict = r->fault == OP_FAULT_OOM ? OP_V_DRIFT : OP_V_SWALLOWED;
        snprintf(r->why, sizeof r->why, "exit code 0, but it printed something else");
    } else if (r->verdict == OP_V_EXACT && r->fault != OP_FAULT_OOM) {
        r->verdict = OP_V_SWALLOWED;
        snprintf(r->why, sizeof r->why, "exit code 0 after an error that is no out-of-memory");
    }
}
