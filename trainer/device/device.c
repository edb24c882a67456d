/* device.c - opens and closes the device: handles first, so that what they take lies under the
 * baseline. */
#define _GNU_SOURCE
#include "device/device.h"
#include "device/mem.h"
#include "probe.h"
#include "recovery/classify.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUBLAS_WORKSPACE ((size_t)4 << 20)
#define PINNED           ((size_t)16 << 20) /* the fields of 300,000 points */

static pt_status no_device(const char *reason)
{
    return pt_fail(PT_ERR_DEVICE,
                   "no usable CUDA device (%s); to run on the simulated device: "
                   "build/bin/oomproof run --device sim -- build/bin/pointtrain train ...",
                   reason);
}

/* Functions of their own in every build: a call site is named by its function. */
static __attribute__((noinline)) pt_status new_stream(pt_device *d)
{
    return PT_CUDA(cudaStreamCreate(&d->stream));
}
static __attribute__((noinline)) pt_status new_cublas(pt_device *d)
{
    return PT_CUBLAS(cublasCreate(&d->cublas));
}
static __attribute__((noinline)) pt_status new_cudnn(pt_device *d)
{
    return PT_CUDNN(cudnnCreate(&d->cudnn));
}

/* A stream or a handle takes device memory that no allocator sees. When there may have been none,
 * it is asked for once more: a moment later another program may have given some back; of ours there
 * is nothing to give back before the allocator opens. */
static pt_status create(pt_device *d, pt_status (*make)(pt_device *d))
{
    pt_status st = make(d);
    pt_class class = pt_classify(pt_error_last());
    if (st == PT_OK || (class != PT_CLASS_OOM && class != PT_CLASS_AMBIGUOUS)) return st;
    cudaGetLastError();
    st = make(d);
    if (st == PT_OK) return st;
    pt_error_say(", and so it did a second time, before anything was trained; is there room on the "
                 "device beside other programs (nvidia-smi)?");
    cudaGetLastError();
    return st;
}

/* The host may have no memory to pin: nothing is split for that, copies are only slower. */
static pt_status pin(pt_device *d)
{
    pt_status st = PT_CUDA(cudaHostAlloc(&d->pinned, PINNED, cudaHostAllocDefault));
    if (st == PT_OK || pt_classify(pt_error_last()) != PT_CLASS_HOST) return st;
    fprintf(stderr,
            "pointtrain: no %zu MiB of pinned host memory (%s): copies go through pageable memory, "
            "which is slower; ulimit -l may be raised\n",
            PINNED >> 20, pt_error_last()->message);
    cudaGetLastError();
    pt_error_clear();
    d->pinned = NULL;
    d->pageable = malloc(PINNED);
    return d->pageable ? PT_OK : pt_fail(PT_ERR_HOST, "no host memory for copies");
}

pt_status pt_device_open(pt_allocator_kind allocator, pt_device *out)
{
    pt_status st = PT_OK;
    struct cudaDeviceProp prop;
    int count = 0;
    memset(out, 0, sizeof *out);
    cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count < 1) {
        cudaGetLastError();
        return no_device(e != cudaSuccess ? cudaGetErrorName(e) : "none found");
    }
    TRY(PT_CUDA(cudaSetDevice(0)));
    TRY(PT_CUDA(cudaGetDeviceProperties(&prop, 0)));
    snprintf(out->name, sizeof out->name, "%s", prop.name);
    out->total_bytes = prop.totalGlobalMem;
    out->simulated = dlsym(RTLD_DEFAULT, "sim_device_marker") != NULL;
    TRY(create(out, new_stream));
    TRY(create(out, new_cublas));
    TRY(PT_CUBLAS(cublasSetStream(out->cublas, out->stream)));
    TRY(create(out, new_cudnn));
    TRY(PT_CUDNN(cudnnSetStream(out->cudnn, out->stream)));
    TRY(pin(out));
    TRY(pt_mem_open(allocator, out->stream, &out->mem));
    TRY(pt_mem_alloc(out, CUBLAS_WORKSPACE, 1, "device/cublas_workspace", &out->cublas_workspace));
    pt_probe_buffer("device/cublas_workspace", out->cublas_workspace, CUBLAS_WORKSPACE, 1, 's', 0);
    TRY(PT_CUBLAS(cublasSetWorkspace(out->cublas, out->cublas_workspace, CUBLAS_WORKSPACE)));
    /* full precision: no reduced-precision tensor-core modes behind the tests' back */
    TRY(PT_CUBLAS(cublasSetMathMode(out->cublas, CUBLAS_PEDANTIC_MATH)));
done:
    if (st != PT_OK) {
        pt_error cause = *pt_error_last();
        pt_device_close(out);
        pt_error_restore(&cause);
    }
    return st;
}

#define ALIGNED ((size_t)64) /* bytes; the two parts of the pinned memory are multiples of it */

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

static void *through(const pt_device *d)
{
    return d->pinned ? d->pinned : d->pageable;
}

/* No copy is under way any more, so that the memory they go through can be given back. */
static int settled(const pt_device *d)
{
    return !d->busy || cudaStreamSynchronize(d->stream) == cudaSuccess ||
           cudaDeviceSynchronize() == cudaSuccess;
}

/* The first of two failures, the second as recorded last. */
static pt_status first_of(pt_status before, pt_status st, pt_error *first)
{
    if (before != PT_OK || st == PT_OK) return before;
    *first = *pt_error_last();
    return st;
}

pt_status pt_device_close(pt_device *d)
{
    pt_error first = *pt_error_last(); /* a failure before is the cause, and stays recorded */
    pt_status st = PT_OK;
    if (d->mem) pt_mem_free(d, d->cublas_workspace);
    st = first_of(st, pt_mem_close(d->mem), &first);
    if (settled(d)) {
        if (d->pinned) st = first_of(st, PT_CUDA(cudaFreeHost(d->pinned)), &first);
        free(d->pageable);
    }
    if (d->cudnn) st = first_of(st, PT_CUDNN(cudnnDestroy(d->cudnn)), &first);
    if (d->cublas) st = first_of(st, PT_CUBLAS(cublasDestroy(d->cublas)), &first);
    if (d->stream) st = first_of(st, PT_CUDA(cudaStreamDestroy(d->stream)), &first);
    memset(d, 0, sizeof *d);
    pt_error_restore(&first);
    return st;
}

static pt_status wait_for_stream(pt_device *d)
{
    pt_status st = PT_CUDA(cudaStreamSynchronize(d->stream));
    if (st == PT_OK) {
        d->queued = 0;
        d->busy = 0;
    }
    return st;
}

pt_status pt_device_sync(pt_device *d)
{
    pt_status st = wait_for_stream(d);
    return st == PT_OK ? pt_mem_check(d) : st;
}

/* So much of what is left can go now through *at. What copies that were not waited for go through
 * is not used again: where there is no more, they are waited for. */
static pt_status room_for(pt_device *d, size_t left, size_t *bytes, char **at)
{
    pt_status st = PT_OK;
    if (d->queued == PINNED - PT_FETCH) TRY(wait_for_stream(d));
    size_t room = PINNED - PT_FETCH - d->queued;
    *bytes = left < room ? left : room;
    *at = (char *)through(d) + d->queued;
    d->queued += aligned(*bytes);
    d->busy = 1;
done:
    return st;
}

pt_status pt_copy_up(pt_device *d, void *device, const void *host, size_t bytes)
{
    pt_status st = PT_OK;
    for (size_t at = 0, n; at < bytes; at += n) {
        char *from;
        TRY(room_for(d, bytes - at, &n, &from));
        memcpy(from, (const char *)host + at, n);
        TRY(PT_CUDA(
            cudaMemcpyAsync((char *)device + at, from, n, cudaMemcpyHostToDevice, d->stream)));
    }
done:
    return st;
}

pt_status pt_copy_down(pt_device *d, void *host, const void *device, size_t bytes)
{
    pt_status st = PT_OK;
    for (size_t at = 0, n; at < bytes; at += n) {
        char *to;
        TRY(room_for(d, bytes - at, &n, &to));
        TRY(PT_CUDA(
            cudaMemcpyAsync(to, (const char *)device + at, n, cudaMemcpyDeviceToHost, d->stream)));
        TRY(wait_for_stream(d));
        memcpy((char *)host + at, to, n);
    }
done:
    return st;
}

pt_status pt_copies_down(pt_device *d, const pt_copy *copy, int n)
{
    pt_status st = PT_OK;
    size_t all = 0, k;
    char *first, *to;
    for (int i = 0; i < n; i++) all += aligned(copy[i].bytes);
    if (all > PINNED - PT_FETCH) {
        for (int i = 0; i < n; i++)
            TRY(pt_copy_down(d, copy[i].host, copy[i].device, copy[i].bytes));
        return pt_mem_check(d);
    }
    if (all > PINNED - PT_FETCH - d->queued) TRY(wait_for_stream(d));
    first = (char *)through(d) + d->queued;
    for (int i = 0; i < n; i++) {
        TRY(room_for(d, copy[i].bytes, &k, &to));
        TRY(PT_CUDA(
            cudaMemcpyAsync(to, copy[i].device, copy[i].bytes, cudaMemcpyDeviceToHost, d->stream)));
    }
    TRY(pt_device_sync(d));
    for (int i = 0; i < n; i++, first += aligned(copy[i - 1].bytes))
        memcpy(copy[i].host, first, copy[i].bytes);
done:
    return st;
}

/* What is fetched comes in stream order: what an attempt that failed left on its way comes before
 * what the next one fetches to the same place. */
void pt_fetch_start(pt_device *d)
{
    d->fetched = 0;
}

void *pt_fetch_room(pt_device *d, size_t bytes)
{
    size_t before = d->fetched;
    if (bytes > PT_FETCH - before) return NULL;
    d->fetched += aligned(bytes);
    d->busy = 1;
    return (char *)through(d) + PINNED - PT_FETCH + before;
}

pt_status pt_fetch(pt_device *d, const void *device, size_t bytes, const void **at)
{
    void *to = pt_fetch_room(d, bytes);
    *at = to;
    if (!to) return pt_fail(PT_ERR_INTERNAL, "%zu bytes are too many to be fetched", bytes);
    return PT_CUDA(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, d->stream));
}

pt_status pt_zero(pt_device *d, void *device, size_t bytes)
{
    return bytes ? PT_CUDA(cudaMemsetAsync(device, 0, bytes, d->stream)) : PT_OK;
}
