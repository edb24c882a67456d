/* alloc.c - device memory by the calls of the runtime. */
#include "state.h"

API cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    ENTER();
    if (!free_bytes || !total) LEAVE(cudaErrorInvalidValue);
    sim_memory_info(free_bytes, total);
    LEAVE(cudaSuccess);
}

API cudaError_t cudaMalloc(void **out, size_t bytes)
{
    ENTER();
    if (!out) LEAVE(cudaErrorInvalidValue);
    cudaError_t e = sim_sticky ? sim_sticky : sim_capture_unsafe();
    LEAVE(e == cudaSuccess ? sim_memory_alloc(bytes, 0, out) : e);
}

API cudaError_t cudaFree(void *p)
{
    ENTER();
    cudaError_t e = p ? sim_capture_unsafe() : cudaSuccess;
    if (e != cudaSuccess) LEAVE(e);
    sim_settle(); /* freeing waits for the device */
    if (sim_sticky) LEAVE(sim_sticky);
    if (sim_managed(p)) LEAVE(sim_managed_free(p));
    LEAVE(sim_pool_take_back(p, NULL) ? cudaSuccess : sim_memory_free(p, "cudaFree"));
}

/* Rows of a multiple of 512 bytes, as on the cards that were asked. */
static cudaError_t pitched(void **out, size_t *pitch, size_t width, size_t rows)
{
    size_t row = (width + 511) / 512 * 512, bytes;
    if (row < width || __builtin_mul_overflow(row, rows, &bytes)) return cudaErrorInvalidValue;
    cudaError_t e = sim_sticky ? sim_sticky : sim_capture_unsafe();
    if (e == cudaSuccess) e = sim_memory_alloc(bytes, 0, out);
    if (e == cudaSuccess) *pitch = row;
    return e;
}

API cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
    ENTER();
    if (!out || !pitch) LEAVE(cudaErrorInvalidValue);
    LEAVE(pitched(out, pitch, width, height));
}

API cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent e)
{
    size_t rows;
    ENTER();
    if (!out || __builtin_mul_overflow(e.height, e.depth, &rows)) LEAVE(cudaErrorInvalidValue);
    struct cudaPitchedPtr p = {.xsize = e.width, .ysize = e.height};
    cudaError_t error = pitched(&p.ptr, &p.pitch, e.width, rows);
    if (error == cudaSuccess) *out = p;
    LEAVE(error);
}

char *sim_device_at(uint64_t address, size_t bytes)
{
    char *p = sim_memory_at(address, bytes);
    return p ? p : sim_host_at(address, bytes);
}

char *sim_device_reach(uint64_t address, size_t bytes, uint64_t *from, uint64_t *room)
{
    char *p = sim_memory_reach(address, bytes, from, room);
    return p ? p : sim_host_reach(address, bytes, from, room);
}
