/* operand.c - PTX operands as C expressions, with the type the instruction asks for. */
#include "strip.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int bits_of(const char *t)
{
    return !strcmp(t, "pred") ? 1 : (int)ptx_type_bytes(t) * 8;
}
int is_float(const char *t)
{
    return !strcmp(t, "f32") || !strcmp(t, "f64");
}

const char *ctype(const char *t)
{
    static const char *const map[][2] = {
        {"f32", "float"},    {"f64", "double"},   {"b8", "uint8_t"},   {"u8", "uint8_t"},
        {"s8", "int8_t"},    {"b16", "uint16_t"}, {"u16", "uint16_t"}, {"s16", "int16_t"},
        {"b32", "uint32_t"}, {"u32", "uint32_t"}, {"s32", "int32_t"},  {"b64", "uint64_t"},
        {"u64", "uint64_t"}, {"s64", "int64_t"},  {"pred", "int"}};
    for (size_t i = 0; i < sizeof map / sizeof *map; i++)
        if (!strcmp(map[i][0], t)) return map[i][1];
    return NULL;
}

int has(const stmt *s, const char *mod)
{
    for (int i = 0; i < s->nmod; i++)
        if (!strcmp(s->mod[i], mod)) return 1;
    return 0;
}

static const char *special(emit *e, const char *o)
{
    static const char *const ids[][2] = {
        {"%tid", "tid"}, {"%ntid", "ntid"}, {"%ctaid", "ctaid"}, {"%nctaid", "nctaid"}};
    static const char *const plain[][2] = {
        {"%laneid", "C->lane"},
        {"%warpid", "C->warp"},
        {"WARP_SZ", "32u"},
        {"%smid", "0u"}, /* one block at a time */
        {"%clock", "(C->clock += 64)"},
        {"%clock64", "(C->clock += 64)"},
        {"%clock_hi", "((C->clock += 64) >> 32)"},
        {"%globaltimer", "(C->clock += 64)"},
        {"%globaltimer_lo", "(C->clock += 64)"},
        {"%globaltimer_hi", "((C->clock += 64) >> 32)"},
        {"%total_smem_size", "C->shared_bytes"},
        {"%dynamic_smem_size", "(C->shared_bytes - DYNAMIC_SHARED)"},
        {"%lanemask_eq", "(1u << C->lane)"},
        {"%lanemask_lt", "((1u << C->lane) - 1u)"},
        {"%lanemask_le", "((2u << C->lane) - 1u)"},
        {"%lanemask_gt", "(~((2u << C->lane) - 1u))"},
        {"%lanemask_ge", "(~((1u << C->lane) - 1u))"}};
    const char *dot = strchr(o, '.');
    for (size_t i = 0; dot && i < sizeof ids / sizeof *ids; i++)
        if ((size_t)(dot - o) == strlen(ids[i][0]) && !strncmp(o, ids[i][0], (size_t)(dot - o)) &&
            dot[1] && strchr("xyz", dot[1]) && !dot[2])
            return fmt(e,
                       !e->f->entry                                         ? "C->%s.%c"
                       : e->strip && e->strip->each && !strcmp(o, "%tid.x") ? "(%s.%c + " LANE ")"
                                                                            : "%s.%c",
                       ids[i][1], dot[1]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(o, plain[i][0])) return plain[i][1];
    return NULL;
}

char *register_name(emit *e, const char *o)
{
    char *name = fmt(e, "R%s", o);
    for (char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    return name;
}

/* Of a strip's register, what one lane holds. */
static char *lane_of(emit *e, const sym *s, const char *o, char *name)
{
    lane_reg *r = strip_reg(e->strip, o);
    if (!r || r->shape == EVEN || r->shape == UNSET) return name;
    if (r->shape == RAMP)
        return fmt(e, "(uint%d_t)(%s + (uint%d_t)(%lldll * " LANE "))", bits_of(s->type), name,
                   bits_of(s->type), (long long)r->stride);
    e->strip->read[r - e->strip->reg] = 1;
    return fmt(e, "E%s[" LANE "]", name);
}

static const char *register_value(emit *e, const sym *s, const char *o, const char *t)
{
    char *name = register_name(e, o);
    if (e->strip && e->strip->each) name = lane_of(e, s, o, name);
    int from_float = is_float(s->type), wide = bits_of(s->type) == 64;
    if (!strcmp(t, "pred")) return name;
    if (bits_of(t) > bits_of(s->type) && is_float(t))
        refuse(e, "operand %s is too narrow for .%s", o, t);
    if (is_float(t) == from_float && (!from_float || bits_of(t) == bits_of(s->type)))
        return from_float ? name : fmt(e, "(%s)%s", ctype(t), name);
    if (is_float(t)) {
        if (from_float) refuse(e, "operand %s has another width than .%s", o, t);
        return fmt(e, "%s(%s)", bits_of(t) == 64 ? "u2d" : "u2f", name);
    }
    return fmt(e, "(%s)%s(%s)", ctype(t), wide ? "d2u" : "f2u", name);
}

static const char *literal(emit *e, const char *o, const char *t)
{
    if (o[0] == '0' && o[1] && strchr("fFdD", o[1]) &&
        strspn(o + 2, "0123456789abcdefABCDEF") != strlen(o + 2)) {
        refuse(e, "operand %s not understood", o);
        return "0";
    }
    if (o[0] == '0' && (o[1] == 'f' || o[1] == 'F'))
        return is_float(t) ? fmt(e, "%s(0x%su)", bits_of(t) == 64 ? "(double)u2f" : "u2f", o + 2)
                           : fmt(e, "(%s)0x%su", ctype(t), o + 2);
    if (o[0] == '0' && (o[1] == 'd' || o[1] == 'D'))
        return is_float(t) ? fmt(e, "%su2d(0x%sull)", bits_of(t) == 32 ? "(float)" : "", o + 2)
                           : fmt(e, "(%s)0x%sull", ctype(t), o + 2);
    char *end;
    int negative = *o == '-';
    unsigned long long v = strtoull(o + negative, &end, 0);
    if (*end == 'U') end++;
    if (*end || end == o + negative) {
        refuse(e, "operand %s not understood", o);
        return "0";
    }
    if (!strcmp(t, "pred")) return v ? "1" : "0";
    return fmt(e, "(%s)%s%lluull", ctype(t), negative ? "-" : "", v);
}

/* The offset behind a +, as C: a number, whatever else stands there. */
static const char *number(emit *e, const char *o)
{
    char *end;
    long long v = strtoll(o, &end, 0);
    while (*end == ' ') end++;
    if (*end || end == o) refuse(e, "offset %s not understood", o);
    return fmt(e, "%lldll", v);
}

/* Address of a variable, plus an offset, as generic mov sees it. */
static const char *variable_address(emit *e, const sym *s, const char *t)
{
    switch (s->kind) {
    case Y_SHARED:
        return s->at == UINT64_MAX ? fmt(e, "(%s)DYNAMIC_SHARED", ctype(t))
                                   : fmt(e, "(%s)%lluull", ctype(t), (unsigned long long)s->at);
    case Y_GLOBAL:
        if (!e->used_var[s->at]) e->used_var[s->at] = ++e->nused;
        return fmt(e, "(%s)sim_vars[%d]", ctype(t), e->used_var[s->at] - 1);
    case Y_LOCAL:
    case Y_PARAM: return fmt(e, "(%s)(uintptr_t)%s", ctype(t), s->c);
    case Y_REG: break;
    }
    return "0";
}

const char *rd(emit *e, const char *o, const char *t)
{
    if (!ctype(t)) {
        refuse(e, "type .%s", t);
        return "0";
    }
    if (*o == '!') return fmt(e, "!%s", rd(e, o + 1, t));
    const char *x = special(e, o);
    if (x) return fmt(e, "(%s)%s", ctype(t), x);
    const sym *s = find_sym(e, o);
    if (s && s->kind == Y_REG) return register_value(e, s, o, t);
    if (s) return variable_address(e, s, t);
    if (isdigit((unsigned char)*o) || *o == '-') return literal(e, o, t);
    const char *plus = strchr(o, '+');
    if (plus) {
        char *name = fmt(e, "%.*s", (int)(plus - o), o);
        s = find_sym(e, name);
        if (s && s->kind != Y_REG)
            return fmt(e, "(%s + (%s)%s)", variable_address(e, s, t), ctype(t),
                       number(e, plus + 1));
    }
    uint64_t code = sim_ptx_function_address(e->m, o);
    if (code && bits_of(t) == 64) return fmt(e, "(%s)%lluull", ctype(t), (unsigned long long)code);
    refuse(e, "operand %s not understood", o);
    return "0";
}

void wr(emit *e, const char *d, const char *t, const char *x)
{
    if (!strcmp(d, "_")) return;
    const sym *s = find_sym(e, d);
    if (!s || s->kind != Y_REG) {
        refuse(e, "destination %s not understood", d);
        return;
    }
    char *name = register_name(e, d);
    if (e->strip && e->strip->each) name = fmt(e, "W%s[" LANE "]", name);
    if (!strcmp(s->type, "pred"))
        fprintf(e->out, "%s = (%s) != 0;", name, x);
    else if (is_float(s->type)) {
        if (is_float(t) && bits_of(t) != bits_of(s->type))
            refuse(e, "%s has another width than .%s", d, t);
        if (is_float(t))
            fprintf(e->out, "%s = %s;", name, x);
        else
            fprintf(e->out, "%s = %s(%s);", name, bits_of(s->type) == 64 ? "u2d" : "u2f", x);
    } else if (is_float(t))
        fprintf(e->out, "%s = %s(%s);", name, bits_of(t) == 64 ? "d2u" : "f2u", x);
    else
        fprintf(e->out, "%s = (uint%d_t)(%s)(%s);", name, bits_of(s->type), ctype(t), x);
}

int split_vector(emit *e, const char *o, char **out)
{
    if (*o != '{') {
        out[0] = fmt(e, "%s", o);
        return 1;
    }
    int n = 0;
    char *save = NULL, *copy = fmt(e, "%s", o + 1);
    copy[strcspn(copy, "}")] = 0;
    for (char *w = strtok_r(copy, ", ", &save); w && n < 8; w = strtok_r(NULL, ", ", &save))
        out[n++] = w;
    return n;
}

const char *address(emit *e, const char *o, const char *space, uint32_t n, int access)
{
    return address_behind(e, o, "0", space, n, access);
}

const char *address_behind(emit *e, const char *o, const char *more, const char *space, uint32_t n,
                           int access)
{
    if (*o != '[') {
        refuse(e, "memory operand %s not understood", o);
        return "0";
    }
    char *inside = fmt(e, "%s", o + 1), *close = strchr(inside, ']');
    if (close) *close = 0;
    char *plus = strchr(inside + 1, '+');
    const char *offset = "0";
    if (plus) {
        *plus = 0;
        offset = number(e, plus + 1);
    }
    while (*inside == ' ') inside++;
    size_t len = strlen(inside);
    while (len && inside[len - 1] == ' ') inside[--len] = 0;
    const sym *s = find_sym(e, inside);
    if (s && (s->kind == Y_LOCAL || s->kind == Y_PARAM))
        return fmt(e, "(%s + (%s) + %s)", s->c, offset, more);
    const char *a = fmt(e, "(%s + (int64_t)%s + %s)", rd(e, inside, "u64"), offset, more);
    if (e->strip && e->strip->each) { /* all lanes were looked at before */
        e->naccess++;
        return fmt(e, "(char *)(%s + (uint64_t)d_)", a);
    }
    if (!strcmp(space, "shared")) return fmt(e, "sa_(C, %s, %u, KERNEL, %d)", a, n, e->s->line);
    if (!strcmp(space, "local")) return fmt(e, "la_(C, %s, %u, KERNEL, %d)", a, n, e->s->line);
    return fmt(e, "ga_(C, base, bytes, delta, %s, %u, %d, %u, KERNEL, %d)", a, n, access,
               e->naccess++, e->s->line);
}
