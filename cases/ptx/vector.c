/* vector.c - see vector.h */
#include "vector.h"
#include "ptx.h"
#include "simrt.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf raised;
static char why[300];

static void __attribute__((noreturn))
raise_(sim_ctx *c, int error, const char *kernel, int line, const char *text)
{
    (void)c, (void)kernel;
    snprintf(why, sizeof why, "%d at line %d: %s", error, line, text);
    longjmp(raised, 1);
}

static void tick_(sim_ctx *c, const char *kernel, int line)
{
    (void)c, (void)kernel, (void)line;
}

static char *address_(sim_ctx *c, uint64_t a, uint32_t n, int access, sim_near *near)
{
    (void)c, (void)n, (void)access, (void)near;
    return (char *)(uintptr_t)a;
}

uint64_t vector_random(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

void vector_make(vector *v, size_t n)
{
    *v = (vector){.n = n};
    v->a = malloc(n * 8), v->b = malloc(n * 8), v->c = malloc(n * 8), v->out = malloc(n * 8);
    ck_assert(v->a && v->b && v->c && v->out);
    for (size_t i = 0; i < n; i++)
        v->a[i] = vector_random(), v->b[i] = vector_random(), v->c[i] = vector_random();
}

void vector_free(vector *v)
{
    free(v->a), free(v->b), free(v->c), free(v->out);
    *v = (vector){0};
}

static sim_ptx *module_of(const char *code)
{
    size_t room = strlen(code) + 2048;
    char error[256], *text = malloc(room), *p = text;
    p += sprintf(
        p, ".version 9.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 o)\n{\n"
           ".reg .b64 %%rd<16>, %%at<8>; .reg .b32 %%r<16>; .reg .f32 %%f<16>;\n"
           ".reg .f64 %%fd<16>; .reg .b16 %%rs<16>; .reg .pred %%p<16>;\n"
           "mov.u32 %%r1, %%tid.x; mul.wide.u32 %%at0, %%r1, 8;\n");
    for (int i = 0; i < 4; i++)
        p += sprintf(p, "ld.param.u64 %%at%d, [%c]; add.u64 %%at%d, %%at%d, %%at0;\n", i + 1,
                     "abco"[i], i + 1, i + 1);
    for (int i = 2; i < 5; i++)
        p += sprintf(p,
                     "ld.global.u64 %%rd%d, [%%at%d]; cvt.u32.u64 %%r%d, %%rd%d; cvt.u16.u64 "
                     "%%rs%d, %%rd%d; mov.b32 %%f%d, %%r%d; mov.b64 %%fd%d, %%rd%d;\n",
                     i, i - 1, i, i, i, i, i, i, i, i);
    sprintf(p, "mov.u64 %%rd1, 0;\n%s\nst.global.u64 [%%at4], %%rd1;\nret;\n}\n", code);
    sim_ptx *m = sim_ptx_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(m != NULL, "%s", error);
    free(text);
    return m;
}

unsigned long vector_strips, vector_strips_left;

static void compile(const sim_ptx *m, int in_strips, const char *so, const char *code)
{
    char c[320], command[1400];
    snprintf(c, sizeof c, "%s.c", so);
    FILE *f = fopen(c, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_msg(sim_ptx_emit(m, 0, in_strips, f) == 0, "refused: %s", code);
    fclose(f);
    snprintf(
        command, sizeof command,
        "cc -O2 -std=gnu11 -fPIC -shared -w -march=native -ffp-contract=off -fno-tree-vectorize "
        "-fno-strict-aliasing -fwrapv -fno-trapping-math -fno-math-errno '%s' -o '%s' -lm",
        c, so);
    ck_assert_int_eq(system(command), 0);
    unlink(c);
}

static void run(vector *v, const sim_ptx *m, int in_strips, const char *code, uint64_t *out)
{
    static int number;
    char so[300];
    snprintf(so, sizeof so, "%s/cases/vec.%ld.%d.so", OOMPROOF_BUILD_DIR, (long)getpid(), number++);
    compile(m, in_strips, so, code);
    void *h = dlopen(so, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(h != NULL, "%s", dlerror());
    const sim_kernel_info *k = dlsym(h, "sim_kernel");
    uint64_t *zeros = v->b && v->c ? NULL : calloc(v->n, 8), *b = v->b ? v->b : zeros,
             *cc = v->c ? v->c : zeros;
    sim_calls calls = {.raise = raise_, .address = address_, .tick = tick_};
    sim_near *near = calloc(k->naccess + 1, sizeof *near);
    ck_assert_msg(k->all != NULL, "%s", "a piece that waits has no place here");
    /* all addresses are plain: no strip ends early for that */
    sim_ctx ctx = {.rt = &calls, .near = near, .ntid = {(uint32_t)v->n, 1, 1}, .bytes = 1ull << 50};
    void *args[] = {&v->a, &b, &cc, &out};
    memset(out, 0, v->n * 8);
    ck_assert_msg(setjmp(raised) == 0, "%s: %s", code, why);
    k->all(&ctx, args);
    if (k->strips) vector_strips += k->strips[0], vector_strips_left += k->strips[1];
    free(zeros), free(near);
    dlclose(h);
    unlink(so);
}

void vector_run(vector *v, const char *code)
{
    sim_ptx *m = module_of(code);
    run(v, m, 0, code, v->out);
    if (sim_ptx_strips(m, 0)) {
        uint64_t *out = malloc(v->n * 8);
        ck_assert_ptr_nonnull(out);
        run(v, m, 1, code, out);
        for (size_t i = 0; i < v->n; i++)
            ck_assert_msg(out[i] == v->out[i], "thread %zu: %#llx, in strips %#llx, of\n%s", i,
                          (unsigned long long)v->out[i], (unsigned long long)out[i], code);
        free(out);
    }
    sim_ptx_free(m);
}

int vector_refused(const char *code, char *says, size_t room)
{
    char *c = NULL;
    size_t bytes;
    sim_ptx *m = module_of(code);
    FILE *f = open_memstream(&c, &bytes);
    int n = sim_ptx_emit(m, 0, 0, f);
    fclose(f);
    const char *at = strstr(c, "not supported by the simulated device: ");
    snprintf(says, room, "%s", at ? at + 39 : "");
    free(c);
    sim_ptx_free(m);
    return n;
}
