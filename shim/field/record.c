/* record.c - `oomproof record`: a program under a ring of its last allocations, kept as a fixture.
 */
#define _GNU_SOURCE
#include "field/spawn.h"
#include "launch.h"
#include "rules.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char op_record_help[] =
    "usage: oomproof record -o FILE [options] -- CMD...\n"
    "       oomproof record -o FILE --finish RING [--with-command -- CMD...]\n"
    "Runs CMD and keeps its last allocations, frees and failures: sizes, phases, call sites, no "
    "data.\n\n"
    "  -o FILE          the recording, JSON lines (fixtures/README.md)\n"
    "  --last N         events that are kept; a failure keeps those before it and N/2 more "
    "(65536),\n"
    "                   unless its step is recovered exactly: then a later failure may take its "
    "place\n"
    "  --first          the first failure stays, even if it was recovered from\n"
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
    "ring stays\n";

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
    char error[256];
    int c;
    *o = (options){.device = "auto", .s = {.events = 1 << 16}};
    while ((c = getopt_long(argc, argv, "+o:h", table, NULL)) != -1) switch (c) {
        case 'o': o->out = optarg; break;
        case 'n':
            if (!op_number(optarg, &o->s.events) || o->s.events < 16 || o->s.events > 1 << 26)
                return op_usage("--last is a number from 16 to 64Mi, not ", optarg);
            break;
        case 'd': o->device = optarg; break;
        case 'f': o->s.faults = optarg; break;
        case 'm': o->s.memory = optarg; break;
        case 'w': o->with_command = 1; break;
        case 't': o->note = optarg; break;
        case '1': o->s.first = 1; break;
        case 'F': o->finish = optarg; break;
        case 'h': fputs(op_record_help, stdout); return -1;
        default: return 2;
        }
    if (!o->out) return op_usage("where to? Give -o FILE", "");
    if (!o->s.faults && !o->finish) o->s.faults = getenv("OOMPROOF_FAULTS");
    if (o->s.faults && !*o->s.faults) o->s.faults = NULL;
    if ((o->s.sim = op_device(o->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", o->device);
    if (o->s.faults && op_parse(o->s.faults, rules, error, sizeof error) < 0) {
        fprintf(stderr, "oomproof: error: the rules (--faults, OOMPROOF_FAULTS): %s\n", error);
        return 2;
    }
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

static char *words(char *const *command)
{
    char *all = NULL;
    size_t n = 0;
    FILE *m = open_memstream(&all, &n);
    const char *slash = strrchr(command[0], '/');
    if (!m) return NULL;
    fputs(slash ? slash + 1 : command[0], m); /* not where it lies on this machine */
    for (int i = 1; command[i]; i++)
        fprintf(m, command[i][strcspn(command[i], " \t'\"\\$&|;<>()*?")] ? " '%s'" : " %s",
                command[i]);
    fclose(m);
    return all;
}

/* How a job ended, nobody saw; but the step of its last failure may have. */
static int outcome_is_there(const op_fixture *f)
{
    for (size_t i = f->n; i--;)
        if (f->event[i].kind == OP_FX_step || f->event[i].kind == OP_FX_fail)
            return f->event[i].kind == OP_FX_step;
    return 0;
}

int op_record_command(int argc, char **argv)
{
    static options o;
    char ring[4200];
    int code = read_options(argc, argv, &o), status = 0;
    if (code) return code < 0 ? 0 : code;
    snprintf(ring, sizeof ring, "%s.ring", o.out);
    if (o.finish && op_ring_written(o.finish)) return 2;
    int was_there = access(o.out, F_OK) == 0;
    FILE *probe = fopen(o.out, "ae"); /* found out before the run, not after it */
    if (!probe) {
        fprintf(stderr, "oomproof: error: %s cannot be written: %s\n", o.out, strerror(errno));
        return 2;
    }
    fclose(probe);
    if (!o.finish) {
        unlink(ring);
        o.s.ring = ring;
        status = op_spawn_run(&o.s);
        code = op_spawn_code(status);
    }
    const char *from = o.finish ? o.finish : ring;
    op_fixture *f = op_ring_take(from);
    if (!f) {
        if (!was_there) unlink(o.out);
        return code ? code : 4;
    }
    if (o.s.command[0] && !*f->program) {
        const char *slash = strrchr(o.s.command[0], '/');
        f->program = op_fixture_text(f, slash ? slash + 1 : o.s.command[0]);
    }
    f->expect = o.finish && !outcome_is_there(f) ? "any" : op_fixture_outcome(f, code);
    if (o.note) f->note = op_fixture_text(f, o.note);
    if (o.with_command) {
        char *all = words(o.s.command);
        f->command = op_fixture_text(f, all ? all : "");
        free(all);
    }
    size_t fails = 0;
    if (o.s.faults)
        for (size_t i = 0; i < f->n; i++) fails += f->event[i].injected != 0;
    if (o.s.faults && !fails)
        fprintf(stderr, "oomproof: %s: no rule failed anything that is kept%s: %s\n", o.out,
                f->lost && !o.s.first ? " (--first keeps a failure that was recovered from)" : "",
                o.s.faults);
    fails = 0;
    for (size_t i = 0; i < f->n; i++) fails += f->event[i].kind == OP_FX_fail;
    if (op_fixture_write(f, o.out) != 0) {
        fprintf(stderr,
                "oomproof: error: %s cannot be written: %s; the ring is still there: once there is "
                "room, oomproof record -o FILE --finish %s\n",
                o.out, strerror(errno), from);
        if (!was_there) unlink(o.out);
        code = code ? code : 7;
    } else {
        unlink(from);
        fprintf(stderr, "oomproof: %s: %zu events (%zu failures), %llu before them not kept; %s\n",
                o.out, f->n, fails, (unsigned long long)f->lost, f->expect);
    }
    op_fixture_free(f);
    return code;
}
