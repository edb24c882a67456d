/* wasm.c - the bisector's side towards a page: exports, and the system calls that wasi-libc would
 * import, so that the module needs nothing from outside. What is printed to stderr is kept for the
 * page; there is no clock, no file and no environment. */
#include "bisect.h"
#include <string.h>

static bi_config config;
static bi_run run;
static char printed[16384];
static int32_t printed_n;

#define EXPORT(name) __attribute__((export_name(#name))) name
int32_t EXPORT(bi_go)(void);
void *EXPORT(bi_at)(int32_t what);
int32_t EXPORT(bi_count)(int32_t what);

enum { CONFIG, NODES, STEPS, QUEUE, TOTALS, MESSAGE, PRINTED };

int32_t bi_go(void)
{
    printed_n = 0;
    return bi_run_batch(&run, &config);
}

void *bi_at(int32_t what)
{
    void *const at[] = {&config, run.node, run.step, run.queue, &run.totals, run.message, printed};
    return at[what];
}

/* In int32_t; of texts in bytes. */
int32_t bi_count(int32_t what)
{
    switch (what) {
    case CONFIG: return sizeof config / 4;
    case NODES: return run.nodes * (int32_t)(sizeof(bi_node) / 4);
    case STEPS: return run.steps * (int32_t)(sizeof(bi_step) / 4);
    case QUEUE: return run.queued;
    case TOTALS: return sizeof run.totals / 4;
    case MESSAGE: return (int32_t)strlen(run.message);
    default: return printed_n;
    }
}

/* ---- what wasi-libc calls; WASI preview 1 ---- */
enum { WASI_OK = 0, WASI_BADF = 8, WASI_NOSYS = 52 };
typedef struct piece {
    const char *at;
    size_t n;
} piece;

int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t pieces, int32_t n,
                                                   int32_t written);
int32_t __imported_wasi_snapshot_preview1_fd_write(int32_t fd, int32_t pieces, int32_t n,
                                                   int32_t written)
{
    const piece *p = (const piece *)pieces;
    size_t all = 0;
    (void)fd;
    for (int32_t i = 0; i < n; i++) {
        size_t room = sizeof printed - (size_t)printed_n, m = p[i].n < room ? p[i].n : room;
        memcpy(printed + printed_n, p[i].at, m);
        printed_n += (int32_t)m;
        all += p[i].n;
    }
    *(size_t *)written = all;
    return WASI_OK;
}

int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t by, int32_t from, int32_t to);
int32_t __imported_wasi_snapshot_preview1_fd_seek(int32_t fd, int64_t by, int32_t from, int32_t to)
{
    (void)fd, (void)by, (void)from, (void)to;
    return WASI_NOSYS;
}

int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd);
int32_t __imported_wasi_snapshot_preview1_fd_close(int32_t fd)
{
    (void)fd;
    return WASI_BADF;
}

int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t fd, int32_t to);
int32_t __imported_wasi_snapshot_preview1_fd_fdstat_get(int32_t fd, int32_t to)
{
    (void)fd, (void)to;
    return WASI_BADF;
}

int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t to);
int32_t __imported_wasi_snapshot_preview1_clock_time_get(int32_t id, int64_t precision, int32_t to)
{
    (void)id, (void)precision;
    *(int64_t *)to = 0;
    return WASI_OK;
}
