/* emit.c - one kernel, and the functions it calls, as C: declarations, scopes, labels, control
 * flow. Registers become typed locals, so that the compiler can keep them in registers. */
#define _GNU_SOURCE
#include "emit.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

extern const char sim_simrt_text[], sim_prelude_text[], sim_half_text[]; /* embed.c */

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

static void add_sym(emit *e, sym s)
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
        fprintf(e->out, "return;");
    else if (!strcmp(s->op, "exit")) {
        if (e->f->entry)
            fprintf(e->out, "return;");
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
static void statement(emit *e, const stmt *s)
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

static void func_head(emit *e, const func *f)
{
    if (f->entry) {
        fprintf(e->out, "static inline void body(sim_ctx *C, uint64_t base, uint64_t bytes, "
                        "int64_t delta, sim_u3 tid, sim_u3 ntid, sim_u3 ctaid, sim_u3 nctaid");
        for (int i = 0; i < f->nparam; i++) fprintf(e->out, ", char *Varg%d", i);
        fprintf(e->out, ")");
        return;
    }
    fprintf(e->out, "static void F%s(sim_ctx *C", c_name(e, f->name));
    for (int i = 0; i < f->nret; i++) fprintf(e->out, ", char *Vret%d", i);
    for (int i = 0; i < f->nparam; i++) fprintf(e->out, ", char *Varg%d", i);
    fprintf(e->out, ")");
}

static uint64_t emit_function(emit *e, const func *f, uint64_t shared)
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
        case S_LABEL: fprintf(e->out, "L%s:;\n", c_name(e, s->name)); break;
        case S_TARGETS: break;
        case S_INSN: statement(e, s); break;
        }
    }
    fprintf(e->out, "}\n\n");
    e->nsym = base;
    return shared;
}

/* What the runner calls. A block whose threads never wait for each other is one loop, in front of
 * which all is read that its threads share: stores of a thread could change it, as the compiler
 * sees them. lanes: somebody asks which thread of a warp this is. */
static void runner(FILE *out, const func *k, int apart, int lanes)
{
    enum { BY_VALUE = 64 }; /* larger parameters stay where they are */
    if (!apart) {
        fprintf(out,
                "static void entry(sim_ctx *C, void **args)\n{\n    body(C, C->base, C->bytes, "
                "C->delta, C->tid, C->ntid, C->ctaid, C->nctaid");
        for (int i = 0; i < k->nparam; i++) fprintf(out, ", (char *)args[%d]", i);
        fprintf(out, ");\n}\n");
        return;
    }
    fprintf(out, "static void all(sim_ctx *C, void **args)\n{\n    const sim_u3 n = C->ntid, at = "
                 "C->ctaid, of = C->nctaid;\n    const uint64_t base = C->base, bytes = C->bytes; "
                 "const int64_t delta = C->delta;\n    uint32_t i = 0;\n");
    for (int i = 0; i < k->nparam; i++)
        if (k->param[i].bytes <= BY_VALUE)
            fprintf(out,
                    "    char P%d[%u] __attribute__((aligned(16))); memcpy(P%d, args[%d], %u);\n",
                    i, k->param[i].bytes, i, i, k->param[i].bytes);
        else
            fprintf(out, "    char *P%d = args[%d];\n", i, i);
    fprintf(out,
            "    for (uint32_t z = 0; z < n.z; z++)\n        for (uint32_t y = 0; y < n.y; y++) {\n"
            "            C->tid.y = y, C->tid.z = z;\n            for (uint32_t x = 0; x < n.x; "
            "x++, i++) {\n                C->tid.x = x;\n%s                body(C, base, bytes, "
            "delta, (sim_u3){x, y, z}, n, at, of",
            lanes ? "                C->lane = i & 31, C->warp = i >> 5;\n" : "");
    for (int i = 0; i < k->nparam; i++) fprintf(out, ", P%d", i);
    fprintf(out, ");\n            }\n        }\n}\n");
}

static int func_index(const sim_ptx *m, const char *name)
{
    for (int i = 0; i < m->nfunc; i++)
        if (!strcmp(m->func[i].name, name)) return i;
    return -1;
}

/* Is f's name a value anywhere: in a variable or in a register? */
static int has_pointer(const sim_ptx *m, const func *f)
{
    for (int v = 0; v < m->nvar; v++)
        for (int r = 0; r < m->var[v].nreloc; r++)
            if (!strcmp(m->var[v].reloc[r].name, f->name)) return 1;
    for (int k = 0; k < m->nfunc; k++)
        for (int i = 0; i < m->func[k].nbody; i++) {
            const stmt *s = &m->func[k].body[i];
            if (s->kind == S_INSN && strcmp(s->op, "call"))
                for (int a = 0; a < s->narg; a++)
                    if (!strcmp(s->arg[a], f->name)) return 1;
        }
    return 0;
}

/* Marks every function that f reaches; through a pointer, every one that a pointer is taken of. */
static void reach(const sim_ptx *m, const func *f, char *seen)
{
    for (int i = 0; i < f->nbody; i++) {
        const stmt *s = &f->body[i];
        if (s->kind != S_INSN || strcmp(s->op, "call")) continue;
        for (int a = 0; a < s->narg; a++) {
            int k = func_index(m, s->arg[a]);
            if (k < 0 || seen[k]) continue;
            seen[k] = 1;
            reach(m, &m->func[k], seen);
        }
        for (int k = 0; k < m->nfunc && is_indirect(s); k++) {
            if (seen[k] || !m->func[k].has_body || m->func[k].entry) continue;
            if (!has_pointer(m, &m->func[k])) continue;
            seen[k] = 1;
            reach(m, &m->func[k], seen);
        }
    }
}

static void module_symbols(emit *e)
{
    for (int i = 0; i < e->m->nvar; i++)
        add_sym(e,
                (sym){.kind = Y_GLOBAL, .name = e->m->var[i].name, .count = -1, .at = (uint64_t)i});
}

int sim_ptx_emit(const sim_ptx *m, int kernel, FILE *out)
{
    const func *k = &m->func[m->kernel_func[kernel]];
    emit e = {.m = (sim_ptx *)m, .out = out, .kernel = k->name};
    char *seen = calloc((size_t)m->nfunc + 1, 1);
    char *body = NULL;
    size_t body_bytes = 0;
    uint64_t shared = 0;
    int result = -1;
    e.used_var = calloc((size_t)m->nvar + 1, sizeof *e.used_var);
    FILE *text = open_memstream(&body, &body_bytes);
    if (!seen || !e.used_var || !text) goto done;
    module_symbols(&e);
    e.reached = seen;
    reach(m, k, seen);
    e.out = text;
    for (int i = 0; i < m->nfunc; i++)
        if (seen[i] && m->func[i].has_body) {
            func_head(&e, &m->func[i]);
            fprintf(text, ";\n");
        }
    for (int i = 0; i < m->nshared; i++) /* static parts first, then what is dynamic */
        if (!m->shared[i].external) {
            shared = (shared + m->shared[i].align - 1) / m->shared[i].align * m->shared[i].align;
            add_sym(&e,
                    (sym){.kind = Y_SHARED, .name = m->shared[i].name, .count = -1, .at = shared});
            shared += m->shared[i].bytes;
        }
    /* the kernel's own static arrays are placed while it is emitted; dynamic ones start after all
     * of them, so their offset is a constant that is defined at the end */
    for (int i = 0; i < m->nshared; i++)
        if (m->shared[i].external)
            add_sym(
                &e,
                (sym){.kind = Y_SHARED, .name = m->shared[i].name, .count = -1, .at = UINT64_MAX});
    for (int i = 0; i < m->nfunc; i++)
        if (seen[i] && m->func[i].has_body) shared = emit_function(&e, &m->func[i], shared);
    shared = emit_function(&e, k, shared);
    fclose(text);
    text = NULL;
    shared = (shared + 15) / 16 * 16;
    fprintf(
        out,
        "/* %s, translated from PTX */\n%s\n%s\n%s\n#define KERNEL \"%s\"\n#define SIM_TICKS 4096\n"
        "enum { DYNAMIC_SHARED = %llu };\n__attribute__((visibility(\"default\"))) uint64_t "
        "sim_vars[%d];\n",
        k->name, sim_simrt_text, sim_prelude_text, e.half ? sim_half_text : "", k->name,
        (unsigned long long)shared, e.nused + 1);
    fwrite(body, 1, body_bytes, out);
    fprintf(out, "static const uint32_t param_bytes[] = {");
    for (int i = 0; i < k->nparam; i++) fprintf(out, "%u, ", k->param[i].bytes);
    fprintf(out, "0};\nstatic const char *const vars[] = {");
    for (int n = 1; n <= e.nused; n++)
        for (int i = 0; i < m->nvar; i++)
            if (e.used_var[i] == n) fprintf(out, "\"%s\", ", m->var[i].name);
    int apart = !e.barriers && !(e.loops && e.spins);
    fprintf(out, "0};\n");
    runner(out, k, apart,
           strstr(body, "C->lane") || strstr(body, "C->warp") || strstr(body, "activemask"));
    fprintf(out,
            "__attribute__((visibility(\"default\"))) const sim_kernel_info sim_kernel = "
            "{SIM_RT_ABI, KERNEL, %s, %llu, %llu, %d, param_bytes, %d, vars, %d, %u, %s};\n",
            apart ? "0" : "entry", (unsigned long long)shared,
            (unsigned long long)(e.local > UINT32_MAX ? UINT32_MAX : e.local), k->nparam, e.nused,
            e.barriers, e.naccess, apart ? "all" : "0");
    result = ferror(out) ? -1 : e.refused;
done:
    if (text) fclose(text);
    free(body);
    free(seen);
    free(e.used_var);
    free(e.sym);
    return result;
}

const char *sim_ptx_version(void)
{
    return SIM_PTX_VERSION;
}
