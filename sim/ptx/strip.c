/* strip.c - the kernel once more, for a strip of threads at once. Registers that are the same in
 * all lanes stay scalars, ramps are the first lane's, others are vectors. Where lanes would part (a
 * branch, an access that is not plain, a ramp that wraps) the strip ends: its registers go to a
 * struct, and `rest`, the kernel for one thread with an entry at each such place, ends each lane.
 */
#define _GNU_SOURCE
#include "strip.h"
#include <stdlib.h>
#include <string.h>

static const char *vector_of(const lane_reg *r)
{
    int bits = bits_of(r->type);
    if (bits == 1) return "v8i";
    if (bits == 16) return "v8h";
    if (bits == 64) return is_float(r->type) ? "v4d" : "v4q";
    return is_float(r->type) ? "v8f" : "v8u";
}

static const char *scalar_of(emit *e, const lane_reg *r)
{
    if (is_float(r->type)) return ctype(r->type);
    return bits_of(r->type) == 1 ? "int" : fmt(e, "uint%d_t", bits_of(r->type));
}

/* Every register as members of a struct or as variables. */
static void declare(emit *e, const char *zero)
{
    for (int i = 0; i < e->strip->nreg; i++) {
        const lane_reg *r = &e->strip->reg[i];
        const char *c = register_name(e, r->name);
        if (r->shape != APART)
            fprintf(e->out, "    %s %s%s;\n", scalar_of(e, r), c, zero ? " = 0" : "");
        else if (bits_of(r->type) == 64)
            fprintf(e->out, "    %s %s_0%s, %s_1%s;\n", vector_of(r), c, zero ? zero : "", c,
                    zero ? zero : "");
        else
            fprintf(e->out, "    %s %s%s;\n", vector_of(r), c, zero ? zero : "");
    }
}

const char *strip_leave(emit *e, int at)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        refuse(e, "out of memory");
        return "";
    }
    e->strip->leaves[at] = 1;
    fprintf(out, "{ S->at = %d; ", at);
    for (int i = 0; i < e->strip->nreg; i++) {
        const lane_reg *r = &e->strip->reg[i];
        const char *c = register_name(e, r->name);
        if (!strip_live(e->strip, at, i)) continue;
        if (r->shape == APART && bits_of(r->type) == 64)
            fprintf(out, "S->%s_0 = %s_0; S->%s_1 = %s_1; ", c, c, c, c);
        else
            fprintf(out, "S->%s = %s; ", c, c);
    }
    fprintf(out, "return 1; }");
    fclose(out);
    const char *kept = fmt(e, "%s", "");
    if (text) {
        char *copy = ptx_alloc(e->m, bytes + 1);
        if (copy) kept = memcpy(copy, text, bytes + 1);
    }
    free(text);
    return kept;
}

/* The registers that operand `o` names, in turn; e: to take the list apart in. */
static int registers(emit *e, const char *o, lane_reg **out)
{
    int n = 0;
    char *save = NULL, *copy = fmt(e, "%s", o);
    for (char *w = strtok_r(copy, "{}|, ", &save); w && n < 8; w = strtok_r(NULL, "{}|, ", &save)) {
        lane_reg *r = strip_reg(e->strip, w);
        if (r) out[n++] = r;
    }
    return n;
}

/* A register's lanes as an array; the registers that are read are E, those written W. */
static void unpack(emit *e, const lane_reg *r, char letter)
{
    const char *c = register_name(e, r->name);
    fprintf(e->out, "_Alignas(32) %s %c%s[8]; ", scalar_of(e, r), letter, c);
    if (bits_of(r->type) == 64)
        fprintf(e->out, "memcpy(%c%s, &%s_0, 32); memcpy(%c%s + 4, &%s_1, 32); ", letter, c, c,
                letter, c, c);
    else if (bits_of(r->type) == 1)
        fprintf(e->out, "{ v8i m_ = %s & 1; memcpy(%c%s, &m_, 32); } ", c, letter, c);
    else
        fprintf(e->out, "memcpy(%c%s, &%s, sizeof %s); ", letter, c, c, c);
}

static void pack(emit *e, const lane_reg *r)
{
    const char *c = register_name(e, r->name);
    if (bits_of(r->type) == 64)
        fprintf(e->out, "memcpy(&%s_0, W%s, 32); memcpy(&%s_1, W%s + 4, 32); ", c, c, c, c);
    else
        fprintf(e->out, "memcpy(&%s, W%s, sizeof %s); ", c, c, c);
    if (bits_of(r->type) == 1) fprintf(e->out, "%s = -%s; ", c, c);
}

/* An instruction as it is emitted for one thread, for each lane by itself. */
static void each(emit *e, const stmt *s, int writes)
{
    strip *v = e->strip;
    lane_reg *to[8];
    int n = writes ? registers(e, s->arg[0], to) : 0;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = e->out, *buffer = open_memstream(&text, &bytes);
    if (!buffer) {
        refuse(e, "out of memory");
        return;
    }
    memset(v->read, 0, (size_t)v->nreg);
    e->out = buffer;
    v->each = 1;
    if (s->pred) fprintf(buffer, "if (%s%s) ", s->negated ? "!" : "", rd(e, s->pred, "pred"));
    fprintf(buffer, "{ ");
    emit_instruction(e, s);
    fprintf(buffer, " }");
    fclose(buffer);
    v->each = 0;
    e->out = out;
    for (int i = 0; i < v->nreg; i++)
        if (v->read[i]) unpack(e, &v->reg[i], 'E');
    for (int i = 0; i < n; i++) unpack(e, to[i], 'W');
    fprintf(out, "for (int " LANE " = 0; " LANE " < %d; " LANE "++) { %s } ", LANES,
            text ? text : "");
    for (int i = 0; i < n; i++) pack(e, to[i]);
    free(text);
}

/* A ramp that is extended must not wrap within the strip. */
static void guard(emit *e, const stmt *s, int at)
{
    int64_t stride;
    int sign;
    if (!strip_extends(s, &sign) || strip_shape(e->strip, s->arg[1], &stride) != RAMP) return;
    const char *c = sign ? "int32_t" : "uint32_t";
    fprintf(e->out,
            "{ int64_t f_ = (%s)%s, l_ = f_ + %lldll; if (__builtin_expect(l_ != (%s)l_, 0)) %s } ",
            c, rd(e, s->arg[1], "u32"), (long long)(stride * (LANES - 1)), c, strip_leave(e, at));
}

static void flow(emit *e, const stmt *s, int at)
{
    int64_t unused;
    if (!strcmp(s->op, "trap")) {
        fprintf(e->out, "    %s", strip_leave(e, at));
        return;
    }
    if (!s->pred || strip_shape(e->strip, s->pred, &unused) == EVEN) {
        emit_statement(e, s);
        return;
    }
    fprintf(e->out, "    { uint32_t m_ = lanes_set(%s%s); if (m_ == 255) { ", s->negated ? "~" : "",
            register_name(e, s->pred));
    stmt all = *s;
    all.pred = NULL;
    emit_statement(e, &all);
    fprintf(e->out, " } else if (m_) %s }\n", strip_leave(e, at));
}

static void instruction(emit *e, const stmt *s, int at)
{
    static const char *const flows[] = {"bra", "ret", "exit", "trap"};
    int store = !strcmp(s->op, "st") || !strcmp(s->op, "red");
    int memory = store || !strcmp(s->op, "ldu") || (!strcmp(s->op, "ld") && !has(s, "param"));
    int64_t unused;
    lane_reg *to[8];
    shape widest = EVEN;
    for (size_t i = 0; i < sizeof flows / sizeof *flows; i++)
        if (!strcmp(s->op, flows[i])) {
            flow(e, s, at);
            return;
        }
    if (store) {
        for (int a = 0; a < s->narg; a++)
            if (strip_shape(e->strip, s->arg[a], &unused) > widest) widest = APART;
        if (s->pred && strip_shape(e->strip, s->pred, &unused) != EVEN) widest = APART;
        if (!strcmp(s->op, "red")) widest = APART;
    } else if (s->narg)
        for (int i = 0, n = registers(e, s->arg[0], to); i < n; i++)
            if (to[i]->shape > widest) widest = to[i]->shape;
    if (widest != APART) {
        if (widest == RAMP) guard(e, s, at);
        emit_statement(e, s);
        return;
    }
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = e->out, *buffer = open_memstream(&text, &bytes);
    if (!buffer) {
        refuse(e, "out of memory");
        return;
    }
    e->out = buffer;
    e->s = s;
    e->why = 0;
    int odd = s->pred && strip_shape(e->strip, s->pred, &unused) != EVEN;
    if (form_known(e, s)) {
        if (s->pred && !odd)
            fprintf(buffer, "if (%s%s) ", s->negated ? "!" : "", rd(e, s->pred, "pred"));
        fprintf(buffer, "{ ");
        if (!odd && (memory ? emit_lanes_memory(e, s, at) : emit_lanes(e, s)))
            e->strip->vectors++;
        else if (!memory || emit_lanes_check(e, s, at))
            each(e, s, !store);
        else
            refuse(e, "an address in strips");
        fprintf(buffer, " }");
    }
    fclose(buffer);
    e->out = out;
    /* what is refused raises where it is reached, with the thread's name: one by one */
    fprintf(out, "    %s\n", e->why || !text ? strip_leave(e, at) : text);
    e->why = 0;
    free(text);
}

static void head(emit *e, const char *result, const char *name, const char *more)
{
    fprintf(e->out,
            "static inline %s %s(sim_ctx *C, uint64_t base, uint64_t bytes, int64_t delta, sim_u3 "
            "tid, sim_u3 ntid, sim_u3 ctaid, sim_u3 nctaid",
            result, name);
    for (int i = 0; i < e->f->nparam; i++) fprintf(e->out, ", char *Varg%d", i);
    fprintf(e->out, "%s)\n{\n", more);
}

static void rest(emit *e)
{
    const strip *v = e->strip;
    fprintf(e->out, "    switch (S->at) {\n");
    for (int at = 0; at < e->f->nbody; at++) {
        if (!v->leaves[at]) continue;
        fprintf(e->out, "    case %d: ", at);
        for (int i = 0; i < v->nreg; i++) {
            const lane_reg *r = &v->reg[i];
            const char *c = register_name(e, r->name);
            if (!strip_live(v, at, i)) continue;
            if (r->shape == RAMP)
                fprintf(e->out, "%s = S->%s + (%s)(%lldll * l); ", c, c, scalar_of(e, r),
                        (long long)r->stride);
            else if (r->shape != APART)
                fprintf(e->out, "%s = S->%s; ", c, c);
            else if (bits_of(r->type) == 64)
                fprintf(e->out, "%s = l < 4 ? S->%s_0[l] : S->%s_1[l - 4]; ", c, c, c);
            else
                fprintf(e->out, "%s = S->%s[l]%s; ", c, c, bits_of(r->type) == 1 ? " & 1" : "");
        }
        fprintf(e->out, "goto A%d;\n", at);
    }
    fprintf(e->out, "    }\n");
}

void emit_strip(emit *e)
{
    strip *v = e->strip;
    const func *f = v->f;
    int refused = e->refused;
    uint32_t naccess = e->naccess;
    int base = e->nsym;
    e->f = f;
    for (int i = 0; i < f->nparam; i++)
        add_sym(e, (sym){.kind = Y_PARAM,
                         .name = f->param[i].name,
                         .count = -1,
                         .c = fmt(e, "Varg%d", i)});
    for (int i = 0; i < f->nbody; i++)
        if (f->body[i].kind == S_REG)
            add_sym(e, (sym){.kind = Y_REG,
                             .name = f->body[i].name,
                             .type = f->body[i].type,
                             .count = f->body[i].count});
    fprintf(e->out, "struct lanes_state {\n    int at;\n");
    declare(e, NULL);
    fprintf(e->out, "};\n");
    head(e, "int", "strip", ", struct lanes_state *S");
    fprintf(e->out,
            "    uint32_t ticks = SIM_TICKS; unsigned carry = 0;\n    (void)ticks; (void)carry;\n");
    declare(e, " = {0}");
    for (int i = 0; i < f->nbody; i++) {
        const stmt *s = &f->body[i];
        e->at = i;
        e->naccess = v->site[i];
        if (s->kind == S_LABEL)
            emit_label(e, s);
        else if (s->kind == S_INSN)
            instruction(e, s, i);
    }
    fprintf(e->out, "    return 0;\n}\n\n");
    e->strip = NULL;
    head(e, "__attribute__((noinline)) void", "rest", ", const struct lanes_state *S, int l");
    fprintf(e->out,
            "    uint32_t ticks = SIM_TICKS; unsigned carry = 0;\n    (void)ticks; (void)carry;\n");
    for (int i = 0; i < v->nreg; i++)
        fprintf(e->out, "    %s %s = 0;\n", scalar_of(e, &v->reg[i]),
                register_name(e, v->reg[i].name));
    e->strip = v;
    rest(e);
    e->strip = NULL;
    for (int i = 0; i < f->nbody; i++) {
        const stmt *s = &f->body[i];
        e->at = i;
        e->naccess = v->site[i];
        if (v->leaves[i]) fprintf(e->out, "A%d:;\n", i);
        if (s->kind == S_LABEL)
            emit_label(e, s);
        else if (s->kind == S_INSN)
            emit_statement(e, s);
    }
    fprintf(e->out, "}\n\n");
    e->strip = v;
    e->nsym = base;
    e->refused = refused;
    e->naccess = naccess;
}
