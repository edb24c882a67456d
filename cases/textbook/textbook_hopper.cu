/* textbook_hopper.cu - what nvcc makes of the intrinsics of newer GPUs: reductions by a warp,
 * copies that go on behind a thread's back, sums of halves in memory. */
#include "book.h"
#include "halfref.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

/* ---- redux.sync ---- */
struct reductions {
    unsigned sum, least, most, all, any, odd;
    int signed_sum, signed_least, signed_most;
};

__global__ void reduce_by_warps(const unsigned *in, unsigned mask, reductions *o)
{
    unsigned x = in[threadIdx.x];
    if (!(mask >> threadIdx.x % 32 & 1)) return;
    reductions *r = o + threadIdx.x;
    r->sum = __reduce_add_sync(mask, x);
    r->least = __reduce_min_sync(mask, x);
    r->most = __reduce_max_sync(mask, x);
    r->all = __reduce_and_sync(mask, x);
    r->any = __reduce_or_sync(mask, x);
    r->odd = __reduce_xor_sync(mask, x);
    r->signed_sum = __reduce_add_sync(mask, (int)x);
    r->signed_least = __reduce_min_sync(mask, (int)x);
    r->signed_most = __reduce_max_sync(mask, (int)x);
}

START_TEST(a_warp_reduces_in_one_instruction)
{
    static const unsigned masks[] = {~0u, 1, 0x80000000u, 0x0f0f1234u};
    static const unsigned edges[] = {0, 1, ~0u, 0x80000000u, 0x7fffffffu};
    for (unsigned mask : masks)
        for (unsigned round = 0; round < 4; round++) {
            std::vector<unsigned> x(64);
            for (unsigned i = 0; i < 64; i++)
                x[i] = round ? scramble(i + 64 * round) : edges[i % 5];
            device<unsigned> in(x);
            device<reductions> o(64);
            RUN(1, 64, reduce_by_warps, in, mask, o);
            std::vector<reductions> got = o.host();
            for (unsigned i = 0; i < 64; i++) {
                if (!(mask >> i % 32 & 1)) continue;
                reductions w = {0, ~0u, 0, ~0u, 0, 0, 0, INT_MAX, INT_MIN};
                for (unsigned k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
                    if (!(mask >> k % 32 & 1)) continue;
                    w.sum += x[k], w.all &= x[k], w.any |= x[k], w.odd ^= x[k];
                    if (x[k] < w.least) w.least = x[k];
                    if (x[k] > w.most) w.most = x[k];
                    if ((int)x[k] < w.signed_least) w.signed_least = (int)x[k];
                    if ((int)x[k] > w.signed_most) w.signed_most = (int)x[k];
                }
                w.signed_sum = (int)w.sum;
                ck_assert_msg(!memcmp(&w, &got[i], sizeof w), "thread %u of mask %#x, round %u", i,
                              mask, round);
            }
        }
}
END_TEST

/* ---- fns: the n-th bit from a place on ---- */
__global__ void nth_bits(int n, const unsigned *mask, const unsigned *base, const int *nth,
                         unsigned *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        asm("fns.b32 %0, %1, %2, %3;" : "=r"(o[i]) : "r"(mask[i]), "r"(base[i]), "r"(nth[i]));
}

START_TEST(the_nth_bit_is_found)
{
    std::vector<unsigned> mask, base, want;
    std::vector<int> nth;
    for (unsigned m : {0u, 1u, 0x80000000u, ~0u, 0xb5u, 0x40302010u, 0xdeadbeefu})
        for (unsigned b = 0; b < 32; b++)
            for (int n = -33; n <= 33; n++) {
                std::vector<unsigned> ones; /* in the direction of the search */
                for (unsigned k = 0; k < 32; k++) {
                    unsigned at = n < 0 ? 31 - k : k;
                    if (m >> at & 1 && (n < 0 ? at <= b : at >= b)) ones.push_back(at);
                }
                size_t which = n ? (size_t)abs(n) : 1;
                unsigned found = which <= ones.size() ? ones[which - 1] : ~0u;
                mask.push_back(m), base.push_back(b), nth.push_back(n);
                want.push_back(n || found == b ? found : ~0u);
            }
    int n = (int)want.size();
    device<unsigned> dm(mask), db(base), o(n);
    device<int> dn(nth);
    RUN(blocks_for(n, 128), 128, nth_bits, n, dm, db, dn, o);
    same(o.host(), want, "fns");
}
END_TEST

/* ---- cp.async: two stages of shared memory, one filled while the other is added up ---- */
enum { TILE = 128 };

__global__ void sum_in_stages(int tiles, const float4 *in, float *o)
{
    __shared__ float4 stage[2][TILE];
    int t = threadIdx.x;
    float sum = 0;
    __pipeline_memcpy_async(&stage[0][t], &in[t], 16);
    __pipeline_commit();
    for (int k = 0; k < tiles; k++) {
        if (k + 1 < tiles)
            __pipeline_memcpy_async(&stage[(k + 1) % 2][t], &in[(k + 1) * TILE + t], 16);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        float4 x = stage[k % 2][TILE - 1 - t];
        sum += x.x + x.y + x.z + x.w;
        __syncthreads();
    }
    o[t] = sum;
}

START_TEST(tiles_are_fetched_while_others_are_summed)
{
    for (int tiles : {1, 2, 5}) {
        std::vector<float> x = numbers<float>((size_t)tiles * TILE * 4, 1000, -500), want(TILE);
        for (int t = 0; t < TILE; t++)
            for (int k = 0; k < tiles; k++)
                for (int c = 0; c < 4; c++) want[t] += x[(size_t)(k * TILE + TILE - 1 - t) * 4 + c];
        device<float> in(x), o(TILE);
        RUN(1, TILE, sum_in_stages, tiles, (const float4 *)in.p, o);
        same(o.host(), want, "tiles");
    }
}
END_TEST

/* Less is read than is written: the rest is zeros, and an address of which nothing is read may be
 * any. */
template <int BYTES> __global__ void fetch_part(const char *in, unsigned read, char *o)
{
    __shared__ __align__(16) char to[16], skipped[16];
    for (int i = 0; i < 16; i++) to[i] = skipped[i] = 7;
    unsigned a = (unsigned)__cvta_generic_to_shared(to),
             b = (unsigned)__cvta_generic_to_shared(skipped);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(a), "l"(in), "n"(BYTES),
                 "r"(read)
                 : "memory");
    asm volatile("{.reg .pred p; setp.eq.u32 p, 0, 0;\n"
                 "cp.async.ca.shared.global.L2::128B [%0], [%1], %2, p;\n"
                 "cp.async.wait_all;}" ::"r"(b),
                 "l"((const char *)64), "n"(BYTES)
                 : "memory");
    for (int i = 0; i < 16; i++) o[i] = to[i], o[16 + i] = skipped[i];
}

template <int BYTES> static void check_part()
{
    for (unsigned read = 0; read <= BYTES; read++) {
        std::vector<char> x(BYTES), want(32, 7);
        for (int i = 0; i < BYTES; i++)
            x[i] = (char)(i + 20), want[i] = i < (int)read ? x[i] : 0, want[16 + i] = 0;
        device<char> in(x), o(32);
        RUN(1, 1, fetch_part<BYTES>, in, read, o);
        same(o.host(), want, "a part");
    }
}

START_TEST(what_a_copy_does_not_read_is_zero)
{
    check_part<4>();
    check_part<8>();
    check_part<16>();
}
END_TEST

/* ---- sums of halves in memory ---- */
__global__ void add_to_halves(const unsigned *x, __half *h, __half2 *h2, __nv_bfloat16 *b,
                              __nv_bfloat162 *b2, unsigned *before)
{
    unsigned i = threadIdx.x, u = x[i];
    __half2 p = *(__half2 *)&u;
    __nv_bfloat162 q = *(__nv_bfloat162 *)&u;
    before[i] = __half_as_ushort(atomicAdd(h, __low2half(p)));
    atomicAdd(h2, p);
    atomicAdd(b, __low2bfloat16(q));
    __nv_bfloat162 was = atomicAdd(b2, q);
    before[64 + i] = *(unsigned *)&was;
}

START_TEST(atomic_sums_of_halves_are_rounded_one_by_one)
{
    std::vector<unsigned> x(64), before(128), got;
    unsigned f = 0, f2[2] = {0, 0}, b = 0, b2[2] = {0, 0};
    for (unsigned i = 0; i < 64; i++) {
        unsigned r = scramble(i);
        x[i] = (r & 0x80ff80ffu) | 0x3c003c00u; /* sizes near 1 of f16, small ones of bf16 */
        before[i] = f, before[64 + i] = b2[1] << 16 | b2[0];
        f = ref_add(f, x[i] & 0xffff, 10), b = ref_add(b, x[i] & 0xffff, 7);
        for (int k = 0; k < 2; k++)
            f2[k] = ref_add(f2[k], x[i] >> 16 * k & 0xffff, 10),
            b2[k] = ref_add(b2[k], x[i] >> 16 * k & 0xffff, 7);
    }
    device<unsigned> in(x), o(4), was(128);
    RUN(1, 64, add_to_halves, in, (__half *)o.p, (__half2 *)(o.p + 1), (__nv_bfloat16 *)(o.p + 2),
        (__nv_bfloat162 *)(o.p + 3), was);
    got = o.host();
    ck_assert_uint_eq(got[0], f);
    ck_assert_uint_eq(got[1], f2[1] << 16 | f2[0]);
    ck_assert_uint_eq(got[2], b);
    ck_assert_uint_eq(got[3], b2[1] << 16 | b2[0]);
    same(was.host(), before, "what was there before");
}
END_TEST

/* ---- grids that may overlap: each begins early, and waits for what the one before it wrote ----
 */
__global__ void add_one_behind(int *x, int *arch)
{
    cudaGridDependencySynchronize();
    *x += 1;
#ifdef __CUDA_ARCH__
    *arch = __CUDA_ARCH__ / 10;
#endif
    cudaTriggerProgrammaticLaunchCompletion();
}

START_TEST(grids_that_may_overlap_wait_for_each_other)
{
    device<int> x(1), arch(1);
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t c = {};
    c.gridDim = c.blockDim = dim3(1);
    c.attrs = &overlap;
    c.numAttrs = 1;
    for (int i = 0; i < 3; i++) OK(cudaLaunchKernelEx(&c, add_one_behind, x.p, arch.p));
    OK(cudaDeviceSynchronize());
    ck_assert_int_eq(x.one(), 3);
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, add_one_behind));
    ck_assert_int_eq(a.ptxVersion, arch.one());
}
END_TEST

static const case_entry cases[] = {
#include "textbook_hopper.def"
};
CASE_MAIN("textbook_hopper")
