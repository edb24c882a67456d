/* plan.c - see plan.h. */
#include "plan.h"
#include <math.h>
#include <stdlib.h>

#define KEEP   0.98 /* of what is known, with each fragment that comes after it */
#define SPREAD 1.25 /* at most: beyond it, a fit is no fit */
/* A failure within this share of the limit, or above it, confirms it; one below it is news, and may
 * be of a moment. */
#define CONFIRMS 0.8
/* What fitted above the limit moves it; far above, the limit was none. */
#define NEAR 1.25
#define STEP (1 + 1 / 64.0)

pt_plan pt_plan_start(void)
{
    return (pt_plan){.patience = PT_PLAN_PATIENCE_LEAST, .spread = 1};
}

int pt_plan_sound(const pt_plan *p)
{
    const double *x = (const double *)p;
    for (size_t i = 0; i < PT_PLAN_NUMBERS; i++)
        if (!isfinite(x[i]) || x[i] < 0) return 0;
    return p->spread >= 1 && p->spread <= SPREAD && p->patience >= PT_PLAN_PATIENCE_LEAST &&
           p->patience <= PT_PLAN_PATIENCE_MOST;
}

/* Where the points say nothing that the voxels do not, or a share came out below 0, bytes a voxel.
 */
static double fitted(const pt_plan_fit *f, double voxels, double points)
{
    double det = f->vv * f->pp - f->vp * f->vp;
    double a = f->vb / f->vv, b = 0;
    if (det > 1e-6 * f->vv * f->pp) {
        double by_voxel = (f->vb * f->pp - f->pb * f->vp) / det;
        double by_point = (f->pb * f->vv - f->vb * f->vp) / det;
        if (by_voxel > 0 && by_point > 0) a = by_voxel, b = by_point;
    }
    return a * voxels + b * points;
}

double pt_plan_need(const pt_plan *p, int small, int64_t voxels, int64_t points)
{
    const pt_plan_fit *f = &p->fit[small];
    return f->vv > 0 ? p->spread * fitted(f, (double)voxels, (double)points) : -1;
}

double pt_plan_bar(const pt_plan *p)
{
    return p->limit > 0 ? p->limit * exp2(p->quiet / p->patience) : INFINITY;
}

/* The limit is not where it was, and how sure it was with it. */
static void doubt(pt_plan *p, double limit)
{
    p->limit = limit;
    p->quiet = 0;
    p->patience = PT_PLAN_PATIENCE_LEAST;
}

void pt_plan_fitted(pt_plan *p, int small, int64_t voxels, int64_t points, double bytes)
{
    pt_plan_fit *f = &p->fit[small];
    double v = (double)voxels, q = (double)points;
    if (f->vv > 0) {
        double off = bytes / fitted(f, v, q);
        p->spread = 1 + KEEP * (p->spread - 1);
        p->spread = fmin(SPREAD, fmax(p->spread, off));
    }
    /* each sum divided by the voxels: a fragment counts by its size, not by its square */
    f->vv = KEEP * f->vv + v;
    f->vp = KEEP * f->vp + q;
    f->pp = KEEP * f->pp + q * q / v;
    f->vb = KEEP * f->vb + bytes;
    f->pb = KEEP * f->pb + q * bytes / v;
    if (p->limit > 0 && bytes >= p->limit) {
        if (bytes >= NEAR * p->limit)
            doubt(p, 0);
        else
            p->limit = STEP * bytes;
    }
}

void pt_plan_failed(pt_plan *p, double bytes)
{
    if (p->limit > 0 && bytes >= CONFIRMS * p->limit) {
        p->limit = fmin(p->limit, bytes);
        p->quiet = 0;
        p->patience = fmin(4 * p->patience, PT_PLAN_PATIENCE_MOST);
        return;
    }
    doubt(p, bytes);
}

void pt_plan_kept(pt_plan *p)
{
    p->quiet++;
}

int pt_plan_surely_fits(const pt_plan *p, int64_t points)
{
    return pt_plan_need(p, 0, points, points) < pt_plan_bar(p);
}

/* splitmix64's last steps (Steele, Lea, Flood 2014) */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* By 64 bits of a hash: two voxels in a thousand million batches are taken for one. */
pt_status pt_plan_voxels(const pt_fragment *f, int64_t *voxels)
{
    size_t room = 16;
    while (room < 2 * (size_t)f->shape.points) room *= 2;
    uint64_t *seen = calloc(room, sizeof *seen);
    if (!seen)
        return pt_fail(PT_ERR_HOST, "no host memory to count the voxels of %lld points",
                       (long long)f->shape.points);
    for (int s = 0; s < f->shape.scenes; s++) voxels[s] = 0;
    for (int64_t i = 0; i < f->shape.points; i++) {
        int32_t v[3];
        pt_fragment_voxel(f, i, v);
        uint64_t key = (uint64_t)f->host.slot[i];
        for (int a = 0; a < 3; a++) key = mixed(key * 0x9e3779b97f4a7c15u + (uint32_t)v[a] + 1);
        key |= 1; /* 0: nothing there */
        size_t at = (size_t)(key >> 1) & (room - 1);
        while (seen[at] && seen[at] != key) at = (at + 1) & (room - 1);
        if (seen[at]) continue;
        seen[at] = key;
        voxels[f->host.slot[i]]++;
    }
    free(seen);
    return PT_OK;
}

/* Scenes that follow each other stay together as long as they are expected to fit. */
static void pack(const pt_plan *p, const pt_fragment *f, const int64_t *voxels, int *group,
                 int *groups)
{
    int64_t v = 0, n = 0;
    *groups = 0;
    for (int s = 0; s < f->shape.scenes; s++) {
        v += voxels[s];
        n += f->member[s].points;
        if (s > 0 && !(pt_plan_need(p, 0, v, n) < pt_plan_bar(p))) {
            ++*groups;
            v = voxels[s];
            n = f->member[s].points;
        }
        group[s] = *groups;
    }
    ++*groups;
}

pt_status pt_plan_ask(const pt_plan *p, const pt_fragment *f, int64_t gather_small, int *group,
                      int *groups, pt_plan_word *word)
{
    pt_status st = PT_OK;
    int64_t *voxels = malloc(sizeof *voxels * (size_t)f->shape.scenes);
    *word = PT_PLAN_TRY;
    *groups = 1;
    if (!voxels)
        return pt_fail(PT_ERR_HOST, "no host memory to plan %d scenes ahead", f->shape.scenes);
    TRY(pt_plan_voxels(f, voxels));
    if (f->shape.scenes > 1) {
        pack(p, f, voxels, group, groups);
        if (*groups > 1) *word = PT_PLAN_GROUPS;
    } else if (!(pt_plan_need(p, 0, voxels[0], f->shape.points) < pt_plan_bar(p))) {
        double small = pt_plan_need(p, 1, voxels[0], f->shape.points);
        int chunks = f->shape.points > gather_small && small >= 0 && small < pt_plan_bar(p);
        *word = chunks ? PT_PLAN_CHUNKS : PT_PLAN_CUT;
    }
done:
    free(voxels);
    return st;
}
