/* formkit.c - see formkit.h. The modules go through the front door: a fat binary of plain PTX, as
 * nvcc's start-up code registers it. */
#include "formkit.h"
#include "ptx.h"
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

/* ---- types ---- */
int type_bits(const char *t)
{
    size_t n = strlen(t);
    if (!strcmp(t, "pred")) return 1;
    if (n > 2 && !strcmp(t + n - 2, "x2")) return 32;
    return atoi(t + strcspn(t, "0123456789"));
}
int type_float(const char *t)
{
    return !strcmp(t, "f32") || !strcmp(t, "f64");
}
int type_half(const char *t)
{
    return !strncmp(t, "f16", 3) || !strncmp(t, "bf16", 4);
}
__int128 type_value(const char *t, uint64_t x)
{
    int w = type_bits(t);
    if (w < 1 || w > 64) return 0; /* no type */
    if (*t == 's') return (int64_t)(x << (64 - w)) >> (64 - w);
    return x << (64 - w) >> (64 - w);
}
uint64_t type_mask(const char *t, __int128 x)
{
    int w = type_bits(t);
    return w < 1 || w > 64 ? 0 : (uint64_t)x << (64 - w) >> (64 - w);
}
float as_float(uint64_t x)
{
    float f;
    uint32_t u = (uint32_t)x;
    memcpy(&f, &u, 4);
    return f;
}
double as_double(uint64_t x)
{
    double f;
    memcpy(&f, &x, 8);
    return f;
}

/* ---- forms ---- */
const char *form_type(const form *f, int from_end)
{
    return f->n >= from_end ? f->mod[f->n - from_end] : "";
}

int form_has(const form *f, const char *mod)
{
    for (int i = 0; i < f->n; i++)
        if (!strcmp(f->mod[i], mod)) return 1;
    return 0;
}

typedef struct list {
    form *f;
    size_t n, room;
} list;

static void add(void *with, const char *op, const char *const *mods, int n)
{
    list *l = with;
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 4096;
        l->f = realloc(l->f, l->room * sizeof *l->f);
        ck_assert_ptr_nonnull(l->f);
    }
    form *f = &l->f[l->n];
    *f = (form){.op = op, .n = n};
    size_t at = (size_t)snprintf(f->name, sizeof f->name, "%s", op);
    for (int i = 0; i < n; i++) {
        snprintf(f->mod[i], sizeof f->mod[i], "%s", mods[i]);
        at += (size_t)snprintf(f->name + at, sizeof f->name - at, ".%s", mods[i]);
    }
    for (size_t i = 0; i < l->n; i++)
        if (l->f[i].op == op && !strcmp(l->f[i].name, f->name)) return;
    l->n++;
}

form *forms_all(size_t *n)
{
    list l = {0};
    sim_ptx_forms(add, &l);
    *n = l.n;
    return l.f;
}

const family *form_family(const form *f)
{
    char word[40], code[4096];
    snprintf(word, sizeof word, " %s ", f->op);
    for (int i = 0; i < form_family_count; i++)
        if (strstr(form_families[i]->opcodes, word) && form_families[i]->code(f, code, sizeof code))
            return form_families[i];
    return NULL;
}

const char *form_register(const char *t)
{
    if (!strcmp(t, "pred")) return "%p";
    if (!strcmp(t, "f32")) return "%f";
    if (!strcmp(t, "f64")) return "%fd";
    return type_bits(t) <= 16 ? "%rs" : type_bits(t) == 32 ? "%r" : "%rd";
}

void form_bring(const char *t, char *out, size_t room)
{
    const char *how = "mov.b64 %rd1, %rd5;";
    if (!strcmp(t, "pred"))
        how = "selp.u64 %rd1, 1, 0, %p5;";
    else if (!strcmp(t, "f32"))
        how = "mov.b32 %r5, %f5; cvt.u64.u32 %rd1, %r5;";
    else if (!strcmp(t, "f64"))
        how = "mov.b64 %rd1, %fd5;";
    else if (type_bits(t) <= 16)
        how = "cvt.u64.u16 %rd1, %rs5;";
    else if (type_bits(t) == 32)
        how = "cvt.u64.u32 %rd1, %r5;";
    snprintf(out, room, "%s", how);
}

static const char *expand(const form *f, const char *word, char *out, size_t room)
{
    const char *t = form_type(f, 1);
    if (!strcmp(word, "T")) return t;
    if (!strcmp(word, "D")) return form_type(f, 2);
    if (strcmp(word, "W")) return word;
    snprintf(out, room, "%c%d", *t, 2 * type_bits(t));
    return out;
}

int form_plain(const form *f, const char *types, char *out, size_t room)
{
    char all[80], wide[8], *save = NULL;
    size_t at = (size_t)snprintf(out, room, "%s", f->name);
    int i = 0;
    snprintf(all, sizeof all, "%s", types);
    for (char *w = strtok_r(all, " ", &save); w; w = strtok_r(NULL, " ", &save), i++)
        at += (size_t)snprintf(out + at, room - at, "%s%s%d", i ? ", " : " ",
                               form_register(expand(f, w, wide, sizeof wide)),
                               i == 0   ? 5
                               : i == 4 ? 6
                                        : i + 1);
    at += (size_t)snprintf(out + at, room - at, "; ");
    snprintf(all, sizeof all, "%.*s", (int)strcspn(types, " "), types);
    form_bring(expand(f, all, wide, sizeof wide), out + at, room - at);
    return 1;
}

/* ---- operands ---- */
#define D(x) (x##ull)
static const uint64_t whole[] = {0,
                                 1,
                                 2,
                                 7,
                                 8,
                                 15,
                                 16,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 127,
                                 128,
                                 255,
                                 256,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7fffff,
                                 0x800000,
                                 0xffffff,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 D(0x100000000),
                                 D(0x7fffffffffffffff),
                                 D(0x8000000000000000),
                                 D(0xffffffffffffffff),
                                 D(0xffffffff80000000),
                                 D(0xffff80000000ffff),
                                 D(0x8000000080008080),
                                 D(0x0123456789abcdef)};
static const uint64_t singles[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001,
    0x33000000, 0x34000000, 0x3f000000, 0x3effffff, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001,
    0x40000000, 0x40200000, 0xc0200000, 0x40490fdb, 0x4b000001, 0x4b800001, 0x4effffff, 0x4f000000,
    0xcf000001, 0x4f7fffff, 0x5f000000, 0x5f800000, 0x7e800001, 0x7f000000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001};
static const uint64_t doubles[] = {0,
                                   D(0x8000000000000000),
                                   1,
                                   D(0x8000000000000001),
                                   D(0x000fffffffffffff),
                                   D(0x0010000000000000),
                                   D(0x8010000000000001),
                                   D(0x3690000000000000),
                                   D(0x3690000000000001),
                                   D(0x36a0000000000000),
                                   D(0x37efffffffffffff),
                                   D(0x3810000000000000),
                                   D(0x3ca0000000000000),
                                   D(0x3fe0000000000000),
                                   D(0x3fefffffffffffff),
                                   D(0x3ff0000000000000),
                                   D(0xbff0000000000000),
                                   D(0x3ff0000000000001),
                                   D(0x3ff0000010000000),
                                   D(0x3ff0000030000001),
                                   D(0x4004000000000000),
                                   D(0xc004000000000000),
                                   D(0x400921fb54442d18),
                                   D(0x41dfffffffc00000),
                                   D(0x41e0000000000000),
                                   D(0xc1e0000000200000),
                                   D(0x41efffffffe00000),
                                   D(0x41f0000000000000),
                                   D(0x4340000000000001),
                                   D(0x43e0000000000000),
                                   D(0xc3e0000000000001),
                                   D(0x43f0000000000000),
                                   D(0x47efffffefffffff),
                                   D(0x47effffff0000000),
                                   D(0x7fe0000000000000),
                                   D(0x7fefffffffffffff),
                                   D(0xffefffffffffffff),
                                   D(0x7ff0000000000000),
                                   D(0xfff0000000000000),
                                   D(0x7ff8000000000000),
                                   D(0xfff8000012345678)};
static const uint64_t halves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x0080, 0x007f,
                                  0x3c00, 0xbc00, 0x3c01, 0x3f80, 0x3f81, 0x3800, 0x4248, 0x7bff,
                                  0xfbff, 0x7c00, 0xfc00, 0x7f7f, 0x7f80, 0xff80, 0x7fff, 0x7e00};

static uint64_t random_word(void)
{
    static uint64_t x = D(88172645463325252);
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static void cross(operands *o, const uint64_t *e, size_t n, int twice)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++, o->n++) {
            uint64_t x[3] = {e[i], e[k], e[random_word() % n]};
            for (int j = 0; twice && j < 3; j++) x[j] |= e[random_word() % n] << twice;
            o->a[o->n] = x[0], o->b[o->n] = x[1], o->c[o->n] = x[2];
        }
}

#define COUNT(e) (sizeof e / sizeof *e)
static void fill(operands *o)
{
    size_t room = COUNT(whole) * COUNT(whole) + COUNT(singles) * COUNT(singles) +
                  COUNT(doubles) * COUNT(doubles) + COUNT(halves) * COUNT(halves) + 3 * 600 +
                  FORM_BLOCK;
    o->a = malloc(room * 8), o->b = malloc(room * 8), o->c = malloc(room * 8);
    ck_assert(o->a && o->b && o->c);
    cross(o, whole, COUNT(whole), 0);
    cross(o, singles, COUNT(singles), 32);
    cross(o, doubles, COUNT(doubles), 0);
    cross(o, halves, COUNT(halves), 16);
    for (size_t i = 0; i < 1800 || o->n % FORM_BLOCK; i++, o->n++) {
        uint64_t x = random_word(), y = random_word(), z = random_word();
        if (i % 3 == 1) /* counts and places, as shifts and fields have them */
            y %= 70, z = (z % 70) | (random_word() % 70) << 32;
        if (i % 3 == 2) /* floats near each other */
            y = x ^ (random_word() & D(0x80000000800000ff)), z = x ^ D(0x8000000080000000);
        o->a[o->n] = x, o->b[o->n] = y, o->c[o->n] = z;
    }
}

/* ---- modules ---- */
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
    uint64_t big[4] = {D(0x8182838485868788), D(0x1122334455667788), D(0x99aabbccddeeff00), 5};
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
    fill(&o);
    char *text = write_module(x, all, mine);
    register_module(text, (mine + IN_A_KERNEL - 1) / IN_A_KERNEL);
    void *in[] = {device(o.n * 8, o.a), device(o.n * 8, o.b), device(o.n * 8, o.c)};
    for (size_t i = 0; i < mine; i += IN_A_KERNEL)
        run_kernel(x, all + i, mine - i < IN_A_KERNEL ? mine - i : IN_A_KERNEL, &o, in,
                   &host[i / IN_A_KERNEL]);
    printf("%zu forms, %zu operands each\n", mine, o.n);
    free(text), free(all), free(o.a), free(o.b), free(o.c);
}
