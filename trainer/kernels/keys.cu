/* keys.cu - voxel keys, their stable sort, and what is unique among them. */
#include "kernels/launch.cuh"

__global__ void voxel_keys_kernel(int64_t n, const float *coord, const int32_t *slot,
                                  const float *voxel, uint64_t *key, int32_t *index)
{
    int64_t i = pt_item();
    if (i >= n) return;
    float edge = voxel[slot[i]];
    uint64_t k = (uint64_t)slot[i];
    for (int a = 2; a >= 0; a--) {
        /* 64 bits: the bias added to a coordinate far outside must not wrap */
        int64_t v = (int64_t)floorf(__fdiv_rn(coord[3 * i + a], edge)) + PT_VOXEL_BIAS;
        v = v < 0 ? 0 : v > 2 * PT_VOXEL_BIAS - 1 ? 2 * PT_VOXEL_BIAS - 1 : v;
        k = k << 18 | (uint64_t)v;
    }
    key[i] = k;
    index[i] = (int32_t)i;
}

__global__ void coarse_keys_kernel(int64_t n, const uint64_t *fine, uint64_t *key, int32_t *index)
{
    int64_t i = pt_item();
    if (i >= n) return;
    uint64_t k = fine[i], m = 0x3ffff;
    key[i] =
        (k >> 54) << 54 | ((k >> 36 & m) >> 1) << 36 | ((k >> 18 & m) >> 1) << 18 | (k & m) >> 1;
    index[i] = (int32_t)i;
}

/* Each item finds its place in the merge of two neighbouring runs of `run` items: its own rank plus
 * the number of items of the other run before it (ties: the left run first, so the sort is stable).
 */
__global__ void merge_kernel(int64_t n, int64_t run, const uint64_t *key, const int32_t *index,
                             uint64_t *to_key, int32_t *to_index)
{
    int64_t i = pt_item();
    if (i >= n) return;
    int64_t pair = i / (2 * run) * (2 * run), middle = pair + run < n ? pair + run : n;
    int64_t end = pair + 2 * run < n ? pair + 2 * run : n;
    int left = i < middle;
    int64_t lo = left ? middle : pair, hi = left ? end : middle, from = lo;
    uint64_t k = key[i];
    while (lo < hi) {
        int64_t m = (lo + hi) / 2;
        if (left ? key[m] < k : key[m] <= k)
            lo = m + 1;
        else
            hi = m;
    }
    int64_t to = left ? i + (lo - from) : pair + (i - middle) + (lo - from);
    to_key[to] = k;
    to_index[to] = index[i];
}

__global__ void heads_kernel(int64_t n, const uint64_t *key, int32_t *flag)
{
    int64_t i = pt_item();
    if (i < n) flag[i] = i == 0 || key[i] != key[i - 1];
}

__global__ void unique_kernel(int64_t n, const uint64_t *key, const int32_t *index,
                              const int32_t *flag, const int32_t *scan, uint64_t *unique,
                              int32_t *first, int32_t *member)
{
    int64_t i = pt_item();
    if (i >= n) return;
    int32_t rank = scan[i] + flag[i] - 1;
    if (flag[i]) {
        unique[rank] = key[i];
        if (first) first[rank] = (int32_t)i;
    }
    if (member) member[index[i]] = rank;
}

/* 1: of the voxels in the cell of 2^bits voxels an edge that holds key[me], it is the first. They
 * lie in rows of x; those before its own are searched, and its own up to it. */
__device__ int first_of_cell(const uint64_t *key, int64_t me, int bits)
{
    uint64_t k = key[me], m = 0x3ffff, more = ((uint64_t)1 << bits) - 1;
    uint64_t x = (k & m) & ~more, y = k >> 18 & m, z = k >> 36 & m;
    for (uint64_t zz = z & ~more; zz <= z; zz++) {
        uint64_t last = zz == z ? y : y | more;
        for (uint64_t yy = y & ~more; yy <= last; yy++) {
            uint64_t want = (k >> 54) << 54 | zz << 36 | yy << 18 | x;
            int64_t lo = 0, hi = me;
            while (lo < hi) {
                int64_t mid = (lo + hi) / 2;
                if (key[mid] < want)
                    lo = mid + 1;
                else
                    hi = mid;
            }
            if (lo < me && key[lo] <= (want | more)) return 0;
        }
    }
    return 1;
}

/* The first of a cell is the first of each smaller cell that it lies in. */
__global__ void count_coarser_kernel(int64_t n, const uint64_t *key, const int32_t *v, int levels,
                                     int32_t *count)
{
    int64_t i = pt_item();
    if (i >= n || i >= *v) return;
    for (int l = 0; l < levels && first_of_cell(key, i, l + 1); l++) atomicAdd(&count[l], 1);
}

extern "C" pt_status pt_k_voxel_keys(pt_device *d, int64_t n, const float *coord,
                                     const int32_t *slot, const float *voxel, uint64_t *key,
                                     int32_t *index)
{
    return LAUNCH(voxel_keys_kernel, n, coord, slot, voxel, key, index);
}

extern "C" pt_status pt_k_coarse_keys(pt_device *d, int64_t n, const uint64_t *fine, uint64_t *key,
                                      int32_t *index)
{
    return LAUNCH(coarse_keys_kernel, n, fine, key, index);
}

extern "C" pt_status pt_k_sort(pt_device *d, int64_t n, uint64_t *key, int32_t *index,
                               uint64_t *tmp_key, int32_t *tmp_index)
{
    uint64_t *k[2] = {key, tmp_key};
    int32_t *x[2] = {index, tmp_index};
    int at = 0;
    pt_status st = PT_OK;
    for (int64_t run = 1; run < n && st == PT_OK; run *= 2, at ^= 1)
        st = LAUNCH(merge_kernel, n, run, k[at], x[at], k[at ^ 1], x[at ^ 1]);
    if (st != PT_OK || at == 0) return st;
    st = PT_CUDA(cudaMemcpyAsync(key, tmp_key, sizeof *key * (size_t)n, cudaMemcpyDeviceToDevice,
                                 d->stream));
    if (st != PT_OK) return st;
    return PT_CUDA(cudaMemcpyAsync(index, tmp_index, sizeof *index * (size_t)n,
                                   cudaMemcpyDeviceToDevice, d->stream));
}

extern "C" pt_status pt_k_count_coarser(pt_device *d, int64_t n, const uint64_t *key,
                                        const int32_t *v, int levels, int32_t *count)
{
    pt_status st = pt_zero(d, count, sizeof *count * (size_t)levels);
    return st == PT_OK ? LAUNCH(count_coarser_kernel, n, key, v, levels, count) : st;
}

extern "C" pt_status pt_k_heads(pt_device *d, int64_t n, const uint64_t *key, int32_t *flag)
{
    return LAUNCH(heads_kernel, n, key, flag);
}

extern "C" pt_status pt_k_unique(pt_device *d, int64_t n, const uint64_t *key, const int32_t *index,
                                 const int32_t *flag, const int32_t *scan, uint64_t *unique,
                                 int32_t *first, int32_t *member)
{
    return LAUNCH(unique_kernel, n, key, index, flag, scan, unique, first, member);
}
