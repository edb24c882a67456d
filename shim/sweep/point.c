/* point.c - a process of a sweep on its way from fault point to fault point. The walker forks at
 * each; the child takes the fault and is judged. */
#define _GNU_SOURCE
#include "live.h"
#include "oomproof.h"
#include "site.h"
#include "state.h"
#include "sweep.h"
#include "sweep/limit.h"
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

op_sweep_file *op_sweep;

static struct {
    op_role role;
    int passed;        /* points so far */
    int fired, always; /* this process has taken its fault; and fails every later one too */
    int budgeted;      /* it fails what would pass mine->budget */
    int depth;         /* forks above this process */
    int began;         /* the step, in which it is */
    int calm;          /* it takes no more faults */
    int unfreed;       /* a call that frees was failed by it */
    int claimed; /* 1: it is the process that is swept; -1: another one is; 0: not yet known */
    op_result *mine;
    op_result *run; /* OP_SINGLE: that which it is to be */
} S;

__attribute__((weak)) void __gcov_dump(void);

int op_sweep_points_passed(void)
{
    return S.passed < OP_POINTS ? S.passed : OP_POINTS;
}

op_result *op_sweep_result(void)
{
    return S.mine;
}

void op_sweep_start(void)
{
    const char *path = getenv("OOMPROOF_SWEEP");
    if (!path || !*path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *p = fd >= 0 ? mmap(NULL, sizeof *op_sweep, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED || ((op_sweep_file *)p)->magic != OP_SWEEP_MAGIC) {
        fprintf(stderr, "oomproof: %s: not the file of a sweep\n", path);
        _exit(7);
    }
    op_sweep = p;
    S.role = op_sweep->role;
    const char *run = getenv("OOMPROOF_SWEEP_RUN");
    int i = run ? atoi(run) : 0;
    if (S.role == OP_SINGLE) S.run = &op_sweep->result[i >= 0 && i < OP_RESULTS ? i : 0];
}

/* One process of the command is swept: the first that comes to a point or marks a step, behind
 * whatever shells. What it starts is not. */
int op_sweep_claim(void)
{
    char path[600];
    if (S.claimed) return S.claimed > 0;
    if (S.run)
        snprintf(path, sizeof path, "%s/%d.taken", op_sweep->folder,
                 (int)(S.run - op_sweep->result));
    else
        snprintf(path, sizeof path, "%s/taken", op_sweep->folder);
    S.claimed = op_first_to_ask(path) ? 1 : -1;
    if (S.claimed < 0) S.role = OP_NO_SWEEP, S.calm = 1;
    unsetenv("OOMPROOF_SWEEP");
    unsetenv("OOMPROOF_SWEEP_RUN");
    return S.claimed > 0;
}

op_result *op_sweep_run(void)
{
    return S.run;
}

int op_sweep_is_ours(void)
{
    return S.claimed > 0;
}

static int fits_kind(int fault, op_id id)
{
    return op_sweep->calls[fault][id / 64] >> id % 64 & 1;
}

int op_sweep_wants(op_id id)
{
    for (int fault = 0; op_sweep && fault < OP_FAULTS; fault++)
        if (fits_kind(fault, id)) return 1;
    return 0;
}

/* NaN: a single float or double that the program reads, as a loss. Whether it is one, the reference
 * has seen (op_sweep_read). */
static int fits(int fault, const op_call *c)
{
    if (!fits_kind(fault, c->id)) return 0;
    return fault != OP_FAULT_NAN || (c->kind == OP_D2H && (c->size == 4 || c->size == 8));
}

/* Small integers are denormal or tiny as floats; so is 0, which may be either. */
static int is_float(const void *p, size_t bytes)
{
    float f;
    double d;
    if (bytes == sizeof d) {
        memcpy(&d, p, sizeof d);
        return isnan(d) || fabs(d) > 1e-290;
    }
    memcpy(&f, p, sizeof f);
    return isnan(f) || fabsf(f) > 1e-30f;
}

void op_sweep_read(op_id id, const void *p, size_t bytes, cudaStream_t stream)
{
    if (S.role != OP_REFERENCE || !op_sweep_in_step() || !fits_kind(OP_FAULT_NAN, id)) return;
    if ((bytes != 4 && bytes != 8) || !S.passed || S.passed > OP_POINTS) return;
    op_point *at = &op_sweep->point[S.passed - 1];
    int captured = op_capturing(stream); /* to wait for it would be the end of the capture */
    op_within within;
    op_enter(&within);
    if (!captured) REAL(cudaStreamSynchronize)(stream);
    op_leave(&within);
    if (at->id == (int)id && (captured || !is_float(p, bytes))) at->kinds &= ~(1 << OP_FAULT_NAN);
}

/* ---- a child of the walker, or of one that has its first fault ---- */
void op_sweep_end_process(op_verdict v, const char *why)
{
    if (S.mine) {
        snprintf(S.mine->why, sizeof S.mine->why, "%s", why ? why : "");
        __atomic_store_n(&S.mine->verdict, v, __ATOMIC_RELEASE);
    }
    if (__gcov_dump) __gcov_dump();
    _exit(0);
}

/* ---- the walker ---- */
static op_result *new_result(int point, int second, op_mode mode, op_fault fault)
{
    int i = __atomic_fetch_add(&op_sweep->nresults, 1, __ATOMIC_RELAXED);
    if (i >= OP_RESULTS) {
        op_sweep->full = 1;
        _exit(7);
    }
    op_result *r = &op_sweep->result[i];
    *r = (op_result){
        .point = point, .second = second, .mode = mode, .fault = fault, .inherited = -1};
    return r;
}

void op_sweep_calm(void)
{
    S.calm = 1;
    op_disarm();
}

void op_sweep_forget_points(void)
{
    S.passed = 0;
    S.began = 0;
}

static void become_child(op_result *r, op_mode mode)
{
    const op_result *parent = S.mine;
    S.mine = r;
    r->fired = 1;
    S.fired = 1;
    S.always = mode == OP_PERSISTENT;
    S.budgeted = mode == OP_BUDGET;
    S.depth++;
    if (S.role == OP_SINGLE) {
        fflush(NULL); /* what it said before its fault is not its answer to it */
        r->out_at = lseek(1, 0, SEEK_CUR);
    }
    op_judge_again();
    op_counters_from(r, 0);
    op_limit_begin();
    if (S.role == OP_WALKER || S.depth == 1) op_sweep_own_files(r, parent);
    op_sweep_own_place(r);
}

/* 1 in the child, which is the run of r. */
static int fork_for(op_result *r, op_mode mode)
{
    if (S.depth) op_limit_pause(); /* it waits for another: its own limit starts again after */
    r->out_at = S.depth ? S.mine->out_at : -1;
    pid_t pid = op_children_fork(r, S.depth ? 1 : op_sweep->jobs);
    if (pid == 0) {
        become_child(r, mode);
        return 1;
    }
    if (S.depth) {
        op_children_wait(0);
        op_limit_begin();
    }
    return 0;
}

/* So far. Of a program that marks no steps, its exit code has the last word: after it ended. */
static int findings(void)
{
    int n = 0;
    for (int i = 0; i < op_sweep->nresults && i < OP_RESULTS; i++) {
        const op_result *r = &op_sweep->result[i];
        op_verdict v = __atomic_load_n(&r->verdict, __ATOMIC_ACQUIRE);
        int ended = op_sweep->marked || (!r->status && !op_children_run(r));
        n += ended && v != OP_V_RUNNING && op_verdict_finding[v];
    }
    return n;
}

static int fork_at(int point, op_mode mode, op_fault fault, const op_call *c)
{
    int first = S.depth ? S.mine->point : point;
    if (op_sweep->most_findings && findings() >= op_sweep->most_findings) return 0;
    op_result *r = new_result(first, S.depth ? point : -1, mode, fault);
    if (S.depth) {
        snprintf(r->second_site, sizeof r->second_site, "%s", c->site);
        op_stack_text(r->second_frames, sizeof r->second_frames, OP_FRAMES, 1);
    }
    return fork_for(r, mode);
}

int op_sweep_fork_budget(uint64_t bytes)
{
    op_result *r = new_result(-1, -1, OP_BUDGET, OP_FAULT_OOM);
    r->budget = bytes;
    return fork_for(r, OP_BUDGET);
}

static void begin(void)
{
    if (S.role == OP_REFERENCE) op_sweep->begin_live = op_live_bytes();
    if (S.role == OP_REFERENCE) op_live_peak(&op_runtime_live, 1);
    if (S.role == OP_WALKER && !S.depth && op_sweep->budgets) op_sweep_budgets();
    if (S.run && !S.fired && S.run->mode == OP_BUDGET) become_child(S.run, OP_BUDGET);
}

void op_sweep_enter(void)
{
    if (S.began) return;
    S.began = 1;
    begin();
}

/* ---- at a point ---- */
/* 1: there are others than this one, which a child would lack. */
static int note_threads(void)
{
    char names[sizeof op_sweep->threads_named];
    int n = op_sweep_threads(names, sizeof names);
    if (n > op_sweep->threads) {
        op_sweep->threads = n;
        memcpy(op_sweep->threads_named, names, sizeof names);
    }
    return n > 0;
}

static void note_point(int i, int kinds, const op_call *c)
{
    if (i >= OP_POINTS) {
        op_sweep_note("oomproof sweep",
                      "there are more than 16384 fault points: the later ones are "
                      "not tried; mark a shorter step, or take fewer --calls");
        return;
    }
    op_point *p = &op_sweep->point[i];
    snprintf(p->site, sizeof p->site, "%s", c->site ? c->site : "");
    snprintf(p->phase, sizeof p->phase, "%s", c->phase ? c->phase : "");
    p->size = c->size;
    p->id = (int)c->id;
    p->kinds = kinds;
    op_stack_text(p->stack, sizeof p->stack, 64, 0);
    op_stack_text(p->frames, sizeof p->frames, OP_FRAMES, 1);
    p->nth_at_site = 1;
    for (int k = 0; k < i; k++)
        if (op_sweep->point[k].id == p->id && !strcmp(op_sweep->point[k].site, p->site))
            p->nth_at_site++;
    if (op_sweep->npoints < i + 1) op_sweep->npoints = i + 1;
    note_threads();
}

/* Of a pair: the one that is asked for, else all; by site, the first at each. */
static int wanted_second(int i, const op_call *c)
{
    static uint64_t seen[1024];
    if (op_sweep->then) return i == op_sweep->then - 1;
    if (!op_sweep->by_site) return 1;
    uint64_t h = oomproof_hash(c->id + 1, c->site, strlen(c->site)) | 1;
    for (unsigned k = 0; k < 1024; k++) {
        uint64_t *at = &seen[(h + k) % 1024];
        if (*at == h) return 0;
        if (!*at) return *at = h, 1;
    }
    return 1;
}

static int at_point(const op_call *c)
{
    if (S.calm || !op_sweep_in_step() || !op_sweep_claim()) return 0;
    op_sweep_enter();
    if (S.always) return fits(S.mine->fault, c);
    if (S.budgeted) {
        if (!fits(OP_FAULT_OOM, c)) return 0;
        uint64_t live = op_live_bytes(), room = S.mine->budget - live;
        return live > S.mine->budget || op_rounded(c) > room;
    }
    int kinds = 0;
    for (int fault = 0; fault < OP_FAULTS; fault++) kinds |= fits(fault, c) << fault;
    if (!kinds) return 0;
    int i = __atomic_fetch_add(&S.passed, 1, __ATOMIC_RELAXED);
    switch (S.role) {
    case OP_REFERENCE: note_point(i, kinds, c); return 0;
    case OP_SINGLE:
        if (S.fired || S.run->mode == OP_BUDGET || i != S.run->point) return 0;
        become_child(S.run, S.run->mode);
        return 1;
    case OP_WALKER:
        if (S.depth >= (op_sweep->pairs ? 2 : 1)) return 0;
        if (S.depth == 0) {
            if (i >= OP_POINTS) return 0;
            op_sweep->walked = i + 1;
            if (i % op_sweep->shards != op_sweep->shard) return 0;
        }
        if (note_threads()) { /* that the reference did not see */
            if (S.depth) return op_sweep->unforked++, 0;
            op_children_wait(0);
            op_sweep_end_process(OP_V_RUNNING, "");
        }
        for (int run = 0; run < 2 * OP_FAULTS; run++) {
            int fault = run / 2, mode = run % 2; /* OP_RUN's bits */
            /* a retry comes to points that the reference never had */
            int has = S.depth ? kinds : op_sweep->point[i].kinds;
            if ((has >> fault & 1) && (op_sweep->modes[fault] >> mode & 1) &&
                (S.depth ? mode == OP_ONCE && wanted_second(i, c)
                         : !(op_sweep->skip[i] & OP_RUN(fault, mode))) &&
                fork_at(i, (op_mode)mode, (op_fault)fault, c))
                return 1;
        }
        return 0;
    default: return 0;
    }
}

int op_sweep_point(const op_call *c)
{
    int fails = at_point(c);
    if (fails && strstr(op_table[c->id].name, "Free")) S.unfreed = 1;
    return fails;
}

int op_sweep_failed_a_free(void)
{
    return S.unfreed;
}

void op_sweep_rule(const op_call *c, op_rule *out)
{
    static const int status[] = {801, 7, 2000, 801}; /* not supported, invalid value, bad param */
    op_rule r = {.action = OP_OOM};
    int gemm = op_table[c->id].flags & OP_F_GEMM;
    switch (S.mine->fault) {
    case OP_FAULT_STATUS: r.action = OP_CODE, r.code = status[op_table[c->id].lib]; break;
    case OP_FAULT_STICKY: r.action = OP_CODE, r.code = 700, r.stays = 1; break;
    case OP_FAULT_SHAPE: /* a leading dimension below its least; a negative size */
        r.action = OP_SHAPE;
        r.value = -1;
        snprintf(r.field, sizeof r.field, "%s", gemm ? "ldc" : "n");
        if (gemm) snprintf(r.base, sizeof r.base, "m");
        break;
    case OP_FAULT_NAN:
        r.action = OP_POISON;
        r.count = 1;
        r.f64 = c->size == 8;
        break;
    default: break;
    }
    *out = r;
}
