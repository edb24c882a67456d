/* faults.c - the text of a rule's fault, behind the arrow. */
#include "parse.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const faults[] = {"oom",   "status", "error", "shape", "poison",
                                     "delay", "hang",   "crash", NULL};

/* Only changes that the library is bound to reject: a negative size, a leading dimension below its
 * minimum. */
static int shape(op_parser *x, op_rule *r, char *in, const char *at)
{
    static const char *const fields[] = {"m", "n", "k", "lda", "ldb", "ldc", "c", "h", "w", NULL};
    char *eq = strchr(in, '='), *end;
    if (!eq) return op_parse_fail(x, at, "shape needs a change like ldc=m-1 or n=-1", NULL);
    *eq = 0;
    if (!op_is_one_of(in, fields))
        return op_parse_fail(x, at, "unknown dimension", op_nearest(in, fields));
    strcpy(r->field, in);
    char *v = eq + 1;
    if (*v && strchr("mnk", *v)) r->base[0] = *v++;
    r->value = strtol(v, &end, 10);
    if (*end || (end == v && !*r->base) || r->value > 1 << 20 || r->value < -(1 << 20))
        return op_parse_fail(
            x, at, "a change is a number within a million, or m, n, k and an offset", NULL);
    int rejected = !*r->base ? r->value < (in[0] == 'l' ? 1 : 0)
                             : !strcmp(in, "ldc") && !strcmp(r->base, "m") && r->value < 0;
    return rejected
               ? 0
               : op_parse_fail(x, at, "the library might accept this change and read out of bounds",
                               NULL);
}

static int poison(op_parser *x, op_rule *r, char *in, const char *at)
{
    static const char form[] = "expected poison(nan|inf, arg=N, type=f32|f64, count=N)";
    static const char *const values[] = {"nan", "inf", NULL};
    static const char *const more[] = {"arg=N", "type=f32", "type=f64", "count=N", NULL};
    char *save, *w = strtok_r(in, ", ", &save);
    r->count = 1;
    if (!w || !op_is_one_of(w, values))
        return op_parse_fail(x, at, form, w ? op_nearest(w, values) : NULL);
    r->infinite = *w == 'i';
    while ((w = strtok_r(NULL, ", ", &save)))
        if (!strcmp(w, "type=f32") || !strcmp(w, "type=f64"))
            r->f64 = w[6] == '6' ? 1 : -1;
        else if (!(!strncmp(w, "arg=", 4) && op_small_number(w + 4, &r->arg)) &&
                 !(!strncmp(w, "count=", 6) && op_small_number(w + 6, &r->count) && r->count))
            return op_parse_fail(x, at, form, op_nearest(w, more));
    return 0;
}

static int code(op_parser *x, op_rule *r, const char *in, const char *at)
{
    int n;
    if (!*in || *in == '-')
        return op_parse_fail(
            x, at, "expected a code: a name like cudaErrorMemoryAllocation, or its number", NULL);
    if (op_small_number(in, &n) && n == 0)
        return op_parse_fail(x, at, "0 is success, which is no fault", NULL);
    if (op_small_number(in, &n)) {
        r->code = n;
        r->code_lib = -1;
        return 0;
    }
    for (const op_code *c = op_codes; c->name; c++)
        if (!strcmp(c->name, in)) {
            if (!c->code) return op_parse_fail(x, at, "success is not an error", NULL);
            r->code = c->code;
            r->code_lib = (int)c->lib;
            return 0;
        }
    return op_parse_fail(
        x, at, "unknown error code (a number works too; `oomproof calls` lists those of a call)",
        op_nearest_code(in));
}

/* What is often written for a fault, and what it is called here. */
static const char *other_name(const char *name)
{
    static const char *const known[][2] = {
        {"sticky", "an error that stays until the process ends: error(cudaErrorIllegalAddress)"},
        {"stick", "an error that stays until the process ends: error(cudaErrorIllegalAddress)"},
        {"nan", "a result that becomes NaN: poison(nan)"},
        {"inf", "a result that becomes infinite: poison(inf)"},
        {"fail", "a failure: oom, or a code as status(cudaErrorInvalidValue)"},
        {"code", "a code: status(NAME|number), or error(NAME|number), which stays"},
        {"return", "a code: status(NAME|number), or error(NAME|number), which stays"},
        {"sleep", "a delay: delay(MILLISECONDS)"},
        {"abort", "the end of the process by a signal: crash"},
        {"kill", "the end of the process by a signal: crash"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(name, known[i][0])) return known[i][1];
    return NULL;
}

static int unknown_fault(op_parser *x, char *name, const char *at)
{
    char what[160];
    char *eq = strchr(name, '=');
    if (eq) *eq = 0;
    if (eq && op_is_one_of(name, faults)) {
        snprintf(what, sizeof what, "a fault's argument is in parentheses: %s(%.40s)", name,
                 eq + 1);
        return op_parse_fail(x, at, what, NULL);
    }
    if (other_name(name)) {
        snprintf(what, sizeof what, "no fault has this name; %s", other_name(name));
        return op_parse_fail(x, at, what, NULL);
    }
    const char *near = op_nearest(name, faults);
    return op_parse_fail(
        x, at,
        near ? "unknown fault"
             : "unknown fault; there are oom, status(CODE), error(CODE), shape(...), "
               "poison(...), delay(MS), hang and crash",
        near);
}

int op_parse_fault(op_parser *x, op_rule *r)
{
    char name[64], inside[128] = "";
    const char *at = x->p;
    if (op_parse_word(x, name, sizeof name, "( \t\r\n;#")) return -1;
    int arguments = *x->p == '(';
    if (arguments) {
        x->p++;
        if (op_parse_word(x, inside, sizeof inside, ")\n")) return -1;
        if (*x->p != ')') return op_parse_fail(x, x->p, "expected )", NULL);
        x->p++;
    }
    if (!op_is_one_of(name, faults)) return unknown_fault(x, name, at);
    if (!strcmp(name, "oom") || !strcmp(name, "hang") || !strcmp(name, "crash")) {
        r->action = *name == 'o' ? OP_OOM : *name == 'h' ? OP_HANG : OP_CRASH;
        return arguments ? op_parse_fail(x, at, "this fault has no arguments", NULL) : 0;
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
        if (!op_small_number(inside, &ms))
            return op_parse_fail(x, at, "expected delay(MILLISECONDS)", NULL);
        r->value = ms;
        return 0;
    }
    r->action = OP_CODE;
    r->stays = *name == 'e';
    return code(x, r, inside, at);
}
