/* form_run.c - runs every form of a family, many in a kernel, and holds what comes out against the
 * reference. The modules go through the front door: a fat binary of plain PTX, as nvcc's start-up
 * code registers it. */
#include "formkit.h"
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

#define OK(call) \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

enum { IN_A_KERNEL = 64, SCRATCH = 64 };

static char *write_module(const family *x, const form *f, size_t n)
{
    size_t room = 65536 + n * 3072, at = 0;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
#define SAY(...) (at += (size_t)snprintf(text + at, room - at, __VA_ARGS__))
    SAY(".version 8.7\n.target sm_90\n.address_size 64\n"
        ".const .align 16 .b8 fixed[64] = {1,130,3,4,5,6,7,200,9,10,11,12,13,14,15,240,17,18,19,20,"
        "21,22,23,24,25,26,27,28,29,30,31,32};\n"
        ".func (.param .align 16 .b8 r[32]) same(.param .align 16 .b8 x[32])\n{\n"
        ".reg .b64 %%q<4>;\nld.param.v2.u64 {%%q0, %%q1}, [x]; ld.param.v2.u64 {%%q2, %%q3}, "
        "[x+16];\nst.param.v2.u64 [r], {%%q0, %%q1}; st.param.v2.u64 [r+16], {%%q2, %%q3};\n"
        "ret;\n}\n");
    for (size_t i = 0; i < n; i++) {
        if (i % IN_A_KERNEL == 0) {
            size_t here = n - i < IN_A_KERNEL ? n - i : IN_A_KERNEL;
            SAY("%s.visible .entry k%zu(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 "
                "s, .param .u64 o, .param .align 16 .b8 big[32])\n{\n"
                ".reg .b64 %%rd<16>, %%at<12>; .reg .b32 %%r<16>; .reg .f32 %%f<16>;\n"
                ".reg .f64 %%fd<16>; .reg .b16 %%rs<16>; .reg .pred %%p<16>;\n"
                ".shared .align 16 .b8 common[%d];\n.local .align 16 .b8 own[%d];\n"
                "mov.u32 %%r1, %%tid.x; mov.u32 %%r8, %%ctaid.x; mad.lo.u32 %%r8, %%r8, %d, "
                "%%r1;\nmul.wide.u32 %%at0, %%r8, 8;\n",
                i ? "ret;\n}\n" : "", i / IN_A_KERNEL, FORM_BLOCK * SCRATCH, SCRATCH, FORM_BLOCK);
            for (int k = 0; k < 3; k++)
                SAY("ld.param.u64 %%at1, [%c]; add.u64 %%at1, %%at1, %%at0; ld.global.u64 "
                    "%%rd%d, [%%at1];\ncvt.u32.u64 %%r%d, %%rd%d; cvt.u16.u64 %%rs%d, %%rd%d; "
                    "mov.b32 %%f%d, %%r%d; mov.b64 %%fd%d, %%rd%d;\nand.b32 %%r8, %%r%d, 1; "
                    "setp.ne.u32 %%p%d, %%r8, 0;\n",
                    "abc"[k], k + 2, k + 2, k + 2, k + 2, k + 2, k + 2, k + 2, k + 2, k + 2, k + 2,
                    k + 2);
            SAY("shr.u64 %%rd8, %%rd2, 32; cvt.u32.u64 %%r7, %%rd8; shr.u64 %%rd8, %%rd4, 32; "
                "cvt.u32.u64 %%r6, %%rd8;\n"
                "ld.param.u64 %%at4, [o]; mad.lo.u64 %%at4, %%at0, %zu, %%at4;\n"
                "ld.param.u64 %%at5, [s]; mad.lo.u64 %%at5, %%at0, %d, %%at5;\n"
                "mov.u64 %%at6, common; cvt.u64.u32 %%at7, %%r1; mad.lo.u64 %%at6, %%at7, %d, "
                "%%at6;\nmov.u64 %%at7, own;\n",
                here, SCRATCH / 8, SCRATCH);
        }
        char code[4096] = "";
        ck_assert_msg(x->code(&f[i], code, sizeof code), "no test of %s", f[i].name);
        SAY("{\nmov.u64 %%rd1, 0;\n%s\nst.global.u64 [%%at4+%zu], %%rd1;\n}\n", code,
            8 * (i % IN_A_KERNEL));
        ck_assert_uint_lt(at + 8192, room);
    }
    SAY("ret;\n}\n");
    return text;
}

static char host[1024]; /* addresses that stand for kernels */

static void register_module(char *text, size_t kernels)
{
    size_t n = strlen(text) + 1;
    static struct {
        uint32_t magic, version;
        void *data, *more;
    } wrapper = {0x466243b1, 1, NULL, NULL};
    unsigned char *data = calloc(1, 80 + n);
    uint32_t magic = 0xba55ed50, arch = 90, header = 64;
    uint16_t one = 1, sixteen = 16, kind = 1;
    uint64_t follow = 64 + n, payload = n;
    memcpy(data, &magic, 4), memcpy(data + 4, &one, 2), memcpy(data + 6, &sixteen, 2);
    memcpy(data + 8, &follow, 8), memcpy(data + 16, &kind, 2), memcpy(data + 20, &header, 4);
    memcpy(data + 24, &payload, 8), memcpy(data + 44, &arch, 4);
    memcpy(data + 80, text, n);
    wrapper.data = data;
    void **handle = __cudaRegisterFatBinary(&wrapper);
    ck_assert_uint_le(kernels, sizeof host);
    for (size_t i = 0; i < kernels; i++) {
        char *name = malloc(16);
        snprintf(name, 16, "k%zu", i);
        __cudaRegisterFunction(handle, &host[i], name, name, -1, NULL, NULL, NULL, NULL, NULL);
    }
    __cudaRegisterFatBinaryEnd(handle);
}

static int agrees(const wanted *w, uint64_t got)
{
    if (w->any || (!w->number && got == w->bits)) return 1;
    if (!w->number) return 0;
    int wide = !strcmp(w->number, "f64");
    double x = wide ? as_double(got) : as_float(got),
           y = wide ? as_double(w->bits) : as_float(w->bits);
    if (isnan(y)) return isnan(x) && (wide || got >> 32 == 0);
    if (got == w->bits) return 1;
    uint64_t distance = got > w->bits ? got - w->bits : w->bits - got;
    return w->ulps && !isnan(x) && distance <= (uint64_t)w->ulps;
}

static void *device(size_t bytes, const void *from)
{
    void *p = NULL;
    OK(cudaMalloc(&p, bytes));
    if (from) OK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    return p;
}

static void run_kernel(const family *x, const form *f, size_t n, const operands *o, void **in,
                       const void *kernel)
{
    uint64_t *out = malloc(n * o->n * 8), *scratch = malloc(o->n * SCRATCH);
    ck_assert(out && scratch);
    for (size_t i = 0; i < o->n; i++) {
        uint64_t s[8] = {o->a[i], o->b[i], o->c[i], o->a[i], o->b[i], o->c[i], o->a[i], o->b[i]};
        memcpy(scratch + i * 8, s, sizeof s);
    }
    void *to = device(n * o->n * 8, NULL), *s = device(o->n * SCRATCH, scratch);
    uint64_t big[4] = {0x8182838485868788ull, 0x1122334455667788ull, 0x99aabbccddeeff00ull, 5};
    void *args[] = {&in[0], &in[1], &in[2], &s, &to, big};
    struct dim3 grid = {(unsigned)(o->n / FORM_BLOCK), 1, 1}, block = {FORM_BLOCK, 1, 1};
    OK(cudaLaunchKernel(kernel, grid, block, args, 0, NULL));
    cudaError_t e = cudaDeviceSynchronize();
    ck_assert_msg(e == cudaSuccess, "%s and the %zu forms behind it: %s", f->name, n - 1,
                  cudaGetErrorString(e));
    OK(cudaMemcpy(out, to, n * o->n * 8, cudaMemcpyDeviceToHost));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < o->n; i++) {
            wanted w = x->reference(&f[k], o, i);
            if (!agrees(&w, out[i * n + k]))
                ck_abort_msg("%s of %#llx, %#llx, %#llx gave %#llx, not %#llx", f[k].name,
                             (unsigned long long)o->a[i], (unsigned long long)o->b[i],
                             (unsigned long long)o->c[i], (unsigned long long)out[i * n + k],
                             (unsigned long long)w.bits);
        }
    OK(cudaFree(to));
    OK(cudaFree(s));
    free(out), free(scratch);
}

void forms_check(const family *x)
{
    size_t n, mine = 0;
    form *all = forms_all(&n);
    operands o = {0};
    for (size_t i = 0; i < n; i++)
        if (form_family(&all[i]) == x) all[mine++] = all[i];
    ck_assert_uint_gt(mine, 0);
    operands_fill(&o);
    char *text = write_module(x, all, mine);
    register_module(text, (mine + IN_A_KERNEL - 1) / IN_A_KERNEL);
    void *in[] = {device(o.n * 8, o.a), device(o.n * 8, o.b), device(o.n * 8, o.c)};
    for (size_t i = 0; i < mine; i += IN_A_KERNEL)
        run_kernel(x, all + i, mine - i < IN_A_KERNEL ? mine - i : IN_A_KERNEL, &o, in,
                   &host[i / IN_A_KERNEL]);
    printf("%zu forms, %zu operands each\n", mine, o.n);
    free(text), free(all), free(o.a), free(o.b), free(o.c);
}
