/* write.c - what goes into the trace of this process: names, each once, and an event a call. */
#define _GNU_SOURCE
#include "trace/write.h"
#include "calm.h"
#include "live.h"
#include "oomproof.h"
#include "site.h"
#include "state.h"
#include "trace/file.h"
#include "trace/ordinal.h"
#include <cublas_api.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int op_tracing;

static op_gate gate; /* a mutex costs each event two atomic operations more */

/* ---- names, each written once ---- */
enum { NAMES = 8192 };
static struct {
    const char *text;
    int of;
    uint32_t id;
} names[NAMES];
static uint32_t next_id[OP_NAME_KINDS];

static void write_name(int of, uint32_t id, const char *text)
{
    size_t n = strlen(text);
    do {
        op_name *r = op_trace_place(0);
        if (!r) return;
        size_t k = n < OP_NAME_BYTES ? n : OP_NAME_BYTES;
        memset(r, 0, sizeof *r - 4);
        memcpy(r->text, text, k);
        r->id = id;
        r->of = (uint8_t)of;
        r->more = n >= OP_NAME_BYTES;
        op_trace_placed(&r->kind, OP_RECORD_NAME);
        if (n < OP_NAME_BYTES) return;
        text += k, n -= k;
    } while (1);
}

static uint32_t name_id(int of, const char *text)
{
    size_t k = 14695981039346656037u + (size_t)of;
    for (const char *c = text; *c; c++) k = (k ^ (unsigned char)*c) * 1099511628211u;
    for (int i = 0; i < NAMES; i++) {
        size_t at = (k + (size_t)i) % NAMES;
        if (names[at].text && names[at].of == of && !strcmp(names[at].text, text))
            return names[at].id;
        if (names[at].text) continue;
        char *copy = strdup(text);
        if (!copy) return 0;
        names[at].text = copy;
        names[at].of = of;
        names[at].id = ++next_id[of];
        write_name(of, names[at].id, copy);
        return names[at].id;
    }
    static int told;
    if (!told)
        fprintf(stderr,
                "oomproof: more than %d phases, tags and call sites: further ones are \"?\" in the "
                "trace; a tag is the name of a place, not of a step\n",
                NAMES);
    told = 1;
    return 0;
}

/* Names that stay where they are, by their address; what a thread said, until it says something
 * else; calls by their number: hashing three strings for each event would cost more than the rest
 * of it. epoch: of the file. */
static unsigned epoch = 1;
static struct {
    const char *text;
    uint32_t id;
    unsigned epoch;
} fixed[1024];
static uint32_t call_id[OP_CALLS];
static op_ordinals ordinals;
static uint32_t steps; /* that ended */
static __thread struct {
    unsigned changed, epoch;
    uint32_t phase, tag; /* tag 0: none was said */
} said LOCAL;

static uint32_t fixed_id(const char *text)
{
    size_t k = (uintptr_t)text * 0x9e3779b97f4a7c15u >> 40 & 1023;
    if (fixed[k].text != text || fixed[k].epoch != epoch) {
        fixed[k].id = name_id(OP_NAME_SITE, text);
        fixed[k].text = text;
        fixed[k].epoch = epoch;
    }
    return fixed[k].id;
}

static void read_said(void)
{
    if (said.changed == op_names_changed && said.epoch == epoch) return;
    said.phase = name_id(OP_NAME_PHASE, op_said_phase);
    said.tag = *op_said_tag ? name_id(OP_NAME_SITE, op_said_tag) : 0;
    said.changed = op_names_changed;
    said.epoch = epoch;
}

/* ---- processes ---- */
static int card_written; /* in the recording */

static void as_new(void)
{
    op_trace_leave();
    for (int i = 0; i < NAMES; i++) names[i].text = NULL; /* a new file has none yet */
    memset(next_id, 0, sizeof next_id);
    memset(call_id, 0, sizeof call_id);
    op_ordinals_forget(&ordinals);
    steps = 0;
    epoch++;
    card_written = 0;
    OP_WRITE(op_tracing, OP_TRACE_ASKED); /* opened at its first event */
}
static void child_of_fork(void)
{
    if (!op_tracing) return;
    as_new();
    op_gate_leave(&gate);
}
void op_trace_other_process(void)
{
    op_gate_leave(&gate);
    if (op_tracing) as_new();
}
static void before_fork(void)
{
    if (op_tracing) op_gate_enter(&gate);
}
static void after_fork(void)
{
    if (op_tracing) op_gate_leave(&gate);
}

void op_trace_start(void)
{
    if (!op_trace_asked()) return;
    pthread_atfork(before_fork, after_fork, child_of_fork);
    OP_WRITE(op_tracing, OP_TRACE_ASKED);
}

/* not in the table; a process without CUDA has none of them */
extern __typeof__(cudaGetDeviceProperties) cudaGetDeviceProperties __attribute__((weak));
extern __typeof__(cudaRuntimeGetVersion) cudaRuntimeGetVersion __attribute__((weak));
extern __typeof__(cudaDriverGetVersion) cudaDriverGetVersion __attribute__((weak));

/* Once, under the lock: the card. */
static void write_device(void)
{
    size_t free_bytes = 0, total = 0;
    struct cudaDeviceProp *about = calloc(1, sizeof *about);
    op_device_record *r = op_trace_place(0);
    if (r && about) {
        memset(r, 0, sizeof *r - 4);
        op_within within;
        op_enter(&within);
        int usable = REAL(cudaMemGetInfo)(&free_bytes, &total) == cudaSuccess;
        if (usable && cudaGetDeviceProperties && cudaGetDeviceProperties(about, 0) == cudaSuccess)
            snprintf(r->name, sizeof r->name, "%.35s", about->name);
        if (cudaRuntimeGetVersion) cudaRuntimeGetVersion(&r->runtime);
        if (cudaDriverGetVersion) cudaDriverGetVersion(&r->driver);
        op_leave(&within);
        r->total = total;
        r->free = free_bytes;
        op_trace_placed(&r->kind, OP_RECORD_DEVICE);
    }
    free(about);
    char fact[80];
    snprintf(fact, sizeof fact, "program=%.64s", program_invocation_short_name);
    name_id(OP_NAME_FACT, fact);
}

/* What asks for the versions of libraries. */
static cublasStatus_t (*blas_property)(libraryPropertyType, int *);
static size_t (*dnn_version)(void);

/* Before the gate is closed: the loader holds its lock while constructors run, and these may be
 * waiting for us. Not through REAL: a library that lacks the function is no reason to end. */
static void look_up(op_lib lib)
{
    static int done[OP_DRIVER + 1];
    if (OP_READ(done[lib])) return;
    (void)REAL(cudaMemGetInfo);
    void *p = lib == OP_CUBLAS  ? op_find("cublasGetProperty")
              : lib == OP_CUDNN ? op_find("cudnnGetVersion")
                                : NULL;
    if (lib == OP_CUBLAS) __atomic_store_n((void **)&blas_property, p, __ATOMIC_RELAXED);
    if (lib == OP_CUDNN) __atomic_store_n((void **)&dnn_version, p, __ATOMIC_RELAXED);
    OP_WRITE(done[lib], 1);
}

/* A library's version when its first call comes: before, it need not be loaded. */
static void write_version(op_lib lib)
{
    static const char *const called[] = {[OP_CUBLAS] = "cublas", [OP_CUDNN] = "cudnn"};
    cublasStatus_t (*property)(libraryPropertyType, int *) =
        lib == OP_CUBLAS ? OP_READ(blas_property) : NULL;
    size_t (*version)(void) = lib == OP_CUDNN ? OP_READ(dnn_version) : NULL;
    int part[3] = {0};
    char fact[40];
    op_within within;
    op_enter(&within);
    for (int i = 0; property && i < 3; i++)
        if (property((libraryPropertyType)i, &part[i]) != CUBLAS_STATUS_SUCCESS) property = NULL;
    size_t v = version ? version() : (size_t)(part[0] * 10000 + part[1] * 100 + part[2]);
    op_leave(&within);
    if (!property && !version) return;
    snprintf(fact, sizeof fact, "%s=%zu", called[lib], v);
    name_id(OP_NAME_FACT, fact);
}

void op_trace_event(op_id call, int result, uint64_t pointer, uint64_t bytes, cudaStream_t stream,
                    int injected, const char *site, void *caller, void *frame)
{
    int tracing = OP_READ(op_tracing);
    op_calm calm;
    if (tracing == OP_TRACE_FULL && !result) return;
    const char *from = site ? site : op_site_of(caller, frame);
    int thread = op_thread_is;
    if (op_trace_is_ring()) look_up(op_table[call].lib);
    op_gate_enter(&gate);
    if (op_tracing == OP_TRACE_ASKED) op_trace_open_file();
    if (op_tracing == OP_TRACE_ON) {
        if (!card_written && op_trace_is_ring()) {
            op_calm_begin(&calm);
            write_device();
            op_calm_end(&calm);
        }
        card_written = 1;
        read_said();
        uint32_t at = said.tag ? said.tag : fixed_id(from);
        if (!call_id[call]) {
            call_id[call] = name_id(OP_NAME_CALL, op_table[call].name);
            op_lib lib = op_table[call].lib;
            if ((lib == OP_CUBLAS || lib == OP_CUDNN) && !result && op_trace_is_ring()) {
                op_calm_begin(&calm);
                write_version(lib);
                op_calm_end(&calm);
            }
        }
        uint32_t ordinal = op_ordinal(&ordinals, call, at);
        /* a recording keeps what came, what went and what failed */
        int kept = !op_trace_is_ring() || pointer || result || (op_table[call].flags & OP_F_ALLOC);
        op_event *e = kept ? op_trace_place(1) : NULL;
        if (e) {
            memset(e, 0, sizeof *e - 4);
            e->ns = op_trace_now();
            e->pointer = pointer;
            e->bytes = bytes;
            e->result = result;
            e->site = at;
            e->call = (uint16_t)call_id[call];
            e->thread = (uint16_t)thread;
            e->stream = (uint16_t)(stream ? op_stream_number(stream) : 0);
            e->phase = (uint16_t)said.phase;
            e->live = op_trace_is_ring() ? op_live_now(&op_runtime_live) : 0;
            e->ordinal = ordinal;
            e->injected = (uint8_t)injected;
            op_trace_placed(&e->kind, OP_RECORD_EVENT);
            if (result && result != cudaErrorNotReady) op_trace_failed(e);
        }
    }
    if (op_tracing == OP_TRACE_LOST)
        __atomic_fetch_add(&op_shared->trace_lost, 1, __ATOMIC_RELAXED);
    if (tracing == OP_TRACE_FULL && result != cudaErrorNotReady) op_trace_missed();
    op_gate_leave(&gate);
}

void op_trace_step(const op_step_event *step, int kind)
{
    if (!OP_READ(op_tracing)) return;
    OP_WITHIN;
    op_gate_enter(&gate);
    if (op_tracing == OP_TRACE_ASKED)
        op_trace_open_file(); /* the card, at the first call: none is made here */
    steps += kind == OP_RECORD_STEP;
    int wanted = op_tracing == OP_TRACE_ON || (kind == OP_RECORD_STEP && op_trace_owes_step());
    op_step_event *e = wanted ? op_trace_place(1) : NULL;
    if (e) {
        memcpy(e, step, offsetof(op_step_event, kind));
        e->number = steps;
        e->ns = op_trace_now();
        op_trace_placed(&e->kind, (uint8_t)kind);
    }
    if (kind == OP_RECORD_STEP)
        op_trace_step_ended(step->failed != 0, step->dropped != 0, e != NULL);
    op_gate_leave(&gate);
}

void op_trace_step_start(void)
{
    if (!OP_READ(op_tracing)) return;
    op_gate_enter(&gate);
    op_trace_step_begun();
    op_gate_leave(&gate);
}
