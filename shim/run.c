/* run.c - `oomproof run`: a program under the shim, on the device asked for. */
#define _GNU_SOURCE
#include "family.h"
#include "launch.h"
#include "nothing.h"
#include "plain.h"
#include "rules.h"
#include "scratch.h"
#include "stats.h"
#include "sweep/outputs.h"
#include "trace/former.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char op_run_help[] =
    "usage: oomproof run [--device sim|gpu|auto] [--faults RULES] [--allow-unfired] [--sim-memory "
    "SIZE]\n                    [--trace FILE] [--timeout S] [--json FILE] -- CMD...\n"
    "Runs CMD with liboomproof.so preloaded.\n\n"
    "  --device   sim: the simulated device; gpu: NVIDIA's libraries; auto: gpu where there is one "
    "(auto)\n"
    "  --faults   CALL selector... -> fault; rules are separated by ; or line ends\n"
    "             selectors: nth=N nth>=N size=/</>/<=/>=SIZE skip=N times=N budget=SIZE phase=P "
    "site=GLOB\n"
    "                        kernel=GLOB kind=h2d|d2h|d2d|h2h thread=N stream=N device=N\n"
    "                        probability=P% seed=N interval=N\n"
    "             faults:    oom  status(NAME|N)  error(NAME|N)  shape(ldc=m-1)  poison(nan, "
    "type=f64)\n"
    "                        delay(MS)  hang  crash\n"
    "             @FILE reads them from a file; without --faults, from OOMPROOF_FAULTS; none at "
    "all "
    "is an error\n"
    "  --allow-unfired  a rule that never fired is no error\n"
    "  --sim-memory     capacity of the simulated card, like 8GiB\n"
    "  --trace FILE     every call, for `oomproof trace`; FILE.PID of further processes\n"
    "  --timeout S      the command is stopped after S seconds, with the stacks of all its "
    "threads\n"
    "  --json FILE      the closing lines for programs; - is standard output\n\n"
    "exit codes: the command's own; 2 usage or bad rule, 3 a rule never fired, also where the "
    "command failed,\n4 nothing was intercepted, 5 the command was killed by a signal, 6 it ran "
    "past --timeout, 7 internal,\n127 it cannot be started\n";

typedef struct options {
    const char *device, *faults, *memory, *trace, *json;
    int sim, allow_unfired, timeout;
    char **command;
    op_rule rules[OP_MAX_RULES];
    int nrules;
} options;

/* ---- the command line ---- */
static int read_options(int argc, char **argv, options *o)
{
    static const struct option table[] = {
        {"device", 1, 0, 'd'},     {"faults", 1, 0, 'f'}, {"allow-unfired", 0, 0, 'u'},
        {"sim-memory", 1, 0, 'm'}, {"trace", 1, 0, 't'},  {"timeout", 1, 0, 'T'},
        {"json", 1, 0, 'j'},       {"help", 0, 0, 'h'},   {0}};
    const char *timeout = NULL;
    uint64_t n;
    int c;
    *o = (options){.device = "auto"};
    while ((c = getopt_long(argc, argv, "+h", table, NULL)) != -1) {
        if (op_usage_value(argv)) return 2;
        switch (c) {
        case 'd': o->device = optarg; break;
        case 'f': o->faults = optarg; break;
        case 'u': o->allow_unfired = 1; break;
        case 'm': o->memory = optarg; break;
        case 't': o->trace = optarg; break;
        case 'T': timeout = optarg; break;
        case 'j': o->json = op_output_named(optarg); break;
        case 'h': fputs(op_run_help, stdout); return -1;
        default: return op_usage_option(table, argv);
        }
    }
    if ((o->sim = op_device(o->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", o->device);
    if (o->memory && (!op_number(o->memory, &n) || n < 2 << 20 || n > (uint64_t)3 << 40))
        return op_usage("--sim-memory: not a size from 2MiB to 3TiB, like 8GiB: ", o->memory);
    if (timeout && (!op_number(timeout, &n) || n < 1 || n > 1 << 30))
        return op_usage("--timeout: not a number of seconds: ", timeout);
    o->timeout = timeout ? (int)n : 0;
    if (optind >= argc) return op_usage("no command to run", "");
    o->command = argv + optind;
    if (!o->faults) o->faults = op_rules_of_environment();
    const int stays = o->json && op_output_stays(o->json);
    if (stays && o->trace && op_outputs_same(o->json, o->trace))
        return op_usage("--json would be written over --trace: ", o->json);
    if (o->json && !op_output_writable(o->json)) { /* found out before the run, not after it */
        fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", o->json, strerror(errno));
        return 7;
    }
    if (stays && o->faults && *o->faults == '@' && op_outputs_same(o->json, o->faults + 1))
        return op_usage("--json would be written over --faults: ", o->json);
    if ((o->nrules = op_rules_given(&o->faults, o->rules)) < 0) return 2;
    return 0;
}

/* ---- the end ---- */
typedef struct totals {
    uint64_t calls, allocations, launches, library;
    int fired, unfired;
} totals;

static totals total(const op_stats *s, int nrules)
{
    totals t = {0};
    for (int i = 0; i < nrules; i++) t.fired += s->acted[i] > 0, t.unfired += !s->acted[i];
    for (int id = 0; id < OP_CALLS; id++) {
        const uint64_t n = op_stats_calls(s, id);
        t.calls += n;
        if (op_table[id].flags & OP_F_ALLOC) t.allocations += n;
        if (op_table[id].flags & OP_F_LAUNCH) t.launches += n;
        if (op_table[id].lib != OP_CUDA) t.library += n;
    }
    return t;
}

/* Of a rule that never fired. */
static void not_heard(int rule, const char *selector, const char *pattern, const op_heard *h)
{
    const char *near = *pattern ? op_heard_near(h, pattern) : NULL;
    if (near)
        fprintf(stderr,
                "oomproof: rule %d: %s=%s is none that its calls had; near to it are %s (* and ? "
                "stand for any letters)\n",
                rule + 1, selector, pattern, near);
}

/* The closing lines, and whether they make the run fail. */
static int closing(const op_stats *s, const options *o, int failed)
{
    totals t = total(s, o->nrules);
    fprintf(stderr,
            "oomproof: %llu calls intercepted (%llu allocations, %llu launches, %llu library), %d "
            "of %d rules fired\n",
            (unsigned long long)t.calls, (unsigned long long)t.allocations,
            (unsigned long long)t.launches, (unsigned long long)t.library, t.fired, o->nrules);
    for (int i = 0; i < o->nrules; i++)
        fprintf(stderr, "oomproof: rule %d '%s' matched %llu, fired %llu\n", i + 1,
                o->rules[i].text, (unsigned long long)op_stats_matched(s, i),
                (unsigned long long)s->acted[i]);
    for (int i = 0; i < o->nrules; i++) {
        const op_rule *r = &o->rules[i];
        if (s->acted[i] || !s->threads) continue;
        not_heard(i, "kernel", r->kernel, &s->kernels);
        not_heard(i, "site", r->site, &s->sites);
    }
    if (s->armed)
        fprintf(stderr,
                "oomproof: the program armed rules of its own %llu time%s: matched %llu, fired "
                "%llu%s\n",
                (unsigned long long)s->armed, s->armed == 1 ? "" : "s",
                (unsigned long long)s->armed_matched, (unsigned long long)s->armed_fired,
                o->nrules ? "; those of the command were no longer in force" : "");
    if (s->trace_lost)
        fprintf(stderr, "oomproof: %llu calls are not in the trace\n",
                (unsigned long long)s->trace_lost);
    if (s->sites_lost)
        fprintf(stderr, "oomproof: %llu times a call site was \"?\" for lack of room\n",
                (unsigned long long)s->sites_lost);
    int unseen = op_nothing_seen(s, o->command[0], t.calls != 0, o->nrules, failed);
    return unseen ? unseen : t.unfired && !o->allow_unfired ? 3 : 0;
}

static int write_json(const op_stats *s, const options *o, int code)
{
    totals t = total(s, o->nrules);
    FILE *f = op_output_open(o->json, op_output_stays(o->json) ? "we" : "ae");
    if (f) {
        fprintf(
            f,
            "{\"exit\":%d,\"processes\":%llu,\"calls\":%llu,\"allocations\":%llu,\"launches\":%llu,"
            "\"library\":%llu,\"trace_lost\":%llu,\"by_call\":{",
            code, (unsigned long long)s->processes, (unsigned long long)t.calls,
            (unsigned long long)t.allocations, (unsigned long long)t.launches,
            (unsigned long long)t.library, (unsigned long long)s->trace_lost);
        for (int id = 0, n = 0; id < OP_CALLS; id++)
            if (op_stats_calls(s, id))
                fprintf(f, "%s\"%s\":%llu", n++ ? "," : "", op_table[id].name,
                        (unsigned long long)op_stats_calls(s, id));
        fputs("},\"rules\":[", f);
        for (int i = 0; i < o->nrules; i++) {
            fprintf(f, "%s{\"rule\":\"", i ? "," : "");
            char text[sizeof o->rules[i].text];
            op_plain_text(text, sizeof text, o->rules[i].text);
            for (const char *c = text; *c; c++)
                if (*c == '"' || *c == '\\')
                    fprintf(f, "\\%c", *c);
                else
                    fputc(*c, f);
            fprintf(f, "\",\"matched\":%llu,\"fired\":%llu}",
                    (unsigned long long)op_stats_matched(s, i), (unsigned long long)s->acted[i]);
        }
        fputs("]", f);
        if (s->armed)
            fprintf(f, ",\"armed\":{\"times\":%llu,\"matched\":%llu,\"fired\":%llu}",
                    (unsigned long long)s->armed, (unsigned long long)s->armed_matched,
                    (unsigned long long)s->armed_fired);
        fputs("}\n", f);
    }
    if (f && !ferror(f) && fclose(f) == 0) return code;
    fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", o->json, strerror(errno));
    return code ? code : 7;
}

/* ---- the run ---- */
/* A command that fails passes for one whose fault came, where a test expects its code: a rule that
 * never fired is told in its place. Without rules, nothing was lost by what was not seen. */
static int own_code(const options *o, int code, int own)
{
    if (!code || !o->nrules || o->allow_unfired) return own;
    fprintf(stderr,
            "oomproof: the command itself ended with %d, and %s: exit code %d (--allow-unfired "
            "gives the command's own)\n",
            own, code == 3 ? "a rule never fired" : "no rule can have fired", code);
    return code;
}

/* The counters, in the scratch folder. A process that changes its user still finds them by their
 * name, which only the run's own processes know; only root can start such. NULL: said. */
static op_stats *make_stats(const char *scratch, const char *path)
{
    const int other_users = geteuid() == 0;
    op_stats *stats = MAP_FAILED;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    /* a hole would be a SIGBUS */
    int full = fd >= 0 ? posix_fallocate(fd, 0, sizeof *stats) : errno;
    const int rows = !full;
    if (fd >= 0 && full) full = posix_fallocate(fd, 0, offsetof(op_stats, by_thread));
    if (!full) stats = mmap(NULL, sizeof *stats, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (stats != MAP_FAILED && other_users &&
        (fchmod(fd, 0666) != 0 || chmod(scratch, 0711) != 0)) /* told where it matters */
        errno = 0;
    if (fd >= 0) close(fd);
    if (stats != MAP_FAILED) {
        stats->threads = rows ? OP_STATS_THREADS : 0;
        return stats;
    }
    fprintf(stderr, "oomproof: error: %s: %s\n", path, strerror(full ? full : errno));
    return NULL;
}

static void start(const options *o, const char *root, const char *stats_path, op_stats *stats)
{
    char path[8200];
    op_environment(root, o->sim, o->memory, o->faults, stats_path, NULL);
    if (o->trace) {
        const char *record = getenv("OOMPROOF_RECORD");
        if (record && *record)
            fprintf(stderr,
                    "oomproof: --trace takes the place of OOMPROOF_RECORD=%s: a process "
                    "writes one of them\n",
                    record);
        unsetenv("OOMPROOF_RECORD");
        setenv("OOMPROOF_TRACE", op_from_the_root(o->trace, path, sizeof path), 1);
    }
    op_exec(o->command);
    stats->not_started = 1;
    _exit(OP_NOT_STARTED);
}

int op_run_command(int argc, char **argv)
{
    static options o;
    char root[4096], scratch[OP_SCRATCH_ROOM], stats_path[OP_SCRATCH_ROOM + 8];
    op_ending ending;
    op_stats *stats;
    int code = read_options(argc, argv, &o);
    if (code) return code < 0 ? 0 : code;
    if (!op_loader_root(root, sizeof root) || !op_scratch("run", scratch)) return 7;
    snprintf(stats_path, sizeof stats_path, "%s/stats", scratch);
    code = !(stats = make_stats(scratch, stats_path)) ? 7
           : o.trace && !op_trace_make_way(o.trace)   ? 2
                                                      : 0;
    if (code) {
        op_scratch_remove(scratch);
        return code;
    }
    pid_t pid = op_family_begin();
    if (pid == 0) start(&o, root, stats_path, stats);
    int status = pid > 0 ? op_family_wait(pid, o.timeout, 0, &ending) : 0;
    op_scratch_remove(scratch);
    if (pid < 0) return 7;
    if (stats->not_started) /* there is nothing else to say */
        return o.json ? write_json(stats, &o, OP_NOT_STARTED) : OP_NOT_STARTED;
    code = closing(stats, &o, ending.hung || status != 0);
    if (ending.left)
        fprintf(stderr,
                "oomproof: %d process(es) that the command started still run (%s, process %ld): "
                "what they call from here on is not counted; let the command wait for them\n",
                ending.left, ending.name, (long)ending.first);
    if (ending.hung)
        code = 6;
    else if (WIFSIGNALED(status)) {
        fprintf(stderr, "oomproof: the command was killed by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
        code = 5;
    } else if (WEXITSTATUS(status))
        code = own_code(&o, code, WEXITSTATUS(status));
    return o.json ? write_json(stats, &o, code) : code;
}
