/* fragment.h - what one attempt works on: whole scenes, or one part of one scene with its halo.
 *
 * The fields are a table; each has a kind, and only the kind says how it is sliced. */
#ifndef PT_FRAGMENT_H
#define PT_FRAGMENT_H
#include "data.h"
#include "real.h"
#include <stdint.h>

typedef enum pt_kind { PT_PER_POINT, PT_PER_SCENE, PT_PER_BATCH, PT_PER_CLASS } pt_kind;

/* name, type, width, kind */
#define PT_FIELDS(X)                                                                               \
    X(coord, float, 3, PT_PER_POINT)             /* augmented coordinates, scene units */         \
    X(feature, real, PT_FEATURES, PT_PER_POINT)  /* of data.h, augmented */                       \
    X(label, int32_t, 1, PT_PER_POINT)           /* 0..classes-1 or PT_IGNORE */                  \
    X(own, uint8_t, 1, PT_PER_POINT)             /* 1: carries loss; 0: halo */                   \
    X(slot, int32_t, 1, PT_PER_POINT)            /* index of its scene in this fragment, ascending */ \
    X(point, int32_t, 1, PT_PER_POINT)           /* point id within its scene, ascending per slot */  \
    X(voxel, float, 1, PT_PER_SCENE)             /* edge length */                                \
    X(scene, int32_t, 1, PT_PER_SCENE)           /* position of the scene in the batch */         \
    X(class_weight, real, 1, PT_PER_CLASS)       /* weight of a class in the loss */

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
    int64_t points;  /* own + halo */
    int64_t own;
    int scenes, classes;
} pt_shape;

size_t pt_field_bytes(pt_field f, const pt_shape *shape);
const char *pt_field_name(pt_field f);          /* "coord" */
void **pt_field_at(pt_fields *fields, pt_field f);

/* Voxel of a coordinate, the same on host and device: floor(x / voxel) in float, IEEE division. */
#define PT_VOXEL_BIAS 131072   /* added to each axis: 18 bits an axis, aligned to coarse cells */
#define PT_MAX_SCENES 1023     /* slots that fit a voxel key: 54 + 10 bits */

#endif
