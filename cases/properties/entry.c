/* entry.c - what a property in Python calls of the queue and the splitter, and what it is told:
 * flat arrays in, one callback for everything that the recovery asks of a device. */
#include "recover.h"
#include <stdlib.h>
#include <string.h>

/* What the recovery does, in the order in which it does it; the answers are those of `fail`. */
enum { ATTEMPT, COMMIT, STAGE, AUGMENT, DISCARD, RELEASE, CLEAR, ALIVE, RETRY };

/* A fragment, rows in its own order. */
typedef struct pp_piece {
    int64_t points, own, gather_rows;
    int32_t scenes, spatial, augmented, id, parent;
    const int32_t *scene; /* [points] position of the scene in the batch */
    const int32_t *point; /* [points] */
    const uint8_t *is_own;
    const float *coord; /* [points, 3] */
} pp_piece;

/* p: NULL where no fragment is meant. Returns how it ends, see `fail`. */
typedef int32_t (*pp_tell)(int32_t what, const pp_piece *p);

typedef struct pp_batch {
    int32_t scenes, mode, halo, on_floor;
    int64_t gather_small;
    double worth;
    const int64_t *points; /* [scenes] */
    const float *voxel;    /* [scenes] */
    const float *coord;    /* [sum of points, 3] */
} pp_batch;

typedef struct pp_end {
    int32_t status, cause; /* cause: pt_class of the failure */
    int32_t at_floor, floor_error, dead;
    int64_t fragments, attempts, retries, splits_scene, splits_space, bound;
    int64_t count[PT_FATES];
} pp_end;

int32_t pp_floor(void);
int32_t pp_tries(void);
int64_t pp_split_bound(int64_t n, int32_t mode);
int32_t pp_run(const pp_batch *b, pp_tell tell, pp_end *end, uint8_t *fate);
int32_t pp_split(const pp_batch *b, const int32_t *cuts, int32_t ncuts, pp_tell tell);
int32_t pp_by_scene(const pp_batch *b, pp_tell tell);
void *pp_queue_new(void);
void pp_queue_free(void *q);
void pp_queue_add(void *q, int32_t id, int32_t front);
int32_t pp_queue_take(void *q);
int64_t pp_queue_list(void *q, int32_t *ids, int64_t room, int32_t *last);

int32_t pp_floor(void)
{
    return PT_FLOOR;
}
int32_t pp_tries(void)
{
    return PT_TRIES;
}
int64_t pp_split_bound(int64_t n, int32_t mode)
{
    return pt_split_bound(n, (pt_split_mode)mode);
}

static pt_status fail(int32_t how)
{
    switch (how) {
    case 0: return PT_OK;
    case 3: /* ambiguous: CUBLAS_STATUS_INTERNAL_ERROR */
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUBLAS, 14, "cublasSgemm", "entry", 0);
    case 4: /* a bug: cudaErrorInvalidValue */
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 1, "cudaLaunchKernel", "entry", 0);
    case 5: /* pinned host memory */
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 2, "cudaMallocHost", "entry", 0);
    case 6: /* sticky: cudaErrorIllegalAddress */
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 700, "cudaStreamSynchronize", "entry",
                           0);
    default: /* 1 before the fields are on the device, 2 after */
        return pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, 2, "cudaMalloc", "entry", 0);
    }
}

typedef struct run {
    pp_tell tell;
    int32_t ids;
} run;

static int32_t tell(const run *r, int32_t what, const pt_fragment *f)
{
    if (!f) return r->tell(what, NULL);
    int32_t *scene = malloc(sizeof *scene * (size_t)f->shape.points);
    if (!scene) abort();
    for (int64_t i = 0; i < f->shape.points; i++) scene[i] = f->host.scene[f->host.slot[i]];
    pp_piece p = {f->shape.points, f->shape.own,  f->gather_rows, f->shape.scenes,
                  f->spatial,      f->augmented,  f->id,          f->parent,
                  scene,           f->host.point, f->host.own,    f->host.coord};
    int32_t answer = r->tell(what, &p);
    free(scene);
    return answer;
}

static pt_status attempt(void *user, pt_fragment *f, pt_attempt *out)
{
    run *r = user;
    if (!f->id) f->id = ++r->ids;
    int32_t how = tell(r, ATTEMPT, f);
    f->augmented |= how != 1;
    if (how) return fail(how);
    size_t room = sizeof(int32_t) * (size_t)f->shape.own + 1;
    out->position = malloc(room);
    out->point = malloc(room);
    if (!out->position || !out->point) abort();
    for (int64_t i = 0; i < f->shape.points; i++) {
        if (!f->host.own[i]) continue;
        out->position[out->n] = f->host.scene[f->host.slot[i]];
        out->point[out->n++] = f->host.point[i];
    }
    return PT_OK;
}

static pt_status commit(void *user, pt_fragment *f)
{
    return fail(tell(user, COMMIT, f));
}
static pt_status stage(void *user, pt_fragment *f)
{
    return fail(tell(user, STAGE, f));
}
static pt_status augment(void *user, pt_fragment *f)
{
    int32_t how = tell(user, AUGMENT, f);
    if (!how) f->augmented = 1;
    return fail(how);
}
static void discard(void *user, pt_fragment *f)
{
    tell(user, DISCARD, f);
}
static pt_status release(void *user)
{
    return fail(tell(user, RELEASE, NULL));
}
static size_t held(void *user)
{
    (void)user;
    return 0;
}
static void clear(void *user)
{
    tell(user, CLEAR, NULL);
}
static int alive(void *user)
{
    return tell(user, ALIVE, NULL) == 0;
}
static void before_retry(void *user, const pt_fragment *next, const pt_queue *rest,
                         const pt_ledger *ledger)
{
    (void)rest, (void)ledger;
    tell(user, RETRY, next);
}

/* Every point has a feature, a label and a class weight that can be told from any other's. */
static pt_fragment *join(const pp_batch *b)
{
    pt_scene *s = calloc((size_t)b->scenes, sizeof *s);
    uint32_t *keys = calloc((size_t)b->scenes, sizeof *keys);
    pt_fragment *f = NULL;
    int64_t at = 0;
    if (!s || !keys) abort();
    for (int32_t k = 0; k < b->scenes; at += b->points[k++]) {
        size_t n = (size_t)b->points[k];
        s[k] = (pt_scene){.n = (int64_t)n, .voxel = b->voxel[k]};
        s[k].coord = calloc(n * 3 + 1, sizeof(float));
        s[k].feature = calloc(n * PT_FEATURES + 1, sizeof(float));
        s[k].label = calloc(n + 1, sizeof(int32_t));
        if (!s[k].coord || !s[k].feature || !s[k].label) abort();
        memcpy(s[k].coord, b->coord + 3 * at, sizeof(float) * 3 * n);
        for (size_t i = 0; i < n; i++) {
            s[k].label[i] = (int32_t)(i % 3);
            for (int c = 0; c < PT_FEATURES; c++)
                s[k].feature[i * PT_FEATURES + (size_t)c] =
                    (float)(((int64_t)i + at) * PT_FEATURES + c);
        }
        keys[k] = (uint32_t)k + 100;
    }
    if (pt_fragment_join(s, keys, b->scenes, 3, NULL, &f) != PT_OK) abort();
    for (int32_t k = 0; k < b->scenes; k++) {
        free(s[k].coord);
        free(s[k].feature);
        free(s[k].label);
    }
    free(s);
    free(keys);
    return f;
}

/* A batch through the recovery; fate [sum of points]. */
int32_t pp_run(const pp_batch *b, pp_tell to, pp_end *end, uint8_t *fate)
{
    run r = {.tell = to};
    pt_recover_ops ops = {&r,      attempt, commit, stage, augment,     discard,
                          release, held,    clear,  alive, before_retry};
    pt_recover_options o = {.split = {(pt_split_mode)b->mode, b->halo, b->worth},
                            .on_floor = (pt_on_floor)b->on_floor,
                            .gather_small = b->gather_small};
    pt_ledger ledger;
    pt_recover_stats s;
    *end = (pp_end){0};
    if (pt_ledger_open(&ledger, b->points, b->scenes) != PT_OK) abort();
    end->status = pt_recover_batch(&ops, &o, join(b), &ledger, &s);
    end->cause = (int32_t)s.class_of_failure;
    end->at_floor = s.at_floor;
    end->floor_error = s.floor_error;
    end->dead = s.dead;
    end->fragments = s.fragments;
    end->attempts = s.attempts;
    end->retries = s.retries;
    end->splits_scene = s.splits_scene;
    end->splits_space = s.splits_space;
    end->bound = s.bound;
    memcpy(end->count, ledger.count, sizeof end->count);
    for (int32_t k = 0; k < b->scenes; fate += b->points[k++])
        memcpy(fate, ledger.fate[k], (size_t)b->points[k]);
    pt_ledger_close(&ledger);
    return end->status;
}

/* Fields that a piece took along must be those of its points. */
static int32_t fields_wrong(const pp_batch *b, const pt_fragment *f)
{
    for (int64_t i = 0; i < f->shape.points; i++) {
        int32_t s = f->host.scene[f->host.slot[i]], p = f->host.point[i];
        int64_t at = p;
        for (int32_t k = 0; k < s; k++) at += b->points[k];
        int same = f->host.label[i] == p % 3 && f->host.voxel[f->host.slot[i]] == b->voxel[s] &&
                   f->member[f->host.slot[i]].key == (uint32_t)s + 100 &&
                   !memcmp(f->host.coord + 3 * i, b->coord + 3 * at, 3 * sizeof(float));
        for (int c = 0; c < PT_FEATURES; c++)
            same &= f->host.feature[i * PT_FEATURES + c] == (real)(float)(at * PT_FEATURES + c);
        if (!same) return 1;
    }
    return 0;
}

/* The one scene of b, cut in space; of the halves, those that `cuts` names (0 or 1, one after the
 * other) are cut further. The last fragment is told, then its halves; returns pt_split_outcome, or
 * -1 for a failure, -2 for a field that is not its point's. */
int32_t pp_split(const pp_batch *b, const int32_t *cuts, int32_t ncuts, pp_tell to)
{
    run r = {.tell = to};
    pt_split_options o = {(pt_split_mode)b->mode, b->halo, b->worth};
    pt_fragment *f = join(b), *half[2];
    pt_split_outcome outcome = PT_SPLIT_DONE;
    int32_t result = 0;
    for (int32_t i = 0; i <= ncuts && !result; i++) {
        if (pt_split_in_space(f, &o, half, &outcome) != PT_OK) result = -1;
        if (result || outcome != PT_SPLIT_DONE || i == ncuts) break;
        pt_fragment_free(half[!cuts[i]]);
        pt_fragment_free(f);
        f = half[cuts[i]];
        half[0] = half[1] = NULL;
    }
    tell(&r, 0, f);
    for (int h = 0; h < 2 && !result && outcome == PT_SPLIT_DONE; h++) {
        tell(&r, 1 + h, half[h]);
        if (fields_wrong(b, half[h])) result = -2;
    }
    if (!result) result = (int32_t)outcome;
    if (outcome == PT_SPLIT_DONE)
        for (int h = 0; h < 2; h++) pt_fragment_free(half[h]);
    pt_fragment_free(f);
    return result;
}

/* All pieces of a batch are told, in order. */
int32_t pp_by_scene(const pp_batch *b, pp_tell to)
{
    run r = {.tell = to};
    pt_fragment *f = join(b), **piece = calloc((size_t)b->scenes, sizeof *piece);
    if (!piece) abort();
    int32_t result = pt_split_by_scene(f, piece) == PT_OK ? 0 : -1;
    for (int32_t s = 0; s < b->scenes && !result; s++) {
        tell(&r, s, piece[s]);
        if (fields_wrong(b, piece[s])) result = -2;
    }
    for (int32_t s = 0; s < b->scenes; s++) pt_fragment_free(piece[s]);
    free(piece);
    pt_fragment_free(f);
    return result;
}

/* ---- the queue alone ---- */
void *pp_queue_new(void)
{
    return calloc(1, sizeof(pt_queue));
}

void pp_queue_add(void *q, int32_t id, int32_t front)
{
    pt_fragment *f = calloc(1, sizeof *f);
    if (!f) abort();
    f->id = id;
    if (front)
        pt_queue_push_front(q, f);
    else
        pt_queue_push(q, f);
}

/* The first one's id; 0: empty. */
int32_t pp_queue_take(void *q)
{
    pt_fragment *f = pt_queue_pop(q);
    int32_t id = f ? f->id : 0;
    if (f && f->next) id = -id; /* it still hangs on the queue */
    free(f);
    return id;
}

/* Ids from the front, at most `room`; *last: of the tail, 0 none. Returns the queue's own count. */
int64_t pp_queue_list(void *q, int32_t *ids, int64_t room, int32_t *last)
{
    const pt_queue *p = q;
    int64_t n = 0;
    for (const pt_fragment *f = p->head; f && n < room; f = f->next) ids[n++] = f->id;
    if (n < room) ids[n] = 0;
    *last = p->tail ? p->tail->id : 0;
    return p->n;
}

void pp_queue_free(void *q)
{
    while (pp_queue_take(q)) {
    }
    free(q);
}
