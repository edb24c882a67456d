/* pages.c - the simulated card: capacity, the window of addresses, pages of 2 MiB.
 *
 * Addresses live in a reservation without access; the bytes lie elsewhere, so host code that
 * follows a device pointer faults. A page that holds nothing goes back and stays reserved but
 * inaccessible, so a kernel that still uses it faults. free = capacity - context - pages held.
 *
 * An address is the window's begin plus the offset of the block, in which pages are counted. Under
 * OOMPROOF_SIM_CHECK=1 each block has an address of its own (ranges.h), and the count is the same.
 */
#define _GNU_SOURCE
#include "pages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP \
    (512 * MIB) /* bytes of freed pages whose contents stay in host memory, ready for use */

#define APART     \
    ((uint64_t)32 \
     << 40) /* bytes of addresses under check: millions of blocks before one is reused */

sim_card M;

static char *reserved(size_t bytes)
{
    return mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static char *in_pages(char *p)
{
    return (char *)(((uintptr_t)p + PAGE - 1) / PAGE * PAGE);
}

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
    char *window = MAP_FAILED, *bytes = reserved(M.span + PAGE);
    M.page = calloc(M.npages, 1);
    M.block_at = calloc(M.npages, sizeof(block *)); /* untouched pages of it cost nothing either */
    int ok = sim_checking() ? sim_ranges_open(&M.apart, APART, M.span + 2 * SIM_GAP)
                            : (window = reserved(M.span + 2 * PAGE)) != MAP_FAILED;
    if (!ok || bytes == MAP_FAILED || !M.page || !M.block_at) {
        sim_say("the address space for a simulated card of %zu MiB cannot be reserved: %s",
                M.capacity / MIB, strerror(errno));
        return M.broken = cudaErrorInitializationError;
    }
    M.bytes = in_pages(bytes);
    if (!sim_checking()) M.base = (uint64_t)(uintptr_t)in_pages(window) + PAGE;
    return cudaSuccess;
}

static char *host_of(uint64_t offset)
{
    return M.bytes + offset;
}

int take_pages(size_t first, size_t n, unsigned char kind)
{
    if (mprotect(host_of(first * PAGE), n * PAGE, PROT_READ | PROT_WRITE) != 0) return 0;
    memset(M.page + first, kind, n);
    M.held += n * PAGE;
    M.kept = M.kept > n * PAGE ? M.kept - n * PAGE : 0;
    if (M.held > M.peak_held) M.peak_held = M.held;
    return 1;
}

void give_pages(size_t first, size_t n)
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

size_t pages_room(void)
{
    size_t piece, gone = M.context + M.held + sim_pressure(&piece);
    return gone < M.capacity ? M.capacity - gone : 0;
}

size_t find_pages(size_t n)
{
    size_t run = 0;
    for (size_t i = 0; i < M.npages; i++) {
        run = M.page[i] ? 0 : run + 1;
        if (run == n) return i + 1 - n;
    }
    return SIZE_MAX;
}

int sim_memory_is_device(const void *p)
{
    uint64_t a = (uint64_t)(uintptr_t)p;
    return sim_checking() ? sim_ranges_hold(&M.apart, a) : M.span && a - M.base < M.span;
}

/* OOMPROOF_SIM_CHECK=1 closes the window: every access is looked up. */
void sim_memory_window(sim_ctx *c)
{
    c->base = M.base;
    c->bytes = sim_checking() ? 0 : M.span;
    c->delta = sim_checking() ? 0 : (int64_t)((uint64_t)(uintptr_t)M.bytes - M.base);
}

void sim_memory_info(size_t *free_bytes, size_t *total)
{
    *free_bytes = pages_room();
    *total = M.capacity;
}

API void sim_memory_read(sim_memory_figures *out)
{
    *out = (sim_memory_figures){M.capacity, M.context,   M.runtime_bytes,    M.private_bytes,
                                M.held,     M.peak_held, sim_managed_bytes()};
}
