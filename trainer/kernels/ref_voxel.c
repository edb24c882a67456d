/* ref_voxel.c - reference of voxel.cu. Goes over points, where the kernel goes over voxels. */
#include "kernels/ref.h"
#include "recovery/fragment.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void ref_voxel_mean(int64_t v, int64_t n, const int32_t *member, const real *feature, wide *mean,
                    wide *scale)
{
    int64_t *points = calloc((size_t)v + 1, sizeof *points);
    if (!points) abort();
    for (int64_t i = 0; i < v * PT_FEATURES; i++) mean[i] = scale[i] = 0;
    for (int64_t p = 0; p < n; p++) {
        points[member[p]]++;
        for (int c = 0; c < PT_FEATURES; c++) {
            mean[member[p] * PT_FEATURES + c] += feature[p * PT_FEATURES + c];
            scale[member[p] * PT_FEATURES + c] += fabs((double)feature[p * PT_FEATURES + c]);
        }
    }
    /* the sum of k terms is off by at most (k - 1) roundings of sum |x|: k * scale / k */
    for (int64_t i = 0; i < v * PT_FEATURES; i++) mean[i] /= (wide)points[i / PT_FEATURES];
    free(points);
}

void ref_voxel_labels(int64_t v, int64_t n, int classes, const int32_t *member,
                      const int32_t *label, const uint8_t *own, int32_t *count)
{
    memset(count, 0, sizeof *count * (size_t)(v * classes));
    for (int64_t p = 0; p < n; p++)
        if (own[p] && label[p] >= 0 && label[p] < classes) count[member[p] * classes + label[p]]++;
}
