/* emit.c - one function as C: symbols, declarations, scopes, labels, control flow. Registers become
 * typed locals, so that the compiler can keep them in registers. */
#define _GNU_SOURCE
#include "emit.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *fmt(emit *e, const char *format, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(small, sizeof small, format, ap);
    va_end(ap);
    char *s = ptx_alloc(e->m, (size_t)n + 1);
    if (!s) {
        refuse(e, "out of memory");
        return (char *)"";
    }
    va_start(ap, format);
    vsnprintf(s, (size_t)n + 1, format, ap);
    va_end(ap);
    return s;
}

void refuse(emit *e, const char *format, ...)
{
    static char reason[200];
    va_list ap;
    if (e->why) return;
    va_start(ap, format);
    vsnprintf(reason, sizeof reason, format, ap);
    va_end(ap);
    e->why = 1;
    e->reason = reason;
}

void add_sym(emit *e, sym s)
{
    if (e->nsym == e->room) {
        int room = e->room ? 2 * e->room : 128;
        sym *all = realloc(e->sym, sizeof *all * (size_t)room);
        if (!all) {
            refuse(e, "out of memory");
            return;
        }
        e->sym = all;
        e->room = room;
    }
    e->sym[e->nsym++] = s;
}

/* The innermost declaration wins. "%r12" belongs to the group "%r" with more than 12 registers. */
const sym *find_sym(emit *e, const char *name)
{
    size_t stem = strlen(name);
    while (stem && isdigit((unsigned char)name[stem - 1])) stem--;
    int number = atoi(name + stem);
    for (int i = e->nsym - 1; i >= 0; i--) {
        const sym *s = &e->sym[i];
        if (s->count < 0 ? !strcmp(s->name, name)
                         : strlen(s->name) == stem && !strncmp(s->name, name, stem) && name[stem] &&
                               number < s->count)
            return s;
    }
    return NULL;
}

static const char *c_name(emit *e, const char *ptx)
{
    char *s = fmt(e, "%s", ptx);
    for (char *p = s; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_') *p = '_';
    return s;
}

static void line_marker(emit *e, const stmt *s)
{
    fprintf(e->out, " /* %d */\n", s->line);
}

static void declare_registers(emit *e, const stmt *s)
{
    const char *c = !strcmp(s->type, "pred") ? "int" : is_float(s->type) ? ctype(s->type) : NULL;
    if (!c) c = fmt(e, "uint%d_t", bits_of(s->type));
    if (bits_of(s->type) > 64 || !strcmp(s->type, "f16") || !strcmp(s->type, "f16x2")) {
        if (bits_of(s->type) > 64) {
            fprintf(e->out, "    /* .reg .%s is not supported */\n", s->type);
            return;
        }
        c = bits_of(s->type) == 16 ? "uint16_t" : "uint32_t";
    }
    add_sym(e, (sym){.kind = Y_REG, .name = s->name, .type = s->type, .count = s->count});
    if (s->count < 0) fprintf(e->out, "    %s R%s = 0;\n", c, c_name(e, s->name));
    for (int i = 0; i < s->count; i++)
        fprintf(e->out, "%s R%s%d = 0%s", i % 10 ? "," : fmt(e, "    %s", c), c_name(e, s->name), i,
                i % 10 == 9 || i == s->count - 1 ? ";\n" : "");
}

static void declare_variable(emit *e, const stmt *s, uint64_t *shared)
{
    sym y = {.name = s->name, .count = -1};
    if (!strcmp(s->space, "shared")) {
        uint32_t align = s->align ? s->align : 1;
        *shared = (*shared + align - 1) / align * align;
        y.kind = Y_SHARED;
        y.at = *shared;
        *shared += s->bytes;
    } else {
        y.kind = !strcmp(s->space, "param") ? Y_PARAM : Y_LOCAL;
        if (y.kind == Y_LOCAL) e->local += s->bytes;
        y.c = fmt(e, "V%s", c_name(e, s->name));
        fprintf(e->out, "    _Alignas(16) char %s[%llu];\n", y.c,
                (unsigned long long)(s->bytes ? s->bytes : 1));
    }
    add_sym(e, y);
}

static int label_index(const func *f, const char *name)
{
    for (int i = 0; i < f->nbody; i++)
        if (f->body[i].kind == S_LABEL && !strcmp(f->body[i].name, name)) return i;
    return -1;
}

/* A jump backwards counts: loops must come back to the runner now and then. */
static void jump(emit *e, const char *label)
{
    int to = label_index(e->f, label);
    if (to < 0) {
        refuse(e, "no label %s", label);
        return;
    }
    e->loops |= to < e->at;
    if (to < e->at)
        fprintf(e->out,
                "{ if (__builtin_expect(--ticks == 0, 0)) { ticks = SIM_TICKS; C->rt->tick(C, "
                "KERNEL, %d); } goto L%s; }",
                e->s->line, c_name(e, label));
    else
        fprintf(e->out, "goto L%s;", c_name(e, label));
}

static void branch_table(emit *e, const stmt *s)
{
    const stmt *targets = NULL;
    for (int i = 0; i < e->f->nbody && s->narg == 2; i++)
        if (e->f->body[i].kind == S_TARGETS && !strcmp(e->f->body[i].name, s->arg[1]))
            targets = &e->f->body[i];
    if (!targets) {
        refuse(e, "brx.idx without its targets");
        return;
    }
    fprintf(e->out, "switch (%s) {", rd(e, s->arg[0], "u32"));
    for (int i = 0; i < targets->narg; i++) {
        fprintf(e->out, " case %d: ", i);
        jump(e, targets->arg[i]);
    }
    fprintf(e->out, " }");
}

static void control(emit *e, const stmt *s)
{
    if (!strcmp(s->op, "bra")) {
        if (s->narg == 1)
            jump(e, s->arg[0]);
        else
            refuse(e, "a branch with %d operands", s->narg);
    } else if (!strcmp(s->op, "brx"))
        branch_table(e, s);
    else if (!strcmp(s->op, "ret"))
        fprintf(e->out, "return%s;", e->strip ? " 0" : "");
    else if (!strcmp(s->op, "exit")) {
        if (e->f->entry)
            fprintf(e->out, "return%s;", e->strip ? " 0" : "");
        else
            refuse(e, "exit inside a function");
    } else if (!strcmp(s->op, "trap"))
        fprintf(e->out, "C->rt->raise(C, SIM_TRAP, KERNEL, %d, \"trap\");", s->line);
    else if (!strcmp(s->op, "call")) {
        e->loops = 1; /* a recursion is a loop */
        emit_call(e, s);
    }
}

/* The instruction goes to a buffer first: a refused one must not leave half a statement. */
void emit_statement(emit *e, const stmt *s)
{
    static const char *const flow[] = {"bra", "brx", "ret", "exit", "trap", "call"};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = e->out, *buffer = open_memstream(&text, &bytes);
    int is_flow = 0;
    if (!buffer) {
        e->refused++;
        return;
    }
    e->s = s;
    e->why = 0;
    e->out = buffer;
    for (size_t i = 0; i < sizeof flow / sizeof *flow; i++) is_flow |= !strcmp(s->op, flow[i]);
    if (is_flow)
        control(e, s);
    else
        emit_instruction(e, s);
    const char *guard =
        s->pred ? fmt(e, "if (%s%s) ", s->negated ? "!" : "", rd(e, s->pred, "pred")) : "";
    fclose(buffer);
    e->out = out;
    if (e->why) {
        e->refused++;
        fprintf(
            out,
            "    %s{ C->rt->raise(C, SIM_ILLEGAL_INSTRUCTION, KERNEL, %d, \"not supported by the "
            "simulated device: ",
            e->why && !*guard ? "" : guard, s->line);
        for (const char *p = s->text; *p; p++) {
            if (*p == '"' || *p == '\\' || *p == '?') fputc('\\', out);
            fputc(*p, out);
        }
        fprintf(out, " (%s)\"); }", e->reason);
    } else
        fprintf(out, "    %s{ %s }", guard, text);
    free(text);
    line_marker(e, s);
}

void emit_label(emit *e, const stmt *s)
{
    fprintf(e->out, "L%s:;\n", c_name(e, s->name));
}

void func_head(emit *e, const func *f)
{
    if (f->entry) {
        fprintf(e->out, "static inline void body(sim_ctx *C, uint64_t base, uint64_t bytes, "
                        "int64_t delta, sim_u3 tid, sim_u3 ntid, sim_u3 ctaid, sim_u3 nctaid");
        for (int i = 0; i < f->nparam; i++) fprintf(e->out, ", char *Varg%d", i);
        fprintf(e->out, ")");
        return;
    }
    fprintf(e->out, "static void F%d%s(sim_ctx *C", e->number, c_name(e, f->name));
    for (int i = 0; i < f->nret; i++) fprintf(e->out, ", char *Vret%d", i);
    for (int i = 0; i < f->nparam; i++) fprintf(e->out, ", char *Varg%d", i);
    fprintf(e->out, ")");
}

uint64_t emit_function(emit *e, const func *f, uint64_t shared)
{
    int scope[64], depth = 0, base = e->nsym;
    e->f = f;
    for (int i = 0; i < f->nret; i++)
        add_sym(
            e,
            (sym){.kind = Y_PARAM, .name = f->ret[i].name, .count = -1, .c = fmt(e, "Vret%d", i)});
    for (int i = 0; i < f->nparam; i++)
        add_sym(e, (sym){.kind = Y_PARAM,
                         .name = f->param[i].name,
                         .count = -1,
                         .c = fmt(e, "Varg%d", i)});
    func_head(e, f);
    fprintf(e->out, "\n{\n");
    if (!f->entry)
        fprintf(e->out,
                "    const uint64_t base = C->base, bytes = C->bytes; const int64_t delta = "
                "C->delta;\n    (void)base; (void)bytes; (void)delta;\n");
    fprintf(e->out, "    uint32_t ticks = SIM_TICKS; unsigned carry = 0;\n    (void)ticks; "
                    "(void)carry;\n");
    for (int i = 0; i < f->nbody; i++) {
        const stmt *s = &f->body[i];
        e->at = i;
        switch (s->kind) {
        case S_OPEN:
            if (depth < 64) scope[depth] = e->nsym;
            depth++;
            fprintf(e->out, "    {\n");
            break;
        case S_CLOSE:
            depth--;
            if (depth >= 0 && depth < 64) e->nsym = scope[depth];
            fprintf(e->out, "    ;}\n");
            break;
        case S_REG: declare_registers(e, s); break;
        case S_VAR: declare_variable(e, s, &shared); break;
        case S_LABEL: emit_label(e, s); break;
        case S_TARGETS: break;
        case S_INSN:
            if (e->site) e->site[i] = e->naccess;
            emit_statement(e, s);
            break;
        }
    }
    fprintf(e->out, "}\n\n");
    e->nsym = base;
    return shared;
}
