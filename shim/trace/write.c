/* write.c - the trace of this process: one file, grown in pieces whose room is asked for first, so
 * that a full disk ends the trace and not the program. */
#define _GNU_SOURCE
#include "trace/write.h"
#include "site.h"
#include "state.h"
#include "trace/format.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)

int op_tracing;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[4096];
static int fd = -1, others; /* others: a forked child opens a file of its own */
static char *piece;
static size_t used, written; /* bytes of the piece; of the file before it */
static struct timespec start;

static uint64_t since_start(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)(t.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)t.tv_nsec -
           (uint64_t)start.tv_nsec;
}

static void give_up(const char *why)
{
    fprintf(stderr, "oomproof: %s: %s; the run goes on, what follows is not in the trace\n", path,
            why);
    if (fd >= 0) close(fd);
    if (piece) munmap(piece, PIECE);
    fd = -1;
    piece = NULL;
    OP_WRITE(op_tracing, 2); /* counts what is lost */
}

/* The next record's place; NULL: the trace has ended. Under the lock. */
static void *place(void)
{
    if (piece && used < PIECE) {
        used += 64;
        return piece + used - 64;
    }
    if (fd < 0) return NULL;
    if (piece) {
        munmap(piece, PIECE);
        piece = NULL;
        written += PIECE;
    }
    int e = posix_fallocate(fd, (off_t)written, (off_t)PIECE);
    if (e) {
        give_up(strerror(e));
        return NULL;
    }
    void *p = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)written);
    if (p == MAP_FAILED) {
        give_up(strerror(errno));
        return NULL;
    }
#ifdef MADV_POPULATE_WRITE /* one call for 256 page faults, where the kernel knows it */
    madvise(p, PIECE, MADV_POPULATE_WRITE);
#endif
    piece = p;
    used = 64;
    return p;
}

static void open_trace(void)
{
    char own[4200];
    struct timespec now;
    snprintf(own, sizeof own, "%s", path);
    fd = others ? -1 : open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
        fd = open(own, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    clock_gettime(CLOCK_REALTIME, &now);
    OP_WRITE(op_tracing, 1);
    if (fd < 0) {
        give_up(strerror(errno));
        return;
    }
    op_head *h = place();
    if (!h) return;
    *h = (op_head){.magic = OP_TRACE_MAGIC,
                   .pid = (uint64_t)getpid(),
                   .start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                   .version = OP_TRACE_VERSION,
                   .record_bytes = 64};
    __atomic_store_n(&h->kind, OP_RECORD_HEAD, __ATOMIC_RELEASE);
}

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
        op_name *r = place();
        if (!r) return;
        size_t k = n < OP_NAME_BYTES ? n : OP_NAME_BYTES;
        memset(r, 0, sizeof *r - 4);
        memcpy(r->text, text, k);
        r->id = id;
        r->of = (uint8_t)of;
        r->more = n >= OP_NAME_BYTES;
        __atomic_store_n(&r->kind, OP_RECORD_NAME, __ATOMIC_RELEASE);
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
    const char *phase, *tag;
    if (said.changed == op_names_changed && said.epoch == epoch) return;
    op_thread_names(&phase, &tag);
    said.phase = name_id(OP_NAME_PHASE, phase);
    said.tag = *tag ? name_id(OP_NAME_SITE, tag) : 0;
    said.changed = op_names_changed;
    said.epoch = epoch;
}

/* ---- processes ---- */
static void child_of_fork(void)
{
    if (!op_tracing) return;
    if (piece) munmap(piece, PIECE); /* the parent's */
    if (fd >= 0) close(fd);
    piece = NULL;
    fd = -1;
    used = written = 0;
    for (int i = 0; i < NAMES; i++) names[i].text = NULL; /* a new file has none yet */
    memset(next_id, 0, sizeof next_id);
    memset(call_id, 0, sizeof call_id);
    epoch++;
    others = 1;
    OP_WRITE(op_tracing, 3); /* opened at its first event */
    pthread_mutex_unlock(&lock);
}
static void before_fork(void)
{
    if (op_tracing) pthread_mutex_lock(&lock);
}
static void after_fork(void)
{
    if (op_tracing) pthread_mutex_unlock(&lock);
}

void op_trace_start(void)
{
    const char *p = getenv("OOMPROOF_TRACE");
    if (!p || !*p || strlen(p) >= sizeof path - 32) return;
    strcpy(path, p);
    pthread_atfork(before_fork, after_fork, child_of_fork);
    OP_WRITE(op_tracing, 3);
}

void op_trace_event(op_id call, int result, uint64_t pointer, uint64_t bytes, cudaStream_t stream,
                    int injected, const char *site, void *caller, void *frame)
{
    const char *from = site ? site : op_site_of(caller, frame);
    int thread = op_thread_number();
    pthread_mutex_lock(&lock);
    if (op_tracing == 3) open_trace();
    if (op_tracing == 1) {
        read_said();
        uint32_t at = said.tag ? said.tag : fixed_id(from);
        if (!call_id[call]) call_id[call] = name_id(OP_NAME_CALL, op_table[call].name);
        op_event *e = place();
        if (e) {
            memset(e, 0, sizeof *e - 4);
            e->ns = since_start();
            e->pointer = pointer;
            e->bytes = bytes;
            e->result = result;
            e->site = at;
            e->call = (uint16_t)call_id[call];
            e->thread = (uint16_t)thread;
            e->stream = (uint16_t)op_stream_number(stream);
            e->phase = (uint16_t)said.phase;
            e->injected = (uint8_t)injected;
            __atomic_store_n(&e->kind, OP_RECORD_EVENT, __ATOMIC_RELEASE);
        }
    }
    if (op_tracing == 2) __atomic_fetch_add(&op_shared->trace_lost, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}
