/* order.c - which scenes make a batch. */
#include "loop/train.h"
#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014): a hash of a counter. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Rank of position i under the keys of its epoch: the scene with the i-th smallest key. Quadratic
 * in count, a few thousand at most, and without a table to keep. */
int pt_scene_at(uint64_t seed, int64_t i, int count)
{
    uint64_t epoch = (uint64_t)(i / count);
    int want = (int)(i % count);
    for (int a = 0; a < count; a++) {
        uint64_t key = mix(mix(seed ^ mix(epoch)) + (uint64_t)a);
        int rank = 0;
        for (int b = 0; b < count; b++) {
            uint64_t other = mix(mix(seed ^ mix(epoch)) + (uint64_t)b);
            rank += other < key || (other == key && b < a);
        }
        if (rank == want) return a;
    }
    return 0; /* not reached: ranks are a permutation */
}
