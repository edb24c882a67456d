/* voxelise.c - from a fragment's points to sorted voxels of three levels and the maps between them.
 */
#include "kernels/kernels.h"
#include "net/layers.h"
#include <string.h>

#define NEW(pointer, count, type, tag)                                              \
    do {                                                                            \
        void *new_;                                                                 \
        TRY(pt_arena_alloc(a, (size_t)(count), sizeof(type), "voxel/" tag, &new_)); \
        pointer = new_;                                                             \
    } while (0)

/* What the host must know of a map before it can be allocated, on its way to the host. */
typedef struct counting {
    int32_t *table, *scan;
    const int32_t *start; /* host: [offsets + 1], after a wait */
} counting;

/* Voxels that a level was found to have, on its way to the host; NULL: none was looked for. */
typedef const int32_t *found[PT_LEVELS];

static pt_status sort(pt_arena *a, int64_t n, uint64_t *key, int32_t *index)
{
    pt_status st = PT_OK;
    uint64_t *tmp_key = NULL;
    int32_t *tmp_index = NULL;
    NEW(tmp_key, n, uint64_t, "sort_key");
    NEW(tmp_index, n, int32_t, "sort_index");
    TRY(pt_k_sort(a->device, n, key, index, tmp_key, tmp_index));
    pt_arena_drop(a, tmp_key);
    pt_arena_drop(a, tmp_index);
done:
    return st;
}

static pt_status fetch(pt_device *d, const int32_t *from, size_t n, const int32_t **to)
{
    const void *at;
    pt_status st = pt_fetch(d, from, n * sizeof *from, &at);
    *to = at;
    return st;
}

/* Sorted keys of points -> unique ones and their first points, and how many there are of every
 * level: the one wait of the levels. member as pt_k_unique says. */
static pt_status levels(pt_arena *a, int64_t n, uint64_t *key, int32_t *index, int32_t **first,
                        pt_levels *out)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    uint64_t *unique = NULL;
    int32_t *firsts = NULL, *flag = NULL, *scan = NULL, *tmp = NULL;
    const int32_t *v0, *coarser;
    NEW(unique, n, uint64_t, "sort_key"); /* as large as can be: how many is not known */
    NEW(firsts, n, int32_t, "sort_index");
    TRY(pt_k_sort(d, n, key, index, unique, firsts));
    NEW(flag, n + PT_LEVELS - 1, int32_t, "flag");
    NEW(scan, n + 1, int32_t, "scan");
    NEW(tmp, pt_k_scan_room(n), int32_t, "scan_tmp");
    TRY(pt_k_heads(d, n, key, flag));
    TRY(pt_k_scan(d, n, flag, scan, tmp));
    TRY(pt_k_unique(d, n, key, index, flag, scan, unique, firsts, out->member));
    TRY(pt_k_count_coarser(d, n, unique, scan + n, PT_LEVELS - 1, flag));
    TRY(fetch(d, scan + n, 1, &v0));
    TRY(fetch(d, flag, PT_LEVELS - 1, &coarser));
    TRY(pt_device_sync(d));
    for (int l = 0; l < PT_LEVELS; l++) {
        int64_t most = l ? out->v[l - 1] : n;
        out->v[l] = l ? coarser[l - 1] : *v0;
        if (out->v[l] >= 1 && out->v[l] <= most) continue;
        st = pt_fail(PT_ERR_INTERNAL, "%lld points gave %lld voxels in level %d", (long long)n,
                     (long long)out->v[l], l);
        goto done;
    }
    pt_arena_drop(a, flag);
    pt_arena_drop(a, scan);
    pt_arena_drop(a, tmp);
    NEW(out->key[0], out->v[0], uint64_t, "key");
    NEW(*first, out->v[0], int32_t, "first");
    TRY(PT_CUDA(cudaMemcpyAsync(out->key[0], unique, sizeof *unique * (size_t)out->v[0],
                                cudaMemcpyDeviceToDevice, d->stream)));
    TRY(PT_CUDA(cudaMemcpyAsync(*first, firsts, sizeof *firsts * (size_t)out->v[0],
                                cudaMemcpyDeviceToDevice, d->stream)));
    pt_arena_drop(a, unique);
    pt_arena_drop(a, firsts);
done:
    return st;
}

/* Keys -> sorted unique ones, v of them; first (may be NULL) and member as pt_k_unique says. */
static pt_status unique(pt_arena *a, int64_t n, uint64_t *key, int32_t *index, int64_t v,
                        uint64_t **out, const int32_t **really, int32_t **first, int32_t *member)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    int32_t *flag = NULL, *scan = NULL, *tmp = NULL;
    TRY(sort(a, n, key, index));
    NEW(flag, n, int32_t, "flag");
    NEW(scan, n + 1, int32_t, "scan");
    NEW(tmp, pt_k_scan_room(n), int32_t, "scan_tmp");
    TRY(pt_k_heads(d, n, key, flag));
    TRY(pt_k_scan(d, n, flag, scan, tmp));
    TRY(fetch(d, scan + n, 1, really));
    NEW(*out, v, uint64_t, "key");
    if (first) NEW(*first, v, int32_t, "first");
    TRY(pt_k_unique(d, n, key, index, flag, scan, *out, first ? *first : NULL, member));
    pt_arena_drop(a, flag);
    pt_arena_drop(a, scan);
    pt_arena_drop(a, tmp);
done:
    return st;
}

/* table[offsets, v]: how many pairs each list has. */
static pt_status count(pt_arena *a, int offsets, int64_t v, int32_t *table, pt_map *out,
                       counting *c)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    int64_t n = offsets * v;
    int32_t *flag = NULL, *scan = NULL, *tmp = NULL, *start;
    if (n > INT32_MAX) {
        st = pt_fail(PT_ERR_INPUT, "%lld voxels in one piece are more than a kernel map indexes",
                     (long long)v);
        goto done;
    }
    NEW(flag, n, int32_t, "map_flag");
    NEW(scan, n + 1, int32_t, "map_scan");
    NEW(tmp, pt_k_scan_room(n), int32_t, "map_tmp");
    TRY(pt_k_table_flags(d, n, table, flag));
    TRY(pt_k_scan(d, n, flag, scan, tmp));
    if (!(start = pt_fetch_room(d, sizeof *start * (size_t)(offsets + 1)))) {
        st = pt_fail(PT_ERR_INTERNAL, "no room for the starts of %d lists", offsets);
        goto done;
    }
    /* one strided copy of the starts: column 0 of scan [offsets, v], and the total */
    TRY(PT_CUDA(cudaMemcpy2DAsync(start, sizeof(int32_t), scan, sizeof(int32_t) * (size_t)v,
                                  sizeof(int32_t), (size_t)offsets, cudaMemcpyDeviceToHost,
                                  d->stream)));
    TRY(PT_CUDA(cudaMemcpyAsync(start + offsets, scan + n, sizeof(int32_t), cudaMemcpyDeviceToHost,
                                d->stream)));
    pt_arena_drop(a, flag);
    pt_arena_drop(a, tmp);
    out->offsets = offsets;
    *c = (counting){table, scan, start};
done:
    return st;
}

/* The lists, once it is known how long they are; frees what they were counted in. */
static pt_status lists(pt_arena *a, int64_t v, counting *c, pt_map *out)
{
    pt_status st = PT_OK;
    memcpy(out->start, c->start, sizeof *out->start * (size_t)(out->offsets + 1));
    NEW(out->a, out->start[out->offsets], int32_t, "map_in");
    NEW(out->b, out->start[out->offsets], int32_t, "map_out");
    TRY(pt_k_pairs(a->device, v, out->offsets * v, c->table, c->scan, out->a, out->b));
    pt_arena_drop(a, c->scan);
    pt_arena_drop(a, c->table);
done:
    return st;
}

pt_status pt_source_take(pt_arena *a, const pt_source *s, pt_field f, void **out)
{
    pt_status st = PT_OK;
    size_t bytes = pt_field_bytes(f, s->shape);
    *out = *pt_field_at((pt_fields *)s->device, f);
    if (*out) return PT_OK;
    if (!s->host || !*pt_field_at((pt_fields *)s->host, f))
        return pt_fail(PT_ERR_INTERNAL, "%s is on neither side", pt_field_tag(f));
    TRY(pt_arena_alloc(a, bytes, 1, pt_field_tag(f), out));
    TRY(pt_copy_up(a->device, *out, *pt_field_at((pt_fields *)s->host, f), bytes));
done:
    return st;
}

void pt_source_give(pt_arena *a, const pt_source *s, pt_field f, void *taken)
{
    if (taken != *pt_field_at((pt_fields *)s->device, f)) pt_arena_drop(a, taken);
}

#define TAKE(name)                                                \
    do {                                                          \
        void *taken_;                                             \
        TRY(pt_source_take(a, source, PT_FIELD_##name, &taken_)); \
        name = taken_;                                            \
    } while (0)
#define GIVE(name) pt_source_give(a, source, PT_FIELD_##name, name)

static pt_status finest(pt_arena *a, const pt_source *source, pt_levels *out)
{
    const pt_shape *s = source->shape;
    float *coord, *voxel;
    int32_t *slot, *label;
    real *feature;
    uint8_t *own;
    pt_device *d = a->device;
    pt_status st = PT_OK;
    uint64_t *key = NULL;
    int32_t *index = NULL, *first = NULL;
    int64_t n = s->points;
    NEW(key, n, uint64_t, "point_key");
    NEW(index, n, int32_t, "point_index");
    TAKE(coord);
    TAKE(slot);
    TAKE(voxel);
    TRY(pt_k_voxel_keys(d, n, coord, slot, voxel, key, index));
    GIVE(coord);
    GIVE(slot);
    GIVE(voxel);
    if (out->keep_member) NEW(out->member, n, int32_t, "member");
    TRY(levels(a, n, key, index, &first, out));
    NEW(out->feature, out->v[0] * PT_FEATURES, real, "feature");
    NEW(out->count, out->v[0] * s->classes, int32_t, "count");
    TAKE(feature);
    TRY(pt_k_voxel_mean(d, out->v[0], n, first, index, feature, out->feature));
    GIVE(feature);
    TAKE(label);
    TAKE(own);
    TRY(pt_k_voxel_labels(d, out->v[0], n, s->classes, first, index, label, own, out->count));
    GIVE(label);
    if (out->keep_own) {
        NEW(out->own[0], out->v[0], uint8_t, "own");
        TRY(pt_k_first_own(d, out->v[0], first, index, own, out->own[0]));
    }
    GIVE(own);
    pt_arena_drop(a, key);
    pt_arena_drop(a, index);
    pt_arena_drop(a, first);
done:
    return st;
}

static pt_status coarser(pt_arena *a, int level, pt_levels *out, found really, counting *c)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    uint64_t *key = NULL;
    int32_t *index = NULL, *parent = NULL, *table = NULL, *first = NULL;
    int64_t n = out->v[level];
    NEW(key, n, uint64_t, "coarse_key");
    NEW(index, n, int32_t, "coarse_index");
    NEW(parent, n, int32_t, "parent");
    TRY(pt_k_coarse_keys(d, n, out->key[level], key, index));
    TRY(unique(a, n, key, index, out->v[level + 1], &out->key[level + 1], &really[level + 1],
               out->keep_own ? &first : NULL, parent));
    if (out->keep_own) {
        NEW(out->own[level + 1], out->v[level + 1], uint8_t, "coarse_own");
        TRY(pt_k_first_own(d, out->v[level + 1], first, index, out->own[level],
                           out->own[level + 1]));
        pt_arena_drop(a, first);
    }
    NEW(table, 8 * n, int32_t, "children");
    TRY(pt_k_children(d, n, out->key[level], parent, table));
    TRY(count(a, 8, n, table, &out->down[level], c));
    pt_arena_drop(a, key);
    pt_arena_drop(a, index);
    pt_arena_drop(a, parent);
done:
    return st;
}

/* Two waits: for the sizes of the levels and for those of all maps, without which they could not be
 * allocated. */
pt_status pt_voxelise(pt_arena *a, const pt_source *source, pt_levels *out)
{
    pt_status st = PT_OK;
    int32_t *table = NULL;
    counting same[PT_LEVELS], down[PT_LEVELS - 1];
    found really = {NULL};
    pt_fetch_start(a->device);
    TRY(finest(a, source, out));
    for (int l = 0; l + 1 < PT_LEVELS; l++) TRY(coarser(a, l, out, really, &down[l]));
    for (int l = 0; l < PT_LEVELS; l++) {
        NEW(table, 27 * out->v[l], int32_t, "neighbours");
        TRY(pt_k_neighbours(a->device, out->v[l], out->key[l], table));
        TRY(count(a, 27, out->v[l], table, &out->same[l], &same[l]));
        if (l == 0 && out->keep_key) continue;
        pt_arena_drop(a, out->key[l]);
        out->key[l] = NULL;
    }
    TRY(pt_device_sync(a->device));
    for (int l = 1; l < PT_LEVELS; l++)
        if (*really[l] != out->v[l]) {
            st = pt_fail(PT_ERR_INTERNAL, "level %d has %d voxels, and not the %lld counted", l,
                         *really[l], (long long)out->v[l]);
            goto done;
        }
    /* the largest last, when the others' tables are gone */
    for (int l = PT_LEVELS - 1; l >= 0; l--) {
        if (l + 1 < PT_LEVELS) TRY(lists(a, out->v[l], &down[l], &out->down[l]));
        TRY(lists(a, out->v[l], &same[l], &out->same[l]));
    }
done:
    return st;
}
