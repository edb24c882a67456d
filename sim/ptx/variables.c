/* variables.c - declarations of variables: space, type, size, alignment; those of the module, and
 * what they hold at first. */
#define _GNU_SOURCE
#include "parse.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MAX_VARIABLE = (uint64_t)1 << 42; /* bytes */

void declaration(parser *P, const char *text, stmt *v)
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
        else if (!strcmp(word, ".attribute(.managed)"))
            v->managed = 1;
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

void module_variable(parser *P, const char *text, const char *init)
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
    *v = (sim_ptx_var){.name = d.name,
                       .bytes = d.bytes,
                       .align = d.align,
                       .is_const = !strcmp(d.space, "const"),
                       .managed = d.managed};
    if (init) initial_value(P, v, &d, init);
}
