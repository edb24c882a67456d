/* scene.c - from what a file says to a scene: the step that all readers share. */
#include "data.h"
#include "read.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AXIS_VOXELS \
    100000.0 /* fits the 18 bits of a key with room for augmentation (17 each side) */

void pt_scene_free(pt_scene *s)
{
    if (!s) return;
    free(s->coord);
    free(s->feature);
    free(s->label);
    s->coord = s->feature = NULL;
    s->label = NULL;
    s->n = 0;
}

pt_status pt_slurp(const char *path, unsigned char **bytes, size_t *n)
{
    struct stat st;
    unsigned char *p = NULL;
    size_t got = 0;
    *bytes = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return pt_fail(PT_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return pt_fail(PT_ERR_INPUT, "%s: not a regular file", path);
    }
    size_t size = (size_t)st.st_size;
    if (!(p = malloc(size + 1))) {
        close(fd);
        return pt_fail(PT_ERR_HOST, "%s: no host memory for %zu bytes", path, size);
    }
    while (got < size) {
        ssize_t r = read(fd, p + got, size - got);
        if (r < 0 && errno == EINTR) continue;
        if (r <= 0) break;
        got += (size_t)r;
    }
    close(fd);
    if (got < size) {
        free(p);
        return pt_fail(PT_ERR_INPUT, "%s: only %zu of %zu bytes could be read", path, got, size);
    }
    p[size] = 0;
    *bytes = p;
    *n = size;
    return PT_OK;
}

pt_status pt_slurp_text(const char *path, unsigned char **bytes, size_t *n)
{
    pt_status st = pt_slurp(path, bytes, n);
    if (st != PT_OK || !memchr(*bytes, 0, *n)) return st;
    free(*bytes);
    *bytes = NULL;
    return pt_fail(PT_ERR_INPUT, "%s: a NUL byte: not a text file", path);
}

pt_status pt_raw_alloc(const char *path, pt_raw *r, int64_t n)
{
    *r = (pt_raw){.n = n};
    if (n < 1) return pt_fail(PT_ERR_INPUT, "%s: no points", path);
    if (n > PT_MAX_POINTS)
        return pt_fail(PT_ERR_INPUT, "%s: %lld points are more than the %lld a scene may have",
                       path, (long long)n, (long long)PT_MAX_POINTS);
    r->xyz = calloc((size_t)n * 3, sizeof *r->xyz);
    r->colour = calloc((size_t)n * 4, sizeof *r->colour);
    r->raw_class = malloc((size_t)n * sizeof *r->raw_class);
    if (r->xyz && r->colour && r->raw_class) {
        for (int64_t i = 0; i < n; i++) r->raw_class[i] = PT_IGNORE;
        return PT_OK;
    }
    pt_raw_free(r);
    return pt_fail(PT_ERR_HOST, "%s: no host memory for %lld points", path, (long long)n);
}

void pt_raw_free(pt_raw *r)
{
    free(r->xyz);
    free(r->colour);
    free(r->raw_class);
    *r = (pt_raw){0};
}

static pt_status bounds(const char *path, const pt_raw *r, float voxel, double lo[3])
{
    double hi[3];
    for (int a = 0; a < 3; a++) lo[a] = INFINITY, hi[a] = -INFINITY;
    for (int64_t i = 0; i < r->n; i++)
        for (int a = 0; a < 3; a++) {
            double x = r->xyz[3 * i + a];
            if (!isfinite(x))
                return pt_fail(PT_ERR_INPUT, "%s: point %lld: coordinate %c is %s", path,
                               (long long)i, "xyz"[a], isnan(x) ? "NaN" : "infinite");
            lo[a] = fmin(lo[a], x);
            hi[a] = fmax(hi[a], x);
        }
    for (int a = 0; a < 3; a++)
        if ((hi[a] - lo[a]) / voxel > AXIS_VOXELS)
            return pt_fail(
                PT_ERR_INPUT,
                "%s: %.6g units along %c are more than %.0f voxels of %g; use a larger --voxel",
                path, hi[a] - lo[a], "xyz"[a], AXIS_VOXELS, (double)voxel);
    return PT_OK;
}

/* What full scale is: 8-bit values in 16-bit fields are common. */
static float full_scale(const pt_raw *r, int from, int to)
{
    float most = 0;
    for (int64_t i = 0; i < r->n; i++)
        for (int c = from; c < to; c++)
            if (r->colour[4 * i + c] > most) most = r->colour[4 * i + c];
    if (most <= 1) return 1;
    return most <= 255 ? 255 : most <= 65535 ? 65535 : most;
}

static float unit(float x, float full)
{
    float y = x / full;
    return y > 0 ? (y < 1 ? y : 1) : 0; /* also for NaN */
}

pt_status pt_finish_scene(const char *path, const pt_raw *r, const pt_class_map *map, pt_scene *out)
{
    double lo[3];
    const char *slash = strrchr(path, '/');
    pt_status st = bounds(path, r, out->voxel, lo);
    if (st != PT_OK) return st;
    snprintf(out->name, sizeof out->name, "%.255s", slash ? slash + 1 : path);
    out->n = r->n;
    out->coord = malloc(sizeof(float) * 3 * (size_t)r->n);
    out->feature = malloc(sizeof(float) * PT_FEATURES * (size_t)r->n);
    out->label = malloc(sizeof(int32_t) * (size_t)r->n);
    if (!out->coord || !out->feature || !out->label) {
        pt_scene_free(out);
        return pt_fail(PT_ERR_HOST, "%s: no host memory for %lld points", path, (long long)r->n);
    }
    float colour = r->full > 0 ? r->full : full_scale(r, 0, 3), intensity = 0;
    for (int64_t i = 0; i < r->n; i++) intensity = fmaxf(intensity, r->colour[4 * i + 3]);
    if (!(intensity > 0)) intensity = 1;
    for (int a = 0; a < 3; a++) out->origin[a] = lo[a];
    for (int64_t i = 0; i < r->n; i++) {
        float *f = out->feature + i * PT_FEATURES;
        for (int a = 0; a < 3; a++) out->coord[3 * i + a] = (float)(r->xyz[3 * i + a] - lo[a]);
        for (int c = 0; c < 3; c++) f[c] = unit(r->colour[4 * i + c], colour);
        f[3] = unit(r->colour[4 * i + 3], intensity);
        f[4] = out->coord[3 * i + 2] / (64 * out->voxel);
        f[5] = 1;
        int32_t k = r->raw_class[i];
        out->label[i] = map && k >= 0 ? map->to[k] : k;
    }
    return PT_OK;
}
