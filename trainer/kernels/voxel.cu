/* voxel.cu - what a voxel knows of its points: mean feature, own points per label. Points of a
 * voxel come in the order of their rows, in a piece as in the whole, so the mean is the same in
 * every bit. */
#include "kernels/launch.cuh"

__global__ void voxel_mean_kernel(int64_t items, int64_t v, int64_t n, const int32_t *first,
                                  const int32_t *index, const real *feature, real *mean)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t end = i + 1 < v ? first[i + 1] : n, begin = first[i];
    real sum[PT_FEATURES] = {0};
    for (int64_t p = begin; p < end; p++)
        for (int c = 0; c < PT_FEATURES; c++)
            sum[c] += feature[(int64_t)index[p] * PT_FEATURES + c];
    for (int c = 0; c < PT_FEATURES; c++) mean[i * PT_FEATURES + c] = sum[c] / (real)(end - begin);
}

__global__ void voxel_labels_kernel(int64_t items, int64_t v, int64_t n, int classes,
                                    const int32_t *first, const int32_t *index,
                                    const int32_t *label, const uint8_t *own, int32_t *count)
{
    int64_t i = pt_item();
    if (i >= items) return;
    int64_t end = i + 1 < v ? first[i + 1] : n;
    for (int c = 0; c < classes; c++) count[i * classes + c] = 0;
    for (int64_t p = first[i]; p < end; p++) {
        int32_t l = label[index[p]];
        if (own[index[p]] && l >= 0 && l < classes) count[i * classes + l]++;
    }
}

extern "C" pt_status pt_k_voxel_mean(pt_device *d, int64_t v, int64_t n, const int32_t *first,
                                     const int32_t *index, const real *feature, real *mean)
{
    return LAUNCH(voxel_mean_kernel, v, v, n, first, index, feature, mean);
}

extern "C" pt_status pt_k_voxel_labels(pt_device *d, int64_t v, int64_t n, int classes,
                                       const int32_t *first, const int32_t *index,
                                       const int32_t *label, const uint8_t *own, int32_t *count)
{
    return LAUNCH(voxel_labels_kernel, v, v, n, classes, first, index, label, own, count);
}
