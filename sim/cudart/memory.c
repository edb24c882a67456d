/* memory.c - blocks of device memory: granules of 512 bytes, fragmentation. Big requests take whole
 * pages of their own; small ones share pages. */
#include "pages.h"
#include <stdio.h>
#include <stdlib.h>

#define GRANULE 512
#define SMALL   MIB /* larger requests get pages of their own */

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
    if (n * PAGE > pages_room() || !sim_host_has(n * PAGE) || (first = find_pages(n)) == SIZE_MAX ||
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
