/* parse.c - PTX text to statements. Knows the grammar, not the instructions. */
#define _GNU_SOURCE
#include "ast.h"
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MAX_VARIABLE = (uint64_t)1 << 42; /* bytes */
enum { MAX_REGISTERS = 1 << 20 };                       /* of one declaration */

typedef struct parser {
    sim_ptx *m;
    const char *p, *end;
    int line;
    char *error;
    size_t error_bytes;
    jmp_buf bad;
} parser;

static void __attribute__((format(printf, 2, 3), noreturn)) bad(parser *P, const char *format, ...)
{
    int n = snprintf(P->error, P->error_bytes, "line %d: ", P->line);
    va_list ap;
    va_start(ap, format);
    if (n >= 0 && (size_t)n < P->error_bytes)
        vsnprintf(P->error + n, P->error_bytes - (size_t)n, format, ap);
    va_end(ap);
    longjmp(P->bad, 1);
}

void *ptx_alloc(sim_ptx *m, size_t bytes)
{
    if (m->narena == m->arena_room) {
        int room = m->arena_room ? 2 * m->arena_room : 256;
        void **a = realloc(m->arena, sizeof *a * (size_t)room);
        if (!a) return NULL;
        m->arena = a;
        m->arena_room = room;
    }
    void *p = calloc(1, bytes ? bytes : 1);
    if (p) m->arena[m->narena++] = p;
    return p;
}

char *ptx_text(sim_ptx *m, const char *from, size_t n)
{
    char *s = ptx_alloc(m, n + 1);
    if (s) memcpy(s, from, n);
    return s;
}

uint32_t ptx_type_bytes(const char *t)
{
    if (!strcmp(t, "pred")) return 1;
    if (!strcmp(t, "b128")) return 16;
    if (!strcmp(t, "f16x2") || !strcmp(t, "bf16x2")) return 4;
    if (!strcmp(t, "bf16")) return 2;
    if (strchr("bsuf", t[0]) && t[0]) {
        int bits = atoi(t + 1);
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return (uint32_t)bits / 8;
    }
    return 0;
}

static void *need(parser *P, void *p)
{
    if (!p) bad(P, "out of memory");
    return p;
}

/* Skips white space and comments, counting lines. */
static void skip(parser *P)
{
    for (; P->p < P->end; P->p++) {
        if (*P->p == '\n')
            P->line++;
        else if (P->p + 1 < P->end && P->p[0] == '/' && P->p[1] == '/') {
            while (P->p < P->end && *P->p != '\n') P->p++;
            P->p--;
        } else if (P->p + 1 < P->end && P->p[0] == '/' && P->p[1] == '*') {
            for (P->p += 2; P->p + 1 < P->end && !(P->p[0] == '*' && P->p[1] == '/'); P->p++)
                if (*P->p == '\n') P->line++;
            P->p++;
        } else if (!isspace((unsigned char)*P->p))
            return;
    }
    P->p = P->end; /* a comment that does not end leads beyond it */
}

/* Text up to one of `stops` outside (), {} and []; comments become blanks, white space is squeezed.
 * The stop stays. */
static char *until(parser *P, const char *stops)
{
    size_t n = 0, room = 64;
    int depth = 0, quoted = 0;
    char *s = need(P, malloc(room));
    while (P->p < P->end) {
        char c = *P->p;
        if (!quoted && c == '/' && P->p + 1 < P->end && (P->p[1] == '/' || P->p[1] == '*')) {
            skip(P);
            c = ' ';
            P->p--;
        }
        if (c == '"') quoted = !quoted;
        if (!quoted && depth == 0 && strchr(stops, c)) break;
        if (!quoted && strchr("([{", c)) depth++;
        if (!quoted && strchr(")]}", c) && depth > 0) depth--;
        if (c == '\n') P->line++;
        if (isspace((unsigned char)c)) c = ' ';
        if (!(c == ' ' && (n == 0 || s[n - 1] == ' '))) s[n++] = c;
        if (n + 1 >= room) s = need(P, realloc(s, room *= 2));
        P->p++;
    }
    while (n && s[n - 1] == ' ') n--;
    char *t = need(P, ptx_text(P->m, s, n));
    free(s);
    if (P->p >= P->end) bad(P, "the text ends inside a statement: %.60s", t);
    return t;
}

static char *trim_copy(parser *P, const char *from, size_t n)
{
    while (n && isspace((unsigned char)*from)) from++, n--;
    while (n && isspace((unsigned char)from[n - 1])) n--;
    return need(P, ptx_text(P->m, from, n));
}

/* Splits at commas outside brackets. */
static int split(parser *P, const char *s, char **out, int max)
{
    int n = 0, depth = 0;
    const char *from = s;
    if (!*s) return 0;
    for (;; s++) {
        if (*s && strchr("([{", *s)) depth++;
        if (*s && strchr(")]}", *s)) depth--;
        if (*s && !(*s == ',' && depth == 0)) continue;
        if (n == max) bad(P, "too many operands");
        out[n++] = trim_copy(P, from, (size_t)(s - from));
        if (!*s) return n;
        from = s + 1;
    }
}

/* ".param .align 8 .b8 name[16]" and the like: everything but an initial value. */
static void declaration(parser *P, const char *text, stmt *v)
{
    char *copy = need(P, ptx_text(P->m, text, strlen(text))), *save, *word;
    v->align = 0;
    v->type = NULL;
    v->count = -1;
    for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (!strcmp(word, ".align")) {
            char *a = strtok_r(NULL, " ", &save);
            v->align = a ? (uint32_t)strtoul(a, NULL, 10) : 0;
        } else if (!strcmp(word, ".extern"))
            v->external = 1;
        else if (!strcmp(word, ".shared") || !strcmp(word, ".local") || !strcmp(word, ".param") ||
                 !strcmp(word, ".global") || !strcmp(word, ".const") || !strcmp(word, ".reg"))
            v->space = word + 1;
        else if (word[0] == '.' && ptx_type_bytes(word + 1))
            v->type = word + 1;
        else if (word[0] == '.')
            continue; /* .visible, .weak, .ptr, .global attributes */
        else if (!v->name)
            v->name = word;
    }
    if (!v->type || !v->name) bad(P, "cannot read the declaration: %.80s", text);
    v->bytes = ptx_type_bytes(v->type);
    char *dim = strchr(v->name, '[');
    for (char *d = dim; d; d = strchr(d + 1, '['))
        if (__builtin_mul_overflow(v->bytes, strtoull(d + 1, NULL, 10), &v->bytes) ||
            v->bytes > MAX_VARIABLE)
            bad(P, "%.60s is larger than any device", v->name);
    if (dim) *dim = 0;
    if (!v->align) v->align = ptx_type_bytes(v->type);
    if (v->align & (v->align - 1) || v->align > 4096) bad(P, "an alignment of %u", v->align);
}

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

static void put_value(unsigned char *at, const char *type, const char *s)
{
    uint64_t bits;
    if (s[0] == '0' && (s[1] == 'f' || s[1] == 'F' || s[1] == 'd' || s[1] == 'D'))
        bits = strtoull(s + 2, NULL, 16);
    else
        bits = s[0] == '-' ? (uint64_t)strtoll(s, NULL, 0) : strtoull(s, NULL, 0);
    uint32_t n = ptx_type_bytes(type);
    memcpy(at, &bits, n < sizeof bits ? n : sizeof bits);
}

static void initial_value(parser *P, sim_ptx_var *v, const stmt *d, const char *text)
{
    char *list = need(P, ptx_text(P->m, text, strlen(text))), *save;
    uint64_t room = 8 * (uint64_t)strlen(text); /* what is not named is 0 */
    if (room > v->bytes) room = v->bytes;
    unsigned char *init = need(P, ptx_alloc(P->m, room + 8));
    uint32_t step = ptx_type_bytes(d->type);
    uint64_t at = 0;
    struct sim_ptx_reloc *reloc = NULL;
    for (char *w = strtok_r(list, "{}, ", &save); w;
         w = strtok_r(NULL, "{}, ", &save), at += step) {
        if (at + step > v->bytes) bad(P, "%s has more initial values than room", v->name);
        if (isdigit((unsigned char)*w) || *w == '-') {
            put_value(init + at, d->type, w);
            continue;
        }
        if (step != 8) bad(P, "%s: an address needs a 64-bit element", v->name);
        if ((v->nreloc & (v->nreloc - 1)) == 0) { /* full at every power of two */
            size_t places = v->nreloc ? 2 * (size_t)v->nreloc : 1;
            struct sim_ptx_reloc *more = need(P, ptx_alloc(P->m, sizeof *more * places));
            if (v->nreloc) memcpy(more, reloc, sizeof *more * (size_t)v->nreloc);
            reloc = more;
        }
        char *plus = strchr(w, '+');
        char *name = !strncmp(w, "generic(", 8) ? w + 8 : w;
        uint64_t addend = plus ? strtoull(plus + 1, NULL, 0) : 0;
        name[strcspn(name, "+)")] = 0;
        reloc[v->nreloc++] = (struct sim_ptx_reloc){at, name, addend};
    }
    v->reloc = reloc;
    v->init = init;
    v->init_bytes = at < room ? at : room;
}

static void module_variable(parser *P, const char *text, const char *init)
{
    sim_ptx *m = P->m;
    stmt d = {0};
    declaration(P, text, &d);
    if (!d.space) bad(P, "cannot read the declaration: %.80s", text);
    if (!strcmp(d.space, "shared")) {
        void *s = realloc(m->shared, sizeof *m->shared * (size_t)(m->nshared + 1));
        m->shared = need(P, s);
        m->shared[m->nshared].name = d.name;
        m->shared[m->nshared].bytes = (uint32_t)d.bytes;
        m->shared[m->nshared].align = d.align;
        m->shared[m->nshared++].external = d.external;
        return;
    }
    if (d.external)
        bad(P,
            "%s is defined in another module: link with relocatable device code is "
            "not supported",
            d.name);
    sim_ptx_var *all = realloc(m->var, sizeof *all * (size_t)(m->nvar + 1));
    m->var = need(P, all);
    sim_ptx_var *v = &m->var[m->nvar++];
    *v = (sim_ptx_var){
        .name = d.name, .bytes = d.bytes, .align = d.align, .is_const = !strcmp(d.space, "const")};
    if (init) initial_value(P, v, &d, init);
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

int sim_ptx_vars(const sim_ptx *m, const sim_ptx_var **out)
{
    *out = m->var;
    return m->nvar;
}
