/* options.c - see options.h. */
#define _GNU_SOURCE
#include "sweep/options.h"
#include "launch.h"
#include "sweep/plan.h"
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char op_sweep_help[] =
    "usage: oomproof sweep [options] -- CMD...\n"
    "Fails every call of CMD that can run out of memory, one after the other, and holds each run\n"
    "against the one that never failed.\n\n"
    "  --device D       sim, gpu or auto (auto)\n"
    "  --once           each point fails once; --persistent: it and every later one (both)\n"
    "  --calls GLOB     which calls are points (those that allocate device memory)\n"
    "  --kinds LIST     the faults, with commas (oom): oom, out of memory; status, another error; "
    "sticky,\n"
    "                   700, the context dies; shape, a genuine error of cuBLAS or cuDNN; nan, a "
    "number\n"
    "                   that is read from the device. Or one by one: --oom --status --sticky "
    "--shape --nan\n"
    "  --pairs          and a second fault at each point after the first, the recovery included;\n"
    "                   with --by site the first at each site\n"
    "  --budgets N      and the step on N budgets of device memory, from where nothing more fits "
    "to\n"
    "                   where all fits, more of them where its end changes\n"
    "  --budget SIZE    only this budget\n"
    "  --step N         of a program that marks its steps: the N-th (1)\n"
    "  --part NAME[:N]  instead of a step, what the program marks by this name, the N-th time; of "
    "pointtrain:\n                   validate, checkpoint\n"
    "  --point K        only point K, counted from 1\n"
    "  --then M         and with it the second fault at point M, counted from 1 in that run\n"
    "  --by site        only the first point of each call site; --site GLOB: only these sites\n"
    "  --sample N       only N of the points, drawn by --seed S (1)\n"
    "  --shard I/N      only every N-th point, from the I-th\n"
    "  --faults RULES   rules in force throughout, as of run\n"
    "  --sim-memory S   capacity of the simulated card\n"
    "  --no-fork        one run for each point, also on the simulated device\n"
    "  --no-prune       judge equal states again\n"
    "  --compare CMD    whether it printed the right thing, until its step ended if it marks one: "
    "CMD WANTED\n"
    "                   GOT, two files (they must be equal; not compared of a program that marks "
    "steps)\n"
    "  --must-recover   of a program that marks no steps: to end at an out-of-memory that comes "
    "once "
    "is a finding\n"
    "  --keep-going     all points, whatever is found (so it is); --max-findings N: no more after "
    "N\n"
    "  --jobs N         runs at a time (processors; on a card 1)\n"
    "  --timeout S      processor time of one run after its fault (60, or 50 times what the run "
    "without\n"
    "                   faults took, if that is more)\n"
    "  --json FILE --junit FILE --html FILE\n"
    "  --keep FOLDER    keep what the runs printed\n"
    "  --resume FOLDER  go on with a sweep that was stopped, from the folder that it was to "
    "keep\n\n"
    "exit codes: 0 no finding, 1 findings, 2 usage or bad input, 4 no fault point, 5 the reference "
    "run failed,\n6 it hung, 7 internal, 127 CMD cannot be started\n";

static int whole(const char *name, const char *s, int lo, int hi, int *out)
{
    char *end;
    long v = strtol(s, &end, 10);
    if (end == s || *end || v < lo || v > hi) {
        fprintf(stderr, "oomproof: error: --%s %s: expected a whole number from %d to %d\n", name,
                s, lo, hi);
        return 0;
    }
    *out = (int)v;
    return 1;
}

/* NAME or NAME:N, in place. */
static int part(char *s, op_sweep_options *o)
{
    char *colon = strrchr(s, ':');
    if (o->part) return op_usage("--part was given already; one sweep is of one part: ", s) == 0;
    if (colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")]) {
        if (!whole("part NAME:N", colon + 1, 1, 1 << 30, &o->step)) return 0;
        *colon = 0;
    }
    o->part = s;
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < ' ') return op_usage("--part: a control character in: ", s) == 0;
    if (!*s || strlen(s) >= sizeof((op_sweep_file *)0)->part)
        return op_usage("--part: the name of a part has 1 to 63 bytes, not: ", s) == 0;
    return 1;
}

/* "oom,status": bits of them; 0 and a message. */
static int kinds(const char *list)
{
    int all = 0;
    for (const char *p = list; *p;) {
        size_t n = strcspn(p, ",");
        int k = 0;
        while (k < OP_FAULTS &&
               (strlen(op_fault_text[k]) != n || strncmp(op_fault_text[k], p, n) != 0))
            k++;
        if (k == OP_FAULTS) {
            op_usage("--kinds are oom, status, sticky, shape, nan, with commas, not ", list);
            return 0;
        }
        all |= 1 << k;
        p += n + (p[n] == ',');
    }
    if (!all) op_usage("--kinds needs one at least", "");
    return all;
}

/* Which modes of each kind: what was asked for, else both of an out-of-memory, of another error
 * once. */
static void modes(op_sweep_options *o)
{
    int points = o->modes & 3, budget = o->modes & 1 << OP_BUDGET;
    if (!o->kinds) o->kinds = 1 << OP_FAULT_OOM;
    for (int k = 0; k < OP_FAULTS; k++) {
        if (!(o->kinds >> k & 1)) continue;
        if (k == OP_FAULT_OOM)
            o->mode_of[k] = o->modes ? points | budget : 3;
        else
            o->mode_of[k] = points ? points : 1;
        o->modes |= o->mode_of[k];
    }
}

/* --calls means nothing, or nothing that can be failed so: found before anything runs. */
static int calls_are_there(const op_sweep_options *o)
{
    char what[200];
    int named = 0;
    for (int id = 0; id < OP_CALLS; id++) {
        if (!op_named(o->calls, &op_table[id])) continue;
        named = 1;
        for (int k = 0; k < OP_FAULTS; k++)
            if (o->kinds >> k & 1 && op_plan_wants(o, (op_fault)k, &op_table[id])) return 1;
    }
    if (named)
        op_usage("--calls: none of these calls can be failed so (--kinds); `oomproof calls` lists "
                 "what each can have: ",
                 o->calls);
    else {
        const char *near = op_nearest_call(o->calls);
        snprintf(what, sizeof what, "%.90s%s%s%s", o->calls, near ? "; did you mean " : "",
                 near ? near : "", near ? "?" : "; `oomproof calls` lists them");
        op_usage("--calls: no intercepted call has this name: ", what);
    }
    return 0;
}

enum { O_PART = 900, O_THEN, O_RECOVER, O_FAULT = 1000, O_MODE = 1100 };
int op_sweep_read_options(int argc, char **argv, op_sweep_options *o)
{
    static const struct option table[] = {{"device", 1, 0, 'd'},
                                          {"faults", 1, 0, 'f'},
                                          {"sim-memory", 1, 0, 'm'},
                                          {"calls", 1, 0, 'c'},
                                          {"once", 0, 0, O_MODE + OP_ONCE},
                                          {"persistent", 0, 0, O_MODE + OP_PERSISTENT},
                                          {"oom", 0, 0, O_FAULT + OP_FAULT_OOM},
                                          {"status", 0, 0, O_FAULT + OP_FAULT_STATUS},
                                          {"sticky", 0, 0, O_FAULT + OP_FAULT_STICKY},
                                          {"shape", 0, 0, O_FAULT + OP_FAULT_SHAPE},
                                          {"nan", 0, 0, O_FAULT + OP_FAULT_NAN},
                                          {"kinds", 1, 0, 'i'},
                                          {"site", 1, 0, 'g'},
                                          {"compare", 1, 0, 'C'},
                                          {"must-recover", 0, 0, O_RECOVER},
                                          {"keep-going", 0, 0, 'G'},
                                          {"max-findings", 1, 0, 'M'},
                                          {"pairs", 0, 0, 'p'},
                                          {"step", 1, 0, 's'},
                                          {"part", 1, 0, O_PART},
                                          {"then", 1, 0, O_THEN},
                                          {"point", 1, 0, 'k'},
                                          {"shard", 1, 0, 'S'},
                                          {"no-fork", 0, 0, 'F'},
                                          {"no-prune", 0, 0, 'P'},
                                          {"jobs", 1, 0, 'j'},
                                          {"timeout", 1, 0, 't'},
                                          {"json", 1, 0, 'J'},
                                          {"junit", 1, 0, 'U'},
                                          {"html", 1, 0, 'H'},
                                          {"keep", 1, 0, 'K'},
                                          {"resume", 1, 0, 'R'},
                                          {"budgets", 1, 0, 'B'},
                                          {"budget", 1, 0, 'b'},
                                          {"by", 1, 0, 'y'},
                                          {"sample", 1, 0, 'n'},
                                          {"seed", 1, 0, 'e'},
                                          {"help", 0, 0, 'h'},
                                          {0}};
    cpu_set_t cpus;
    op_rule rules[OP_MAX_RULES];
    char rest;
    int c, seed = 1, stepped = 0;
    *o = (op_sweep_options){.device = "auto", .step = 1, .shards = 1, .fork = 1, .prune = 1};
    while ((c = getopt_long(argc, argv, "+h", table, NULL)) != -1) {
        if (op_usage_value(argv)) return 2;
        switch (c) {
        case 'd': o->device = optarg; break;
        case 'f': o->faults = optarg; break;
        case 'm': o->memory = optarg; break;
        case 'c': o->calls = optarg; break;
        case 'p': o->pairs = 1; break;
        case 's':
            if (!whole("step", optarg, 1, 1 << 30, &o->step)) return 2;
            stepped = 1;
            break;
        case O_THEN:
            if (!whole("then", optarg, 1, OP_POINTS, &o->then)) return 2;
            break;
        case O_PART:
            if (!part(optarg, o)) return 2;
            break;
        case 'k':
            if (!whole("point", optarg, 1, OP_POINTS, &o->point)) return 2;
            break;
        case 'S':
            if (sscanf(optarg, "%d/%d%c", &o->shard, &o->shards, &rest) != 2 || o->shards < 1 ||
                o->shard < 1 || o->shard > o->shards)
                return op_usage("--shard is I/N with I from 1 to N, not ", optarg);
            o->shard--;
            break;
        case 'i':
            if (!(c = kinds(optarg))) return 2;
            o->kinds |= c;
            break;
        case 'g': o->site = optarg; break;
        case 'C': o->compare = optarg; break;
        case O_RECOVER: o->must_recover = 1; break;
        case 'G': o->most_findings = 0; break;
        case 'M':
            if (!whole("max-findings", optarg, 1, 1 << 30, &o->most_findings)) return 2;
            break;
        case 'F': o->fork = 0; break;
        case 'P': o->prune = 0; break;
        case 'j':
            if (!whole("jobs", optarg, 1, 64, &o->jobs)) return 2;
            break;
        case 't':
            if (!whole("timeout", optarg, 1, 86400, &o->timeout)) return 2;
            break;
        case 'J': o->json = op_output_named(optarg); break;
        case 'U': o->junit = op_output_named(optarg); break;
        case 'H': o->html = optarg; break;
        case 'R': o->resume = 1; /* fall through */
        case 'K': o->keep = optarg; break;
        case 'B':
            if (!whole("budgets", optarg, 2, 4096, &o->budgets)) return 2;
            o->modes |= 1 << OP_BUDGET;
            break;
        case 'b':
            if (!op_number(optarg, &o->budget))
                return op_usage("--budget is a size, as 512MiB, not ", optarg);
            o->modes |= 1 << OP_BUDGET;
            break;
        case 'y':
            if (strcmp(optarg, "site") && strcmp(optarg, "point"))
                return op_usage("--by is site or point, not ", optarg);
            o->by_site = !strcmp(optarg, "site");
            break;
        case 'n':
            if (!whole("sample", optarg, 1, OP_POINTS, &o->sample)) return 2;
            break;
        case 'e':
            if (!whole("seed", optarg, 0, 1 << 30, &seed)) return 2;
            break;
        case 'h': fputs(op_sweep_help, stdout); return -1;
        default:
            if (c >= O_MODE)
                o->modes |= 1 << (c - O_MODE);
            else if (c >= O_FAULT)
                o->kinds |= 1 << (c - O_FAULT);
            else
                return op_usage_option(table, argv);
        }
    }
    o->seed = (uint64_t)seed;
    if (o->then && !o->point)
        return op_usage("--then is the second fault of a pair; give --point, the first", "");
    if (o->then) o->pairs = 1;
    if (o->part && stepped) return op_usage("--step and --part: one of them: ", o->part);
    modes(o);
    if (o->calls && !calls_are_there(o)) return 2;
    int other = o->kinds & ~(1 << OP_FAULT_OOM);
    if ((o->sim = op_device(o->device)) < 0)
        return op_usage("--device is sim, gpu or auto, not ", o->device);
    if (op_rules_given(&o->faults, rules) < 0) return 2;
    if (o->pairs && (other || !o->fork || !o->sim))
        return op_usage("--pairs are of out-of-memory faults, on the simulated device, by forking",
                        "");
    if ((o->modes >> OP_BUDGET & 1) && !(o->kinds & 1 << OP_FAULT_OOM))
        return op_usage("a budget is of out-of-memory faults", "");
    if (o->budgets && !o->budget && (!o->fork || !o->sim))
        return op_usage("--budgets are tried by forking, on the simulated device; elsewhere give "
                        "one --budget at a time",
                        "");
    if (optind >= argc)
        return op_usage("no command to sweep; after the options comes -- and the command", "");
    o->command = argv + optind;
    if (!o->sim) o->fork = 0; /* a driver does not survive a fork */
    if (!o->jobs)             /* on a card they would take each other's memory */
        o->jobs = o->sim && sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    if (o->jobs > 64) o->jobs = 64;
    return 0;
}
