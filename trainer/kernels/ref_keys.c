/* ref_keys.c - reference of keys.cu. */
#include "kernels/ref.h"
#include "recovery/fragment.h"
#include <math.h>
#include <stdlib.h>

static uint64_t pack(uint64_t slot, const int64_t v[3])
{
    return slot << 54 | (uint64_t)v[2] << 36 | (uint64_t)v[1] << 18 | (uint64_t)v[0];
}

void ref_voxel_keys(int64_t n, const float *coord, const int32_t *slot, const float *voxel,
                    uint64_t *key)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t v[3];
        for (int a = 0; a < 3; a++) {
            /* the quotient is rounded to float on purpose: it decides the voxel */
            v[a] = (int64_t)floorf(coord[3 * i + a] / voxel[slot[i]]) + PT_VOXEL_BIAS;
            if (v[a] < 0) v[a] = 0;
            if (v[a] >= 2 * PT_VOXEL_BIAS) v[a] = 2 * PT_VOXEL_BIAS - 1;
        }
        key[i] = pack((uint64_t)slot[i], v);
    }
}

void ref_coarse_keys(int64_t n, const uint64_t *fine, uint64_t *key)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t v[3];
        for (int a = 0; a < 3; a++) v[a] = (int64_t)(fine[i] >> 18 * a) % (1 << 18) / 2;
        key[i] = pack(fine[i] >> 54, v);
    }
}

typedef struct item {
    uint64_t key;
    int32_t index;
    int64_t at;
} item;

static int by_key_then_place(const void *a, const void *b)
{
    const item *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void ref_sort(int64_t n, uint64_t *key, int32_t *index)
{
    item *t = malloc(sizeof *t * (size_t)(n + 1));
    if (!t) abort();
    for (int64_t i = 0; i < n; i++) t[i] = (item){key[i], index[i], i};
    qsort(t, (size_t)n, sizeof *t, by_key_then_place);
    for (int64_t i = 0; i < n; i++) key[i] = t[i].key, index[i] = t[i].index;
    free(t);
}

int64_t ref_unique(int64_t n, const uint64_t *key, const int32_t *index, uint64_t *unique,
                   int32_t *first, int32_t *member)
{
    int64_t v = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || key[i] != unique[v - 1]) {
            unique[v] = key[i];
            first[v++] = (int32_t)i;
        }
        member[index[i]] = (int32_t)(v - 1);
    }
    return v;
}
