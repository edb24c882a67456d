/* mem.h - what an allocator is: a few functions over cudaMalloc or a pool. */
#ifndef PT_MEM_H
#define PT_MEM_H
#include "device/device.h"

#define PT_GRANULE 512 /* what the driver rounds requests up to */

typedef struct pt_mem pt_mem;
typedef struct pt_mem_ops {
    pt_status (*alloc)(pt_mem *m, size_t bytes, const char *tag,
                       void **out);         /* bytes rounded, > 0 */
    size_t (*free)(pt_mem *m, void *block); /* returns its bytes */
    pt_status (*release)(pt_mem *m);
    void (*close)(pt_mem *m);
    /* Bytes that it holds and nobody uses, and the largest block of them; NULL: it keeps none, or
     * only the driver knows. Asks nothing of the device. */
    void (*spare)(const pt_mem *m, size_t *bytes, size_t *largest);
    size_t (*idle)(const pt_mem *m); /* bytes that a release would give back; NULL: none */
} pt_mem_ops;

struct pt_mem {
    const pt_mem_ops *ops;
    size_t used, held, peak, used_peak;
    size_t missed; /* used, and what was asked for on top of it, when that last failed */
    pt_error lost; /* the first free that failed and was not told yet; status PT_OK: none */
    void *state;
    cudaStream_t stream; /* of the blocks of a pool */
    cudaMemPool_t pool;  /* NULL: blocks come from cudaMalloc */
};

pt_status pt_mem_open(pt_allocator_kind kind, cudaStream_t stream, pt_mem **out);
/* The first failure of giving back: a free untold so far, or one of closing. NULL is allowed. */
pt_status pt_mem_close(pt_mem *m);
/* cudaMalloc, or the same of the pool, with the tag set around it and held counted. */
pt_status pt_mem_driver_alloc(pt_mem *m, size_t bytes, const char *tag, void **out);
/* A failure leaves held as it is: the memory was not given back. Told by pt_mem_check. */
pt_status pt_mem_driver_free(pt_mem *m, void *p, size_t bytes);
/* Keeps a failure on a path that cannot fail, the first since the last check. */
void pt_mem_keep(pt_mem *m, pt_status st);
/* A free that failed since the last check, once: freeing happens on paths that cannot fail. */
pt_status pt_mem_check(pt_device *d);

extern const pt_mem_ops pt_mem_direct, pt_mem_caching, pt_mem_async;
pt_status pt_mem_caching_open(pt_mem *m);
pt_status pt_mem_direct_open(pt_mem *m);
pt_status pt_mem_async_open(pt_mem *m);

#endif
