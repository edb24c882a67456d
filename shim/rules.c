/* rules.c - which rule acts on a call. */
#include "rules.h"
#include <string.h>

_Static_assert(OP_MAX_RULES <= 32, "op_decide's which is too small");
_Static_assert(OP_CALLS <= 64 * 8, "op_rule.fits is too small");

static int can_have(const op_rule *r, const op_entry *call)
{
    switch (r->action) {
    case OP_OOM: return (call->flags & OP_F_OOM) != 0;
    case OP_CODE: return r->code_lib < 0 || r->code_lib == (int)call->lib;
    case OP_POISON:
        return (call->flags & OP_F_RESULT) && (!(call->flags & OP_F_LAUNCH) || r->arg >= 0);
    case OP_SHAPE:
        return (call->flags & (strchr("chw", r->field[0]) ? OP_F_DESCRIPTOR : OP_F_GEMM)) ||
               (!strcmp(r->field, "n") && (call->flags & OP_F_DESCRIPTOR) && !*r->base);
    default: return 1;
    }
}

/* The selector that no such call has; NULL: it has all that the rule looks at. */
static const char *lacks(const op_rule *r, const op_entry *call)
{
    return r->kind && !(call->flags & OP_F_COPY)            ? "kind"
           : *r->kernel && !(call->flags & OP_F_LAUNCH)     ? "kernel"
           : r->size_op && !(call->flags & OP_F_SIZE)       ? "size"
           : r->stream >= 0 && !(call->flags & OP_F_STREAM) ? "stream"
           : r->has_budget && !(call->flags & OP_F_ALLOC)   ? "budget"
                                                            : NULL;
}

const char *op_lacking(const op_rule *r)
{
    const char *selector = NULL;
    for (unsigned id = 0; id < OP_CALLS; id++)
        if (op_named(r->call, &op_table[id]) && can_have(r, &op_table[id]) &&
            !(selector = lacks(r, &op_table[id])))
            return NULL;
    return selector;
}

int op_fit(op_rule *r)
{
    int n = 0;
    r->selects = r->kind || *r->phase || *r->site || *r->kernel || r->thread >= 0 ||
                 r->stream >= 0 || r->device >= 0 || r->has_budget || r->size_op;
    r->from = r->skip < r->nth ? r->nth : r->skip < UINT64_MAX ? r->skip + 1 : UINT64_MAX;
    memset(r->fits, 0, sizeof r->fits);
    for (unsigned id = 0; id < OP_CALLS; id++)
        if (op_named(r->call, &op_table[id]) && can_have(r, &op_table[id]) &&
            !lacks(r, &op_table[id])) {
            r->fits[id / 64] |= (uint64_t)1 << id % 64;
            n++;
        }
    return n;
}

static int selects(const op_rule *r, const op_call *c)
{
    if (!r->selects) return 1;
    if (r->kind && r->kind != c->kind) return 0;
    if (*r->phase && strcmp(r->phase, c->phase)) return 0;
    if (*r->site && !op_glob(r->site, c->site)) return 0;
    if (*r->kernel && !(c->kernel && op_glob(r->kernel, c->kernel))) return 0;
    if (r->thread >= 0 && r->thread != c->thread) return 0;
    if (r->stream >= 0 && r->stream != c->stream) return 0;
    if (r->device >= 0 && r->device != c->device) return 0;
    if (r->has_budget) {
        uint64_t rounded = op_rounded(c);
        if (!(op_table[c->id].flags & OP_F_ALLOC) || c->host) return 0;
        if (c->live <= r->budget && rounded <= r->budget - c->live) return 0;
    }
    switch (r->size_op) {
    case '=': return c->size == r->size;
    case '<': return c->size < r->size;
    case '>': return c->size > r->size;
    case 'l': return c->size <= r->size;
    case 'g': return c->size >= r->size;
    default: return 1;
    }
}

/* SplitMix64 of the seed and the match's number: the same calls in every run. */
static double draw(uint64_t seed, uint64_t n)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15u + n * 0xd1b54a32d192ed03u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

int op_decide(op_rule *rules, uint32_t which, uint64_t *tally, const op_call *call)
{
    int acts = -1;
    for (uint32_t left = which; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        op_rule *r = &rules[i];
        if (!selects(r, call)) continue;
        uint64_t m = ++r->matched;
        __atomic_store_n(&tally[i], tally[i] + 1, __ATOMIC_RELAXED);
        if (m < r->from || acts >= 0) continue;
        if (r->nth && !r->nth_at_least && m > r->nth) {
            r->from = UINT64_MAX;
            continue;
        }
        if (r->interval && (m - r->skip) % r->interval) continue;
        if (r->times && r->acted >= r->times) continue;
        if (r->has_probability && draw(r->seed, m) >= r->probability) continue;
        r->acted++;
        acts = i;
    }
    return acts;
}
