/* map.cu - kernel maps: which voxels a convolution connects, as lists of pairs, one list an offset.
 */
#include "kernels/launch.cuh"

/* A thread finds the three neighbours in x of one (y, z) offset: they are next to each other in the
 * order of keys, so one search serves all three. */
__global__ void neighbours_kernel(int64_t items, int64_t v, const uint64_t *key, int32_t *table)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t me = i % v;
    int zy = (int)(i / v), dz = zy / 3 - 1, dy = zy % 3 - 1;
    uint64_t k = key[me], m = 0x3ffff;
    int64_t x = (int64_t)(k & m), y = (int64_t)(k >> 18 & m) + dy, z = (int64_t)(k >> 36 & m) + dz;
    int inside = y >= 0 && y <= (int64_t)m && z >= 0 && z <= (int64_t)m;
    uint64_t row = (k >> 54) << 54 | (uint64_t)z << 36 | (uint64_t)y << 18;
    int64_t lo = 0, hi = v;
    if (inside) {
        uint64_t want = row | (uint64_t)(x > 0 ? x - 1 : 0);
        while (lo < hi) {
            int64_t mid = (lo + hi) / 2;
            if (key[mid] < want)
                lo = mid + 1;
            else
                hi = mid;
        }
    }
    for (int dx = -1; dx <= 1; dx++) {
        int32_t found = -1;
        if (inside && x + dx >= 0 && x + dx <= (int64_t)m) {
            uint64_t want = row | (uint64_t)(x + dx);
            while (lo < v && key[lo] < want) lo++;
            if (lo < v && key[lo] == want) found = (int32_t)lo;
        }
        table[(int64_t)(zy * 3 + dx + 1) * v + me] = found;
    }
}

__global__ void children_kernel(int64_t v, const uint64_t *key, const int32_t *parent,
                                int32_t *table)
{
    int64_t i = pt_item();
    if (i >= v) return;
    uint64_t k = key[i];
    int child = (int)(k & 1) | (int)(k >> 18 & 1) << 1 | (int)(k >> 36 & 1) << 2;
    for (int o = 0; o < 8; o++) table[(int64_t)o * v + i] = o == child ? parent[i] : -1;
}

__global__ void table_flags_kernel(int64_t n, const int32_t *table, int32_t *flag)
{
    int64_t i = pt_item();
    if (i < n) flag[i] = table[i] >= 0;
}

__global__ void pairs_kernel(int64_t n, int64_t v, const int32_t *table, const int32_t *scan,
                             int32_t *a, int32_t *b)
{
    int64_t i = pt_item();
    if (i >= n || table[i] < 0) return;
    a[scan[i]] = table[i];
    b[scan[i]] = (int32_t)(i % v);
}

extern "C" pt_status pt_k_neighbours(pt_device *d, int64_t v, const uint64_t *key, int32_t *table)
{
    return LAUNCH(neighbours_kernel, 9 * v, v, key, table);
}

extern "C" pt_status pt_k_children(pt_device *d, int64_t v, const uint64_t *key,
                                   const int32_t *parent, int32_t *table)
{
    return LAUNCH(children_kernel, v, key, parent, table);
}

extern "C" pt_status pt_k_table_flags(pt_device *d, int64_t n, const int32_t *table, int32_t *flag)
{
    return LAUNCH(table_flags_kernel, n, table, flag);
}

extern "C" pt_status pt_k_pairs(pt_device *d, int64_t v, int64_t n, const int32_t *table,
                                const int32_t *scan, int32_t *a, int32_t *b)
{
    return LAUNCH(pairs_kernel, n, v, table, scan, a, b);
}
