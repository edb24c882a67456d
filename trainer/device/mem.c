/* mem.c - the common part of the allocators: checked sizes, tags, counts; and arenas. */
#include "device/mem.h"
#include "probe.h"
#include <stdlib.h>
#include <string.h>

pt_status pt_mem_open(pt_allocator_kind kind, cudaStream_t stream, pt_mem **out)
{
    static const struct {
        const pt_mem_ops *ops;
        pt_status (*open)(pt_mem *m);
    } kinds[] = {[PT_ALLOC_CACHING] = {&pt_mem_caching, pt_mem_caching_open},
                 [PT_ALLOC_DIRECT] = {&pt_mem_direct, pt_mem_direct_open},
                 [PT_ALLOC_ASYNC] = {&pt_mem_async, pt_mem_async_open}};
    pt_mem *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return pt_fail(PT_ERR_HOST, "no host memory for the allocator");
    m->ops = kinds[kind].ops;
    m->stream = stream;
    pt_status st = kinds[kind].open(m);
    if (st != PT_OK)
        free(m);
    else
        *out = m;
    return st;
}

pt_status pt_mem_close(pt_mem *m)
{
    if (!m) return PT_OK;
    m->ops->close(m);
    pt_error lost = m->lost;
    free(m);
    if (lost.status != PT_OK) pt_error_restore(&lost);
    return lost.status;
}

void pt_mem_keep(pt_mem *m, pt_status st)
{
    if (st != PT_OK && m->lost.status == PT_OK) m->lost = *pt_error_last();
}

pt_status pt_mem_driver_alloc(pt_mem *m, size_t bytes, const char *tag, void **out)
{
    const char *before = pt_tag_set(tag);
    void *p = NULL;
    int code = (int)(m->pool ? cudaMallocFromPoolAsync(&p, bytes, m->pool, m->stream)
                             : cudaMalloc(&p, bytes));
    pt_status st = pt_check_at(__FILE__, __LINE__, PT_LIB_CUDA, code,
                               m->pool ? "cudaMallocFromPoolAsync" : "cudaMalloc", tag, bytes);
    pt_tag_set(before);
    *out = st == PT_OK ? p : NULL;
    if (st != PT_OK) return st;
    m->held += bytes;
    if (m->held > m->peak) m->peak = m->held;
    return PT_OK;
}

pt_status pt_mem_driver_free(pt_mem *m, void *p, size_t bytes)
{
    pt_status st = m->pool ? PT_CUDA(cudaFreeAsync(p, m->stream)) : PT_CUDA(cudaFree(p));
    if (st == PT_OK) m->held -= bytes;
    pt_mem_keep(m, st);
    return st;
}

pt_status pt_mem_check(pt_device *d)
{
    if (d->mem->lost.status == PT_OK) return PT_OK;
    pt_error_restore(&d->mem->lost);
    d->mem->lost = (pt_error){0};
    return pt_error_last()->status;
}

static void missed(pt_mem *m, size_t bytes)
{
    const pt_error *e = pt_error_last();
    size_t free, largest;
    m->missed = m->used + bytes;
    if (!m->ops->spare || e->lib != PT_LIB_CUDA || e->code != cudaErrorMemoryAllocation) return;
    m->ops->spare(m, &free, &largest);
    pt_error_spare(free, largest);
}

/* A size that no card has is an overflowed product: a bug, never a lack of memory. */
pt_status pt_mem_alloc(pt_device *d, size_t count, size_t size, const char *tag, void **out)
{
    size_t bytes;
    *out = NULL;
    if (count == 0 || size == 0) return PT_OK;
    if (__builtin_mul_overflow(count, size, &bytes) || bytes > ((size_t)1 << 44))
        return pt_fail(PT_ERR_INTERNAL, "%s: %zu elements of %zu bytes is not a size of memory",
                       tag, count, size);
    bytes = (bytes + PT_GRANULE - 1) / PT_GRANULE * PT_GRANULE;
    pt_mem *m = d->mem;
    pt_status st = m->ops->alloc(m, bytes, tag, out);
    if (st == PT_OK)
        m->used += bytes;
    else
        missed(m, bytes);
    if (m->used > m->used_peak) m->used_peak = m->used;
    return st;
}

void pt_mem_free(pt_device *d, void *block)
{
    if (!block) return;
    pt_error cause = *pt_error_last(); /* freeing after a failure must not hide it */
    d->mem->used -= d->mem->ops->free(d->mem, block);
    pt_error_restore(&cause);
}

pt_status pt_mem_release(pt_device *d)
{
    return d->mem->ops->release(d->mem);
}
size_t pt_mem_used(const pt_device *d)
{
    return d->mem->used;
}
size_t pt_mem_held(const pt_device *d)
{
    return d->mem->held;
}

size_t pt_mem_least(const pt_device *d)
{
    const pt_mem *m = d->mem;
    return m->held - (m->ops->idle ? m->ops->idle(m) : 0);
}

size_t pt_mem_peak(pt_device *d, int reset)
{
    size_t peak = d->mem->peak;
    if (!reset) return peak;
    d->mem->peak = d->mem->held;
    d->mem->used_peak = d->mem->used;
    return peak;
}

size_t pt_mem_used_peak(const pt_device *d)
{
    return d->mem->used_peak;
}
size_t pt_mem_missed(const pt_device *d)
{
    return d->mem->missed;
}

void pt_arena_init(pt_arena *a, pt_device *d)
{
    *a = (pt_arena){.device = d};
}

pt_status pt_arena_alloc(pt_arena *a, size_t count, size_t size, const char *tag, void **out)
{
    *out = NULL;
    if (a->n == a->capacity) {
        size_t capacity = a->capacity ? 2 * a->capacity : 64;
        void **block = realloc(a->block, capacity * sizeof *block);
        if (!block) return pt_fail(PT_ERR_HOST, "no host memory for the list of device blocks");
        a->block = block;
        a->capacity = capacity;
    }
    pt_status st = pt_mem_alloc(a->device, count, size, tag, out);
    if (st == PT_OK && *out) a->block[a->n++] = *out;
    return st;
}

void pt_arena_drop(pt_arena *a, void *block)
{
    for (size_t i = 0; block && i < a->n; i++)
        if (a->block[i] == block) {
            a->block[i] = a->block[--a->n];
            pt_mem_free(a->device, block);
            return;
        }
}

void pt_arena_free(pt_arena *a)
{
    while (a->n) pt_mem_free(a->device, a->block[--a->n]);
    free(a->block);
    *a = (pt_arena){.device = a->device};
}
