/* heard.c - kernels and sites of calls that a rule would have failed under another name: where the
 * rule never fires, the command says which there were. */
#include "heard.h"
#include "state.h"
#include <string.h>

/* Names are kept once in a process: their address is enough, but for a tag, which is a place that
 * others are written to. */
static const char *known[256];

static int is_there(const op_heard *h, const char *name)
{
    uint32_t n = __atomic_load_n(&h->taken, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n && i < OP_HEARD; i++)
        if (!strncmp(h->name[i], name, OP_HEARD_NAME - 1)) return 1;
    return n >= OP_HEARD;
}

static void hear(op_heard *h, const char *name)
{
    const char **slot = &known[((uintptr_t)name >> 3 ^ (uintptr_t)name >> 11) % 256];
    if (!name || !*name || *slot == name) return;
    if (name != op_said_tag) *slot = name;
    if (is_there(h, name)) return;
    uint32_t i = __atomic_fetch_add(&h->taken, 1, __ATOMIC_ACQ_REL);
    if (i < OP_HEARD) strncpy(h->name[i], name, OP_HEARD_NAME - 1);
}

void op_hear(const op_rule *rules, uint32_t which, const op_call *c)
{
    for (which = op_shared->threads ? which : 0; which; which &= which - 1) {
        const op_rule *r = &rules[__builtin_ctz(which)];
        if (r->acted) continue;
        if (*r->kernel) hear(&op_shared->kernels, c->kernel);
        if (*r->site) hear(&op_shared->sites, c->site);
    }
}
