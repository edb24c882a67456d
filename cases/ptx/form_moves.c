/* form_moves.c - what moves bits: selections, mov, addresses of spaces, memory that a thread has to
 * itself, loads and stores. Eight words lie behind each thread in every space: a b c a b c a b. */
#include "formkit.h"
#include <string.h>

#define IS(name) (!strcmp(f->op, name))

static int move_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1), *d = form_type(f, 2);
    if (IS("selp")) return form_plain(f, "T T T pred", out, room);
    if (IS("slct")) {
        char bring[200];
        form_bring(d, bring, sizeof bring);
        snprintf(out, room, "%s %s5, %s2, %s3, %s4; %s", f->name, form_register(d),
                 form_register(d), form_register(d), form_register(t), bring);
    } else if (IS("mov") && !strcmp(f->name, "mov.b32"))
        snprintf(out, room,
                 "mov.b32 {%%rs8, %%rs9}, %%r2; mov.b32 %%r8, {%%rs9, %%rs3}; mov.b32 %%r5, %%r8; "
                 "cvt.u64.u16 %%rd8, %%rs8; cvt.u64.u32 %%rd1, %%r5; add.u64 %%rd1, %%rd1, %%rd8;");
    else if (IS("mov") && !strcmp(f->name, "mov.b64"))
        snprintf(out, room,
                 "mov.b64 {%%rs8, %%rs9, %%rs10, %%rs11}, %%rd2; mov.b64 %%rd8, {%%rs11, %%rs8, "
                 "%%rs10, %%rs9}; mov.b64 {%%r8, %%r9}, %%rd8; mov.b64 %%rd1, {%%r9, %%r8};");
    else if (IS("mov"))
        return form_plain(f, "T T", out, room);
    else if (IS("cvta") && form_has(f, "to")) /* and back: the offset in the window */
        snprintf(out, room, "cvta.%s.u64 %%rd8, 24; %s %%rd1, %%rd8;", d, f->name);
    else if (IS("cvta") && form_has(f, "shared"))
        snprintf(out, room,
                 "st.shared.u64 [%%at6+8], %%rd3; %s %%rd8, %%at6; ld.u64 %%rd1, [%%rd8+8];",
                 f->name);
    else if (IS("cvta") && form_has(f, "local"))
        snprintf(out, room,
                 "st.local.u64 [%%at7+8], %%rd3; %s %%rd8, %%at7; ld.u64 %%rd1, [%%rd8+8];",
                 f->name);
    else if (IS("cvta"))
        snprintf(out, room, "%s %%rd8, %%at5; ld.u64 %%rd1, [%%rd8+8];", f->name);
    else if (IS("isspacep"))
        snprintf(out, room,
                 "cvta.shared.u64 %%rd8, %%at6; cvta.local.u64 %%rd9, %%at7; %s %%p5, %%at5; %s "
                 "%%p8, %%rd8; %s %%p9, %%rd9; selp.u64 %%rd1, 1, 0, %%p5; @%%p8 or.b64 %%rd1, "
                 "%%rd1, 2; @%%p9 or.b64 %%rd1, %%rd1, 4;",
                 f->name, f->name, f->name);
    else /* two pieces that are not one: 64 bytes each, a multiple of 16 */
        snprintf(out, room,
                 "mov.u64 %%rd8, 64; alloca.u64 %%rd9, %%rd8, 16; alloca.u64 %%rd10, %%rd8, 16; "
                 "st.local.u64 [%%rd9+56], %%rd2; st.local.u64 [%%rd10], %%rd3; ld.local.u64 "
                 "%%rd1, [%%rd9+56]; or.b64 %%rd8, %%rd9, %%rd10; and.b64 %%rd8, %%rd8, 15; "
                 "add.u64 %%rd1, %%rd1, %%rd8;");
    return 1;
}

static wanted move_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1), *d = form_type(f, 2);
    uint64_t a = o->a[i], b = o->b[i], c = o->c[i];
    if (IS("selp")) return (wanted){.bits = type_mask(t, (__int128)(c & 1 ? a : b))};
    if (IS("slct")) {
        int first = type_float(t) ? as_float(c) >= 0 : (int32_t)c >= 0;
        return (wanted){.bits = type_mask(d, (__int128)(first ? a : b))};
    }
    if (!strcmp(f->name, "mov.b32"))
        return (wanted){.bits = ((a >> 16 & 0xffff) | (b & 0xffff) << 16) + (a & 0xffff)};
    if (!strcmp(f->name, "mov.b64")) {
        uint64_t p[4] = {a & 0xffff, a >> 16 & 0xffff, a >> 32 & 0xffff, a >> 48};
        return (wanted){.bits = p[2] | p[1] << 16 | p[3] << 32 | p[0] << 48};
    }
    if (IS("mov")) return (wanted){.bits = type_mask(t, (__int128)a)};
    if (IS("cvta")) return (wanted){.bits = form_has(f, "to") ? 24 : b};
    if (IS("isspacep"))
        return (wanted){.bits = form_has(f, "global") ? 1 : form_has(f, "shared") ? 2 : 4};
    return (wanted){.bits = a};
}

const family form_moves = {" selp slct mov cvta isspacep alloca ", move_code, move_reference};

/* ---- loads and stores ---- */
static int lanes_of(const form *f)
{
    return form_has(f, "v2") ? 2 : form_has(f, "v4") ? 4 : 1;
}

static const char *space_of(const form *f)
{
    static const char *const spaces[] = {"shared", "local", "const", "param", "global"};
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < 5; k++)
            if (!strncmp(f->mod[i], spaces[k], strlen(spaces[k]))) return spaces[k];
    return "generic";
}

/* "{%r8, %r9}" */
static const char *registers(const form *f, const char *t, char *out)
{
    int n = lanes_of(f), at = 0;
    for (int i = 0; i < n; i++)
        at += sprintf(out + at, "%s%s%d", i ? ", " : n > 1 ? "{" : "", form_register(t), 8 + i);
    if (n > 1) strcpy(out + at, "}");
    return out;
}

/* Where the thread's words lie in the space, with a, b, a, b there. */
static const char *place(const form *f, char *fill, size_t room)
{
    const char *s = space_of(f);
    if (!strcmp(s, "shared") || !strcmp(s, "local")) {
        const char *at = s[0] == 's' ? "%at6" : "%at7";
        snprintf(fill, room,
                 "st.%s.u64 [%s], %%rd2; st.%s.u64 [%s+8], %%rd3; st.%s.u64 [%s+16], %%rd2; "
                 "st.%s.u64 [%s+24], %%rd3;",
                 s, at, s, at, s, at, s, at);
        return at;
    }
    return !strcmp(s, "const") ? "fixed" : !strcmp(s, "param") ? "big" : "%at5";
}

static int memory_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1), *r = form_register(t);
    const char *own = !strcmp(space_of(f), "shared") ? ".shared" : "",
               *as = !strcmp(space_of(f), "local") ? ".local" : own;
    char list[80], fill[400] = "";
    int n = lanes_of(f), at = 0, load = f->op[0] == 'l', call = form_has(f, "param::func");
    const char *where = place(f, fill, sizeof fill);
    if (load && call)
        at = snprintf(out, room,
                      "{ .param .align 16 .b8 x[32]; .param .align 16 .b8 y[32];\nst.param.v2.u64 "
                      "[x], {%%rd2, %%rd3}; st.param.v2.u64 [x+16], {%%rd2, %%rd3};\ncall.uni (y), "
                      "same, (x);\n%s %s, [y]; }\n",
                      f->name, registers(f, t, list));
    else if (load)
        at = snprintf(out, room, "%s %s %s, [%s];\n", fill, f->name, registers(f, t, list), where);
    else { /* the registers hold a, b, a, b; what is not written stays */
        for (int i = 0; i < n; i++)
            at += snprintf(out + at, room - (size_t)at, "mov.%s %s%d, %s%d; ",
                           !strcmp(r, "%rs")   ? "b16"
                           : !strcmp(r, "%r")  ? "b32"
                           : !strcmp(r, "%rd") ? "b64"
                           : !strcmp(r, "%f")  ? "f32"
                                               : "f64",
                           r, 8 + i, r, 2 + (i & 1));
        if (!strcmp(space_of(f), "param"))
            at += snprintf(out + at, room - (size_t)at,
                           "{ .param .align 16 .b8 x[32]; .param .align 16 .b8 y[32];\n"
                           "st.param.v2.u64 [x], {0, 0}; st.param.v2.u64 [x+16], {0, 0};\n%s [x], "
                           "%s;\ncall.uni (y), same, (x);\nld.param.v2.u64 {%%rd8, %%rd9}, [y]; "
                           "ld.param.v2.u64 {%%rd10, %%rd11}, [y+16]; }\n",
                           f->name, registers(f, t, list));
        else
            at += snprintf(out + at, room - (size_t)at,
                           "st%s.v2.u64 [%s], {0, 0}; st%s.v2.u64 [%s+16], {0, 0};\n%s [%s], "
                           "%s;\nld%s.v2.u64 {%%rd8, %%rd9}, [%s]; ld%s.v2.u64 {%%rd10, "
                           "%%rd11}, [%s+16];\n",
                           as, where, as, where, f->name, where, registers(f, t, list), as, where,
                           as, where);
        r = "%rd", n = 4;
    }
    for (int i = 0; i < n; i++) { /* rd1 = 5 rd1 + the next */
        const char *bring = !strcmp(r, "%rd")   ? "mov.b64 %%rd12, %s%d;"
                            : !strcmp(r, "%r")  ? "cvt.u64.u32 %%rd12, %s%d;"
                            : !strcmp(r, "%rs") ? "cvt.u64.u16 %%rd12, %s%d;"
                            : !strcmp(r, "%f")  ? "mov.b32 %%r12, %s%d; cvt.u64.u32 %%rd12, %%r12;"
                                                : "mov.b64 %%rd12, %s%d;";
        at += snprintf(out + at, room - (size_t)at, bring, r, 8 + i);
        at += snprintf(out + at, room - (size_t)at, " mad.lo.u64 %%rd1, %%rd1, 5, %%rd12;\n");
    }
    return 1;
}

static wanted memory_reference(const form *f, const operands *o, size_t i)
{
    static const unsigned char fixed[32] = {1,  130, 3,  4,  5,   6,  7,  200, 9,  10, 11,
                                            12, 13,  14, 15, 240, 17, 18, 19,  20, 21, 22,
                                            23, 24,  25, 26, 27,  28, 29, 30,  31, 32};
    const uint64_t big[4] = {0x8182838485868788, 0x1122334455667788, 0x99aabbccddeeff00, 5};
    const char *t = form_type(f, 1), *s = space_of(f);
    uint64_t words[4] = {o->a[i], o->b[i], o->a[i], o->b[i]}, r = 0;
    unsigned char memory[32] = {0};
    int bytes = type_bits(t) / 8, wide = type_bits(t) == 8 ? 16 : type_bits(t);
    if (f->op[0] == 's') {
        for (int k = 0; k < lanes_of(f); k++)
            memcpy(memory + k * bytes, &words[k & 1], (size_t)bytes);
        memcpy(words, memory, 32);
        for (int k = 0; k < 4; k++) r = 5 * r + words[k];
        return (wanted){.bits = r};
    }
    if (!strcmp(s, "global") || !strcmp(s, "generic")) words[2] = o->c[i], words[3] = o->a[i];
    memcpy(memory,
           !strcmp(s, "const")                                  ? (const void *)fixed
           : !strcmp(s, "param") && !form_has(f, "param::func") ? (const void *)big
                                                                : (const void *)words,
           32);
    for (int k = 0; k < lanes_of(f); k++) {
        uint64_t v = 0;
        memcpy(&v, memory + k * bytes, (size_t)bytes);
        r = 5 * r + ((uint64_t)type_value(t, v) << (64 - wide) >> (64 - wide));
    }
    return (wanted){.bits = r};
}

const family form_memory = {" ld ldu st ", memory_code, memory_reference};
