/* rules.c - parsing and matching. */
#include "rules.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int op_glob(const char *p, const char *s)
{
    for (; *p; p++, s++) {
        if (*p == '*') {
            while (*p == '*') p++;
            if (!*p) return 1;
            for (; *s; s++)
                if (op_glob(p, s)) return 1;
            return op_glob(p, s);
        }
        if (!*s || (*p != '?' && tolower((unsigned char)*p) != tolower((unsigned char)*s)))
            return 0;
    }
    return !*s;
}

typedef struct parser {
    const char *start, *p;
    char *error;
    size_t room;
} parser;

static int fail(parser *x, const char *at, const char *what, const char *near)
{
    int line = 1, column = 1;
    for (const char *c = x->start; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    snprintf(x->error, x->room, "line %d column %d: %s%s%s%s", line, column, what,
             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    return -1;
}

/* Levenshtein distance of short words */
static int distance(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b);
    if (n > 62) return 99;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int up = row[j], best = diagonal + (tolower((unsigned char)*a) != b[j - 1]);
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[n];
}

static const char *nearest(const char *word, const char *const *words)
{
    const char *best = NULL;
    int least = 99;
    for (; *words; words++)
        if (distance(word, *words) < least) {
            least = distance(word, *words);
            best = *words;
        }
    return best;
}

static const char *const selectors[] = {"nth",   "size",   "skip", "times", "budget",
                                        "phase", "kernel", "kind", "site",  0};
static const char *const faults[] = {"oom", "status", "error", "shape", "poison", 0};
static const struct {
    const char *name;
    int code;
} codes[] = {{"cudaErrorInvalidValue", 1},
             {"cudaErrorMemoryAllocation", 2},
             {"cudaErrorInvalidConfiguration", 9},
             {"cudaErrorDevicesUnavailable", 46},
             {"cudaErrorIllegalAddress", 700},
             {"cudaErrorLaunchOutOfResources", 701},
             {"cudaErrorLaunchTimeout", 702},
             {"cudaErrorAssert", 710},
             {"cudaErrorHardwareStackError", 714},
             {"cudaErrorIllegalInstruction", 715},
             {"cudaErrorMisalignedAddress", 716},
             {"cudaErrorLaunchFailure", 719},
             {"cudaErrorNotSupported", 801},
             {"cudaErrorUnknown", 999},
             {"CUBLAS_STATUS_NOT_INITIALIZED", 1},
             {"CUBLAS_STATUS_ALLOC_FAILED", 3},
             {"CUBLAS_STATUS_INVALID_VALUE", 7},
             {"CUBLAS_STATUS_EXECUTION_FAILED", 13},
             {"CUBLAS_STATUS_INTERNAL_ERROR", 14},
             {"CUBLAS_STATUS_NOT_SUPPORTED", 15},
             {"CUDNN_STATUS_NOT_INITIALIZED", 1001},
             {"CUDNN_STATUS_BAD_PARAM", 2000},
             {"CUDNN_STATUS_NOT_SUPPORTED", 3000},
             {"CUDNN_STATUS_INTERNAL_ERROR", 4000},
             {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", 4003},
             {"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", 4004},
             {"CUDNN_STATUS_EXECUTION_FAILED", 5000}};

static int number(const char *s, const char **end, uint64_t *out)
{
    char *e;
    if (!isdigit((unsigned char)*s)) return 0;
    *out = strtoull(s, &e, 10);
    int unit = toupper((unsigned char)*e);
    if (unit == 'K' || unit == 'M' || unit == 'G') {
        *out <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 30;
        e++;
        if (!strncasecmp(e, "iB", 2)) e += 2;
    }
    *end = e;
    return 1;
}

static size_t word_of(const char *p, char *out, size_t room, const char *stops)
{
    size_t n = strcspn(p, stops), m = n < room ? n : room - 1;
    memcpy(out, p, m);
    out[m] = 0;
    return n;
}

static int one_selector(parser *x, op_rule *r)
{
    char name[32], value[96];
    const char *at = x->p, *end;
    uint64_t v = 0;
    x->p += word_of(x->p, name, sizeof name, "<>= \t\n;");
    int op = *x->p == '<' ? '<' : *x->p == '>' ? '>' : '=';
    int known = 0;
    for (int i = 0; selectors[i]; i++) known |= !strcmp(selectors[i], name);
    if (!known) return fail(x, at, "unknown selector", nearest(name, selectors));
    if (!strchr("<>=", *x->p) || !*x->p) return fail(x, x->p, "a selector needs =VALUE", NULL);
    if (*x->p++ != '=' && *x->p == '=') {
        op = op == '<' ? 'l' : 'g';
        x->p++;
    }
    at = x->p;
    size_t n = word_of(x->p, value, sizeof value, " \t\n;");
    x->p += n;
    int text = !strcmp(name, "phase") || !strcmp(name, "kernel") || !strcmp(name, "site") ||
               !strcmp(name, "kind");
    if (!text && (!number(value, &end, &v) || *end))
        return fail(x, at,
                    *value == '-' ? "a negative number"
                                  : "expected a number, with KiB, MiB or GiB for sizes",
                    NULL);
    if (op != '=' && strcmp(name, "size") && !(op == 'g' && !strcmp(name, "nth")))
        return fail(x, at, "only size and nth are compared", NULL);
    if (!strcmp(name, "nth")) {
        if (!v) return fail(x, at, "nth counts from 1", NULL);
        r->nth = v;
        r->nth_at_least = op == 'g';
    } else if (!strcmp(name, "size"))
        r->size = v, r->size_op = op;
    else if (!strcmp(name, "skip"))
        r->skip = v;
    else if (!strcmp(name, "times"))
        r->times = v;
    else if (!strcmp(name, "budget"))
        r->budget = v, r->has_budget = 1;
    else if (!strcmp(name, "phase"))
        snprintf(r->phase, sizeof r->phase, "%.23s", value);
    else if (!strcmp(name, "kernel"))
        snprintf(r->kernel, sizeof r->kernel, "%.95s", value);
    else if (!strcmp(name, "site"))
        snprintf(r->site, sizeof r->site, "%.95s", value);
    else {
        static const char *const kinds[] = {"h2h", "h2d", "d2h", "d2d", 0};
        for (int i = 0; kinds[i]; i++)
            if (!strcmp(kinds[i], value)) r->kind = (op_kind)(i + 1);
        if (!r->kind) return fail(x, at, "unknown kind", nearest(value, kinds));
    }
    return 0;
}

/* Only changes that the library is bound to reject: a negative size, a leading dimension below its
 * minimum. */
static int shape(parser *x, op_rule *r, char *in, const char *at)
{
    char *eq = strchr(in, '=');
    static const char *const fields[] = {"m", "n", "k", "lda", "ldb", "ldc", 0};
    int known = 0;
    if (!eq) return fail(x, at, "shape needs a change like ldc=m-1", NULL);
    *eq = 0;
    for (int i = 0; fields[i]; i++) known |= !strcmp(fields[i], in);
    if (!known) return fail(x, at, "unknown argument of a product", nearest(in, fields));
    snprintf(r->field, sizeof r->field, "%.7s", in);
    char *v = eq + 1, *end;
    if (*v == 'm' || *v == 'n' || *v == 'k') snprintf(r->base, sizeof r->base, "%c", *v++);
    r->value = strtol(v, &end, 10);
    if (*end || (end == v && !*r->base))
        return fail(x, at, "a change is a number, or m, n, k and an offset", NULL);
    int rejected = !*r->base ? r->value < (in[0] == 'l' ? 1 : 0)
                             : !strcmp(in, "ldc") && !strcmp(r->base, "m") && r->value < 0;
    return rejected
               ? 0
               : fail(x, at, "the library might accept this change and read out of bounds", NULL);
}

static int poison(parser *x, op_rule *r, char *in, const char *at)
{
    char *save;
    r->arg = -1;
    r->count = 1;
    int first = 1;
    for (char *w = strtok_r(in, ", ", &save); w; w = strtok_r(NULL, ", ", &save), first = 0) {
        if (first && !strcmp(w, "nan"))
            r->infinite = 0;
        else if (first && !strcmp(w, "inf"))
            r->infinite = 1;
        else if (!strncmp(w, "arg=", 4))
            r->arg = atoi(w + 4);
        else if (!strncmp(w, "count=", 6))
            r->count = atoi(w + 6);
        else if (!strcmp(w, "type=f32"))
            r->f64 = 0;
        else if (!strcmp(w, "type=f64"))
            r->f64 = 1;
        else
            return fail(x, at, "poison(nan|inf, arg=N, type=f32|f64, count=N)", NULL);
    }
    return first || r->count < 1 ? fail(x, at, "poison(nan|inf, ...)", NULL) : 0;
}

static int one_fault(parser *x, op_rule *r)
{
    char name[32], inside[96] = "";
    const char *at = x->p;
    x->p += word_of(x->p, name, sizeof name, "( \t\n;#");
    if (*x->p == '(') {
        x->p++;
        x->p += word_of(x->p, inside, sizeof inside, ")\n");
        if (*x->p != ')') return fail(x, x->p, "expected )", NULL);
        x->p++;
    }
    if (!strcmp(name, "oom"))
        r->action = OP_OOM;
    else if (!strcmp(name, "shape")) {
        r->action = OP_SHAPE;
        return shape(x, r, inside, at);
    } else if (!strcmp(name, "poison")) {
        r->action = OP_POISON;
        return poison(x, r, inside, at);
    } else if (!strcmp(name, "status") || !strcmp(name, "error")) {
        char *end;
        r->action = OP_CODE;
        r->code = (int)strtol(inside, &end, 10);
        if (*inside && !*end && r->code > 0) return 0;
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
            if (!strcmp(codes[i].name, inside)) {
                r->code = codes[i].code;
                return 0;
            }
        const char *names[sizeof codes / sizeof *codes + 1] = {0};
        for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) names[i] = codes[i].name;
        return fail(x, at, "unknown error code (a number works too)", nearest(inside, names));
    } else
        return fail(x, at, "unknown fault", nearest(name, faults));
    return 0;
}

static void blanks(parser *x)
{
    while (*x->p == ' ' || *x->p == '\t' || *x->p == '\r') x->p++;
}

int op_parse(const char *text, op_rule *out, char *error, size_t error_bytes)
{
    parser x = {text, text, error, error_bytes};
    int n = 0;
    for (;;) {
        while (*x.p && strchr(" \t\r\n;", *x.p)) x.p++;
        if (*x.p == '#') {
            x.p += strcspn(x.p, "\n");
            continue;
        }
        if (!*x.p) return n;
        if (n == OP_MAX_RULES) return fail(&x, x.p, "too many rules", NULL);
        op_rule *r = &out[n];
        memset(r, 0, sizeof *r);
        const char *start = x.p;
        x.p += word_of(x.p, r->call, sizeof r->call, " \t\n;");
        if (strncmp(r->call, "cu", 2) && r->call[0] != '*' && r->call[0] != '_')
            return fail(&x, start,
                        "a rule begins with the name of a CUDA, cuBLAS or cuDNN call, or *", NULL);
        for (blanks(&x); strncmp(x.p, "->", 2); blanks(&x)) {
            if (!*x.p || *x.p == '\n' || *x.p == ';')
                return fail(&x, x.p, "expected -> FAULT", NULL);
            if (one_selector(&x, r)) return -1;
        }
        x.p += 2;
        blanks(&x);
        if (one_fault(&x, r)) return -1;
        blanks(&x);
        if (*x.p && !strchr("\n;#", *x.p))
            return fail(&x, x.p, "expected the end of the rule", NULL);
        snprintf(r->text, sizeof r->text, "%.*s", (int)(x.p - start), start);
        n++;
    }
}

static int selects(const op_rule *r, const op_call *c)
{
    static const char launch[] = "cudaLaunchKernel";
    int named = op_glob(r->call, c->name);
    if (!named) { /* aliases: all launch entries are one name, _v2 is not written */
        size_t n = strlen(c->name);
        char plain[64];
        if (strstr(c->name, "LaunchKernel"))
            named = op_glob(r->call, launch);
        else if (n > 3 && n < sizeof plain && !strcmp(c->name + n - 3, "_v2")) {
            memcpy(plain, c->name, n - 3);
            plain[n - 3] = 0;
            named = op_glob(r->call, plain);
        }
    }
    if (!named) return 0;
    if (r->kind && r->kind != c->kind) return 0;
    if (*r->phase && strcmp(r->phase, c->phase)) return 0;
    if (*r->site && !op_glob(r->site, c->site)) return 0;
    if (*r->kernel && !(c->kernel && op_glob(r->kernel, c->kernel))) return 0;
    if (r->has_budget && !(c->allocates && c->live + (c->size + 511) / 512 * 512 > r->budget))
        return 0;
    switch (r->size_op) {
    case '=': return c->size == r->size;
    case '<': return c->size < r->size;
    case '>': return c->size > r->size;
    case 'l': return c->size <= r->size;
    case 'g': return c->size >= r->size;
    default: return 1;
    }
}

int op_decide(op_rule *rules, int n, const op_call *call)
{
    int acts = -1;
    for (int i = 0; i < n; i++) {
        op_rule *r = &rules[i];
        if (!selects(r, call)) continue;
        uint64_t m = ++r->matched;
        if (acts >= 0 || m <= r->skip) continue;
        if (r->nth && (r->nth_at_least ? m < r->nth : m != r->nth)) continue;
        if (r->times && r->acted >= r->times) continue;
        r->acted++;
        acts = i;
    }
    return acts;
}
