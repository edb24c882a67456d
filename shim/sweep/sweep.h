/* sweep.h - what the processes of a sweep share, in one file that all of them map.
 *
 * A fault point is a call that can fail, within a step of the program (op_step_begin/end), or a
 * part of it beside the steps (op_part_begin/end), or, for a program that marks none, within the
 * whole run. Three roles of a preloaded process: reference  never failed; counts the points, writes
 * down what the state is at the end of the step walker     the same run again; at each point it
 * forks a child that takes the fault single takes one fault: the way without forking A process that
 * has taken its fault is judged at the end of the step, or at its exit. */
#ifndef OP_SWEEP_H
#define OP_SWEEP_H
#include "stats.h"
#include <sys/types.h>

enum { OP_POINTS = 16384, OP_RESULTS = 32768, OP_STATES = 16384, OP_BUFFERS = 2048, OP_FRAMES = 4 };

struct CUstream_st; /* a stream of CUDA */
typedef enum op_role { OP_NO_SWEEP, OP_REFERENCE, OP_WALKER, OP_SINGLE } op_role;
/* OP_BUDGET: from the step's beginning on every allocation fails that would pass a budget */
typedef enum op_mode { OP_ONCE, OP_PERSISTENT, OP_BUDGET, OP_MODES } op_mode;
/* X(name, its word) */
#define OP_FAULT_KINDS(X)                                             \
    X(OOM, "oom")       /* the call's own out-of-memory code */       \
    X(STATUS, "status") /* another code of its API, once */           \
    X(STICKY, "sticky") /* 700: the context dies */                   \
    X(SHAPE, "shape")   /* a genuine error out of the real library */ \
    X(NAN, "nan")       /* a number that comes back to the host is none */
typedef enum op_fault {
#define X(name, word) OP_FAULT_##name,
    OP_FAULT_KINDS(X)
#undef X
        OP_FAULTS
} op_fault;

/* X(name, what it says, 1: a finding, what that means for a training run) */
#define OP_VERDICTS(X)                                                                             \
    X(RUNNING, "not judged", 1, "the run ended before it could be judged")                         \
    X(EXACT, "recovered exactly", 0, "")                                                           \
    X(DECLARED, "recovered with declared loss", 0, "")                                             \
    X(REFUSED, "refused cleanly", 0, "")                                                           \
    X(GRADIENT, "wrong gradient", 1,                                                               \
      "only the gradient of the pieces that ran last is left, or a piece counts twice or not at "  \
      "all")                                                                                       \
    X(LEAK, "leak", 1,                                                                             \
      "memory that the failed attempt held is never given back: every failure makes the next one " \
      "likelier")                                                                                  \
    X(SWALLOWED, "swallowed", 1,                                                                   \
      "an error was taken for an out-of-memory, or not noticed: a bug goes on as if it were "      \
      "recovery")                                                                                  \
    X(DRIFT, "state drift", 1,                                                                     \
      "something else than the gradient is not what it was without the failure")                   \
    X(UNBOUNDED, "unbounded retries", 1,                                                           \
      "it is tried again and again: the pieces do not get smaller, or come back")                  \
    X(HANG, "hang", 1, "the step does not come to its end")                                        \
    X(CRASH, "crash", 1, "the process does not survive the failure")                               \
    X(UNFIRED, "did not fire", 1, "the run took another way and never came to this point")
typedef enum op_verdict {
#define X(name, text, finding, means) OP_V_##name,
    OP_VERDICTS(X)
#undef X
        OP_VERDICT_COUNT
} op_verdict;

typedef struct op_point {
    char site[96], phase[24];
    uint64_t size;
    int id; /* op_id */
    int nth_at_site;
    int kinds;        /* bit of each op_fault that it can have */
    char stack[320];  /* of the reference run: op_stack_text */
    char frames[224]; /* its first few, with their modules */
} op_point;

typedef struct op_result {
    int point, second; /* from 0; second: of a pair, else -1; point -1: a budget */
    uint64_t budget;   /* bytes */
    op_mode mode;
    op_fault fault;
    op_verdict verdict;
    int fired;      /* the run came to its fault */
    int passed;     /* OP_SINGLE: to the end of the step without it */
    int inherited;  /* the result whose verdict this one took over; -1: judged itself */
    int closed;     /* of a program that marks no steps: judged by its exit, too */
    int status;     /* of waitpid, of the process that was judged */
    int64_t out_at; /* where the output stood at the fault */
    uint64_t state; /* hash at the first retry; 0: none reached */
    int64_t points, trained, dropped, attempts, retries, splits;
    double measure; /* largest distance of a compared buffer, in its own measure */
    char worst[64]; /* that buffer */
    char why[200];  /* of a finding: what differed first */
    char second_site[96], second_frames[224];
} op_result;

typedef struct op_step_summary {
    int64_t points, trained, dropped, attempts, bound, retries, splits;
    int failed, exit_code, regrouped;
} op_step_summary;

/* What roundings may do to buffers with a tolerance (oomproof_wider): the worst of them by its own
 * measure, and all of them in length. 0: not known. */
typedef struct op_rounding {
    double worst, length;
} op_rounding;

typedef struct op_sweep_file {
    uint64_t magic;
    /* what is asked for */
    op_role role;
    uint64_t calls[OP_FAULTS]
                  [(OP_CALLS + 63) / 64]; /* bits of those that are points of each kind */
    int modes[OP_FAULTS];                 /* bit of each op_mode; 0: the kind is not asked for */
    char part[64]; /* a part of this name is swept (op_part_begin); "": a step */
    int step;      /* which of them, from 1 */
    int jobs, timeout_s, prune, pairs, by_site;
    int then;    /* of pairs: only this second fault, from 1; 0: all */
    int budgets; /* how many, at most */
    int shard, shards;
    uint16_t skip[OP_POINTS]; /* OP_RUN bits: that run is not wanted, or was made before */
    int most_findings;        /* after so many no more points are tried; 0: all are */
    char folder[512];
    char asked[3072]; /* options and command, as words for a shell: a resumed sweep has the same */
    /* written by the reference */
    char note[1200];     /* of op_sweep_note */
    int npoints, marked; /* marked: the program marks its steps */
    uint64_t reference_live, reference_state;
    uint64_t begin_live, peak_live; /* of the step */
    op_step_summary reference_step;
    op_rounding rounding;
    int compared; /* buffers */
    int reference_ended;
    op_point point[OP_POINTS];
    /* written by the walker and its children */
    int walked;  /* points that the walker passed */
    int threads; /* besides the one at a fault point, the most there were; by the reference, too */
    char threads_named[120];
    int unforked;     /* second faults that were left out for them */
    int not_started;  /* the command, which was said */
    int full;         /* there were more than OP_RESULTS runs */
    int walker_equal; /* the walker, never failed, ended in the reference's state */
    int nresults;
    struct {
        uint64_t hash; /* 0: free */
        int result;    /* + 1; 0: about to be known */
    } state[OP_STATES];
    op_result result[OP_RESULTS];
} op_sweep_file;

/* Runs that go on though another came to their state, as a check of the pruning: the same ones
 * however the runs overlap. */
static inline int op_is_check(const op_sweep_file *s, const op_result *r)
{
    long i = r->point < 0 ? r - s->result : r->point + (r->second > 0 ? r->second : 0);
    return i % 20 == 0;
}
#define OP_SWEEP_MAGIC 0x34706565777370ull
/* The bit of a run at a point: its kind and mode. */
#define OP_RUN(fault, mode) (1u << (2 * (unsigned)(fault) + (unsigned)(mode)))
_Static_assert(OP_BUDGET == 2 && 2 * OP_FAULTS <= 16, "a budget is no run of a point");

/* r came to a state that another run had come to first: what came of that. */
void op_judge_inherited(op_result *r, const op_result *before);
extern const char *const op_verdict_text[OP_VERDICT_COUNT];
extern const int op_verdict_finding[OP_VERDICT_COUNT];
extern const char *const op_verdict_means[OP_VERDICT_COUNT];
extern const char *const op_mode_text[OP_MODES];
extern const char *const op_fault_text[OP_FAULTS];

/* ---- in the preloaded process: point.c ---- */
extern op_sweep_file *op_sweep; /* NULL: no sweep */
void op_sweep_start(void);      /* at load: maps the file that the environment names */
int op_sweep_wants(op_id id);
int op_sweep_claim(void); /* 1: this process is the one that is swept, from now on if not before */
int op_sweep_is_ours(void); /* it was found out to be */
/* At a call that is a point. 1: fail it with the sweep's fault. Called without the lock. */
int op_sweep_point(const op_call *c);
/* In the reference, after a copy to the host that was a point: NaN is no fault of an integer. */
void op_sweep_read(op_id id, const void *p, size_t bytes, struct CUstream_st *stream);
/* The fault that this process takes at that call, as a rule. */
void op_sweep_rule(const op_call *c, op_rule *out);
/* The step has begun, or its first point has come. The walker tries its budgets here, each in a
 * child. */
void op_sweep_enter(void);
void op_sweep_end_process(op_verdict v, const char *why) __attribute__((noreturn));
void op_sweep_calm(void);         /* no more faults in this process */
int op_sweep_failed_a_free(void); /* a fault of this process was at a call that frees */
void op_sweep_wait_all(void);     /* for the children of this process */
void op_sweep_forget_points(void);
int op_sweep_points_passed(void); /* by this process, at most OP_POINTS */
/* ---- place.c: where this process writes what it would else write over (oomproof_folder) ---- */
void op_sweep_own_place(const op_result *r); /* a copy of its parent's, for the run of r */
void op_sweep_own_files(const op_result *r, const op_result *parent);
op_result *op_sweep_run(void);    /* OP_SINGLE: which this process is to be; else NULL */
op_result *op_sweep_result(void); /* of this process; NULL: it has taken no fault */

/* ---- children.c: the forks of this process ---- */
/* The run of r, when no more than that are under way beside it. Of the program's output it begins
 * where r->out_at says, or, below 0, here. As fork; -1 with a verdict. */
pid_t op_children_fork(op_result *r, int beside);
void op_children_wait(int at_most);
int op_children_run(const op_result *r); /* it is under way */
/* ---- threads.c ---- */
/* How many there are besides this one and the simulated device's; their names. */
int op_sweep_threads(char *names, size_t bytes);

/* ---- notes.c ---- */
void op_sweep_note(const char *function, const char *text);

/* ---- budget.c ---- */
/* Budgets from "nothing more fits" to "all fits": half of them evenly, the rest where two
 * neighbours end differently. 1 in a child, which lives on its budget. */
int op_sweep_budgets(void);
/* ---- point.c ---- */
int op_sweep_fork_budget(uint64_t bytes); /* 1 in the child */

/* ---- counters.c ---- */
/* What runs from here on is what r reached: after its fault, or after its first retry. */
void op_counters_from(const op_result *r, int retried);

/* ---- judge.c ---- */
uint64_t op_state_hash(uint64_t seed); /* live device memory with its contents, the last error */
void op_judge_step(const op_step_summary *s);
void op_judge_exit(void);  /* at the end of a process that marks no steps */
void op_judge_again(void); /* a second fault has its own first retry */
int op_sweep_in_step(void);

#endif
