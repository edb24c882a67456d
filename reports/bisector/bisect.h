/* bisect.h - one batch through the recovery on a device that is only a memory budget, recorded
 * attempt by attempt: what the memory bisector shows. The queue and the splitter are those of
 * trainer/recovery/. Everything is int32_t, so that a page reads it as one array and a test can
 * compare a native run with it number by number. */
#ifndef BISECT_H
#define BISECT_H
#include "recover.h"

enum { BI_MAX_SCENES = 12 };

typedef struct bi_config {
    int32_t budget_kib;   /* what an attempt may take */
    int32_t scenes;       /* of the batch: 1 to BI_MAX_SCENES */
    int32_t heavy;        /* sizes: 0 uniform, 1 heavy-tailed */
    int32_t seed;         /* of sizes and shapes */
    int32_t kept_percent; /* of the budget, kept by the allocator as blocks that do not fit, from a
                             committed attempt to the next release */
    int32_t alternate;    /* 1: --split alternate */
    int32_t halo;         /* voxels */
    int32_t original;     /* 1: the loop of the write-up instead of pt_recover_batch */
    int32_t everything;   /* 1: every failure is taken for an out-of-memory */
    int32_t bug;          /* scene with a bug, from 1; 0: none */
    int32_t column;       /* 1: the first scene is a column of points that share x and y */
    int32_t chunk;        /* scenes a pass of gradient accumulation at a fixed chunk */
} bi_config;

typedef enum bi_fate {
    BI_OPEN,      /* in the queue, or being attempted */
    BI_COMMITTED, /* its gradient is in the batch's */
    BI_BY_SCENE,
    BI_IN_SPACE,
    BI_AT_FLOOR, /* dropped */
    BI_NO_GAIN,  /* dropped: a cut would not have made it smaller */
    BI_STOPPED,  /* the batch ended with its failure */
    BI_LOST      /* the batch ended before its turn */
} bi_fate;

typedef enum bi_remedy {
    BI_COMMIT, /* none was needed */
    BI_AGAIN,
    BI_CHUNKS,
    BI_SPLIT_SCENES,
    BI_SPLIT_SPACE,
    BI_DROP,
    BI_STOP
} bi_remedy;

typedef struct bi_node { /* a fragment */
    int32_t parent;      /* -1: the batch */
    int32_t scene;       /* -1: several */
    int32_t own, points, voxels;
    int32_t spatial; /* 1: part of a scene */
    int32_t axis;    /* along which it was cut, 0 x 1 y 2 z; -1: not in space */
    int32_t born;    /* attempt before which it is there */
    int32_t ended;   /* attempt after which its fate is known; -1: never tried */
    int32_t fate;    /* bi_fate, in the end */
    int32_t box[6];  /* of its own points, mm: x y z from, x y z to */
} bi_node;

typedef struct bi_step { /* an attempt, and the sums after it */
    int32_t node;
    int32_t gather_rows;        /* 0: no limit */
    int32_t need_kib, room_kib; /* room: the budget without kept blocks */
    int32_t forward, backward;  /* 1: ran to its end */
    int32_t cause;              /* 0 none, 1 out of memory, 2 the bug */
    int32_t remedy;             /* bi_remedy */
    int32_t queue_at, queue_n;  /* part of bi_run.queue: nodes in the queue before it, it first */
    int32_t retries;            /* failed attempts after which the batch went on */
    int32_t wasted_forward;     /* forward passes that ended, of attempts that failed */
    int32_t trained, dropped;   /* points */
    int32_t survives;           /* points whose gradient the optimiser would see now */
    int32_t work, wasted;       /* of committed and of failed attempts, see bi_cost */
    int32_t callbacks;          /* times the hook that says "a batch was done" has fired */
} bi_step;

typedef enum bi_end { BI_DONE, BI_RAISED, BI_ENDLESS } bi_end;

typedef struct bi_totals {
    int32_t end; /* bi_end */
    int32_t points, voxels;
    int32_t trained, dropped, survives;
    int32_t attempts, retries, splits_scene, splits_space, wasted_forward, wasted_backward;
    int32_t work, wasted;
    int32_t bound;                    /* pt_recover_bound, at most 2^31 - 1 */
    int32_t plan_passes, plan_work;   /* of a planner that knows every size */
    int32_t plan_dropped;             /* points */
    int32_t chunk_passes, chunk_work; /* of gradient accumulation at a fixed chunk */
    int32_t chunk_failed, chunk_lost; /* passes that do not fit, points in them */
    int32_t scene_points[BI_MAX_SCENES];
} bi_totals;

typedef struct bi_run {
    bi_config config;
    pt_scene scene[BI_MAX_SCENES];
    bi_node *node;
    bi_step *step;
    int32_t *queue;
    int32_t nodes, steps, queued, node_room, step_room, queue_room;
    int32_t *owner[BI_MAX_SCENES]; /* [scene][point] the smallest node that has the point */
    bi_totals totals;
    char message[512]; /* of the failure that ended the batch */
    int kept;          /* 1: the allocator keeps blocks now */
} bi_run;

/* Everything of a run. PT_OK also when the batch ended with a failure (totals.end says so).
 * Frees what an earlier run left in r; r starts as zeros. */
pt_status bi_run_batch(bi_run *r, const bi_config *config);
void bi_free(bi_run *r);

/* ---- between the files of the bisector ---- */
enum { BI_GATHER_SMALL = 1024 }; /* rows of the smaller workspace, as in the trainer */
enum { BI_PASS_COST = 2000 };    /* launches of a pass take as long as so many voxels */

/* Bytes of an attempt in KiB, and its work: a forward pass costs 1 a voxel, a backward pass 2. */
int32_t bi_need(int64_t voxels, int64_t gather_rows);
int32_t bi_cost(int64_t voxels);

pt_status bi_scenes(bi_run *r);
/* The node of a fragment on the host with own points, made when it is new. */
int32_t bi_node_of(bi_run *r, const pt_fragment *f);
/* A new step: f is about to be attempted, rest are queued. */
bi_step *bi_begin(bi_run *r, const pt_fragment *f, const pt_queue *rest);
/* The device: does f's attempt fit? Fills the last step. PT_OK or a failure in pt_error_last(). */
pt_status bi_attempt(bi_run *r, const pt_fragment *f);
pt_status bi_project(bi_run *r, pt_fragment *whole, pt_ledger *ledger);
pt_status bi_original(bi_run *r, pt_fragment *whole, pt_ledger *ledger);
pt_status bi_plan(bi_run *r);
/* Room for one more of `size` bytes; *room in elements. */
pt_status bi_grow(void **array, int32_t *room, int32_t n, size_t size);

#endif
