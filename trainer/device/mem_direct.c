/* mem_direct.c - one cudaMalloc a block: every tensor is a fault point. */
#include "device/mem.h"
#include <stdlib.h>

typedef struct entry {
    void *p;
    size_t bytes;
} entry;
typedef struct list {
    entry *e;
    size_t n, room;
} list;

pt_status pt_mem_direct_open(pt_mem *m)
{
    m->state = calloc(1, sizeof(list));
    return m->state ? PT_OK : pt_fail(PT_ERR_HOST, "no host memory for the allocator");
}

static pt_status direct_alloc(pt_mem *m, size_t bytes, const char *tag, void **out)
{
    list *l = m->state;
    if (l->n == l->room) {
        size_t room = l->room ? 2 * l->room : 128;
        entry *e = realloc(l->e, room * sizeof *e);
        if (!e) return pt_fail(PT_ERR_HOST, "no host memory for the list of blocks");
        l->e = e;
        l->room = room;
    }
    pt_status st = pt_mem_driver_alloc(m, bytes, tag, out);
    if (st == PT_OK) l->e[l->n++] = (entry){*out, bytes};
    return st;
}

static size_t direct_free(pt_mem *m, void *block)
{
    list *l = m->state;
    for (size_t i = l->n; i-- > 0;)
        if (l->e[i].p == block) {
            size_t bytes = l->e[i].bytes;
            l->e[i] = l->e[--l->n];
            pt_mem_driver_free(m, block, bytes); /* pt_mem_check tells a failure */
            return bytes;
        }
    return 0;
}

static pt_status direct_release(pt_mem *m)
{
    (void)m;
    return PT_OK; /* nothing is kept */
}

static void direct_close(pt_mem *m)
{
    list *l = m->state;
    for (size_t i = 0; i < l->n; i++) pt_mem_driver_free(m, l->e[i].p, l->e[i].bytes);
    free(l->e);
    free(l);
}

const pt_mem_ops pt_mem_direct = {direct_alloc, direct_free, direct_release,
                                  direct_close, NULL,        NULL};
