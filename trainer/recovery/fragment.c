/* fragment.c - host side of fragments: made from scenes, taken apart by the kind of each field. */
#include "fragment.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *tag;
    size_t row, offset; /* bytes of a row; place of the array in pt_fields */
    pt_kind kind;
} table[PT_FIELD_COUNT] = {
#define ROW(name, type, width, kind) \
    {#name, "batch/" #name, sizeof(type) * (width), offsetof(pt_fields, name), kind},
    PT_FIELDS(ROW)
#undef ROW
};

const char *pt_field_tag(pt_field f)
{
    return table[f].tag;
}

size_t pt_field_bytes(pt_field f, const pt_shape *s)
{
    const size_t rows[] = {[PT_PER_POINT] = (size_t)s->points,
                           [PT_PER_SCENE] = (size_t)s->scenes,
                           [PT_PER_CLASS] = (size_t)s->classes};
    return table[f].row * rows[table[f].kind];
}

void **pt_field_at(pt_fields *fields, pt_field f)
{
    return (void **)((char *)fields + table[f].offset);
}

pt_status pt_fragment_alloc_host(pt_fragment *f)
{
    for (int i = 0; i < PT_FIELD_COUNT; i++) {
        void **p = pt_field_at(&f->host, (pt_field)i);
        size_t bytes = pt_field_bytes((pt_field)i, &f->shape);
        if (*p) continue;
        if (!(*p = calloc(1, bytes)))
            return pt_fail(PT_ERR_HOST, "no host memory for %zu bytes of the field %s", bytes,
                           table[i].name);
    }
    return PT_OK;
}

void pt_fragment_drop_host(pt_fragment *f)
{
    for (int i = 0; i < PT_FIELD_COUNT; i++) {
        void **p = pt_field_at(&f->host, (pt_field)i);
        free(*p);
        *p = NULL;
    }
}

pt_fragment *pt_fragment_new(const pt_shape *shape)
{
    pt_fragment *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    f->shape = *shape;
    f->member = calloc((size_t)shape->scenes, sizeof *f->member);
    if (!f->member || pt_fragment_alloc_host(f) != PT_OK) {
        pt_fragment_free(f);
        return NULL;
    }
    return f;
}

void pt_fragment_free(pt_fragment *f)
{
    if (!f) return;
    pt_fragment_drop_host(f);
    free(f->member);
    free(f);
}

pt_status pt_fragment_join(const pt_scene *scenes, const uint32_t *keys, int n, int classes,
                           const real *class_weight, pt_fragment **out)
{
    pt_shape shape = {.scenes = n, .classes = classes};
    *out = NULL;
    if (n < 1 || n > PT_MAX_SCENES)
        return pt_fail(PT_ERR_INPUT, "a batch holds 1 to %d scenes, not %d", PT_MAX_SCENES, n);
    for (int s = 0; s < n; s++) {
        if (scenes[s].n < 1) return pt_fail(PT_ERR_INPUT, "scene %d of a batch has no points", s);
        shape.points += scenes[s].n;
    }
    shape.own = shape.points;
    pt_fragment *f = pt_fragment_new(&shape);
    if (!f)
        return pt_fail(PT_ERR_HOST, "no host memory for a batch of %lld points",
                       (long long)shape.points);
    int64_t at = 0;
    for (int s = 0; s < n; s++) {
        f->member[s] = (pt_member){.position = s, .key = keys[s], .points = scenes[s].n};
        f->host.voxel[s] = scenes[s].voxel;
        f->host.scene[s] = s;
        memcpy(f->host.coord + 3 * at, scenes[s].coord, sizeof(float) * 3 * (size_t)scenes[s].n);
        for (int64_t i = 0; i < scenes[s].n; i++, at++) {
            for (int c = 0; c < PT_FEATURES; c++)
                f->host.feature[at * PT_FEATURES + c] = scenes[s].feature[i * PT_FEATURES + c];
            f->host.label[at] = scenes[s].label[i];
            f->host.own[at] = 1;
            f->host.slot[at] = s;
            f->host.point[at] = (int32_t)i;
        }
    }
    for (int c = 0; c < classes; c++) f->host.class_weight[c] = class_weight ? class_weight[c] : 1;
    *out = f;
    return PT_OK;
}

double pt_fragment_valid_weight(const pt_fragment *f)
{
    double sum = 0;
    for (int64_t i = 0; i < f->shape.points; i++)
        if (f->host.own[i] && f->host.label[i] >= 0)
            sum += (double)f->host.class_weight[f->host.label[i]];
    return sum;
}

void pt_fragment_voxel(const pt_fragment *f, int64_t i, int32_t out[3])
{
    float edge = f->host.voxel[f->host.slot[i]];
    for (int a = 0; a < 3; a++) out[a] = (int32_t)floorf(f->host.coord[3 * i + a] / edge);
}

/* slot of f -> slot of the new fragment, -1 where no point was taken; fills the member counts. */
static int map_slots(const pt_fragment *f, const int64_t *index, int64_t n, int *to)
{
    int used = 0;
    for (int s = 0; s < f->shape.scenes; s++) to[s] = -1;
    for (int64_t i = 0; i < n; i++) to[f->host.slot[index[i]]] = 0;
    for (int s = 0; s < f->shape.scenes; s++)
        if (to[s] == 0) to[s] = used++;
    return used;
}

pt_status pt_fragment_take(const pt_fragment *f, const int64_t *index, const uint8_t *own,
                           int64_t n, pt_fragment **out)
{
    *out = NULL;
    int *to = malloc(sizeof *to * (size_t)f->shape.scenes);
    if (!to)
        return pt_fail(PT_ERR_HOST, "no host memory for a split of %d scenes", f->shape.scenes);
    pt_shape shape = {
        .points = n, .scenes = map_slots(f, index, n, to), .classes = f->shape.classes};
    for (int64_t i = 0; i < n; i++) shape.own += own ? own[i] != 0 : f->host.own[index[i]] != 0;
    pt_fragment *g = pt_fragment_new(&shape);
    if (!g) {
        free(to);
        return pt_fail(PT_ERR_HOST, "no host memory for a piece of %lld points", (long long)n);
    }
    for (int k = 0; k < PT_FIELD_COUNT; k++) {
        size_t row = table[k].row;
        const char *src = *pt_field_at((pt_fields *)&f->host, (pt_field)k);
        char *dst = *pt_field_at(&g->host, (pt_field)k);
        switch (table[k].kind) {
        case PT_PER_POINT:
            for (int64_t i = 0; i < n; i++)
                memcpy(dst + row * (size_t)i, src + row * (size_t)index[i], row);
            break;
        case PT_PER_SCENE:
            for (int s = 0; s < f->shape.scenes; s++)
                if (to[s] >= 0) memcpy(dst + row * (size_t)to[s], src + row * (size_t)s, row);
            break;
        default: memcpy(dst, src, pt_field_bytes((pt_field)k, &shape)); /* per class: shared */
        }
    }
    for (int s = 0; s < f->shape.scenes; s++) {
        if (to[s] < 0) continue;
        g->member[to[s]] = f->member[s];
        g->member[to[s]].points = 0;
    }
    for (int64_t i = 0; i < n; i++) {
        g->host.slot[i] = to[g->host.slot[i]];
        g->member[g->host.slot[i]].points++;
        if (own) g->host.own[i] = own[i];
    }
    g->parent = f->id;
    g->augmented = f->augmented;
    g->gather_rows = f->gather_rows;
    g->tried = f->tried & PT_TRIED_CHUNKS; /* a smaller workspace stays: it did not suffice */
    free(to);
    *out = g;
    return PT_OK;
}
