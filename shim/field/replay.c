/* replay.c - `oomproof replay FIXTURE -- CMD`: the same failures at the same places, and whether
 * all went as it was recorded. */
#define _GNU_SOURCE
#include "field/replay.h"
#include "field/scenes.h"
#include "field/spawn.h"
#include "field/stream.h"
#include "junit.h"
#include "launch.h"
#include "rules.h"
#include "scratch.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char op_replay_help[] =
    "usage: oomproof replay FIXTURE [options] -- CMD...   the program again, with the same "
    "failures\n"
    "       oomproof replay FIXTURE [options]             the allocations alone, by models of\n"
    "                                                     allocators\n"
    "       oomproof replay FIXTURE --scenes [-- OPTIONS] its batches as generated scenes, by "
    "pointtrain\n"
    "Each recorded failure comes again at the same call, call site and ordinal. Fails when one "
    "has\n"
    "another size, phase or code, does not come, or is joined by others; when a step ends in "
    "another\n"
    "way (points, attempts, splits); or when the run does not end as FIXTURE expects.\n"
    "With --scenes the same batches fail as in the recording, by a budget that is found; fails "
    "when "
    "one\n"
    "does not, or when a step is not recovered. OPTIONS are more options of pointtrain train.\n\n"
    "  --repeat N       N times (1)\n"
    "  --device D       sim, gpu or auto (auto)\n"
    "  --sim-memory S   capacity of the simulated card (the recorded one)\n"
    "  --timeout S      of one run (600)\n"
    "  --own            the command is the one in FIXTURE, its program from the folder of "
    "oomproof\n"
    "  --quiet          not what the program prints\n"
    "  --junit FILE     a test a run, for CI; those after the first that fails are skipped\n"
    "  --capacity SIZE  of the models' card (the recorded one); --scale X: all sizes times X (of "
    "scenes\n"
    "                   too);\n"
    "                   --threads N: N do the same in turn, on one card\n\n"
    "exit codes: 0 all as recorded, 1 it is not, 2 usage or bad input, 5 killed by a signal, 6 it "
    "hung,\n7 internal\n";

void op_replay_anew(const op_spawn *s)
{
    char taken[OP_SCRATCH_ROOM + 16];
    snprintf(taken, sizeof taken, "%s.taken", s->force);
    unlink(s->ring);
    unlink(taken);
}

int op_replay_force(const op_fixture *f, const char *keep, const char *path)
{
    FILE *to = fopen(path, "we");
    int n = 0;
    for (size_t i = 0; to && i < f->n; i++) {
        const op_fx_event *e = &f->event[i];
        if (!op_fx_failed(e) || (keep && !keep[i])) continue;
        if (!e->ordinal) continue;
        fprintf(to, "%s\t%d\t%u\t%s\n", e->call, e->code, e->ordinal, e->site);
        n++;
    }
    return to && fclose(to) == 0 ? n : -1;
}

/* ---- a run ---- */
typedef struct options {
    op_spawn s;
    const char *device, *file, *junit;
    char memory[32];
    int repeat, own, scenes;
    op_stream how;
} options;

/* How one run went: code as of the command; text: nothing when all was as recorded. */
typedef struct replayed {
    int code, ran; /* ran: there is a recording of it; else an error, and no difference */
    double seconds;
    char text[1500];
} replayed;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void once(const options *o, const op_fixture *want, replayed *r)
{
    char why[1200] = "";
    op_spawn s = o->s;
    /* all that the recording has, and as much before and after it */
    s.until = want->lost + want->n * 2 + (1 << 15);
    s.events = want->n * 4 + (1 << 16);
    if (s.events > 1 << 26) s.events = 1 << 26;
    op_replay_anew(&s);
    int status = op_spawn_run(&s), code = op_spawn_code(status);
    if (op_spawn_stopped()) {
        *r = (replayed){.code = 7};
        return;
    }
    *r = (replayed){.code = code};
    if (status == -1 || status == -2) {
        snprintf(r->text, sizeof r->text, "the command %s",
                 status == -1 ? "cannot be started" : "did not end in time");
        if (status == -1 || s.quiet) fprintf(stderr, "oomproof: %s\n", r->text);
        return;
    }
    if (status == OP_SPAWN_NOT_STARTED) { /* why, was said */
        *r = (replayed){.code = 2, .text = "the command cannot be started"};
        if (s.quiet) fprintf(stderr, "oomproof: %s\n", r->text);
        return;
    }
    op_fixture *got = op_ring_take(s.ring);
    if (!got) {
        snprintf(r->text, sizeof r->text,
                 "nothing was recorded of this run, which ended with exit code %d", code);
        r->code = 4;
        return;
    }
    const char *outcome = op_fixture_outcome(got, code);
    int as_recorded = op_replay_compare(want, got, why, sizeof why);
    if (as_recorded && want->exit_code >= 0 && code != 5 && code != want->exit_code) {
        as_recorded = 0;
        snprintf(why, sizeof why, "it ended with exit code %d, and %d when it was recorded", code,
                 want->exit_code);
    }
    if (!as_recorded && want->unkept)
        snprintf(why + strlen(why), sizeof why - strlen(why),
                 "\n  %llu failures of the recorded run had no room in it and cannot be repeated",
                 (unsigned long long)want->unkept);
    int any = !*want->expect || !strcmp(want->expect, "any");
    int expected = any || !strcmp(outcome, want->expect);
    snprintf(r->text, sizeof r->text, "%s%s%s%s%s%s", as_recorded ? "as recorded" : why,
             as_recorded ? ", " : "\n  ", outcome,
             expected ? "" : ", expected: ", expected ? "" : want->expect,
             code == 5 ? "\noomproof: the command was killed by a signal" : "");
    fprintf(stderr, "oomproof: %s: %s\n", o->file, r->text);
    op_fixture_free(got);
    r->ran = 1;
    r->code = code == 5 ? 5 : as_recorded && expected ? 0 : 1;
}

static int write_junit(const options *o, const op_fixture *want, const replayed *run, int made)
{
    const char *slash = strrchr(o->file, '/'), *name = slash ? slash + 1 : o->file;
    const char *end = strrchr(name, '.');
    int length = end && !strcmp(end, ".oomt") ? (int)(end - name) : (int)strlen(name);
    char test[300];
    op_junit_suite s = {.name = "oomproof replay", .tests = o->repeat, .skipped = o->repeat - made};
    FILE *f = fopen(o->junit, "we");
    for (int i = 0; i < made; i++) {
        s.failures += run[i].code && run[i].ran;
        s.errors += !run[i].ran;
        s.seconds += run[i].seconds;
    }
    if (f) op_junit_open(f, &s);
    for (int i = 0; f && i < o->repeat; i++) {
        const replayed *r = i < made ? &run[i] : NULL;
        snprintf(test, sizeof test, "%.*s", length, name);
        fputs("<testcase classname=\"replay\" name=\"", f);
        op_xml(f, test);
        if (o->repeat > 1) fprintf(f, ", run %d", i + 1);
        fprintf(f, "\" time=\"%.3f\">", r ? r->seconds : 0.0);
        if (!r)
            fputs("<skipped message=\"an earlier run failed\"/>", f);
        else if (r->code) {
            const char *what = r->ran ? "failure" : "error";
            fprintf(f, "<%s message=\"exit code %d\">", what, r->code);
            op_xml(f, r->text);
            if (*want->note) op_xml(f, "\nrecorded: ");
            op_xml(f, want->note);
            fprintf(f, "</%s>", what);
        }
        fputs("</testcase>\n", f);
    }
    int bad = !f || op_junit_close(f);
    if (f && fclose(f) != 0) bad = 1;
    if (bad)
        fprintf(stderr, "oomproof: error: --junit %s cannot be written: %s\n", o->junit,
                strerror(errno));
    return bad;
}

/* The words of a recorded command, in place, as record wrote them: '...' is as it stands, \\ takes
 * the next as it is. */
static char **split(char *line, const char *folder)
{
    static char first[8400];
    char **words = calloc(strlen(line) + 2, sizeof *words);
    int n = 0;
    for (char *p = line; words && *p;) {
        while (*p == ' ') p++;
        if (!*p) break;
        char *to = words[n++] = p;
        for (int quoted = 0; *p && (quoted || *p != ' ');)
            if (*p == '\'')
                quoted = !quoted, p++;
            else if (*p == '\\' && !quoted && p[1])
                *to++ = p[1], p += 2;
            else
                *to++ = *p++;
        if (*p) p++;
        *to = 0;
    }
    /* a file from somebody else may not start just anything */
    const char *more = getenv("OOMPROOF_PROGRAMS");
    const char *rooms[] = {"bin", "cases", more && *more ? more : NULL}; /* installed; of a build */
    for (int i = 0; n && i < 3 && words[0] != first; i++) {
        if (!rooms[i] || strchr(words[0], '/')) continue;
        int room = snprintf(first, sizeof first, i < 2 ? "%s/%s/%s" : "%s%s/%s",
                            i < 2 ? folder : "", rooms[i], words[0]);
        if (room < (int)sizeof first && access(first, X_OK) == 0) words[0] = first;
    }
    if (!n || words[0] != first) {
        fprintf(
            stderr,
            "oomproof: error: the recording's command is not a program of ours: %s; start it by "
            "hand after --, or name its folder in OOMPROOF_PROGRAMS\n",
            n ? words[0] : "nothing");
        free(words);
        return NULL;
    }
    return words;
}

static int read_options(int argc, char **argv, options *o)
{
    static const struct option table[] = {{"repeat", 1, 0, 'r'},
                                          {"device", 1, 0, 'd'},
                                          {"sim-memory", 1, 0, 'm'},
                                          {"timeout", 1, 0, 't'},
                                          {"own", 0, 0, 'o'},
                                          {"scenes", 0, 0, 'S'},
                                          {"quiet", 0, 0, 'q'},
                                          {"junit", 1, 0, 'j'},
                                          {"capacity", 1, 0, 'c'},
                                          {"scale", 1, 0, 's'},
                                          {"threads", 1, 0, 'T'},
                                          {"help", 0, 0, 'h'},
                                          {0}};
    uint64_t n;
    char *end;
    int c;
    *o = (options){
        .device = "auto", .repeat = 1, .how = {.scale = 1, .threads = 1}, .s = {.timeout = 600}};
    while ((c = getopt_long(argc, argv, "-h", table, NULL)) != -1) {
        if (op_usage_value(argv)) return 2;
        switch (c) {
        case 1:
            if (o->file)
                return op_usage("one fixture at a time, and -- before the command: ", optarg);
            o->file = optarg;
            break;
        case 'r':
            if (!op_number(optarg, &n) || n < 1 || n > 1 << 20)
                return op_usage("--repeat is a number from 1, not ", optarg);
            o->repeat = (int)n;
            break;
        case 'd': o->device = optarg; break;
        case 'm': o->s.memory = optarg; break;
        case 't':
            if (!op_number(optarg, &n) || n < 1 || n > 1 << 30)
                return op_usage("--timeout is a number of seconds, not ", optarg);
            o->s.timeout = (int)n;
            break;
        case 'o': o->own = 1; break;
        case 'S': o->scenes = 1; break;
        case 'q': o->s.quiet = 1; break;
        case 'j': o->junit = optarg; break;
        case 'c':
            if (!op_number(optarg, &o->how.capacity))
                return op_usage("--capacity is a size, as 8GiB, not ", optarg);
            break;
        case 's':
            o->how.scale = strtod(optarg, &end);
            if (end == optarg || *end || !(o->how.scale > 0) || o->how.scale > 1e6)
                return op_usage("--scale is a number above 0, not ", optarg);
            break;
        case 'T':
            if (!op_number(optarg, &n) || n < 1 || n > 1024)
                return op_usage("--threads is a number from 1 to 1024, not ", optarg);
            o->how.threads = (int)n;
            break;
        case 'h': fputs(op_replay_help, stdout); return -1;
        default: return op_usage_option(table, argv);
        }
    }
    if (!o->file) return op_usage("which recording? Give its file", "");
    if ((o->s.sim = op_device(o->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", o->device);
    o->s.command = optind < argc ? argv + optind : NULL;
    if ((o->how.capacity || o->how.threads > 1) && (o->s.command || o->own || o->scenes))
        return op_usage("--capacity and --threads are of the models, without a command; the card "
                        "of a program is --sim-memory: ",
                        o->file);
    if (o->how.scale != 1 && (o->s.command || o->own) && !o->scenes)
        return op_usage("--scale is of the models and of --scenes; a program has its sizes: ",
                        o->file);
    if (o->junit && op_same_file(o->junit, o->file))
        return op_usage("--junit is what is read; give another name: ", o->junit);
    if (o->junit && (o->scenes || (!o->s.command && !o->own)))
        return op_usage("--junit is of a program that is run again; give it after --, or --own: ",
                        o->file);
    return 0;
}

static int known(const char *call)
{
    for (int id = 0; id < OP_CALLS; id++)
        if (!strcmp(op_table[id].name, call)) return 1;
    return 0;
}

int op_replay_command(int argc, char **argv)
{
    static options o;
    static char root[4096];
    char why[300], dir[OP_SCRATCH_ROOM], ring[OP_SCRATCH_ROOM + 8], force[OP_SCRATCH_ROOM + 8];
    int code = read_options(argc, argv, &o);
    if (code) return code < 0 ? 0 : code;
    op_fixture *f = op_fixture_read(o.file, why, sizeof why);
    if (!f) {
        fprintf(stderr, "oomproof: error: %s: %s\n", o.file, why);
        return 2;
    }
    if (o.scenes) {
        op_scenes how = {.s = o.s, .file = o.file, .scale = o.how.scale, .repeat = o.repeat};
        code = o.own ? op_usage("--own and --scenes: one of them: ", o.file)
                     : op_scenes_replay(f, &how);
        op_fixture_free(f);
        return code;
    }
    char *own = strdup(f->command);
    if (o.own && *f->command && own && op_root(root, sizeof root))
        code = (o.s.command = split(own, root)) ? 0 : 2;
    else if (o.own)
        code = op_usage("--own: the recording names no command (record --with-command): ", o.file);
    if (!code && !o.s.command) {
        if (!o.how.capacity) o.how.capacity = f->total;
        code = op_stream_report(stdout, f, &o.how);
        goto done;
    }
    if (code || !op_scratch("replay", dir)) {
        code = code ? code : 7;
        goto done;
    }
    snprintf(ring, sizeof ring, "%s/ring", dir);
    snprintf(force, sizeof force, "%s/fail", dir);
    o.s.ring = ring;
    o.s.force = force;
    if (!o.s.memory && f->total) {
        snprintf(o.memory, sizeof o.memory, "%llu", (unsigned long long)f->total);
        o.s.memory = o.memory;
    }
    for (size_t i = 0; i < f->n && !code; i++)
        if (op_fx_failed(&f->event[i]) && !known(f->event[i].call)) {
            fprintf(stderr, "oomproof: error: %s: %s failed, which this version does not know\n",
                    o.file, f->event[i].call);
            code = 2;
        }
    if (!code && op_replay_force(f, NULL, force) < 0) {
        fprintf(stderr, "oomproof: error: %s: %s\n", force, strerror(errno));
        code = 7;
    }
    replayed *run = calloc((size_t)o.repeat, sizeof *run);
    if (!run) code = 7;
    int made = 0;
    while (!code && made < o.repeat) {
        double began = now();
        once(&o, f, &run[made]);
        run[made].seconds = now() - began;
        code = run[made++].code;
    }
    if (made && o.junit && write_junit(&o, f, run, made)) code = code ? code : 7;
    free(run);
    op_scratch_remove(dir);
done:
    op_fixture_free(f);
    free(own);
    if (op_spawn_stopped()) {
        signal(op_spawn_stopped(), SIG_DFL);
        raise(op_spawn_stopped());
    }
    return code;
}
