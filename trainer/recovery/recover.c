/* recover.c - the loop: one batch, from its first attempt to a ledger without open points.
 *
 * Order of a failure's handling, each step before the next: the attempt's memory is already gone
 * (its arena died with it) -> the runtime's last error is cleared -> the cause is classified ->
 * fields are staged -> unused blocks are released -> device bytes are compared with the baseline ->
 * the mildest remedy left. Nothing of it happens inside the failed call. */
#include "recover.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct run {
    const pt_recover_ops *ops;
    const pt_recover_options *o;
    pt_ledger *ledger;
    pt_recover_stats *stats;
    pt_queue queue;
} run;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t pt_recover_bound(const int64_t *points, int scenes, pt_split_mode mode)
{
    int64_t fragments = scenes > 1;
    for (int s = 0; s < scenes; s++) fragments += pt_split_bound(points[s], mode);
    return PT_TRIES * fragments;
}

int64_t pt_recover_bound_planned(const int64_t *points, int scenes, pt_split_mode mode)
{
    int64_t more = scenes / 2 - 1; /* groups in the place of the one batch */
    return pt_recover_bound(points, scenes, mode) + PT_TRIES * (more > 0 ? more : 0);
}

static void forget(pt_attempt *a)
{
    free(a->position);
    free(a->point);
    *a = (pt_attempt){0};
}

/* The fragment's points get their fate and the fragment its end. */
static pt_status drop(run *r, pt_fragment *f, pt_fate fate)
{
    pt_status st = PT_OK;
    for (int64_t i = 0; i < f->shape.points && st == PT_OK; i++)
        if (f->host.own[i])
            st = pt_ledger_mark(r->ledger, f->host.scene[f->host.slot[i]], f->host.point[i], fate);
    r->stats->at_floor++;
    fprintf(stderr,
            "pointtrain: dropped %lld points of scene %d of the batch (%s): out of memory\n",
            (long long)f->shape.own, f->member[0].position, pt_fate_name(fate));
    r->ops->discard(r->ops->user, f);
    pt_fragment_free(f);
    return st;
}

/* What a failure inside an operation of ours allows: one repetition if it was an OOM. */
static pt_status with_one_repeat(run *r, pt_status (*op)(void *, pt_fragment *), pt_fragment *f)
{
    pt_status st = op(r->ops->user, f);
    if (st == PT_OK || pt_classify(pt_error_last()) != PT_CLASS_OOM) return st;
    r->ops->clear(r->ops->user);
    r->ops->release(r->ops->user);
    return op(r->ops->user, f);
}

static pt_status commit(run *r, pt_fragment *f, pt_attempt *got)
{
    pt_status st = PT_OK;
    TRY(with_one_repeat(r, r->ops->commit, f));
    for (int64_t i = 0; i < got->n; i++)
        TRY(pt_ledger_mark(r->ledger, got->position[i], got->point[i], PT_FATE_TRAINED));
    r->stats->fragments++;
    r->ops->discard(r->ops->user, f);
    pt_fragment_free(f);
done:
    return st;
}

static pt_status to_baseline(run *r, pt_fragment *f)
{
    pt_status st = PT_OK;
    TRY(with_one_repeat(r, r->ops->stage, f));
    TRY(r->ops->release(r->ops->user));
    size_t held = r->ops->held(r->ops->user);
    if (held != r->o->baseline)
        st = pt_fail(PT_ERR_INTERNAL,
                     "before a retry the device holds %zu bytes instead of the %zu from before the "
                     "batch: something of the failed attempt is still alive",
                     held, r->o->baseline);
done:
    return st;
}

/* group NULL: every scene by itself. */
static pt_status split_by_scene(run *r, pt_fragment *f, const int *group, int n)
{
    pt_status st = PT_OK;
    pt_fragment **pieces = calloc((size_t)n, sizeof *pieces);
    if (!pieces) return pt_fail(PT_ERR_HOST, "no host memory to split %d scenes", n);
    TRY(pt_split_in_groups(f, group, n, pieces));
    for (int s = 0; s < n; s++) pt_queue_push(&r->queue, pieces[s]);
    pt_fragment_free(f);
    r->stats->splits_scene++;
done:
    free(pieces);
    return st;
}

/* f->augmented afterwards says whether there was device memory for it. */
static pt_status augmented(run *r, pt_fragment *f)
{
    if (f->augmented) return PT_OK;
    pt_status st = r->ops->augment(r->ops->user, f);
    if (st == PT_OK || pt_classify(pt_error_last()) != PT_CLASS_OOM) return st;
    r->ops->clear(r->ops->user);
    return r->ops->release(r->ops->user);
}

/* The halves of a cut: queued, or, at the floor, dropped or refused. */
static pt_status take_halves(run *r, pt_fragment *const half[2])
{
    pt_status st = PT_OK;
    r->stats->splits_space++;
    for (int h = 0; h < 2; h++) {
        if (half[h]->shape.own > PT_FLOOR) {
            pt_queue_push(&r->queue, half[h]);
        } else if (r->o->on_floor == PT_FLOOR_ERROR || st != PT_OK) {
            r->stats->floor_error |= st == PT_OK;
            if (st == PT_OK)
                st = pt_fail(PT_ERR_DEVICE,
                             "out of memory: %lld points of scene %d are at the floor "
                             "and may not be dropped (--on-floor error)",
                             (long long)half[h]->shape.own, half[h]->member[0].position);
            pt_fragment_free(half[h]);
        } else {
            st = drop(r, half[h], PT_FATE_FLOOR);
        }
    }
    return st;
}

/* The last rung: f cannot be made smaller. *taken: it was dropped; else st says why. */
static pt_status at_the_floor(run *r, pt_fragment *f, pt_fate fate, int *taken)
{
    if (r->o->on_floor == PT_FLOOR_ERROR) {
        r->stats->floor_error = 1;
        return pt_fail(PT_ERR_DEVICE,
                       "out of memory: %lld points of scene %d cannot be made smaller (%s) "
                       "and may not be dropped (--on-floor error)",
                       (long long)f->shape.own, f->member[0].position, pt_fate_name(fate));
    }
    *taken = 1;
    return drop(r, f, fate);
}

/* *taken: f has become two halves (or one and a dropped one), or was dropped; else st says why. */
static pt_status split_in_space(run *r, pt_fragment *f, int *taken)
{
    pt_status st = PT_OK;
    pt_fragment *half[2];
    pt_split_outcome outcome;
    *taken = 0;
    TRY(augmented(r, f));
    if (!f->augmented) return at_the_floor(r, f, PT_FATE_NO_AUGMENT, taken);
    TRY(pt_split_in_space(f, &r->o->split, half, &outcome));
    if (outcome != PT_SPLIT_DONE)
        return at_the_floor(r, f, outcome == PT_SPLIT_NO_GAIN ? PT_FATE_NO_GAIN : PT_FATE_FLOOR,
                            taken);
    pt_fragment_free(f);
    *taken = 1;
    st = take_halves(r, half);
done:
    return st;
}

/* 1: f is tried the same again, first of all: memory that was there, in pieces, is now in one. */
static int same_again(run *r, pt_fragment *f)
{
    if (f->tried & PT_TRIED_AGAIN) return 0;
    f->tried |= PT_TRIED_AGAIN;
    pt_queue_push_front(&r->queue, f);
    return 1;
}

/* 1: f is tried with a smaller workspace. One that cannot take it yet leaves it to its pieces. */
static int smaller_chunks(run *r, pt_fragment *f)
{
    if (f->tried & PT_TRIED_CHUNKS || !f->augmented || f->shape.points <= r->o->gather_small)
        return 0;
    f->tried |= PT_TRIED_CHUNKS;
    f->gather_rows = r->o->gather_small;
    pt_queue_push_front(&r->queue, f);
    return 1;
}

/* The ladder: the mildest remedy that f has not had. *taken: f is back in the queue, split or
 * dropped. */
static pt_status remedy(run *r, pt_fragment *f, int *taken)
{
    *taken = same_again(r, f) || smaller_chunks(r, f);
    if (*taken) return PT_OK;
    if (f->shape.scenes == 1) return split_in_space(r, f, taken);
    pt_status st = split_by_scene(r, f, NULL, f->shape.scenes);
    *taken = st == PT_OK;
    return st;
}

static pt_status after_failure(run *r, pt_fragment *f, int *taken)
{
    pt_error cause = *pt_error_last();
    pt_class class = pt_classify(&cause);
    *taken = 0;
    r->ops->clear(r->ops->user);
    if (class == PT_CLASS_AMBIGUOUS) {
        if (f->tried & PT_TRIED_AMBIGUOUS) return cause.status;
        if (!r->ops->alive(r->ops->user)) {
            r->stats->dead = 1;
            pt_error_restore(&cause);
            return cause.status;
        }
        f->tried |= PT_TRIED_AMBIGUOUS;
    } else if (class != PT_CLASS_OOM) {
        return cause.status;
    }
    pt_status st = to_baseline(r, f);
    if (st != PT_OK) return st;
    if (class == PT_CLASS_OOM) return remedy(r, f, taken);
    pt_queue_push_front(&r->queue, f);
    *taken = 1;
    return PT_OK;
}

static pt_status one(run *r, pt_fragment *f)
{
    pt_attempt got = {0};
    double start = now();
    int taken = 0;
    if (++r->stats->attempts > r->stats->bound) {
        r->ops->discard(r->ops->user, f);
        pt_fragment_free(f);
        return pt_fail(PT_ERR_INTERNAL,
                       "more than %lld attempts for one batch: the recovery does not end",
                       (long long)r->stats->bound);
    }
    if (r->stats->retries && r->ops->before_retry)
        r->ops->before_retry(r->ops->user, f, &r->queue, r->ledger);
    pt_status st = r->ops->attempt(r->ops->user, f, &got);
    if (st == PT_OK) {
        st = commit(r, f, &got);
        taken = st == PT_OK;
    } else {
        r->stats->wasted_forward += got.forward;
        r->stats->wasted_backward += got.backward;
        st = after_failure(r, f, &taken);
        if (taken) r->stats->retries++;
        r->stats->seconds += now() - start;
    }
    forget(&got);
    if (!taken) {
        r->ops->discard(r->ops->user, f);
        pt_fragment_free(f);
    }
    return st;
}

/* One scene that will not fit. A half at the floor would be given up, and the whole may fit after
 * all: then it is tried. */
static pt_status cut_ahead(run *r, pt_fragment *f, int *taken)
{
    pt_fragment *half[2];
    pt_split_outcome outcome;
    pt_status st = pt_split_in_space(f, &r->o->split, half, &outcome);
    if (st != PT_OK || outcome != PT_SPLIT_DONE) return st;
    *taken = half[0]->shape.own > PT_FLOOR && half[1]->shape.own > PT_FLOOR;
    for (int h = 0; h < 2; h++)
        if (*taken)
            pt_queue_push(&r->queue, half[h]);
        else
            pt_fragment_free(half[h]);
    r->stats->splits_space += *taken;
    if (*taken) pt_fragment_free(f);
    return PT_OK;
}

/* What is known not to fit is not tried first. *taken: f has become pieces, which are in the queue.
 * Only of fragments that were not tried: after a failure the remedies decide. */
static pt_status plan_ahead(run *r, pt_fragment *f, int *taken)
{
    pt_status st = PT_OK;
    pt_plan_word word;
    int groups, *group = NULL;
    const pt_plan *p = r->o->plan;
    if (!p || f->tried || pt_plan_surely_fits(p, f->shape.points)) return PT_OK;
    TRY(augmented(r, f));
    if (!f->augmented) return PT_OK; /* its attempt says why */
    if (!(group = malloc(sizeof *group * (size_t)f->shape.scenes))) {
        st = pt_fail(PT_ERR_HOST, "no host memory to plan %d scenes ahead", f->shape.scenes);
        goto done;
    }
    TRY(pt_plan_ask(p, f, r->o->gather_small, group, &groups, &word));
    if (word == PT_PLAN_CHUNKS) {
        f->tried |= PT_TRIED_CHUNKS;
        f->gather_rows = r->o->gather_small;
        r->stats->planned++;
    } else if (word == PT_PLAN_GROUPS) {
        TRY(split_by_scene(r, f, group, groups));
        *taken = 1;
    } else if (word == PT_PLAN_CUT) {
        TRY(cut_ahead(r, f, taken));
    }
    r->stats->planned += *taken;
done:
    free(group);
    return st;
}

/* Planned ahead, tried, or neither, which ends the batch and f. */
static pt_status next(run *r, pt_fragment *f)
{
    int taken = 0;
    double start = now();
    pt_status st = plan_ahead(r, f, &taken);
    r->stats->seconds += now() - start;
    if (taken) return st;
    if (st == PT_OK) return one(r, f);
    r->ops->discard(r->ops->user, f);
    pt_fragment_free(f);
    return st;
}

pt_status pt_recover_batch(const pt_recover_ops *ops, const pt_recover_options *o,
                           pt_fragment *whole, pt_ledger *ledger, pt_recover_stats *stats)
{
    run r = {.ops = ops, .o = o, .ledger = ledger, .stats = stats};
    pt_status st = PT_OK;
    *stats = (pt_recover_stats){0};
    stats->bound = (o->plan ? pt_recover_bound_planned
                            : pt_recover_bound)(ledger->points, ledger->scenes, o->split.mode);
    pt_queue_push(&r.queue, whole);
    for (pt_fragment *f; st == PT_OK && (f = pt_queue_pop(&r.queue));) st = next(&r, f);
    for (pt_fragment *f; (f = pt_queue_pop(&r.queue));) {
        ops->discard(ops->user, f);
        pt_fragment_free(f);
    }
    if (st == PT_OK) st = pt_ledger_check(ledger);
    if (st != PT_OK)
        stats->class_of_failure = stats->dead ? PT_CLASS_FATAL : pt_classify(pt_error_last());
    return st;
}
