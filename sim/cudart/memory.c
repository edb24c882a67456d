/* memory.c - device memory: capacity, 512-byte granules, 2 MiB pages, fragmentation.
 *
 * Addresses live in a reservation without access; the bytes lie `delta` further on, so host code
 * that follows a device pointer faults. Big requests take whole pages of their own; small ones
 * share pages. A page that holds nothing goes back and stays reserved but inaccessible, so a kernel
 * that still uses it faults. free = capacity - context - pages held. */
#define _GNU_SOURCE
#include "state.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE 512
#define PAGE    (2 * MIB)
#define SMALL   MIB /* larger requests get pages of their own */
#define KEEP \
    (512 * MIB) /* bytes of freed pages whose contents stay in host memory, ready for use */

typedef struct block {
    uint64_t at;  /* offset */
    size_t bytes; /* rounded to granules */
    size_t asked;
    int used, private_entry;
    struct block *prev, *next; /* by address, gap-free over all pages in use */
} block;

static struct {
    int started;
    cudaError_t broken;
    uint64_t base, span, top; /* address window; top: end of pages ever used, as an offset */
    int64_t delta;
    size_t capacity, context, held, kept, peak_held;
    size_t runtime_bytes, private_bytes;
    block *first, *last; /* small blocks and big ones in one list */
    unsigned char *page; /* per page: 0 free, 1 small, 2 part of a big block */
    size_t npages;
} M;

/* "8GiB" "512MiB" "48M" "1000000" -> bytes; 0: not understood */
static size_t parse_size(const char *s)
{
    char *end;
    if (*s < '0' || *s > '9') return 0;
    errno = 0;
    double v = strtod(s, &end);
    size_t unit = 1;
    if (*end == 'K' || *end == 'k')
        unit = 1024;
    else if (*end == 'M' || *end == 'm')
        unit = MIB;
    else if (*end == 'G' || *end == 'g')
        unit = 1024 * MIB;
    else if (*end == 'T' || *end == 't')
        unit = (size_t)1 << 40;
    if (unit > 1) end++;
    if (unit > 1 && !strncmp(end, "iB", 2))
        end += 2;
    else if (*end == 'B')
        end++;
    if (*end || errno || v * (double)unit > 4e12) return 0;
    return (size_t)(v * (double)unit);
}

cudaError_t sim_memory_start(void)
{
    if (M.started) return M.broken;
    M.started = 1;
    const char *s = getenv("OOMPROOF_SIM_MEMORY");
    M.capacity = s && *s ? parse_size(s) : 8192 * MIB;
    if (M.capacity < PAGE) {
        sim_say("OOMPROOF_SIM_MEMORY=%s: not a size of at least 2MiB, like 8GiB or 512MiB", s);
        return M.broken = cudaErrorInitializationError;
    }
    M.capacity = M.capacity / PAGE * PAGE;
    /* a context takes some hundred MiB of a real card; small test cards are all for the program */
    M.context = M.capacity >= 4096 * MIB ? 512 * MIB : 0;
    /* addresses are not used twice at once, but holes may come: room for twice the capacity */
    M.span = 2 * (uint64_t)M.capacity + PAGE;
    M.npages = (size_t)(M.span / PAGE);
    char *window =
        mmap(NULL, M.span + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *bytes =
        mmap(NULL, M.span + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    M.page = calloc(M.npages, 1);
    if (window == MAP_FAILED || bytes == MAP_FAILED || !M.page) {
        sim_say("the address space for a simulated card of %zu MiB cannot be reserved: %s",
                M.capacity / MIB, strerror(errno));
        return M.broken = cudaErrorInitializationError;
    }
    M.base = ((uint64_t)(uintptr_t)window + PAGE - 1) / PAGE * PAGE;
    M.delta = (int64_t)(((uint64_t)(uintptr_t)bytes + PAGE - 1) / PAGE * PAGE - M.base);
    return cudaSuccess;
}

static char *host_of(uint64_t offset)
{
    return (char *)(uintptr_t)(M.base + offset + (uint64_t)M.delta);
}

static int take_pages(size_t first, size_t n, unsigned char kind)
{
    if (mprotect(host_of(first * PAGE), n * PAGE, PROT_READ | PROT_WRITE) != 0) return 0;
    memset(M.page + first, kind, n);
    M.held += n * PAGE;
    M.kept = M.kept > n * PAGE ? M.kept - n * PAGE : 0;
    if (M.held > M.peak_held) M.peak_held = M.held;
    return 1;
}

static void give_pages(size_t first, size_t n)
{
    char *at = host_of(first * PAGE);
    M.kept += n * PAGE;
    if (M.kept > KEEP) {
        madvise(at, n * PAGE, MADV_DONTNEED);
        M.kept -= n * PAGE;
    }
    mprotect(at, n * PAGE, PROT_NONE);
    memset(M.page + first, 0, n);
    M.held -= n * PAGE;
}

static size_t room(void)
{
    return M.capacity - M.context - M.held;
}

/* The first run of n free pages. */
static size_t find_pages(size_t n)
{
    size_t run = 0;
    for (size_t i = 0; i < M.npages; i++) {
        run = M.page[i] ? 0 : run + 1;
        if (run == n) return i + 1 - n;
    }
    return SIZE_MAX;
}

static block *insert(uint64_t at, size_t bytes, block *after)
{
    block *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->at = at;
    b->bytes = bytes;
    b->prev = after;
    b->next = after ? after->next : M.first;
    if (b->prev)
        b->prev->next = b;
    else
        M.first = b;
    if (b->next)
        b->next->prev = b;
    else
        M.last = b;
    return b;
}

static void remove_block(block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        M.first = b->next;
    if (b->next)
        b->next->prev = b->prev;
    else
        M.last = b->prev;
    free(b);
}

static block *block_before(uint64_t at)
{
    block *b = M.last;
    while (b && b->at > at) b = b->prev;
    return b;
}

static block *new_pages(size_t n, unsigned char kind)
{
    size_t first;
    if (n * PAGE > room() || (first = find_pages(n)) == SIZE_MAX || !take_pages(first, n, kind))
        return NULL;
    return insert((uint64_t)first * PAGE, n * PAGE, block_before((uint64_t)first * PAGE));
}

/* A failure leaves *out alone, so that a program that trusts it without looking at the error uses
 * what it had there, as it may with NVIDIA's library. */
cudaError_t sim_memory_alloc(size_t bytes, int private_entry, void **out)
{
    if (bytes == 0) {
        *out = NULL;
        return cudaSuccess;
    }
    if (bytes > M.capacity) return cudaErrorMemoryAllocation;
    size_t want = (bytes + GRANULE - 1) / GRANULE * GRANULE;
    block *b = NULL;
    if (want > SMALL) {
        b = new_pages((want + PAGE - 1) / PAGE, 2);
    } else {
        for (b = M.first; b && (b->used || b->bytes < want || M.page[b->at / PAGE] != 1);
             b = b->next) {
        }
        if (!b) b = new_pages(1, 1);
        if (b && b->bytes > want && insert(b->at + want, b->bytes - want, b)) b->bytes = want;
    }
    if (!b) return cudaErrorMemoryAllocation;
    b->used = 1;
    b->asked = bytes;
    b->private_entry = private_entry;
    *(private_entry ? &M.private_bytes : &M.runtime_bytes) += want;
    *out = (void *)(uintptr_t)(M.base + b->at);
    return cudaSuccess;
}

static block *find_used(uint64_t address)
{
    if (address - M.base >= M.span) return NULL;
    block *b = M.first;
    uint64_t at = address - M.base;
    while (b && b->at + b->bytes <= at) b = b->next;
    return b && b->used && at >= b->at ? b : NULL;
}

size_t sim_memory_heap_bytes(uint64_t address)
{
    block *b = find_used(address);
    return b && M.base + b->at == address && b->private_entry == SIM_HEAP ? b->asked : 0;
}

cudaError_t sim_memory_free(void *p)
{
    if (!p) return cudaSuccess;
    block *b = find_used((uint64_t)(uintptr_t)p);
    if (!b || M.base + b->at != (uint64_t)(uintptr_t)p) {
        sim_say("cudaFree(%p): %s", p, sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    *(b->private_entry ? &M.private_bytes : &M.runtime_bytes) -=
        (b->asked + GRANULE - 1) / GRANULE * GRANULE;
    b->used = 0;
    size_t page = (size_t)(b->at / PAGE);
    if (M.page[page] == 2) {
        give_pages(page, b->bytes / PAGE);
        remove_block(b);
        return cudaSuccess;
    }
    /* merge with free neighbours of the same page */
    if (b->next && !b->next->used && b->next->at / PAGE == page) {
        b->bytes += b->next->bytes;
        remove_block(b->next);
    }
    if (b->prev && !b->prev->used && b->prev->at / PAGE == page) {
        b = b->prev;
        b->bytes += b->next->bytes;
        remove_block(b->next);
    }
    if (b->bytes == PAGE) {
        give_pages(page, 1);
        remove_block(b);
    }
    return cudaSuccess;
}

char *sim_memory_at(uint64_t address, size_t bytes)
{
    block *b = find_used(address);
    uint64_t inside = b ? address - M.base - b->at : 0;
    /* in this form nothing wraps around, however large `bytes` is */
    if (!b || inside > b->asked || bytes > b->asked - inside) return NULL;
    return (char *)(uintptr_t)(address + (uint64_t)M.delta);
}

int sim_memory_is_device(const void *p)
{
    return M.span && (uint64_t)(uintptr_t)p - M.base < M.span;
}

const char *sim_memory_describe(uint64_t address)
{
    static char text[160];
    block *b = find_used(address);
    if (!sim_memory_is_device((void *)(uintptr_t)address)) return "not a device address";
    if (b) {
        snprintf(text, sizeof text, "%llu bytes into an allocation of %zu bytes",
                 (unsigned long long)(address - M.base - b->at), b->asked);
        return text;
    }
    return "a device address that is not allocated (freed before, or past the end of a block)";
}

/* OOMPROOF_SIM_CHECK=1 closes the window: every access is looked up. */
void sim_memory_window(sim_ctx *c)
{
    static int check = -1;
    if (check < 0) {
        const char *s = getenv("OOMPROOF_SIM_CHECK");
        check = s && *s == '1';
    }
    c->base = M.base;
    c->bytes = check ? 0 : M.span;
    c->delta = M.delta;
}

void sim_memory_info(size_t *free_bytes, size_t *total)
{
    *free_bytes = room();
    *total = M.capacity;
}

API int sim_device_alloc(void **out, size_t bytes)
{
    if (sim_enter() != cudaSuccess) return cudaErrorNoDevice;
    cudaError_t e = sim_sticky ? sim_sticky : sim_memory_alloc(bytes, 1, out);
    sim_leave();
    return e;
}

API int sim_device_free(void *device)
{
    if (sim_enter() != cudaSuccess) return cudaErrorNoDevice;
    cudaError_t e = sim_memory_free(device);
    sim_leave();
    return e;
}

API void *sim_device_range(const void *device, size_t bytes, int write)
{
    static char nothing;
    (void)write;
    if (sim_enter() != cudaSuccess) return NULL;
    sim_run_all(); /* libraries work at once, behind all that was queued */
    char *p = bytes ? sim_memory_at((uint64_t)(uintptr_t)device, bytes) : &nothing;
    if (!p && !sim_pending && !sim_sticky) {
        sim_say("a library call touches %zu bytes at %p: %s", bytes, device,
                sim_memory_describe((uint64_t)(uintptr_t)device));
        sim_pending = cudaErrorIllegalAddress;
    }
    sim_leave();
    return p;
}

API int sim_device_error(void)
{
    return sim_sticky ? sim_sticky : sim_pending;
}

API void sim_memory_read(sim_memory_figures *out)
{
    *out = (sim_memory_figures){M.capacity,      M.context, M.runtime_bytes,
                                M.private_bytes, M.held,    M.peak_held};
}
