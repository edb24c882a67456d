/* parse.c - the text of rules. What is wrong is said with its line and column, and the nearest
 * word that would be right. Nothing is cut short: a word that does not fit is an error. */
#include "parse.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int op_parse_fail(op_parser *x, const char *at, const char *what, const char *near)
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

/* ---- words and numbers ---- */
static const char *const selectors[] = {
    "nth",  "size",   "skip",   "times",  "budget", "phase",    "kernel",      "kind",
    "site", "thread", "stream", "device", "seed",   "interval", "probability", NULL};

int op_is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (!strcmp(word, *words)) return 1;
    return 0;
}

int op_parse_word(op_parser *x, char *out, size_t room, const char *stops)
{
    size_t n = strcspn(x->p, stops);
    for (size_t i = 0; i < n; i++) /* no space is needed before an arrow */
        if (x->p[i] == '-' && x->p[i + 1] == '>') n = i;
    if (n >= room) {
        char what[64];
        snprintf(what, sizeof what, "a word of more than %d characters", (int)room - 1);
        return op_parse_fail(x, x->p, what, NULL);
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

int op_small_number(const char *s, int *out)
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

/* 64MB, which may be meant as 64 million bytes, or as 64 MiB */
static int decimal_unit(const char *s)
{
    size_t n = strspn(s, "0123456789.");
    return n > 0 && s[n] && strchr("kKmMgGtT", s[n]) && toupper((unsigned char)s[n + 1]) == 'B' &&
           !s[n + 2];
}

static int value_of(op_parser *x, op_rule *r, const char *name, int op, const char *value,
                    const char *at)
{
    static const char *const kinds[] = {"h2h", "h2d", "d2h", "d2d", NULL};
    uint64_t v = 0;
    if (!strcmp(name, "phase") || !strcmp(name, "kernel") || !strcmp(name, "site")) {
        char *to = *name == 'p' ? r->phase : *name == 'k' ? r->kernel : r->site;
        size_t room = *name == 'p' ? sizeof r->phase : sizeof r->kernel;
        if (!*value) return op_parse_fail(x, at, "a selector needs =VALUE", NULL);
        if (strlen(value) >= room) return op_parse_fail(x, at, "a name too long to be one", NULL);
        strcpy(to, value);
        return 0;
    }
    if (!strcmp(name, "kind")) {
        for (int i = 0; kinds[i]; i++)
            if (!strcmp(kinds[i], value)) r->kind = (op_kind)(i + 1);
        return r->kind ? 0 : op_parse_fail(x, at, "unknown kind", op_nearest(value, kinds));
    }
    if (!strcmp(name, "probability")) {
        r->has_probability = 1;
        return percent(value, &r->probability)
                   ? 0
                   : op_parse_fail(x, at, "a probability is from 0% to 100%, with its %", NULL);
    }
    if (!op_number(value, &v) && decimal_unit(value)) {
        char what[120];
        snprintf(what, sizeof what, "%.40s: sizes are in KiB, MiB, GiB and TiB, as %.*s%ciB", value,
                 (int)strlen(value) - 2, value, toupper((unsigned char)value[strlen(value) - 2]));
        return op_parse_fail(x, at, what, NULL);
    }
    if (!op_number(value, &v))
        return op_parse_fail(x, at,
                             *value == '-' ? "a negative number"
                             : isdigit((unsigned char)*value)
                                 ? "not a number of 64 bits, with KiB, MiB, GiB "
                                   "or TiB for sizes"
                                 : "expected a number, with KiB, MiB, GiB or "
                                   "TiB for sizes",
                             NULL);
    if (!strcmp(name, "nth")) {
        if (!v) return op_parse_fail(x, at, "nth counts from 1", NULL);
        r->nth = v;
        r->nth_at_least = op == 'g';
    } else if (!strcmp(name, "size"))
        r->size = v, r->size_op = op;
    else if (!strcmp(name, "skip"))
        r->skip = v;
    else if (!strcmp(name, "times")) {
        if (!v) return op_parse_fail(x, at, "a rule that may act 0 times never acts", NULL);
        r->times = v;
    } else if (!strcmp(name, "budget"))
        r->budget = v, r->has_budget = 1;
    else if (!strcmp(name, "seed"))
        r->seed = v, r->seed_said = 1;
    else if (!strcmp(name, "interval")) {
        if (!v) return op_parse_fail(x, at, "an interval is at least 1", NULL);
        r->interval = v;
    } else {
        int *to = !strcmp(name, "thread")   ? &r->thread
                  : !strcmp(name, "stream") ? &r->stream
                                            : &r->device;
        if (!op_small_number(value, to))
            return op_parse_fail(x, at, "threads and streams are numbered from 0 by first use",
                                 NULL);
    }
    return 0;
}

static int one_selector(op_parser *x, op_rule *r)
{
    char name[24], value[128];
    const char *at = x->p;
    if (op_parse_word(x, name, sizeof name, "<>= \t\n;")) return -1;
    if (!op_is_one_of(name, selectors) && !strchr(name, '=') &&
        (*r->site || *r->phase || *r->kernel) && (!*x->p || isspace((unsigned char)*x->p)))
        return op_parse_fail(
            x, at,
            "a name ends at a space, and there are no quotes: in site= and kernel= a ? stands "
            "for the space",
            NULL);
    if (!op_is_one_of(name, selectors))
        return op_parse_fail(x, at, "unknown selector", op_nearest(name, selectors));
    for (int i = 0; selectors[i]; i++)
        if (!strcmp(name, selectors[i])) {
            if (r->said >> i & 1)
                return op_parse_fail(x, at, "this selector was there before", NULL);
            r->said |= 1u << i;
        }
    int op = *x->p == '<' ? '<' : *x->p == '>' ? '>' : '=';
    if (!*x->p || !strchr("<>=", *x->p))
        return op_parse_fail(x, x->p, "a selector needs =VALUE", NULL);
    if (*x->p++ != '=' && *x->p == '=') {
        op = op == '<' ? 'l' : 'g';
        x->p++;
    }
    if (op != '=' && strcmp(name, "size") && !(op == 'g' && !strcmp(name, "nth")))
        return op_parse_fail(x, at,
                             strcmp(name, "nth") ? "only size and nth are compared"
                                                 : "nth is compared by = and >= only, as nth>=4",
                             NULL);
    at = x->p;
    return op_parse_word(x, value, sizeof value, " \t\n;") ? -1
                                                           : value_of(x, r, name, op, value, at);
}

/* ---- a rule ---- */
static void blanks(op_parser *x)
{
    while (*x->p == ' ' || *x->p == '\t' || *x->p == '\r') x->p++;
}

/* NAME_v2 is what programs call NAME. */
static int is_versioned(const char *name, const char *call)
{
    size_t n = strlen(call);
    return !strncasecmp(name, call, n) && !strncmp(name + n, "_v", 2);
}

static int reachable(op_parser *x, op_rule *r, const char *start)
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
        if (!strcmp(lacking, of[i][0])) return op_parse_fail(x, start, of[i][1], NULL);
    for (int i = 0; i < OP_CALLS; i++)
        if (op_named(r->call, &op_table[i]))
            return op_parse_fail(x, start,
                                 r->action == OP_OOM    ? "this call cannot run out of memory"
                                 : r->action == OP_CODE ? code_of[r->code_lib]
                                 : r->action == OP_SHAPE
                                     ? "this call has no such dimension"
                                     : "this call has no result to poison (of a launch, "
                                       "say which: arg=N)",
                                 NULL);
    for (const char *const *name = op_others; *name; name++)
        if (!strcasecmp(*name, r->call) || is_versioned(*name, r->call))
            return op_parse_fail(
                x, start,
                "this function is not intercepted as a fault point (`oomproof calls` lists "
                "those that are)",
                NULL);
    if (strchr(r->call, '=') || !*r->call || *r->call == '-')
        return op_parse_fail(x, start, "a rule begins with the name of a call, or * for any", NULL);
    return op_parse_fail(x, start, "no intercepted call has this name", op_nearest_call(r->call));
}

/* Selectors that leave nothing to act on. */
static const char *never(const op_rule *r)
{
    if (r->size_op == '<' && !r->size) return "size<0: no call has less than 0 bytes";
    if (r->seed_said && !r->has_probability)
        return "seed= is for probability=, which this rule has not: each call acts, or none does";
    if (r->nth && !r->nth_at_least && r->nth <= r->skip)
        return "the call that nth= means is one that skip= lets pass";
    if (r->nth && !r->nth_at_least && r->interval && (r->nth - r->skip) % r->interval)
        return "the call that nth= means is none that interval= means";
    return NULL;
}

static int one_rule(op_parser *x, op_rule *r)
{
    const char *start = x->p;
    memset(r, 0, sizeof *r);
    r->thread = r->stream = r->device = r->arg = r->code_lib = -1;
    if (op_parse_word(x, r->call, sizeof r->call, " \t\r\n;")) return -1;
    for (blanks(x); strncmp(x->p, "->", 2); blanks(x)) {
        static const char *const arrows[] = {"=>", "-->", "->>", "=", "-", ">", "\xe2", ":"};
        if (!*x->p || *x->p == '\n' || *x->p == ';')
            return op_parse_fail(x, x->p, "expected -> FAULT", NULL);
        for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
            if (!strncmp(x->p, arrows[i], strlen(arrows[i])))
                return op_parse_fail(
                    x, x->p, "expected -> before the fault, as in `cudaMalloc nth=3 -> oom`", NULL);
        if (one_selector(x, r)) return -1;
    }
    x->p += 2;
    blanks(x);
    if (op_parse_fault(x, r)) return -1;
    size_t n = (size_t)(x->p - start);
    blanks(x);
    if (*x->p && !strchr("\n;#", *x->p))
        return op_parse_fail(x, x->p, "expected the end of the rule", NULL);
    if (n >= sizeof r->text)
        return op_parse_fail(x, start, "a rule of more than 255 characters", NULL);
    memcpy(r->text, start, n);
    if (never(r)) return op_parse_fail(x, start, never(r), NULL);
    return reachable(x, r, start);
}

_Static_assert(OP_MAX_RULES == 32, "the message below says so");
int op_parse(const char *text, op_rule *out, char *error, size_t error_bytes)
{
    if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3; /* of an editor: a mark of byte order */
    op_parser x = {text, text, error, error_bytes};
    for (int n = 0;; n++) {
        while (*x.p && strchr(" \t\r\n;#", *x.p)) x.p += *x.p == '#' ? strcspn(x.p, "\n") : 1;
        if (!*x.p) return n;
        if (n == OP_MAX_RULES) return op_parse_fail(&x, x.p, "there may be 32 rules", NULL);
        if (one_rule(&x, &out[n])) return -1;
    }
}
