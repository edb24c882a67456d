/* async.c - cp.async: copies from global to shared memory that go on behind the thread's back. Here
 * they are done when they are issued, which is one of the orders that PTX allows; so waiting for
 * them is nothing. */
#include "emit.h"
#include <stdlib.h>
#include <string.h>

static const char *const bytes[] = {"4", "8", "16"};

/* cp.async.ca|cg.shared.global [to], [from], bytes {, bytes to read | predicate to read none} */
static void copy(emit *e, const stmt *s)
{
    int n = 0;
    for (int i = 0; i < 3; i++)
        if (!strcmp(s->arg[2], bytes[i])) n = atoi(bytes[i]);
    if (!n || s->narg > 4 || !has(s, "global") || has(s, "shared") == has(s, "shared::cta") ||
        has(s, "ca") == has(s, "cg") || (has(s, "cg") && n != 16)) {
        refuse(e, "a form of cp.async");
        return;
    }
    const sym *y = s->narg == 4 ? find_sym(e, s->arg[3]) : NULL;
    if (y && y->kind == Y_REG && !strcmp(y->type, "pred"))
        fprintf(e->out, "uint32_t n_ = %s ? 0 : %d; ", rd(e, s->arg[3], "pred"), n);
    else if (s->narg == 4)
        fprintf(e->out, "uint32_t n_ = %s; if (n_ > %d) n_ = %d; ", rd(e, s->arg[3], "u32"), n, n);
    else
        fprintf(e->out, "const uint32_t n_ = %d; ", n);
    /* what is not read is zero, and may lie where nothing is */
    fprintf(e->out, "char x_[%d] = {0}; if (n_ == %d) memcpy(x_, %s, %d); ", n, n,
            address(e, s->arg[1], "global", (uint32_t)n, 1), n);
    if (s->narg == 4)
        fprintf(e->out, "else for (uint32_t i_ = 0; i_ < n_; i_++) x_[i_] = *%s; ",
                address_behind(e, s->arg[1], "i_", "global", 1, 1));
    fprintf(e->out, "memcpy(%s, x_, %d);", address(e, s->arg[0], "shared", (uint32_t)n, 2), n);
}

void emit_async(emit *e, const stmt *s)
{
    char *end = NULL;
    if (!has(s, "async"))
        refuse(e, "a form of cp");
    else if (has(s, "commit_group") || has(s, "wait_all")) {
        if (s->narg || s->nmod != 2) refuse(e, "a form of cp.async");
    } else if (has(s, "wait_group")) {
        if (s->narg == 1) strtoul(s->arg[0], &end, 10);
        if (!end || *end || end == s->arg[0] || s->nmod != 2) refuse(e, "a form of cp.async");
    } else
        copy(e, s);
}
