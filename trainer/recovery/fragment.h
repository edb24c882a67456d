/* fragment.h - what one attempt works on: whole scenes, or one part of one scene with its halo.
 *
 * The fields are a table; each has a kind, and only the kind says how it is sliced. */
#ifndef PT_FRAGMENT_H
#define PT_FRAGMENT_H
#include "data.h"
#include "real.h"
#include <stdint.h>

typedef enum pt_kind { PT_PER_POINT, PT_PER_SCENE, PT_PER_CLASS } pt_kind;

/* name, type, width, kind */
#define PT_FIELDS(X)                                                                            \
    X(coord, float, 3, PT_PER_POINT)            /* augmented coordinates, scene units */        \
    X(feature, real, PT_FEATURES, PT_PER_POINT) /* of data.h, augmented */                      \
    X(label, int32_t, 1, PT_PER_POINT)          /* 0..classes-1 or PT_IGNORE */                 \
    X(own, uint8_t, 1, PT_PER_POINT)            /* 1: carries loss; 0: halo */                  \
    X(slot, int32_t, 1, PT_PER_POINT)      /* index of its scene in this fragment, ascending */ \
    X(point, int32_t, 1, PT_PER_POINT)     /* point id within its scene, ascending per slot */  \
    X(voxel, float, 1, PT_PER_SCENE)       /* edge length */                                    \
    X(scene, int32_t, 1, PT_PER_SCENE)     /* position of the scene in the batch */             \
    X(class_weight, real, 1, PT_PER_CLASS) /* weight of a class in the loss */

typedef enum pt_field {
#define PT_FIELD_ENUM(name, type, width, kind) PT_FIELD_##name,
    PT_FIELDS(PT_FIELD_ENUM)
#undef PT_FIELD_ENUM
        PT_FIELD_COUNT
} pt_field;

/* The arrays, all on one side (host or device). */
typedef struct pt_fields {
#define PT_FIELD_MEMBER(name, type, width, kind) type *name;
    PT_FIELDS(PT_FIELD_MEMBER)
#undef PT_FIELD_MEMBER
} pt_fields;

typedef struct pt_shape {
    int64_t points; /* own + halo */
    int64_t own;
    int scenes, classes;
} pt_shape;

size_t pt_field_bytes(pt_field f, const pt_shape *shape);
const char *pt_field_tag(pt_field f); /* call site of its memory: "batch/coord" */
void **pt_field_at(pt_fields *fields, pt_field f);

/* Voxel of a coordinate, the same on host and device: floor(x / voxel) in float, IEEE division. */
#define PT_VOXEL_BIAS 131072 /* added to each axis: 18 bits an axis, aligned to coarse cells */
#define PT_MAX_SCENES 1023   /* slots that fit a voxel key: 54 + 10 bits */

/* A scene of a fragment. */
typedef struct pt_member {
    int position;   /* in the batch: index into the ledger */
    uint32_t key;   /* number of the scene in the data set: keys its random numbers */
    int64_t points; /* of the fragment's points, own and halo */
} pt_member;

/* On the device may mean its features alone; the rest is on the host then (recovery/stage.h). */
typedef enum pt_where { PT_ON_HOST, PT_ON_DEVICE } pt_where;

/* Remedies a fragment has had; each is tried once. */
enum { PT_TRIED_AGAIN = 1, PT_TRIED_CHUNKS = 2, PT_TRIED_AMBIGUOUS = 4 };

typedef struct pt_fragment {
    pt_shape shape;
    pt_where where;    /* which of the two sets of arrays is whole */
    int augmented;     /* 0: host fields are as loaded; the device is to augment them */
    int spatial;       /* 1: a part of one scene; 0: whole scenes */
    pt_fields host;    /* malloc'ed, owned; NULL what lives on the device */
    pt_fields device;  /* device memory, owned by whoever runs attempts (recovery/stage.h) */
    pt_member *member; /* [shape.scenes], owned */
    int id,
        parent; /* numbers within the batch, from 1: for the log; 0: it was not tried yet; none */
    unsigned tried;
    int64_t gather_rows;      /* rows a gather workspace may have; 0: no limit */
    int axis;                 /* of the next cut in the alternating mode: 0 x, 1 y */
    struct pt_fragment *next; /* in the queue */
} pt_fragment;

/* Host arrays of this shape, which has a point, a scene and a class at least, zeroed. NULL when
 * host memory is short. */
pt_fragment *pt_fragment_new(const pt_shape *shape);
/* Frees the host side; device arrays must be gone. NULL is allowed. */
void pt_fragment_free(pt_fragment *f);
void pt_fragment_drop_host(pt_fragment *f);
pt_status pt_fragment_alloc_host(pt_fragment *f);

/* One batch: scenes concatenated in this order, none of them empty, host side, not augmented.
 * keys[i]: number of scene i in the data set. class_weight [classes] or NULL: all 1. */
pt_status pt_fragment_join(const pt_scene *scenes, const uint32_t *keys, int n, int classes,
                           const real *class_weight, pt_fragment **out);
/* Points that carry loss, each by its class weight: what a batch divides by. */
double pt_fragment_valid_weight(const pt_fragment *f);
/* A new fragment of some of f's points (f on the host): rows index[0..n) in ascending order, own as
 * given (NULL: as in f). Scenes none of whose points were taken are left out. */
pt_status pt_fragment_take(const pt_fragment *f, const int64_t *index, const uint8_t *own,
                           int64_t n, pt_fragment **out);
/* Voxel coordinates of point i of a host fragment (without the bias). */
void pt_fragment_voxel(const pt_fragment *f, int64_t i, int32_t out[3]);

#endif
