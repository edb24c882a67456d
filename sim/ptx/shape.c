/* shape.c - what the threads of a strip have in common. All of them are at the same instruction at
 * any time (where they would part, the strip ends), so a register that is computed from what is the
 * same in all of them is the same in all: no look at the flow of control is needed. */
#include "strip.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

lane_reg *strip_reg(const strip *v, const char *name)
{
    size_t stem = strlen(name);
    while (stem && isdigit((unsigned char)name[stem - 1])) stem--;
    long number = strtol(name + stem, NULL, 10);
    for (int i = 0, first = 0; i < v->f->nbody; i++) {
        const stmt *s = &v->f->body[i];
        if (s->kind != S_REG) {
            if (i > v->declared) break;
            continue;
        }
        if (s->count < 0 ? !strcmp(s->name, name)
                         : name[stem] && number < s->count && strlen(s->name) == stem &&
                               !strncmp(s->name, name, stem))
            return &v->reg[first + (s->count < 0 ? 0 : number)];
        first += s->count < 0 ? 1 : s->count;
    }
    return NULL;
}

/* The next register named in an operand, from *at on; NULL: no more. */
static lane_reg *next_reg(const strip *v, const char **at)
{
    char name[128];
    while (**at) {
        size_t n = 0;
        while (isalnum((unsigned char)(*at)[n]) || ((*at)[n] && strchr("_$%.", (*at)[n]))) n++;
        if (!n) {
            (*at)++;
            continue;
        }
        const char *word = *at;
        *at += n;
        if (n >= sizeof name) continue;
        memcpy(name, word, n);
        name[n] = 0;
        lane_reg *r = strip_reg(v, name);
        if (r) return r;
    }
    return NULL;
}

shape strip_shape(const strip *v, const char *operand, int64_t *stride)
{
    const char *at = operand;
    shape most = EVEN;
    *stride = 0;
    if (!strcmp(operand, "%tid.x")) {
        *stride = 1;
        return RAMP;
    }
    if (strstr(operand, "%tid.x")) return APART; /* among others, in braces */
    int alone = !strpbrk(operand, "{|,!");
    for (lane_reg *r; (r = next_reg(v, &at));) {
        if (r->shape == RAMP && !alone) return APART;
        if (r->shape > most) {
            most = r->shape;
            *stride = r->stride;
        }
    }
    return most;
}

int strip_extends(const stmt *s, int *sign)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "";
    *sign = t[0] == 's';
    if (!strcmp(s->op, "mul") && has(s, "wide") && bits_of(t) == 32) return 32;
    if (!strcmp(s->op, "cvt") && s->nmod == 2 && !is_float(t) && bits_of(t) == 32 &&
        !is_float(s->mod[0]) && bits_of(s->mod[0]) == 64)
        return 32;
    return 0;
}

static int literal(const char *o, int64_t *value)
{
    char *end;
    *value = (int64_t)strtoull(o, &end, 0);
    return end != o && (!*end || !strcmp(end, "U")) && strncmp(o, "0f", 2) && strncmp(o, "0d", 2);
}

/* Registers of 32 and 64 bits whose instruction works on all of them. */
static int whole(const strip *v, const stmt *s, const char *type, int bits)
{
    const lane_reg *r = s->narg ? strip_reg(v, s->arg[0]) : NULL;
    return r && !is_float(r->type) && bits_of(r->type) == bits && bits >= 32 && !is_float(type);
}

/* The ramp that comes of ramps, or 0. */
static int ramp(const strip *v, const stmt *s, int64_t *stride)
{
    const char *t = s->nmod ? s->mod[s->nmod - 1] : "";
    int64_t by[3] = {0, 0, 0}, k = 0;
    int sign;
    for (int i = 1; i < s->narg && i < 4; i++)
        if (strip_shape(v, s->arg[i], &by[i - 1]) > RAMP) return 0;
    *stride = 0;
    if (has(s, "cc") || has(s, "sat")) return 0;
    int same = whole(v, s, t, bits_of(t)), wider = strip_extends(s, &sign) && whole(v, s, t, 64);
    if ((!strcmp(s->op, "mov") || !strcmp(s->op, "cvta")) && same)
        *stride = by[0];
    else if (!strcmp(s->op, "add") && same)
        *stride = by[0] + by[1];
    else if (!strcmp(s->op, "sub") && same)
        *stride = by[0] - by[1];
    else if (!strcmp(s->op, "shl") && same && literal(s->arg[2], &k) && k >= 0 && k < 32)
        *stride = (int64_t)((uint64_t)by[0] << k);
    else if (!strcmp(s->op, "mul") && has(s, "lo") && same && literal(s->arg[2], &k))
        *stride = (int64_t)((uint64_t)by[0] * (uint64_t)k);
    else if (!strcmp(s->op, "mad") && has(s, "lo") && same && !by[0] && !by[1])
        *stride = by[2];
    else if (!strcmp(s->op, "mad") && has(s, "lo") && same && literal(s->arg[2], &k))
        *stride = (int64_t)((uint64_t)by[0] * (uint64_t)k) + by[2];
    else if (wider && !strcmp(s->op, "mul") && literal(s->arg[2], &k))
        *stride = (int64_t)((uint64_t)by[0] * (uint64_t)(sign ? (int32_t)k : (int64_t)(uint32_t)k));
    else if (wider && !strcmp(s->op, "cvt"))
        *stride = by[0];
    /* a stride that no program means would make the guards overflow */
    return *stride && *stride > -(1 << 24) && *stride < 1 << 24;
}

shape strip_result(const strip *v, const stmt *s, int64_t *stride)
{
    int64_t unused;
    shape most = EVEN;
    *stride = 0;
    if (s->pred && strip_shape(v, s->pred, &unused) != EVEN) return APART;
    for (int i = 1; i < s->narg; i++) {
        shape a = strip_shape(v, s->arg[i], &unused);
        if (a > most) most = a;
    }
    if (most == EVEN) return EVEN;
    return ramp(v, s, stride) ? RAMP : APART;
}

/* Statements that write no register; all others write their first operand. */
static int writes(const stmt *s)
{
    static const char *const not_[] = {
        "st",    "red",      "bra",       "ret",       "exit", "trap",          "membar",
        "fence", "prefetch", "prefetchu", "nanosleep", "brx",  "griddepcontrol"};
    for (size_t i = 0; i < sizeof not_ / sizeof *not_; i++)
        if (!strcmp(s->op, not_[i])) return 0;
    return s->narg > 0;
}

static int reads_unset(const strip *v, const stmt *s)
{
    for (int a = 1; a < s->narg; a++) {
        const char *at = s->arg[a];
        for (lane_reg *r; (r = next_reg(v, &at));)
            if (r->shape == UNSET) return 1;
    }
    return 0;
}

/* A value that goes round a loop is known from before it first. What is never written is 0. */
static void find_shapes(strip *v)
{
    for (int changed = 1, wait = 1; changed || wait;) {
        wait &= changed;
        changed = 0;
        for (int i = 0; i < v->f->nbody; i++) {
            const stmt *s = &v->f->body[i];
            if (s->kind != S_INSN || !writes(s) || (wait && reads_unset(v, s))) continue;
            int64_t stride;
            shape is = strip_result(v, s, &stride);
            const char *at = s->arg[0];
            for (lane_reg *r; (r = next_reg(v, &at));) /* all that it writes, or none */
                if (r->shape == APART) is = APART;
            at = s->arg[0];
            for (lane_reg *r; (r = next_reg(v, &at));) {
                shape was = r->shape, joined = was == UNSET ? is : was;
                if (was != UNSET && (was != is || (is == RAMP && stride != r->stride)))
                    joined = was == EVEN && is == EVEN ? EVEN : APART;
                if (joined == was) continue;
                r->shape = joined;
                r->stride = stride;
                changed = 1;
            }
        }
    }
}

static void set(uint64_t *bits, long i)
{
    bits[i / 64] |= (uint64_t)1 << i % 64;
}

int strip_live(const strip *v, int statement, int reg)
{
    return v->live[(size_t)statement * (size_t)v->words + (size_t)reg / 64] >> reg % 64 & 1;
}

static int target(const func *f, const char *label)
{
    for (int i = 0; i < f->nbody; i++)
        if (f->body[i].kind == S_LABEL && !strcmp(f->body[i].name, label)) return i;
    return -1;
}

/* One statement backwards: live before = (live behind without what it writes) + what it reads. */
static void step_back(const strip *v, int i, uint64_t *now)
{
    const stmt *s = &v->f->body[i];
    size_t words = (size_t)v->words;
    const uint64_t *next = v->live + (size_t)(i + 1) * words;
    int ends = s->kind == S_INSN && !s->pred &&
               (!strcmp(s->op, "bra") || !strcmp(s->op, "ret") || !strcmp(s->op, "exit"));
    memset(now, 0, words * sizeof *now);
    if (i + 1 < v->f->nbody && !ends) memcpy(now, next, words * sizeof *now);
    if (s->kind != S_INSN) return;
    if (!strcmp(s->op, "bra") && s->narg == 1) {
        int to = target(v->f, s->arg[0]);
        for (size_t w = 0; to >= 0 && w < words; w++) now[w] |= v->live[(size_t)to * words + w];
    }
    if (writes(s) && !s->pred) {
        const char *at = s->arg[0];
        for (lane_reg *r; (r = next_reg(v, &at));) {
            long k = r - v->reg;
            now[k / 64] &= ~((uint64_t)1 << k % 64);
        }
    }
    for (int a = writes(s) ? 1 : 0; a < s->narg; a++) {
        const char *at = s->arg[a];
        for (lane_reg *r; (r = next_reg(v, &at));) set(now, r - v->reg);
    }
    if (s->pred) {
        const char *at = s->pred;
        for (lane_reg *r; (r = next_reg(v, &at));) set(now, r - v->reg);
    }
}

static int find_live(strip *v)
{
    size_t words = (size_t)v->words;
    uint64_t *now = calloc(words, sizeof *now);
    if (!now) return 0;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int i = v->f->nbody - 1; i >= 0; i--) {
            uint64_t *at = v->live + (size_t)i * words;
            step_back(v, i, now);
            if (!memcmp(at, now, words * sizeof *now)) continue;
            memcpy(at, now, words * sizeof *now);
            changed = 1;
        }
    }
    free(now);
    return 1;
}

/* Threads that meet, order their writes, call or ask which of a warp they are run one by one. */
static int suits(const stmt *s)
{
    static const char *const ops[] = {
        "call",   "atom", "bar",        "barrier", "shfl",  "vote",           "match",
        "redux",  "cp",   "activemask", "membar",  "fence", "griddepcontrol", "nanosleep",
        "alloca", "brx",  "addc",       "subc",    "madc"};
    static const char *const mods[] = {"shared",  "local",   "volatile", "acquire",
                                       "relaxed", "release", "cc"};
    static const char *const asks[] = {"%laneid", "%warpid", "%lanemask", "%clock", "%globaltimer"};
    if (s->kind == S_VAR || s->kind == S_TARGETS) return 0;
    if (s->kind != S_INSN) return 1;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(s->op, ops[i])) return 0;
    for (size_t i = 0; i < sizeof mods / sizeof *mods; i++)
        if (has(s, mods[i])) return 0;
    /* sums of floats depend on their order; others do not, where nobody sees what was before */
    if (!strcmp(s->op, "red") && (!s->nmod || strchr("fbl", s->mod[s->nmod - 1][0]) ||
                                  has(s, "exch") || has(s, "inc") || has(s, "dec")))
        return 0;
    for (int i = 0; i < s->nmod; i++)
        if (is_half(s->mod[i])) return 0; /* long code for each lane: it would not pay */
    for (int a = 0; a < s->narg; a++)
        for (size_t i = 0; i < sizeof asks / sizeof *asks; i++)
            if (!strncmp(s->arg[a], asks[i], strlen(asks[i]))) return 0;
    return 1;
}

static int collect(strip *v)
{
    size_t room = 0;
    int depth = 0;
    for (int i = 0; i < v->f->nbody; i++) {
        const stmt *s = &v->f->body[i];
        if (!suits(s)) return 0;
        depth += (s->kind == S_OPEN) - (s->kind == S_CLOSE);
        if (s->kind != S_REG) continue;
        if (depth) return 0; /* a name could mean two registers */
        v->declared = i;
        if (bits_of(s->type) > 64 || bits_of(s->type) == 8 || !bits_of(s->type)) return 0;
        room += s->count < 0 ? 1 : (size_t)s->count;
    }
    v->reg = calloc(room + 1, sizeof *v->reg);
    for (int i = 0; v->reg && i < v->f->nbody; i++) {
        const stmt *s = &v->f->body[i];
        if (s->kind != S_REG) continue;
        for (int n = 0; n < (s->count < 0 ? 1 : s->count); n++) {
            char *name = malloc(strlen(s->name) + 16);
            if (!name) return 0;
            strcpy(name, s->name);
            if (s->count >= 0) {
                char *end = name + strlen(name), digits[12];
                int k = 0, left = n;
                do digits[k++] = (char)('0' + left % 10);
                while (left /= 10);
                while (k) *end++ = digits[--k];
                *end = 0;
            }
            v->reg[v->nreg++] = (lane_reg){.name = name, .type = s->type};
        }
    }
    return v->reg != NULL;
}

strip *strip_make(const func *f)
{
    strip *v = calloc(1, sizeof *v);
    if (!v) return NULL;
    v->f = f;
    if (!f->nbody || !collect(v)) {
        strip_free(v);
        return NULL;
    }
    v->words = v->nreg / 64 + 1;
    v->live = calloc((size_t)f->nbody * (size_t)v->words, sizeof *v->live);
    v->leaves = calloc((size_t)f->nbody, 1);
    v->site = calloc((size_t)f->nbody, sizeof *v->site);
    v->read = calloc((size_t)v->nreg + 1, 1);
    if (!v->live || !v->leaves || !v->site || !v->read || !find_live(v)) {
        strip_free(v);
        return NULL;
    }
    for (int i = 0; i < v->nreg; i++) /* 0 in all lanes where it is read before it is written */
        if (strip_live(v, 0, i)) v->reg[i].shape = EVEN;
    find_shapes(v);
    return v;
}

void strip_free(strip *v)
{
    if (!v) return;
    for (int i = 0; i < v->nreg; i++) free((char *)v->reg[i].name);
    free(v->reg);
    free(v->live);
    free(v->leaves);
    free(v->site);
    free(v->read);
    free(v);
}
