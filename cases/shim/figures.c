/* figures.c - the shim's live bytes against the simulated device's own, over random traffic of
 * every kind of allocation that the device has, failures included. */
#include "case.h"
#include "oomproof.h"
#include "simdev.h"
#include <cuda_runtime_api.h>

enum { BLOCKS = 200 };

static uint64_t state = 1;
static uint64_t draw(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void compare(int turn)
{
    sim_memory_figures f;
    sim_memory_read(&f);
    ck_assert_msg(oomproof_live_bytes() == f.runtime_bytes,
                  "turn %d: the shim counts %llu live bytes, the device %llu", turn,
                  (unsigned long long)oomproof_live_bytes(), (unsigned long long)f.runtime_bytes);
}

START_TEST(live_bytes_are_the_devices_own_figures)
{
    void *p[BLOCKS] = {0};
    int failed = 0, pitched = 0;
    char error[256];
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    cudaMemPool_t pool;
    uint64_t keep = 256 << 20;
    ck_assert_int_eq(cudaMemPoolCreate(&pool, &props), cudaSuccess);
    ck_assert_int_eq(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
                     cudaSuccess);
    ck_assert(oomproof_arm("cudaMalloc interval=13 -> oom", error, sizeof error) == 1);
    for (int turn = 0; turn < 5000; turn++) {
        size_t k = draw(BLOCKS), pitch = 0;
        if (p[k]) {
            ck_assert_int_eq(draw(3) ? cudaFree(p[k]) : cudaFreeAsync(p[k], NULL), cudaSuccess);
            p[k] = NULL;
        } else {
            size_t n = draw(3) ? 1 + draw(100000) : 1 + draw(30 << 20);
            unsigned how = (unsigned)draw(6);
            cudaError_t e = how == 0 ? cudaMallocPitch(&p[k], &pitch, 1 + draw(5000), 1 + draw(300))
                            : how == 1 ? cudaMallocAsync(&p[k], n, NULL)
                            : how == 2 ? cudaMallocFromPoolAsync(&p[k], n, pool, NULL)
                                       : cudaMalloc(&p[k], n);
            if (e != cudaSuccess) {
                ck_assert_ptr_null(p[k]); /* outputs stay as they were */
                cudaGetLastError();
                failed++;
            }
            pitched += pitch != 0;
        }
        if (turn % 7 == 0) { /* a free that is refused changes nothing */
            ck_assert_int_ne(cudaFree((void *)(uintptr_t)(0x1000 + 8 * draw(99))), cudaSuccess);
            cudaGetLastError();
        }
        compare(turn);
    }
    for (int i = 0; i < BLOCKS; i++) cudaFree(p[i]);
    ck_assert_uint_eq(oomproof_live_bytes(), 0);
    compare(-1);
    printf("%d requests failed, %d pitched\n", failed, pitched);
    ck_assert_int_ge(failed, 50);
    ck_assert_int_ge(pitched, 100);
}
END_TEST

static const case_entry cases[] = {
#include "figures.def"
};
CASE_MAIN("figures")
