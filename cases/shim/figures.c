/* figures.c - the shim's live bytes against the simulated device's own, over random traffic of
 * every kind of allocation that the device has, failures included. It has no arrays and no driver:
 * of those, cases/driver/levels.c. */
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
    uint64_t has = f.runtime_bytes + f.managed_bytes;
    ck_assert_msg(oomproof_live_bytes() == has,
                  "turn %d: the shim counts %llu live bytes, the device %llu", turn,
                  (unsigned long long)oomproof_live_bytes(), (unsigned long long)has);
}

START_TEST(live_bytes_are_the_devices_own_figures)
{
    void *p[BLOCKS] = {0};
    int is_managed[BLOCKS];
    int failed = 0, pitched = 0, managed = 0, boxes = 0;
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
            int now = draw(3) || is_managed[k]; /* of a pool, or not */
            ck_assert_int_eq(now ? cudaFree(p[k]) : cudaFreeAsync(p[k], NULL), cudaSuccess);
            p[k] = NULL;
        } else {
            size_t n = draw(3) ? 1 + draw(100000) : 1 + draw(30 << 20);
            unsigned how = (unsigned)draw(8);
            struct cudaPitchedPtr box = {0};
            cudaError_t e = how == 0 ? cudaMallocPitch(&p[k], &pitch, 1 + draw(5000), 1 + draw(300))
                            : how == 1 ? cudaMallocAsync(&p[k], n, NULL)
                            : how == 2 ? cudaMallocFromPoolAsync(&p[k], n, pool, NULL)
                            : how == 3 ? cudaMallocManaged(&p[k], n, cudaMemAttachGlobal)
                            : how == 4
                                ? cudaMalloc3D(&box, (struct cudaExtent){1 + draw(700),
                                                                         1 + draw(40), 1 + draw(9)})
                                : cudaMalloc(&p[k], n);
            if (e != cudaSuccess) {
                ck_assert_ptr_null(p[k]); /* outputs stay as they were */
                cudaGetLastError();
                failed++;
            }
            if (how == 4) p[k] = box.ptr;
            pitched += pitch != 0;
            is_managed[k] = how == 3;
            managed += how == 3 && p[k];
            boxes += how == 4 && p[k];
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
    printf("%d requests failed, %d pitched, %d managed, %d boxes\n", failed, pitched, managed,
           boxes);
    ck_assert_int_ge(failed, 50);
    ck_assert_int_ge(pitched, 100);
    ck_assert_int_ge(managed, 100);
    ck_assert_int_ge(boxes, 100);
}
END_TEST

static const case_entry cases[] = {
#include "figures.def"
};
CASE_MAIN("figures")
