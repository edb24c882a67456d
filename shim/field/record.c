/* record.c - `oomproof record`: a program under a ring of its last allocations, kept as a fixture.
 */
#define _GNU_SOURCE
#include "field/spawn.h"
#include "launch.h"
#include "rules.h"
#include "sweep/outputs.h"
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char op_record_help[] =
    "usage: oomproof record -o FILE [options] -- CMD...\n"
    "       oomproof record -o FILE --finish RING [--with-command -- CMD...]\n"
    "Runs CMD and keeps its last allocations, frees and failures: sizes, phases, call sites, no "
    "data.\n\n"
    "  -o FILE          the recording, JSON lines (fixtures/README.md); while CMD runs, its ring "
    "is\n"
    "                   FILE.ring, for --finish if this is killed\n"
    "  --last N         events that are kept, the last (65536); once a marked step failed or lost\n"
    "                   points, N/2 more, then no others\n"
    "  --first          N/2 more after the first failure, then no others, even if it was "
    "recovered\n"
    "                   from\n"
    "  --device D       sim, gpu or auto (auto)\n"
    "  --faults RULES, --sim-memory SIZE  as of run\n"
    "  --with-command   writes CMD into the file, by which it can be replayed as a test; its "
    "words\n"
    "                   are kept as they are: look at them before you share the file\n"
    "  --note TEXT      a line for whoever reads it\n"
    "  --finish RING    of a run that had OOMPROOF_RECORD=RING in its environment, or was "
    "killed; CMD\n"
    "                   is what ran, and is not run again\n\n"
    "exit codes: the command's own; 2 usage, bad input or FILE cannot be made, 4 nothing was "
    "recorded or RING is\nno ring, 5 killed by a signal, 7 internal or no room for FILE, and the "
    "ring stays,\n127 CMD cannot be started\n";

typedef struct options {
    op_spawn s;
    const char *device, *out, *note, *finish;
    int with_command;
} options;

static int read_options(int argc, char **argv, options *o)
{
    static const struct option table[] = {{"last", 1, 0, 'n'},         {"device", 1, 0, 'd'},
                                          {"faults", 1, 0, 'f'},       {"sim-memory", 1, 0, 'm'},
                                          {"with-command", 0, 0, 'w'}, {"note", 1, 0, 't'},
                                          {"finish", 1, 0, 'F'},       {"first", 0, 0, '1'},
                                          {"help", 0, 0, 'h'},         {0}};
    op_rule rules[OP_MAX_RULES];
    int c;
    *o = (options){.device = "auto", .s = {.events = 1 << 16}};
    while ((c = getopt_long(argc, argv, "+o:h", table, NULL)) != -1) {
        if (op_usage_value(argv)) return 2;
        switch (c) {
        case 'o': o->out = optarg; break;
        case 'n':
            if (!op_number(optarg, &o->s.events) || o->s.events < 16 || o->s.events > 1 << 26)
                return op_usage("--last is a number from 16 to 67108864, not ", optarg);
            break;
        case 'd': o->device = optarg; break;
        case 'f': o->s.faults = optarg; break;
        case 'm': o->s.memory = optarg; break;
        case 'w': o->with_command = 1; break;
        case 't': o->note = optarg; break;
        case '1': o->s.first = 1; break;
        case 'F': o->finish = optarg; break;
        case 'h': fputs(op_record_help, stdout); return -1;
        default: return op_usage_option(table, argv);
        }
    }
    if (!o->out) return op_usage("where to? Give -o FILE", "");
    if (!o->s.faults && !o->finish) o->s.faults = op_rules_of_environment();
    if ((o->s.sim = op_device(o->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", o->device);
    if (op_rules_given(&o->s.faults, rules) < 0) return 2;
    if (!o->finish && optind >= argc)
        return op_usage("no command to record; after the options comes -- and the command", "");
    if (o->finish && o->with_command && optind >= argc)
        return op_usage("--with-command: which? After the options comes -- and what ran", "");
    if (o->finish && !o->with_command && optind < argc)
        return op_usage("--finish runs nothing; with --with-command it is kept as what ran: ",
                        argv[optind]);
    o->s.command = argv + optind;
    return 0;
}

/* The words of a command as a shell would read them; NULL: no recording can hold them. */
static char *words(char *const *command)
{
    char *all = NULL;
    size_t n = 0;
    FILE *m = open_memstream(&all, &n);
    const char *slash = strrchr(command[0], '/');
    if (!m) return NULL;
    for (int i = 0; command[i]; i++) {
        /* not where the program lies on this machine */
        const char *w = i || !slash ? command[i] : slash + 1;
        int plain = *w && !w[strcspn(w, " \t'\"\\$&|;<>()*?")];
        if (i) fputc(' ', m);
        if (!plain) fputc('\'', m);
        for (; *w; w++)
            if (*w == '\'')
                fputs("'\\''", m);
            else
                fputc(*w, m);
        if (!plain) fputc('\'', m);
    }
    fclose(m);
    for (const char *c = all; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) n = SIZE_MAX;
    if (n <= OP_FX_LONGEST_TEXT) return all;
    free(all);
    return NULL;
}

/* PATH.PID or PATH.PID.N of a process that began after that of PATH. */
static int is_of(const char *path, const char *name, const op_writer *of)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base);
    char *end;
    if (strncmp(name, base, n) != 0 || name[n] != '.' || name[n + 1] < '1' || name[n + 1] > '9')
        return 0;
    unsigned long long pid = strtoull(name + n + 1, &end, 10);
    if (*end == '.') strtoull(end + 1, &end, 10);
    char other[8400];
    op_writer its;
    snprintf(other, sizeof other, "%.*s%s", (int)(base - path), path, name);
    return !*end && op_ring_writer(other, &its) && its.pid == pid && its.began >= of->began;
}

/* What processes that the command started have left beside its ring. Those of them in which nothing
 * failed go, where it was us who started them. */
static void others_of(const char *ring, const op_writer *of, int ours)
{
    const char *slash = strrchr(ring, '/');
    char folder[4300], path[8600];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - ring) + 1 : 2,
             slash ? ring : "./");
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (!is_of(ring, e->d_name, of)) continue;
        snprintf(path, sizeof path, "%s%s", slash ? folder : "", e->d_name);
        if (op_ring_written(path)) continue;
        op_fixture *f = op_ring_take(path);
        size_t fails = f ? op_fixture_failures(f) : 0;
        if (fails)
            fprintf(stderr,
                    "oomproof: a process that it started has a recording of its own, with %zu "
                    "failures: oomproof record -o FILE --finish %s\n",
                    fails, path);
        else if (f && ours)
            unlink(path);
        op_fixture_free(f);
    }
    if (d) closedir(d);
}

static int read_back(const char *path)
{
    char why[300];
    op_fixture *f = op_fixture_read(path, why, sizeof why);
    if (!f)
        fprintf(stderr, "oomproof: error: %s cannot be read back: %s; the ring stays\n", path, why);
    op_fixture_free(f);
    return f != NULL;
}

/* Of a job whose end nobody saw: the step of its last failure may have seen its own. */
static int outcome_is_there(const op_fixture *f)
{
    for (size_t i = f->n; i--;)
        if (f->event[i].kind == OP_FX_step || f->event[i].kind == OP_FX_fail)
            return f->event[i].kind == OP_FX_step;
    return 0;
}

/* How a run with the same failures has to end. A failure that is not here comes to no replay. */
typedef enum run_end { ENDED, KILLED, FINISHED } run_end;
static const char *expected(const op_fixture *f, run_end end, int code)
{
    size_t fails = op_fixture_failures(f);
    if (f->missed || (end == KILLED && fails) || (end == FINISHED && fails && !outcome_is_there(f)))
        return "any";
    return op_fixture_outcome(f, end == ENDED ? code : 0);
}

static void say(const op_fixture *f, const options *o)
{
    size_t fails = op_fixture_failures(f), injected = 0;
    for (size_t i = 0; i < f->n; i++)
        injected += op_fx_failed(&f->event[i]) && f->event[i].injected;
    if (o->s.faults && !injected)
        fprintf(stderr, "oomproof: %s: no rule made a call fail: %s\n", o->out, o->s.faults);
    fprintf(stderr, "oomproof: %s: %zu events (%zu failures), %llu before them not kept; %s\n",
            o->out, f->n, fails, (unsigned long long)f->lost, f->expect);
    if (!fails)
        fprintf(stderr, "oomproof: nothing failed: a replay tests only that nothing does\n");
    if (f->missed)
        fprintf(stderr, "oomproof: what failed after the recording was full is not in it%s\n",
                o->s.first ? "; without --first it is of what the job died of" : "");
    if (fails && !strcmp(f->expect, "any"))
        fprintf(stderr,
                "oomproof: how the run should end is not known; write it into the first "
                "line of %s: \"expect\" is recovered, loss or refused\n",
                o->out);
    if (f->unkept)
        fprintf(stderr,
                "oomproof: %llu earlier failures had no room: what they led to may not come again "
                "at the same calls\n",
                (unsigned long long)f->unkept);
}

int op_record_command(int argc, char **argv)
{
    static options o;
    char ring[4200];
    int code = read_options(argc, argv, &o), status = 0;
    if (code) return code < 0 ? 0 : code;
    int was_there = access(o.out, F_OK) == 0;
    snprintf(ring, sizeof ring, "%s.ring", o.out);
    if (o.finish && op_ring_written(o.finish)) return 2;
    const char *not_there = op_fixture_not_there(o.out, o.finish);
    if (not_there) {
        fprintf(stderr, "oomproof: error: %s: %s\n", o.out, not_there);
        return 2;
    }
    struct stat st;
    struct timespec start;
    if (!o.finish && op_ring_written(ring)) return 2;
    if (!o.finish && stat(ring, &st) == 0 && st.st_size) {
        fprintf(stderr,
                "oomproof: error: %s is there, of a run that did not end: oomproof record -o FILE "
                "--finish %s, or remove it\n",
                ring, ring);
        return 2;
    }
    char *all = o.with_command ? words(o.s.command) : NULL;
    if (o.with_command && !all)
        return op_usage("--with-command: a control character in a word, or more than 32 KiB: ",
                        o.s.command[0]);
    if (o.note && strlen(o.note) > OP_FX_LONGEST_TEXT)
        return op_usage("--note is longer than 32 KiB", "");
    if (!op_output_writable(o.out)) { /* found out before the run, not after it */
        fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", o.out, strerror(errno));
        return 2;
    }
    if (!o.finish) {
        unlink(ring);
        o.s.ring = ring;
        clock_gettime(CLOCK_REALTIME, &start);
        status = op_spawn_run(&o.s);
        code = op_spawn_code(status);
        if (status == OP_SPAWN_NOT_STARTED) return code;
    }
    const char *from = o.finish ? o.finish : ring;
    op_writer span = {0};
    op_ring_writer(from, &span);
    if (!o.finish) /* a child may have called before it */
        span.began = (uint64_t)start.tv_sec * 1000000000u + (uint64_t)start.tv_nsec;
    op_fixture *f = op_ring_take(from);
    if (!f) {
        others_of(from, &span, !o.finish);
        return code ? code : 4;
    }
    if (o.s.command[0] && !*f->program) {
        const char *slash = strrchr(o.s.command[0], '/');
        f->program = op_fixture_text(f, slash ? slash + 1 : o.s.command[0]);
    }
    f->expect = expected(f, o.finish ? FINISHED : code == 5 ? KILLED : ENDED, code);
    if (!o.finish && code != 5 && code < 256 && f->whole) f->exit_code = code;
    if (o.note) f->note = op_fixture_text(f, o.note);
    f->command = op_fixture_text(f, all ? all : "");
    free(all);
    if (op_fixture_write(f, o.out) != 0) {
        fprintf(stderr,
                "oomproof: error: %s cannot be written: %s; the ring is still there: once there is "
                "room, oomproof record -o FILE --finish %s\n",
                o.out, strerror(errno), from);
        code = code ? code : 7;
    } else if (!read_back(o.out)) {
        if (!was_there) unlink(o.out);
        code = code ? code : 7;
    } else {
        unlink(from);
        say(f, &o);
    }
    op_fixture_free(f);
    others_of(from, &span, !o.finish);
    return code;
}
