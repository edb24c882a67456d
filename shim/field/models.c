/* models.c - see models.h. All four are segments of blocks; they differ in how large a segment is
 * and in when it goes back. */
#include "field/models.h"
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)
enum { GRAIN = 512 };

const char *const op_model_name[OP_MODELS] = {"driver", "caching", "pool", "expandable"};

struct op_block {
    op_block *before, *after; /* in its segment, by address */
    op_block *prev, *next;    /* in the list of free blocks */
    struct segment *of;
    uint64_t bytes;
    int used;
};

typedef struct segment {
    struct segment *prev, *next;
    op_block *first, *last;
    uint64_t bytes; /* mapped */
    int list;
} segment;

enum { SMALL, LARGE, LISTS };
struct op_model {
    op_model_kind kind;
    uint64_t capacity, mapped;
    segment *segments[LISTS];
    op_block *unused[LISTS];
};

op_model *op_model_new(op_model_kind kind, uint64_t capacity)
{
    op_model *m = calloc(1, sizeof *m);
    if (m) m->kind = kind, m->capacity = capacity;
    return m;
}

uint64_t op_model_mapped(const op_model *m)
{
    return m->mapped;
}

void op_model_free(op_model *m)
{
    for (int l = 0; m && l < LISTS; l++)
        for (segment *s = m->segments[l], *next; s; s = next) {
            next = s->next;
            for (op_block *b = s->first, *after; b; b = after) {
                after = b->after;
                free(b);
            }
            free(s);
        }
    free(m);
}

/* ---- free blocks ---- */
static void link_free(op_model *m, op_block *b)
{
    op_block **head = &m->unused[b->of->list];
    b->used = 0;
    b->prev = NULL;
    b->next = *head;
    if (*head) (*head)->prev = b;
    *head = b;
}

static void unlink_free(op_model *m, op_block *b)
{
    if (b->prev)
        b->prev->next = b->next;
    else
        m->unused[b->of->list] = b->next;
    if (b->next) b->next->prev = b->prev;
}

static op_block *best(const op_model *m, int list, uint64_t bytes)
{
    op_block *found = NULL;
    for (op_block *b = m->unused[list]; b; b = b->next) {
        if (b->bytes < bytes || (found && b->bytes >= found->bytes)) continue;
        found = b;
        if (b->bytes == bytes) break;
    }
    return found;
}

/* b, then what it does not need. */
static void cut(op_model *m, op_block *b, uint64_t bytes)
{
    uint64_t least = m->kind == OP_MODEL_CACHING && b->of->list == LARGE ? MIB + 1 : GRAIN;
    if (b->bytes - bytes < least) return;
    op_block *rest = calloc(1, sizeof *rest);
    if (!rest) return;
    rest->of = b->of;
    rest->bytes = b->bytes - bytes;
    rest->before = b;
    rest->after = b->after;
    if (b->after)
        b->after->before = rest;
    else
        b->of->last = rest;
    b->after = rest;
    b->bytes = bytes;
    link_free(m, rest);
}

static void join_after(op_model *m, op_block *b) /* b and the free block behind it */
{
    op_block *n = b->after;
    unlink_free(m, n);
    b->bytes += n->bytes;
    b->after = n->after;
    if (n->after)
        n->after->before = b;
    else
        b->of->last = b;
    free(n);
}

/* ---- segments ---- */
static uint64_t up(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

static uint64_t segment_bytes(const op_model *m, int list, uint64_t bytes)
{
    switch (m->kind) {
    case OP_MODEL_POOL: return up(bytes, 32 * MIB);
    case OP_MODEL_CACHING:
    case OP_MODEL_EXPANDABLE:
        if (list == SMALL) return 2 * MIB;
        return bytes < 10 * MIB ? 20 * MIB : up(bytes, 2 * MIB);
    default: return up(bytes, 2 * MIB);
    }
}

static op_block *add_block(op_model *m, segment *s, uint64_t bytes)
{
    op_block *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->of = s;
    b->bytes = bytes;
    b->before = s->last;
    if (s->last)
        s->last->after = b;
    else
        s->first = b;
    s->last = b;
    s->bytes += bytes;
    m->mapped += bytes;
    return b;
}

static op_block *grow(op_model *m, int list, uint64_t bytes)
{
    segment *s = m->kind == OP_MODEL_EXPANDABLE ? m->segments[list] : NULL;
    uint64_t have = s && s->last && !s->last->used ? s->last->bytes : 0;
    uint64_t more = segment_bytes(m, list, bytes - (have < bytes ? have : 0));
    if (more > m->capacity - m->mapped) return NULL;
    if (!s) {
        if (!(s = calloc(1, sizeof *s))) return NULL;
        s->list = list;
        s->next = m->segments[list];
        if (s->next) s->next->prev = s;
        m->segments[list] = s;
    }
    op_block *b = add_block(m, s, more);
    if (!b) return NULL;
    link_free(m, b);
    if (have) {
        b = b->before;
        join_after(m, b);
    }
    return b;
}

static void drop(op_model *m, segment *s)
{
    for (op_block *b = s->first, *after; b; b = after) {
        after = b->after;
        unlink_free(m, b);
        free(b);
    }
    if (s->prev)
        s->prev->next = s->next;
    else
        m->segments[s->list] = s->next;
    if (s->next) s->next->prev = s->prev;
    m->mapped -= s->bytes;
    free(s);
}

/* Whole free pages inside a growing segment: they leave the card, the block gets smaller. */
static int unmap_pages(op_model *m, segment *s)
{
    int any = 0;
    for (op_block *b = s->first; b; b = b->after) {
        uint64_t pages = b->used ? 0 : b->bytes / (2 * MIB) * 2 * MIB;
        b->bytes -= pages;
        s->bytes -= pages;
        m->mapped -= pages;
        any |= pages > 0;
    }
    return any;
}

static int release(op_model *m)
{
    int any = 0;
    for (int l = 0; l < LISTS; l++)
        for (segment *s = m->segments[l], *next; s; s = next) {
            next = s->next;
            if (m->kind == OP_MODEL_EXPANDABLE)
                any |= unmap_pages(m, s);
            else if (s->first == s->last && !s->first->used) {
                drop(m, s);
                any = 1;
            }
        }
    return any;
}

op_block *op_model_take(op_model *m, uint64_t bytes)
{
    if (bytes > m->capacity) return NULL;
    uint64_t want = up(bytes ? bytes : 1, GRAIN);
    int list = m->kind == OP_MODEL_POOL     ? LARGE
               : m->kind == OP_MODEL_DRIVER ? (want < MIB ? SMALL : LARGE)
                                            : (want <= MIB ? SMALL : LARGE);
    if (m->kind == OP_MODEL_DRIVER && list == LARGE) want = up(want, 2 * MIB);
    op_block *b = best(m, list, want);
    if (!b) b = grow(m, list, want);
    if (!b && release(m)) b = grow(m, list, want);
    if (!b) return NULL;
    unlink_free(m, b);
    b->used = 1;
    cut(m, b, want);
    return b;
}

void op_model_give(op_model *m, op_block *b)
{
    link_free(m, b);
    if (b->after && !b->after->used) join_after(m, b);
    if (b->before && !b->before->used) {
        b = b->before;
        join_after(m, b);
    }
    if (m->kind == OP_MODEL_DRIVER && b->of->first == b && b->of->last == b) drop(m, b->of);
}
