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

enum { FREE, USED, HELD }; /* HELD: freed by the program, kept by a pool */
typedef struct block {
    uint64_t at;  /* offset */
    size_t bytes; /* rounded to granules */
    size_t asked;
    int state, private_entry;
    void *pool; /* sim_pool it belongs to; NULL: none */
    sim_site allocated;
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
    block **block_at;    /* per page: the block of its first byte */
    size_t npages;
} M;

cudaError_t sim_memory_start(void)
{
    if (M.started) return M.broken;
    M.started = 1;
    const char *s = getenv("OOMPROOF_SIM_MEMORY");
    M.capacity = s && *s ? sim_parse_size(s) : 8192 * MIB;
    if (M.capacity < PAGE) {
        sim_say("OOMPROOF_SIM_MEMORY=%s: not a size of at least 2MiB, like 8GiB or 512MiB", s);
        return M.broken = cudaErrorInitializationError;
    }
    if (!sim_limits_start()) return M.broken = cudaErrorInitializationError;
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
    M.block_at = calloc(M.npages, sizeof(block *)); /* untouched pages of it cost nothing either */
    if (window == MAP_FAILED || bytes == MAP_FAILED || !M.page || !M.block_at) {
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
    memset(M.block_at + first, 0, n * sizeof(block *));
    M.held -= n * PAGE;
}

static size_t room(void)
{
    size_t gone = M.context + M.held + sim_pressure();
    return gone < M.capacity ? M.capacity - gone : 0;
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

/* The last block before a page that holds none. */
static block *block_before(size_t page)
{
    while (page > 0 && !M.page[page - 1]) page--;
    if (page == 0) return NULL;
    block *b = M.block_at[page - 1];
    while (b->next && b->next->at / PAGE == page - 1) b = b->next;
    return b;
}

static block *new_pages(size_t n, unsigned char kind)
{
    size_t first;
    if (n * PAGE > room() || !sim_host_has(n * PAGE) || (first = find_pages(n)) == SIZE_MAX ||
        !take_pages(first, n, kind))
        return NULL;
    block *b = insert((uint64_t)first * PAGE, n * PAGE, block_before(first));
    if (!b) give_pages(first, n);
    for (size_t i = 0; b && i < n; i++) M.block_at[first + i] = b;
    return b;
}

static size_t rounded(size_t bytes)
{
    return (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static void count(const block *b, int sign)
{
    size_t *figure = b->private_entry ? &M.private_bytes : &M.runtime_bytes;
    *figure += sign > 0 ? rounded(b->asked) : 0 - rounded(b->asked);
}

static void *address_of(const block *b)
{
    return (void *)(uintptr_t)(M.base + b->at);
}

/* A failure leaves *out alone, so that a program that trusts it without looking at the error uses
 * what it had there, as it may with NVIDIA's library. */
cudaError_t sim_memory_alloc(size_t bytes, int private_entry, void **out)
{
    if (bytes == 0) {
        *out = NULL;
        return cudaSuccess;
    }
    sim_pressure_count();
    if (bytes > M.capacity) return cudaErrorMemoryAllocation;
    size_t want = rounded(bytes);
    block *b = NULL;
    if (want > SMALL) {
        b = new_pages((want + PAGE - 1) / PAGE, 2);
    } else {
        for (b = M.first; b && (b->state != FREE || b->bytes < want || M.page[b->at / PAGE] != 1);
             b = b->next) {
        }
        if (!b) b = new_pages(1, 1);
        if (b && b->bytes > want && insert(b->at + want, b->bytes - want, b)) b->bytes = want;
    }
    if (!b) return cudaErrorMemoryAllocation;
    b->state = USED;
    b->asked = bytes;
    b->private_entry = private_entry;
    b->pool = NULL;
    sim_site_take(&b->allocated);
    count(b, 1);
    *out = address_of(b);
    return cudaSuccess;
}

/* The block that an address lies in, whatever its state. */
static block *find(uint64_t address)
{
    uint64_t at = address - M.base;
    if (at >= M.span) return NULL;
    block *b = M.block_at[at / PAGE];
    while (b && b->at + b->bytes <= at) b = b->next;
    return b && at >= b->at ? b : NULL;
}

static block *find_used(uint64_t address)
{
    block *b = find(address);
    return b && b->state == USED ? b : NULL;
}

size_t sim_memory_heap_bytes(uint64_t address)
{
    block *b = find_used(address);
    return b && M.base + b->at == address && b->private_entry == SIM_HEAP ? b->asked : 0;
}

/* Back to its page, or its pages back to the device. */
static void give_block(block *b)
{
    size_t page = (size_t)(b->at / PAGE);
    b->state = FREE;
    if (M.page[page] == 2) {
        give_pages(page, b->bytes / PAGE);
        remove_block(b);
        return;
    }
    /* merge with free neighbours of the same page */
    if (b->next && b->next->state == FREE && b->next->at / PAGE == page) {
        b->bytes += b->next->bytes;
        remove_block(b->next);
    }
    if (b->prev && b->prev->state == FREE && b->prev->at / PAGE == page) {
        b = b->prev;
        b->bytes += b->next->bytes;
        remove_block(b->next);
    }
    if (b->bytes == PAGE) {
        give_pages(page, 1);
        remove_block(b);
    }
}

cudaError_t sim_memory_free(void *p)
{
    if (!p) return cudaSuccess;
    block *b = find_used((uint64_t)(uintptr_t)p);
    if (!b || address_of(b) != p) {
        sim_say("cudaFree(%p): %s", p, sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    sim_site_freed((uint64_t)(uintptr_t)p, b->asked, &b->allocated);
    count(b, -1);
    give_block(b);
    return cudaSuccess;
}

void **sim_memory_pool(void *p)
{
    block *b = find_used((uint64_t)(uintptr_t)p);
    return b && address_of(b) == p ? &b->pool : NULL;
}

size_t sim_memory_bytes(void *p)
{
    return find_used((uint64_t)(uintptr_t)p)->bytes;
}

size_t sim_memory_hold(void *p)
{
    block *b = find_used((uint64_t)(uintptr_t)p);
    sim_site_freed((uint64_t)(uintptr_t)p, b->asked, &b->allocated);
    count(b, -1);
    b->state = HELD;
    return b->bytes;
}

void sim_memory_reuse(void *p, size_t bytes)
{
    block *b = find((uint64_t)(uintptr_t)p);
    b->state = USED;
    b->asked = bytes;
    sim_site_take(&b->allocated);
    count(b, 1);
}

void sim_memory_drop(void *p)
{
    give_block(find((uint64_t)(uintptr_t)p));
}

void sim_memory_reset(void)
{
    for (int again = 1; again;) { /* giving one back merges its neighbours */
        block *b = M.first;
        while (b && (b->state == FREE || b->private_entry)) b = b->next;
        again = b != NULL;
        if (!b) break;
        if (b->state == USED) count(b, -1);
        give_block(b);
    }
}

char *sim_memory_at(uint64_t address, size_t bytes)
{
    block *b = find_used(address);
    uint64_t inside = b ? address - M.base - b->at : 0;
    /* in this form nothing wraps around, however large `bytes` is */
    if (!b || inside > b->asked || bytes > b->asked - inside) return NULL;
    return (char *)(uintptr_t)(address + (uint64_t)M.delta);
}

int sim_memory_around(uint64_t address, uint64_t *from, uint64_t *bytes)
{
    block *b = find_used(address);
    if (!b || b->private_entry == SIM_HEAP) return 0;
    *from = M.base + b->at;
    *bytes = b->asked;
    return 1;
}

int sim_memory_is_device(const void *p)
{
    return M.span && (uint64_t)(uintptr_t)p - M.base < M.span;
}

const char *sim_memory_describe(uint64_t address)
{
    static char text[600];
    char site[200], freed[400];
    block *b = find_used(address);
    if (!sim_memory_is_device((void *)(uintptr_t)address)) return "not a device address";
    if (b) {
        uint64_t inside = address - M.base - b->at;
        snprintf(text, sizeof text, "%llu bytes %s an allocation of %zu bytes%s",
                 (unsigned long long)(inside < b->asked ? inside : inside - b->asked),
                 inside < b->asked ? "into" : "past the end of", b->asked,
                 sim_site_text(&b->allocated, "made at", site, sizeof site));
        return text;
    }
    if (sim_site_find_freed(address, freed, sizeof freed)) {
        snprintf(text, sizeof text, "in an allocation that was freed%s", freed);
        return text;
    }
    return "a device address that is not allocated (freed before, or past the end of a block)";
}

/* OOMPROOF_SIM_CHECK=1 closes the window: every access is looked up. */
void sim_memory_window(sim_ctx *c)
{
    c->base = M.base;
    c->bytes = sim_checking() ? 0 : M.span;
    c->delta = M.delta;
}

/* The largest request that would succeed now, as the program asks for it. */
size_t sim_memory_largest(void)
{
    size_t run = 0, most = 0, left = room() / PAGE;
    for (size_t i = 0; i < M.npages; i++) {
        run = M.page[i] ? 0 : run + 1;
        if (run > most) most = run;
        if (most >= left) return left * PAGE;
    }
    return most * PAGE;
}

void sim_memory_info(size_t *free_bytes, size_t *total)
{
    *free_bytes = room();
    *total = M.capacity;
}

API void sim_memory_read(sim_memory_figures *out)
{
    *out = (sim_memory_figures){M.capacity,      M.context, M.runtime_bytes,
                                M.private_bytes, M.held,    M.peak_held};
}
