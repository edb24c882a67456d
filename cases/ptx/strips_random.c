/* strips_random.c - kernels that are drawn: arithmetic of every width, branches that part lanes,
 * loops of different lengths, loads and stores side by side and scattered. Run in strips of threads
 * each leaves the bits that it leaves thread after thread. */
#include "case.h"
#include "vector.h"

enum { THREADS = 256 };

static uint64_t state;
static unsigned draw(unsigned n)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (unsigned)(state >> 20) % n;
}

typedef struct text {
    char *s;
    size_t n, room;
} text;

static void say(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    t->n += (size_t)vsnprintf(t->s + t->n, t->room - t->n, format, ap);
    va_end(ap);
    ck_assert_uint_lt(t->n, t->room);
}

/* registers 2 to 10 of each kind, 11 to 15 are for what the text needs itself */
static unsigned any(void)
{
    return 2 + draw(9);
}

static void instruction(text *t)
{
    static const char *const three[] = {
        "add.s32 %%r%u, %%r%u, %%r%u;",        "sub.u32 %%r%u, %%r%u, %%r%u;",
        "mul.lo.s32 %%r%u, %%r%u, %%r%u;",     "and.b32 %%r%u, %%r%u, %%r%u;",
        "or.b32 %%r%u, %%r%u, %%r%u;",         "xor.b32 %%r%u, %%r%u, %%r%u;",
        "min.s32 %%r%u, %%r%u, %%r%u;",        "max.u32 %%r%u, %%r%u, %%r%u;",
        "div.u32 %%r%u, %%r%u, %%r%u;",        "rem.s32 %%r%u, %%r%u, %%r%u;",
        "mul.hi.u32 %%r%u, %%r%u, %%r%u;",     "shl.b32 %%r%u, %%r%u, %%r%u;",
        "add.s64 %%rd%u, %%rd%u, %%rd%u;",     "sub.s64 %%rd%u, %%rd%u, %%rd%u;",
        "mul.lo.u64 %%rd%u, %%rd%u, %%rd%u;",  "xor.b64 %%rd%u, %%rd%u, %%rd%u;",
        "max.s64 %%rd%u, %%rd%u, %%rd%u;",     "min.u64 %%rd%u, %%rd%u, %%rd%u;",
        "add.f32 %%f%u, %%f%u, %%f%u;",        "sub.rn.f32 %%f%u, %%f%u, %%f%u;",
        "mul.f32 %%f%u, %%f%u, %%f%u;",        "div.rn.f32 %%f%u, %%f%u, %%f%u;",
        "min.f32 %%f%u, %%f%u, %%f%u;",        "max.NaN.f32 %%f%u, %%f%u, %%f%u;",
        "add.ftz.f32 %%f%u, %%f%u, %%f%u;",    "mul.rz.f32 %%f%u, %%f%u, %%f%u;",
        "add.f64 %%fd%u, %%fd%u, %%fd%u;",     "mul.f64 %%fd%u, %%fd%u, %%fd%u;",
        "div.rn.f64 %%fd%u, %%fd%u, %%fd%u;",  "min.f64 %%fd%u, %%fd%u, %%fd%u;",
        "add.u16 %%rs%u, %%rs%u, %%rs%u;",     "mul.wide.s16 %%r%u, %%rs%u, %%rs%u;",
        "mul.wide.s32 %%rd%u, %%r%u, %%r%u;",  "mul.wide.u32 %%rd%u, %%r%u, %%r%u;",
        "setp.lt.s32 %%p%u, %%r%u, %%r%u;",    "setp.hi.u32 %%p%u, %%r%u, %%r%u;",
        "setp.ne.u64 %%p%u, %%rd%u, %%rd%u;",  "setp.ge.s64 %%p%u, %%rd%u, %%rd%u;",
        "setp.gt.f32 %%p%u, %%f%u, %%f%u;",    "setp.neu.f32 %%p%u, %%f%u, %%f%u;",
        "setp.ltu.f64 %%p%u, %%fd%u, %%fd%u;", "setp.eq.f64 %%p%u, %%fd%u, %%fd%u;",
        "and.pred %%p%u, %%p%u, %%p%u;",       "xor.pred %%p%u, %%p%u, %%p%u;"};
    static const char *const two[] = {"mov.u32 %%r%u, %%r%u;",
                                      "neg.s32 %%r%u, %%r%u;",
                                      "not.b32 %%r%u, %%r%u;",
                                      "shr.s32 %%r%u, %%r%u, 5;",
                                      "shr.u32 %%r%u, %%r%u, 17;",
                                      "shl.b32 %%r%u, %%r%u, 3;",
                                      "popc.b32 %%r%u, %%r%u;",
                                      "cvt.s64.s32 %%rd%u, %%r%u;",
                                      "cvt.u64.u32 %%rd%u, %%r%u;",
                                      "cvt.u32.u64 %%r%u, %%rd%u;",
                                      "mov.b32 %%f%u, %%r%u;",
                                      "mov.b32 %%r%u, %%f%u;",
                                      "mov.b64 %%rd%u, %%fd%u;",
                                      "mov.b64 %%fd%u, %%rd%u;",
                                      "neg.f32 %%f%u, %%f%u;",
                                      "abs.f32 %%f%u, %%f%u;",
                                      "sqrt.rn.f32 %%f%u, %%f%u;",
                                      "rcp.rn.f32 %%f%u, %%f%u;",
                                      "cvt.rn.f32.s32 %%f%u, %%r%u;",
                                      "cvt.rn.f32.u32 %%f%u, %%r%u;",
                                      "cvt.rzi.s32.f32 %%r%u, %%f%u;",
                                      "cvt.f64.f32 %%fd%u, %%f%u;",
                                      "cvt.rn.f32.f64 %%f%u, %%fd%u;",
                                      "cvt.u16.u32 %%rs%u, %%r%u;",
                                      "cvt.s32.s16 %%r%u, %%rs%u;",
                                      "shr.u64 %%rd%u, %%rd%u, 9;",
                                      "shl.b64 %%rd%u, %%rd%u, 2;",
                                      "not.pred %%p%u, %%p%u;",
                                      "mov.u32 %%r%u, %%tid.x; // %u",
                                      "mov.u32 %%r%u, 77; // %u",
                                      "mov.f32 %%f%u, 0f3FC00000; // %u",
                                      "add.s32 %%r%u, %%r%u, -9;",
                                      "mul.lo.s32 %%r%u, %%r%u, 12;",
                                      "mul.wide.s32 %%rd%u, %%r%u, 4;",
                                      "mad.lo.s32 %%r%u, %%r%u, 3, %%r1;"};
    static const char *const four[] = {
        "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;",  "mad.wide.u32 %%rd%u, %%r%u, %%r%u, %%rd%u;",
        "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;",  "fma.rn.f64 %%fd%u, %%fd%u, %%fd%u, %%fd%u;",
        "selp.b32 %%r%u, %%r%u, %%r%u, %%p%u;",    "selp.f32 %%f%u, %%f%u, %%f%u, %%p%u;",
        "selp.b64 %%rd%u, %%rd%u, %%rd%u, %%p%u;", "lop3.b32 %%r%u, %%r%u, %%r%u, %%r%u, 150;",
        "prmt.b32 %%r%u, %%r%u, %%r%u, %%r%u;",    "mad.lo.u64 %%rd%u, %%rd%u, %%rd%u, %%rd%u;"};
#define OF(list) list[draw(sizeof list / sizeof *list)]
    unsigned a = any(), b = any(), c = any(), d = any();
    if (!draw(6)) say(t, "@%s%%p%u ", draw(2) ? "!" : "", any());
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    switch (draw(5)) {
    case 0:
    case 1: say(t, OF(three), a, b, c); break;
    case 2:
    case 3: say(t, OF(two), a, b); break;
    default: say(t, OF(four), a, b, c, d);
    }
#pragma GCC diagnostic pop
    say(t, "\n");
}

/* An address in array %at1 to %at3 of THREADS * 8 bytes: this thread's own word, its neighbour's
 * (read only), or anywhere. */
static void load(text *t)
{
    unsigned array = 1 + draw(3), to = any();
    switch (draw(4)) {
    case 0: say(t, "ld.global.u64 %%rd%u, [%%at%u];\n", to, array); break;
    case 1: say(t, "ld.global.u32 %%r%u, [%%at%u+4];\n", to, array); break;
    case 2:
        say(t,
            "and.b32 %%r11, %%r%u, %d; mul.wide.u32 %%rd11, %%r11, 8; sub.u64 %%rd12, %%at%u, "
            "%%at0; add.u64 %%rd12, %%rd12, %%rd11; ld.global.f32 %%f%u, [%%rd12];\n",
            any(), THREADS - 1, array, to);
        break;
    default:
        say(t,
            "sub.u64 %%rd12, %%at%u, %%at0; mul.wide.u32 %%rd11, %%r1, 4; add.u64 %%rd12, %%rd12, "
            "%%rd11; ld.global.u32 %%r%u, [%%rd12];\n",
            array, to);
    }
}

/* Into the thread's own word of the output. */
static void keep(text *t)
{
    switch (draw(3)) {
    case 0:
        say(t,
            "ld.global.u64 %%rd11, [%%at4]; xor.b64 %%rd11, %%rd11, %%rd%u; st.global.u64 [%%at4], "
            "%%rd11;\n",
            any());
        break;
    case 1: say(t, "st.global.u32 [%%at4+4], %%r%u;\n", any()); break;
    default: say(t, "st.global.u16 [%%at4+2], %%rs%u;\n", any());
    }
}

static void piece(text *t, int depth, int *label)
{
    for (unsigned n = 2 + draw(8); n; n--) {
        unsigned what = draw(14);
        if (what == 0 && depth < 3) { /* lanes part */
            int l = (*label)++;
            say(t, "@%s%%p%u bra $E%d;\n", draw(2) ? "!" : "", any(), l);
            piece(t, depth + 1, label);
            if (draw(2)) {
                say(t, "bra $F%d;\n$E%d:\n", l, l);
                piece(t, depth + 1, label);
                say(t, "$F%d:\n", l);
            } else
                say(t, "$E%d:\n", l);
        } else if (what == 1 && depth < 2) { /* a loop; its count in a register of its depth */
            int l = (*label)++, by = 13 + depth, even = (int)draw(2);
            if (even)
                say(t, "mov.u32 %%r%d, %u;\n", by, 1 + draw(5));
            else
                say(t, "and.b32 %%r%d, %%r%u, 7;\nadd.u32 %%r%d, %%r%d, 1;\n", by, any(), by, by);
            say(t, "$L%d:\n", l);
            piece(t, depth + 1, label);
            say(t, "sub.u32 %%r%d, %%r%d, 1;\nsetp.ne.u32 %%p11, %%r%d, 0;\n@%%p11 bra $L%d;\n", by,
                by, by, l);
        } else if (what == 2)
            keep(t);
        else if (what == 3)
            load(t);
        else
            instruction(t);
    }
}

static void run_seed(uint64_t seed)
{
    char room[60000];
    text t = {room, 0, sizeof room};
    vector v;
    int label = 0;
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int i = 0; i < 20; i++) draw(2);
    vector_make(&v, THREADS - draw(20));
    for (size_t i = 0; i < v.n; i++)
        if (draw(2)) v.a[i] = draw(50), v.b[i] = i; /* not only what is random */
    for (unsigned i = 5; i < 11; i++)               /* 2 to 4 are a, b and c */
        say(&t,
            "add.s32 %%r%u, %%r2, %u; mov.b32 %%f%u, %%r3; mov.b64 %%fd%u, %%rd4; mov.b64 %%rd%u, "
            "%%rd3; cvt.u16.u32 %%rs%u, %%r4;\n",
            i, i, i, i, i, i);
    for (unsigned i = 2; i < 11; i++)
        say(&t, "setp.lt.s32 %%p%u, %%r2, %u;\n", i, draw(2) ? 25 + i : 1u << 30);
    piece(&t, 0, &label);
    piece(&t, 0, &label);
    for (unsigned i = 2; i < 11; i++)
        say(&t,
            "cvt.u64.u32 %%rd11, %%r%u; mad.lo.u64 %%rd1, %%rd1, 31, %%rd11; mad.lo.u64 %%rd1, "
            "%%rd1, 31, %%rd%u; mov.b32 %%r11, %%f%u; cvt.u64.u32 %%rd11, %%r11; xor.b64 %%rd1, "
            "%%rd1, %%rd11; mov.b64 %%rd11, %%fd%u; add.u64 %%rd1, %%rd1, %%rd11;\n@%%p%u xor.b64 "
            "%%rd1, %%rd1, 99;\n",
            i, i, i, i, i);
    say(&t, "ld.global.u64 %%rd11, [%%at4]; add.u64 %%rd1, %%rd1, %%rd11;\n");
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    vector_run(&v, room);
    vector_free(&v);
}

static void seeds(uint64_t from, uint64_t n)
{
    const char *one = getenv("OOMPROOF_SEED");
    if (one) {
        run_seed(strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t s = from; s < from + n; s++) run_seed(s);
    ck_assert_msg(vector_strips > 0, "nothing ran in strips");
    printf("OOMPROOF_SEED repeats one; %lu strips, %lu of them ended early\n", vector_strips,
           vector_strips_left);
}

START_TEST(drawn_kernels_leave_the_same_bits_in_strips)
{
    seeds(1, 12);
}
END_TEST

START_TEST(many_more_drawn_kernels)
{
    seeds(1000, 600);
}
END_TEST

/* By those who looked for it. */
START_TEST(what_once_differed_in_strips)
{
    static const char *const code[] = {
        "ld.global.u32 %r5, [%at1+0x4]; cvt.u64.u32 %rd1, %r5;",
        "st.global.u32 [%at4+0x4], %r2; ld.global.u64 %rd1, [%at4];",
        "and.b32 %r5, %r2, 31; mul.wide.u32 %rd5, %r5, 8; sub.u64 %rd6, %at1, %at0; add.u64 %rd6, "
        "%rd6, %rd5; ld.global.u64 %rd1, [%rd6+0x0];",
        "mul.wide.u32 %rd1, %r1, -4;",
        "mul.wide.s32 %rd1, %r1, -4;",
        "mul.lo.u32 %r5, %r1, -4; cvt.u64.u32 %rd1, %r5;",
        "mov.b64 %rd1, {%tid.x, %ntid.x};",
        "add.u32 %r6, %r12, 0; add.u32 %r12, %r1, %r1; add.u32 %r5, %r6, %r12; cvt.u64.u32 %rd1, "
        "%r6;",
        "mov.b64 %rd1, {%ntid.x, %r1};"};
    for (size_t i = 0; i < sizeof code / sizeof *code; i++) {
        vector v;
        vector_make(&v, 64);
        vector_run(&v, code[i]);
        vector_free(&v);
    }
    ck_assert_uint_gt(vector_strips, 0);
}
END_TEST

static const case_entry cases[] = {
#include "strips_random.def"
};
CASE_MAIN("strips_random")
