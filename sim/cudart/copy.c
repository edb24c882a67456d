/* copy.c - copies and sets: checked when they are called, done in stream order. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* Host address of one side of a copy; NULL: the range is not what the direction says. */
static char *side(const void *p, size_t bytes, int device)
{
    if (device) return sim_memory_at((uint64_t)(uintptr_t)p, bytes);
    return sim_memory_is_device(p) ? NULL : (char *)(uintptr_t)p;
}

static int directions(const void *to, const void *from, enum cudaMemcpyKind kind, int *to_device,
                      int *from_device)
{
    switch (kind) {
    case cudaMemcpyHostToHost: *to_device = *from_device = 0; return 1;
    case cudaMemcpyHostToDevice:
        *to_device = 1;
        *from_device = 0;
        return 1;
    case cudaMemcpyDeviceToHost:
        *to_device = 0;
        *from_device = 1;
        return 1;
    case cudaMemcpyDeviceToDevice: *to_device = *from_device = 1; return 1;
    case cudaMemcpyDefault:
        *to_device = sim_memory_is_device(to);
        *from_device = sim_memory_is_device(from);
        return 1;
    }
    return 0;
}

/* A rectangle of bytes; a plain copy is one row. */
typedef struct rectangle {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    char *kept; /* what the host source held when the call was made; NULL: it is read later */
} rectangle;

static void move(void *arg)
{
    const rectangle *r = arg;
    if (!sim_sticky && !sim_pending) /* nothing runs on a dead context */
        for (size_t y = 0; y < r->height; y++)
            memmove(r->to + y * r->to_pitch, r->from + y * r->from_pitch, r->width);
    free(r->kept);
}

/* The bytes that a side spans; 0 for none, SIZE_MAX where that does not fit. */
static size_t span(size_t pitch, size_t width, size_t height)
{
    size_t rows;
    if (!width || !height) return 0;
    return __builtin_mul_overflow(height - 1, pitch, &rows) || rows > SIZE_MAX - width
               ? SIZE_MAX
               : rows + width;
}

/* Checked now, moved in stream order. Host memory that is not pinned is read now, as a card's
 * driver stages it. */
static cudaError_t copy(rectangle r, enum cudaMemcpyKind kind, struct CUstream_st *s)
{
    int to_device, from_device;
    if (!s) return cudaErrorInvalidResourceHandle;
    if (!directions(r.to, r.from, kind, &to_device, &from_device))
        return cudaErrorInvalidMemcpyDirection;
    size_t to_bytes = span(r.to_pitch, r.width, r.height),
           from_bytes = span(r.from_pitch, r.width, r.height);
    if (to_bytes == 0) return cudaSuccess;
    if (sim_sticky || sim_pending) return cudaSuccess;
    char *t = side(r.to, to_bytes, to_device), *f = side(r.from, from_bytes, from_device);
    if (!t || !f) {
        const void *bad = t ? r.from : r.to;
        sim_say("a copy of %zu bytes %s %p: %s", t ? from_bytes : to_bytes, t ? "from" : "to", bad,
                sim_memory_describe((uint64_t)(uintptr_t)bad));
        return cudaErrorInvalidValue;
    }
    r.to = t;
    r.from = f;
    if (sim_lazy() && to_device && !from_device && !sim_pinned(f, from_bytes)) {
        if (!(r.kept = malloc(from_bytes))) return cudaErrorMemoryAllocation;
        memcpy(r.kept, f, from_bytes);
        r.from = r.kept;
    }
    return sim_submit(s, move, &r, sizeof r);
}

static rectangle row(void *to, const void *from, size_t bytes)
{
    return (rectangle){.to = to, .from = from, .width = bytes, .height = 1};
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    ENTER();
    sim_settle();
    cudaError_t e = copy(row(to, from, bytes), kind, sim_stream(NULL));
    sim_run_all();
    LEAVE(e);
}

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    ENTER();
    LEAVE(copy(row(to, from, bytes), kind, sim_stream(stream)));
}

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t s)
{
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    return copy((rectangle){to, from, to_pitch, from_pitch, width, height, NULL}, kind,
                sim_stream(s));
}

API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind)
{
    ENTER();
    sim_settle();
    cudaError_t e = copy_2d(to, to_pitch, from, from_pitch, width, height, kind, NULL);
    sim_run_all();
    LEAVE(e);
}

API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    ENTER();
    LEAVE(copy_2d(to, to_pitch, from, from_pitch, width, height, kind, stream));
}

typedef struct filling {
    char *at;
    int value;
    size_t bytes;
} filling;

static void fill(void *arg)
{
    const filling *f = arg;
    if (!sim_sticky && !sim_pending) memset(f->at, f->value, f->bytes);
}

static cudaError_t set(void *p, int value, size_t bytes, cudaStream_t stream)
{
    struct CUstream_st *s = sim_stream(stream);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (bytes == 0 || sim_sticky || sim_pending) return cudaSuccess;
    char *host = sim_memory_at((uint64_t)(uintptr_t)p, bytes);
    if (!host) {
        sim_say("a set of %zu bytes at %p: %s", bytes, p,
                sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    return sim_submit(s, fill, &(filling){host, value, bytes}, sizeof(filling));
}

API cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    ENTER();
    LEAVE(set(p, value, bytes, NULL));
}

API cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    LEAVE(set(p, value, bytes, stream));
}

API cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p)
{
    ENTER();
    if (!a) LEAVE(cudaErrorInvalidValue);
    memset(a, 0, sizeof *a);
    if (sim_memory_at((uint64_t)(uintptr_t)p, 1)) {
        a->type = cudaMemoryTypeDevice;
        a->devicePointer = (void *)(uintptr_t)p;
    } else {
        a->type = cudaMemoryTypeUnregistered;
        a->hostPointer = (void *)(uintptr_t)p;
        a->device = -2;
    }
    LEAVE(cudaSuccess);
}
