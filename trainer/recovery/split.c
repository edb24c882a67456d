/* split.c - by scene, and in space: where to cut, what each half takes along. */
#include "split.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

pt_status pt_split_in_groups(const pt_fragment *f, const int *group, int groups,
                             pt_fragment **pieces)
{
    pt_status st = PT_OK;
    int64_t *index = malloc(sizeof *index * (size_t)f->shape.points);
    for (int g = 0; g < groups; g++) pieces[g] = NULL;
    if (!index) return pt_fail(PT_ERR_HOST, "no host memory to split %d scenes", f->shape.scenes);
    for (int g = 0; g < groups; g++) {
        int64_t n = 0;
        for (int64_t i = 0; i < f->shape.points; i++)
            if ((group ? group[f->host.slot[i]] : f->host.slot[i]) == g) index[n++] = i;
        TRY(pt_fragment_take(f, index, NULL, n, &pieces[g]));
    }
done:
    free(index);
    if (st != PT_OK)
        for (int g = 0; g < groups; g++) {
            pt_fragment_free(pieces[g]);
            pieces[g] = NULL;
        }
    return st;
}

pt_status pt_split_by_scene(const pt_fragment *f, pt_fragment **pieces)
{
    return pt_split_in_groups(f, NULL, f->shape.scenes, pieces);
}

typedef struct box {
    float lo[3], hi[3];
} box;

static box own_box(const pt_fragment *f)
{
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (int64_t i = 0; i < f->shape.points; i++) {
        if (!f->host.own[i]) continue;
        for (int a = 0; a < 3; a++) {
            b.lo[a] = fminf(b.lo[a], f->host.coord[3 * i + a]);
            b.hi[a] = fmaxf(b.hi[a], f->host.coord[3 * i + a]);
        }
    }
    return b;
}

/* The sum may overflow, its halves do not. */
static float middle(const box *b, int axis)
{
    return b->lo[axis] / 2 + b->hi[axis] / 2;
}

static int64_t own_below(const pt_fragment *f, int axis, float at)
{
    int64_t n = 0;
    for (int64_t i = 0; i < f->shape.points; i++)
        n += f->host.own[i] && f->host.coord[3 * i + axis] < at;
    return n;
}

static int longest(const box *b)
{
    int axis = 0;
    for (int a = 1; a < 3; a++)
        if ((double)b->hi[a] - b->lo[a] > (double)b->hi[axis] - b->lo[axis]) axis = a;
    return axis;
}

pt_status pt_split_choose(const pt_fragment *f, pt_split_mode mode, pt_cut *cut,
                          pt_split_outcome *outcome)
{
    if (f->shape.scenes != 1 || f->where != PT_ON_HOST)
        return pt_fail(PT_ERR_INTERNAL, "only one scene on the host can be cut in space");
    int64_t own = f->shape.own;
    box b = own_box(f);
    *outcome = PT_SPLIT_DONE;
    if (mode == PT_SPLIT_AUTO) {
        *cut = (pt_cut){.axis = longest(&b)};
        cut->at = middle(&b, cut->axis);
        if (own < 2 * (PT_FLOOR + 1)) {
            *outcome = PT_SPLIT_AT_FLOOR; /* one half would be at the floor, wherever the cut */
            return PT_OK;
        }
        int64_t below = own_below(f, cut->axis, cut->at);
        cut->median = below <= PT_FLOOR || own - below <= PT_FLOOR;
        return PT_OK;
    }
    if (own <= PT_FLOOR) {
        *outcome = PT_SPLIT_AT_FLOOR;
        return PT_OK;
    }
    for (int turn = 0; turn < 2; turn++) {
        *cut = (pt_cut){.axis = (f->axis + turn) % 2};
        cut->at = middle(&b, cut->axis);
        int64_t below = own_below(f, cut->axis, cut->at);
        if (below > 0 && below < own) return PT_OK;
    }
    *cut = (pt_cut){.axis = longest(&b), .median = 1}; /* the guard: both sides strictly smaller */
    return PT_OK;
}

typedef struct key {
    float x;
    int32_t id;
    int64_t i;
} key;

static int by_coordinate_then_id(const void *a, const void *b)
{
    const key *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->id > q->id) - (p->id < q->id);
}

/* side[i]: 0 or 1 for own points, 2 for the others. */
static pt_status assign_sides(const pt_fragment *f, const pt_cut *cut, uint8_t *side)
{
    for (int64_t i = 0; i < f->shape.points; i++)
        side[i] = f->host.own[i] ? !(f->host.coord[3 * i + cut->axis] < cut->at) : 2;
    if (!cut->median) return PT_OK;
    key *k = malloc(sizeof *k * (size_t)f->shape.own);
    if (!k)
        return pt_fail(PT_ERR_HOST, "no host memory for a median of %lld points",
                       (long long)f->shape.own);
    int64_t n = 0;
    for (int64_t i = 0; i < f->shape.points; i++)
        if (f->host.own[i]) k[n++] = (key){f->host.coord[3 * i + cut->axis], f->host.point[i], i};
    qsort(k, (size_t)n, sizeof *k, by_coordinate_then_id);
    for (int64_t j = 0; j < n; j++) side[k[j].i] = j >= n / 2;
    free(k);
    return PT_OK;
}

pt_status pt_split_at(const pt_fragment *f, const pt_cut *cut, int halo, pt_fragment *half[2])
{
    pt_status st = PT_OK;
    size_t n = (size_t)f->shape.points;
    uint8_t *side = malloc(n), *own = malloc(n);
    int64_t *index = malloc(sizeof *index * n);
    half[0] = half[1] = NULL;
    if (!side || !own || !index) {
        st = pt_fail(PT_ERR_HOST, "no host memory to cut %lld points", (long long)f->shape.points);
        goto done;
    }
    TRY(assign_sides(f, cut, side));
    for (int h = 0; h < 2; h++) {
        int32_t lo[3] = {INT32_MAX, INT32_MAX, INT32_MAX},
                hi[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
        int32_t v[3];
        for (int64_t i = 0; i < f->shape.points; i++) {
            if (side[i] != h) continue;
            pt_fragment_voxel(f, i, v);
            for (int a = 0; a < 3; a++) {
                if (v[a] < lo[a]) lo[a] = v[a];
                if (v[a] > hi[a]) hi[a] = v[a];
            }
        }
        int64_t m = 0;
        for (int64_t i = 0; i < f->shape.points; i++) {
            pt_fragment_voxel(f, i, v);
            int in = 1;
            for (int a = 0; a < 3; a++)
                in &= (int64_t)v[a] >= (int64_t)lo[a] - halo &&
                      (int64_t)v[a] <= (int64_t)hi[a] + halo;
            if (!in) continue;
            own[m] = side[i] == h;
            index[m++] = i;
        }
        TRY(pt_fragment_take(f, index, own, m, &half[h]));
        half[h]->spatial = 1;
        half[h]->axis = (cut->axis + 1) % 2;
    }
done:
    free(side);
    free(own);
    free(index);
    if (st != PT_OK) {
        for (int h = 0; h < 2; h++) {
            pt_fragment_free(half[h]);
            half[h] = NULL;
        }
    }
    return st;
}

static int by_voxel(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(int32_t[4]));
}

int64_t pt_count_voxels(const pt_fragment *f)
{
    int64_t n = f->shape.points, count = 0;
    int32_t(*v)[4] = malloc(sizeof *v * (size_t)n);
    if (!v) return -1;
    for (int64_t i = 0; i < n; i++) {
        pt_fragment_voxel(f, i, v[i]);
        v[i][3] = f->host.slot[i];
    }
    qsort(v, (size_t)n, sizeof *v, by_voxel); /* any total order will do */
    for (int64_t i = 0; i < n; i++) count += i == 0 || by_voxel(v[i - 1], v[i]) != 0;
    free(v);
    return count;
}

static void drop_halves(pt_fragment *half[2])
{
    for (int h = 0; h < 2; h++) {
        pt_fragment_free(half[h]);
        half[h] = NULL;
    }
}

/* One cut, kept if it is worth it. */
static pt_status try_cut(const pt_fragment *f, const pt_cut *cut, const pt_split_options *o,
                         int64_t whole, pt_fragment *half[2], pt_split_outcome *outcome)
{
    pt_status st = pt_split_at(f, cut, o->halo, half);
    if (st != PT_OK) return st;
    int64_t a = pt_count_voxels(half[0]), b = pt_count_voxels(half[1]);
    int worth = (double)a <= o->worth * (double)whole && (double)b <= o->worth * (double)whole;
    *outcome = worth ? PT_SPLIT_DONE : PT_SPLIT_NO_GAIN;
    if (a < 0 || b < 0) st = pt_fail(PT_ERR_HOST, "no host memory to count voxels");
    if (st != PT_OK || !worth) drop_halves(half);
    return st;
}

pt_status pt_split_in_space(const pt_fragment *f, const pt_split_options *o, pt_fragment *half[2],
                            pt_split_outcome *outcome)
{
    pt_status st = PT_OK;
    pt_cut cut;
    half[0] = half[1] = NULL;
    TRY(pt_split_choose(f, o->mode, &cut, outcome));
    if (*outcome != PT_SPLIT_DONE) return PT_OK;
    int64_t whole = pt_count_voxels(f);
    if (whole < 0) return pt_fail(PT_ERR_HOST, "no host memory to count voxels");
    TRY(try_cut(f, &cut, o, whole, half, outcome));
    /* before points are given up: the median of each axis, which leaves two halves above the floor
     */
    for (int axis = 0; axis < 3 && *outcome == PT_SPLIT_NO_GAIN; axis++) {
        if (f->shape.own < 2 * (PT_FLOOR + 1)) break;
        cut = (pt_cut){.axis = axis, .median = 1};
        TRY(try_cut(f, &cut, o, whole, half, outcome));
    }
done:
    return st;
}

int64_t pt_split_bound(int64_t n, pt_split_mode mode)
{
    int64_t leaves = n / (PT_FLOOR + 1), levels = 2 * PT_HALVINGS + 1;
    if (mode == PT_SPLIT_AUTO) return leaves < 1 ? 1 : 2 * leaves - 1;
    for (int64_t m = 1; m < n; m *= 2) levels++;
    return leaves < 1 ? 1 : leaves * levels;
}
