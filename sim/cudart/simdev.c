/* simdev.c - the private entries of simdev.h, for the simulated libraries. */
#include "state.h"

API int sim_device_alloc(void **out, size_t bytes)
{
    if (sim_enter() != cudaSuccess) return cudaErrorNoDevice;
    cudaError_t e = sim_sticky ? sim_sticky : sim_memory_alloc(bytes, 1, out);
    sim_leave();
    return e;
}

API int sim_device_free(void *device)
{
    if (sim_enter() != cudaSuccess) return cudaErrorNoDevice;
    cudaError_t e = sim_memory_free(device, "a library's free");
    sim_leave();
    return e;
}

API void *sim_device_range(const void *device, size_t bytes, int write)
{
    static char nothing;
    (void)write;
    if (sim_enter() != cudaSuccess) return NULL;
    sim_run_all(); /* libraries work at once, behind all that was queued */
    char *p = bytes ? sim_device_at((uint64_t)(uintptr_t)device, bytes) : &nothing;
    if (!p && !sim_pending && !sim_sticky) {
        sim_say("a library call touches %zu bytes at %p: %s", bytes, device,
                sim_memory_describe((uint64_t)(uintptr_t)device));
        sim_pending = cudaErrorIllegalAddress;
    }
    sim_leave();
    return p;
}

API int sim_device_holds(const void *device, size_t bytes)
{
    if (sim_enter() != cudaSuccess) return 0;
    int holds = sim_device_at((uint64_t)(uintptr_t)device, bytes) != NULL;
    sim_leave();
    return holds;
}

API int sim_device_error(void)
{
    return sim_sticky ? sim_sticky : sim_pending;
}

API int sim_runs_in_strips(const void *kernel, unsigned *tried, unsigned *left)
{
    if (sim_enter() != cudaSuccess) return 0;
    const sim_function *f = sim_function_find(kernel);
    const uint32_t *strips = f && f->info ? f->info->strips : NULL;
    *tried = strips ? strips[0] : 0;
    *left = strips ? strips[1] : 0;
    sim_leave();
    return *tried > 0;
}
