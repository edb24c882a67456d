/* mem_async.c - a pool of the driver's own, in the order of the one stream: what is freed stays in
 * it, and goes back when asked. The list of blocks is the direct allocator's.
 *
 * What is counted as held is what is in use: how the driver rounds a pool up is its own affair. */
#include "device/mem.h"
#include <stdint.h>

pt_status pt_mem_async_open(pt_mem *m)
{
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = 0}};
    uint64_t keep = UINT64_MAX; /* a wait gives nothing back, only a trim */
    pt_status st = PT_CUDA(cudaMemPoolCreate(&m->pool, &props));
    if (st != PT_OK && pt_error_last()->code == cudaErrorNotSupported)
        pt_error_say("; without memory pools on this device, use --allocator caching");
    if (st != PT_OK) {
        cudaGetLastError();
        return st;
    }
    /* should it fail, the pool gives back too soon, and is only slower */
    cudaMemPoolSetAttribute(m->pool, cudaMemPoolAttrReleaseThreshold, &keep);
    cudaGetLastError();
    st = pt_mem_direct_open(m);
    if (st != PT_OK) cudaMemPoolDestroy(m->pool);
    return st;
}

/* Frees that the stream has not come to keep their memory from going back. */
static pt_status async_release(pt_mem *m)
{
    pt_status st = PT_OK;
    TRY(PT_CUDA(cudaStreamSynchronize(m->stream)));
    TRY(PT_CUDA(cudaMemPoolTrimTo(m->pool, 0)));
done:
    return st;
}

static pt_status async_alloc(pt_mem *m, size_t bytes, const char *tag, void **out)
{
    pt_status st = pt_mem_direct.alloc(m, bytes, tag, out);
    if (st != PT_ERR_DEVICE || pt_error_last()->code != cudaErrorMemoryAllocation) return st;
    /* what the pool keeps, in pieces that do not fit, may be what is missing */
    cudaGetLastError();
    TRY(async_release(m));
    TRY(pt_mem_direct.alloc(m, bytes, tag, out));
done:
    return st;
}

static size_t async_free(pt_mem *m, void *block)
{
    return pt_mem_direct.free(m, block);
}

static void async_close(pt_mem *m)
{
    pt_mem_direct.close(m);
    pt_mem_keep(m, PT_CUDA(cudaStreamSynchronize(m->stream)));
    pt_mem_keep(m, PT_CUDA(cudaMemPoolDestroy(m->pool)));
}

const pt_mem_ops pt_mem_async = {async_alloc, async_free, async_release, async_close, NULL, NULL};
