/* force.c - see force.h. */
#define _GNU_SOURCE
#include "field/force.h"
#include "state.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int op_forcing;

typedef struct failure {
    uint32_t ordinal;
    int code;
} failure;

typedef struct place {
    op_id id;
    char *site;
    uint32_t calls; /* so far */
    failure *fail;  /* [n], ascending once all are read */
    int n, next;
} place;
static place *places;
static int nplaces;

static place *find(op_id id, const char *site)
{
    for (int i = 0; i < nplaces; i++)
        if (places[i].id == id && !strcmp(places[i].site, site)) return &places[i];
    return NULL;
}

static place *make(op_id id, const char *site)
{
    place *p = find(id, site), *all;
    if (p) return p;
    if (!(all = realloc(places, sizeof *places * (size_t)(nplaces + 1)))) return NULL;
    places = all;
    p = &places[nplaces];
    *p = (place){.id = id, .site = strdup(site)};
    return p->site ? (nplaces++, p) : NULL;
}

static int line(char *s)
{
    char *save, *call = strtok_r(s, "\t", &save), *code = strtok_r(NULL, "\t", &save);
    char *ordinal = strtok_r(NULL, "\t", &save), *site = strtok_r(NULL, "\n", &save);
    if (!ordinal) return 0;
    for (int id = 0; id < OP_CALLS; id++) {
        if (strcmp(op_table[id].name, call)) continue;
        place *p = make((op_id)id, site ? site : "");
        void *more = p ? realloc(p->fail, sizeof *p->fail * (size_t)(p->n + 1)) : NULL;
        if (!more) return 0;
        p->fail = more;
        p->fail[p->n].ordinal = (uint32_t)strtoul(ordinal, NULL, 10);
        p->fail[p->n++].code = atoi(code);
        return 1;
    }
    return 0;
}

static int by_ordinal(const void *a, const void *b)
{
    const failure *x = a, *y = b;
    return x->ordinal < y->ordinal ? -1 : x->ordinal > y->ordinal;
}

static char claim[4200];
static int ours; /* the failures come in this process */

void op_force_of_child(void)
{
    if (ours) op_forcing = 0;
}

/* The recording was of one process: the first that makes such a call, behind whatever shells. */
static int is_ours(void)
{
    if (ours) return 1;
    op_forcing = ours = op_first_to_ask(claim);
    return ours;
}

void op_force_start(void)
{
    const char *path = getenv("OOMPROOF_REPLAY");
    if (!path || !*path) return;
    char *text = NULL;
    size_t room = 0;
    FILE *f = fopen(path, "re");
    int ok = f != NULL;
    while (ok && getline(&text, &room, f) > 0) ok = line(text);
    if (f) fclose(f);
    free(text);
    if (!ok) {
        fprintf(stderr, "oomproof: %s: not the failures of a recording\n", path);
        _exit(7);
    }
    for (int i = 0; i < nplaces; i++)
        qsort(places[i].fail, (size_t)places[i].n, sizeof *places[i].fail, by_ordinal);
    snprintf(claim, sizeof claim, "%s.taken", path);
    op_forcing = 1;
    pthread_atfork(NULL, NULL, op_force_of_child);
}

int op_force(const op_call *c, int *code)
{
    place *p = find(c->id, c->site);
    if (!p || !is_ours()) return 0;
    p->calls++;
    while (p->next < p->n && p->fail[p->next].ordinal < p->calls) p->next++;
    if (p->next == p->n || p->fail[p->next].ordinal != p->calls) return 0;
    *code = p->fail[p->next].code;
    return 1;
}
