/* split.h - takes a fragment on the host apart: by scene, or in space with a halo. Pure C. */
#ifndef PT_SPLIT_H
#define PT_SPLIT_H
#include "fragment.h"

#ifndef PT_FLOOR     /* a case may build with less, to reach it with a handful of points */
#define PT_FLOOR 500 /* a spatial half is kept if it has more own points than this */
#endif

typedef enum pt_split_mode {
    PT_SPLIT_AUTO,     /* longest axis at its midpoint, else the median; never leaves a half at the
                          floor */
    PT_SPLIT_ALTERNATE /* x, y, x ... at the midpoint of the box, as the original loop did */
} pt_split_mode;

typedef struct pt_split_options {
    pt_split_mode mode;
    int halo;     /* voxels around the own points' box that come along: pt_net_halo */
    double worth; /* a half, halo included, may have at most this share of the voxels: 0.9 */
} pt_split_options;

typedef struct pt_cut {
    int axis;   /* 0 x, 1 y, 2 z */
    int median; /* 1: by (coordinate, point id) at the median; 0: coordinate < at */
    float at;
} pt_cut;

typedef enum pt_split_outcome {
    PT_SPLIT_DONE,
    PT_SPLIT_AT_FLOOR, /* too few own points to be cut */
    PT_SPLIT_NO_GAIN   /* the halves would be about as big as the whole */
} pt_split_outcome;

/* One piece per scene, whole, in order; pieces [shape.scenes]. */
pt_status pt_split_by_scene(const pt_fragment *f, pt_fragment **pieces);
/* One piece a group of whole scenes: group [shape.scenes] numbers them from 0 to groups - 1, each
 * of which has a scene; NULL: every scene is a group. pieces [groups]. */
pt_status pt_split_in_groups(const pt_fragment *f, const int *group, int groups,
                             pt_fragment **pieces);

/* Which cut a mode makes; PT_SPLIT_AT_FLOOR when there is none. Needs one scene on the host. */
pt_status pt_split_choose(const pt_fragment *f, pt_split_mode mode, pt_cut *cut,
                          pt_split_outcome *outcome);
/* Cuts the own points in two; each half takes along every point (own or halo of f) whose voxel is
 * at most `halo` voxels from its own points' box, so whole voxels only. */
pt_status pt_split_at(const pt_fragment *f, const pt_cut *cut, int halo, pt_fragment *half[2]);
/* Both of the above with the gain check. On anything but PT_SPLIT_DONE both halves are NULL. */
pt_status pt_split_in_space(const pt_fragment *f, const pt_split_options *o, pt_fragment *half[2],
                            pt_split_outcome *outcome);

/* Distinct voxels of a host fragment; -1 when host memory is short. */
int64_t pt_count_voxels(const pt_fragment *f);

/* The most fragments that can be tried on the way from one scene of n points to the floor, the
 * whole scene included.
 *
 * AUTO: every half has at least PT_FLOOR + 1 own points and the halves are disjoint, so the leaves
 * of the tree of cuts number at most L = floor(n / (PT_FLOOR + 1)), and a binary tree of L leaves
 * has 2 L - 1 nodes. (L = 0: the scene itself is tried once.)
 *
 * ALTERNATE: at each depth of the tree the kept halves are disjoint and have at least PT_FLOOR + 1
 * own points: at most L a depth. A midpoint cut at least halves the box's extent on its axis (up to
 * rounding to the next float), and an extent, from below 2^129 to 2^-149, the smallest distance of
 * two floats, takes at most PT_HALVINGS halvings; after that the extent is 0 and the axis is not
 * cut again. So x and y allow 2 * PT_HALVINGS levels, and the median, which comes when both are 0,
 * halves the points: ceil(log2 n) more. */
#define PT_HALVINGS 279
int64_t pt_split_bound(int64_t n, pt_split_mode mode);

#endif
