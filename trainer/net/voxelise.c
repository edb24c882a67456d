/* voxelise.c - from a fragment's points to sorted voxels of three levels and the maps between them.
 */
#include "kernels/kernels.h"
#include "net/layers.h"

#define NEW(pointer, count, type, tag)                                              \
    do {                                                                            \
        void *new_;                                                                 \
        TRY(pt_arena_alloc(a, (size_t)(count), sizeof(type), "voxel/" tag, &new_)); \
        pointer = new_;                                                             \
    } while (0)

/* Sorted keys -> unique ones; *v their number; first (may be NULL) and member as pt_k_unique says.
 */
static pt_status unique(pt_arena *a, int64_t n, uint64_t *key, int32_t *index, uint64_t **out,
                        int64_t *v, int32_t **first, int32_t *member)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    uint64_t *tmp_key = NULL;
    int32_t *tmp_index = NULL, *flag = NULL, *scan = NULL, *tmp = NULL, total = 0;
    NEW(tmp_key, n, uint64_t, "sort_key");
    NEW(tmp_index, n, int32_t, "sort_index");
    TRY(pt_k_sort(d, n, key, index, tmp_key, tmp_index));
    pt_arena_drop(a, tmp_key);
    pt_arena_drop(a, tmp_index);
    NEW(flag, n, int32_t, "flag");
    NEW(scan, n + 1, int32_t, "scan");
    NEW(tmp, pt_k_scan_room(n), int32_t, "scan_tmp");
    TRY(pt_k_heads(d, n, key, flag));
    TRY(pt_k_scan(d, n, flag, scan, tmp));
    TRY(pt_copy_down(d, &total, scan + n, sizeof total));
    if (total < 1 || total > n) {
        st = pt_fail(PT_ERR_INTERNAL, "%lld points gave %d voxels", (long long)n, total);
        goto done;
    }
    NEW(*out, total, uint64_t, "key");
    if (first) NEW(*first, total, int32_t, "first");
    TRY(pt_k_unique(d, n, key, index, flag, scan, *out, first ? *first : NULL, member));
    *v = total;
    pt_arena_drop(a, flag);
    pt_arena_drop(a, scan);
    pt_arena_drop(a, tmp);
done:
    return st;
}

/* table[offsets, v] -> lists; frees the table. */
static pt_status lists(pt_arena *a, int offsets, int64_t v, int32_t *table, pt_map *out)
{
    pt_device *d = a->device;
    pt_status st = PT_OK;
    int64_t n = offsets * v;
    int32_t *flag = NULL, *scan = NULL, *tmp = NULL;
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
    out->offsets = offsets;
    /* one strided copy of the starts: column 0 of scan [offsets, v], and the total */
    TRY(PT_CUDA(cudaMemcpy2DAsync(out->start, sizeof(int32_t), scan, sizeof(int32_t) * (size_t)v,
                                  sizeof(int32_t), (size_t)offsets, cudaMemcpyDeviceToHost,
                                  d->stream)));
    TRY(pt_copy_down(d, &out->start[offsets], scan + n, sizeof(int32_t)));
    NEW(out->a, out->start[offsets], int32_t, "map_in");
    NEW(out->b, out->start[offsets], int32_t, "map_out");
    TRY(pt_k_pairs(d, v, n, table, scan, out->a, out->b));
    pt_arena_drop(a, flag);
    pt_arena_drop(a, scan);
    pt_arena_drop(a, tmp);
    pt_arena_drop(a, table);
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
    TRY(unique(a, n, key, index, &out->key[0], &out->v[0], &first, out->member));
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

static pt_status coarser(pt_arena *a, int level, pt_levels *out)
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
    TRY(unique(a, n, key, index, &out->key[level + 1], &out->v[level + 1],
               out->keep_own ? &first : NULL, parent));
    if (out->keep_own) {
        NEW(out->own[level + 1], out->v[level + 1], uint8_t, "coarse_own");
        TRY(pt_k_first_own(d, out->v[level + 1], first, index, out->own[level],
                           out->own[level + 1]));
        pt_arena_drop(a, first);
    }
    NEW(table, 8 * n, int32_t, "children");
    TRY(pt_k_children(d, n, out->key[level], parent, table));
    TRY(lists(a, 8, n, table, &out->down[level]));
    pt_arena_drop(a, key);
    pt_arena_drop(a, index);
    pt_arena_drop(a, parent);
done:
    return st;
}

pt_status pt_voxelise(pt_arena *a, const pt_source *source, pt_levels *out)
{
    pt_status st = PT_OK;
    int32_t *table = NULL;
    TRY(finest(a, source, out));
    for (int l = 0; l + 1 < PT_LEVELS; l++) TRY(coarser(a, l, out));
    for (int l = 0; l < PT_LEVELS; l++) {
        NEW(table, 27 * out->v[l], int32_t, "neighbours");
        TRY(pt_k_neighbours(a->device, out->v[l], out->key[l], table));
        TRY(lists(a, 27, out->v[l], table, &out->same[l]));
        if (l == 0 && out->keep_key) continue;
        pt_arena_drop(a, out->key[l]);
        out->key[l] = NULL;
    }
done:
    return st;
}
