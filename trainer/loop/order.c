/* order.c - which scenes make a batch: an epoch is the scenes in the order of their keys, hashes of
 * (seed, epoch, scene), sorted once an epoch. Nothing of it needs to be kept: it is made again. */
#include "loop/train.h"
#include <stdlib.h>

/* splitmix64 (Steele, Lea, Flood 2014): a hash of a counter. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

typedef struct pt_place {
    uint64_t key;
    int scene;
} pt_place;

static int by_key(const void *a, const void *b)
{
    const pt_place *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->scene - y->scene;
}

pt_status pt_scene_at(pt_order *o, uint64_t seed, int64_t i, int count, int *scene)
{
    int64_t epoch = i / count;
    if (!o->place && !(o->place = malloc(sizeof *o->place * (size_t)count)))
        return pt_fail(PT_ERR_HOST, "no host memory for the order of %d scenes", count);
    if (o->count != count || o->epoch != epoch || o->seed != seed) {
        uint64_t start = mix(seed ^ mix((uint64_t)epoch));
        for (int a = 0; a < count; a++) o->place[a] = (pt_place){mix(start + (uint64_t)a), a};
        qsort(o->place, (size_t)count, sizeof *o->place, by_key);
        o->count = count;
        o->epoch = epoch;
        o->seed = seed;
    }
    *scene = o->place[i % count].scene;
    return PT_OK;
}

void pt_order_close(pt_order *o)
{
    free(o->place);
    *o = (pt_order){0};
}
