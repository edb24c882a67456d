/* simdev.h - the private entries of the simulated libcudart.so.13, for the simulated cuBLAS and
 * cuDNN and for tests. They are not CUDA names, so a shim on the runtime does not see them:
 * exactly as NVIDIA's libraries carry a runtime of their own.
 *
 * Errors are cudaError_t numbers (0, 2 out of memory, 700 ...). Thread-safe. */
#ifndef SIMDEV_H
#define SIMDEV_H
#include <stddef.h>
#include <stdint.h>

/* Exported marker: a program that finds this symbol runs on the simulated device. */
extern const char sim_device_marker[];

/* Device memory that counts against the capacity but is invisible to runtime hooks. Does not
 * touch the calling thread's last error. */
int sim_device_alloc(void **out, size_t bytes);
int sim_device_free(void *device);

/* Host address of [device, device + bytes), or NULL when the range is not inside one live
 * allocation; then the device is marked with a pending illegal address (700), as a kernel that
 * touched it would have. bytes == 0 gives a non-NULL address that must not be read. */
void *sim_device_range(const void *device, size_t bytes, int write);

/* Whether [device, device + bytes) is inside one live allocation; marks nothing. */
int sim_device_holds(const void *device, size_t bytes);

/* The sticky error the device is in (0: none): what every call returns from now on. */
int sim_device_error(void);

/* Work in stream order: fn(arg) runs when the stream reaches it. stream is a cudaStream_t. In
 * eager mode it runs before this returns. arg_bytes are copied. Returns a cudaError_t. */
int sim_stream_enqueue(void *stream, void (*fn)(void *arg), const void *arg, size_t arg_bytes);

/* part(arg, 0) ... part(arg, parts - 1), each once, by the host threads that there are for it
 * (OOMPROOF_SIM_THREADS), in any order: so a part has no effect on another. They make no calls. */
void sim_device_share(void (*part)(void *arg, int i), void *arg, int parts);

/* Figures for tests: bytes allocated through the runtime / through sim_device_alloc, rounded as the
 * device rounds; of managed memory, likewise; pages held; capacity. */
typedef struct sim_memory_figures {
    uint64_t capacity, context, runtime_bytes, private_bytes, pages_bytes, peak_pages_bytes;
    uint64_t managed_bytes;
} sim_memory_figures;
void sim_memory_read(sim_memory_figures *out);

/* 1: the kernel, named as for cudaLaunchKernel, has run in strips of threads (OOMPROOF_SIM_STRIPS).
 * tried, left: of the last strips, how many there were and how many were ended thread by thread */
int sim_runs_in_strips(const void *kernel, unsigned *tried, unsigned *left);

#endif
