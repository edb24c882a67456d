/* form_run.c - runs every form of a family, many in a kernel, and holds what comes out against the
 * reference. The modules go through the front door: a fat binary of plain PTX, as nvcc's start-up
 * code registers it. */
#include "formkit.h"
#include "simdev.h"
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

void **__cudaRegisterFatBinary(const void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int limit, void *tid, void *bid, void *block, void *grid, int *warp);

#define OK(call) \
    ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))

enum { SCRATCH = 64 };

/* OOMPROOF_SIM_STRIPS=1: kernels run in strips of threads; those have a limit to their size. */
static int in_strips(void)
{
    const char *s = getenv("OOMPROOF_SIM_STRIPS");
    return s && !strcmp(s, "1");
}
#define IN_A_KERNEL ((size_t)(in_strips() ? 16 : 64))

/* Threads of a kernel in which one of these occurs never run in strips. */
static int apart(const family *x, const form *f)
{
    static const char *const words[] = {
        "%at6",    "%at7",         "shared",  "local",   ".cc",     "addc",      "subc",
        "madc",    "call",         "atom",    "bar",     "shfl",    "vote",      "match",
        "redux",   "cp.",          "mask",    "fence",   "membar",  "nanosleep", "alloca",
        "griddep", "volatile",     "acquire", "release", "relaxed", "%clock",    "%lane",
        "%warp",   "%globaltimer", "red.",    "big"};
    char code[4096] = "";
    ck_assert_msg(x->code(f, code, sizeof code), "no test of %s", f->name);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(code, words[i])) return 1;
    for (int i = 0; i < f->n; i++)
        if (type_half(f->mod[i])) return 1;
    return 0;
}

/* spaces: with shared and local memory */
static char *write_module(const family *x, const form *f, size_t n, int spaces)
{
    size_t room = 65536 + n * 3072, at = 0;
    char *text = malloc(room), arrays[200];
    snprintf(arrays, sizeof arrays,
             ".shared .align 16 .b8 common[%d];\n.local .align 16 .b8 own[%d];\n",
             FORM_BLOCK * SCRATCH, SCRATCH);
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
                "%s"
                "mov.u32 %%r1, %%tid.x; mov.u32 %%r8, %%ctaid.x; mad.lo.u32 %%r8, %%r8, %d, "
                "%%r1;\nmul.wide.u32 %%at0, %%r8, 8;\n",
                i ? "ret;\n}\n" : "", i / IN_A_KERNEL, spaces ? arrays : "", FORM_BLOCK);
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
                "ld.param.u64 %%at5, [s]; mad.lo.u64 %%at5, %%at0, %d, %%at5;\n",
                here, SCRATCH / 8);
            if (spaces)
                SAY("mov.u64 %%at6, common; cvt.u64.u32 %%at7, %%r1; mad.lo.u64 %%at6, %%at7, %d, "
                    "%%at6;\nmov.u64 %%at7, own;\n",
                    SCRATCH);
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

static void register_module(char *text, size_t kernels, char *host)
{
    size_t n = strlen(text) + 1;
    struct wrapper {
        uint32_t magic, version;
        void *data, *more;
    } *wrapper = malloc(sizeof *wrapper);
    ck_assert_ptr_nonnull(wrapper);
    unsigned char *data = calloc(1, 80 + n);
    uint32_t magic = 0xba55ed50, arch = 90, header = 64;
    uint16_t one = 1, sixteen = 16, kind = 1;
    uint64_t follow = 64 + n, payload = n;
    memcpy(data, &magic, 4), memcpy(data + 4, &one, 2), memcpy(data + 6, &sixteen, 2);
    memcpy(data + 8, &follow, 8), memcpy(data + 16, &kind, 2), memcpy(data + 20, &header, 4);
    memcpy(data + 24, &payload, 8), memcpy(data + 44, &arch, 4);
    memcpy(data + 80, text, n);
    *wrapper = (struct wrapper){0x466243b1, 1, data, NULL};
    void **handle = __cudaRegisterFatBinary(wrapper);
    for (size_t i = 0; i < kernels; i++) {
        char *name = malloc(24);
        snprintf(name, 24, "k%zu", i);
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

/* The first `mine` of `all`: those that can run in strips, or the others. */
static size_t run_forms(const family *x, const form *all, size_t mine, int spaces, operands *o,
                        void **in)
{
    static char host[2][1024]; /* addresses that stand for kernels */
    form *f = malloc((mine + 1) * sizeof *f);
    size_t n = 0;
    ck_assert_ptr_nonnull(f);
    const char *every = getenv("OOMPROOF_EVERY_FORM"); /* in strips, where that takes minutes */
    size_t step = in_strips() && !every ? 4 : 1;
    for (size_t i = 0; i < mine; i += step)
        if (apart(x, &all[i]) == spaces) f[n++] = all[i];
    char *text = write_module(x, f, n, spaces);
    ck_assert_uint_le(n / IN_A_KERNEL, sizeof *host);
    register_module(text, (n + IN_A_KERNEL - 1) / IN_A_KERNEL, host[spaces]);
    for (size_t i = 0; i < n; i += IN_A_KERNEL) {
        const void *kernel = &host[spaces][i / IN_A_KERNEL];
        unsigned tried, left;
        run_kernel(x, f + i, n - i < IN_A_KERNEL ? n - i : IN_A_KERNEL, o, in, kernel);
        if (!in_strips()) continue;
        ck_assert_msg(sim_runs_in_strips(kernel, &tried, &left), "%s: not in strips", f[i].name);
        ck_assert_msg(left == 0, "%s: %u of %u strips ended early", f[i].name, left, tried);
    }
    free(text), free(f);
    return n;
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
    void *in[] = {device(o.n * 8, o.a), device(o.n * 8, o.b), device(o.n * 8, o.c)};
    size_t plain = run_forms(x, all, mine, 0, &o, in);
    if (in_strips()) /* the others are run one thread after the other there too */
        printf("%zu forms of %zu, %zu operands each, in strips\n", plain, mine, o.n);
    else {
        ck_assert_uint_eq(plain + run_forms(x, all, mine, 1, &o, in), mine);
        printf("%zu forms, %zu operands each\n", mine, o.n);
    }
    free(all), free(o.a), free(o.b), free(o.c);
}
