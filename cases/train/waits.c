/* waits.c - how often the host waits for the device in a step to which nothing happens: every call
 * that waits is counted where the trainer makes it. A copy between the device and host memory that
 * is not pinned waits on a card, whatever its name says.
 *
 * The calls come here by the linker's --wrap. */
#include "case.h"
#include "rig.h"

enum { STREAM, DEVICE, EVENT, COPY, PAGEABLE, FREE, KINDS };
static const char *const names[KINDS] = {"waits for the stream",      "waits for the device",
                                         "waits for an event",        "synchronous copies",
                                         "copies to pageable memory", "frees"};
static int counted[KINDS], in_phase[PT_PHASES];

static void waits(int kind)
{
    counted[kind]++;
    in_phase[pt_phase_get()]++;
}

static int pageable(const void *p)
{
    struct cudaPointerAttributes about = {0};
    return cudaPointerGetAttributes(&about, p) != cudaSuccess ||
           about.type == cudaMemoryTypeUnregistered;
}

#define WRAP(kind, name, parameters, arguments) \
    cudaError_t __real_##name parameters;       \
    cudaError_t __wrap_##name parameters;       \
    cudaError_t __wrap_##name parameters        \
    {                                           \
        waits(kind);                            \
        return __real_##name arguments;         \
    }
WRAP(STREAM, cudaStreamSynchronize, (cudaStream_t s), (s))
WRAP(DEVICE, cudaDeviceSynchronize, (void), ())
WRAP(EVENT, cudaEventSynchronize, (cudaEvent_t e), (e))
WRAP(FREE, cudaFree, (void *p), (p))
WRAP(COPY, cudaMemcpy, (void *to, const void *from, size_t n, enum cudaMemcpyKind k),
     (to, from, n, k))
WRAP(COPY, cudaMemcpy2D,
     (void *to, size_t tp, const void *from, size_t fp, size_t w, size_t h, enum cudaMemcpyKind k),
     (to, tp, from, fp, w, h, k))

cudaError_t __real_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind k,
                                   cudaStream_t s);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind k,
                                   cudaStream_t s);
cudaError_t __wrap_cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind k,
                                   cudaStream_t s)
{
    if (pageable(to) || pageable(from)) waits(PAGEABLE);
    return __real_cudaMemcpyAsync(to, from, n, k, s);
}

cudaError_t __real_cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w,
                                     size_t h, enum cudaMemcpyKind k, cudaStream_t s);
cudaError_t __wrap_cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w,
                                     size_t h, enum cudaMemcpyKind k, cudaStream_t s);
cudaError_t __wrap_cudaMemcpy2DAsync(void *to, size_t tp, const void *from, size_t fp, size_t w,
                                     size_t h, enum cudaMemcpyKind k, cudaStream_t s)
{
    if (pageable(to) || pageable(from)) waits(PAGEABLE);
    return __real_cudaMemcpy2DAsync(to, tp, from, fp, w, h, k, s);
}

static void one_batch(rig *r)
{
    pt_ledger_close(&r->ledger);
    memset(counted, 0, sizeof counted);
    memset(in_phase, 0, sizeof in_phase);
    pt_status st = pt_trainer_batch(r->t, r->scene, r->key, r->o.scenes, &r->ledger, &r->result);
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
}

/* Of the second batch, when all is warm. */
static int of_a_step(const rig_options *o)
{
    int all = 0;
    rig r;
    rig_open(&r, o);
    r.t->hooks.before_step = NULL; /* it looks at the gradient */
    one_batch(&r);
    one_batch(&r);
    ck_assert_int_eq(r.result.recover.attempts, 1);
    ck_assert_int_eq(r.result.stepped, 1);
    for (int k = 0; k < KINDS; k++) {
        all += counted[k];
        if (counted[k]) printf("%d %s; ", counted[k], names[k]);
    }
    printf("in phases:");
    for (int p = 0; p < PT_PHASES; p++)
        if (in_phase[p]) printf(" %s %d", pt_phase_name((pt_phase)p), in_phase[p]);
    printf("; %lld points\n", (long long)r.result.points);
    rig_close(&r);
    return all;
}

START_TEST(a_steady_step_waits_for_the_device_so_often_and_no_more)
{
    static const struct {
        pt_allocator_kind allocator;
        pt_norm norm;
        pt_optimizer_kind optimizer;
        int64_t points;
        int waits;
    } how[] = {{PT_ALLOC_CACHING, PT_NORM_LAYER, PT_ADAMW, 900, 5},
               {PT_ALLOC_CACHING, PT_NORM_LAYER, PT_ADAMW, 20000, 5},
               {PT_ALLOC_ASYNC, PT_NORM_LAYER, PT_SGD, 900, 5},
               {PT_ALLOC_CACHING, PT_NORM_FROZEN, PT_ADAMW, 900, 5}};
    for (size_t i = 0; i < sizeof how / sizeof *how; i++) {
        rig_options o = {.scenes = 2,
                         .points = {how[i].points, 700},
                         .allocator = how[i].allocator,
                         .norm = how[i].norm,
                         .optimizer = how[i].optimizer};
        int n = of_a_step(&o);
        ck_assert_msg(n == how[i].waits, "%zu: %d waits, not %d", i, n, how[i].waits);
    }
}
END_TEST

static const case_entry cases[] = {
#include "waits.def"
};
CASE_MAIN("waits")
