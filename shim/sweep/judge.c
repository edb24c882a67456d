/* judge.c - what must hold after a fault: the state of the run that never failed, no device memory
 * more, a clean last error, attempts within their bound, every point accounted for. */
#define _GNU_SOURCE
#include "live.h"
#include "oomproof.h"
#include "state.h"
#include "sweep.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct buffer {
    char name[64];
    const void *p;
    size_t bytes;
    int on_device, type;
    double tolerance;
} buffers[OP_BUFFERS];
static int nbuffers, steps, in_step, retried;

int op_sweep_in_step(void)
{
    /* the reference finds out whether the program marks its steps; the others know */
    if (!op_sweep->marked && !steps) return 1;
    return in_step && steps == op_sweep->step;
}

/* Scratch is kept apart: its contents decide nothing. */
static struct {
    const char *p;
    size_t bytes;
} scratch[64];
static int nscratch;

API void op_buffer(const char *name, const void *p, size_t bytes, int on_device, int type,
                   double tolerance)
{
    if (!op_sweep || nbuffers == OP_BUFFERS) return;
    if (type == 's') {
        if (nscratch < 64) scratch[nscratch].p = p, scratch[nscratch++].bytes = bytes;
        return;
    }
    struct buffer *b = &buffers[nbuffers++];
    *b = (struct buffer){
        .p = p, .bytes = bytes, .on_device = on_device, .type = type, .tolerance = tolerance};
    snprintf(b->name, sizeof b->name, "%s", name);
}

static void *fetch(const struct buffer *b)
{
    void *copy = malloc(b->bytes + 1);
    if (!copy) return NULL;
    op_inside++;
    if (!b->on_device)
        memcpy(copy, b->p, b->bytes);
    else if (REAL(cudaMemcpy)(copy, b->p, b->bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
        free(copy);
        copy = NULL;
    }
    op_inside--;
    return copy;
}

/* ---- the reference's state on disk: the buffers, one after the other ---- */
static uint64_t write_state(const char *name)
{
    char path[600];
    uint64_t h = 1;
    snprintf(path, sizeof path, "%s/%s", op_sweep->folder, name);
    FILE *f = fopen(path, "we");
    for (int i = 0; f && i < nbuffers; i++) {
        void *copy = fetch(&buffers[i]);
        if (copy && fwrite(copy, 1, buffers[i].bytes, f) != buffers[i].bytes) h = 0;
        if (copy && h) h = oomproof_hash(h, copy, buffers[i].bytes);
        free(copy);
    }
    if (!f || fclose(f) != 0 || !h) {
        fprintf(stderr, "oomproof: %s cannot be written\n", path);
        _exit(7);
    }
    return h;
}

static uint64_t buffers_hash(void)
{
    uint64_t h = 1;
    for (int i = 0; i < nbuffers; i++) {
        void *copy = fetch(&buffers[i]);
        if (copy) h = oomproof_hash(h, copy, buffers[i].bytes);
        free(copy);
    }
    return h;
}

/* ---- distances: max|d| / max(max|reference|, 1e-3 of the largest of all) ---- */
static double value(const void *p, int type, size_t i)
{
    return type == 'd' ? ((const double *)p)[i] : (double)((const float *)p)[i];
}

static double largest(const void *p, int type, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(value(p, type, i)));
    return m;
}

static double distance(const void *a, const void *reference, int type, size_t n, double floor_)
{
    double d = 0, m = fmax(largest(reference, type, n), floor_);
    for (size_t i = 0; i < n; i++) {
        double e = fabs(value(a, type, i) - value(reference, type, i));
        if (!(e <= d)) d = e; /* a NaN counts */
    }
    return d == 0 ? 0 : d / m;
}

/* A file of write_state; ends the process when it is not there. */
static char *map_state(const char *name, size_t *bytes)
{
    char path[600];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", op_sweep->folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) op_sweep_end_process(OP_V_CRASH, "the reference is gone");
    *bytes = (size_t)st.st_size;
    char *p = *bytes ? mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (p == MAP_FAILED) op_sweep_end_process(OP_V_CRASH, "the reference cannot be mapped");
    return p;
}

static int all_zero(const char *p, size_t n)
{
    while (n && !*p) p++, n--;
    return n == 0;
}

/* Every point was dropped: nothing may have moved since the step began, and gradients (what has a
 * tolerance) are zero. 0 with r->why. */
static int nothing_moved(op_result *r)
{
    size_t bytes, at = 0;
    char *start = map_state("start.bin", &bytes);
    int ok = 1;
    for (int i = 0; ok && i < nbuffers; at += buffers[i++].bytes) {
        const struct buffer *b = &buffers[i];
        char *copy = b->type == 'b' ? NULL : fetch(b);
        if (b->type == 'b') continue; /* the schedule goes on */
        ok = copy &&
             (b->tolerance > 0 ? all_zero(copy, b->bytes) : !memcmp(copy, start + at, b->bytes));
        if (!ok)
            snprintf(r->why, sizeof r->why, "every point was dropped, but %.63s moved", b->name);
        free(copy);
    }
    if (start) munmap(start, bytes);
    return ok;
}

/* The buffers against the reference. exact: every bit. Notes the worst in r; 0 with r->why when one
 * is off. *same: nothing differs in any bit. */
static int compare_buffers(op_result *r, int exact, int *same)
{
    size_t bytes;
    char *ref = map_state("reference.bin", &bytes);
    int ok = 1;
    size_t at = 0;
    double all = 0;
    *same = 1;
    for (int i = 0; i < nbuffers; at += buffers[i++].bytes)
        if (buffers[i].type != 'b' && buffers[i].tolerance > 0)
            all = fmax(all, largest(ref + at, buffers[i].type,
                                    buffers[i].bytes / (buffers[i].type == 'd' ? 8 : 4)));
    at = 0;
    for (int i = 0; i < nbuffers; at += buffers[i++].bytes) {
        const struct buffer *b = &buffers[i];
        void *copy = fetch(b);
        int equal = copy && !memcmp(copy, ref + at, b->bytes);
        *same &= equal;
        if (!equal && copy && b->type != 'b') {
            double d =
                distance(copy, ref + at, b->type, b->bytes / (b->type == 'd' ? 8 : 4), 1e-3 * all);
            int off = exact || (b->tolerance > 0 && !(d <= b->tolerance));
            if (b->tolerance > 0 && !(d <= r->measure)) {
                r->measure = d;
                snprintf(r->worst, sizeof r->worst, "%.63s", b->name);
            }
            if (off && ok)
                snprintf(r->why, sizeof r->why, "%.63s is off by %.3g (bound %.3g)", b->name, d,
                         exact ? 0 : b->tolerance);
            ok &= !off;
        } else if (!equal && (exact || !copy)) {
            if (ok) snprintf(r->why, sizeof r->why, "%.63s differs", b->name);
            ok = 0;
        }
        free(copy);
    }
    if (ref) munmap(ref, bytes);
    return ok;
}

/* ---- pruning ---- */
static void blank_scratch(char *copy, const char *from, size_t n)
{
    for (int i = 0; i < nscratch; i++) {
        const char *lo = scratch[i].p > from ? scratch[i].p : from;
        const char *end = scratch[i].p + scratch[i].bytes, *hi = end < from + n ? end : from + n;
        if (lo < hi) memset(copy + (lo - from), 0, (size_t)(hi - lo));
    }
}

uint64_t op_state_hash(uint64_t seed)
{
    uint64_t h = seed;
    size_t n = 0;
    op_live_block *list = op_live_list(&op_runtime_live, &n); /* by address */
    char *copy = malloc(1 << 20);
    op_inside++;
    for (size_t i = 0; copy && i < n; i++) {
        h = oomproof_hash(h, &list[i].bytes, sizeof list[i].bytes);
        for (size_t at = 0; at < list[i].asked; at += 1 << 20) {
            size_t k = list[i].asked - at < 1 << 20 ? list[i].asked - at : 1 << 20;
            char *from = (char *)list[i].p + at;
            if (REAL(cudaMemcpy)(copy, from, k, cudaMemcpyDeviceToHost) != cudaSuccess) continue;
            blank_scratch(copy, from, k);
            h = oomproof_hash(h, copy, k);
        }
    }
    op_inside--;
    free(copy);
    free(list);
    int last = (int)cudaPeekAtLastError();
    return oomproof_hash(h, &last, sizeof last);
}

static op_result *judged(uint64_t hash)
{
    for (unsigned k = 0; k < OP_STATES; k++) {
        unsigned i = (unsigned)(hash + k) % OP_STATES;
        int r = __atomic_load_n(&op_sweep->state[i].result, __ATOMIC_ACQUIRE);
        if (!r) return NULL;
        if (op_sweep->state[i].hash == hash) return &op_sweep->result[r - 1];
    }
    return NULL;
}

static void remember(uint64_t hash, const op_result *r)
{
    for (unsigned k = 0; k < OP_STATES; k++) {
        unsigned i = (unsigned)(hash + k) % OP_STATES;
        int none = 0, me = (int)(r - op_sweep->result) + 1;
        if (__atomic_load_n(&op_sweep->state[i].result, __ATOMIC_ACQUIRE)) continue;
        op_sweep->state[i].hash = hash; /* two at once: one of them is only judged again */
        if (__atomic_compare_exchange_n(&op_sweep->state[i].result, &none, me, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return;
    }
}

void op_judge_again(void)
{
    retried = 0;
}

API void op_retry(const void *state, size_t bytes)
{
    op_result *r = op_sweep ? op_sweep_result() : NULL;
    if (!r || retried++ || !op_sweep->prune) return;
    /* the future of a state also depends on which faults are still to come */
    int to_come[] = {(int)r->mode, op_sweep->pairs && r->second < 0, (int)r->fault};
    r->state =
        op_state_hash(oomproof_hash(oomproof_hash(7, to_come, sizeof to_come), state, bytes));
    op_result *before = judged(r->state);
    if (!before) return;
    r->inherited = (int)(before - op_sweep->result);
    if ((r - op_sweep->result) % 20 == 0) return; /* runs on, as a check of the pruning */
    op_verdict v = __atomic_load_n(&before->verdict, __ATOMIC_ACQUIRE);
    r->points = before->points;
    r->trained = before->trained;
    r->dropped = before->dropped;
    r->splits = before->splits;
    r->retries = before->retries;
    r->attempts = before->attempts;
    r->measure = before->measure;
    memcpy(r->worst, before->worst, sizeof r->worst);
    op_sweep_end_process(v, before->why);
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
    op_sweep_wait_all();
    if (r->state && r->inherited < 0) {
        r->verdict = v;
        remember(r->state, r);
    }
    op_sweep_end_process(v, text);
}

static void judge(op_result *r, const op_step_summary *s)
{
    int same, oom = r->fault == OP_FAULT_OOM;
    char why[200];
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
        if (!oom && s->retries) end(r, OP_V_SWALLOWED, "retried, though it was no out-of-memory");
        if (!oom && s->splits) end(r, OP_V_SWALLOWED, "split, though it was no out-of-memory");
        end(r, OP_V_REFUSED, "");
    }
    if (!oom) end(r, OP_V_SWALLOWED, "the step went on as if nothing had happened");
    if (s->trained + s->dropped != s->points) {
        snprintf(why, sizeof why, "%lld points trained and %lld dropped of %lld",
                 (long long)s->trained, (long long)s->dropped, (long long)s->points);
        end(r, OP_V_DRIFT, why);
    }
    uint64_t live = op_live_now(&op_runtime_live);
    if (live != op_sweep->reference_live) {
        snprintf(why, sizeof why, "%lld device bytes more than in the run that never failed",
                 (long long)(live - op_sweep->reference_live));
        end(r, OP_V_LEAK, why);
    }
    if (cudaPeekAtLastError() != cudaSuccess)
        end(r, OP_V_DRIFT, "the last error is not clean after the recovery");
    if (s->dropped > op_sweep->reference_step.dropped) {
        if (r->mode == OP_ONCE && r->second < 0)
            end(r, OP_V_DRIFT, "points were dropped under a transient fault");
        if (!s->trained && !nothing_moved(r)) end(r, OP_V_DRIFT, NULL);
        end(r, OP_V_DECLARED, "");
    }
    int exact = s->splits == op_sweep->reference_step.splits;
    if (compare_buffers(r, exact, &same)) end(r, OP_V_EXACT, "");
    end(r, s->retries ? OP_V_GRADIENT : OP_V_SWALLOWED, NULL);
}

/* ---- steps ---- */
API int op_sweeping(void)
{
    return op_sweep != NULL;
}

API void op_step_begin(void)
{
    if (!op_sweep) return;
    steps++;
    in_step = 1;
    if (op_sweep->role == OP_REFERENCE && !op_sweep->marked) {
        op_sweep->marked = 1; /* what was counted before lies outside any step */
        op_sweep->npoints = 0;
        op_sweep_forget_points();
    }
    if (op_sweep->role == OP_REFERENCE && steps == op_sweep->step) write_state("start.bin");
}

API void op_step_end(const op_step_summary *s)
{
    if (!op_sweep || !in_step) return;
    in_step = 0;
    if (steps != op_sweep->step) return;
    op_result *r = op_sweep_result();
    if (r) judge(r, s);
    if (op_sweep->role == OP_REFERENCE) {
        op_sweep->reference_live = op_live_now(&op_runtime_live);
        op_sweep->reference_step = *s;
        op_sweep->reference_state = write_state("reference.bin");
        op_sweep->reference_ended = 1;
    } else if (op_sweep->role == OP_WALKER) {
        op_sweep->walker_equal = buffers_hash() == op_sweep->reference_state &&
                                 op_live_now(&op_runtime_live) == op_sweep->reference_live;
        op_sweep_wait_all();
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
    if (!op_sweep || op_sweep->marked) return;
    op_result *r = op_sweep_result();
    uint64_t live = op_live_now(&op_runtime_live);
    if (op_sweep->role == OP_REFERENCE) {
        op_sweep->reference_live = live;
        op_sweep->reference_ended = 1;
        write_state("reference.bin");
    } else if (!r) {
        op_sweep_wait_all();
        op_sweep->walker_equal = live == op_sweep->reference_live;
    } else if (live != op_sweep->reference_live) {
        snprintf(r->why, sizeof r->why,
                 "%lld device bytes more at the exit than in the run that never failed",
                 (long long)(live - op_sweep->reference_live));
        r->verdict = OP_V_LEAK; /* unless the exit code says that it was refused */
    } else
        r->verdict = OP_V_EXACT;
}
