/* options.c - strict parsing: a whole number or word within its range, or one line that says what
 * is wrong, and exit code 2. */
#include "loop/options.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: pointtrain train --data PATH... [options]\n"
    "Trains a sparse-convolution U-Net on point clouds; a batch that does not fit is split.\n\n"
    "  --data PATH...        scene (.las .ply .pcd .bin .f32 .npy, a folder with coord.npy), "
    "folder\n"
    "                        of scenes, list (.list, .txt: path [voxel=SIZE] a line), or\n"
    "                        rooms:N[,max=P]: N generated rooms of at most P points\n"
    "  --class-map FILE      raw classes to labels, a line each: from to, where to is a number or\n"
    "                        ignore and from may be *, all others; needed for files\n"
    "  --classes FILE        the same, the older name\n"
    "  --skip-bad            leave unreadable files out instead of stopping\n"
    "  --voxel SIZE          edge of a voxel in the scene's units (0.05)\n"
    "  --batch N             scenes a batch (4)\n"
    "  --steps N             batches (100)\n"
    "  --seed N              of everything random (1)\n"
    "  --allocator KIND      caching | direct: one cudaMalloc a tensor (caching)\n"
    "  --norm KIND           layer | frozen | batch (layer)\n"
    "  --amp off             mixed precision is not in this version\n"
    "  --convs N             3^3 convolutions a level and side, 1 or 2 (1); 2 widens the halo\n"
    "  --split MODE          auto | alternate (auto)\n"
    "  --on-floor WHAT       drop | error: points that cannot be made to fit (drop)\n"
    "  --max-dropped PCT     a run that drops more of its points ends with 13 (1%)\n"
    "  --on-error WHAT       stop | skip: a batch that fails by another error (stop)\n"
    "  --on-nan WHAT         stop | skip: a NaN or infinite loss or gradient (stop)\n"
    "  --lr X --weight-decay X --clip NORM --warmup N --schedule cosine|poly|constant\n"
    "                        (0.001, 0.01, 0: off, 0, cosine)\n"
    "  --augment S           strength 0..1 of random changes (1)\n"
    "  --gather-rows N       rows of the gather workspace, 0: as many as needed (0)\n"
    "  --checkpoint FILE     resumed from when it exists, written at the end\n"
    "  --log FILE            a JSON object a batch, a summary at the end\n"
    "  --quiet               no progress\n\n"
    "exit codes: 0 done, 2 usage or bad input, 10 out of memory and not recoverable, 11 another "
    "device\n"
    "or library error, 12 NaN or infinite loss, 13 points dropped where that is an error, 14 "
    "checkpoint\n";

enum {
    O_DATA = 256,
    O_CLASSES,
    O_SKIP_BAD,
    O_VOXEL,
    O_BATCH,
    O_STEPS,
    O_SEED,
    O_ALLOCATOR,
    O_NORM,
    O_AMP,
    O_CONVS,
    O_SPLIT,
    O_ON_FLOOR,
    O_MAX_DROPPED,
    O_ON_ERROR,
    O_ON_NAN,
    O_LR,
    O_DECAY,
    O_CLIP,
    O_WARMUP,
    O_SCHEDULE,
    O_AUGMENT,
    O_GATHER,
    O_CHECKPOINT,
    O_LOG,
    O_QUIET,
    O_VERSION
};

static const struct option table[] = {{"data", 1, 0, O_DATA},
                                      {"class-map", 1, 0, O_CLASSES},
                                      {"classes", 1, 0, O_CLASSES},
                                      {"skip-bad", 0, 0, O_SKIP_BAD},
                                      {"voxel", 1, 0, O_VOXEL},
                                      {"batch", 1, 0, O_BATCH},
                                      {"steps", 1, 0, O_STEPS},
                                      {"seed", 1, 0, O_SEED},
                                      {"allocator", 1, 0, O_ALLOCATOR},
                                      {"norm", 1, 0, O_NORM},
                                      {"amp", 1, 0, O_AMP},
                                      {"convs", 1, 0, O_CONVS},
                                      {"split", 1, 0, O_SPLIT},
                                      {"on-floor", 1, 0, O_ON_FLOOR},
                                      {"max-dropped", 1, 0, O_MAX_DROPPED},
                                      {"on-error", 1, 0, O_ON_ERROR},
                                      {"on-nan", 1, 0, O_ON_NAN},
                                      {"lr", 1, 0, O_LR},
                                      {"weight-decay", 1, 0, O_DECAY},
                                      {"clip", 1, 0, O_CLIP},
                                      {"warmup", 1, 0, O_WARMUP},
                                      {"schedule", 1, 0, O_SCHEDULE},
                                      {"augment", 1, 0, O_AUGMENT},
                                      {"gather-rows", 1, 0, O_GATHER},
                                      {"checkpoint", 1, 0, O_CHECKPOINT},
                                      {"log", 1, 0, O_LOG},
                                      {"quiet", 0, 0, O_QUIET},
                                      {"help", 0, 0, 'h'},
                                      {"version", 0, 0, O_VERSION},
                                      {0}};

static int bad(const char *option, const char *value, const char *want)
{
    fprintf(stderr, "pointtrain: error: --%s %s: expected %s\n", option, value, want);
    return 0;
}

static int integer(const char *option, const char *s, int64_t lo, int64_t hi, int64_t *out)
{
    char *end, want[80];
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end != s && !*end && !errno && v >= lo && v <= hi) {
        *out = v;
        return 1;
    }
    snprintf(want, sizeof want, "a whole number from %lld to %lld", (long long)lo, (long long)hi);
    return bad(option, s, want);
}

static int number(const char *option, const char *s, double lo, double hi, double *out)
{
    char *end, want[80];
    double v = strtod(s, &end);
    if (!strcmp(option, "max-dropped") && *end == '%') end++;
    if (end != s && !*end && isfinite(v) && v >= lo && v <= hi) {
        *out = v;
        return 1;
    }
    snprintf(want, sizeof want, "a number from %g to %g", lo, hi);
    return bad(option, s, want);
}

static int word(const char *option, const char *s, const char *const *words, int *out)
{
    char want[80] = "one of";
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], s)) {
            *out = i;
            return 1;
        }
        strcat(strcat(want, " "), words[i]);
    }
    return bad(option, s, want);
}

static int one(pt_options *o, int c, const char *name)
{
    static const char *const allocators[] = {"caching", "direct", 0}, *const norms[] = {"layer",
                                                                                        "frozen",
                                                                                        "batch", 0};
    static const char *const splits[] = {"auto", "alternate", 0}, *const floors[] = {"drop",
                                                                                     "error", 0};
    static const char *const ons[] = {"stop", "skip", 0}, *const schedules[] = {
                                                              "constant", "cosine", "poly", 0};
    int64_t i = 0;
    double x = 0;
    int w = 0, ok = 1;
    switch (c) {
    case O_DATA: o->data[o->ndata++] = optarg; break;
    case O_CLASSES: o->classes = optarg; break;
    case O_SKIP_BAD: o->skip_bad = 1; break;
    case O_QUIET: o->quiet = 1; break;
    case O_CHECKPOINT: o->checkpoint = optarg; break;
    case O_LOG: o->log = optarg; break;
    case O_VOXEL:
        if ((ok = number(name, optarg, 1e-9, 1e9, &x))) o->voxel = (float)x;
        break;
    case O_AUGMENT:
        if ((ok = number(name, optarg, 0, 1, &x))) o->augment = (float)x;
        break;
    case O_LR: ok = number(name, optarg, 0, 1e3, &o->lr); break;
    case O_DECAY: ok = number(name, optarg, 0, 1e3, &o->weight_decay); break;
    case O_CLIP: ok = number(name, optarg, 0, 1e30, &o->clip); break;
    case O_MAX_DROPPED:
        if ((ok = number(name, optarg, 0, 100, &x))) o->max_dropped = x / 100;
        break;
    case O_BATCH:
        if ((ok = integer(name, optarg, 1, 1023, &i))) o->batch = (int)i;
        break;
    case O_CONVS:
        if ((ok = integer(name, optarg, 1, 2, &i))) o->convs = (int)i;
        break;
    case O_STEPS: ok = integer(name, optarg, 1, INT64_C(1) << 40, &o->steps); break;
    case O_WARMUP: ok = integer(name, optarg, 0, INT64_C(1) << 40, &o->warmup); break;
    case O_GATHER: ok = integer(name, optarg, 0, INT64_C(1) << 31, &o->gather_rows); break;
    case O_SEED:
        if ((ok = integer(name, optarg, 0, INT64_MAX, &i))) o->seed = (uint64_t)i;
        break;
    case O_ALLOCATOR:
        if (!strcmp(optarg, "async"))
            return bad(name, optarg, "caching or direct (async is not in this version)");
        if ((ok = word(name, optarg, allocators, &w))) o->allocator = (pt_allocator_kind)w;
        break;
    case O_NORM:
        if ((ok = word(name, optarg, norms, &w))) o->norm = (pt_norm)w;
        break;
    case O_AMP:
        ok = !strcmp(optarg, "off") ||
             bad(name, optarg, "off (mixed precision is not in this version)");
        break;
    case O_SPLIT:
        if ((ok = word(name, optarg, splits, &w))) o->split = (pt_split_mode)w;
        break;
    case O_ON_FLOOR:
        if ((ok = word(name, optarg, floors, &w))) o->on_floor = (pt_on_floor)w;
        break;
    case O_ON_ERROR:
        if ((ok = word(name, optarg, ons, &w))) o->on_error = (pt_on)w;
        break;
    case O_ON_NAN:
        if ((ok = word(name, optarg, ons, &w))) o->on_nan = (pt_on)w;
        break;
    case O_SCHEDULE:
        if ((ok = word(name, optarg, schedules, &w))) o->schedule = (pt_schedule)w;
        break;
    default: ok = 0;
    }
    return ok;
}

int pt_options_parse(int argc, char **argv, pt_options *o, int *code)
{
    int c, index = 0;
    *o = (pt_options){.batch = 4,
                      .convs = 1,
                      .steps = 100,
                      .seed = 1,
                      .voxel = 0.05f,
                      .augment = 1,
                      .lr = 1e-3,
                      .weight_decay = 0.01,
                      .max_dropped = 0.01,
                      .schedule = PT_LR_COSINE};
    *code = 2;
    if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
        fputs(help, stdout);
        *code = 0;
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        puts("pointtrain 0.1.0 (" PT_REAL_NAME ")");
        *code = 0;
        return 0;
    }
    if (argc < 2 || strcmp(argv[1], "train")) {
        fprintf(stderr, "pointtrain: error: expected the command train; see pointtrain --help\n");
        return 0;
    }
    if (!(o->data = calloc((size_t)argc, sizeof *o->data))) return 0;
    optind = 2;
    while ((c = getopt_long(argc, argv, "h", table, &index)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            *code = 0;
            pt_options_free(o);
            return 0;
        }
        if (c == '?' || !one(o, c, table[index].name)) {
            pt_options_free(o);
            return 0;
        }
    }
    for (; optind < argc; optind++) o->data[o->ndata++] = argv[optind]; /* --data A B C */
    if (o->ndata) return 1;
    fprintf(stderr, "pointtrain: error: nothing to train on; give --data PATH...\n");
    pt_options_free(o);
    return 0;
}

void pt_options_free(pt_options *o)
{
    free(o->data);
    o->data = NULL;
}
