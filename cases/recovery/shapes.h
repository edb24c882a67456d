/* shapes.h - scenes of awkward geometry, for cases about splitting. */
#ifndef SHAPES_H
#define SHAPES_H
#include "data.h"

typedef enum shape_kind {
    SHAPE_ROOM,     /* points spread over a box by a counter-based generator */
    SHAPE_POLE,     /* all share x and y */
    SHAPE_LINE,     /* all share y and z */
    SHAPE_SAME,     /* all in one place */
    SHAPE_CLUSTERS, /* two dense clusters, far apart, unequal: 1 point in 10 in the first */
    SHAPE_STRAYS,   /* one dense cluster and a few points further and further away */
    SHAPE_KINDS
} shape_kind;
const char *shape_name(shape_kind k);

/* n points, labels 0..classes-1 in turn. The caller frees it with pt_scene_free. */
pt_scene shape_make(shape_kind kind, int64_t n, int classes, uint64_t seed);
/* 0..1, the same for the same arguments. */
double shape_random(uint64_t seed, uint64_t counter);

#endif
