/* rig.h - the real trainer, one batch of generated scenes, and its state before and after: what the
 * property suites compare. Runs on the simulated device, under the shim. */
#ifndef RIG_H
#define RIG_H
#include "loop/trainer.h"
#include "oomproof.h"

#define RIG_SCENES 8

typedef struct rig_options {
    int scenes;
    int64_t points[RIG_SCENES]; /* of each generated room */
    float voxel;                /* default 0.1 */
    pt_allocator_kind allocator;
    pt_split_mode split;
    pt_on_floor on_floor;
    int convs; /* default 1 */
    pt_norm norm;
    pt_amp amp;
    int width0; /* channels of level 0; the others are 2 and 4 times it. Default 8 */
    pt_optimizer_kind optimizer;
    int accum; /* default 1 */
    pt_device_fields device_fields;
    double clip, smoothing, dropout;
    int plan_ahead;
    const real *class_weight; /* [PT_ROOM_CLASSES]; default: all 1 */
} rig_options;

/* Copies of everything that a batch may change. */
typedef struct rig_state {
    real *param, *m, *v, *running;
    int64_t t, step;
} rig_state;

typedef struct rig {
    rig_options o;
    pt_trainer *t;
    pt_scene scene[RIG_SCENES];
    uint32_t key[RIG_SCENES];
    rig_state start, end;
    real *grad;  /* the whole batch's gradient, taken before the optimiser step */
    int stepped; /* grad is of the last batch */
    pt_ledger ledger;
    pt_batch_result result;
    pt_status status;
    pt_error error; /* of the last batch, when it failed */
    uint64_t live;  /* the shim's live device bytes between batches */
} rig;

void rig_open(rig *r, const rig_options *o); /* fails the case when it cannot */
void rig_close(rig *r);
/* One batch from the start state under these rules (NULL: none), everything of it recorded. The
 * rules are disarmed afterwards; *fired (may be NULL): how often rule 0 fired. */
void rig_run(rig *r, const char *rules, uint64_t *fired);

/* The batch on a card with this share of the room that it takes unsplit; it must not lose points.
 */
void rig_run_on_budget(rig *r, double share, uint64_t room);

/* max|a - b| / max(max|g_tensor|, 1e-3 max|g|), the worst over all tensors (design, section 6). */
double rig_distance(const rig *r, const real *a, const real *reference);
/* The parts of the state that differ in any bit, as words; "" when none does. */
const char *rig_state_diff(const rig *r, const rig_state *a, const rig_state *b);
/* Every point once; live bytes as before the batch; last error clean. Fails the case, naming
 * `what`. */
void rig_check_invariants(rig *r, const char *what);

rig_state rig_state_copy(const rig *r, const rig_state *s);
void rig_state_free(rig_state *s);
void rig_read_state(rig *r, rig_state *s); /* as it is now */
real *rig_copy(const rig *r, const real *values);

#endif
