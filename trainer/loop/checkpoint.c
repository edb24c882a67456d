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
    H_COUNT
};
enum { VERSION = 2 };
static const char magic[8] = {'O', 'O', 'M', 'P', 'R', 'O', 'O', 'F'};

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

static size_t body_bytes(const pt_trainer *t)
{
    return sizeof(real) * (3 * t->net->nparams + t->net->nrunning);
}

/* The whole file in memory: magic, header, body, checksum. */
static pt_status pack(pt_trainer *t, char *image)
{
    pt_status st = PT_OK;
    int64_t h[H_COUNT] = {VERSION,
                          sizeof(real),
                          (int64_t)t->net->nparams,
                          (int64_t)t->net->nrunning,
                          t->adamw.t,
                          t->step,
                          (int64_t)t->o.seed,
                          digest_of(t),
                          t->o.net.classes,
                          t->o.net.convs,
                          t->o.net.norm};
    size_t n = t->net->nparams;
    real *body = (real *)(image + sizeof magic + sizeof h);
    memcpy(image, magic, sizeof magic);
    memcpy(image + sizeof magic, h, sizeof h);
    TRY(pt_trainer_read(t, t->net->param, n, body));
    TRY(pt_trainer_read(t, t->adamw.m, n, body + n));
    TRY(pt_trainer_read(t, t->adamw.v, n, body + 2 * n));
    if (t->net->nrunning) TRY(pt_trainer_read(t, t->net->running, t->net->nrunning, body + 3 * n));
    size_t end = sizeof magic + sizeof h + body_bytes(t);
    uint64_t sum = fnv(14695981039346656037u, image, end);
    memcpy(image + end, &sum, sizeof sum);
done:
    return st;
}

pt_status pt_checkpoint_save(pt_trainer *t, const char *path)
{
    pt_status st = PT_OK;
    size_t bytes = sizeof magic + sizeof(int64_t) * H_COUNT + body_bytes(t) + sizeof(uint64_t);
    char *image = malloc(bytes);
    pt_phase_set(PT_PHASE_CHECKPOINT);
    if (!image)
        return pt_fail(PT_ERR_HOST, "%s: no host memory for a checkpoint of %zu bytes", path,
                       bytes);
    TRY(pack(t, image));
    st = pt_write_whole(path, image, bytes);
done:
    free(image);
    return st;
}

static pt_status check(const pt_trainer *t, const char *path, const char *image, size_t bytes)
{
    int64_t h[H_COUNT];
    size_t end = sizeof magic + sizeof h + body_bytes(t);
    uint64_t sum;
    if (bytes < sizeof magic + sizeof h || memcmp(image, magic, sizeof magic) != 0)
        return pt_fail(PT_ERR_INPUT, "%s: not a checkpoint", path);
    memcpy(h, image + sizeof magic, sizeof h);
    if (h[H_VERSION] != VERSION)
        return pt_fail(PT_ERR_INPUT, "%s: checkpoint version %lld, this program reads %d", path,
                       (long long)h[H_VERSION], VERSION);
    if (h[H_REAL] != (int64_t)sizeof(real))
        return pt_fail(PT_ERR_INPUT, "%s: made by a build with %lld-byte numbers, this one has %zu",
                       path, (long long)h[H_REAL], sizeof(real));
    if (h[H_PARAMS] != (int64_t)t->net->nparams || h[H_RUNNING] != (int64_t)t->net->nrunning ||
        h[H_DIGEST] != digest_of(t))
        return pt_fail(PT_ERR_INPUT,
                       "%s: of another net or norm (%lld parameters, this one has %zu); use the "
                       "options it was trained with, or another file",
                       path, (long long)h[H_PARAMS], t->net->nparams);
    if (h[H_SEED] != (int64_t)t->o.seed)
        return pt_fail(
            PT_ERR_INPUT,
            "%s: of a run with --seed %lld, not %lld: it would not be that run that goes on", path,
            (long long)h[H_SEED], (long long)t->o.seed);
    if (bytes != end + sizeof sum)
        return pt_fail(PT_ERR_INPUT, "%s: %zu bytes, a whole checkpoint of this net has %zu", path,
                       bytes, end + sizeof sum);
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
    size_t bytes = 0, n = t->net->nparams;
    int64_t h[H_COUNT];
    *found = 0;
    pt_phase_set(PT_PHASE_CHECKPOINT);
    TRY(read_whole(path, &image, &bytes));
    if (!image) goto done;
    TRY(check(t, path, image, bytes));
    memcpy(h, image + sizeof magic, sizeof h);
    const real *body = (const real *)(image + sizeof magic + sizeof h);
    TRY(pt_trainer_write(t, t->net->param, n, body));
    TRY(pt_trainer_write(t, t->adamw.m, n, body + n));
    TRY(pt_trainer_write(t, t->adamw.v, n, body + 2 * n));
    if (t->net->nrunning) TRY(pt_trainer_write(t, t->net->running, t->net->nrunning, body + 3 * n));
    t->adamw.t = h[H_T];
    t->step = h[H_STEP];
    *found = 1;
done:
    free(image);
    return st;
}

pt_status pt_checkpoint_look(const char *path, pt_checkpoint_about *out)
{
    char image[sizeof magic + sizeof(int64_t) * H_COUNT];
    int64_t h[H_COUNT] = {0};
    FILE *f = fopen(path, "rbe");
    if (!f) return pt_fail(PT_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    size_t n = fread(image, 1, sizeof image, f);
    fclose(f);
    if (n == sizeof image) memcpy(h, image + sizeof magic, sizeof h);
    if (n != sizeof image || memcmp(image, magic, sizeof magic) != 0)
        return pt_fail(PT_ERR_INPUT, "%s: not a checkpoint", path);
    if (h[H_VERSION] != VERSION)
        return pt_fail(PT_ERR_INPUT, "%s: checkpoint version %lld, this program reads %d", path,
                       (long long)h[H_VERSION], VERSION);
    *out = (pt_checkpoint_about){(int)h[H_CLASSES], (int)h[H_CONVS], (int)h[H_NORM], h[H_STEP],
                                 (uint64_t)h[H_SEED]};
    if (h[H_CLASSES] < 1 || h[H_CLASSES] > PT_MAX_CLASSES || h[H_CONVS] < 1 || h[H_CONVS] > 2 ||
        h[H_NORM] < 0 || h[H_NORM] > PT_NORM_BATCH)
        return pt_fail(PT_ERR_INPUT, "%s: damaged: no net is like that", path);
    return PT_OK;
}
