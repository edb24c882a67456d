/* form_warps.c - threads that meet: the reference looks at all lanes of the warp, or all threads of
 * the block, by the definitions of the PTX manual. All lanes take part, or those of which the
 * lowest bit of the lane's number, in a, is one (masks: sim_grid and cases/textbook). */
#include "formkit.h"
#include <string.h>

#define IS(name)   (!strcmp(f->op, name))
#define DOES(name) form_has(f, name)

/* An operand of few values, so that lanes agree now and then */
#define FEW "and.b64 %%rd8, %%rd3, 1; cvt.u32.u64 %%r8, %%rd8; "

static int warp_code(const form *f, char *out, size_t room)
{
    const char *n = f->name, *r = form_register(form_type(f, 1));
    if (IS("shfl")) /* with segments of 8 lanes too; the predicate in bit 32 */
        snprintf(
            out, room,
            "%s %%r5|%%p8, %%r2, %%r3, 0x%s, 0xffffffff; cvt.u64.u32 %%rd1, %%r5; @%%p8 or.b64 "
            "%%rd1, %%rd1, 0x100000000;\n%s %%r5|%%p8, %%r2, %%r3, 0x%s, 0xffffffff; "
            "cvt.u64.u32 %%rd8, %%r5; @%%p8 or.b64 %%rd8, %%rd8, 0x100000000; mad.lo.u64 "
            "%%rd1, %%rd1, 3, %%rd8;",
            n, DOES("up") ? "0" : "1f", n, DOES("up") ? "1800" : "181f");
    else if (IS("vote")) {
        int ballot =
            DOES("ballot"); /* of the lowest bits of b, and of a predicate that all share */
        snprintf(out, room,
                 "%s %s, %%p3, 0xffffffff; %s\nsetp.eq.u64 %%p9, %%rd1, %%rd1; %s %s, %%p9, "
                 "0xffffffff; %s",
                 n, ballot ? "%r5" : "%p5",
                 ballot ? "cvt.u64.u32 %rd1, %r5;" : "selp.u64 %rd1, 1, 0, %p5;", n,
                 ballot ? "%r8" : "%p8",
                 ballot ? "cvt.u64.u32 %rd8, %r8; mad.lo.u64 %rd1, %rd1, 3, %rd8;"
                        : "@%p8 or.b64 %rd1, %rd1, 2;");
    } else if (IS("match"))
        snprintf(out, room,
                 FEW "%s %%r5%s, %s8, 0xffffffff; cvt.u64.u32 %%rd1, %%r5;\n%s %%r5%s, %s2, "
                     "0xffffffff; cvt.u64.u32 %%rd8, %%r5; mad.lo.u64 %%rd1, %%rd1, 3, %%rd8; %s",
                 n, DOES("all") ? "|%p8" : "", r, n, DOES("all") ? "|%p9" : "", r,
                 DOES("all") ? "@%p8 add.u64 %rd1, %rd1, 0x100000000; @%p9 add.u64 %rd1, %rd1, "
                               "0x200000000;"
                             : "");
    else if (IS("redux"))
        snprintf(out, room,
                 "%s %%r5, %%r2, 0xffffffff; cvt.u64.u32 %%rd1, %%r5;\nmov.u32 %%r8, %%laneid; "
                 "and.b32 %%r8, %%r8, 1; setp.ne.u32 %%p8, %%r8, 0; selp.b32 %%r9, 0xaaaaaaaa, "
                 "0x55555555, %%p8;\n%s %%r5, %%r2, %%r9; cvt.u64.u32 %%rd8, %%r5; mad.lo.u64 "
                 "%%rd1, %%rd1, 3, %%rd8;",
                 n, n);
    else if (IS("activemask")) /* may be any that has the lane and none that is not there */
        snprintf(
            out, room,
            "%s %%r5; mov.u32 %%r8, %%laneid; shr.u32 %%r5, %%r5, %%r8; and.b32 %%r5, %%r5, 1; "
            "cvt.u64.u32 %%rd1, %%r5;",
            n);
    else if ((IS("bar") || IS("barrier")) && DOES("red")) {
        int count = DOES("popc");
        snprintf(out, room, "%s %s, 0, %%p3; %s\n%s %s, 3, 128, !%%p3; %s", n,
                 count ? "%r5" : "%p5",
                 count ? "cvt.u64.u32 %rd1, %r5;" : "selp.u64 %rd1, 1, 0, %p5;", n,
                 count ? "%r8" : "%p8",
                 count ? "cvt.u64.u32 %rd8, %r8; mad.lo.u64 %rd1, %rd1, 256, %rd8;"
                       : "@%p8 or.b64 %rd1, %rd1, 2;");
    } else if (IS("bar") && DOES("warp")) /* lane k ^ 1 sees what this one wrote */
        snprintf(out, room,
                 "%s 0xffffffff; st.shared.u64 [%%at6], %%rd2; %s 0xffffffff; xor.b64 %%rd8, "
                 "%%at6, 64; ld.shared.u64 %%rd1, [%%rd8]; %s 0xffffffff;",
                 n, n, n);
    else if ((IS("bar") || IS("barrier")) && DOES("arrive")) /* warps 0 and 1 write, 2 and 3 read */
        snprintf(out, room,
                 "{ .reg .pred q; bar.sync 0; setp.lt.u32 q, %%r1, 64; @!q bra $wait%zx;\n"
                 "st.shared.u64 [%%at6], %%rd2; %s 2, 128; bra $on%zx;\n$wait%zx: bar.sync 2, 128; "
                 "xor.b64 %%rd8, %%at6, 4096; ld.shared.u64 %%rd1, [%%rd8];\n$on%zx: bar.sync 0; }",
                 (size_t)f, n, (size_t)f, (size_t)f, (size_t)f);
    else if (IS("bar") || IS("barrier")) /* thread k ^ 64 sees what this one wrote */
        snprintf(
            out, room,
            "%s 0; st.shared.u64 [%%at6], %%rd2; %s 0; xor.b64 %%rd8, %%at6, 4096; "
            "ld.shared.u64 %%rd1, [%%rd8]; %s 1, 128; st.shared.u64 [%%at6], %%rd3; %s 1, "
            "128;\nxor.b64 %%rd8, %%at6, 4096; ld.shared.u64 %%rd9, [%%rd8]; mad.lo.u64 %%rd1, "
            "%%rd1, 3, %%rd9; %s 0;",
            n, n, n, n, n);
    else if (IS("nanosleep"))
        snprintf(out, room, "%s 20; mov.b64 %%rd1, %%rd2;", n);
    else if (IS("prefetch") || IS("prefetchu"))
        snprintf(out, room, "%s [%s]; mov.b64 %%rd1, %%rd2;", n, DOES("local") ? "%at7" : "%at5");
    else
        snprintf(out, room, "st.u64 [%%at5+8], %%rd2; %s; ld.u64 %%rd1, [%%at5+8];", n);
    return 1;
}

/* ---- by all lanes ---- */
static uint64_t shuffled(const form *f, const uint64_t *a, uint64_t b, unsigned lane, uint32_t c)
{
    uint32_t seg = c >> 8 & 31, clamp = c & 31, by = b & 31, max = (lane & seg) | (clamp & ~seg),
             min = lane & seg;
    int64_t j = DOES("up")     ? (int64_t)lane - by
                : DOES("down") ? (int64_t)lane + by
                : DOES("bfly") ? (int64_t)(lane ^ by)
                               : (int64_t)(min | (by & ~seg));
    int there = DOES("up") ? j >= (int64_t)max : j <= (int64_t)max;
    return (there ? 1ull << 32 : 0) | (uint32_t)a[there ? j : (int64_t)lane];
}

static uint32_t alike(const uint64_t *x, unsigned lane, int w, int few)
{
    uint32_t m = 0;
    for (unsigned k = 0; k < 32; k++) {
        uint64_t d = few ? (x[k] ^ x[lane]) & 1 : x[k] ^ x[lane];
        m |= (uint32_t)(w == 64 ? d == 0 : (uint32_t)d == 0) << k;
    }
    return m;
}

static uint32_t reduced(const form *f, const uint64_t *a, uint32_t mask)
{
    int first = 1, sign = *form_type(f, 1) == 's';
    int64_t r = 0;
    for (int k = 0; k < 32; k++) {
        if (!(mask >> k & 1)) continue;
        int64_t x = sign ? (int32_t)a[k] : (int64_t)(uint32_t)a[k];
        r = first         ? x
            : DOES("add") ? r + x
            : DOES("min") ? (x < r ? x : r)
            : DOES("max") ? (x > r ? x : r)
            : DOES("and") ? (r & x)
            : DOES("or")  ? (r | x)
                          : (r ^ x);
        first = 0;
    }
    return (uint32_t)r;
}

static wanted warp_reference(const form *f, const operands *o, size_t i)
{
    size_t warp = i & ~(size_t)31, block = i & ~(size_t)127;
    unsigned lane = i & 31;
    const uint64_t *a = o->a + warp, *b = o->b + warp;
    uint64_t r = 0;
    if (IS("shfl"))
        r = shuffled(f, a, b[lane], lane, DOES("up") ? 0 : 0x1f) * 3 +
            shuffled(f, a, b[lane], lane, DOES("up") ? 0x1800 : 0x181f);
    else if (IS("vote")) {
        uint32_t all = 0;
        for (int k = 0; k < 32; k++) all |= (uint32_t)(b[k] & 1) << k;
        r = DOES("ballot") ? all * 3ull + UINT32_MAX
            : DOES("all")  ? (all == UINT32_MAX) | 2
            : DOES("any")  ? (all != 0) | 2
                           : (all == 0 || all == UINT32_MAX) | 2;
    } else if (IS("match")) {
        int w = type_bits(form_type(f, 1)), every = DOES("all");
        uint32_t x = alike(b, lane, w, 1), y = alike(a, lane, w, 0);
        if (!every)
            r = x * 3ull + y;
        else
            r = (x == UINT32_MAX ? 3ull * UINT32_MAX + (1ull << 32) : 0) +
                (y == UINT32_MAX ? UINT32_MAX + (2ull << 32) : 0);
    } else if (IS("redux"))
        r = reduced(f, a, UINT32_MAX) * 3ull + reduced(f, a, lane & 1 ? 0xaaaaaaaa : 0x55555555);
    else if (IS("activemask"))
        r = 1;
    else if ((IS("bar") || IS("barrier")) && DOES("red")) {
        uint64_t n = 0;
        for (int k = 0; k < FORM_BLOCK; k++) n += o->b[block + (size_t)k] & 1;
        r = DOES("popc")  ? n * 256 + (FORM_BLOCK - n)
            : DOES("and") ? (uint64_t)((n == FORM_BLOCK) | (n == 0) << 1)
                          : (uint64_t)((n != 0) | (n != FORM_BLOCK) << 1);
    } else if (IS("bar") && DOES("warp"))
        r = o->a[i ^ 1];
    else if (DOES("arrive"))
        r = i - block < 64 ? 0 : o->a[i ^ 64];
    else if (IS("bar") || IS("barrier"))
        r = o->a[i ^ 64] * 3 + o->b[i ^ 64];
    else
        r = o->a[i];
    return (wanted){.bits = r};
}

const family form_warps = {" bar barrier shfl vote match redux activemask membar fence nanosleep "
                           "prefetch prefetchu griddepcontrol ",
                           warp_code, warp_reference};
