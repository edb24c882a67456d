/* copy.c - copies and sets. Eager: done when the call returns. */
#include "state.h"
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

static cudaError_t copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                        int really)
{
    int to_device, from_device;
    if (!directions(to, from, kind, &to_device, &from_device))
        return cudaErrorInvalidMemcpyDirection;
    if (bytes == 0) return cudaSuccess;
    if (sim_sticky || sim_pending) return cudaSuccess; /* nothing runs on a dead context */
    char *t = side(to, bytes, to_device), *f = side(from, bytes, from_device);
    if (!t || !f) {
        const void *bad = t ? from : to;
        sim_say("a copy of %zu bytes %s %p: %s", bytes, t ? "from" : "to", bad,
                sim_memory_describe((uint64_t)(uintptr_t)bad));
        return cudaErrorInvalidValue;
    }
    if (really) memmove(t, f, bytes);
    return cudaSuccess;
}

API cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    ENTER();
    sim_settle();
    LEAVE(copy(to, from, bytes, kind, 1));
}

API cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                cudaStream_t stream)
{
    (void)stream;
    ENTER();
    LEAVE(copy(to, from, bytes, kind, 1));
}

static cudaError_t copy_2d(char *to, size_t to_pitch, const char *from, size_t from_pitch,
                           size_t width, size_t height, enum cudaMemcpyKind kind)
{
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    cudaError_t e = cudaSuccess;
    for (int really = 0; really < 2; really++) /* all rows are looked at before one is copied */
        for (size_t y = 0; y < height && e == cudaSuccess; y++)
            e = copy(to + y * to_pitch, from + y * from_pitch, width, kind, really);
    return e;
}

API cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, enum cudaMemcpyKind kind)
{
    ENTER();
    sim_settle();
    LEAVE(copy_2d(to, to_pitch, from, from_pitch, width, height, kind));
}

API cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t stream)
{
    (void)stream;
    ENTER();
    LEAVE(copy_2d(to, to_pitch, from, from_pitch, width, height, kind));
}

static cudaError_t set(void *p, int value, size_t bytes)
{
    if (bytes == 0 || sim_sticky || sim_pending) return cudaSuccess;
    char *host = sim_memory_at((uint64_t)(uintptr_t)p, bytes);
    if (!host) {
        sim_say("a set of %zu bytes at %p: %s", bytes, p,
                sim_memory_describe((uint64_t)(uintptr_t)p));
        return cudaErrorInvalidValue;
    }
    memset(host, value, bytes);
    return cudaSuccess;
}

API cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    ENTER();
    LEAVE(set(p, value, bytes));
}

API cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    (void)stream;
    ENTER();
    LEAVE(set(p, value, bytes));
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
