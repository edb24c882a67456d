/* half_convert.c - f16 and bf16 from and to integers, whole numbers and each other; what the
 * modifiers of conversions do; and which forms are refused. */
#include "halfkit.h"
#include <math.h>
#include <string.h>

/* The four roundings to whole numbers, in the order of half_modes. */
static const char *const whole[] = {"rni", "rzi", "rmi", "rpi"};

START_TEST(halves_become_integers_in_every_rounding)
{
    EACH(k)
    for (int r = 0; r < 4; r++) {
        vector v;
        all_values(&v);
        const char *n = k->name, *w = whole[r];
        const char *code = text("cvt.%s.u8.%s %%rs5, %%rs2; cvt.%s.s8.%s %%rs6, %%rs2; "
                                "cvt.%s.u16.%s %%rs7, %%rs2; cvt.%s.s16.%s %%rs8, %%rs2; "
                                "mov.b64 %%rd1, {%%rs5, %%rs6, %%rs7, %%rs8};",
                                w, n, w, n, w, n, w, n);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            mpfr_rnd_t m = half_modes[r].r;
            same(&v, h,
                 ref_to_integer(h, k->m, m, 8, 0) |
                     (ref_to_integer(h, k->m, m, 8, 1) & 0xffff) << 16 |
                     ref_to_integer(h, k->m, m, 16, 0) << 32 |
                     ref_to_integer(h, k->m, m, 16, 1) << 48,
                 code);
        }
        code = text("cvt.%s.u32.%s %%r5, %%rs2; cvt.%s.s32.%s %%r6, %%rs2; "
                    "mov.b64 %%rd1, {%%r5, %%r6};",
                    w, n, w, n);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++)
            same(&v, h,
                 ref_to_integer(h, k->m, half_modes[r].r, 32, 0) |
                     ref_to_integer(h, k->m, half_modes[r].r, 32, 1) << 32,
                 code);
        for (int sign = 0; sign < 2; sign++) {
            code = text("cvt.%s.%c64.%s %%rd1, %%rs2;", w, "us"[sign], n);
            vector_run(&v, code);
            for (unsigned h = 0; h < 65536; h++)
                same(&v, h, ref_to_integer(h, k->m, half_modes[r].r, 64, sign), code);
        }
        vector_free(&v);
    }
}
END_TEST

/* Integers of every size: anything, and around halves and what lies half way between two. */
static void integers(vector *v, const kind *k)
{
    vector_make(v, 65536 * 3 + 60000);
    for (size_t i = 0; i < v->n; i++)
        if (i >= 65536 * 3)
            v->a[i] >>= vector_random() % 64;
        else {
            double x = ref_value((unsigned)(i / 3), k->m),
                   y = ref_value((unsigned)(i / 3) + 1, k->m);
            double at = isfinite(x) && isfinite(y) ? x / 2 + y / 2 : 65520;
            int64_t n = fabs(at) < 0x1p63 ? (int64_t)at : at < 0 ? INT64_MIN : INT64_MAX;
            v->a[i] = (uint64_t)n + i % 3 - 1;
        }
}

START_TEST(integers_become_halves_in_every_rounding)
{
    static const char *const types[] = {"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
    EACH(k)
    for (int t = 0; t < 8; t++) {
        vector v;
        integers(&v, k);
        const char *from = t < 4 ? "rs" : t < 6 ? "r" : "rd", *n = k->name, *d = types[t];
        const char *code =
            text("cvt.rn.%s.%s %%rs5, %%%s2; cvt.rz.%s.%s %%rs6, %%%s2; cvt.rm.%s.%s %%rs7, %%%s2; "
                 "cvt.rp.%s.%s %%rs8, %%%s2; mov.b64 %%rd1, {%%rs5, %%rs6, %%rs7, %%rs8};",
                 n, d, from, n, d, from, n, d, from, n, d, from);
        vector_run(&v, code);
        for (size_t i = 0; i < v.n; i++) {
            int bits = 8 << t / 2;
            uint64_t u = v.a[i] << (64 - bits) >> (64 - bits), want = 0;
            int negative = t & 1 && u >> (bits - 1);
            if (negative) u = -u << (64 - bits) >> (64 - bits);
            for (int r = 0; r < 4; r++)
                want |= (uint64_t)ref_integer(u, negative, k->m, half_modes[r].r) << 16 * r;
            same(&v, i, want, code);
        }
        vector_free(&v);
    }
}
END_TEST

START_TEST(halves_become_whole_halves)
{
    EACH(k)
    {
        vector v;
        all_values(&v);
        const char *n = k->name;
        const char *code = text(
            "cvt.rni.%s.%s %%rs5, %%rs2; cvt.rzi.%s.%s %%rs6, %%rs2; cvt.rmi.%s.%s %%rs7, %%rs2; "
            "cvt.rpi.%s.%s %%rs8, %%rs2; mov.b64 %%rd1, {%%rs5, %%rs6, %%rs7, %%rs8};",
            n, n, n, n, n, n, n, n);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            uint64_t want = 0;
            for (int r = 0; r < 4; r++)
                want |= (uint64_t)ref_whole(h, k->m, half_modes[r].r) << 16 * r;
            same(&v, h, want, code);
        }
        vector_free(&v);
    }
}
END_TEST

START_TEST(f16_becomes_bf16_and_back)
{
    EACH(k)
    {
        const kind *to = k == half_kinds ? half_kinds + 1 : half_kinds;
        vector v;
        all_values(&v);
        const char *n = k->name, *d = to->name;
        const char *code =
            text("cvt.rn.%s.%s %%rs5, %%rs2; cvt.rz.%s.%s %%rs6, %%rs2; cvt.rm.%s.%s %%rs7, %%rs2; "
                 "cvt.rp.%s.%s %%rs8, %%rs2; mov.b64 %%rd1, {%%rs5, %%rs6, %%rs7, %%rs8};",
                 d, n, d, n, d, n, d, n);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            uint64_t want = 0;
            for (int r = 0; r < 4; r++)
                want |= (uint64_t)ref_round(ref_value(h, k->m), to->m, half_modes[r].r) << 16 * r;
            same(&v, h, want, code);
        }
        vector_free(&v);
    }
}
END_TEST

/* ---- modifiers ---- */
/* Bits of floats: those of all halves, what lies close by, the largest, the smallest, any. */
static void floats(vector *v, const kind *k)
{
    static const uint32_t edges[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,
                                     0x807fffff, 0x800000,   0x7f7fffff, 0xff7fffff, 0x7f800000,
                                     0xff800000, 0x7f800001, 0xffc00000, 0x3f800000, 0x3f800001,
                                     0x477fe000, 0x477fefff, 0x477ff000, 0xc77ff000, 0x7f7f7fff,
                                     0x7f7f8000, 0x7f7f0000, 0xff7f8000};
    size_t n = sizeof edges / sizeof *edges;
    vector_make(v, 65536 + 60000);
    for (size_t i = 0; i < v->n; i++) {
        if (i < 65536)
            v->a[i] = (uint32_t)bits32(ref_value((unsigned)i, k->m)) + (uint32_t)(i % 5) - 2;
        v->a[i] &= 0xffffffff, v->b[i] &= 0xffffffff;
        if (i < n * n) v->a[i] = edges[i / n], v->b[i] = edges[i % n];
    }
}

static unsigned narrowed(uint64_t u, int m, mpfr_rnd_t r, const char *mods)
{
    double x = wide_value(u, 0);
    unsigned largest = ref_bits(INFINITY, m) - 1;
    if (strstr(mods, "ftz") && fabs(x) < 0x1p-126) x = copysign(0, x);
    unsigned h = ref_round(x, m, r);
    double y = ref_value(h, m);
    if (strstr(mods, "satfinite") && isinf(y)) h = largest | (y < 0 ? 0x8000 : 0);
    if (strstr(mods, "relu") && !isnan(y) && (y <= 0)) h = 0;
    if (strstr(mods, ".sat.")) h = isnan(y) || y <= 0 ? 0 : y > 1 ? ref_bits(1, m) : h;
    return h;
}

START_TEST(modifiers_of_conversions_do_as_defined)
{
    static const char *const mods[] = {".ftz.", ".sat.", ".relu.", ".satfinite.",
                                       ".relu.satfinite."};
    EACH(k)
    for (int i = 0; i < 5; i++)
        for (int r = 0; r < 2; r++) {
            vector v;
            floats(&v, k);
            const char *code = text("cvt.%s%s%s.f32 %%rs5, %%f2; cvt.u64.u16 %%rd1, %%rs5;",
                                    half_modes[r].name, mods[i], k->name);
            vector_run(&v, code);
            for (size_t e = 0; e < v.n; e++)
                same(&v, e, narrowed(v.a[e], k->m, half_modes[r].r, mods[i]), code);
            vector_free(&v);
        }
}
END_TEST

START_TEST(two_floats_become_a_pair_the_first_above)
{
    static const char *const mods[] = {".", ".relu.", ".satfinite."};
    EACH(k)
    for (int i = 0; i < 3; i++)
        for (int r = 0; r < 2; r++) {
            vector v;
            floats(&v, k);
            const char *code = text("cvt.%s%s%sx2.f32 %%r5, %%f2, %%f3; cvt.u64.u32 %%rd1, %%r5;",
                                    half_modes[r].name, mods[i], k->name);
            vector_run(&v, code);
            for (size_t e = 0; e < v.n; e++)
                same(&v, e,
                     (uint64_t)narrowed(v.a[e], k->m, half_modes[r].r, mods[i]) << 16 |
                         narrowed(v.b[e], k->m, half_modes[r].r, mods[i]),
                     code);
            vector_free(&v);
        }
}
END_TEST

START_TEST(halves_become_floats_between_0_and_1)
{
    EACH(k)
    {
        vector v;
        all_values(&v);
        const char *code = text("cvt.sat.f32.%s %%f5, %%rs2; mov.b32 %%r5, %%f5; cvt.ftz.f32.%s "
                                "%%f6, %%rs2; mov.b32 %%r6, %%f6; mov.b64 %%rd1, {%%r5, %%r6};",
                                k->name, k->name);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            double x = ref_value(h, k->m), s = isnan(x) || x <= 0 ? 0 : fmin(x, 1),
                   f = fabs(x) < 0x1p-126 ? copysign(0, x) : x;
            same(&v, h, bits32(s) | (isnan(x) ? 0x7fffffffull : bits32(f)) << 32, code);
        }
        code = text("cvt.sat.f64.%s %%fd5, %%rs2; mov.b64 %%rd1, %%fd5;", k->name);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            double x = ref_value(h, k->m);
            same(&v, h, bits64(isnan(x) || x <= 0 ? 0 : fmin(x, 1)), code);
        }
        code = text("cvt.sat.%s.%s %%rs5, %%rs2; cvt.u64.u16 %%rd1, %%rs5;", k->name, k->name);
        vector_run(&v, code);
        for (unsigned h = 0; h < 65536; h++) {
            double x = ref_value(h, k->m);
            same(&v, h, ref_bits(isnan(x) || x <= 0 ? 0 : fmin(x, 1), k->m), code);
        }
        vector_free(&v);
    }
}
END_TEST

/* Each is no form of the ISA, or one with a meaning of its own that is not here. */
START_TEST(other_forms_of_halves_are_refused_by_name)
{
    static const char *const codes[] = {
        "add.rz.f16 %rs5, %rs2, %rs3;",
        "add.sat.bf16 %rs5, %rs2, %rs3;",
        "add.ftz.bf16 %rs5, %rs2, %rs3;",
        "add.f32.f16 %f5, %rs2, %f3;",
        "fma.rn.oob.f16 %rs5, %rs2, %rs3, %rs4;",
        "fma.rn.sat.relu.f16 %rs5, %rs2, %rs3, %rs4;",
        "mul.f16 %rs5, %rs2;",
        "mul.f16.rn %rs5, %rs2, %rs3;",
        "mul.f16.f16 %rs5, %rs2, %rs3;",
        "setp.f16.lt %p1, %rs2, %rs3;",
        "setp.lt.f16.f16 %p1, %rs2, %rs3;",
        "setp.f16;",
        "set.f16.f16;",
        "cvt.f16;",
        "cvt.rn.f16.f32;",
        "atom.add.noftz.f16;",
        "fns.b32;",
        "redux.sync;",
        "cp.async.ca.shared.global;",
        "cp.bulk;",
        "min.abs.f16 %rs5, %rs2, %rs3;",
        "min.f16 %rs5, %rs2, %rs3, %rs4;",
        "ex2.approx.bf16 %rs5, %rs2;",
        "sin.approx.f16 %rs5, %rs2;",
        "cvt.f16.f32 %rs5, %f2;",
        "cvt.rni.f16.f32 %rs5, %f2;",
        "cvt.rn.f16.f16 %rs5, %rs2;",
        "cvt.rn.f32.f16 %f5, %rs2;",
        "cvt.s32.f16 %r5, %rs2;",
        "cvt.rs.f16x2.f32 %r5, %f2, %f3, %r4;",
        "cvt.rn.f16x2.f32 %r5, %f2;",
        "cvt.rn.bf16x2.f16x2 %r5, %r2;",
        "cvt.rn.relu.f16.f64 %rs5, %fd2;",
        "cvt.rn.f16x2.e4m3x2 %r5, %rs2;",
        "setp.lt.f16x2 %p1, %r2, %r3;",
        "setp.lt.f16 %p1|%p2, %rs2, %rs3;",
        "setp.lo.f16 %p1, %rs2, %rs3;",
        "set.lt.f32.f16 %f5, %rs2, %rs3;",
        "set.lt.f16.f32 %rs5, %f2, %f3;",
        "selp.f16 %rs5, %rs2, %rs3, %p1;",
        "ld.global.f16 %rs5, [%rd2];",
        "atom.global.add.f16 %rs5, [%rd2], %rs3;",
        "atom.global.min.noftz.f16x2 %r5, [%rd2], %r3;",
        "red.global.add.noftz.v2.f16x2 [%rd2], {%r3, %r4};",
        "redux.sync.add.b32 %r5, %r2, %r3;",
        "redux.sync.and.u32 %r5, %r2, %r3;",
        "redux.sync.min.abs.f32 %f5, %f2, %r3;",
        "cp.async.cg.shared.global [%r2], [%rd3], 8;",
        "cp.async.ca.shared.global [%r2], [%rd3], 12;",
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd3], %r4, "
        "[%r3];",
        "cp.async.mbarrier.arrive.shared.b64 [%r2];",
        "cp.async.wait_group %r2;",
    };
    char says[400];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        ck_assert_msg(vector_refused(codes[i], says, sizeof says) == 1, "accepted: %s", codes[i]);
        ck_assert_msg(strncmp(says, codes[i], strlen(codes[i]) - 1) == 0, "%s: %s", codes[i], says);
    }
}
END_TEST

static const case_entry cases[] = {
#include "half_convert.def"
};
CASE_MAIN("half_convert")
