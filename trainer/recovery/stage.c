/* stage.c - copies of fields up, down, and augmentation in small pieces. */
#include "stage.h"
#include "probe.h"
#include <stdlib.h>
#include <string.h>

#define SMALLEST_PIECE 256 /* points: augmentation gives up when this many do not fit */

void pt_stage_discard(pt_device *d, pt_fragment *f)
{
    for (int i = 0; i < PT_FIELD_COUNT; i++) {
        void **p = pt_field_at(&f->device, (pt_field)i);
        pt_mem_free(d, *p);
        *p = NULL;
    }
}

/* Rows of a scene are contiguous, since slots ascend. */
static pt_status augment_on_device(pt_device *d, pt_fragment *f, const pt_augment *a)
{
    pt_status st = PT_OK;
    int64_t at = 0;
    pt_phase_set(PT_PHASE_AUGMENT);
    for (int s = 0; s < f->shape.scenes; at += f->member[s++].points)
        TRY(pt_augment_points(d, a, f->member[s].key, 0, f->member[s].points, f->host.voxel[s],
                              f->device.coord + 3 * at, f->device.feature + PT_FEATURES * at));
done:
    return st;
}

static void drop_host(pt_fragment *f, pt_field k)
{
    void **p = pt_field_at(&f->host, k);
    free(*p);
    *p = NULL;
}

/* Coordinates that were augmented go home: into new memory, since the old ones go with features
 * that are not augmented, and count until nothing more can fail. */
static pt_status coordinates_home(pt_device *d, pt_fragment *f)
{
    pt_status st = PT_OK;
    size_t bytes = pt_field_bytes(PT_FIELD_coord, &f->shape);
    float *coord = malloc(bytes);
    if (!coord)
        return pt_fail(PT_ERR_HOST, "no host memory for the coordinates of %lld points",
                       (long long)f->shape.points);
    TRY(pt_copy_down(d, coord, f->device.coord, bytes));
    free(f->host.coord);
    f->host.coord = coord;
    coord = NULL;
    pt_mem_free(d, f->device.coord);
    f->device.coord = NULL;
done:
    free(coord);
    return st;
}

/* Nothing is waited for: a copy or a change that was begun happens, or the context is dead and no
 * retry asks for the host's. */
pt_status pt_stage_up(pt_device *d, pt_fragment *f, const pt_augment *a, pt_device_fields which)
{
    pt_status st = PT_OK;
    int was = f->augmented;
    if (f->where == PT_ON_DEVICE) return PT_OK;
    pt_phase_set(PT_PHASE_LOAD);
    for (int i = 0; i < PT_FIELD_COUNT; i++) {
        void **to = pt_field_at(&f->device, (pt_field)i);
        if (which == PT_DEVICE_X && i != PT_FIELD_feature && (i != PT_FIELD_coord || was)) continue;
        size_t bytes = pt_field_bytes((pt_field)i, &f->shape);
        TRY(pt_mem_alloc(d, bytes, 1, pt_field_tag((pt_field)i), to));
        TRY(pt_copy_up(d, *to, *pt_field_at(&f->host, (pt_field)i), bytes));
    }
    if (!was) TRY(augment_on_device(d, f, a));
    if (which == PT_DEVICE_X && !was) TRY(coordinates_home(d, f));
    f->augmented = 1;
    f->where = PT_ON_DEVICE;
    for (int i = 0; i < PT_FIELD_COUNT; i++)
        if (*pt_field_at(&f->device, (pt_field)i)) drop_host(f, (pt_field)i);
done:
    if (st != PT_OK) pt_stage_discard(d, f);
    return st;
}

pt_status pt_stage_down(pt_device *d, pt_fragment *f)
{
    pt_status st = PT_OK;
    if (f->where == PT_ON_DEVICE) {
        pt_phase_set(PT_PHASE_STAGE);
        TRY(pt_fragment_alloc_host(f));
        for (int i = 0; i < PT_FIELD_COUNT; i++) {
            const void *from = *pt_field_at(&f->device, (pt_field)i);
            if (from)
                TRY(pt_copy_down(d, *pt_field_at(&f->host, (pt_field)i), from,
                                 pt_field_bytes((pt_field)i, &f->shape)));
        }
        f->where = PT_ON_HOST;
    }
    pt_stage_discard(d, f);
done:
    return st;
}

/* One piece of a scene, from f's host arrays into `to`. */
static pt_status augment_piece(pt_device *d, const pt_fragment *f, const pt_augment *a, int slot,
                               int64_t first, int64_t at, int64_t n, float *coord, real *feature,
                               const pt_fields *to)
{
    pt_status st = PT_OK;
    size_t cb = sizeof(float) * 3 * (size_t)n, fb = sizeof(real) * PT_FEATURES * (size_t)n;
    TRY(pt_copy_up(d, coord, f->host.coord + 3 * at, cb));
    TRY(pt_copy_up(d, feature, f->host.feature + PT_FEATURES * at, fb));
    TRY(pt_augment_points(d, a, f->member[slot].key, first, n, f->host.voxel[slot], coord,
                          feature));
    TRY(pt_copy_down(d, to->coord + 3 * at, coord, cb));
    TRY(pt_copy_down(d, to->feature + PT_FEATURES * at, feature, fb));
done:
    return st;
}

/* The largest piece, from `points` down, that the device has room for. */
static pt_status find_piece(pt_device *d, int64_t points, int64_t *piece, void **coord,
                            void **feature)
{
    for (*piece = points;; *piece /= 2) { /* ends at the smallest */
        if (*piece < SMALLEST_PIECE) *piece = SMALLEST_PIECE;
        size_t n = (size_t)*piece;
        pt_status st = pt_mem_alloc(d, n, sizeof(float) * 3, "augment/coord", coord);
        if (st == PT_OK)
            st = pt_mem_alloc(d, n, sizeof(real) * PT_FEATURES, "augment/feature", feature);
        if (st == PT_OK) return PT_OK;
        pt_mem_free(d, *coord);
        *coord = NULL;
        if (pt_classify(pt_error_last()) != PT_CLASS_OOM || *piece == SMALLEST_PIECE) return st;
        cudaGetLastError(); /* handled: it must not blame a later launch */
        if ((st = pt_mem_release(d)) != PT_OK) return st;
    }
}

pt_status pt_stage_augment(pt_device *d, pt_fragment *f, const pt_augment *a)
{
    pt_status st = PT_OK;
    void *coord = NULL, *feature = NULL;
    int64_t piece = 0, at = 0;
    /* into new arrays: a failure half-way must not leave points augmented twice by the next try */
    pt_fields to = {0};
    pt_phase_set(PT_PHASE_AUGMENT);
    to.coord = malloc(pt_field_bytes(PT_FIELD_coord, &f->shape));
    to.feature = malloc(pt_field_bytes(PT_FIELD_feature, &f->shape));
    if (!to.coord || !to.feature) {
        st = pt_fail(PT_ERR_HOST, "no host memory to augment %lld points",
                     (long long)f->shape.points);
        goto done;
    }
    TRY(find_piece(d, f->shape.points, &piece, &coord, &feature));
    for (int s = 0; s < f->shape.scenes; s++)
        for (int64_t i = 0; i < f->member[s].points;) {
            int64_t n = f->member[s].points - i < piece ? f->member[s].points - i : piece;
            TRY(augment_piece(d, f, a, s, i, at, n, coord, feature, &to));
            at += n;
            i += n;
        }
    free(f->host.coord);
    free(f->host.feature);
    f->host.coord = to.coord;
    f->host.feature = to.feature;
    to = (pt_fields){0};
    f->augmented = 1;
done:
    free(to.coord);
    free(to.feature);
    pt_mem_free(d, feature);
    pt_mem_free(d, coord);
    return st;
}

/* From the device, by a copy still to be made, or from the host where it stayed there. */
static int read_field(const pt_fragment *f, pt_field k, void *to, pt_copy *copy)
{
    const void *there = *pt_field_at((pt_fields *)&f->device, k);
    size_t bytes = pt_field_bytes(k, &f->shape);
    if (there) {
        *copy = (pt_copy){to, there, bytes};
        return 1;
    }
    memcpy(to, *pt_field_at((pt_fields *)&f->host, k), bytes);
    return 0;
}

pt_status pt_stage_receipt(pt_device *d, const pt_fragment *f, pt_attempt *out)
{
    pt_status st = PT_OK;
    size_t n = (size_t)f->shape.points;
    pt_copy copy[4];
    int copies = 0;
    uint8_t *own = malloc(n + 1);
    int32_t *slot = malloc(sizeof *slot * (n + 1)), *scene = malloc(sizeof *scene * (n + 1));
    int32_t *point = malloc(sizeof *point * (n + 1));
    if (!own || !slot || !scene || !point) {
        st = pt_fail(PT_ERR_HOST, "no host memory for the receipt of %zu points", n);
        goto done;
    }
    copies += read_field(f, PT_FIELD_own, own, copy + copies);
    copies += read_field(f, PT_FIELD_slot, slot, copy + copies);
    copies += read_field(f, PT_FIELD_point, point, copy + copies);
    copies += read_field(f, PT_FIELD_scene, scene, copy + copies);
    TRY(pt_copies_down(d, copy, copies));
    int64_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (!own[i]) continue;
        if (slot[i] < 0 || slot[i] >= f->shape.scenes) {
            st = pt_fail(PT_ERR_INTERNAL, "point %zu on the device belongs to no scene", i);
            goto done;
        }
        int32_t position = scene[slot[i]];
        point[m] = point[i]; /* in place: m never passes i */
        slot[m++] = position;
    }
    out->n = m;
    out->position = slot;
    out->point = point;
    slot = point = NULL;
done:
    free(own);
    free(slot);
    free(scene);
    free(point);
    return st;
}
