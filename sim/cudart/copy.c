/* copy.c - copies and sets: checked when they are called, done in stream order. */
#include "state.h"
#include <stdlib.h>
#include <string.h>

/* Host address of one side of a copy; NULL: the range is not what the direction says. */
static char *side(const void *p, size_t bytes, int device)
{
    if (device) return sim_device_at((uint64_t)(uintptr_t)p, bytes);
    if (sim_memory_is_device(p)) return NULL;
    if (sim_host_was_shared(p)) return sim_host_at((uint64_t)(uintptr_t)p, bytes);
    return (char *)(uintptr_t)p;
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
}

static void drop(void *arg)
{
    free(((rectangle *)arg)->kept);
}

static const sim_work moving = {cudaGraphNodeTypeMemcpy, move, drop};

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
    if (sim_lazy() && !sim_capturing(s) && to_device && !from_device &&
        !sim_pinned(f, from_bytes)) {
        if (!(r.kept = malloc(from_bytes))) return cudaErrorMemoryAllocation;
        memcpy(r.kept, f, from_bytes);
        r.from = r.kept;
    }
    return sim_submit(s, &moving, &r, sizeof r);
}

static rectangle row(void *to, const void *from, size_t bytes)
{
    return (rectangle){.to = to, .from = from, .width = bytes, .height = 1};
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    ENTER();
    cudaError_t e = sim_capture_check(sim_stream(NULL));
    if (e != cudaSuccess) LEAVE(e);
    sim_settle();
    e = copy(row(to, from, bytes), kind, sim_stream(NULL));
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
    cudaError_t e = sim_capture_check(sim_stream(NULL));
    if (e != cudaSuccess) LEAVE(e);
    sim_settle();
    e = copy_2d(to, to_pitch, from, from_pitch, width, height, kind, NULL);
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

/* A box between pitched pointers. Arrays are not supported. */
static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    if (!p || p->srcArray || p->dstArray) return p ? cudaErrorNotSupported : cudaErrorInvalidValue;
    const struct cudaPitchedPtr *to = &p->dstPtr, *from = &p->srcPtr;
    if (p->extent.depth > 1 && (to->ysize < p->extent.height || from->ysize < p->extent.height))
        return cudaErrorInvalidValue;
    cudaError_t e = cudaSuccess;
    for (size_t z = 0; z < p->extent.depth && e == cudaSuccess; z++) {
        char *t = (char *)to->ptr + ((p->dstPos.z + z) * to->ysize + p->dstPos.y) * to->pitch +
                  p->dstPos.x;
        const char *f = (const char *)from->ptr +
                        ((p->srcPos.z + z) * from->ysize + p->srcPos.y) * from->pitch + p->srcPos.x;
        e = copy_2d(t, to->pitch, f, from->pitch, p->extent.width, p->extent.height, p->kind,
                    stream);
    }
    return e;
}

API cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    ENTER();
    LEAVE(copy_3d(p, stream));
}

API cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
    ENTER();
    cudaError_t e = sim_capture_check(sim_stream(NULL));
    if (e != cudaSuccess) LEAVE(e);
    sim_settle();
    e = copy_3d(p, NULL);
    sim_run_all();
    LEAVE(e);
}

typedef struct filling {
    char *at;
    int value;
    size_t pitch, width, height;
} filling;

static void fill(void *arg)
{
    const filling *f = arg;
    if (!sim_sticky && !sim_pending)
        for (size_t y = 0; y < f->height; y++) memset(f->at + y * f->pitch, f->value, f->width);
}

static cudaError_t set(void *p, size_t pitch, int value, size_t width, size_t height,
                       cudaStream_t stream)
{
    static const sim_work work = {cudaGraphNodeTypeMemset, fill, NULL};
    struct CUstream_st *s = sim_stream(stream);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (height > 1 && width > pitch) return cudaErrorInvalidPitchValue;
    size_t bytes = span(pitch, width, height);
    if (bytes == 0 || sim_sticky || sim_pending) return cudaSuccess;
    char *host = sim_device_at((uint64_t)(uintptr_t)p, bytes);
    if (!host) {
        sim_say("a set of %zu bytes at %p: %s", bytes, p,
                sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    return sim_submit(s, &work, &(filling){host, value, pitch, width, height}, sizeof(filling));
}

API cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    ENTER();
    LEAVE(set(p, 0, value, bytes, 1, NULL));
}

API cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    ENTER();
    LEAVE(set(p, 0, value, bytes, 1, stream));
}

API cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t height,
                                  cudaStream_t stream)
{
    ENTER();
    LEAVE(set(p, pitch, value, width, height, stream));
}

API cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t height)
{
    return cudaMemset2DAsync(p, pitch, value, width, height, NULL);
}

API cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr p, int value, struct cudaExtent e,
                                  cudaStream_t stream)
{
    ENTER();
    cudaError_t error = cudaSuccess;
    for (size_t z = 0; z < e.depth && error == cudaSuccess; z++)
        error =
            set((char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, e.width, e.height, stream);
    LEAVE(error);
}

API cudaError_t cudaMemset3D(struct cudaPitchedPtr p, int value, struct cudaExtent e)
{
    return cudaMemset3DAsync(p, value, e, NULL);
}
