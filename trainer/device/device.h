/* device.h - the one GPU: stream, cuBLAS and cuDNN handles, the allocator. Everything the trainer
 * allocates on the device goes through pt_mem_*, with a tag. */
#ifndef PT_DEVICE_H
#define PT_DEVICE_H
#include "error.h"
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <stdint.h>

typedef enum pt_allocator_kind {
    PT_ALLOC_CACHING,
    PT_ALLOC_DIRECT,
    PT_ALLOC_ASYNC
} pt_allocator_kind;

typedef struct pt_device {
    cudaStream_t stream;
    cublasHandle_t cublas;
    cudnnHandle_t cudnn;
    void *cublas_workspace; /* ours, so that cuBLAS allocates nothing behind the allocator's back */
    struct pt_mem *mem;
    char name[256];
    size_t total_bytes;
    int simulated;  /* the simulated device's marker symbol was found */
    void *pinned;   /* host memory that every copy goes through; NULL: pageable memory has to do */
    void *pageable; /* which then is this; else NULL */
    size_t queued;  /* bytes at its start that copies since the last wait go through */
    size_t fetched; /* and at its end, of pt_fetch */
    int busy;       /* a copy was begun and was not waited for yet */
} pt_device;

/* Handles first, then the workspace. Fails with a message that says how to run without a GPU when
 * there is no usable device. Owned by the caller. */
pt_status pt_device_open(pt_allocator_kind allocator, pt_device *out);
/* The first failure of giving back, while the rest is given back all the same. */
pt_status pt_device_close(pt_device *d);
pt_status pt_device_sync(pt_device *d); /* waits for the stream; earlier errors surface here */

/* count * size bytes, the product checked: a nonsense size is PT_ERR_INTERNAL and never reaches
 * the allocator. count == 0 gives NULL. The block is the caller's until pt_mem_free. Contents are
 * undefined. An error leaves *out NULL. */
pt_status pt_mem_alloc(pt_device *d, size_t count, size_t size, const char *tag, void **out);
void pt_mem_free(pt_device *d, void *block); /* NULL is allowed */
pt_status pt_mem_release(pt_device *d);      /* unused blocks go back to the driver */
size_t pt_mem_used(const pt_device *d);      /* bytes of blocks in use, rounded up to 512 each */
size_t pt_mem_held(const pt_device *d);      /* bytes taken from the driver */
size_t pt_mem_least(const pt_device *d);     /* what a release would leave of them */
size_t pt_mem_peak(pt_device *d, int reset); /* peak of held since the last reset */
size_t pt_mem_used_peak(const pt_device *d); /* of used, since the same reset */
/* What would have been in use, had the last allocation that failed been possible. */
size_t pt_mem_missed(const pt_device *d);

/* An arena is a list of blocks that die together: whatever a failed attempt had is freed by one
 * call, at one place. */
typedef struct pt_arena {
    pt_device *device;
    void **block;
    size_t n, capacity;
} pt_arena;
void pt_arena_init(pt_arena *a, pt_device *d);
pt_status pt_arena_alloc(pt_arena *a, size_t count, size_t size, const char *tag, void **out);
void pt_arena_drop(pt_arena *a, void *block); /* frees one block early */
void pt_arena_free(pt_arena *a);              /* frees all; the arena can be used again */

/* Copies on the device's stream, through pinned memory: when one of them returns, however it ended,
 * nothing reads or writes the host buffer any more. up waits for the device only where the pinned
 * memory is full, and that the copy failed may show at a later wait; down waits. */
pt_status pt_copy_up(pt_device *d, void *device, const void *host, size_t bytes);
pt_status pt_copy_down(pt_device *d, void *host, const void *device, size_t bytes);
/* Several of them with one wait, where the pinned memory holds them all. n 0: a wait. */
typedef struct pt_copy {
    void *host;
    const void *device;
    size_t bytes;
} pt_copy;
pt_status pt_copies_down(pt_device *d, const pt_copy *copy, int n);
/* A copy down that waits for nothing: *at is where the bytes lie after the next wait that ends
 * well, until pt_fetch_start is called again. PT_FETCH bytes fit from start to start. pt_fetch_room
 * is the room alone, NULL when there is none. */
#define PT_FETCH ((size_t)64 << 10)
void pt_fetch_start(pt_device *d);
void *pt_fetch_room(pt_device *d, size_t bytes);
pt_status pt_fetch(pt_device *d, const void *device, size_t bytes, const void **at);
pt_status pt_zero(pt_device *d, void *device, size_t bytes);

#endif
