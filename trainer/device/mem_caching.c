/* mem_caching.c - blocks are kept, split and merged, and given back when asked, like the
 * frameworks' allocators: requests up to 1 MiB share segments of 2 MiB, up to 10 MiB segments of 20
 * MiB, larger ones have a segment of their own rounded up to 2 MiB; the best fit wins. Only a
 * segment that is wholly unused can go back to the driver. */
#include "device/mem.h"
#include <stdlib.h>

#define MIB ((size_t)1 << 20)

typedef struct piece {
    char *at;
    size_t bytes, asked; /* asked: of the bytes, while it is used; the rest is waste */
    int used, small;
    struct segment *segment;
    struct piece *prev, *next; /* within the segment */
    struct piece *list;        /* all pieces */
} piece;
typedef struct segment {
    char *at;
    size_t bytes;
} segment;
typedef struct cache {
    piece *all;
} cache;

pt_status pt_mem_caching_open(pt_mem *m)
{
    m->state = calloc(1, sizeof(cache));
    return m->state ? PT_OK : pt_fail(PT_ERR_HOST, "no host memory for the allocator");
}

static size_t segment_bytes(size_t bytes)
{
    if (bytes <= MIB) return 2 * MIB;
    if (bytes < 10 * MIB) return 20 * MIB;
    return (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

static void unlist(cache *c, piece *p)
{
    piece **at = &c->all;
    while (*at != p) at = &(*at)->list;
    *at = p->list;
    free(p);
}

/* A failure leaves the runtime's last error for the classifier. */
static pt_status new_segment(pt_mem *m, size_t bytes, int small, const char *tag, piece **out)
{
    cache *c = m->state;
    segment *s = calloc(1, sizeof *s);
    piece *p = calloc(1, sizeof *p);
    void *at = NULL;
    pt_status st = PT_OK;
    if (!s || !p) {
        st = pt_fail(PT_ERR_HOST, "no host memory for a segment");
        goto failed;
    }
    size_t want = segment_bytes(bytes);
    st = pt_mem_driver_alloc(m, want, tag, &at);
    if (st != PT_OK && pt_error_last()->code == cudaErrorMemoryAllocation) {
        /* what is cached may be what is missing: give it back and ask once more, for no more than
         * needed */
        cudaGetLastError();
        if ((st = m->ops->release(m)) != PT_OK) goto failed;
        want = bytes <= MIB ? want : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
        st = pt_mem_driver_alloc(m, want, tag, &at);
    }
    if (st != PT_OK) goto failed;
    *s = (segment){at, want};
    *p = (piece){.at = at, .bytes = want, .small = small, .segment = s, .list = c->all};
    c->all = p;
    *out = p;
    return PT_OK;
failed:
    free(s);
    free(p);
    return st;
}

static pt_status caching_alloc(pt_mem *m, size_t bytes, const char *tag, void **out)
{
    cache *c = m->state;
    piece *best = NULL;
    int small = bytes <= MIB;
    for (piece *p = c->all; p; p = p->list)
        if (!p->used && p->small == small && p->bytes >= bytes &&
            (!best || p->bytes < best->bytes || (p->bytes == best->bytes && p->at < best->at)))
            best = p;
    if (!best) {
        pt_status st = new_segment(m, bytes, small, tag, &best);
        if (st != PT_OK) return st;
    }
    if (best->bytes - bytes >= (small ? PT_GRANULE : MIB)) {
        piece *rest = calloc(1, sizeof *rest);
        if (rest) { /* without host memory the block is just larger than asked for */
            *rest = (piece){.at = best->at + bytes,
                            .bytes = best->bytes - bytes,
                            .small = small,
                            .segment = best->segment,
                            .prev = best,
                            .next = best->next,
                            .list = c->all};
            if (rest->next) rest->next->prev = rest;
            best->next = rest;
            best->bytes = bytes;
            c->all = rest;
        }
    }
    best->used = 1;
    best->asked = bytes;
    *out = best->at;
    return PT_OK;
}

static size_t caching_free(pt_mem *m, void *block)
{
    cache *c = m->state;
    piece *p = c->all;
    while (p && !(p->used && p->at == (char *)block)) p = p->list;
    if (!p) return 0;
    size_t asked = p->asked; /* what was wasted depends on what came before, this does not */
    p->used = 0;
    if (p->next && !p->next->used) {
        piece *n = p->next;
        p->bytes += n->bytes;
        p->next = n->next;
        if (p->next) p->next->prev = p;
        unlist(c, n);
    }
    if (p->prev && !p->prev->used) {
        piece *q = p->prev;
        q->bytes += p->bytes;
        q->next = p->next;
        if (q->next) q->next->prev = q;
        unlist(c, p);
    }
    return asked;
}

static pt_status caching_release(pt_mem *m)
{
    cache *c = m->state;
    pt_status st = PT_OK;
    for (piece *p = c->all, *next; p; p = next) {
        next = p->list;
        if (p->used || p->bytes != p->segment->bytes) continue;
        pt_status freed = pt_mem_driver_free(m, p->segment->at, p->segment->bytes);
        if (st == PT_OK) st = freed;
        free(p->segment);
        unlist(c, p);
    }
    return st;
}

static void caching_close(pt_mem *m)
{
    cache *c = m->state;
    for (piece *p = c->all; p; p = p->list)
        if (!p->prev) {
            pt_mem_driver_free(m, p->segment->at, p->segment->bytes);
            free(p->segment);
        }
    while (c->all) unlist(c, c->all);
    free(c);
}

static void caching_spare(const pt_mem *m, size_t *bytes, size_t *largest)
{
    const cache *c = m->state;
    *bytes = *largest = 0;
    for (const piece *p = c->all; p; p = p->list) {
        if (p->used) continue;
        *bytes += p->bytes;
        if (p->bytes > *largest) *largest = p->bytes;
    }
}

static size_t caching_idle(const pt_mem *m)
{
    size_t idle = 0;
    for (const piece *p = ((const cache *)m->state)->all; p; p = p->list)
        if (!p->used && p->bytes == p->segment->bytes) idle += p->bytes;
    return idle;
}

const pt_mem_ops pt_mem_caching = {caching_alloc, caching_free,  caching_release,
                                   caching_close, caching_spare, caching_idle};
