/* file.c - see file.h. The room of what is mapped is asked for first, so that a full disk ends the
 * trace and not the program. */
#define _GNU_SOURCE
#include "trace/file.h"
#include "calm.h"
#include "rules.h"
#include "state.h"
#include "trace/write.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WINDOW     ((size_t)2048)  /* records of a trace that are mapped */
#define RING_NAMES ((size_t)16384) /* records before the ring: head, names, the card */
#define RING_LEAST ((uint64_t)1024)

uint64_t op_trace_ring;
static char path[4096 + 4096]; /* as asked for, from the root: the program may change folders */
static char own[sizeof path + 64];
static struct stat self; /* of our file. No descriptor stays open: the program may close any */
static int others;       /* a forked child opens a file of its own */
static char *mapped;     /* the beginning of the file: head and window, or all of a ring */
static op_head *head;    /* its first record; NULL: there is no file */
static size_t names;     /* of a ring: records before it that are used, with the head */
static size_t kept;      /* failures before it, from its beginning downwards */
static uint64_t slot;    /* of a ring: of its next event */
static uint64_t stop_at; /* events of a ring, after which it stays as it is; 0: none */
static uint64_t until;   /* the same, asked for: no failure decides it; 0: it does */
static int first_stays;  /* a failure stays in it, even if its step is recovered exactly */
static int failed;       /* something did, in the step that has begun */
static int owes_step;    /* a failure is in it whose step has not ended */
static int settled;      /* the step of the failure that stays has ended */
static int both;         /* a trace was asked for as well */
static struct timespec start;

uint64_t op_trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)(t.tv_sec - start.tv_sec) * 1000000000u + (uint64_t)t.tv_nsec -
           (uint64_t)start.tv_nsec;
}

int op_trace_asked(void)
{
    const char *trace = getenv("OOMPROOF_TRACE"), *record = getenv("OOMPROOF_RECORD");
    const char *last = getenv("OOMPROOF_RECORD_EVENTS"), *p = record && *record ? record : trace;
    if (!p || !*p) return 0;
    if (strlen(p) >= 4096) {
        fprintf(stderr,
                "oomproof: %s: a name of more than 4095 characters; nothing is written there\n",
                p == record ? "OOMPROOF_RECORD" : "OOMPROOF_TRACE");
        return 0;
    }
    both = p == record && trace && *trace;
    int usable = p == record && last && op_number(last, &op_trace_ring) && op_trace_ring >= 16 &&
                 op_trace_ring <= 1 << 26;
    if (p == record && last && *last && !usable)
        fprintf(stderr,
                "oomproof: OOMPROOF_RECORD_EVENTS is a number from 16 to 64Mi, not %.40s; 65536 "
                "events are kept\n",
                last);
    if (p == record && !usable) op_trace_ring = 1 << 16;
    const char *first = getenv("OOMPROOF_RECORD_FIRST");
    first_stays = first && *first && strcmp(first, "0") != 0;
    const char *end = getenv("OOMPROOF_RECORD_UNTIL");
    if (!end || !op_number(end, &until)) until = 0;
    size_t n = 0;
    if (*p != '/' && getcwd(path, 4096)) n = strlen(path), path[n++] = '/';
    strcpy(path + n, p);
    return 1;
}

static size_t mapped_bytes(void)
{
    return (op_trace_ring ? RING_NAMES + op_trace_ring : 1 + WINDOW) * 64;
}

static void give_up(const char *why)
{
    fprintf(stderr, "oomproof: %s: %s; the run goes on, what follows is not in the %s\n", own, why,
            op_trace_ring ? "recording" : "trace");
    op_trace_leave();
    others = 0;
    OP_WRITE(op_tracing, OP_TRACE_LOST);
}

void op_trace_leave(void)
{
    if (mapped) munmap(mapped, mapped_bytes());
    mapped = NULL;
    head = NULL;
    kept = 0;
    slot = 0;
    stop_at = 0;
    owes_step = settled = failed = 0;
    others = 1;
}

static int map(int fd)
{
    const uint64_t asked = op_trace_ring;
    int e = posix_fallocate(fd, 0, (off_t)mapped_bytes());
    while ((e == ENOSPC || e == EDQUOT || e == EFBIG) && op_trace_ring / 2 >= RING_LEAST) {
        op_trace_ring /= 2; /* fewer events are better than none */
        e = ftruncate(fd, 0) != 0 ? errno : posix_fallocate(fd, 0, (off_t)mapped_bytes());
    }
    if (!e && op_trace_ring < asked)
        fprintf(stderr, "oomproof: %s: no room for the last %llu events; %llu are kept\n", own,
                (unsigned long long)asked, (unsigned long long)op_trace_ring);
    void *p =
        e ? MAP_FAILED : mmap(NULL, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        give_up(strerror(e ? e : errno));
        return 0;
    }
#ifdef MADV_POPULATE_WRITE /* one call for all page faults, where the kernel knows it */
    madvise(p, mapped_bytes(), MADV_POPULATE_WRITE);
#endif
    mapped = p;
    return 1;
}

/* NULL, or why the bytes are not in the file at that place. */
static const char *put(const char *from, size_t left, off_t at)
{
    struct stat st;
    const char *why = NULL;
    int fd = open(own, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return strerror(errno);
    if (fstat(fd, &st) != 0 || st.st_dev != self.st_dev || st.st_ino != self.st_ino)
        why = "another file has its name now";
    const off_t begin = at;
    while (!why && left) {
        ssize_t n = pwrite(fd, from, left, at);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0)
            from += n, at += n, left -= (size_t)n;
        else
            why = strerror(n < 0 ? errno : ENOSPC);
    }
    if (why && at > begin && ftruncate(fd, begin) != 0) why = strerror(errno);
    close(fd);
    return why;
}

/* The full window becomes the next block. 0: there is no room for it; it stays the last one. */
static int flush(void)
{
    op_calm calm;
    op_calm_begin(&calm);
    const char *why = put(mapped + 64, WINDOW * 64, (off_t)((1 + head->next) * 64));
    if (why) give_up(why);
    op_calm_end(&calm);
    return !why;
}

void *op_trace_place(int event)
{
    if (!head) return NULL;
    if (op_trace_ring && event) {
        op_event *e = (op_event *)(mapped + (RING_NAMES + slot) * 64);
        __atomic_store_n(&e->kind, OP_RECORD_END, __ATOMIC_RELEASE); /* the oldest goes */
        return e;
    }
    /* a name that did not fit is "?"; one record of kind 0 is between them and failures */
    if (op_trace_ring) return names + kept + 1 < RING_NAMES ? mapped + names++ * 64 : NULL;
    size_t k = head->next % WINDOW;
    if (!k && head->next && !flush()) return NULL;
    return mapped + (1 + k) * 64;
}

void op_trace_placed(uint8_t *kind, uint8_t value)
{
    __atomic_store_n(kind, value, __ATOMIC_RELEASE);
    if (!head || (op_trace_ring && (char *)kind < mapped + RING_NAMES * 64)) return;
    __atomic_store_n(&head->next, head->next + 1, __ATOMIC_RELEASE);
    if (op_trace_ring) { /* it is larger than a cache: what comes soon is fetched */
        slot = slot + 1 == op_trace_ring ? 0 : slot + 1;
        __builtin_prefetch(mapped + (RING_NAMES + slot + 4) * 64, 1);
    }
    if (value == OP_RECORD_STEP) owes_step = 0;
    if (!stop_at || head->next < stop_at) return;
    OP_WRITE(op_tracing, OP_TRACE_FULL);
    head->full = 1;
}

void op_trace_step_begun(void)
{
    failed = 0;
}

void op_trace_step_ended(int bad, int dropped, int is_kept)
{
    if (!op_trace_ring || !head || settled || (until && !is_kept)) return;
    head->steps_failed += bad != 0;
    head->steps_dropping += dropped != 0;
    settled = !until && (stop_at || (failed && (bad || dropped)));
    if (settled && !stop_at) stop_at = head->next + op_trace_ring / 2;
    failed = 0;
}

void op_trace_failed(const op_event *e)
{
    failed = 1;
    if (!op_trace_ring || !head) return;
    if (names + kept + 1 < RING_NAMES) {
        op_event *copy = (op_event *)(mapped + (RING_NAMES - 1 - kept) * 64);
        memcpy(copy, e, offsetof(op_event, kind));
        __atomic_store_n(&copy->kind, OP_RECORD_EVENT, __ATOMIC_RELEASE);
        kept++;
    }
    head->failures++;
    if (!first_stays) return; /* how its step ends may decide that it stays */
    if (!stop_at) stop_at = head->next + op_trace_ring / 2;
    owes_step = 1;
}

void op_trace_missed(void)
{
    if (op_trace_ring && head) head->missed = 1;
    owes_step = 0;
}

int op_trace_owes_step(void)
{
    return owes_step && op_tracing == OP_TRACE_FULL;
}

/* PATH, else PATH.PID, PATH.PID.2, ...: never a file that was there before. */
static int open_own(void)
{
    int fd = -1;
    for (int n = others ? 1 : 0; fd < 0 && n < 1000; n++) {
        if (n < 2)
            snprintf(own, sizeof own, n ? "%s.%ld" : "%s", path, (long)getpid());
        else
            snprintf(own, sizeof own, "%s.%ld.%d", path, (long)getpid(), n);
        fd = open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST) return -1;
        if (fd >= 0 && n && !others)
            fprintf(stderr, "oomproof: %s is there already; this process writes %s\n", path, own);
    }
    return fd;
}

static int open_file(void)
{
    struct timespec now;
    int fd = open_own();
    if (both)
        fprintf(stderr,
                "oomproof: OOMPROOF_RECORD and OOMPROOF_TRACE are both set: %s is a "
                "recording, and no trace is written; unset one of them\n",
                own);
    both = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    clock_gettime(CLOCK_REALTIME, &now);
    OP_WRITE(op_tracing, OP_TRACE_ON);
    if (fd < 0 || fstat(fd, &self) != 0) {
        give_up(strerror(errno));
        if (fd >= 0) close(fd);
        return 0;
    }
    int done = map(fd);
    close(fd);
    if (!done) {
        unlink(own); /* empty: nobody could read it */
        return 0;
    }
    head = (op_head *)mapped;
    names = 1;
    stop_at = op_trace_ring ? until : 0;
    *head = (op_head){.magic = OP_TRACE_MAGIC,
                      .pid = (uint64_t)getpid(),
                      .start_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                      .version = OP_TRACE_VERSION,
                      .record_bytes = 64,
                      .ring_first = op_trace_ring ? RING_NAMES : 0,
                      .ring_records = (uint32_t)op_trace_ring,
                      .window_records = op_trace_ring ? 0 : WINDOW};
    __atomic_store_n(&head->kind, OP_RECORD_HEAD, __ATOMIC_RELEASE);
    return 1;
}

int op_trace_open_file(void)
{
    op_calm calm;
    op_calm_begin(&calm);
    int done = open_file();
    op_calm_end(&calm);
    return done;
}
