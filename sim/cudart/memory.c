/* memory.c - blocks of device memory: granules of 512 bytes, fragmentation. Big requests take whole
 * pages of their own; small ones share pages. */
#include "pages.h"
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
    return (void *)(uintptr_t)b->address;
}

/* The block that begins at, or contains, an address that the program may use. */
static block *find_used(uint64_t address)
{
    if (sim_checking()) {
        sim_range *x = sim_ranges_find(&M.apart, address);
        return x && !x->going ? x->owner : NULL;
    }
    uint64_t at = address - M.base;
    if (at >= M.span) return NULL;
    block *b = M.block_at[at / PAGE];
    while (b && b->at + b->bytes <= at) b = b->next;
    return b && at >= b->at && b->state == USED ? b : NULL;
}

/* The block that begins there; NULL: none does. */
static block *block_at(const void *p)
{
    block *b = p ? find_used((uint64_t)(uintptr_t)p) : NULL;
    return b && address_of(b) == p ? b : NULL;
}

/* Back to its page, or its pages back to the device. */
static void give_block(block *b)
{
    size_t page = (size_t)(b->at / PAGE);
    if (sim_checking() && b->address) sim_ranges_remove(&M.apart, b->address);
    b->address = 0;
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

/* The program's from now on. 0: there is no address for it, which under check can be. */
static int lend(block *b, size_t bytes)
{
    b->state = USED;
    b->asked = bytes;
    b->address = !sim_checking()
                     ? M.base + b->at
                     : sim_ranges_place(&M.apart, bytes, M.page[b->at / PAGE] == 2 ? PAGE : GRANULE,
                                        M.bytes + b->at, b);
    if (!b->address) {
        sim_say("no addresses are left for an allocation of %zu bytes: under OOMPROOF_SIM_CHECK=1 "
                "each has its own, with room around it",
                bytes);
        return 0;
    }
    b->allocated.n = 0;
    if (b->private_entry != SIM_HEAP) sim_site_take(&b->allocated); /* kernels have no call sites */
    count(b, 1);
    return 1;
}

/* A failure leaves *out alone, so that a program that trusts it without looking at the error uses
 * what it had there, as it may with NVIDIA's library. */
cudaError_t sim_memory_alloc(size_t bytes, int private_entry, void **out)
{
    if (bytes == 0) {
        *out = NULL;
        return cudaSuccess;
    }
    size_t piece;
    sim_pressure_count();
    sim_pressure(&piece);
    if (bytes > M.capacity || bytes > piece) return cudaErrorMemoryAllocation;
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
    b->private_entry = private_entry;
    b->pool = NULL;
    b->name = NULL;
    if (!lend(b, bytes)) {
        give_block(b);
        return cudaErrorMemoryAllocation;
    }
    *out = address_of(b);
    return cudaSuccess;
}

size_t sim_memory_heap_bytes(uint64_t address)
{
    block *b = block_at((void *)(uintptr_t)address);
    return b && b->private_entry == SIM_HEAP ? rounded(b->asked) : 0;
}

/* No longer the program's. */
static void take_back(block *b)
{
    sim_site_freed(b->address, b->asked, b->private_entry == SIM_HEAP ? NULL : &b->allocated);
    count(b, -1);
}

cudaError_t sim_memory_free(void *p, const char *call)
{
    if (!p) return cudaSuccess;
    block *b = block_at(p);
    if (!b) {
        sim_say("%s(%p): %s", call, p, sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    take_back(b);
    give_block(b);
    return cudaSuccess;
}

void sim_memory_name(void *p, const char *name)
{
    block_at(p)->name = name;
}

void **sim_memory_pool(void *p)
{
    block *b = block_at(p);
    return b ? &b->pool : NULL;
}

size_t sim_memory_bytes(void *p)
{
    return block_at(p)->bytes;
}

block *sim_memory_hold(void *p, int later, size_t *bytes)
{
    block *b = block_at(p);
    take_back(b);
    b->state = HELD;
    *bytes = b->bytes;
    if (!sim_checking()) return b;
    b->address = 0;
    if (later)
        sim_ranges_find(&M.apart, (uint64_t)(uintptr_t)p)->going = 1;
    else
        sim_ranges_remove(&M.apart, (uint64_t)(uintptr_t)p);
    return b;
}

void sim_memory_gone(void *p)
{
    sim_range *x = sim_checking() ? sim_ranges_find(&M.apart, (uint64_t)(uintptr_t)p) : NULL;
    if (x && x->going) sim_ranges_remove(&M.apart, (uint64_t)(uintptr_t)p);
}

void *sim_memory_reuse(block *b, size_t bytes)
{
    if (lend(b, bytes)) return address_of(b);
    b->state = HELD;
    return NULL;
}

void sim_memory_drop(block *b)
{
    give_block(b);
}

void sim_memory_reset(void)
{
    for (int again = 1; again;) { /* giving one back merges its neighbours */
        block *b = M.first;
        while (b && (b->state == FREE || b->private_entry)) b = b->next;
        again = b != NULL;
        if (!b) break;
        if (b->state == USED) take_back(b);
        give_block(b);
    }
    for (size_t i = M.apart.n; i-- > 0;)
        if (M.apart.live[i].going) sim_ranges_remove(&M.apart, M.apart.live[i].from);
}

/* Contents of `bytes` at an address `inside` a block. In this form nothing wraps around, however
 * large `bytes` is */
static char *within(const char *host, size_t asked, uint64_t inside, size_t bytes)
{
    return inside > asked || bytes > asked - inside ? NULL : (char *)(uintptr_t)host + inside;
}

char *sim_memory_at(uint64_t address, size_t bytes)
{
    block *b = find_used(address);
    return b ? within(M.bytes + b->at, b->asked, address - b->address, bytes) : NULL;
}

char *sim_memory_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room)
{
    sim_range *x = sim_checking() ? sim_ranges_find(&M.apart, address) : NULL;
    block *b = !sim_checking() ? find_used(address) : x && !x->going ? x->owner : NULL;
    if (!x && !b) return NULL;
    *from = x ? x->from : b->address;
    *room = x ? x->bytes : b->asked;
    char *host = within(x ? x->host : M.bytes + b->at, *room, address - *from, bytes);
    if (b && b->private_entry == SIM_HEAP) *room = 0;
    return host;
}
