/* parse.c - the text of rules. What is wrong is said with its line and column, and the nearest
 * word that would be right. Nothing is cut short: a word that does not fit is an error. */
#include "rules.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- the nearest word ---- */
/* Levenshtein distance; 99 for words too long to be meant */
static int distance(const char *a, const char *b)
{
    int row[96], n = (int)strlen(b);
    if (n > 90 || strlen(a) > 90) return 99;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 1; *a; a++, i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int up = row[j];
            int best = diagonal + (tolower((unsigned char)*a) != tolower((unsigned char)b[j - 1]));
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[n];
}

typedef struct nearest {
    const char *word, *best;
    int least;
} nearest;

static void consider(nearest *n, const char *candidate)
{
    size_t k = strlen(n->word); /* the beginning of a word is nearer than any other */
    int begins = k >= 3 && !strncasecmp(n->word, candidate, k);
    int d = begins ? 0 : distance(n->word, candidate);
    if (d < n->least) n->least = d, n->best = candidate;
}

const char *op_nearest(const char *word, const char *const *words)
{
    nearest n = {word, NULL, 99};
    for (; *words; words++) consider(&n, *words);
    return n.best;
}

const char *op_nearest_call(const char *word)
{
    nearest n = {word, NULL, 99};
    for (int i = 0; i < OP_CALLS; i++) consider(&n, op_table[i].name);
    return n.best;
}

static const char *nearest_code(const char *word)
{
    nearest n = {word, NULL, 99};
    for (const op_code *c = op_codes; c->name; c++) consider(&n, c->name);
    return n.best;
}

/* ---- words and numbers ---- */
static const char *const selectors[] = {
    "nth",  "size",   "skip",   "times",  "budget", "phase",    "kernel",      "kind",
    "site", "thread", "stream", "device", "seed",   "interval", "probability", NULL};
static const char *const faults[] = {"oom",   "status", "error", "shape", "poison",
                                     "delay", "hang",   "crash", NULL};

static int is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words)) return 1;
    return 0;
}

/* The word up to one of `stops`, or to an arrow; -1 and a message when it is longer than there is
 * room for. */
static int take(parser *x, char *out, size_t room, const char *stops)
{
    size_t n = strcspn(x->p, stops);
    for (size_t i = 0; i < n; i++) /* no space is needed before an arrow */
        if (x->p[i] == '-' && x->p[i + 1] == '>') n = i;
    if (n >= room) {
        char what[64];
        snprintf(what, sizeof what, "a word of more than %d characters", (int)room - 1);
        return fail(x, x->p, what, NULL);
    }
    memcpy(out, x->p, n);
    out[n] = 0;
    x->p += n;
    return 0;
}

int op_number(const char *s, uint64_t *out)
{
    char *e;
    int shift = 0, digits = 0;
    uint64_t fraction = 0, unit = 1; /* of a size, as 23.65GiB: fraction / unit */
    if (!isdigit((unsigned char)*s)) return 0;
    errno = 0;
    *out = strtoull(s, &e, 10);
    if (errno) return 0;
    if (*e == '.' && isdigit((unsigned char)e[1]))
        for (e++; isdigit((unsigned char)*e); e++)
            if (digits++ < 6) fraction = 10 * fraction + (uint64_t)(*e - '0'), unit *= 10;
    switch (toupper((unsigned char)*e)) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    case 'T': shift = 40; break;
    }
    if (shift) e += strncasecmp(e + 1, "iB", 2) ? 1 : 3;
    if (*e || (*out << shift) >> shift != *out || (digits && !shift)) return 0;
    fraction = (fraction << shift) / unit; /* below 10^6 * 2^40 */
    if (*out << shift > UINT64_MAX - fraction) return 0;
    *out = (*out << shift) + fraction;
    return 1;
}

static int small_number(const char *s, int *out)
{
    uint64_t v;
    if (!op_number(s, &v) || v > 1 << 20) return 0;
    *out = (int)v;
    return 1;
}

/* ---- selectors ---- */
static int percent(const char *s, double *out)
{
    char *e;
    *out = strtod(s, &e) / 100;
    return e != s && !strcmp(e, "%") && *out >= 0 && *out <= 1;
}

static int value_of(parser *x, op_rule *r, const char *name, int op, const char *value,
                    const char *at)
{
    static const char *const kinds[] = {"h2h", "h2d", "d2h", "d2d", NULL};
    uint64_t v = 0;
    if (!strcmp(name, "phase") || !strcmp(name, "kernel") || !strcmp(name, "site")) {
        char *to = *name == 'p' ? r->phase : *name == 'k' ? r->kernel : r->site;
        size_t room = *name == 'p' ? sizeof r->phase : sizeof r->kernel;
        if (!*value) return fail(x, at, "a selector needs =VALUE", NULL);
        if (strlen(value) >= room) return fail(x, at, "a name too long to be one", NULL);
        strcpy(to, value);
        return 0;
    }
    if (!strcmp(name, "kind")) {
        for (int i = 0; kinds[i]; i++)
            if (!strcmp(kinds[i], value)) r->kind = (op_kind)(i + 1);
        return r->kind ? 0 : fail(x, at, "unknown kind", op_nearest(value, kinds));
    }
    if (!strcmp(name, "probability")) {
        r->has_probability = 1;
        return percent(value, &r->probability)
                   ? 0
                   : fail(x, at, "a probability is from 0% to 100%, with its %", NULL);
    }
    if (!op_number(value, &v))
        return fail(x, at,
                    *value == '-' ? "a negative number"
                    : isdigit((unsigned char)*value)
                        ? "not a number of 64 bits, with KiB, MiB, GiB "
                          "or TiB for sizes"
                        : "expected a number, with KiB, MiB, GiB or "
                          "TiB for sizes",
                    NULL);
    if (!strcmp(name, "nth")) {
        if (!v) return fail(x, at, "nth counts from 1", NULL);
        r->nth = v;
        r->nth_at_least = op == 'g';
    } else if (!strcmp(name, "size"))
        r->size = v, r->size_op = op;
    else if (!strcmp(name, "skip"))
        r->skip = v;
    else if (!strcmp(name, "times")) {
        if (!v) return fail(x, at, "a rule that may act 0 times never acts", NULL);
        r->times = v;
    } else if (!strcmp(name, "budget"))
        r->budget = v, r->has_budget = 1;
    else if (!strcmp(name, "seed"))
        r->seed = v;
    else if (!strcmp(name, "interval")) {
        if (!v) return fail(x, at, "an interval is at least 1", NULL);
        r->interval = v;
    } else {
        int *to = !strcmp(name, "thread")   ? &r->thread
                  : !strcmp(name, "stream") ? &r->stream
                                            : &r->device;
        if (!small_number(value, to))
            return fail(x, at, "threads and streams are numbered from 0 by first use", NULL);
    }
    return 0;
}

static int one_selector(parser *x, op_rule *r)
{
    char name[24], value[128];
    const char *at = x->p;
    if (take(x, name, sizeof name, "<>= \t\n;")) return -1;
    if (!is_one_of(name, selectors))
        return fail(x, at, "unknown selector", op_nearest(name, selectors));
    for (int i = 0; selectors[i]; i++)
        if (!strcmp(name, selectors[i])) {
            if (r->said >> i & 1) return fail(x, at, "this selector was there before", NULL);
            r->said |= 1u << i;
        }
    int op = *x->p == '<' ? '<' : *x->p == '>' ? '>' : '=';
    if (!*x->p || !strchr("<>=", *x->p)) return fail(x, x->p, "a selector needs =VALUE", NULL);
    if (*x->p++ != '=' && *x->p == '=') {
        op = op == '<' ? 'l' : 'g';
        x->p++;
    }
    if (op != '=' && strcmp(name, "size") && !(op == 'g' && !strcmp(name, "nth")))
        return fail(x, at,
                    strcmp(name, "nth") ? "only size and nth are compared"
                                        : "nth is compared by = and >= only, as nth>=4",
                    NULL);
    at = x->p;
    return take(x, value, sizeof value, " \t\n;") ? -1 : value_of(x, r, name, op, value, at);
}

/* ---- faults ---- */
/* Only changes that the library is bound to reject: a negative size, a leading dimension below its
 * minimum. */
static int shape(parser *x, op_rule *r, char *in, const char *at)
{
    static const char *const fields[] = {"m", "n", "k", "lda", "ldb", "ldc", "c", "h", "w", NULL};
    char *eq = strchr(in, '='), *end;
    if (!eq) return fail(x, at, "shape needs a change like ldc=m-1 or n=-1", NULL);
    *eq = 0;
    if (!is_one_of(in, fields)) return fail(x, at, "unknown dimension", op_nearest(in, fields));
    strcpy(r->field, in);
    char *v = eq + 1;
    if (*v && strchr("mnk", *v)) r->base[0] = *v++;
    r->value = strtol(v, &end, 10);
    if (*end || (end == v && !*r->base) || r->value > 1 << 20 || r->value < -(1 << 20))
        return fail(x, at, "a change is a number within a million, or m, n, k and an offset", NULL);
    int rejected = !*r->base ? r->value < (in[0] == 'l' ? 1 : 0)
                             : !strcmp(in, "ldc") && !strcmp(r->base, "m") && r->value < 0;
    return rejected
               ? 0
               : fail(x, at, "the library might accept this change and read out of bounds", NULL);
}

static int poison(parser *x, op_rule *r, char *in, const char *at)
{
    static const char form[] = "expected poison(nan|inf, arg=N, type=f32|f64, count=N)";
    static const char *const values[] = {"nan", "inf", NULL};
    static const char *const more[] = {"arg=N", "type=f32", "type=f64", "count=N", NULL};
    char *save, *w = strtok_r(in, ", ", &save);
    r->count = 1;
    if (!w || !is_one_of(w, values)) return fail(x, at, form, w ? op_nearest(w, values) : NULL);
    r->infinite = *w == 'i';
    while ((w = strtok_r(NULL, ", ", &save)))
        if (!strcmp(w, "type=f32") || !strcmp(w, "type=f64"))
            r->f64 = w[6] == '6' ? 1 : -1;
        else if (!(!strncmp(w, "arg=", 4) && small_number(w + 4, &r->arg)) &&
                 !(!strncmp(w, "count=", 6) && small_number(w + 6, &r->count) && r->count))
            return fail(x, at, form, op_nearest(w, more));
    return 0;
}

static int code(parser *x, op_rule *r, const char *in, const char *at)
{
    int n;
    if (!*in || *in == '-')
        return fail(x, at, "expected a code: a name like cudaErrorMemoryAllocation, or its number",
                    NULL);
    if (small_number(in, &n) && n == 0) return fail(x, at, "0 is success, which is no fault", NULL);
    if (small_number(in, &n)) {
        r->code = n;
        r->code_lib = -1;
        return 0;
    }
    for (const op_code *c = op_codes; c->name; c++)
        if (!strcmp(c->name, in)) {
            if (!c->code) return fail(x, at, "success is not an error", NULL);
            r->code = c->code;
            r->code_lib = (int)c->lib;
            return 0;
        }
    return fail(x, at, "unknown error code (a number works too)", nearest_code(in));
}

static int one_fault(parser *x, op_rule *r)
{
    char name[24], inside[128] = "";
    const char *at = x->p;
    if (take(x, name, sizeof name, "( \t\r\n;#")) return -1;
    int arguments = *x->p == '(';
    if (arguments) {
        x->p++;
        if (take(x, inside, sizeof inside, ")\n")) return -1;
        if (*x->p != ')') return fail(x, x->p, "expected )", NULL);
        x->p++;
    }
    if (!is_one_of(name, faults)) return fail(x, at, "unknown fault", op_nearest(name, faults));
    if (!strcmp(name, "oom") || !strcmp(name, "hang") || !strcmp(name, "crash")) {
        r->action = *name == 'o' ? OP_OOM : *name == 'h' ? OP_HANG : OP_CRASH;
        return arguments ? fail(x, at, "this fault has no arguments", NULL) : 0;
    }
    if (!strcmp(name, "shape")) {
        r->action = OP_SHAPE;
        return shape(x, r, inside, at);
    }
    if (!strcmp(name, "poison")) {
        r->action = OP_POISON;
        return poison(x, r, inside, at);
    }
    if (!strcmp(name, "delay")) {
        int ms;
        r->action = OP_DELAY;
        if (!small_number(inside, &ms)) return fail(x, at, "expected delay(MILLISECONDS)", NULL);
        r->value = ms;
        return 0;
    }
    r->action = OP_CODE;
    r->stays = *name == 'e';
    return code(x, r, inside, at);
}

/* ---- a rule ---- */
static void blanks(parser *x)
{
    while (*x->p == ' ' || *x->p == '\t' || *x->p == '\r') x->p++;
}

/* NAME_v2 is what programs call NAME. */
static int is_versioned(const char *name, const char *call)
{
    size_t n = strlen(call);
    return !strncasecmp(name, call, n) && !strncmp(name + n, "_v", 2);
}

static int reachable(parser *x, op_rule *r, const char *start)
{
    static const char *const of[][2] = {
        {"kind", "kind= selects copies (cudaMemcpy*), which this call is not"},
        {"kernel", "kernel= selects launches (cudaLaunchKernel), which this call is not"},
        {"size", "size selects calls that are given bytes (allocations, copies, sets), which this "
                 "call is not"},
        {"stream", "stream= selects calls of the runtime that are given a stream, which this call "
                   "is not"},
        {"budget", "budget= selects allocations of device memory, which this call is not"}};
    static const char *const code_of[] = {
        "a code of the CUDA runtime, which this call cannot return",
        "a code of cuBLAS, which this call cannot return",
        "a code of cuDNN, which this call cannot return",
        "a code of the CUDA driver, which this call cannot return"};
    if (op_fit(r)) return 0;
    const char *lacking = op_lacking(r);
    for (size_t i = 0; lacking && i < sizeof of / sizeof *of; i++)
        if (!strcmp(lacking, of[i][0])) return fail(x, start, of[i][1], NULL);
    for (int i = 0; i < OP_CALLS; i++)
        if (op_named(r->call, &op_table[i]))
            return fail(x, start,
                        r->action == OP_OOM     ? "this call cannot run out of memory"
                        : r->action == OP_CODE  ? code_of[r->code_lib]
                        : r->action == OP_SHAPE ? "this call has no such dimension"
                                                : "this call has no result to poison (of a launch, "
                                                  "say which: arg=N)",
                        NULL);
    for (const char *const *name = op_others; *name; name++)
        if (!strcasecmp(*name, r->call) || is_versioned(*name, r->call))
            return fail(x, start,
                        "this function is not intercepted as a fault point (`oomproof calls` lists "
                        "those that are)",
                        NULL);
    if (strchr(r->call, '=') || !*r->call || *r->call == '-')
        return fail(x, start, "a rule begins with the name of a call, or * for any", NULL);
    return fail(x, start, "no intercepted call has this name", op_nearest_call(r->call));
}

/* Selectors that leave nothing to act on. */
static const char *never(const op_rule *r)
{
    if (r->size_op == '<' && !r->size) return "size<0: no call has less than 0 bytes";
    if (r->nth && !r->nth_at_least && r->nth <= r->skip)
        return "the call that nth= means is one that skip= lets pass";
    if (r->nth && !r->nth_at_least && r->interval && (r->nth - r->skip) % r->interval)
        return "the call that nth= means is none that interval= means";
    return NULL;
}

static int one_rule(parser *x, op_rule *r)
{
    const char *start = x->p;
    memset(r, 0, sizeof *r);
    r->thread = r->stream = r->device = r->arg = r->code_lib = -1;
    if (take(x, r->call, sizeof r->call, " \t\r\n;")) return -1;
    for (blanks(x); strncmp(x->p, "->", 2); blanks(x)) {
        static const char *const arrows[] = {"=>", "-->", "->>", "=", "-", ">", "\xe2", ":"};
        if (!*x->p || *x->p == '\n' || *x->p == ';')
            return fail(x, x->p, "expected -> FAULT", NULL);
        for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
            if (!strncmp(x->p, arrows[i], strlen(arrows[i])))
                return fail(x, x->p,
                            "expected -> before the fault, as in `cudaMalloc nth=3 -> oom`", NULL);
        if (one_selector(x, r)) return -1;
    }
    x->p += 2;
    blanks(x);
    if (one_fault(x, r)) return -1;
    size_t n = (size_t)(x->p - start);
    blanks(x);
    if (*x->p && !strchr("\n;#", *x->p)) return fail(x, x->p, "expected the end of the rule", NULL);
    if (n >= sizeof r->text) return fail(x, start, "a rule of more than 255 characters", NULL);
    memcpy(r->text, start, n);
    if (never(r)) return fail(x, start, never(r), NULL);
    return reachable(x, r, start);
}

_Static_assert(OP_MAX_RULES == 32, "the message below says so");
int op_parse(const char *text, op_rule *out, char *error, size_t error_bytes)
{
    if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3; /* of an editor: a mark of byte order */
    parser x = {text, text, error, error_bytes};
    for (int n = 0;; n++) {
        while (*x.p && strchr(" \t\r\n;#", *x.p)) x.p += *x.p == '#' ? strcspn(x.p, "\n") : 1;
        if (!*x.p) return n;
        if (n == OP_MAX_RULES) return fail(&x, x.p, "there may be 32 rules", NULL);
        if (one_rule(&x, &out[n])) return -1;
    }
}
