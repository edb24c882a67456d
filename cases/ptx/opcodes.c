/* opcodes.c - instructions at their edges. Expected values come from the definition of the
 * instruction in the PTX ISA manual, worked out by hand: a second translation would repeat the same
 * reading. */
#include "case.h"
#include "ptx.h"
#include "simrt.h"
#include <dlfcn.h>
#include <setjmp.h>
#include <unistd.h>

static jmp_buf raised;
static char why[300];
static int error_raised;

static void __attribute__((noreturn))
raise_(sim_ctx *c, int error, const char *kernel, int line, const char *text)
{
    (void)c, (void)kernel;
    error_raised = error;
    snprintf(why, sizeof why, "line %d: %s", line, text);
    longjmp(raised, 1);
}

static char *address_(sim_ctx *c, uint64_t a, uint32_t n, int access, sim_near *near)
{
    (void)c, (void)n, (void)access, (void)near;
    return (char *)(uintptr_t)a;
}

typedef struct row {
    const char *code; /* writes %rd1 from %rd2 and %rd3, whose low halves are %r2, %r3, %f2 ... */
    uint64_t a, b, want;
} row;

/* The module: kernel k<i> holds row i. Registers of every kind carry the same bits. */
static char *module_of(const row *r, int n)
{
    char *text = malloc(4096 * (size_t)(n + 1)), *p = text;
    p += sprintf(p, ".version 9.0\n.target sm_75\n.address_size 64\n");
    for (int i = 0; i < n; i++)
        p += sprintf(p,
                     ".visible .entry k%d(.param .u64 a, .param .u64 b, .param .u64 o)\n{\n"
                     ".reg .b64 %%rd<8>; .reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .f64 %%fd<8>; "
                     ".reg .b16 %%rs<8>;\n"
                     ".reg .pred %%p<8>;\nld.param.u64 %%rd2, [a]; ld.param.u64 %%rd3, [b]; "
                     "ld.param.u64 %%rd7, [o];\n"
                     "cvt.u32.u64 %%r2, %%rd2; cvt.u32.u64 %%r3, %%rd3; mov.b32 %%f2, %%r2; "
                     "mov.b32 %%f3, %%r3;\n"
                     "mov.b64 %%fd2, %%rd2; mov.b64 %%fd3, %%rd3; mov.u64 %%rd1, "
                     "0;\n%s\nst.global.u64 [%%rd7], %%rd1;\n"
                     "ret;\n}\n",
                     i, r[i].code);
    return text;
}

static void run_rows(const row *r, int n)
{
    char error[256], *text = module_of(r, n);
    sim_ptx *m = sim_ptx_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(m != NULL, "%s", error);
    for (int i = 0; i < n; i++) {
        char c[300], so[300], command[1200];
        snprintf(c, sizeof c, "%s/cases/op.%ld.%d.c", OOMPROOF_BUILD_DIR, (long)getpid(), i);
        snprintf(so, sizeof so, "%s/cases/op.%ld.%d.so", OOMPROOF_BUILD_DIR, (long)getpid(), i);
        FILE *f = fopen(c, "w");
        ck_assert_ptr_nonnull(f);
        ck_assert_msg(sim_ptx_emit(m, i, 0, f) == 0, "refused: %s", r[i].code);
        fclose(f);
        snprintf(command, sizeof command,
                 "cc -O2 -std=gnu11 -fPIC -shared -w -march=native -ffp-contract=off "
                 "-fno-strict-aliasing -fwrapv "
                 "-fno-trapping-math -fno-math-errno '%s' -o '%s' -lm",
                 c, so);
        ck_assert_int_eq(system(command), 0);
        void *h = dlopen(so, RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(h != NULL, "%s", dlerror());
        const sim_kernel_info *k = dlsym(h, "sim_kernel");
        uint64_t out = 0xdeadu, a = r[i].a, b = r[i].b, o = (uint64_t)(uintptr_t)&out;
        sim_calls calls = {.raise = raise_, .address = address_};
        uint64_t here = (uint64_t)(uintptr_t)&calls; /* local memory: the stack around */
        sim_near near[16] = {{0}};
        ck_assert_uint_le(k->naccess, sizeof near / sizeof *near);
        sim_ctx ctx = {.rt = &calls,
                       .near = near,
                       .ntid = {1, 1, 1},
                       .stack = here - (1 << 16),
                       .stack_bytes = 1 << 17};
        void *args[] = {&a, &b, &o};
        ck_assert_msg(setjmp(raised) == 0, "%s: %s", r[i].code, why);
        (k->all ? k->all : k->entry)(&ctx, args);
        ck_assert_msg(out == r[i].want, "%s of %#llx, %#llx gave %#llx, not %#llx", r[i].code,
                      (unsigned long long)a, (unsigned long long)b, (unsigned long long)out,
                      (unsigned long long)r[i].want);
        unlink(c);
        unlink(so);
    }
    sim_ptx_free(m);
    free(text);
}

#define F32(op)     op " mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;"
#define U32(op)     op " cvt.u64.u32 %rd1, %r1;"
#define F64(op)     op " mov.b64 %rd1, %fd1;"
#define ONE         0x3f800000u
#define TINY        0x33000000u /* 2^-25: a quarter of the distance of 1 to the next float */
#define COUNT(rows) ((int)(sizeof rows / sizeof *rows))

START_TEST(directed_rounding_is_honoured)
{
    static const row rows[] = {
        {F32("add.rn.f32 %f1, %f2, %f3;"), ONE, TINY, ONE},
        {F32("add.rz.f32 %f1, %f2, %f3;"), ONE, TINY, ONE},
        {F32("add.rm.f32 %f1, %f2, %f3;"), ONE, TINY, ONE},
        {F32("add.rp.f32 %f1, %f2, %f3;"), ONE, TINY, ONE + 1},
        {F32("sub.rz.f32 %f1, %f2, %f3;"), ONE, TINY, ONE - 1},
        {F32("sub.rp.f32 %f1, %f2, %f3;"), ONE, TINY, ONE},
        {F32("mul.rp.f32 %f1, %f2, %f3;"), 0x3f800001u, 0x3f800001u, 0x3f800003u},
        {F32("mul.rm.f32 %f1, %f2, %f3;"), 0x3f800001u, 0x3f800001u, 0x3f800002u},
        {F32("fma.rp.f32 %f1, %f2, %f2, %f3;"), ONE, TINY, ONE + 1},
        {F32("div.rp.f32 %f1, %f2, %f3;"), ONE, 0x40400000u, 0x3eaaaaabu},
        {F32("div.rz.f32 %f1, %f2, %f3;"), ONE, 0x40400000u, 0x3eaaaaaau},
        {F32("sqrt.rp.f32 %f1, %f2;"), 0x40000000u, 0, 0x3fb504f4u},
        {F32("sqrt.rm.f32 %f1, %f2;"), 0x40000000u, 0, 0x3fb504f3u},
        {F64("add.rp.f64 %fd1, %fd2, %fd3;"), 0x3ff0000000000000u, 0x3c00000000000000u,
         0x3ff0000000000001u},
        {F32("cvt.rp.f32.u32 %f1, %r2;"), 16777217, 0, 0x4b800001u},
        {F32("cvt.rm.f32.u32 %f1, %r2;"), 16777217, 0, 0x4b800000u},
        {F32("cvt.rz.f32.s32 %f1, %r2;"), (uint32_t)-16777217, 0, 0xcb800000u},
        {F32("cvt.rm.f32.s32 %f1, %r2;"), (uint32_t)-16777217, 0, 0xcb800001u},
        {F32("cvt.rp.f32.u64 %f1, %rd2;"), UINT64_MAX, 0, 0x5f800000u},
        {F32("cvt.rz.f32.u64 %f1, %rd2;"), UINT64_MAX, 0, 0x5f7fffffu},
        {F64("cvt.rz.f64.u64 %fd1, %rd2;"), UINT64_MAX, 0, 0x43efffffffffffffu},
        {F64("cvt.rp.f64.s64 %fd1, %rd2;"), 9007199254740993u, 0, 0x4340000000000001u},
        {F32("cvt.rp.f32.f64 %f1, %fd2;"), 0x3ff0000000000001u, 0, ONE + 1},
        {F32("cvt.rz.f32.f64 %f1, %fd2;"), 0x3fefffffffffffffu, 0, ONE - 1},
    };
    run_rows(rows, COUNT(rows));
}
END_TEST

START_TEST(integers_behave_at_the_edges)
{
    static const row rows[] = {
        {U32("shl.b32 %r1, %r2, %r3;"), 1, 32, 0},
        {U32("shr.u32 %r1, %r2, %r3;"), 0x80000000u, 40, 0},
        {U32("shr.s32 %r1, %r2, %r3;"), 0x80000000u, 40, 0xffffffffu},
        {U32("div.s32 %r1, %r2, %r3;"), 0x80000000u, 0xffffffffu, 0x80000000u},
        {U32("rem.s32 %r1, %r2, %r3;"), 0x80000000u, 0xffffffffu, 0},
        {U32("mul.hi.u32 %r1, %r2, %r3;"), 0xffffffffu, 0xffffffffu, 0xfffffffeu},
        {U32("mul.hi.s32 %r1, %r2, %r3;"), 0xffffffffu, 2, 0xffffffffu},
        {"mul.wide.s32 %rd1, %r2, %r3;", 0xffffffffu, 2, 0xfffffffffffffffeu},
        {"mul.hi.u64 %rd1, %rd2, %rd3;", UINT64_MAX, UINT64_MAX, UINT64_MAX - 1},
        {U32("add.sat.s32 %r1, %r2, %r3;"), 0x7fffffffu, 1, 0x7fffffffu},
        {U32("bfe.s32 %r1, %r2, 4, 4;"), 0xf0u, 0, 0xffffffffu},
        {U32("bfe.u32 %r1, %r2, 4, 4;"), 0xf0u, 0, 0xfu},
        {U32("bfi.b32 %r1, %r2, %r3, 8, 8;"), 0xab, 0, 0xab00u},
        {U32("bfind.u32 %r1, %r2;"), 0, 0, 0xffffffffu},
        {U32("bfind.s32 %r1, %r2;"), 0xfffffffeu, 0, 0},
        {U32("clz.b32 %r1, %r2;"), 0, 0, 32},
        {U32("clz.b64 %r1, %rd2;"), 1, 0, 63},
        {U32("popc.b64 %r1, %rd2;"), UINT64_MAX, 0, 64},
        {U32("brev.b32 %r1, %r2;"), 1, 0, 0x80000000u},
        {U32("prmt.b32 %r1, %r2, %r3, 0x7531;"), 0x33221100u, 0x77665544u, 0x77553311u},
        {U32("prmt.b32 %r1, %r2, %r3, 0x8888;"), 0x80u, 0, 0xffffffffu},
        {U32("lop3.b32 %r1, %r2, %r3, %r2, 0x3c;"), 0xf0f0u, 0xff00u, 0x0ff0u},
        {U32("shf.l.wrap.b32 %r1, %r2, %r3, 4;"), 0xf0000000u, 1, 0x1fu},
        {U32("shf.r.clamp.b32 %r1, %r2, %r3, 40;"), 1, 2, 2},
        {U32("add.cc.u32 %r4, %r2, %r3; addc.u32 %r1, 0, 0;"), 0xffffffffu, 1, 1},
        {U32("setp.lt.s32 %p1, %r2, %r3; selp.b32 %r1, 7, 9, %p1;"), 0xffffffffu, 0, 7},
        {U32("setp.lo.u32 %p1, %r2, %r3; selp.b32 %r1, 7, 9, %p1;"), 0xffffffffu, 0, 9},
        {"cvt.s64.s32 %rd1, %r2;", 0x80000000u, 0, 0xffffffff80000000u},
        {U32("cvt.sat.u8.s32 %r1, %r2;"), 300, 0, 255},
        {U32("dp4a.u32.u32 %r1, %r2, %r3, %r3;"), 0x01010101u, 0x01020304u, 0x01020304u + 10},
    };
    run_rows(rows, COUNT(rows));
}
END_TEST

START_TEST(floats_behave_at_the_edges)
{
    static const row rows[] = {
        {F32("min.f32 %f1, %f2, %f3;"), 0x7fc00000u, ONE, ONE},
        {F32("max.f32 %f1, %f2, %f3;"), ONE, 0x7fc00000u, ONE},
        {F32("min.f32 %f1, %f2, %f3;"), 0, 0x80000000u, 0x80000000u},
        {F32("add.sat.f32 %f1, %f2, %f3;"), ONE, ONE, ONE},
        {F32("add.sat.f32 %f1, %f2, %f3;"), 0x7fc00000u, ONE, 0},
        {F32("add.ftz.f32 %f1, %f2, %f3;"), 1, 1, 0},
        {F32("add.f32 %f1, %f2, %f3;"), 1, 1, 2},
        {U32("cvt.rzi.s32.f32 %r1, %f2;"), 0x7fc00000u, 0, 0},
        {U32("cvt.rzi.s32.f32 %r1, %f2;"), 0x7f800000u, 0, 0x7fffffffu},
        {"cvt.rzi.s64.f32 %rd1, %f2;", 0x7fc00000u, 0, 1ull << 63},
        {"cvt.rzi.u64.f32 %rd1, %f2;", 0xffc00000u, 0, 1ull << 63},
        {"cvt.rzi.s64.f64 %rd1, %fd2;", 0x7ff8000000000000u, 0, 1ull << 63},
        {"cvt.rzi.u64.f64 %rd1, %fd2;", 0x7ff8000000000000u, 0, 1ull << 63},
        {U32("cvt.rzi.s32.f64 %r1, %fd2;"), 0x7ff8000000000000u, 0, 0x80000000u},
        {U32("cvt.rni.u32.f64 %r1, %fd2;"), 0x7ff8000000000000u, 0, 0x80000000u},
        {U32("cvt.rni.u32.f64 %r1, %fd2;"), 0xbff0000000000000u, 0, 0},
        {U32("cvt.rzi.u32.f32 %r1, %f2;"), 0xbf800000u, 0, 0},
        {U32("cvt.rni.s32.f32 %r1, %f2;"), 0x40200000u, 0, 2},
        {U32("cvt.rmi.s32.f32 %r1, %f2;"), 0xbf000000u, 0, 0xffffffffu},
        {U32("setp.lt.f32 %p1, %f2, %f3; selp.b32 %r1, 7, 9, %p1;"), 0x7fc00000u, ONE, 9},
        {U32("setp.ltu.f32 %p1, %f2, %f3; selp.b32 %r1, 7, 9, %p1;"), 0x7fc00000u, ONE, 7},
        {U32("setp.ne.f32 %p1, %f2, %f3; selp.b32 %r1, 7, 9, %p1;"), 0x7fc00000u, ONE, 9},
        {U32("setp.neu.f32 %p1, %f2, %f3; selp.b32 %r1, 7, 9, %p1;"), 0x7fc00000u, ONE, 7},
        {F32("copysign.f32 %f1, %f2, %f3;"), 0x80000000u, ONE, 0xbf800000u},
        {F32("neg.f32 %f1, %f2;"), 0, 0, 0x80000000u},
        {F32("fma.rn.f32 %f1, %f2, %f3, %f2;"), 0x7f7fffffu, 0, 0x7f7fffffu},
    };
    run_rows(rows, COUNT(rows));
}
END_TEST

static int refused(const char *code, char *says, size_t room)
{
    row r = {code, 0, 0, 0};
    char error[256], *text = module_of(&r, 1), *c = NULL;
    size_t bytes;
    sim_ptx *m = sim_ptx_parse(text, strlen(text), error, sizeof error);
    ck_assert_msg(m != NULL, "%s", error);
    FILE *f = open_memstream(&c, &bytes);
    int n = sim_ptx_emit(m, 0, 0, f);
    fclose(f);
    const char *at = strstr(c, "not supported by the simulated device: ");
    snprintf(says, room, "%s", at ? at : "");
    free(c);
    free(text);
    sim_ptx_free(m);
    return n;
}

START_TEST(rare_instructions_follow_their_definition)
{
    static const row rows[] = {
        {U32("sad.s32 %r1, %r2, %r3, %r2;"), (uint32_t)-5, 7, 7},
        {U32("sad.u32 %r1, %r2, %r3, %r2;"), (uint32_t)-5, 7, 0xffffffefu},
        {U32("dp2a.lo.s32.s32 %r1, %r2, %r3, %r2;"), 0x30002, 0x06fe0104, 0x3000d},
        {U32("dp2a.hi.s32.s32 %r1, %r2, %r3, %r2;"), 0x30002, 0x06fe0104, 0x30010},
        {U32("dp2a.hi.u32.u32 %r1, %r2, %r3, %r2;"), 0x30002, 0x06fe0104, 0x30210},
        {U32("bmsk.clamp.b32 %r1, %r2, %r3;"), 4, 8, 0xff0},
        {U32("bmsk.clamp.b32 %r1, %r2, %r3;"), 28, 8, 0xf0000000u},
        {U32("bmsk.clamp.b32 %r1, %r2, %r3;"), 40, 1, 0},
        {U32("bmsk.clamp.b32 %r1, %r2, %r3;"), 0, 40, 0xffffffffu},
        {U32("bmsk.wrap.b32 %r1, %r2, %r3;"), 40, 33, 0x100},
        {U32("szext.clamp.s32 %r1, %r2, %r3;"), 0x18f, 8, 0xffffff8fu},
        {U32("szext.clamp.u32 %r1, %r2, %r3;"), 0x18f, 8, 0x8f},
        {U32("szext.wrap.u32 %r1, %r2, %r3;"), 0x18f, 36, 0xf},
        {U32("szext.clamp.s32 %r1, %r2, %r3;"), 0x80000001u, 40, 0x80000001u},
        {U32("szext.clamp.s32 %r1, %r2, %r3;"), 0x80000001u, 0, 0},
        {U32("vabsdiff4.u32.u32.u32 %r1, %r2, %r3, %r2;"), 0x01ff1005, 0x02011007, 0x01fe0002},
        {U32("vabsdiff4.u32.s32.s32 %r1, %r2, %r3, %r2;"), 0x01ff1005, 0x02011007, 0x01020002},
        {U32("vabsdiff4.u32.u32.u32.add %r1, %r2, %r3, %r2;"), 0x01ff1005, 0x02011007, 0x01ff1106},
        {"mov.u64 %rd4, %clock64; mov.u64 %rd5, %clock64; sub.u64 %rd1, %rd5, %rd4;", 0, 0, 64},
        {"mov.b64 %rd4, 24; alloca.u64 %rd5, %rd4, 16; st.local.u64 [%rd5+16], %rd2; "
         "ld.local.u64 %rd1, [%rd5+16];",
         77, 0, 77},
        {"{.reg.b64 q; .reg .pred p; setp.eq.u32 p, %r2, 5; ld.global.L2::128B.u64 q, [%rd7];\n"
         "@p ld.global.L1::no_allocate.L2::256B.u64 q, [%rd7]; mov.u64 %rd1, q;}",
         5, 0, 0xdead},
        /* the second result takes the place of what both are made from */
        {U32("{.reg .pred p, q; setp.ne.u32 q, %r3, 0; setp.lt.xor.u32 p|q, %r2, 5, q;\n"
             "selp.u32 %r4, 1, 0, p; selp.u32 %r5, 2, 0, q; or.b32 %r1, %r4, %r5;}"),
         7, 1, 1},
        {U32("{.reg .pred p, q; setp.ne.u32 p, %r3, 0; setp.lt.or.u32 p|q, %r2, 5, p;\n"
             "selp.u32 %r4, 1, 0, p; selp.u32 %r5, 2, 0, q; or.b32 %r1, %r4, %r5;}"),
         3, 0, 1},
        {U32("fns.b32 %r1, %r2, 4, 2;"), 0xb5, 0, 5},
        {U32("fns.b32 %r1, %r2, 4, -2;"), 0xb5, 0, 2},
        {U32("fns.b32 %r1, %r2, 3, 0;"), 0xb5, 0, 0xffffffffu},
        {U32("fns.b32 %r1, %r2, 40, 0;"), 0xffffffffu, 0, 0xffffffffu},
    };
    run_rows(rows, COUNT(rows));
}
END_TEST

START_TEST(an_unknown_modifier_is_refused_by_name_and_line)
{
    char says[400];
    static const char *const codes[] = {"add.xyz.f32 %f1, %f2, %f3;",
                                        "shl.u32 %r1, %r2, %r3;",
                                        "ld.global.bogus.u32 %r1, [%rd2];",
                                        "cvt.rn.relu.f32.f64 %f1, %fd2;",
                                        "atom.global.add.noidea.u32 %r1, [%rd2], %r3;",
                                        "mul.f32.rn %f1, %f2, %f3;"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        ck_assert_msg(refused(codes[i], says, sizeof says) == 1, "accepted: %s", codes[i]);
        ck_assert_msg(strncmp(says + 39, codes[i], 6) == 0, "%s: %s", codes[i], says);
    }
}
END_TEST

START_TEST(an_unknown_opcode_is_refused_by_name)
{
    char says[400];
    ck_assert_int_eq(refused("frobnicate.f32 %f1, %f2;", says, sizeof says), 1);
    ck_assert_ptr_nonnull(strstr(says, "opcode frobnicate"));
    ck_assert_int_eq(refused("add.f32 %f1, %nobody, %f2;", says, sizeof says), 1);
}
END_TEST

START_TEST(unreadable_text_names_its_line)
{
    static const char *const bad[] = {"hello", ".version 9.0\n.visible .entry k(\n",
                                      ".version 9.0\n.entry k()\n{\n add.f32 %f1",
                                      ".global .what x;"};
    char error[256];
    for (int i = 0; i < 4; i++) {
        ck_assert_ptr_null(sim_ptx_parse(bad[i], strlen(bad[i]), error, sizeof error));
        ck_assert_msg(!strncmp(error, "line ", 5), "%s", error);
    }
}
END_TEST

/* Each was a crash, an endless loop or a leak once (run under the asan preset to see all of them).
 */
START_TEST(what_fuzzing_found_is_refused)
{
#define BODY(text) ".version 8.0\n.entry k()\n{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n" text "\n}\n"
    static const struct {
        const char *text;
        int reads; /* as PTX: then the kernel has one instruction that is refused */
    } found[] = {{BODY("L: /* no end"), 0},
                 {BODY(".shared.align 4 .b8 x[4];"), 0},
                 {BODY(".reg .b32 %q<-5>;"), 0},
                 {BODY(".reg .b32 %q<2000000000>;"), 0},
                 {BODY("mov.b32 %r1, %tid.;"), 1},
                 {BODY("setp.ge.u32;"), 1},
                 {BODY("set.ge;"), 1},
                 {BODY("mov.b32 {}, %r1;"), 1},
                 {BODY("mov.b32 %r1, {%r2,%r2,%r2};"), 1},
                 {BODY("ld.global.u32 %r1, [%r2+abort()];"), 1},
                 {BODY("mov.b32 %r1, 0fzz;"), 1},
                 {".global .b8 x[99999999999][99999999999];", 0},
                 {".global .align 3 .b8 x[4];", 0},
                 {".visible .b8 x[4];", 0},
                 {".global .b8 x[2] = {1, 2, 3};", 0},
                 {".global .u64 x[2] = {generic(a), generic(b), 1};", 0}};
    char error[256];
    for (size_t i = 0; i < sizeof found / sizeof *found; i++) {
        sim_ptx *m = sim_ptx_parse(found[i].text, strlen(found[i].text), error, sizeof error);
        ck_assert_msg((m != NULL) == found[i].reads, "%s: %s", found[i].text,
                      m ? "was read" : error);
        if (!m) continue;
        FILE *nowhere = fopen("/dev/null", "w");
        ck_assert_msg(sim_ptx_emit(m, 0, 0, nowhere) >= 1, "%s: not refused", found[i].text);
        fclose(nowhere);
        sim_ptx_free(m);
    }
}
END_TEST

static const case_entry cases[] = {
#include "opcodes.def"
};
CASE_MAIN("opcodes")
