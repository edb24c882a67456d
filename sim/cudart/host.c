/* host.c - host memory that the device reaches under the same address: pinned (allocated or
 * registered) and managed. It counts against OOMPROOF_SIM_HOST_MEMORY, so running out of it is an
 * out-of-memory that freeing device memory does not cure. */
#define _GNU_SOURCE
#include "ranges.h"
#include "state.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum kind { PINNED, REGISTERED, MANAGED };
static const char *const kind_names[] = {"pinned", "registered", "managed"};
enum { OF_MODULE = 1u << 31 }; /* a flag: a __managed__ variable, which no program frees */
typedef struct region {
    char *p;
    size_t bytes;
    enum kind kind;
    unsigned flags;
    sim_site made;
    struct region *next;
} region;
static region *regions;
static sim_ranges apart; /* of memory that is allocated here, under OOMPROOF_SIM_CHECK=1 */

static int holds(const region *x, const char *at, size_t bytes)
{
    return at >= x->p && (size_t)(at - x->p) <= x->bytes && bytes <= x->bytes - (size_t)(at - x->p);
}

static region *find(const void *p, size_t bytes)
{
    for (region *x = regions; x; x = x->next)
        if (holds(x, p, bytes)) return x;
    return NULL;
}

char *sim_host_at(uint64_t address, size_t bytes)
{
    return find((const void *)(uintptr_t)address, bytes) ? (char *)(uintptr_t)address : NULL;
}

char *sim_host_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room)
{
    region *x = find((const void *)(uintptr_t)address, bytes);
    if (!x) return NULL;
    *from = (uint64_t)(uintptr_t)x->p;
    *room = x->bytes;
    return (char *)(uintptr_t)address;
}

int sim_pinned(const void *p, size_t bytes)
{
    region *x = find(p, bytes);
    return x && x->kind != MANAGED;
}

int sim_managed(const void *p)
{
    region *x = p ? find(p, 0) : NULL;
    return x && x->kind == MANAGED;
}

size_t sim_managed_bytes(void)
{
    size_t sum = 0;
    for (region *x = regions; x; x = x->next)
        if (x->kind == MANAGED && !(x->flags & OF_MODULE)) sum += (x->bytes + 511) / 512 * 512;
    return sum;
}

/* ---- where it comes from: the heap, under check addresses that are not used again ---- */
static size_t in_pages(size_t bytes)
{
    return bytes ? (bytes + 4095) / 4096 * 4096 : 4096;
}

static void *take(region *x, size_t bytes)
{
    void *p = NULL;
    if (!sim_checking()) return posix_memalign(&p, 4096, bytes ? bytes : 1) == 0 ? p : NULL;
    if (!apart.span && !sim_ranges_open(&apart, (uint64_t)4 << 40, (uint64_t)1 << 30)) return NULL;
    if (bytes > apart.span) return NULL;
    uint64_t at = sim_ranges_place(&apart, in_pages(bytes), 4096, NULL, x);
    p = (void *)(uintptr_t)at;
    if (at && mprotect(p, in_pages(bytes), PROT_READ | PROT_WRITE) == 0) return p;
    if (at) sim_ranges_remove(&apart, at);
    return NULL;
}

static void give(region *x)
{
    if (!sim_checking()) {
        free(x->p);
        return;
    }
    madvise(x->p, in_pages(x->bytes), MADV_DONTNEED);
    mprotect(x->p, in_pages(x->bytes), PROT_NONE);
    sim_ranges_remove(&apart, (uint64_t)(uintptr_t)x->p);
}

static cudaError_t make(void **out, size_t bytes, enum kind kind, unsigned flags)
{
    if (!sim_host_take(bytes)) return cudaErrorMemoryAllocation;
    region *x = malloc(sizeof *x);
    void *p = !x ? NULL : kind == REGISTERED ? *out : take(x, bytes);
    if (!p) {
        free(x);
        sim_host_give(bytes);
        return cudaErrorMemoryAllocation;
    }
    *x = (region){.p = p, .bytes = bytes, .kind = kind, .flags = flags, .next = regions};
    sim_site_take(&x->made);
    regions = x;
    *out = p;
    return cudaSuccess;
}

static cudaError_t add(void **out, size_t bytes, enum kind kind, unsigned flags)
{
    cudaError_t e = sim_sticky ? sim_sticky : sim_capture_unsafe();
    return e == cudaSuccess ? make(out, bytes, kind, flags) : e;
}

/* p as it was allocated or registered; the memory itself is freed where it is ours. */
static cudaError_t drop(void *p, int registered, int managed, unsigned of)
{
    for (region **x = &regions; *x; x = &(*x)->next) {
        region *gone = *x;
        if (gone->p != p || (gone->kind == REGISTERED) != registered ||
            (gone->kind == MANAGED) != managed || (gone->flags & OF_MODULE) != of)
            continue;
        *x = gone->next;
        sim_host_give(gone->bytes);
        if (!registered) {
            sim_site_freed((uint64_t)(uintptr_t)gone->p, gone->bytes, &gone->made);
            give(gone);
        }
        free(gone);
        return cudaSuccess;
    }
    return registered ? cudaErrorHostMemoryNotRegistered : cudaErrorInvalidValue;
}

/* The distance to a block that an address lies close behind, or before. */
static uint64_t beyond(const region *x, uint64_t address, const char **how)
{
    uint64_t from = (uint64_t)(uintptr_t)x->p, end = from + x->bytes;
    *how = address < from ? "before" : address < end ? "into" : "past the end of";
    return address < from ? from - address : address - (address < end ? from : end);
}

const char *sim_host_describe(uint64_t address)
{
    static char text[500];
    char site[300];
    const char *how;
    unsigned char resident;
    region *near = NULL;
    uint64_t least = UINT64_MAX;
    for (region *x = regions; x; x = x->next)
        if (beyond(x, address, &how) < least) least = beyond(near = x, address, &how);
    if (near && least < (sim_checking() ? SIM_GAP : 64)) {
        least = beyond(near, address, &how);
        snprintf(text, sizeof text, "%llu bytes %s %s memory of %zu bytes%s",
                 (unsigned long long)least, how, kind_names[near->kind], near->bytes,
                 sim_site_text(&near->made, "made at", site, sizeof site));
        return text;
    }
    if (mincore((void *)(uintptr_t)(address / 4096 * 4096), 1, &resident) != 0) return NULL;
    return "not a device address: memory of the host, which a kernel reaches only where it is "
           "pinned, registered or managed";
}

int sim_host_was_shared(const void *p)
{
    return apart.span && sim_ranges_hold(&apart, (uint64_t)(uintptr_t)p);
}

cudaError_t sim_managed_free(void *p)
{
    return drop(p, 0, 1, 0);
}

cudaError_t sim_managed_make(void **out, size_t bytes)
{
    cudaError_t e = make(out, bytes, MANAGED, OF_MODULE);
    if (e == cudaSuccess) memset(*out, 0, bytes);
    return e;
}

void sim_managed_drop(void *p)
{
    drop(p, 0, 1, OF_MODULE);
}

API cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    if (!out || flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        LEAVE(cudaErrorInvalidValue);
    LEAVE(add(out, bytes, PINNED, flags));
}

API cudaError_t cudaMallocHost(void **out, size_t bytes)
{
    return cudaHostAlloc(out, bytes, cudaHostAllocDefault);
}

API cudaError_t cudaFreeHost(void *p)
{
    ENTER();
    sim_settle();
    LEAVE(p ? drop(p, 0, 0, 0) : cudaSuccess);
}

API cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    ENTER();
    if (!p || !bytes || sim_memory_is_device(p)) LEAVE(cudaErrorInvalidValue);
    for (region *x = regions; x; x = x->next)
        if ((char *)p < x->p + x->bytes && x->p < (char *)p + bytes)
            LEAVE(cudaErrorHostMemoryAlreadyRegistered);
    LEAVE(add(&p, bytes, REGISTERED, flags));
}

API cudaError_t cudaHostUnregister(void *p)
{
    ENTER();
    sim_settle();
    LEAVE(p ? drop(p, 1, 0, 0) : cudaErrorInvalidValue);
}

API cudaError_t cudaHostGetDevicePointer(void **out, void *p, unsigned flags)
{
    ENTER();
    if (!out || flags || !sim_pinned(p, 0)) LEAVE(cudaErrorInvalidValue);
    *out = p;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaHostGetFlags(unsigned *out, void *p)
{
    ENTER();
    region *x = p ? find(p, 0) : NULL;
    if (!out || !x || x->kind != PINNED) LEAVE(cudaErrorInvalidValue);
    *out = x->flags;
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMallocManaged(void **out, size_t bytes, unsigned flags)
{
    ENTER();
    if (!out || !bytes || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        LEAVE(cudaErrorInvalidValue);
    cudaError_t e = add(out, bytes, MANAGED, flags);
    if (e == cudaSuccess) memset(*out, 0, bytes);
    LEAVE(e);
}

/* Advice and prefetches move nothing here: the memory is in one place. */
API cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes, struct cudaMemLocation where,
                                     unsigned flags, cudaStream_t s)
{
    (void)where;
    ENTER();
    region *x = find(p, bytes);
    if (!sim_stream(s)) LEAVE(cudaErrorInvalidResourceHandle);
    LEAVE(x && x->kind == MANAGED && !flags ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaMemAdvise(const void *p, size_t bytes, enum cudaMemoryAdvise advice,
                              struct cudaMemLocation where)
{
    (void)advice, (void)where;
    ENTER();
    region *x = find(p, bytes);
    LEAVE(x && x->kind == MANAGED ? cudaSuccess : cudaErrorInvalidValue);
}

API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    ENTER();
    if (!a) LEAVE(cudaErrorInvalidValue);
    memset(a, 0, sizeof *a);
    region *x = find(p, 1);
    void *same = (void *)(uintptr_t)p;
    if (sim_memory_at((uint64_t)(uintptr_t)p, 1))
        *a = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice, .devicePointer = same};
    else if (x)
        *a = (struct cudaPointerAttributes){.type = x->kind == MANAGED ? cudaMemoryTypeManaged
                                                                       : cudaMemoryTypeHost,
                                            .devicePointer = same,
                                            .hostPointer = same};
    else
        *a = (struct cudaPointerAttributes){
            .type = cudaMemoryTypeUnregistered, .hostPointer = same, .device = -2};
    LEAVE(cudaSuccess);
}
