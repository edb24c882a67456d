/* file.c - see file.h. A growing file is extended in pieces whose room is asked for first, so that
 * a full disk ends the trace and not the program; a ring has all its room from the start. */
#define _GNU_SOURCE
#include "trace/file.h"
#include "rules.h"
#include "state.h"
#include "trace/write.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PIECE      ((size_t)1 << 20)
#define RING_NAMES ((size_t)16384) /* records before the ring: head, names, the card */

static char path[4096];
static int fd = -1, others; /* others: a forked child opens a file of its own */
static char *piece;
static size_t used, written; /* bytes of the piece; of the file before it */
static uint64_t ring;        /* records; 0: a plain trace */
static op_head *head;        /* of a ring */
static uint64_t stop_at;     /* events of a ring, after which it stays as it is; 0: none */
static struct timespec start;

uint64_t op_trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)(t.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)t.tv_nsec -
           (uint64_t)start.tv_nsec;
}

int op_trace_is_ring(void)
{
    return ring > 0;
}

int op_trace_asked(void)
{
    const char *trace = getenv("OOMPROOF_TRACE"), *record = getenv("OOMPROOF_RECORD");
    const char *last = getenv("OOMPROOF_RECORD_EVENTS"), *p = record && *record ? record : trace;
    if (!p || !*p || strlen(p) >= sizeof path - 32) return 0;
    if (p == record && (!last || !op_number(last, &ring) || ring < 16 || ring > 1 << 26))
        ring = 1 << 16;
    strcpy(path, p);
    return 1;
}

static size_t piece_bytes(void)
{
    return ring ? (RING_NAMES + ring) * 64 : PIECE;
}

static void give_up(const char *why)
{
    fprintf(stderr, "oomproof: %s: %s; the run goes on, what follows is not in the %s\n", path, why,
            ring ? "recording" : "trace");
    op_trace_leave();
    others = 0;
    OP_WRITE(op_tracing, 2); /* counts what is lost */
}

void op_trace_leave(void)
{
    if (piece) munmap(piece, piece_bytes());
    if (fd >= 0) close(fd);
    piece = NULL;
    head = NULL;
    fd = -1;
    used = written = 0;
    stop_at = 0;
    others = 1;
}

static int more(void)
{
    if (fd < 0) return 0;
    if (piece) {
        munmap(piece, PIECE);
        piece = NULL;
        written += PIECE;
    }
    int e = posix_fallocate(fd, (off_t)written, (off_t)piece_bytes());
    void *p = e ? MAP_FAILED
                : mmap(NULL, piece_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)written);
    if (p == MAP_FAILED) {
        give_up(strerror(e ? e : errno));
        return 0;
    }
#ifdef MADV_POPULATE_WRITE /* one call for 256 page faults, where the kernel knows it */
    madvise(p, PIECE, MADV_POPULATE_WRITE);
#endif
    piece = p;
    used = 0;
    return 1;
}

void *op_trace_place(int event)
{
    if (ring && event) {
        if (!head) return NULL;
        op_event *e = (op_event *)(piece + (RING_NAMES + head->next % ring) * 64);
        __atomic_store_n(&e->kind, OP_RECORD_END, __ATOMIC_RELEASE); /* the oldest goes */
        return e;
    }
    if (ring && used >= RING_NAMES * 64) return NULL; /* a name that did not fit is "?" */
    if (!ring && (!piece || used >= PIECE) && !more()) return NULL;
    if (!piece) return NULL;
    used += 64;
    return piece + used - 64;
}

void op_trace_placed(uint8_t *kind, uint8_t value)
{
    __atomic_store_n(kind, value, __ATOMIC_RELEASE);
    if (!head) return;
    __atomic_store_n(&head->next, head->next + 1, __ATOMIC_RELEASE);
    if (stop_at && head->next >= stop_at) OP_WRITE(op_tracing, 4);
}

void op_trace_outcome(int failed, int dropped)
{
    if (!head) return;
    head->steps_failed += failed != 0;
    head->steps_dropping += dropped != 0;
}

void op_trace_failed(void)
{
    if (head && !stop_at) stop_at = head->next + ring / 2;
}

int op_trace_open_file(void)
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
        return 0;
    }
    op_head *h = more() ? op_trace_place(0) : NULL;
    if (!h) return 0;
    *h = (op_head){.magic = OP_TRACE_MAGIC,
                   .pid = (uint64_t)getpid(),
                   .start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                   .version = OP_TRACE_VERSION,
                   .record_bytes = 64,
                   .ring_first = ring ? RING_NAMES : 0,
                   .ring_records = (uint32_t)ring};
    __atomic_store_n(&h->kind, OP_RECORD_HEAD, __ATOMIC_RELEASE);
    if (ring) head = h;
    return 1;
}
