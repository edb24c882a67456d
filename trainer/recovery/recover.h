/* recover.h - takes one batch through the queue: attempt, commit or roll back, classify, stage,
 * release, the mildest remedy left. Pure C; what touches a device comes in through pt_recover_ops,
 * so the same code runs under the trainer, under a test's fake device and in a browser. */
#ifndef PT_RECOVER_H
#define PT_RECOVER_H
#include "classify.h"
#include "ledger.h"
#include "plan.h"
#include "queue.h"
#include "split.h"

/* What one attempt did. The receipt is read back from the device after the passes: which points
 * were really trained. */
typedef struct pt_attempt {
    int forward, backward; /* passes run to their end */
    int64_t n;             /* own points */
    int32_t *position,
        *point; /* [n] scene of the batch, point id; malloc'ed, owned by the caller */
} pt_attempt;

/* Each returns PT_OK or leaves the cause in pt_error_last(). */
typedef struct pt_recover_ops {
    void *user;
    /* f's fields to the device (augmented there if they are not yet), forward, loss, backward into
     * scratch. Afterwards f is on the device, or still whole on the host if its fields did not fit.
     */
    pt_status (*attempt)(void *user, pt_fragment *f, pt_attempt *out);
    /* scratch into the batch's gradient; idempotent until it has succeeded */
    pt_status (*commit)(void *user, pt_fragment *f);
    /* every field back to the host, waited for, device copies freed. Can be repeated after a
     * failure. */
    pt_status (*stage)(void *user, pt_fragment *f);
    /* brings a fragment on the host to its augmented state with little device memory */
    pt_status (*augment)(void *user, pt_fragment *f);
    /* frees what f has on the device, without looking at it */
    void (*discard)(void *user, pt_fragment *f);
    /* unused blocks of the allocator back to the driver */
    pt_status (*release)(void *user);
    /* device bytes held now */
    size_t (*held)(void *user);
    /* clears the runtime's last error */
    void (*clear)(void *user);
    /* 1: synchronises and can still allocate a little */
    int (*alive)(void *user);
    /* before the first device call of a retry: next is about to be tried, rest are queued. May be
     * NULL. */
    void (*before_retry)(void *user, const pt_fragment *next, const pt_queue *rest,
                         const pt_ledger *ledger);
} pt_recover_ops;

typedef enum pt_on_floor { PT_FLOOR_DROP, PT_FLOOR_ERROR } pt_on_floor;

typedef struct pt_recover_options {
    pt_split_options split;
    pt_on_floor on_floor;
    int64_t gather_small; /* rows of the smaller gather workspace */
    size_t baseline;      /* device bytes before the batch */
    const pt_plan *plan;  /* what is known to fit; NULL: nothing is split before it is tried */
} pt_recover_options;

typedef struct pt_recover_stats {
    int64_t fragments; /* committed */
    int64_t attempts, retries;
    int64_t splits_scene, splits_space;
    int64_t planned; /* of those splits, and of smaller chunks: before a first attempt */
    int64_t wasted_forward, wasted_backward;
    int64_t bound;             /* attempts stay within this */
    double seconds;            /* spent on recovery: wasted attempts, staging, splitting */
    int at_floor;              /* fragments dropped */
    int floor_error;           /* the batch failed because points would have been dropped */
    int dead;                  /* the probe after an ambiguous failure found the context dead */
    pt_class class_of_failure; /* of pt_error_last(), when the batch failed */
} pt_recover_stats;

/* Trains every point of `whole` (on the host; owned from here on) or names it in the ledger, which
 * the caller has opened. On anything but PT_OK the cause is in pt_error_last(), nothing more of the
 * batch is on the device, and the caller discards the gradient: no step. At the floor with
 * PT_FLOOR_ERROR, stats->floor_error is set. */
pt_status pt_recover_batch(const pt_recover_ops *ops, const pt_recover_options *o,
                           pt_fragment *whole, pt_ledger *ledger, pt_recover_stats *stats);

/* At most this many attempts for scenes of these sizes. A fragment is tried at most PT_TRIES times:
 * first, the same again, with smaller chunks, and once more after an ambiguous failure. The
 * fragments are the batch, its scenes (if more than one), and what each scene is cut into
 * (pt_split_bound). */
#define PT_TRIES 4
int64_t pt_recover_bound(const int64_t *points, int scenes, pt_split_mode mode);
/* The same where batches may be split ahead: instead of the batch, groups of its scenes are tried.
 * Those of one scene are that scene; of at least two there are at most scenes / 2. What is split in
 * space before it was tried adds no attempt. */
int64_t pt_recover_bound_planned(const int64_t *points, int scenes, pt_split_mode mode);

#endif
