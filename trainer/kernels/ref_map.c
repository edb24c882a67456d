/* ref_map.c - reference of map.cu. Each neighbour's key is made and looked up by itself. */
#include "kernels/ref.h"
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

void ref_neighbours(int64_t v, const uint64_t *key, int32_t *table)
{
    for (int k = 0; k < 27; k++)
        for (int64_t i = 0; i < v; i++) {
            int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1}, inside = 1;
            uint64_t want = key[i] >> 54;
            for (int a = 2; a >= 0; a--) {
                int64_t x = (int64_t)(key[i] >> 18 * a & 0x3ffff) + offset[a];
                if (x < 0 || x > 0x3ffff) inside = 0;
                want = want << 18 | (uint64_t)(x & 0x3ffff);
            }
            const uint64_t *p =
                inside ? bsearch(&want, key, (size_t)v, sizeof *key, compare) : NULL;
            table[k * v + i] = p ? (int32_t)(p - key) : -1;
        }
}

void ref_children(int64_t v, const uint64_t *key, const int32_t *parent, int32_t *table)
{
    for (int64_t i = 0; i < 8 * v; i++) table[i] = -1;
    for (int64_t i = 0; i < v; i++) {
        int child = 0;
        for (int a = 0; a < 3; a++) child += (int)(key[i] >> 18 * a & 1) << a;
        table[child * v + i] = parent[i];
    }
}

int64_t ref_pairs(int64_t v, int64_t offsets, const int32_t *table, int32_t *a, int32_t *b)
{
    int64_t n = 0;
    for (int64_t k = 0; k < offsets; k++)
        for (int64_t i = 0; i < v; i++)
            if (table[k * v + i] >= 0) {
                a[n] = table[k * v + i];
                b[n++] = (int32_t)i;
            }
    return n;
}
