/* command.c - `oomproof sweep`: a reference run, then every fault point, by forking at it or by one
 * run each, and a last run that must fire nothing. */
#define _GNU_SOURCE
#include "launch.h"
#include "scratch.h"
#include "sweep/ended.h"
#include "sweep/outputs.h"
#include "sweep/plan.h"
#include "sweep/stop.h"
#include "table.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- runs ---- */
static char root[4096], shared_path[600], stats_path[600];
static char taken_path[600]; /* there once a process is the one that is swept */

static pid_t start(const op_sweep_options *o, const char *out)
{
    pid_t pid = fork();
    if (pid) return pid;
    char path[700];
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* who would judge it? */
    op_stop_child();
    op_environment(root, o->sim, o->memory, o->faults, stats_path, shared_path);
    unsetenv("OOMPROOF_RECORD"); /* a ring for each of a thousand runs helps nobody */
    unsetenv("OOMPROOF_TRACE");
    snprintf(path, sizeof path, "%s.out", out);
    unlink(taken_path);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(path, sizeof path, "%s.err", out);
    int err = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) dup2(fd, 1);
    if (err >= 0) dup2(err, 2);
    execvp(o->command[0], o->command);
    fprintf(stderr, "oomproof: error: %s cannot be started: %s\n", o->command[0], strerror(errno));
    _exit(127);
}

static void show_file(const char *base, const char *what)
{
    char path[700], line[400];
    snprintf(path, sizeof path, "%s.err", base);
    FILE *f = fopen(path, "re");
    fprintf(stderr, "oomproof: error: %s\n", what);
    while (f && fgets(line, sizeof line, f)) fputs(line, stderr);
    if (f) fclose(f);
}

static long size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

static int intercepted(const op_stats *stats)
{
    uint64_t n = 0;
    for (int id = 0; id < OP_CALLS; id++) n += stats->calls[id];
    return n > 0;
}

static int reference(op_sweep_file *s, const op_stats *stats, const op_sweep_options *o)
{
    char out[600];
    s->role = OP_REFERENCE;
    snprintf(out, sizeof out, "%s/reference", s->folder);
    int status = op_stop_wait(start(o, out), 0);
    if (op_stopped) return 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        show_file(out, "the run without faults failed:");
        return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 2 : 5;
    }
    if (!s->reference_ended || !s->npoints) {
        show_file(out, !intercepted(stats)
                           ? "nothing was intercepted: is the program linked with -cudart static? "
                             "Build it with nvcc -cudart shared"
                       : s->reference_ended || !s->marked
                           ? "no fault point: nothing that --calls names was called there"
                       : o->part ? "the program ended before the part that --part names was over; "
                                   "does it mark one (oomproof_part_begin), and as many?"
                                 : "the program ended before the step that --step names was over");
        return 4;
    }
    return 0;
}

/* One run, for point k (from 0) or, with -1, for the budget that was asked for. */
static void by_run(op_sweep_file *s, const op_sweep_options *o, int k, op_mode mode, op_fault fault)
{
    char out[600];
    int i = s->nresults;
    s->single_point = k;
    s->single_mode = mode;
    s->single_fault = fault;
    s->single_budget = o->budget;
    s->single_passed = 0;
    s->role = OP_SINGLE;
    snprintf(out, sizeof out, "%s/single", s->folder);
    int status = op_stop_wait(start(o, out), o->timeout * 2);
    if (op_stopped) {
        s->nresults = i;
        return;
    }
    if (s->nresults == i) { /* it never came to its fault */
        s->result[s->nresults++] = (op_result){.point = k,
                                               .status = status,
                                               .second = -1,
                                               .mode = mode,
                                               .fault = fault,
                                               .verdict = OP_V_UNFIRED,
                                               .inherited = -1};
        return;
    }
    op_result *r = &s->result[i];
    r->status = status;
    if (status == -1)
        r->verdict = OP_V_HANG;
    else if (WIFSIGNALED(status)) {
        r->verdict = OP_V_CRASH;
        snprintf(r->why, sizeof r->why, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else
        op_judge_ended(s, o, r, status, "single");
}

static int enough(const op_sweep_file *s)
{
    int n = 0;
    for (int i = 0; i < s->nresults; i++) n += op_verdict_finding[s->result[i].verdict];
    return s->most_findings && n >= s->most_findings;
}

/* Points from .. to - 1, each in a run of its own. */
static void by_runs(op_sweep_file *s, const op_sweep_options *o, int from, int to)
{
    for (int k = from; k < to; k++)
        for (int run = 0; run < 2 * OP_FAULTS && (k - from) % o->shards == o->shard; run++) {
            int fault = run / 2, mode = run % 2;
            if ((o->mode_of[fault] >> mode & 1) && (s->point[k].kinds >> fault & 1) && !enough(s) &&
                !op_stopped && !(s->skip[k] & OP_RUN(fault, mode)))
                by_run(s, o, k, (op_mode)mode, (op_fault)fault);
        }
}

static int by_forking(op_sweep_file *s, const op_sweep_options *o)
{
    char out[600];
    s->role = OP_WALKER;
    snprintf(out, sizeof out, "%s/walker", s->folder);
    int status = op_stop_wait(start(o, out), 0);
    if (op_stopped) return 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        show_file(out, "the run that walks from point to point failed:");
        return 7;
    }
    for (int i = 0; i < s->nresults; i++)
        if (!WIFSIGNALED(s->result[i].status))
            op_judge_ended(s, o, &s->result[i], s->result[i].status, "walker");
    return 0;
}

/* The run after the last point takes no fault, and a walker that took none ended as the reference.
 */
static int proved(op_sweep_file *s, const op_sweep_options *o)
{
    int n = s->nresults, kind = 0;
    if (op_stopped) return 0;
    if (o->point || o->budget) return 1;
    if (enough(s) || (o->fork && (s->walked != s->npoints || !s->walker_equal))) return 0;
    while (!(o->kinds >> kind & 1)) kind++;
    by_run(s, o, s->npoints, OP_ONCE, (op_fault)kind);
    int quiet = s->nresults == n + 1 && !op_stopped && s->result[n].verdict == OP_V_UNFIRED &&
                s->single_passed;
    if (!quiet && !op_stopped && s->result[n].verdict == OP_V_UNFIRED)
        fprintf(stderr, "oomproof: the run after the last point ended before the step did\n");
    s->nresults = n;
    return quiet;
}

/* ---- all of it ---- */
static void join(char *out, size_t room, char *const *words)
{
    size_t n = 0;
    for (; *words && n + 4 < room; words++) {
        int plain = **words && !(*words)[strcspn(*words, " \t\n'\"\\$&|;<>()*?[]#~")];
        n += (size_t)snprintf(out + n, room - n, plain ? "%s%s" : "%s'%s'", n ? " " : "", *words);
    }
}

/* What a repetition needs besides its point and its command. */
static void options_again(const op_sweep_options *o, char *out, size_t room)
{
    const struct {
        const char *name, *value;
    } given[] = {{" --sim-memory '", o->memory},
                 {" --faults '", o->faults},
                 {" --calls '", o->calls},
                 {" --site '", o->site},
                 {" --compare '", o->compare}};
    size_t n = (size_t)snprintf(out, room, "oomproof sweep --device %s --%s%s%s%d",
                                o->sim ? "sim" : "gpu", o->part ? "part " : "step ",
                                o->part ? o->part : "", o->part ? ":" : "", o->step);
    for (size_t i = 0; i < sizeof given / sizeof *given && n < room; i++)
        if (given[i].value)
            n += (size_t)snprintf(out + n, room - n, "%s%s'", given[i].name, given[i].value);
    const char *before = " --kinds ";
    for (int k = 0; k < OP_FAULTS && n < room; k++)
        if (o->kinds >> k & 1 && o->kinds != 1 << OP_FAULT_OOM) {
            n += (size_t)snprintf(out + n, room - n, "%s%s", before, op_fault_text[k]);
            before = ",";
        }
}

static void *share(const char *path, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int full =
        fd >= 0 ? posix_fallocate(fd, 0, (off_t)bytes) : errno; /* a hole would be a SIGBUS */
    errno = full;
    void *p = !full ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    return p;
}

/* What an earlier sweep left is copied: processes that it left behind go on in their own file. */
static op_sweep_file *fresh(const char *path, int resume)
{
    char aside[620];
    op_sweep_file *old = MAP_FAILED, *s;
    snprintf(aside, sizeof aside, "%s.new", path);
    unlink(aside);
    if (resume && size_of(path) == (long)sizeof *old) old = share(path, sizeof *old);
    s = share(aside, sizeof *s);
    if (s != MAP_FAILED && old != MAP_FAILED) memcpy(s, old, sizeof *s);
    if (old != MAP_FAILED) munmap(old, sizeof *old);
    return s != MAP_FAILED && rename(aside, path) == 0 ? s : MAP_FAILED;
}

/* Of a sweep that stops: the runs that have ended, in memory of our own, since what was under way
 * may still write into the other. */
static op_sweep_file *so_far(const op_sweep_file *s, const char *keep)
{
    op_sweep_file *own = malloc(sizeof *own);
    if (!own) return NULL;
    memcpy(own, s, sizeof *own);
    int lost = op_plan_ended(own, 1);
    fprintf(
        stderr,
        "oomproof: stopped by signal %d (%s) at point %d of %d: %d runs had ended, %d had not\n",
        op_stopped, strsignal(op_stopped), s->walked, s->npoints, own->nresults, lost);
    if (keep)
        fprintf(stderr, "oomproof: go on with the same options and --resume %s\n", keep);
    else
        fprintf(stderr, "oomproof: with --resume FOLDER from the beginning, it could go on\n");
    return own;
}

/* The outputs, before anything runs: they are neither what is read nor what the runs share. */
static int begin(const op_sweep_options *o, const op_sweep_file *s, const op_tally *t)
{
    int n = 0, words = 0;
    while (o->command[words]) words++;
    const char **in = calloc((size_t)words + 3, sizeof *in);
    if (!in) return 7;
    for (int i = 0; i < words; i++)
        if (i || strchr(o->command[i], '/')) in[n++] = o->command[i];
    if (o->compare && strchr(o->compare, '/')) in[n++] = o->compare;
    in[n++] = shared_path;
    in[n++] = stats_path;
    int code = op_outputs_begin(o, in, n, s, t);
    free(in);
    return code;
}

/* The page is made from the JSON, in the sweep's own folder if the user's is none to read again. */
static int page(const op_sweep_options *o, const op_sweep_file *s, const op_tally *t)
{
    char json[600];
    op_sweep_options own = {.json = json};
    snprintf(json, sizeof json, "%s/sweep.json", s->folder);
    if (o->json && op_output_stays(o->json)) return !op_report_page(o->json, o->html);
    return !op_outputs_end(&own, s, t) && !op_report_page(json, o->html);
}

int op_sweep_command(int argc, char **argv)
{
    op_sweep_options o;
    static char folder[OP_SCRATCH_ROOM], command[2000], again[1000], asked[3072];
    op_tally t = {.again = again, .command = command};
    double began = now();
    char *kept = NULL;
    int code = op_sweep_read_options(argc, argv, &o);
    if (code) return code < 0 ? 0 : code;
    op_stop_watch();
    if (!o.keep && !op_scratch("sweep", folder)) return 7;
    if (o.keep && ((mkdir(o.keep, 0700) != 0 && errno != EEXIST) ||
                   !(kept = realpath(o.keep, NULL)) || strlen(kept) >= sizeof folder)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", o.keep, strerror(errno));
        return 2;
    }
    if (kept) strcpy(folder, kept);
    free(kept);
    errno = 0;
    snprintf(shared_path, sizeof shared_path, "%s/sweep", folder);
    snprintf(stats_path, sizeof stats_path, "%s/stats", folder);
    snprintf(taken_path, sizeof taken_path, "%s/taken", folder);
    op_sweep_file *s = fresh(shared_path, o.resume);
    const op_stats *stats = share(stats_path, sizeof *stats);
    if (s == MAP_FAILED || stats == MAP_FAILED || !op_loader_root(root, sizeof root)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", shared_path,
                errno ? strerror(errno) : "the folder of oomproof is not found");
        if (!o.keep) op_scratch_remove(folder);
        return 7;
    }
    join(command, sizeof command, o.command);
    options_again(&o, again, sizeof again);
    snprintf(asked, sizeof asked, "%s --shard %d/%d%s --budgets %d --sample %d -- %s", again,
             o.shard + 1, o.shards, o.pairs ? " --pairs" : "", o.budgets, o.sample, command);
    if (o.resume && (code = op_plan_resume(s, asked, folder))) return code;
    s->npoints = s->marked = s->reference_ended = s->walked = s->walker_equal = 0;
    s->magic = OP_SWEEP_MAGIC;
    memcpy(s->asked, asked, sizeof asked);
    s->budgets = o.budgets;
    memcpy(s->modes, o.mode_of, sizeof s->modes);
    s->most_findings = o.most_findings;
    s->step = o.step;
    snprintf(s->part, sizeof s->part, "%s", o.part ? o.part : "");
    s->marked = o.part != NULL;
    s->jobs = o.jobs;
    s->timeout_s = o.timeout;
    s->prune = o.prune && o.fork;
    s->pairs = o.pairs;
    s->by_site = o.by_site;
    s->then = o.then;
    s->shard = o.shard;
    s->shards = o.shards;
    memcpy(s->folder, folder, sizeof folder);
    for (int kind = 0; kind < OP_FAULTS; kind++)
        if (o.kinds >> kind & 1) op_plan_calls(s, &o, (op_fault)kind);
    const int had = s->nresults;
    s->nresults = 0; /* of what a resumed sweep found the points are not known yet */
    code = begin(&o, s, &t);
    s->nresults = had;
    if (code == 0) code = reference(s, stats, &o);
    if (code == 0 && !op_stopped && o.point > s->npoints)
        code = op_usage("--point: the step has fewer fault points", "");
    if (code == 0 && !op_stopped) {
        op_plan(s, &o);
        t.asked = op_plan_asked(s, &o);
        for (int i = 0; o.then && i < s->npoints; i++)
            if (i != o.point - 1) s->skip[i] = 0xffff;
        if (!t.asked && !s->nresults && !o.budget && !o.budgets) {
            fprintf(stderr,
                    "oomproof: error: no run is left: --site, --point or --shard leave none\n");
            code = 4;
        } else if (o.budget)
            by_run(s, &o, -1, OP_BUDGET, OP_FAULT_OOM);
        else if (o.point && !o.then)
            by_runs(s, &o, o.point - 1, o.point);
        else if (o.fork)
            code = by_forking(s, &o);
        else
            by_runs(s, &o, 0, s->npoints);
    }
    if (code == 0) {
        t.fork = o.fork && !o.point && !o.budget;
        t.proved = proved(s, &o);
        if (op_stopped && !(s = so_far(s, o.keep))) return 7;
        t.seconds = now() - began;
        op_tally_up(s, &t);
        op_print_tally(stderr, s, &t);
        t.finished = !op_stopped;
        code = op_outputs_end(&o, s, &t) ? 7 : t.findings || !t.proved;
        if (code < 2 && o.html && !page(&o, s, &t)) code = 7;
    }
    if (!o.keep) op_scratch_remove(folder);
    if (op_stopped) op_stop_end();
    return code;
}
