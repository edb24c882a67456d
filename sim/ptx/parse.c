/* parse.c - PTX text to statements: functions and their bodies, the module. Knows the grammar, not
 * the instructions. */
#define _GNU_SOURCE
#include "parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGISTERS = 1 << 20 }; /* of one declaration */

static param *parameters(parser *P, int *n)
{
    char *list[512];
    skip(P);
    if (P->p >= P->end || *P->p != '(') {
        *n = 0;
        return NULL;
    }
    P->p++;
    char *text = until(P, ")");
    P->p++;
    *n = split(P, text, list, 512);
    param *out = need(P, ptx_alloc(P->m, sizeof *out * (size_t)(*n + 1)));
    for (int i = 0; i < *n; i++) {
        stmt v = {0};
        declaration(P, list[i], &v);
        out[i] = (param){v.name, v.type, (uint32_t)v.bytes, v.align};
    }
    return out;
}

static stmt *new_stmt(parser *P, func *f, stmt_kind kind)
{
    if ((f->nbody & (f->nbody - 1)) == 0) { /* full at every power of two */
        size_t room = f->nbody ? 2 * (size_t)f->nbody : 1;
        stmt *b = need(P, ptx_alloc(P->m, sizeof *b * room));
        if (f->nbody) memcpy(b, f->body, sizeof *b * (size_t)f->nbody);
        f->body = b;
    }
    stmt *s = &f->body[f->nbody++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->line = P->line;
    return s;
}

static void instruction(parser *P, stmt *s, const char *text)
{
    s->text = need(P, ptx_text(P->m, text, strlen(text)));
    const char *t = text;
    if (*t == '@') {
        t++;
        if (*t == '!') s->negated = 1, t++;
        size_t n = strcspn(t, " ");
        s->pred = need(P, ptx_text(P->m, t, n));
        t += n;
        while (*t == ' ') t++;
    }
    size_t n = strcspn(t, " ");
    char *full = need(P, ptx_text(P->m, t, n)), *save = NULL;
    t += n;
    while (*t == ' ') t++;
    for (char *w = strtok_r(full, ".", &save); w; w = strtok_r(NULL, ".", &save)) {
        if (!s->op)
            s->op = w;
        else if (s->nmod == MAX_MODS)
            bad(P, "too many modifiers: %.60s", text);
        else
            s->mod[s->nmod++] = w;
    }
    if (!s->op) bad(P, "no instruction in: %.60s", text);
    s->narg = split(P, t, s->arg, MAX_ARGS);
    /* what is not there reads as an empty word, which no translation accepts */
    static char nothing[1];
    for (int i = s->narg; i < MAX_ARGS; i++) s->arg[i] = nothing;
    for (int i = s->nmod; i < MAX_MODS; i++) s->mod[i] = nothing;
}

/* One declaration statement may name several registers. */
static void reg_directive(parser *P, func *f, const char *text)
{
    char *list[64];
    char type[16];
    int at = 0;
    if (sscanf(text, ".reg .%15[a-z0-9] %n", type, &at) != 1 || !at)
        bad(P, "cannot read the register declaration: %.60s", text);
    int n = split(P, text + at, list, 64);
    for (int i = 0; i < n; i++) {
        stmt *s = new_stmt(P, f, S_REG);
        s->type = need(P, ptx_text(P->m, type, strlen(type)));
        s->name = list[i];
        s->count = -1;
        char *angle = strchr(s->name, '<');
        if (angle) {
            s->count = atoi(angle + 1);
            if (s->count < 0 || s->count > MAX_REGISTERS) bad(P, "%d registers", s->count);
            *angle = 0;
        }
        if (!ptx_type_bytes(type)) bad(P, "unknown register type .%s", type);
    }
}

static void body(parser *P, func *f)
{
    int depth = 0;
    for (P->p++;;) {
        skip(P);
        if (P->p >= P->end) bad(P, "the function %s does not end", f->name);
        if (*P->p == '{') {
            P->p++;
            depth++;
            new_stmt(P, f, S_OPEN);
        } else if (*P->p == '}') {
            P->p++;
            if (depth-- == 0) return;
            new_stmt(P, f, S_CLOSE);
        } else if (*P->p == ';') {
            P->p++;
        } else {
            int line = P->line;
            char *t = until(P, ";:}");
            char stop = *P->p;
            /* "a:b" inside ".loc" or "::" inside a modifier is not a label */
            while (stop == ':' && (t[0] == '.' || strchr(t, ' ') || P->p[1] == ':')) {
                int twice = P->p[1] == ':'; /* its second one is no label's either */
                P->p += 1 + twice;
                char *more = until(P, ";:}");
                char *joined = need(P, ptx_alloc(P->m, strlen(t) + strlen(more) + 3));
                sprintf(joined, "%s:%s%s", t, twice ? ":" : "", more);
                t = joined;
                stop = *P->p;
            }
            if (stop == '}') bad(P, "expected ';' after: %.60s", t);
            P->p++;
            int at = P->line;
            P->line = line;
            if (stop == ':') {
                stmt *s = new_stmt(P, f, S_LABEL);
                s->name = t;
                skip(P);
                if (!strncmp(P->p, ".branchtargets", 14) || !strncmp(P->p, ".calltargets", 12)) {
                    P->p += strcspn(P->p, " \t\n");
                    s->kind = S_TARGETS;
                    s->narg = split(P, until(P, ";"), s->arg, MAX_ARGS);
                    P->p++;
                } else if (!strncmp(P->p, ".callprototype", 14)) {
                    s->kind = S_TARGETS; /* the operands of the call say as much */
                    until(P, ";");
                    P->p++;
                }
            } else if (!strncmp(t, ".reg", 4) && (t[4] == ' ' || t[4] == '.'))
                reg_directive(P, f, t);
            else if (t[0] == '.') {
                if (!strncmp(t, ".shared", 7) || !strncmp(t, ".local", 6) ||
                    !strncmp(t, ".param", 6)) {
                    stmt *s = new_stmt(P, f, S_VAR);
                    declaration(P, t, s);
                    if (!s->space) bad(P, "cannot read the declaration: %.80s", t);
                } else if (strncmp(t, ".pragma", 7))
                    bad(P, "directive not known: %.60s", t);
            } else
                instruction(P, new_stmt(P, f, S_INSN), t);
            P->line = at;
        }
        /* .loc and .file have no semicolon and are cut out by lines */
        skip(P);
        while (P->p < P->end && (!strncmp(P->p, ".loc", 4) && isspace((unsigned char)P->p[4]))) {
            while (P->p < P->end && *P->p != '\n') P->p++;
            skip(P);
        }
    }
}

static void function(parser *P, int entry)
{
    sim_ptx *m = P->m;
    func f = {.entry = entry, .line = P->line};
    skip(P);
    if (!entry && *P->p == '(') f.ret = parameters(P, &f.nret);
    skip(P);
    size_t n = strcspn(P->p, " \t\r\n(;{");
    f.name = need(P, ptx_text(m, P->p, n));
    P->p += n;
    f.param = parameters(P, &f.nparam);
    for (;;) { /* .noreturn .maxntid 256, 1, 1 .reqntid .minnctapersm ... */
        skip(P);
        if (P->p >= P->end) bad(P, "the text ends after the head of %s", f.name);
        if (*P->p == '{' || *P->p == ';') break;
        P->p++;
    }
    if (*P->p == '{') {
        f.has_body = 1;
        body(P, &f);
    } else
        P->p++;
    for (int i = 0; i < m->nfunc; i++)
        if (!strcmp(m->func[i].name, f.name)) { /* a declaration before */
            if (f.has_body) m->func[i] = f;
            return;
        }
    func *all = realloc(m->func, sizeof *all * (size_t)(m->nfunc + 1));
    m->func = need(P, all);
    m->func[m->nfunc++] = f;
}

static void module(parser *P)
{
    for (;;) {
        skip(P);
        if (P->p >= P->end) return;
        if (*P->p != '.') bad(P, "expected a directive, not: %.40s", P->p);
        static const char *const lines[] = {".version", ".target", ".address_size", ".file",
                                            ".loc"};
        int done = 0;
        for (size_t i = 0; i < sizeof lines / sizeof *lines && !done; i++)
            if (!strncmp(P->p, lines[i], strlen(lines[i]))) {
                if (i == 1 && P->end - P->p > 14 && !strncmp(P->p + 7, " sm_", 4))
                    P->m->target = (int)strtol(P->p + 11, NULL, 10);
                while (P->p < P->end && *P->p != '\n') P->p++;
                done = 1;
            }
        if (done) continue;
        if (!strncmp(P->p, ".section", 8)) { /* debug data */
            while (P->p < P->end && *P->p != '{') P->p++;
            P->p++;
            until(P, "}");
            P->p++;
            continue;
        }
        const char *at = P->p;
        int line = P->line, entry = 0, fn = 0;
        /* the words before a name decide: linkage, then .entry, .func or a space */
        while (*at == '.') {
            size_t n = strcspn(at, " \t\r\n(");
            entry |= n == 6 && !strncmp(at, ".entry", 6);
            fn |= n == 5 && !strncmp(at, ".func", 5);
            at += n;
            while (at < P->end && isspace((unsigned char)*at)) line += *at++ == '\n';
            if (entry || fn) break;
        }
        if (entry || fn) {
            P->p = at;
            P->line = line;
            function(P, entry);
            continue;
        }
        char *text = until(P, ";="), *init = NULL;
        if (*P->p == '=') {
            P->p++;
            init = until(P, ";");
        }
        P->p++;
        if (!strncmp(text, ".pragma", 7)) continue;
        module_variable(P, text, init);
    }
}

sim_ptx *sim_ptx_parse(const char *text, size_t bytes, char *error, size_t error_bytes)
{
    parser P = {.line = 1, .error = error, .error_bytes = error_bytes};
    if (error_bytes) *error = 0;
    P.m = calloc(1, sizeof *P.m);
    if (!P.m || !(P.m->text = malloc(bytes + 1))) {
        if (error_bytes) snprintf(error, error_bytes, "line 1: out of memory");
        sim_ptx_free(P.m);
        return NULL;
    }
    memcpy(P.m->text, text, bytes);
    P.m->text[bytes] = 0;
    P.p = P.m->text;
    P.end = P.m->text + strlen(P.m->text);
    if (setjmp(P.bad)) {
        sim_ptx_free(P.m);
        return NULL;
    }
    module(&P);
    for (int i = 0; i < P.m->nfunc; i++)
        P.m->nkernel += P.m->func[i].entry && P.m->func[i].has_body;
    P.m->kernel = need(&P, ptx_alloc(P.m, sizeof *P.m->kernel * (size_t)(P.m->nkernel + 1)));
    P.m->kernel_func = need(&P, ptx_alloc(P.m, sizeof(int) * (size_t)(P.m->nkernel + 1)));
    for (int i = 0, k = 0; i < P.m->nfunc; i++) {
        func *f = &P.m->func[i];
        if (!f->entry || !f->has_body) continue;
        uint32_t *sizes = need(&P, ptx_alloc(P.m, sizeof *sizes * (size_t)(f->nparam + 1)));
        for (int a = 0; a < f->nparam; a++) sizes[a] = f->param[a].bytes;
        P.m->kernel_func[k] = i;
        P.m->kernel[k++] = (sim_ptx_kernel){f->name, f->line, f->nparam, sizes, 0};
    }
    return P.m;
}

void sim_ptx_free(sim_ptx *m)
{
    if (!m) return;
    for (int i = 0; i < m->narena; i++) free(m->arena[i]);
    free(m->arena);
    free(m->func);
    free(m->var);
    free(m->shared);
    free(m->text);
    free(m);
}

int sim_ptx_kernels(const sim_ptx *m, const sim_ptx_kernel **out)
{
    *out = m->kernel;
    return m->nkernel;
}

uint64_t sim_ptx_function_address(const sim_ptx *m, const char *name)
{
    for (int i = 0; i < m->nfunc; i++)
        if (!m->func[i].entry && m->func[i].has_body && !strcmp(m->func[i].name, name))
            return PTX_CODE + 16 * (uint64_t)i;
    return 0;
}

int sim_ptx_target(const sim_ptx *m)
{
    return m->target;
}

int sim_ptx_vars(const sim_ptx *m, const sim_ptx_var **out)
{
    *out = m->var;
    return m->nvar;
}
