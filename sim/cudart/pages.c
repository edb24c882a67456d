/* pages.c - the simulated card: capacity, the window of addresses, pages of 2 MiB.
 *
 * Addresses live in a reservation without access; the bytes lie `delta` further on, so host code
 * that follows a device pointer faults. A page that holds nothing goes back and stays reserved but
 * inaccessible, so a kernel that still uses it faults. free = capacity - context - pages held. */
#define _GNU_SOURCE
#include "pages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KEEP \
    (512 * MIB) /* bytes of freed pages whose contents stay in host memory, ready for use */

sim_card M;

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
    size_t gone = M.context + M.held + sim_pressure();
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
    size_t run = 0, most = 0, left = pages_room() / PAGE;
    for (size_t i = 0; i < M.npages; i++) {
        run = M.page[i] ? 0 : run + 1;
        if (run > most) most = run;
        if (most >= left) return left * PAGE;
    }
    return most * PAGE;
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
