/* checkpoint.c - one file, checked as a whole before anything of it is used. */
#include "loop/checkpoint.h"
#include "loop/aside.h"
#include "probe.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    H_VERSION,
    H_REAL,
    H_PARAMS,
    H_RUNNING,
    H_T,
    H_STEP,
    H_SEED,
    H_DIGEST,
    H_CLASSES,
    H_CONVS,
    H_NORM,
    H_OPTIMIZER, /* since version 3, and what follows */
    H_AMP,
    H_SCALE, /* a power of 2 */
    H_GOOD,
    H_ACCUM, /* since version 4: batches a step, and what is there of the one in progress */
    H_ACCUM_BATCHES,
    H_ACCUM_POINTS,
    H_ACCUM_DIVISOR, /* the bits of a double, and the next too */
    H_ACCUM_WEIGHT,
    H_PLAN, /* the memory model's numbers, as they lie in memory */
    H_COUNT = H_PLAN + (int)PT_PLAN_NUMBERS
};
enum { OLDEST = 2, MARKED = 5, VERSION = 5 };
static const int numbers[] = {/* of a version */
                              [2] = H_OPTIMIZER,
                              [3] = H_ACCUM,
                              [4] = H_COUNT,
                              [5] = H_COUNT};
static const char magic[8] = {'O', 'O', 'M', 'P', 'R', 'O', 'O', 'F'};
/* The last bytes since version 5: what ends without them was not written to its end. */
static const char done_mark[8] = {'\n', 'D', 'O', 'N', 'E', '\n', 0, 0};
enum { TAIL = sizeof(uint64_t) + sizeof done_mark };

static uint64_t fnv(uint64_t h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* What must agree for the file to be of this net. */
static int64_t digest_of(const pt_trainer *t)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < t->net->ntensors; i++) {
        h = fnv(h, t->net->tensor[i].name, strlen(t->net->tensor[i].name) + 1);
        h = fnv(h, &t->net->tensor[i].count, sizeof t->net->tensor[i].count);
    }
    return (int64_t)h;
}

/* accumulated: batches whose gradient is in it, before which there is none; and since version 5 the
 * running statistics from before them */
static size_t body_bytes(const pt_trainer *t, int64_t version, int64_t accumulated)
{
    size_t arrays = (t->optimizer.v ? 3 : 2) + (accumulated > 0);
    size_t statistics = 1 + (version >= MARKED && accumulated > 0);
    return sizeof(real) * (arrays * t->net->nparams + statistics * t->net->nrunning);
}

/* *end: where the header ends. What an older version does not say is filled in. */
static pt_status read_header(const char *path, const char *image, size_t bytes, int64_t *h,
                             size_t *end)
{
    int64_t version = 0;
    if (bytes < sizeof magic + sizeof(int64_t) || memcmp(image, magic, sizeof magic) != 0)
        return pt_fail(PT_ERR_INPUT, "%s: not a checkpoint", path);
    memcpy(&version, image + sizeof magic, sizeof version);
    if (version < OLDEST || version > VERSION)
        return pt_fail(PT_ERR_INPUT, "%s: checkpoint version %lld, this program reads %d to %d",
                       path, (long long)version, OLDEST, VERSION);
    size_t count = (size_t)numbers[version];
    if (bytes < sizeof magic + count * sizeof *h)
        return pt_fail(PT_ERR_INPUT, "%s: not a checkpoint", path);
    pt_plan plan = pt_plan_start();
    memcpy(h + H_PLAN, &plan, sizeof plan);
    h[H_OPTIMIZER] = PT_ADAMW;
    h[H_AMP] = PT_AMP_OFF;
    h[H_SCALE] = 1;
    h[H_GOOD] = 0;
    h[H_ACCUM] = 1;
    for (int i = H_ACCUM_BATCHES; i < H_PLAN; i++) h[i] = 0;
    memcpy(h, image + sizeof magic, count * sizeof *h);
    *end = sizeof magic + count * sizeof *h;
    return PT_OK;
}

static const char *optimizer_name(int64_t kind)
{
    return kind == PT_SGD ? "sgd" : "adamw";
}

/* The whole file in memory: magic, header, body, checksum. */
static pt_status pack(pt_trainer *t, char *image)
{
    pt_status st = PT_OK;
    int64_t h[H_COUNT] = {VERSION,
                          sizeof(real),
                          (int64_t)t->net->nparams,
                          (int64_t)t->net->nrunning,
                          t->optimizer.t,
                          t->step,
                          (int64_t)t->o.seed,
                          digest_of(t),
                          t->o.net.classes,
                          t->o.net.convs,
                          t->o.net.norm,
                          t->optimizer.kind,
                          t->o.net.amp,
                          (int64_t)t->scaler.scale,
                          t->scaler.good,
                          pt_accum_of(&t->o),
                          t->accum.batches,
                          t->accum.points};
    size_t n = t->net->nparams, after = t->optimizer.v ? 3 * n : 2 * n;
    real *body = (real *)(image + sizeof magic + sizeof h);
    memcpy(h + H_PLAN, &t->plan, sizeof t->plan);
    memcpy(&h[H_ACCUM_DIVISOR], &t->accum.divisor, sizeof(double));
    memcpy(&h[H_ACCUM_WEIGHT], &t->accum.weight, sizeof(double));
    memcpy(image, magic, sizeof magic);
    memcpy(image + sizeof magic, h, sizeof h);
    TRY(pt_trainer_read(t, t->net->param, n, body));
    TRY(pt_trainer_read(t, t->optimizer.m, n, body + n));
    if (t->optimizer.v) TRY(pt_trainer_read(t, t->optimizer.v, n, body + 2 * n));
    if (t->net->nrunning) TRY(pt_trainer_read(t, t->net->running, t->net->nrunning, body + after));
    if (t->accum.batches) {
        real *sum = body + after + t->net->nrunning;
        TRY(pt_trainer_read(t, t->net->accum, n, sum));
        if (t->net->nrunning) TRY(pt_trainer_read(t, t->running_step, t->net->nrunning, sum + n));
    }
    size_t end = sizeof magic + sizeof h + body_bytes(t, VERSION, t->accum.batches);
    uint64_t sum = fnv(14695981039346656037u, image, end);
    memcpy(image + end, &sum, sizeof sum);
    memcpy(image + end + sizeof sum, done_mark, sizeof done_mark);
done:
    return st;
}

static pt_status read_whole(const char *path, char **image, size_t *bytes);

/* What is there now, for a sweep; 0: nothing that can be read. */
static uint64_t file_hash(const char *path)
{
    char *image = NULL;
    size_t bytes = 0;
    if (!pt_probe_watched()) return 0;
    pt_error before = *pt_error_last();
    uint64_t h = 0;
    if (read_whole(path, &image, &bytes) == PT_OK && image) h = pt_probe_hash(1, image, bytes);
    pt_error_restore(&before);
    free(image);
    return h;
}

static pt_status save(pt_trainer *t, const char *path, int *retries)
{
    pt_status st = PT_OK;
    size_t bytes =
        sizeof magic + sizeof(int64_t) * H_COUNT + body_bytes(t, VERSION, t->accum.batches) + TAIL;
    char *image = malloc(bytes);
    pt_phase_set(PT_PHASE_CHECKPOINT);
    if (!image)
        return pt_fail(PT_ERR_HOST, "%s: no host memory for a checkpoint of %zu bytes", path,
                       bytes);
    st = pack(t, image);
    if (st == PT_ERR_DEVICE && pt_classify(pt_error_last()) == PT_CLASS_OOM) {
        cudaGetLastError();
        TRY(pt_mem_release(&t->device));
        ++*retries;
        st = pack(t, image);
    }
    if (st == PT_OK) st = pt_write_whole(path, image, bytes);
done:
    free(image);
    return st;
}

pt_status pt_checkpoint_save(pt_trainer *t, const char *path)
{
    int retries = 0;
    t->left.checkpoint = file_hash(path);
    pt_probe_part_begin("checkpoint");
    pt_status st = save(t, path, &retries);
    t->left.checkpoint = file_hash(path);
    pt_probe_part_end("checkpoint", &(pt_probe_step){.attempts = 1 + retries,
                                                     .retries = retries,
                                                     .failed = st != PT_OK,
                                                     .exit_code = st != PT_OK ? 14 : 0});
    return st;
}

static pt_status check(const pt_trainer *t, const char *path, const char *image, size_t bytes,
                       int64_t *h, size_t *start)
{
    pt_status st = read_header(path, image, bytes, h, start);
    uint64_t sum;
    if (st != PT_OK) return st;
    if (h[H_REAL] != (int64_t)sizeof(real))
        return pt_fail(PT_ERR_INPUT, "%s: made by a build with %lld-byte numbers, this one has %zu",
                       path, (long long)h[H_REAL], sizeof(real));
    if (h[H_PARAMS] != (int64_t)t->net->nparams || h[H_RUNNING] != (int64_t)t->net->nrunning ||
        h[H_DIGEST] != digest_of(t))
        return pt_fail(PT_ERR_INPUT,
                       "%s: of another net or norm (%lld parameters, this one has %zu); use the "
                       "options it was trained with, or another file",
                       path, (long long)h[H_PARAMS], t->net->nparams);
    if (h[H_OPTIMIZER] != (int64_t)t->optimizer.kind)
        return pt_fail(PT_ERR_INPUT,
                       "%s: of a run with --optimizer %s, not %s, whose state is another; use the "
                       "options it was trained with, or another file",
                       path, optimizer_name(h[H_OPTIMIZER]), optimizer_name(t->optimizer.kind));
    if (h[H_AMP] != (int64_t)t->o.net.amp || h[H_SCALE] < 1 || h[H_SCALE] > 1LL << 40 ||
        h[H_GOOD] < 0)
        return pt_fail(PT_ERR_INPUT,
                       "%s: of a run with another --amp; use the options it was trained with, or "
                       "another file",
                       path);
    pt_plan plan;
    memcpy(&plan, h + H_PLAN, sizeof plan);
    if (!pt_plan_sound(&plan))
        return pt_fail(PT_ERR_INPUT, "%s: damaged: no memory model is like that", path);
    if (h[H_SEED] != (int64_t)t->o.seed)
        return pt_fail(
            PT_ERR_INPUT,
            "%s: of a run with --seed %lld, not %lld: it would not be that run that goes on", path,
            (long long)h[H_SEED], (long long)t->o.seed);
    if (h[H_ACCUM] != pt_accum_of(&t->o) || h[H_ACCUM_BATCHES] < 0 ||
        h[H_ACCUM_BATCHES] >= h[H_ACCUM] || h[H_ACCUM_POINTS] < 0)
        return pt_fail(
            PT_ERR_INPUT,
            "%s: of a run with --accum %lld, not %lld: its batches belong to other steps", path,
            (long long)h[H_ACCUM], (long long)pt_accum_of(&t->o));
    size_t end = *start + body_bytes(t, h[H_VERSION], h[H_ACCUM_BATCHES]);
    size_t tail = h[H_VERSION] >= MARKED ? TAIL : sizeof sum;
    if (bytes != end + tail)
        return pt_fail(PT_ERR_INPUT, "%s: %zu bytes, a whole checkpoint of this net has %zu", path,
                       bytes, end + tail);
    if (tail == TAIL && memcmp(image + end + sizeof sum, done_mark, sizeof done_mark) != 0)
        return pt_fail(PT_ERR_INPUT,
                       "%s: damaged: it does not end with DONE, as one does that was "
                       "written to its end",
                       path);
    memcpy(&sum, image + end, sizeof sum);
    if (sum != fnv(14695981039346656037u, image, end))
        return pt_fail(PT_ERR_INPUT, "%s: damaged: the checksum does not fit", path);
    return PT_OK;
}

/* *image NULL with PT_OK: there is no such file. */
static pt_status read_whole(const char *path, char **image, size_t *bytes)
{
    pt_status st = PT_OK;
    struct stat about;
    *image = NULL;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return pt_fail(PT_ERR_INPUT, "%s: not a regular file", path);
    FILE *f = fopen(path, "rbe");
    if (!f) {
        if (errno == ENOENT) return PT_OK;
        return pt_fail(PT_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    }
    long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    rewind(f);
    if (n < 0 || !(*image = malloc((size_t)n + 1)) || fread(*image, 1, (size_t)n, f) != (size_t)n) {
        free(*image);
        *image = NULL;
        st = pt_fail(PT_ERR_INPUT, "%s: cannot be read", path);
    }
    *bytes = (size_t)n;
    fclose(f);
    return st;
}

pt_status pt_checkpoint_load(pt_trainer *t, const char *path, int *found)
{
    pt_status st = PT_OK;
    char *image = NULL;
    size_t bytes = 0, start = 0, n = t->net->nparams, after = t->optimizer.v ? 3 * n : 2 * n;
    int64_t h[H_COUNT];
    *found = 0;
    pt_phase_set(PT_PHASE_CHECKPOINT);
    TRY(read_whole(path, &image, &bytes));
    if (!image) goto done;
    TRY(check(t, path, image, bytes, h, &start));
    const real *body = (const real *)(image + start);
    TRY(pt_trainer_write(t, t->net->param, n, body));
    TRY(pt_trainer_write(t, t->optimizer.m, n, body + n));
    if (t->optimizer.v) TRY(pt_trainer_write(t, t->optimizer.v, n, body + 2 * n));
    if (t->net->nrunning) TRY(pt_trainer_write(t, t->net->running, t->net->nrunning, body + after));
    if (h[H_ACCUM_BATCHES]) {
        const real *sum = body + after + t->net->nrunning;
        TRY(pt_trainer_write(t, t->net->accum, n, sum));
        if (t->net->nrunning) /* an older file does not know those of before: these come next */
            TRY(pt_trainer_write(t, t->running_step, t->net->nrunning,
                                 h[H_VERSION] >= MARKED ? sum + n : body + after));
    }
    t->accum = (pt_accum){.batches = h[H_ACCUM_BATCHES], .points = h[H_ACCUM_POINTS]};
    memcpy(&t->accum.divisor, &h[H_ACCUM_DIVISOR], sizeof(double));
    memcpy(&t->accum.weight, &h[H_ACCUM_WEIGHT], sizeof(double));
    t->optimizer.t = h[H_T];
    t->step = h[H_STEP];
    t->scaler = (pt_scaler){(double)h[H_SCALE], h[H_GOOD]};
    memcpy(&t->plan, h + H_PLAN, sizeof t->plan);
    *found = 1;
done:
    free(image);
    return st;
}

pt_status pt_checkpoint_look(const char *path, pt_checkpoint_about *out)
{
    char image[sizeof magic + sizeof(int64_t) * H_COUNT];
    int64_t h[H_COUNT] = {0};
    size_t end;
    FILE *f = fopen(path, "rbe");
    if (!f) return pt_fail(PT_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    size_t n = fread(image, 1, sizeof image, f);
    fclose(f);
    pt_status st = read_header(path, image, n, h, &end);
    if (st != PT_OK) return st;
    *out = (pt_checkpoint_about){
        .classes = (int)h[H_CLASSES],
        .convs = (int)h[H_CONVS],
        .norm = (int)h[H_NORM],
        .optimizer = (int)h[H_OPTIMIZER],
        .amp = (int)h[H_AMP],
        .accum = (int)h[H_ACCUM],
        .step = h[H_STEP],
        .seed = (uint64_t)h[H_SEED],
    };
    if (h[H_CLASSES] < 1 || h[H_CLASSES] > PT_MAX_CLASSES || h[H_CONVS] < 1 || h[H_CONVS] > 2 ||
        h[H_NORM] < 0 || h[H_NORM] > PT_NORM_BATCH || h[H_OPTIMIZER] < 0 ||
        h[H_OPTIMIZER] > PT_SGD || h[H_AMP] < 0 || h[H_AMP] > PT_AMP_BF16 || h[H_ACCUM] < 1 ||
        h[H_ACCUM] > 1 << 20)
        return pt_fail(PT_ERR_INPUT, "%s: damaged: no net is like that", path);
    return PT_OK;
}
