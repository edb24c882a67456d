/* kernel.c - one kernel as a file of C: the functions that it reaches, its shared memory, what the
 * runner calls and reads. */
#define _GNU_SOURCE
#include "strip.h"
#include <stdlib.h>
#include <string.h>

extern const char sim_simrt_text[], sim_prelude_text[], sim_half_text[],
    sim_lanes_text[]; /* embed.c */

static void parameters(FILE *out, const func *k, const char *spelling)
{
    for (int i = 0; i < k->nparam; i++) fprintf(out, spelling, i);
}

/* Of a row, as many threads at a time as a strip has. */
static void strips(FILE *out, const func *k)
{
    fprintf(out,
            "#ifdef __AVX2__\n"
            "                if (n.x - x >= %d && pay) {\n"
            "                    struct lanes_state S;\n"
            "                    C->more = %d;\n"
            "                    if (strip(C, base, bytes, delta, (sim_u3){x, y, z}, n, at, of",
            LANES, LANES - 1);
    parameters(out, k, ", P%d");
    fprintf(out,
            ", &S)) {\n"
            "                        C->more = 0;\n"
            "                        strips.left++;\n"
            "                        for (int l = 0; l < %d; l++) {\n"
            "                            C->tid.x = x + l;\n"
            "                            rest(C, base, bytes, delta, (sim_u3){x + l, y, z}, n, "
            "at, of",
            LANES);
    parameters(out, k, ", (char *)args[%d]"); /* P would be in memory if it were told to rest */
    fprintf(out,
            ", &S, l);\n                        }\n                    }\n"
            "                    C->more = 0;\n                    x += %d, i += %d;\n             "
            "       continue;\n"
            "                }\n#endif\n",
            LANES - 1, LANES - 1);
}

/* What the runner calls. A block whose threads never wait for each other is one loop, in front of
 * which all is read that its threads share: stores of a thread could change it, as the compiler
 * sees them. lanes: somebody asks which thread of a warp this is. */
static void runner(FILE *out, const func *k, int apart, int lanes, int in_strips)
{
    enum { BY_VALUE = 64 }; /* larger parameters stay where they are */
    if (!apart) {
        fprintf(out,
                "static void entry(sim_ctx *C, void **args)\n{\n    body(C, C->base, C->bytes, "
                "C->delta, C->tid, C->ntid, C->ctaid, C->nctaid");
        parameters(out, k, ", (char *)args[%d]");
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
            "            C->tid.y = y, C->tid.z = z;\n%s            for (uint32_t x = 0; x < n.x; "
            "x++, i++) {\n                C->tid.x = x;\n",
            in_strips ? "#ifdef __AVX2__\n            const int pay = strips_pay(n.x);\n#endif\n"
                      : "");
    if (in_strips) strips(out, k);
    fprintf(out, "%s                body(C, base, bytes, delta, (sim_u3){x, y, z}, n, at, of",
            lanes ? "                C->lane = i & 31, C->warp = i >> 5;\n" : "");
    parameters(out, k, ", P%d");
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

/* 0: there are so many ways out of a strip that the compiler would take minutes over it. */
static int add_strips(emit *e, strip *v)
{
    enum { MOST_WAYS_OUT = 100 };
    char *text = NULL;
    size_t bytes = 0;
    int ways = 0;
    FILE *out = e->out, *buffer = open_memstream(&text, &bytes);
    if (!buffer) return 0;
    e->out = buffer;
    e->strip = v;
    emit_strip(e);
    e->strip = NULL;
    e->out = out;
    fclose(buffer);
    for (int i = 0; i < v->f->nbody; i++) ways += v->leaves[i];
    if (text && ways <= MOST_WAYS_OUT) fprintf(out, "#ifdef __AVX2__\n%s#endif\n", text);
    free(text);
    return text && ways <= MOST_WAYS_OUT;
}

int sim_ptx_strips(const sim_ptx *m, int kernel)
{
    strip *v = strip_make(&m->func[m->kernel_func[kernel]]);
    strip_free(v);
    return v != NULL;
}

/* What every file begins with. */
static void preamble(FILE *out, int half, int lanes)
{
    fprintf(out, "#define SIM_TICKS 4096\n%s\n%s\n%s\n%s%s%s", sim_simrt_text, sim_prelude_text,
            half ? sim_half_text : "", lanes ? "#ifdef __AVX2__\n" : "",
            lanes ? sim_lanes_text : "",
            lanes ? "\n#define STRIPS &strips.tried\n#else\n#define STRIPS 0\n#endif\n" : "");
}

/* The kernel itself. *half, *lanes: the helpers that it needs. */
static int one(const sim_ptx_one *which, int number, int in_strips, int *half, int *lanes,
               FILE *out)
{
    const sim_ptx *m = which->module;
    const func *k = &m->func[m->kernel_func[which->kernel]];
    emit e = {.m = (sim_ptx *)m, .out = out, .kernel = k->name, .number = number};
    char *seen = calloc((size_t)m->nfunc + 1, 1);
    char *body = NULL;
    size_t body_bytes = 0;
    uint64_t shared = 0;
    int result = -1;
    strip *v = in_strips ? strip_make(k) : NULL;
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
    e.site = v ? v->site : NULL;
    shared = emit_function(&e, k, shared);
    if (v && !add_strips(&e, v)) {
        strip_free(v);
        v = NULL;
    }
    fclose(text);
    text = NULL;
    shared = (shared + 15) / 16 * 16;
    *half |= e.half;
    *lanes |= v != NULL;
    fprintf(out,
            "\n#define KERNEL \"%s\"\nenum { DYNAMIC_SHARED = %llu "
            "};\n__attribute__((visibility(\"default\"))) uint64_t sim_vars[%d];\n",
            k->name, (unsigned long long)shared, e.nused + 1);
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
           strstr(body, "C->lane") || strstr(body, "C->warp") || strstr(body, "activemask"),
           v != NULL);
    fprintf(out,
            "__attribute__((visibility(\"default\"))) const sim_kernel_info sim_kernel = "
            "{SIM_RT_ABI, KERNEL, %s, %llu, %llu, %d, param_bytes, %d, vars, %d, %u, %s, %s};\n",
            apart ? "0" : "entry", (unsigned long long)shared,
            (unsigned long long)(e.local > UINT32_MAX ? UINT32_MAX : e.local), k->nparam, e.nused,
            e.barriers, e.naccess, apart ? "all" : "0", v ? "STRIPS" : "0");
    result = ferror(out) ? -1 : e.refused;
done:
    if (text) fclose(text);
    free(body);
    free(seen);
    free(e.used_var);
    free(e.sym);
    strip_free(v);
    return result;
}

int sim_ptx_emit(const sim_ptx *m, int kernel, int in_strips, FILE *out)
{
    return sim_ptx_emit_several(&(sim_ptx_one){m, kernel}, 1, in_strips, out);
}

int sim_ptx_emit_several(const sim_ptx_one *list, int n, int in_strips, FILE *out)
{
    /* what each defines, by a name of its own */
    static const char *const names[] = {"sim_kernel", "sim_vars",    "body", "all",
                                        "entry",      "param_bytes", "vars", "DYNAMIC_SHARED"};
    const char *name = "";
    char *text = NULL;
    size_t bytes = 0;
    int half = 0, lanes = 0, first = -1;
    FILE *buffer = open_memstream(&text, &bytes);
    for (int i = 0; buffer && i < n; i++) {
        const sim_ptx *m = list[i].module;
        const func *k = &m->func[m->kernel_func[list[i].kernel]];
        if (i == 0) name = k->name;
        for (size_t d = 0; n > 1 && d < sizeof names / sizeof *names; d++) {
            char own[600];
            snprintf(own, sizeof own, "%s_%s", names[d], k->name);
            for (char *p = own; *p; p++)
                if (*p == '.') *p = '_';
            fprintf(buffer, "%s%s\n#define %s %s\n", i ? "#undef " : "", i ? names[d] : "",
                    names[d], own);
        }
        if (i) fprintf(buffer, "#undef KERNEL\n");
        int refused = one(&list[i], i, in_strips, &half, &lanes, buffer);
        if (i == 0) first = refused;
        if (refused < 0) first = -1;
    }
    if (buffer && fclose(buffer) != 0) first = -1;
    if (first >= 0) {
        fprintf(out, "/* %s, translated from PTX */\n", name);
        preamble(out, half, lanes);
        if (fwrite(text, 1, bytes, out) != bytes || ferror(out)) first = -1;
    }
    free(text);
    return first;
}

const char *sim_ptx_version(void)
{
    return SIM_PTX_VERSION;
}
