/* lanes.c - the common instructions for all lanes of a strip at once, as C's operators on vectors,
 * with the results that arithmetic.c and its neighbours give lane by lane. What is not here is
 * emitted for each lane. */
#include "ops.h"
#include "strip.h"
#include <stdlib.h>
#include <string.h>

/* The vector type for values of a PTX type. */
static const char *vector(const char *t)
{
    int sign = t[0] == 's', wide = bits_of(t) == 64;
    if (!strcmp(t, "pred")) return "v8i";
    if (is_float(t)) return wide ? "v4d" : "v8f";
    return wide ? (sign ? "v4l" : "v4q") : sign ? "v8i" : "v8u";
}

const char *lanes_value(emit *e, const char *o, const char *t, int half)
{
    const strip *v = e->strip;
    const lane_reg *r = strip_reg(v, *o == '!' ? o + 1 : o);
    int64_t stride = 0;
    int wide = bits_of(t) == 64;
    shape is = strip_shape(v, o, &stride);
    if (is == APART) {
        if (!r || (bits_of(r->type) == 64) != wide || bits_of(r->type) == 16 || bits_of(t) == 16 ||
            !strcmp(r->type, "pred") != !strcmp(t, "pred")) {
            refuse(e, "operand %s in strips", o);
            return "0";
        }
        const char *c = register_name(e, r->name);
        return wide ? fmt(e, "((%s)%s_%d)", vector(t), c, half)
                    : fmt(e, "(%s(%s)%s)", *o == '!' ? "~" : "", vector(t), c);
    }
    const char *scalar = rd(e, o, t);
    if (!strcmp(t, "pred")) return fmt(e, "b8i(-(%s != 0))", scalar);
    if (is == RAMP && (is_float(t) || bits_of(t) < 32)) {
        refuse(e, "operand %s in strips", o);
        return "0";
    }
    const char *all = fmt(e, "b%s(%s)", vector(t) + 1, scalar);
    if (is != RAMP) return all;
    char list[400];
    int at = 0;
    for (int l = 0; l < (wide ? 4 : 8); l++)
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%lldll", l ? ", " : "",
                       (long long)(stride * (l + 4 * half)));
    return fmt(e, "(%s + (%s){%s})", all, vector(t), list);
}

/* Result x, of type t, to the half of the destination. */
static void store(emit *e, const char *d, const char *t, int half, const char *x)
{
    const lane_reg *r = strip_reg(e->strip, d);
    if (!r || r->shape != APART || bits_of(r->type) != bits_of(t)) {
        refuse(e, "destination %s in strips", d);
        return;
    }
    const char *c = register_name(e, r->name);
    if (bits_of(t) == 64)
        fprintf(e->out, "%s_%d = (%s)(%s); ", c, half, is_float(r->type) ? "v4d" : "v4q", x);
    else
        fprintf(e->out, "%s = (%s)(%s); ", c,
                !strcmp(r->type, "pred") ? "v8i"
                : is_float(r->type)      ? "v8f"
                                         : "v8u",
                x);
}

static int literal_below(const char *o, int most)
{
    int v = 0;
    if (!*o || strspn(o, "0123456789") != strlen(o) || strlen(o) > 3) return 0;
    for (; *o; o++) v = 10 * v + *o - '0';
    return v < most;
}

static const char *sign_of_max(const stmt *s)
{
    return s->op[1] == 'a' ? ">" : "<";
}

/* One operation on vectors, with %1 %2 %3 for the operands; NULL: none. */
static const char *operation(const stmt *s, const char *t)
{
    const char *op = s->op;
    int f = is_float(t), b = bits_of(t);
    if (b != 32 && b != 64 && strcmp(t, "pred")) return NULL;
    if (has(s, "sat") || has(s, "ftz") || has(s, "cc") || has(s, "NaN") || direction(s))
        return NULL;
    if (!strcmp(op, "add")) return "%1 + %2";
    if (!strcmp(op, "sub")) return "%1 - %2";
    if (!strcmp(op, "mul") && (f || has(s, "lo"))) return "%1 * %2";
    if (!strcmp(op, "mad") && !f && has(s, "lo")) return "%1 * %2 + %3";
    if ((!strcmp(op, "mad") || !strcmp(op, "fma")) && f)
        return b == 32 ? "fma8(%1, %2, %3)" : "fma4(%1, %2, %3)";
    if (!strcmp(op, "div") && f) return "%1 / %2";
    if (!strcmp(op, "sqrt") && f && b == 32 && !has(s, "approx")) return "sqrt8(%1)";
    if (!strcmp(op, "neg")) return "-%1";
    if (!strcmp(op, "and")) return "%1 & %2";
    if (!strcmp(op, "or")) return "%1 | %2";
    if (!strcmp(op, "xor")) return "%1 ^ %2";
    if (!strcmp(op, "not")) return "~%1";
    if (!strcmp(op, "mov") || !strcmp(op, "cvta")) return "%1";
    if (!strcmp(op, "shl") && literal_below(s->arg[2], b)) return "%1 << %2";
    if (!strcmp(op, "shr") && literal_below(s->arg[2], b)) return "%1 >> %2";
    return NULL;
}

static const char *filled(emit *e, const stmt *s, const char *form, const char *t, int half)
{
    char text[2048];
    size_t n = 0;
    int shift = s->op[0] == 's' && s->op[1] == 'h';
    for (const char *p = form; *p && n < sizeof text - 1; p++) {
        if (*p != '%') {
            text[n++] = *p;
            continue;
        }
        int i = *++p - '0';
        const char *x = i >= s->narg      ? NULL
                        : shift && i == 2 ? s->arg[2]
                                          : lanes_value(e, s->arg[i], t, half);
        if (!x || n + strlen(x) >= sizeof text) {
            refuse(e, "operands in strips");
            return "0";
        }
        memcpy(text + n, x, strlen(x));
        n += strlen(x);
    }
    text[n] = 0;
    return fmt(e, "%s", text);
}

static const char *compared(const char *name, int f)
{
    static const char *const ints[][2] = {{"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="},
                                          {"gt", ">"},  {"ge", ">="}, {"lo", "<"}, {"ls", "<="},
                                          {"hi", ">"},  {"hs", ">="}};
    static const char *const floats[][2] = {{"eq", "=="}, {"lt", "<"},  {"le", "<="},
                                            {"gt", ">"},  {"ge", ">="}, {"neu", "!="}};
    for (size_t i = 0; i < (f ? sizeof floats / sizeof *floats : sizeof ints / sizeof *ints); i++)
        if (!strcmp(f ? floats[i][0] : ints[i][0], name)) return f ? floats[i][1] : ints[i][1];
    return NULL;
}

/* setp.CMP.TYPE p, a, b */
static int set_predicate(emit *e, const stmt *s, const char *t)
{
    const char *c = s->nmod == 2 ? compared(s->mod[0], is_float(t)) : NULL;
    if (!c || s->narg != 3 || bits_of(t) < 32 || strpbrk(s->arg[0], "|")) return 0;
    const char *m[2];
    for (int half = 0; half <= (bits_of(t) == 64); half++)
        m[half] = fmt(e, "(%s)(%s %s %s)", bits_of(t) == 64 ? "v4l" : "v8i",
                      lanes_value(e, s->arg[1], t, half), c, lanes_value(e, s->arg[2], t, half));
    store(e, s->arg[0], "pred", 0, bits_of(t) == 64 ? fmt(e, "mask8(%s, %s)", m[0], m[1]) : m[0]);
    return 1;
}

/* min max of integers; selp */
static int pick(emit *e, const stmt *s, const char *t)
{
    int wide = bits_of(t) == 64, select = s->op[0] == 's';
    if (bits_of(t) < 32 || s->narg != (select ? 4 : 3) || s->nmod != 1) return 0;
    for (int half = 0; half <= wide; half++) {
        const char *a = lanes_value(e, s->arg[1], t, half), *b = lanes_value(e, s->arg[2], t, half),
                   *m;
        if (!select)
            m = fmt(e, "(%s %s %s)", a, sign_of_max(s), b);
        else if (wide)
            m = fmt(e, "mask4(%s, %d)", lanes_value(e, s->arg[3], "pred", 0), half);
        else
            m = lanes_value(e, s->arg[3], "pred", 0);
        store(e, s->arg[0], t, half, fmt(e, "PICK(%s, %s, %s, %s)", vector(t), m, a, b));
    }
    return 1;
}

/* mul.wide and mad.wide, cvt between 32 and 64 bits and between integers and floats */
static int widen(emit *e, const stmt *s)
{
    const char *t = s->mod[s->nmod - 1], *low = t[0] == 's' ? "v4i" : "v4u";
    int product = s->op[0] == 'm', sign = t[0] == 's';
    const char *to = product ? (sign ? "s64" : "u64") : s->mod[s->nmod - 2];
    if (bits_of(t) != 32 || is_float(t) || is_float(to)) return 0;
    if (s->op[0] == 'm' && s->op[1] == 'a' && s->narg != 4) return 0;
    for (int half = 0; half < 2; half++) {
        const char *x[2];
        for (int i = 0; i < 1 + product; i++)
            x[i] = fmt(e, "WIDEN((%s)%s4((v8u)%s), %s)", low, half ? "high" : "low",
                       lanes_value(e, s->arg[1 + i], t, 0), sign ? "v4l" : "v4q");
        store(e, s->arg[0], "b64", half,
              !product       ? x[0]
              : s->narg == 4 ? fmt(e, "(v4q)(%s * %s) + %s", x[0], x[1],
                                   lanes_value(e, s->arg[3], "u64", half))
                             : fmt(e, "%s * %s", x[0], x[1]));
    }
    return 1;
}

static int convert(emit *e, const stmt *s)
{
    const char *t = s->mod[s->nmod - 1], *d = s->nmod > 1 ? s->mod[s->nmod - 2] : "";
    const lane_reg *r = strip_reg(e->strip, s->arg[0]);
    if (has(s, "sat") || has(s, "ftz") || s->nmod < 2 || !r || bits_of(r->type) != bits_of(d))
        return 0;
    if (s->nmod == 2 && bits_of(t) == 32 && bits_of(d) == 64 && !is_float(d)) return widen(e, s);
    if (s->nmod == 2 && bits_of(t) == 64 && bits_of(d) == 32 && !is_float(d) && !is_float(t)) {
        store(e, s->arg[0], "b32", 0,
              fmt(e, "both(WIDEN(%s, v4u), WIDEN(%s, v4u))", lanes_value(e, s->arg[1], "u64", 0),
                  lanes_value(e, s->arg[1], "u64", 1)));
        return 1;
    }
    if (s->nmod == 3 && !strcmp(s->mod[0], "rn") && !strcmp(d, "f32") && !strcmp(t, "s32")) {
        store(e, s->arg[0], d, 0, fmt(e, "WIDEN(%s, v8f)", lanes_value(e, s->arg[1], t, 0)));
        return 1;
    }
    if (s->nmod == 2 && !strcmp(d, "f64") && !strcmp(t, "f32")) {
        for (int half = 0; half < 2; half++)
            store(e, s->arg[0], d, half,
                  fmt(e, "WIDEN(%s4f(%s), v4d)", half ? "high" : "low",
                      lanes_value(e, s->arg[1], t, 0)));
        return 1;
    }
    if (s->nmod == 3 && !strcmp(s->mod[0], "rn") && !strcmp(d, "f32") && !strcmp(t, "f64")) {
        store(e, s->arg[0], d, 0,
              fmt(e, "(v8f)both((v4u)WIDEN(%s, v4f), (v4u)WIDEN(%s, v4f))",
                  lanes_value(e, s->arg[1], t, 0), lanes_value(e, s->arg[1], t, 1)));
        return 1;
    }
    return 0;
}

static int try_lanes(emit *e, const stmt *s)
{
    const char *t = type_of(s);
    for (int i = 0; i < s->narg; i++)
        if (strpbrk(s->arg[i], "{|,")) return 0;
    for (int i = 0; i < s->nmod; i++)
        if (is_half(s->mod[i])) return 0;
    if (!ctype(t) || !s->narg) return 0;
    if (!strcmp(s->op, "setp")) return set_predicate(e, s, t);
    if (!strcmp(s->op, "selp") ||
        ((!strcmp(s->op, "min") || !strcmp(s->op, "max")) && !is_float(t)))
        return pick(e, s, t);
    if (!strcmp(s->op, "cvt")) return convert(e, s);
    if (has(s, "wide")) return widen(e, s);
    const char *form = operation(s, t);
    if (!form) return 0;
    /* C's / and % of integers, and shifts of floats, are not meant */
    for (int half = 0; half <= (bits_of(t) == 64); half++)
        store(e, s->arg[0], t, half, filled(e, s, form, t, half));
    return 1;
}

int emit_lanes(emit *e, const stmt *s)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = e->out, *buffer = open_memstream(&text, &bytes);
    if (!buffer) return 0;
    e->out = buffer;
    int done = try_lanes(e, s);
    fclose(buffer);
    e->out = out;
    done = done && !e->why && text;
    e->why = 0; /* then each lane by itself */
    if (done) fputs(text, out);
    free(text);
    return done;
}

/* ---- memory ---- */
/* "[%rd5+8]" as the operand and the offset in it; 0: something else */
static int split(emit *e, const char *o, const char **name, const char **offset)
{
    if (*o != '[') return 0;
    char *inside = fmt(e, "%s", o + 1), *plus;
    inside[strcspn(inside, "]")] = 0;
    plus = strchr(inside, '+');
    *offset = plus ? plus + 1 : "0";
    if (plus) *plus = 0;
    while (*inside == ' ') inside++;
    for (size_t n = strlen(inside); n && inside[n - 1] == ' ';) inside[--n] = 0;
    *name = inside;
    char *end;
    strtoll(*offset, &end, 0); /* decimal or hexadecimal, as C reads it too */
    while (*end == ' ') end++;
    return end != *offset && !*end;
}

static const char *memory_operand(const stmt *s)
{
    return s->arg[s->op[0] == 'l' ? 1 : 0];
}

static int elements(const stmt *s)
{
    return has(s, "v2") ? 2 : has(s, "v4") ? 4 : has(s, "v8") ? 8 : 1;
}

int emit_lanes_check(emit *e, const stmt *s, int at)
{
    const char *name, *offset, *t = type_of(s);
    if (!split(e, memory_operand(s), &name, &offset)) return 0;
    fprintf(e->out, "int64_t d_; if (__builtin_expect(!lanes_at(C, base, bytes, delta, ");
    for (int half = 0; half < 2; half++)
        fprintf(e->out, "%s + b4q((uint64_t)%sll), ", lanes_value(e, name, "u64", half), offset);
    fprintf(e->out, "%d, %u, &d_), 0)) %s ", elements(s) * bits_of(t) / 8, e->strip->site[at],
            strip_leave(e, at));
    return 1;
}

int emit_lanes_memory(emit *e, const stmt *s, int at)
{
    const char *name, *offset, *t = type_of(s), *value = s->arg[s->op[0] == 'l' ? 0 : 1];
    const lane_reg *r = strip_reg(e->strip, value);
    int load = s->op[0] == 'l', bits = bits_of(t);
    int64_t stride;
    if (!strcmp(s->op, "red") || elements(s) != 1 || (bits != 32 && bits != 64)) return 0;
    if (load && (!r || r->shape != APART || bits_of(r->type) != bits)) return 0;
    if (!split(e, memory_operand(s), &name, &offset)) return 0;
    shape is = strip_shape(e->strip, name, &stride);
    const char *v = is_float(t) ? (bits == 64 ? "v4d" : "v8f") : bits == 64 ? "v4q" : "v8u";
    const char *type = is_float(t) ? t : bits == 64 ? "u64" : "u32";
    if (is == RAMP && stride == bits / 8) {
        fprintf(
            e->out,
            "uint64_t a_ = %s + (uint64_t)%sll; int64_t d_; if (__builtin_expect(!row_at(C, "
            "base, bytes, delta, a_, %d, %u, &d_), 0)) %s char *p_ = (char *)(a_ + (uint64_t)d_); ",
            rd(e, name, "u64"), offset, bits / 8, e->strip->site[at], strip_leave(e, at));
        for (int half = 0; half <= (bits == 64); half++) {
            const char *place = fmt(e, "*(%s_at *)(p_ + %d)", v, 32 * half);
            if (load)
                store(e, value, t, half, place);
            else
                fprintf(e->out, "%s = %s; ", place, lanes_value(e, value, type, half));
        }
        return 1;
    }
    if (!emit_lanes_check(e, s, at)) return 0;
    for (int half = 0; half < 2; half++)
        fprintf(e->out, "v4q a%d_ = %s + b4q((uint64_t)(%sll + d_)); ", half,
                lanes_value(e, name, "u64", half), offset);
    const char *c = ctype(type);
    if (!load)
        for (int half = 0; half <= (bits == 64); half++)
            fprintf(e->out, "%s x%d_ = %s; ", v, half, lanes_value(e, value, type, half));
    if (!load) {
        for (int l = 0; l < LANES; l++)
            fprintf(e->out, "*(%s *)a%d_[%d] = x%d_[%d]; ", c, l / 4, l % 4, bits == 64 ? l / 4 : 0,
                    bits == 64 ? l % 4 : l);
        return 1;
    }
    for (int half = 0; half <= (bits == 64); half++) {
        char list[400];
        int n = 0, lanes = bits == 64 ? 4 : 8;
        for (int l = half * 4; l < half * 4 + lanes; l++)
            n += snprintf(list + n, sizeof list - (size_t)n, "%s*(%s *)a%d_[%d]",
                          l == half * 4 ? "" : ", ", c, l / 4, l % 4);
        store(e, value, t, half, fmt(e, "(%s){%s}", v, list));
    }
    return 1;
}
