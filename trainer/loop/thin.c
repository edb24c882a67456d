/* thin.c - point dropout: a scene without some of its points, drawn by what they are, never by the
 * order of calls. */
#include "loop/train.h"
#include <string.h>

/* splitmix64 (Steele, Lea, Flood 2014): a hash of a counter. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void pt_thin(pt_scene *s, double rate, uint64_t seed, uint64_t step, uint32_t scene)
{
    uint64_t key = mix(mix(seed ^ 0x27d4eb2f165667c5u) ^ step) ^ ((uint64_t)scene << 32);
    int64_t kept = 0;
    if (!(rate > 0)) return;
    for (int64_t i = 0; i < s->n; i++) {
        int last = kept == 0 && i == s->n - 1; /* a scene has a point */
        if ((double)(mix(key + (uint64_t)i) >> 11) / 9007199254740992.0 < rate && !last) continue;
        memmove(s->coord + 3 * kept, s->coord + 3 * i, 3 * sizeof *s->coord);
        memmove(s->feature + PT_FEATURES * kept, s->feature + PT_FEATURES * i,
                PT_FEATURES * sizeof *s->feature);
        s->label[kept++] = s->label[i];
    }
    s->n = kept;
}
