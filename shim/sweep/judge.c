/* judge.c - what must hold after a fault: the state of the run that never failed, no device memory
 * more, a clean last error, attempts within their bound, every point accounted for. */
#define _GNU_SOURCE
#include "buffers.h"
#include "live.h"
#include "oomproof.h"
#include "state.h"
#include "sweep.h"
#include "trace/write.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int steps, in_step, retried;
static int64_t most_attempts, tries; /* 0: not said; retries of this step */

int op_sweep_in_step(void)
{
    /* the reference finds out whether the program marks its steps; the others know */
    if (!op_sweep->marked && !steps) return 1;
    return in_step && steps == op_sweep->step;
}

/* ---- pruning ---- */
uint64_t op_state_hash(uint64_t seed)
{
    uint64_t h = seed;
    size_t n = 0;
    op_live_block *list = op_live_list(&op_runtime_live, &n); /* by address */
    char *copy = malloc(1 << 20);
    op_within within;
    op_enter(&within);
    for (size_t i = 0; copy && i < n; i++) {
        h = oomproof_hash(h, &list[i].bytes, sizeof list[i].bytes);
        for (size_t at = 0; at < list[i].asked; at += 1 << 20) {
            size_t k = list[i].asked - at < 1 << 20 ? list[i].asked - at : 1 << 20;
            char *from = (char *)list[i].p + at;
            if (REAL(cudaMemcpy)(copy, from, k, cudaMemcpyDeviceToHost) != cudaSuccess) continue;
            op_buffers_blank(copy, from, k);
            h = oomproof_hash(h, copy, k);
        }
    }
    op_leave(&within);
    free(copy);
    free(list);
    int last = (int)cudaPeekAtLastError();
    return oomproof_hash(h, &last, sizeof last);
}

/* The first that came to that state, which may be under way yet; NULL: r is, from now on. */
static op_result *first_at(uint64_t hash, const op_result *r)
{
    for (unsigned k = 0; k < OP_STATES; k++) {
        unsigned i = (unsigned)(hash + k) % OP_STATES;
        int *of = &op_sweep->state[i].result, me = (int)(r - op_sweep->result) + 1, by = 0;
        uint64_t there = 0;
        if (__atomic_compare_exchange_n(&op_sweep->state[i].hash, &there, hash, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            __atomic_store_n(of, me, __ATOMIC_RELEASE);
            return NULL;
        }
        if (there != hash) continue;
        /* the other is about to say which it is; should it have died there, this one is judged */
        for (int n = 0; n < 1 << 20 && !(by = __atomic_load_n(of, __ATOMIC_ACQUIRE)); n++)
            sched_yield();
        return by ? &op_sweep->result[by - 1] : NULL;
    }
    return NULL;
}

void op_judge_again(void)
{
    retried = 0;
}

static void end(op_result *r, op_verdict v, const char *why);

static int64_t carried; /* points of batches before, in the step's sum */
API void op_carried(int64_t points)
{
    carried = points;
}

API void op_bound(int64_t attempts)
{
    most_attempts = attempts;
    tries = 0;
}

API void op_retry(const void *state, size_t bytes)
{
    op_result *r = op_sweep ? op_sweep_result() : NULL;
    if (r && most_attempts && ++tries >= most_attempts) {
        char why[200];
        snprintf(why, sizeof why, "more than %lld attempts, which is the bound",
                 (long long)most_attempts);
        end(r, OP_V_UNBOUNDED, why);
    }
    if (r) r->retries++;
    if (!r || retried++ || !op_sweep->prune || !op_sweep->marked) return;
    op_counters_from(r, 1); /* what comes after it may be taken over from another run */
    /* the future of a state also depends on which faults are still to come */
    uint64_t to_come[] = {r->mode, op_sweep->pairs && r->second < 0, r->fault, r->budget};
    uint64_t host = op_buffers_host_hash(oomproof_hash(7, to_come, sizeof to_come));
    r->state = op_state_hash(oomproof_hash(host, state, bytes));
    if (!r->state) r->state = 1; /* 0: none */
    op_result *before = first_at(r->state, r);
    if (!before) return;
    int check = op_is_check(op_sweep, r);
    int open = __atomic_load_n(&before->verdict, __ATOMIC_ACQUIRE) == OP_V_RUNNING;
    if (check && open) return;
    r->inherited = (int)(before - op_sweep->result);
    if (check) return;
    if (open) op_sweep_end_process(OP_V_RUNNING, ""); /* op_judge_inherited, when it has ended */
    op_judge_inherited(r, before);
    op_sweep_end_process(r->verdict, before->why);
}

/* ---- verdicts ---- */
static void end(op_result *r, op_verdict v, const char *why)
{
    char text[200];
    snprintf(text, sizeof text, "%s", why ? why : r->why);
    if (r->inherited >= 0 && op_sweep->result[r->inherited].verdict != v) {
        snprintf(text, sizeof text, "pruning is not sound: run on, this state ends as \"%s\"",
                 op_verdict_text[v]);
        v = OP_V_DRIFT;
    }
    op_children_wait(0);
    fflush(NULL); /* what it printed is compared */
    op_sweep_end_process(v, text);
}

static void judge(op_result *r, const op_step_summary *s)
{
    int same, oom = r->fault == OP_FAULT_OOM, part = *op_sweep->part != 0;
    char why[200];
    const op_step_summary *ref = &op_sweep->reference_step;
    /* after its fault; the step that never failed may have had to, on a card that is full */
    int retried_on = r->retries > 0 || s->retries > ref->retries;
    r->points = s->points, r->trained = s->trained, r->dropped = s->dropped;
    r->attempts = s->attempts, r->retries = s->retries, r->splits = s->splits;
    if (s->bound && s->attempts > s->bound) {
        snprintf(why, sizeof why, "%lld attempts, the bound is %lld", (long long)s->attempts,
                 (long long)s->bound);
        end(r, OP_V_UNBOUNDED, why);
    }
    if (s->failed) {
        if (oom && r->mode == OP_ONCE && r->second < 0)
            end(r, OP_V_DRIFT, "a transient out-of-memory was not recovered");
        if (!oom && retried_on) end(r, OP_V_SWALLOWED, "retried, though it was no out-of-memory");
        if (!oom && s->splits > ref->splits)
            end(r, OP_V_SWALLOWED, "split, though it was no out-of-memory");
        uint64_t most = op_sweep->begin_live > op_sweep->reference_live ? op_sweep->begin_live
                                                                        : op_sweep->reference_live;
        uint64_t held = op_live_now(&op_runtime_live);
        /* a context that is dead frees nothing, nor does a call that was made to fail */
        int could_free = r->fault != OP_FAULT_STICKY && !op_sweep_failed_a_free();
        if (part && could_free && held > most) {
            snprintf(why, sizeof why, "it failed, and holds %llu device bytes more than before it",
                     (unsigned long long)(held - most));
            end(r, OP_V_LEAK, why);
        }
        if (part && !op_buffers_of_part(r, 1, 0)) end(r, OP_V_DRIFT, NULL);
        if (!part && !s->exit_code)
            end(r, OP_V_SWALLOWED,
                "the step failed, and the exit code that this leads to (oomproof_step) is 0");
        end(r, OP_V_REFUSED, "");
    }
    if (!oom) end(r, OP_V_SWALLOWED, "the step went on as if nothing had happened");
    if (s->points != ref->points || s->trained < 0 || s->dropped < 0) {
        snprintf(why, sizeof why,
                 "%lld points, %lld trained and %lld dropped; without a failure %lld",
                 (long long)s->points, (long long)s->trained, (long long)s->dropped,
                 (long long)ref->points);
        end(r, OP_V_DRIFT, why);
    }
    if (s->trained + s->dropped != s->points) {
        snprintf(why, sizeof why, "%lld points trained and %lld dropped of %lld",
                 (long long)s->trained, (long long)s->dropped, (long long)s->points);
        end(r, OP_V_DRIFT, why);
    }
    uint64_t live = op_live_now(&op_runtime_live);
    if (live != op_sweep->reference_live) {
        snprintf(why, sizeof why, "%lld device bytes %s than in the run that never failed",
                 llabs((long long)(live - op_sweep->reference_live)),
                 live > op_sweep->reference_live ? "more" : "fewer");
        end(r, OP_V_LEAK, why);
    }
    if (cudaPeekAtLastError() != cudaSuccess)
        end(r, OP_V_DRIFT, "the last error is not clean after the recovery");
    if (s->dropped > op_sweep->reference_step.dropped) {
        if (r->mode == OP_ONCE && r->second < 0)
            end(r, OP_V_DRIFT, "points were dropped under a transient fault");
        if (part && !op_buffers_of_part(r, 0, 1)) end(r, OP_V_DRIFT, NULL);
        if (part) end(r, OP_V_DECLARED, NULL);
        if (!s->trained && !carried && !op_buffers_unmoved(r)) end(r, OP_V_DRIFT, NULL);
        if ((s->trained || carried) && !op_buffers_recomputed(r)) end(r, OP_V_GRADIENT, NULL);
        end(r, OP_V_DECLARED, NULL);
    }
    if (part && op_buffers_of_part(r, 0, 0)) end(r, OP_V_EXACT, "");
    if (part) end(r, s->retries ? OP_V_DRIFT : OP_V_SWALLOWED, NULL);
    int exact = s->splits == ref->splits && s->regrouped == ref->regrouped;
    if (!exact && !op_buffers_fixed(r)) end(r, OP_V_DRIFT, NULL);
    if (op_buffers_compare(r, exact, &same)) end(r, OP_V_EXACT, "");
    end(r, s->retries ? OP_V_GRADIENT : OP_V_SWALLOWED, NULL);
}

/* ---- steps, and parts beside them ---- */
API int op_sweeping(void)
{
    return op_sweep != NULL;
}

static void begin(void)
{
    if (!op_sweep_claim()) return;
    steps++;
    in_step = 1;
    most_attempts = tries = carried = 0;
    if (op_sweep->role == OP_REFERENCE && !op_sweep->marked) {
        op_sweep->marked = 1; /* what was counted before lies outside any step */
        op_sweep->npoints = 0;
        op_sweep_forget_points();
    }
    if (steps != op_sweep->step) return;
    if (op_sweep->role == OP_REFERENCE) op_buffers_write("start.bin");
    op_sweep_enter();
}

API void op_step_begin(void)
{
    op_trace_step_start();
    if (op_sweep && !*op_sweep->part) begin();
}

API void op_part_begin(const char *name)
{
    if (!name) {
        op_sweep_note("oomproof_part_begin",
                      "the name is NULL: the part is not swept; give the one of --part");
        return;
    }
    if (op_sweep && *op_sweep->part && !strcmp(name, op_sweep->part)) begin();
}

API void op_sample(uint64_t points)
{
    op_trace_step(&(op_step_event){.points = points}, OP_RECORD_SAMPLE);
}

static void ended(const op_step_summary *s);

/* Of a program that gives NULL. */
static const op_step_summary *none(const char *function)
{
    static const op_step_summary zeros;
    op_sweep_note(function,
                  "the summary is NULL: neither lost points, retries nor a step that failed can be "
                  "judged; give an oomproof_step");
    return &zeros;
}

API void op_part_end(const char *name, const op_step_summary *s)
{
    if (!name) {
        op_sweep_note("oomproof_part_end",
                      "the name is NULL: the part does not end; give that of its beginning");
        return;
    }
    if (!s) s = none("oomproof_part_end");
    if (op_sweep && *op_sweep->part && !strcmp(name, op_sweep->part)) ended(s);
}

API void op_step_end(const op_step_summary *s)
{
    if (!s) s = none("oomproof_step_end");
    op_trace_step(&(op_step_event){.points = (uint64_t)s->points,
                                   .trained = (uint64_t)s->trained,
                                   .dropped = (uint64_t)s->dropped,
                                   .attempts = (uint32_t)s->attempts,
                                   .retries = (uint32_t)s->retries,
                                   .splits = (uint32_t)s->splits,
                                   .failed = (uint32_t)s->failed},
                  OP_RECORD_STEP);
    if (op_sweep && !*op_sweep->part) ended(s);
}

/* A run that took no fault: it must have come by the same points to the same end. */
static int as_the_reference(void)
{
    return op_sweep_points_passed() == op_sweep->npoints &&
           op_live_now(&op_runtime_live) == op_sweep->reference_live &&
           (!op_sweep->marked || op_buffers_hash() == op_sweep->reference_state);
}

static void ended(const op_step_summary *s)
{
    if (!in_step) {
        op_sweep_note("oomproof_step_end",
                      "none had begun (oomproof_step_begin): it is not judged");
        return;
    }
    in_step = 0;
    if (steps != op_sweep->step) return;
    op_result *r = op_sweep_result();
    if (r) judge(r, s);
    if (op_sweep_run()) op_sweep_run()->passed = as_the_reference();
    if (op_sweep->role == OP_REFERENCE) {
        op_sweep->reference_live = op_live_now(&op_runtime_live);
        op_sweep->peak_live = op_live_peak(&op_runtime_live, 0);
        op_sweep->reference_step = *s;
        op_sweep->reference_state = op_buffers_write("reference.bin");
        op_sweep->compared = op_buffers_count();
        if (!*op_sweep->part) op_sweep->rounding = op_buffers_rounding();
        op_sweep->reference_ended = 1;
    } else if (op_sweep->role == OP_WALKER) {
        op_sweep->walker_equal = as_the_reference();
        op_children_wait(0);
    }
    if (op_sweep->role != OP_SINGLE) { /* the rest of the program has nothing to add */
        fflush(NULL);
        op_sweep_end_process(OP_V_RUNNING, "");
    }
}

/* A program that marks no step: its exit is the end. What it printed and its exit code are
 * compared by the command. */
void op_judge_exit(void)
{
    if (!op_sweep || op_sweep->marked || !op_sweep_is_ours()) return;
    op_result *r = op_sweep_result();
    uint64_t live = op_live_now(&op_runtime_live);
    if (op_sweep->role == OP_REFERENCE) {
        op_sweep->reference_live = live;
        op_sweep->peak_live = op_live_peak(&op_runtime_live, 0);
        op_sweep->reference_ended = 1;
        op_buffers_write("reference.bin");
    } else if (!r) {
        if (op_sweep_run()) op_sweep_run()->passed = as_the_reference();
        op_children_wait(0);
        op_sweep->walker_equal = live == op_sweep->reference_live;
    } else if (live != op_sweep->reference_live && !op_sweep_failed_a_free()) {
        snprintf(r->why, sizeof r->why,
                 "%lld device bytes %s at the exit than in the run that never failed",
                 llabs((long long)(live - op_sweep->reference_live)),
                 live > op_sweep->reference_live ? "more" : "fewer");
        r->verdict = OP_V_LEAK; /* unless the exit code says that it was refused */
    } else
        r->verdict = OP_V_EXACT;
}
