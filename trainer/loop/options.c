/* options.c - strict parsing: a whole number or word within its range, or one line that says what
 * is wrong, and exit code 2. The table below is also the help text. */
#include "loop/options.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { FLAG, TEXT, PATHS, WHOLE, WHOLE64, SEED, NUMBER, NUMBER32, PERCENT, WORD } kind;

enum { T = 1 << PT_TRAIN, E = 1 << PT_EVAL, P = 1 << PT_PREDICT, I = 1 << PT_INFO };
static const char *const command_name[PT_COMMANDS] = {"train", "eval", "predict", "info"};

typedef struct entry {
    const char *name;
    kind kind;
    size_t at; /* of its field */
    double lo, hi;
    const char *words; /* of a WORD, in the order of its enum, with blanks between */
    unsigned commands;
    const char *argument, *help; /* help NULL: not shown by itself */
} entry;

#define F(field) offsetof(pt_options, field)
#define BIG      9e15 /* whole numbers that a double holds exactly */
static const entry table[] = {
    {"data", PATHS, F(data), 0, 0, 0, T | E | P | I, "PATH...",
     "scene (.las .ply .pcd .bin .f32 .npy, a folder with coord.npy), folder of\n"
     "scenes, list (.list, .txt: path [voxel=SIZE] a line), or generated rooms:\n"
     "rooms:N[,min=P][,max=P], rooms8:...: N rooms of P points, 6 or 8 classes;\n"
     "shapes:FILE: batches of rooms, their sizes a line each"},
    {"class-map", TEXT, F(classes), 0, 0, 0, T | E | P | I, "FILE",
     "raw classes to labels, a line each: from to, where to is a number or ignore\n"
     "and from may be *, all others; needed for files that are learnt from"},
    {"classes", TEXT, F(classes), 0, 0, 0, T | E | P | I, "FILE", "the same, the older name"},
    {"skip-bad", FLAG, F(skip_bad), 0, 0, 0, T | E | P, 0,
     "leave unreadable files out instead of stopping"},
    {"voxel", NUMBER32, F(voxel), 1e-9, 1e9, 0, T | E | P | I, "SIZE",
     "edge of a voxel in the scene's units (0.05)"},
    {"val", PATHS, F(val), 0, 0, 0, T, "PATH...",
     "scenes that are not learnt from: mIoU and accuracies of them"},
    {"val-every", WHOLE64, F(val_every), 0, BIG, 0, T, "N",
     "validation after every N batches (0: at the end)"},
    {"batch", WHOLE, F(batch), 1, 1023, 0, T, "N", "scenes a batch (4)"},
    {"accum", WHOLE, F(accum), 1, 1 << 20, 0, T, "N",
     "batches an optimiser step: their gradients add up to that of one batch (1)"},
    {"steps", WHOLE64, F(steps), 1, 1LL << 40, 0, T, "N", "batches (100); a multiple of --accum"},
    {"seed", SEED, F(seed), 0, 0, 0, T | E | P | I, "N", "of everything random (1)"},
    {"allocator", WORD, F(allocator), 0, 0, "caching direct async", T | E | P, "KIND",
     "caching | direct: one cudaMalloc a tensor | async: a pool of the driver's,\n"
     "trimmed on release (caching)"},
    {"device-fields", WORD, F(device_fields), 0, 0, "all x", T | E | P, "WHICH",
     "all | x: what of a batch lies on the device while no layer asks for it. all:\n"
     "coord, feature, label, own, slot, point, voxel, scene, class_weight; x: feature\n"
     "alone, the others lie on the host: coord, slot, voxel, label and own are fetched\n"
     "to make voxels, scene for dropout, class_weight for the loss, point never (all)"},
    {"norm", WORD, F(norm), 0, 0, "layer frozen batch", T, "KIND",
     "layer | frozen | batch (layer)"},
    {"norm-on-split", WORD, F(norm_on_split), 0, 0, "batch frozen", T, "WHAT",
     "batch | frozen: what batch norm takes in a batch that was split: each piece\n"
     "its own statistics, which is biased, and measured; or the running ones (batch)"},
    {"amp", WORD, F(amp), 0, 0, "off fp16 bf16", T, "KIND",
     "off | fp16 | bf16: what convolutions multiply as; fp16 scales the loss (off)"},
    {"convs", WHOLE, F(convs), 1, 2, 0, T, "N",
     "3^3 convolutions a level and side, 1 or 2 (1); 2 widens the halo"},
    {"split", WORD, F(split), 0, 0, "auto alternate", T | E | P, "MODE", "auto | alternate (auto)"},
    {"on-floor", WORD, F(on_floor), 0, 0, "drop error", T | E | P, "WHAT",
     "drop | error: points that cannot be made to fit (drop)"},
    {"max-dropped", PERCENT, F(max_dropped), 0, 100, 0, T | E | P, "PCT",
     "a run that drops more of its points ends with 13 (1%)"},
    {"on-error", WORD, F(on_error), 0, 0, "stop skip", T, "WHAT",
     "stop | skip: a batch that fails by another error (stop)"},
    {"on-nan", WORD, F(on_nan), 0, 0, "stop skip", T, "WHAT",
     "stop | skip: a NaN or infinite loss or gradient (stop)"},
    {"lr", NUMBER, F(lr), 0, 1e3, 0, T, "X", "learning rate (0.001)"},
    {"optimizer", WORD, F(optimizer), 0, 0, "adamw sgd", T, "KIND", "sgd | adamw (adamw)"},
    {"momentum", NUMBER, F(momentum), 0, 0.9999, 0, T, "X", "of sgd (0.9)"},
    {"weight-decay", NUMBER, F(weight_decay), 0, 1e3, 0, T, "X",
     "of weights; adamw: decoupled, sgd: part of the gradient (0.01)"},
    {"clip", NUMBER, F(clip), 0, 1e30, 0, T, "NORM", "of the whole gradient (0: off)"},
    {"label-smoothing", NUMBER, F(label_smoothing), 0, 1, 0, T, "X",
     "share of a point's target that is spread over all classes (0)"},
    {"class-weights", TEXT, F(class_weights), 0, 0, 0, T, "WHAT",
     "none | inverse: by how rare a class is in --data | FILE: label and weight a\n"
     "line; what a point of a class counts in the loss (none)"},
    {"dropout", NUMBER, F(dropout), 0, 0.99, 0, T, "P",
     "share of the channels before the head that is left out (0)"},
    {"warmup", WHOLE64, F(warmup), 0, 1LL << 40, 0, T, "N",
     "optimiser steps of a rising rate (0; onecycle: 30 % of all)"},
    {"schedule", WORD, F(schedule), 0, 0, "constant cosine poly onecycle", T, "KIND",
     "cosine | poly | onecycle | constant (cosine)"},
    {"augment", NUMBER32, F(augment), 0, 1, 0, T, "S", "strength 0..1 of random changes (1)"},
    {"elastic", NUMBER32, F(elastic), 0, 7, 0, T, "X",
     "elastic distortion: up to X voxels, smooth over 16 of them (0)"},
    {"colour-drop", NUMBER32, F(colour_drop), 0, 1, 0, T, "P",
     "chance that a scene of a batch has no colour (0)"},
    {"point-dropout", NUMBER, F(point_dropout), 0, 0.99, 0, T, "P",
     "share of a scene's points that a batch does without (0)"},
    {"gather-rows", WHOLE64, F(gather_rows), 0, 1LL << 31, 0, T | E | P, "N",
     "rows of the gather workspace, 0: as many as needed (0)"},
    {"plan-ahead", WORD, F(plan_ahead), 0, 0, "off on", T, "WHEN",
     "on | off: batches known not to fit are split before they are tried (on; off\n"
     "with --norm batch, whose statistics a split changes)"},
    {"checkpoint", TEXT, F(checkpoint), 0, 0, 0, T | E | P, "FILE",
     "train: resumed from when it exists, written at the end; else the net"},
    {"checkpoint-every", WHOLE64, F(checkpoint_every), 0, BIG, 0, T, "N",
     "written after every N batches too (0: only at the end)"},
    {"log", TEXT, F(log), 0, 0, 0, T | E, "FILE", "a JSON object a batch, a summary at the end"},
    {"tensorboard", TEXT, F(tensorboard), 0, 0, 0, T, "FOLDER",
     "event files: loss, rate, recovery, memory and validation as charts"},
    {"out", TEXT, F(out), 0, 0, 0, P, "FOLDER", "where NAME.ply with the predicted classes go"},
    {"quiet", FLAG, F(quiet), 0, 0, 0, T | E | P, 0, "no progress"},
};
enum { ENTRIES = sizeof table / sizeof *table };

static const char about[] =
    "usage: pointtrain train --data PATH... [options]\n"
    "       pointtrain eval --checkpoint FILE --data PATH... [options]\n"
    "       pointtrain predict --checkpoint FILE --data PATH... --out FOLDER [options]\n"
    "       pointtrain info SCENE... [--voxel SIZE] [--class-map FILE]\n"
    "Trains a sparse-convolution U-Net on point clouds; a batch that does not fit is split. eval\n"
    "measures a trained net, predict labels scenes by it, info says what a scene holds.\n\n";

static const char codes[] =
    "\nexit codes: 0 done (also when SIGTERM or SIGINT ended it after a batch), 2 usage or bad "
    "input,\n10 out of memory and not recoverable, 11 another device or library error, 12 NaN or "
    "infinite\nloss, 13 points dropped where that is an error, 14 checkpoint\n";

static void print_help(void)
{
    fputs(about, stdout);
    for (int i = 0; i < ENTRIES; i++) {
        char left[32], in[40] = "";
        const char *line = table[i].help;
        snprintf(left, sizeof left, "--%s %s", table[i].name,
                 table[i].argument ? table[i].argument : "");
        for (int c = 0; c < PT_COMMANDS && table[i].commands != (T | E | P | I); c++)
            if (table[i].commands >> c & 1)
                snprintf(in + strlen(in), sizeof in - strlen(in), "%s%s", *in ? ", " : "",
                         command_name[c]);
        for (int first = 1; *line; first = 0) {
            int n = (int)strcspn(line, "\n");
            int last = !line[n];
            printf("  %-22s %.*s%s%s%s\n", first ? left : "", n, line, last && *in ? "  [" : "",
                   last ? in : "", last && *in ? "]" : "");
            line += n + !last;
        }
    }
    fputs(codes, stdout);
}

static int bad(const char *option, const char *value, const char *want)
{
    fprintf(stderr, "pointtrain: error: --%s %s: expected %s\n", option, value, want);
    return 0;
}

static int whole(const entry *e, const char *s, int64_t lo, int64_t hi, int64_t *out)
{
    char *end, want[80];
    errno = 0;
    long long v = strtoll(s, &end, 10);
    if (end != s && !*end && !errno && v >= lo && v <= hi) {
        *out = v;
        return 1;
    }
    snprintf(want, sizeof want, "a whole number from %lld to %lld", (long long)lo, (long long)hi);
    return bad(e->name, s, want);
}

static int number(const entry *e, const char *s, double *out)
{
    char *end, want[80];
    double v = strtod(s, &end);
    if (e->kind == PERCENT && *end == '%') end++;
    if (end != s && !*end && isfinite(v) && v >= e->lo && v <= e->hi) {
        *out = v;
        return 1;
    }
    snprintf(want, sizeof want, "a number from %g to %g", e->lo, e->hi);
    return bad(e->name, s, want);
}

static int word(const entry *e, const char *s, int *out)
{
    char want[80], *save;
    int i = 0;
    snprintf(want, sizeof want, "%s", e->words);
    for (char *w = strtok_r(want, " ", &save); w; w = strtok_r(NULL, " ", &save), i++)
        if (!strcmp(w, s)) {
            *out = i;
            return 1;
        }
    snprintf(want, sizeof want, "%s%s", i > 1 ? "one of " : "", e->words);
    return bad(e->name, s, want);
}

/* Sets the field of e. */
static int take(pt_options *o, const entry *e, const char *s)
{
    void *field = (char *)o + e->at;
    int64_t n = 0;
    double x = 0;
    int w = 0, ok = 1;
    switch (e->kind) {
    case FLAG: *(int *)field = 1; break;
    case TEXT: *(const char **)field = s; break;
    case PATHS:
        if (e->at == F(val))
            o->val[o->nval++] = s;
        else
            o->data[o->ndata++] = s;
        break;
    case WHOLE:
        if ((ok = whole(e, s, (int64_t)e->lo, (int64_t)e->hi, &n))) *(int *)field = (int)n;
        break;
    case WHOLE64:
        if ((ok = whole(e, s, (int64_t)e->lo, (int64_t)e->hi, &n))) *(int64_t *)field = n;
        break;
    case SEED:
        if ((ok = whole(e, s, 0, INT64_MAX, &n))) *(uint64_t *)field = (uint64_t)n;
        break;
    case NUMBER: ok = number(e, s, field); break;
    case NUMBER32:
        if ((ok = number(e, s, &x))) *(float *)field = (float)x;
        break;
    case PERCENT:
        if ((ok = number(e, s, &x))) *(double *)field = x / 100;
        break;
    case WORD:
        if ((ok = word(e, s, &w)) && e->at != (size_t)-1) *(int *)field = w;
        break;
    }
    return ok;
}

/* ---- words that are nearly right ---- */
static int distance(const char *a, const char *b) /* Levenshtein, over at most 31 letters */
{
    int row[32];
    size_t n = strlen(a), m = strlen(b);
    if (n > 31 || m > 31) return 99;
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int corner = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int keep = corner + (a[i - 1] != b[j - 1]), up = row[j] + 1, left = row[j - 1] + 1;
            corner = row[j];
            row[j] = keep < up ? (keep < left ? keep : left) : (up < left ? up : left);
        }
    }
    return row[m];
}

static int unknown(const char *given)
{
    char name[40];
    const char *near = NULL;
    int best = 3;
    snprintf(name, sizeof name, "%s", given + strspn(given, "-"));
    name[strcspn(name, "=")] = 0;
    for (int i = 0; i < ENTRIES; i++) {
        int d = distance(name, table[i].name);
        if (d < best) near = table[i].name, best = d;
    }
    fprintf(stderr, "pointtrain: error: unknown option %s%s%s%s\n", given,
            near ? "; did you mean --" : "; see pointtrain --help", near ? near : "",
            near ? "?" : "");
    return 2;
}

/* ---- all of it ---- */
static int read_all(int argc, char **argv, pt_options *o)
{
    struct option names[ENTRIES + 3];
    int c, last = -1;
    for (int i = 0; i < ENTRIES; i++)
        names[i] = (struct option){table[i].name, table[i].kind != FLAG, NULL, 256 + i};
    names[ENTRIES] = (struct option){"help", 0, NULL, 'h'};
    names[ENTRIES + 1] = (struct option){0};
    optind = 2;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "-h", names, NULL)) != -1) {
        if (c == 'h') return -1;
        if (c == 1) { /* --data A B C; without an option before: a scene */
            const entry *e = &table[last >= 0 && table[last].kind == PATHS ? last : 0];
            take(o, e, optarg);
            continue;
        }
        if (c == ':' || c == '?') {
            const char *given = argv[optind - 1];
            for (int i = 0; i < ENTRIES; i++)
                if (!strcmp(given + strspn(given, "-"), table[i].name)) {
                    fprintf(stderr, "pointtrain: error: --%s needs %s\n", table[i].name,
                            table[i].argument ? table[i].argument : "no value");
                    return 2;
                }
            return unknown(given);
        }
        last = c - 256;
        if (!(table[last].commands >> o->command & 1)) {
            fprintf(stderr, "pointtrain: error: --%s is not an option of %s\n", table[last].name,
                    command_name[o->command]);
            return 2;
        }
        if (!take(o, &table[last], optarg)) return 2;
    }
    for (; optind < argc; optind++) o->data[o->ndata++] = argv[optind]; /* after -- */
    return 0;
}

static const char *missing(const pt_options *o)
{
    if (!o->ndata)
        return o->command == PT_TRAIN ? "nothing to train on; give --data PATH..."
                                      : "no scene; give --data PATH...";
    if ((o->command == PT_EVAL || o->command == PT_PREDICT) && !o->checkpoint)
        return "by which net? Give --checkpoint FILE, as train wrote it";
    if (o->command == PT_PREDICT && !o->out) return "where to? Give --out FOLDER";
    if (o->val_every && !o->nval) return "--val-every needs scenes: --val PATH...";
    if (o->plan_ahead > 0 && o->norm == PT_NORM_BATCH)
        return "--plan-ahead on splits batches, and --norm batch has other statistics then; leave "
               "one of them out";
    if (o->steps % o->accum)
        return "--steps is no multiple of --accum: the last batches would take no step";
    if (o->norm_on_split && o->norm != PT_NORM_BATCH) return "--norm-on-split needs --norm batch";
    if (o->momentum >= 0 && o->optimizer != PT_SGD) return "--momentum needs --optimizer sgd";
    if (o->checkpoint_every && !o->checkpoint) return "--checkpoint-every needs --checkpoint FILE";
    return NULL;
}

int pt_options_parse(int argc, char **argv, pt_options *o, int *code)
{
    const char *first = argc > 1 ? argv[1] : "";
    int command = 0;
    *o = (pt_options){.batch = 4,
                      .accum = 1,
                      .convs = 1,
                      .steps = 100,
                      .seed = 1,
                      .voxel = 0.05f,
                      .augment = 1,
                      .lr = 1e-3,
                      .weight_decay = 0.01,
                      .momentum = -1, /* not given */
                      .plan_ahead = -1,
                      .max_dropped = 0.01,
                      .schedule = PT_LR_COSINE};
    *code = 0;
    if (!strcmp(first, "--help") || !strcmp(first, "-h")) {
        print_help();
        return 0;
    }
    if (!strcmp(first, "--version")) {
        puts("pointtrain 0.1.0 (" PT_REAL_NAME ")");
        return 0;
    }
    *code = 2;
    while (command < PT_COMMANDS && strcmp(first, command_name[command])) command++;
    if (command == PT_COMMANDS) {
        fprintf(stderr, "pointtrain: error: expected the command train, eval, predict or info; see "
                        "pointtrain --help\n");
        return 0;
    }
    o->command = (pt_command)command;
    o->data = calloc((size_t)argc, sizeof *o->data);
    o->val = calloc((size_t)argc, sizeof *o->val);
    *code = o->data && o->val ? read_all(argc, argv, o) : 10;
    if (*code == -1) {
        print_help();
        *code = 0;
    } else if (!*code) {
        const char *what = missing(o);
        if (!what) return 1;
        fprintf(stderr, "pointtrain: error: %s\n", what);
        *code = 2;
    }
    pt_options_free(o);
    return 0;
}

void pt_options_free(pt_options *o)
{
    free(o->data);
    free(o->val);
    o->data = o->val = NULL;
}
