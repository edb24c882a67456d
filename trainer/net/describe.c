/* describe.c - the net as a list of blocks, and how far it sees. */
#include "net/layers.h"
#include <stdio.h>
#include <string.h>

typedef struct list {
    pt_block *b;
    int n;
} list;

static int add(list *l, const char *name, pt_conv_kind kind, int level, int cin, int cout, int skip)
{
    static const char *const part[] = {"out", "norm", "stat", "dx", "gather", "cat"};
    pt_block *b = &l->b[l->n];
    memset(b, 0, sizeof *b);
    snprintf(b->name, sizeof b->name, "%s", name);
    b->kind = kind;
    b->level = level;
    b->cin = cin;
    b->cout = cout;
    b->skip = skip;
    for (int i = 0; i < 6; i++) snprintf(b->tag[i], sizeof b->tag[i], "net/%s/%s", name, part[i]);
    return l->n++;
}

int pt_describe(const pt_net_options *o, pt_block *block)
{
    list l = {block, 0};
    char name[24];
    int skip[PT_LEVELS], last = add(&l, "stem", PT_CONV3, 0, PT_FEATURES, o->width[0], -1);
    for (int level = 0; level < PT_LEVELS; level++) {
        int w = o->width[level];
        if (level > 0) {
            snprintf(name, sizeof name, "down%d", level - 1);
            last = add(&l, name, PT_CONV_DOWN, level, o->width[level - 1], w, -1);
        }
        for (int c = 0; c < o->convs; c++) {
            snprintf(name, sizeof name, "enc%d.conv%d", level, c);
            last = add(&l, name, PT_CONV3, level, w, w, -1);
        }
        skip[level] = last;
    }
    for (int level = PT_LEVELS - 2; level >= 0; level--) {
        int w = o->width[level];
        snprintf(name, sizeof name, "up%d", level);
        add(&l, name, PT_CONV_UP, level, o->width[level + 1], w, -1);
        for (int c = 0; c < o->convs; c++) {
            snprintf(name, sizeof name, "dec%d.conv%d", level, c);
            add(&l, name, PT_CONV3, level, c == 0 ? 2 * w : w, w, c == 0 ? skip[level] : -1);
        }
    }
    return l.n;
}

size_t pt_net_params(const pt_net_options *o)
{
    pt_block block[PT_MAX_BLOCKS];
    int n = pt_describe(o, block);
    size_t params = (size_t)(o->width[0] + 1) * (size_t)o->classes; /* the head */
    for (int b = 0; b < n; b++)
        params += ((block[b].kind == PT_CONV3 ? 27 : 8) * (size_t)block[b].cin + 2) *
                  (size_t)block[b].cout;
    return params;
}

/* Interval arithmetic: which cells of a level an output at x depends on, [lo, hi], backwards
 * through the blocks. Skips reach no further than the way around, which comes back to the same
 * level later. */
static int floor_half(int x)
{
    return x >= 0 ? x / 2 : -((1 - x) / 2);
}

int pt_net_halo(const pt_net_options *o)
{
    pt_block block[PT_MAX_BLOCKS];
    int n = pt_describe(o, block), worst = 0;
    for (int x = 0; x < 1 << (PT_LEVELS - 1); x++) { /* alignments to coarse cells */
        int lo = x, hi = x;
        for (int b = n - 1; b >= 0; b--) {
            switch (block[b].kind) {
            case PT_CONV3: lo -= 1, hi += 1; break;
            case PT_CONV_UP:
                lo = floor_half(lo), hi = floor_half(hi);
                break; /* from fine to coarse */
            case PT_CONV_DOWN: lo = 2 * lo, hi = 2 * hi + 1; break;
            }
        }
        if (x - lo > worst) worst = x - lo;
        if (hi - x > worst) worst = hi - x;
    }
    return worst;
}
