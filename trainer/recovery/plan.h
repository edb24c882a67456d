/* plan.h - the memory model: what a fragment will need, learned from what fitted and what failed,
 * so that a batch known not to fit is split before it is tried. Pure C; numbers only, so that a
 * checkpoint keeps it as it is.
 *
 * It can only save work: a split is exact, and where the model is wrong the remedies of a failed
 * attempt are as before. All bytes are above the baseline, in blocks that are in use. */
#ifndef PT_PLAN_H
#define PT_PLAN_H
#include "fragment.h"

/* bytes = a * voxels + b * points by least squares: each fragment counts by its size, and less with
 * each one after it. Kernel pairs are known only after voxelisation, and they are 8 of some 3000
 * bytes of a voxel each: they stay in the share of the voxels. */
typedef struct pt_plan_fit {
    double vv, vp, pp, vb, pb;
} pt_plan_fit;

typedef struct pt_plan {
    double limit;       /* the least that did not fit; 0: none known */
    double quiet;       /* batches that were split ahead since it was learned or confirmed */
    double patience;    /* after so many of them, twice the limit is tried */
    double spread;      /* how far the fits were too low of late, as a factor from 1 up */
    pt_plan_fit fit[2]; /* gather workspace: as large as needed, small */
} pt_plan;
#define PT_PLAN_NUMBERS (sizeof(pt_plan) / sizeof(double))

#define PT_PLAN_PATIENCE_LEAST 16.0
#define PT_PLAN_PATIENCE_MOST  4096.0

pt_plan pt_plan_start(void);
/* 1: numbers that pt_plan_* can have left. */
int pt_plan_sound(const pt_plan *p);

/* A fragment was trained with so many bytes at most. */
void pt_plan_fitted(pt_plan *p, int small, int64_t voxels, int64_t points, double bytes);
/* A fragment failed twice in a row, and the last time these bytes were not there. Once is no
 * evidence: it may have been a moment. */
void pt_plan_failed(pt_plan *p, double bytes);
/* A batch was split ahead, and ended well. */
void pt_plan_kept(pt_plan *p);

/* What a fragment is expected to need, on the safe side; below 0: nothing is known. */
double pt_plan_need(const pt_plan *p, int small, int64_t voxels, int64_t points);
/* What is expected not to fit; infinite: nothing is. It rises with the batches that were split for
 * it, so that what was learned in a moment of pressure, or of one outlier, is forgotten: the
 * sooner, the less often it was confirmed. */
double pt_plan_bar(const pt_plan *p);

typedef enum pt_plan_word {
    PT_PLAN_TRY,    /* fits, or nothing is known */
    PT_PLAN_CHUNKS, /* one scene: fits with smaller gather chunks */
    PT_PLAN_CUT,    /* one scene: does not fit */
    PT_PLAN_GROUPS  /* several scenes that do not fit together */
} pt_plan_word;

/* About a fragment on the host, augmented. PT_PLAN_GROUPS: group [shape.scenes] says which scenes
 * are expected to fit together, in their order, numbered from 0 to *groups - 1. */
pt_status pt_plan_ask(const pt_plan *p, const pt_fragment *f, int64_t gather_small, int *group,
                      int *groups, pt_plan_word *word);
/* 1: whatever its voxels, a fragment of so many points is expected to fit, or nothing is known. */
int pt_plan_surely_fits(const pt_plan *p, int64_t points);

/* Distinct voxels of each scene of a host fragment: voxels [shape.scenes]. */
pt_status pt_plan_voxels(const pt_fragment *f, int64_t *voxels);

#endif
