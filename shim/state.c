/* state.c - the armed rules and what is counted: the decision on each call, and what of oomproof.h
 * is about them. */
#define _GNU_SOURCE
#include "state.h"
#include "field/force.h"
#include "live.h"
#include "site.h"
#include "stats.h"
#include "sweep/sweep.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* the functions of the control API are declared weak, for programs, in oomproof.h */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

op_gate op_lock;
static op_stats own;
op_stats *op_shared = &own;
static uint64_t spilled[OP_MAX_RULES];
static uint64_t *row; /* of this process in op_shared->matched, or spilled; NULL: none yet */
int op_sticky, op_busy[OP_CALLS];
__thread op_within *op_within_now LOCAL;

static op_rule rules[OP_MAX_RULES];
static int nrules, wants_device, wants_site;
static uint32_t listening; /* bit of each rule of the command that names kernels or sites */
static int of_program;     /* the rules are not those of the command */
static uint64_t theirs[OP_MAX_RULES];
static uint64_t forgotten[OP_CALLS]; /* calls counted when the program last reset the counters */
static uint32_t fitting[OP_CALLS];   /* bit of each rule that fits the call */
static char budgeted[OP_CALLS];      /* one of them has a budget, and the call allocates */
static void (*observer)(const char *, uint64_t, void *);
static void *observer_user;

/* Under the lock, after the rules or the observer changed. */
static void note_interest(void)
{
    int device = 0, by_site = op_sweep != NULL || op_forcing;
    listening = 0;
    for (int i = 0; i < nrules; i++) {
        device |= rules[i].device >= 0;
        by_site |= *rules[i].site != 0;
        listening |= (uint32_t)(*rules[i].site || *rules[i].kernel) << i;
    }
    if (of_program) listening = 0;
    OP_WRITE(wants_device, device);
    OP_WRITE(wants_site, by_site);
    for (int id = 0; id < OP_CALLS; id++) {
        /* a site's ordinal is that of a call's first execution: all are looked at, or none is */
        int busy = observer != NULL || by_site;
        fitting[id] = 0;
        budgeted[id] = 0;
        for (int i = 0; i < nrules; i++) fitting[id] |= (uint32_t)OP_FITS(&rules[i], id) << i;
        for (int i = 0; i < nrules; i++)
            budgeted[id] |=
                rules[i].has_budget && OP_FITS(&rules[i], id) && (op_table[id].flags & OP_F_ALLOC);
        busy |= fitting[id] != 0;
        OP_WRITE(op_busy[id], busy);
    }
}

/* Under the lock: where the matches of this process are counted. */
static uint64_t *tally(void)
{
    if (of_program) return theirs;
    if (row) return row;
    uint64_t k = 1 + __atomic_fetch_add(&op_shared->rows_taken, 1, __ATOMIC_RELAXED);
    return row = k < OP_STATS_ROWS ? op_shared->matched[k] : spilled;
}

void op_rules_of_child(void)
{
    row = NULL;
}

static void spill(uint64_t *from, uint32_t which)
{
    for (; which; which &= which - 1) {
        int i = __builtin_ctz(which);
        uint64_t *to = of_program ? &op_shared->armed_matched : &op_shared->matched[0][i];
        __atomic_fetch_add(to, from[i], __ATOMIC_RELAXED);
        from[i] = 0;
    }
}
static uint64_t *acts_of(int rule)
{
    return of_program ? &op_shared->armed_fired : &op_shared->acted[rule];
}

int op_budget(uint64_t *budget, uint64_t *live)
{
    int found = 0;
    op_gate_enter(&op_lock);
    *live = op_live_now(&op_runtime_live);
    for (int i = 0; i < nrules; i++) {
        if (!rules[i].has_budget || (found && rules[i].budget >= *budget)) continue;
        *budget = rules[i].budget;
        found = 1;
    }
    op_gate_leave(&op_lock);
    return found;
}

/* ---- within a call ---- */
/* Frames of what is called lie below that of the caller; on another stack, as of a signal handler,
 * anywhere. */
int op_still_within(const op_within *w, const void *frame)
{
    stack_t other;
    int below = (const char *)frame < (const char *)w;
    if (below && w->self == w) return 1;
    if (!below && sigaltstack(NULL, &other) == 0 && other.ss_flags & SS_ONSTACK) return 1;
    op_within_now = NULL;
    op_not_allocated();
    return 0;
}

/* ---- deciding ---- */
static int device_number(void)
{
    int d = 0;
    if (!OP_READ(wants_device)) return 0;
    if (REAL(cudaGetDevice)(&d) != cudaSuccess) d = 0;
    return d;
}

static uint64_t calls_of(op_id id)
{
    return op_counted(id) - OP_READ(forgotten[id]);
}

static void act_here(const op_rule *r)
{
    struct timespec t = {r->value / 1000, r->value % 1000 * 1000000};
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* as within the real call */
    if (r->action == OP_DELAY)
        while (nanosleep(&t, &t) != 0 && errno == EINTR) {
        }
    while (r->action == OP_HANG) pause();
    if (r->action == OP_CRASH) {
        sigset_t set;
        signal(SIGSEGV, SIG_DFL); /* it may be blocked, handled or ignored */
        sigemptyset(&set);
        sigaddset(&set, SIGSEGV);
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
        raise(SIGSEGV);
        abort();
    }
    pthread_setcancelstate(cancel, NULL);
}

const op_rule *op_decided(op_call *c, cudaStream_t stream, void *caller, void *frame)
{
    static __thread op_rule acting LOCAL;
    int device = device_number(); /* a call of the runtime: not under the lock */
    c->phase = op_said_phase;
    c->site = !OP_READ(wants_site) ? "" : c->kernel ? c->kernel : op_site_of(caller, frame);
    if (*op_said_tag) c->site = op_said_tag;
    op_gate_enter(&op_lock);
    if (budgeted[c->id]) c->live = op_promised_or_live(c);
    c->thread = op_thread_is;
    c->stream = stream ? op_stream_number(stream) : 0;
    c->device = device;
    uint64_t *to = tally();
    int k = op_decide(rules, fitting[c->id], to, c);
    if (to == spilled || to == theirs) spill(to, fitting[c->id]);
    if (k < 0 && listening) op_hear(rules, fitting[c->id] & listening, c);
    if (k >= 0) {
        __atomic_fetch_add(acts_of(k), 1, __ATOMIC_RELAXED);
        acting = rules[k];
    }
    if (budgeted[c->id] && !(k >= 0 && (acting.action == OP_OOM || acting.action == OP_CODE)))
        op_promise(c);
    int code = 0, forced = op_forcing && op_force(c, &code) && k < 0;
    void (*fn)(const char *, uint64_t, void *) = observer;
    void *user = observer_user;
    op_gate_leave(&op_lock);
    if (fn) fn(op_table[c->id].name, calls_of(c->id), user);
    if (forced) {
        op_not_allocated();
        acting = (op_rule){.action = code == 2 && op_table[c->id].lib == OP_CUDA ? OP_OOM : OP_CODE,
                           .code = code,
                           .stays = 1};
        return &acting;
    }
    if (k < 0 && op_sweep && op_sweep_wants(c->id) && op_sweep_point(c)) {
        op_not_allocated();
        op_sweep_rule(c, &acting);
        return &acting;
    }
    if (k < 0) return NULL;
    act_here(&acting);
    return &acting;
}

int op_not_acted(const op_rule *r)
{
    int first = 0;
    op_gate_enter(&op_lock);
    for (int i = 0; i < nrules; i++)
        if (!strcmp(rules[i].text, r->text) && rules[i].acted) {
            rules[i].acted--;
            __atomic_fetch_sub(acts_of(i), 1, __ATOMIC_RELAXED);
            first = !rules[i].told++;
            break;
        }
    op_gate_leave(&op_lock);
    return first;
}

static int set_rules(const char *text, char *error, size_t error_bytes, int by_program)
{
    static op_rule fresh[OP_MAX_RULES];
    OP_WITHIN;
    if (text && strstr(text, "site")) op_site_start();
    op_gate_enter(&op_lock);
    int n = op_parse(text ? text : "", fresh, error, error_bytes);
    if (n >= 0) {
        memcpy(rules, fresh, sizeof rules);
        nrules = n;
        of_program = by_program;
        note_interest();
    }
    op_gate_leave(&op_lock);
    if (by_program && n > 0) __atomic_fetch_add(&op_shared->armed, 1, __ATOMIC_RELAXED);
    return n;
}

int op_rules_set(const char *text, char *error, size_t error_bytes)
{
    return set_rules(text, error, error_bytes, 0);
}

/* ---- the control API ---- */
API int op_api_version(void)
{
    return 1;
}

API int op_arm(const char *text, char *error, size_t error_bytes)
{
    return set_rules(text, error, error_bytes, 1);
}

API void op_disarm(void)
{
    op_gate_enter(&op_lock);
    nrules = 0;
    OP_WRITE(op_sticky, 0);
    note_interest();
    op_gate_leave(&op_lock);
}

static uint64_t counter(const uint64_t *of)
{
    op_gate_enter(&op_lock);
    uint64_t n = *of;
    op_gate_leave(&op_lock);
    return n;
}

API uint64_t op_fired(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? counter(&rules[i].acted) : 0;
}
API uint64_t op_matched(int i)
{
    return i >= 0 && i < OP_MAX_RULES ? counter(&rules[i].matched) : 0;
}

API uint64_t op_calls(const char *call)
{
    uint64_t n = 0;
    for (int id = 0; call && id < OP_CALLS; id++)
        if (op_named(call, &op_table[id])) n += calls_of((op_id)id);
    return n;
}

API void op_reset_counters(void)
{
    for (int id = 0; id < OP_CALLS; id++) OP_WRITE(forgotten[id], op_counted((op_id)id));
}

API void op_observe(void (*fn)(const char *, uint64_t, void *), void *user)
{
    op_gate_enter(&op_lock);
    observer = fn;
    observer_user = user;
    note_interest();
    op_gate_leave(&op_lock);
}
