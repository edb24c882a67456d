/* form_atomics.c - atomics, each thread on words of its own: what they leave and what they return.
 * That they are indivisible: sim_workers and cases/textbook. Copies behind a thread's back. */
#include "formkit.h"
#include "halfref.h"
#include <math.h>
#include <string.h>

#define IS(name)   (!strcmp(f->op, name))
#define DOES(name) form_has(f, name)

static int is_shared(const form *f)
{
    return DOES("shared") || DOES("shared::cta");
}

static int copy_code(const form *f, char *out, size_t room)
{
    /* a copy of 16 bytes, one of which half is read, one of nothing; sizes of .ca too */
    if (f->n == 2) { /* commit_group wait_group wait_all */
        snprintf(out, room,
                 "st.v2.u64 [%%at5], {%%rd2, %%rd3}; cp.async.cg.shared.global [%%at6], [%%at5], "
                 "16; cp.async.commit_group; %s%s;\n"
                 "cp.async.wait_all; ld.shared.u64 %%rd1, [%%at6+8];",
                 f->name, DOES("wait_group") ? " 0" : "");
        return 1;
    }
    char small[400] = "";
    if (DOES("ca"))
        snprintf(small, sizeof small, "%s [%%at6+32], [%%at5], 8; %s [%%at6+44], [%%at5+4], 4;\n",
                 f->name, f->name);
    snprintf(out, room,
             "st.v2.u64 [%%at5], {%%rd2, %%rd3}; st.shared.v2.u64 [%%at6+32], {0, 0};\n%s [%%at6], "
             "[%%at5], 16; %s [%%at6+16], [%%at5], "
             "16, 8;\n%scp.async.wait_all;\nld.shared.v2.u64 {%%rd8, %%rd9}, [%%at6]; "
             "ld.shared.v2.u64 {%%rd10, %%rd11}, [%%at6+16]; ld.shared.v2.u64 {%%rd12, %%rd13}, "
             "[%%at6+32];\nmad.lo.u64 %%rd1, %%rd8, 3, %%rd9; mad.lo.u64 %%rd1, %%rd1, 3, "
             "%%rd10;\nmad.lo.u64 %%rd1, %%rd1, 3, %%rd11; mad.lo.u64 %%rd1, %%rd1, 3, %%rd12; "
             "mad.lo.u64 %%rd1, %%rd1, 3, %%rd13;",
             f->name, f->name, small);
    return 1;
}

static int atomic_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1), *r = form_register(t), *s = is_shared(f) ? ".shared" : "",
               *at = is_shared(f) ? "%at6" : "%at5";
    int w = type_bits(t), n;
    char third[8] = "";
    if (IS("cp")) return copy_code(f, out, room);
    if (DOES("cas")) snprintf(third, sizeof third, ", %s4", r);
    n = snprintf(out, room, "st%s.u64 [%s], %%rd2;\n", s, at);
    if (IS("atom"))
        n +=
            snprintf(out + n, room - (size_t)n, "%s %s8, [%s], %s3%s;\n", f->name, r, at, r, third);
    else
        n += snprintf(out + n, room - (size_t)n, "%s [%s], %s3;\n", f->name, at, r);
    n += snprintf(out + n, room - (size_t)n, "ld%s.u%d %s1, [%s];\n", s, w,
                  w == 64   ? "%rd"
                  : w == 32 ? "%r"
                            : "%rs",
                  at);
    if (w < 64)
        n += snprintf(out + n, room - (size_t)n, "cvt.u64.u%d %%rd1, %s1;\n", w,
                      w == 32 ? "%r" : "%rs");
    if (IS("atom")) /* what came back is what was there, bit for bit; else all ones */
        snprintf(out + n, room - (size_t)n,
                 "mov.b%d %s9, %s8; setp.ne.b%d %%p8, %s9, %s2; @%%p8 mov.u64 %%rd1, "
                 "0xffffffffffffffff;",
                 w,
                 w == 64   ? "%rd"
                 : w == 32 ? "%r"
                           : "%rs",
                 r, w,
                 w == 64   ? "%rd"
                 : w == 32 ? "%r"
                           : "%rs",
                 w == 64   ? "%rd"
                 : w == 32 ? "%r"
                           : "%rs");
    return 1;
}

static uint64_t half_sum(const char *t, uint64_t a, uint64_t b)
{
    int m = t[0] == 'b' ? 7 : 10;
    uint64_t r = 0;
    for (int k = 0; k < type_bits(t); k += 16)
        r |= (uint64_t)ref_add(a >> k & 0xffff, b >> k & 0xffff, m) << k;
    return r;
}

static wanted copy_reference(const form *f, uint64_t a, uint64_t b)
{
    if (f->n == 2) return (wanted){.bits = b};
    uint64_t r = ((a * 3 + b) * 3 + a) * 9;
    r = (r + (DOES("ca") ? a : 0)) * 3 + (DOES("ca") ? a >> 32 << 32 : 0);
    return (wanted){.bits = r};
}

static wanted atomic_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1);
    __int128 a = type_value(t, o->a[i]), b = type_value(t, o->b[i]), c = type_value(t, o->c[i]), r;
    wanted w = {0};
    if (IS("cp")) return copy_reference(f, o->a[i], o->b[i]);
    if (type_half(t)) {
        w.bits = half_sum(t, o->a[i], o->b[i]);
        return w;
    }
    if (type_float(t) && DOES("add")) { /* + of the host: rounded once to nearest, as here */
        double d = as_double(o->a[i]) + as_double(o->b[i]);
        float s = as_float(o->a[i]) + as_float(o->b[i]);
        if (!strcmp(t, "f64"))
            memcpy(&w.bits, &d, 8);
        else
            memcpy(&w.bits, &s, 4);
        w.number = t;
        return w;
    }
    r = DOES("add")    ? a + b
        : DOES("min")  ? (a < b ? a : b)
        : DOES("max")  ? (a > b ? a : b)
        : DOES("and")  ? (a & b)
        : DOES("or")   ? (a | b)
        : DOES("xor")  ? (a ^ b)
        : DOES("exch") ? b
        : DOES("cas")  ? (a == b ? c : a)
        : DOES("inc")  ? (a >= b ? 0 : a + 1)
                       : (a == 0 || a > b ? b : a - 1);
    w.bits = type_mask(t, r);
    return w;
}

const family form_atomics = {" atom red cp ", atomic_code, atomic_reference};
