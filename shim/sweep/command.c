/* command.c - `oomproof sweep`: a reference run, then every fault point, by forking at it or by one
 * run each, and a last run that must fire nothing. */
#define _GNU_SOURCE
#include "launch.h"
#include "nothing.h"
#include "scratch.h"
#include "sweep/again.h"
#include "sweep/ended.h"
#include "sweep/outputs.h"
#include "sweep/plan.h"
#include "sweep/runs.h"
#include "sweep/stop.h"
#include "table.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static op_places at;

/* what: NULL, where the program's own output says it */
static void show_file(const char *base, const char *what)
{
    char path[700], line[400];
    snprintf(path, sizeof path, "%s.err", base);
    FILE *f = fopen(path, "re");
    if (what) fprintf(stderr, "oomproof: error: %s\n", what);
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
    for (int id = 0; id < OP_CALLS; id++) n += op_stats_calls(stats, id);
    return n > 0;
}

static int reference(op_sweep_file *s, const op_stats *stats, const op_sweep_options *o)
{
    char out[600];
    double used = 0;
    s->role = OP_REFERENCE;
    snprintf(out, sizeof out, "%s/reference", s->folder);
    int status = op_run_whole(s, o, &at, "reference", &used);
    if (op_stopped) return 0;
    if (!o->timeout) s->timeout_s = 50 * used > 60 ? (int)(50 * used) : 60;
    if (s->not_started) {
        show_file(out, NULL);
        return OP_NOT_STARTED;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        char what[200];
        int n =
            WIFSIGNALED(status)
                ? snprintf(what, sizeof what, "the run without faults failed, by signal %d (%s)",
                           WTERMSIG(status), strsignal(WTERMSIG(status)))
                : snprintf(what, sizeof what, "the run without faults failed, exit code %d",
                           WEXITSTATUS(status));
        snprintf(what + n, sizeof what - (size_t)n, "%s",
                 intercepted(stats) ? ":"
                                    : "; nothing was intercepted, `oomproof doctor` says more:");
        show_file(out, what);
        return WIFEXITED(status) && WEXITSTATUS(status) == 2 ? 2 : 5;
    }
    if (!intercepted(stats)) {
        show_file(out, "nothing was intercepted, so there is no fault point");
        op_nothing_seen(stats, o->command[0], 0, 1, 0);
        return 4;
    }
    if (!s->reference_ended || !s->npoints) {
        show_file(out, s->reference_ended || !s->marked
                           ? "no fault point: nothing that --calls names was called there"
                       : o->part ? "the program ended before the part that --part names was over; "
                                   "does it mark one (oomproof_part_begin), and as many?"
                                 : "the program ended before the step that --step names was over");
        return 4;
    }
    return 0;
}

static int too_many(void)
{
    fprintf(stderr, "oomproof: error: more than %d runs in one sweep; take --shard I/N\n",
            OP_RESULTS);
    return 7;
}

static int by_forking(op_sweep_file *s, const op_sweep_options *o)
{
    char out[600];
    double used;
    s->role = OP_WALKER;
    snprintf(out, sizeof out, "%s/walker", s->folder);
    int status = op_run_whole(s, o, &at, "walker", &used);
    if (op_stopped) return 0;
    if (s->full) return too_many();
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        show_file(out, "the run that walks from point to point failed:");
        return 7;
    }
    for (int i = 0; i < s->nresults; i++) {
        op_result *r = &s->result[i];
        int open = r->inherited >= 0 && r->verdict == OP_V_RUNNING;
        if (!open && !WIFSIGNALED(r->status)) op_judge_ended(s, o, r, r->status, "walker");
    }
    for (int i = 0; i < s->nresults; i++) {
        op_result *r = &s->result[i];
        if (r->inherited >= 0 && r->verdict == OP_V_RUNNING)
            op_judge_inherited(r, &s->result[r->inherited]);
    }
    return 0;
}

/* The run after the last point takes no fault, and a walker that took none ended as the reference.
 */
static int proved(op_sweep_file *s, const op_sweep_options *o)
{
    int n = s->nresults, kind = 0;
    if (op_stopped) return 0;
    if (o->point || o->budget) return 1;
    if (op_runs_enough(s) || (o->fork && (s->walked != s->npoints || !s->walker_equal))) return 0;
    while (!(o->kinds >> kind & 1)) kind++;
    const op_result *r = op_run_one(s, o, &at, s->npoints, OP_ONCE, (op_fault)kind);
    int quiet = r && !op_stopped && r->verdict == OP_V_UNFIRED && r->passed;
    if (!quiet && !op_stopped && r && r->verdict == OP_V_UNFIRED)
        fprintf(stderr,
                "oomproof: the run after the last point did not come to the step's end by the "
                "same points, memory and buffers as the first: the program does not go the "
                "same way each time\n");
    s->nresults = n;
    return quiet && !s->unforked;
}

/* ---- all of it ---- */
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

/* Other threads than the one at a fault point would be missing in its children, which would wait
 * for them or go another way: each point has a run of its own instead. */
static int cannot_fork(op_sweep_file *s, op_sweep_options *o, int had)
{
    if (o->pairs || o->budgets) {
        fprintf(
            stderr,
            "oomproof: error: %d other threads (%s) at a fault point: a fork would leave them "
            "behind, and %s are made by forking; sweep without (--no-fork), or the program with "
            "one thread\n",
            s->threads, s->threads_named, o->pairs ? "--pairs" : "--budgets");
        return 2;
    }
    fprintf(stderr,
            "oomproof: %d other threads (%s) at a fault point: a fork would leave them behind, so "
            "each point has a run of its own (--no-fork)\n",
            s->threads, s->threads_named);
    o->fork = s->prune = 0;
    s->nresults = had;
    memset(s->state, 0, sizeof s->state);
    return 0;
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
    in[n++] = at.shared;
    in[n++] = at.stats;
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
    double began = op_stop_clock();
    char *kept = NULL;
    int code = op_sweep_read_options(argc, argv, &o);
    if (code) return code < 0 ? 0 : code;
    op_stop_watch();
    const int there = o.keep && access(o.keep, F_OK) == 0;
    if (!o.keep && !op_scratch("sweep", folder)) return 7;
    if (o.keep && ((mkdir(o.keep, 0700) != 0 && errno != EEXIST) ||
                   !(kept = realpath(o.keep, NULL)) || strlen(kept) >= sizeof folder)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", o.keep, strerror(errno));
        return 2;
    }
    if (o.resume && o.keep && !there)
        fprintf(stderr, "oomproof: --resume %s: nothing is there: the sweep begins anew\n", o.keep);
    if (kept) strcpy(folder, kept);
    free(kept);
    errno = 0;
    snprintf(at.shared, sizeof at.shared, "%s/sweep", folder);
    snprintf(at.stats, sizeof at.stats, "%s/stats", folder);
    op_sweep_file *s = fresh(at.shared, o.resume);
    op_stats *stats = s == MAP_FAILED ? MAP_FAILED : share(at.stats, sizeof *stats);
    if (s == MAP_FAILED || stats == MAP_FAILED || !op_loader_root(at.root, sizeof at.root)) {
        fprintf(stderr, "oomproof: error: %s: %s\n", at.shared,
                errno ? strerror(errno) : "the folder of oomproof is not found");
        if (!o.keep) op_scratch_remove(folder);
        return 7;
    }
    stats->threads = OP_STATS_THREADS;
    op_again_command(command, sizeof command, o.command);
    op_again_options(again, sizeof again, &o);
    snprintf(asked, sizeof asked, "%s --shard %d/%d%s --budgets %d --sample %d -- %s", again,
             o.shard + 1, o.shards, o.pairs ? " --pairs" : "", o.budgets, o.sample, command);
    if (o.resume && (code = op_plan_resume(s, asked, folder))) return code;
    s->npoints = s->marked = s->reference_ended = s->walked = s->walker_equal = 0;
    s->threads = s->unforked = s->full = s->not_started = 0;
    s->rounding = (op_rounding){0};
    s->magic = OP_SWEEP_MAGIC;
    memcpy(s->asked, asked, sizeof asked);
    s->budgets = o.budgets;
    memcpy(s->modes, o.mode_of, sizeof s->modes);
    s->most_findings = o.most_findings;
    s->step = o.step;
    snprintf(s->part, sizeof s->part, "%s", o.part ? o.part : "");
    s->marked = o.part != NULL;
    s->jobs = o.jobs;
    s->timeout_s = o.timeout;                   /* 0: when the reference has run */
    s->prune = o.prune && o.fork && !o.compare; /* a pruned run has not printed all */
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
    *s->note = 0;
    if (code == 0) code = reference(s, stats, &o);
    fputs(s->note, stderr);
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
            op_run_one(s, &o, &at, -1, OP_BUDGET, OP_FAULT_OOM);
        else if (o.point && !o.then)
            op_runs(s, &o, &at, o.point - 1, o.point);
        else {
            if (o.fork && !s->threads) code = by_forking(s, &o);
            if (o.fork && code == 0 && s->threads) code = cannot_fork(s, &o, had);
            if (!o.fork && code == 0) op_runs(s, &o, &at, 0, s->npoints);
        }
        if (s->full && code == 0) code = too_many();
    }
    if (op_compare_failed) {
        fprintf(stderr, "oomproof: error: --compare: `%s' cannot be run; nothing was judged\n",
                o.compare);
        code = 2;
    }
    if (op_output_lost) {
        fprintf(stderr,
                "oomproof: error: %s: no room for what the runs print; give --keep a folder "
                "with some, or TMPDIR\n",
                folder);
        code = 7;
    }
    if (code == 0) {
        t.fork = o.fork && !o.point && !o.budget;
        t.proved = proved(s, &o);
        int more = op_stopped ? 0 : op_plan_most(s);
        if (more > 0)
            fprintf(
                stderr,
                "oomproof: --max-findings %d: left out are %d more, of runs that were under way "
                "or are judged when all have ended\n",
                s->most_findings, more);
        if (op_stopped && !(s = so_far(s, o.keep))) return 7;
        t.seconds = op_stop_clock() - began;
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
