/* kernels.h - launchers of the device code; each returns when the work is on the device's stream.
 * Every kernel has a reference in plain C beside it (ref.h), which the cases hold it against. No
 * kernel adds floating-point numbers in an order that depends on scheduling: two runs are equal in
 * every bit.
 *
 * V: voxels, N: points, R: rows of a list, C: channels, K: classes. */
#ifndef PT_KERNELS_H
#define PT_KERNELS_H
#ifdef __cplusplus
extern "C" {
#endif
#include "device/device.h"
#include "real.h"
#include <stdint.h>

/* ---- voxels: keys.cu ---- */
/* slot:10 | z:18 | y:18 | x:18, each coordinate floor(x / voxel) + PT_VOXEL_BIAS */
pt_status pt_k_voxel_keys(pt_device *d, int64_t n, const float *coord, const int32_t *slot,
                          const float *voxel, uint64_t *key, int32_t *index);
/* keys of the next level (coordinates halved), index 0..n-1 */
pt_status pt_k_coarse_keys(pt_device *d, int64_t n, const uint64_t *fine, uint64_t *key,
                           int32_t *index);
/* count[l]: voxels of the l + 1st level after that of the sorted unique keys, of which there are *v
 * (on the device), n at most */
pt_status pt_k_count_coarser(pt_device *d, int64_t n, const uint64_t *key, const int32_t *v,
                             int levels, int32_t *count);
/* Stable sort of (key, index); the result is in key/index, tmp_* are of the same size. */
pt_status pt_k_sort(pt_device *d, int64_t n, uint64_t *key, int32_t *index, uint64_t *tmp_key,
                    int32_t *tmp_index);
/* flag[i] = 1 where a new key begins */
pt_status pt_k_heads(pt_device *d, int64_t n, const uint64_t *key, int32_t *flag);
/* rank[i] (inclusive scan of flag, less one) -> unique keys, first[v] of each, member[index[i]] =
 * rank */
pt_status pt_k_unique(pt_device *d, int64_t n, const uint64_t *key, const int32_t *index,
                      const int32_t *flag, const int32_t *scan, uint64_t *unique, int32_t *first,
                      int32_t *member);

/* ---- scan.cu: exclusive sum; tmp holds pt_k_scan_room(n) elements; out[n] is the total ---- */
size_t pt_k_scan_room(int64_t n);
pt_status pt_k_scan(pt_device *d, int64_t n, const int32_t *in, int32_t *out, int32_t *tmp);

/* ---- voxel.cu ---- */
/* mean feature of each voxel's points [V, F], and how many own points of each label [V, K] */
pt_status pt_k_voxel_mean(pt_device *d, int64_t v, int64_t n, const int32_t *first,
                          const int32_t *index, const real *feature, real *mean);
pt_status pt_k_voxel_labels(pt_device *d, int64_t v, int64_t n, int classes, const int32_t *first,
                            const int32_t *index, const int32_t *label, const uint8_t *own,
                            int32_t *count);

/* ---- map.cu ---- */
/* table[k, v]: voxel at offset k (0..26, x fastest, 13 is the centre) of v, or -1 */
pt_status pt_k_neighbours(pt_device *d, int64_t v, const uint64_t *key, int32_t *table);
/* table[k, v]: the parent of v if v is its k-th child (0..7), else -1 */
pt_status pt_k_children(pt_device *d, int64_t v, const uint64_t *key, const int32_t *parent,
                        int32_t *table);
/* entries >= 0 of table[offsets, v] in order: a[p] = entry, b[p] = v; position from scan of their
 * flags */
pt_status pt_k_table_flags(pt_device *d, int64_t n, const int32_t *table, int32_t *flag);
pt_status pt_k_pairs(pt_device *d, int64_t v, int64_t n, const int32_t *table, const int32_t *scan,
                     int32_t *a, int32_t *b);

/* ---- rows.cu: rows [*, C] ---- */
pt_status pt_k_gather(pt_device *d, int64_t r, int c, const real *from, const int32_t *row,
                      real *to);
pt_status pt_k_scatter_add(pt_device *d, int64_t r, int c, const real *from, const int32_t *row,
                           real *to);
pt_status pt_k_concat(pt_device *d, int64_t v, int ca, int cb, const real *a, const real *b,
                      real *out);
pt_status pt_k_split(pt_device *d, int64_t v, int ca, int cb, const real *in, real *a, real *b);
pt_status pt_k_add(pt_device *d, int64_t n, const real *from, real *to); /* to += from */
pt_status pt_k_add_bias(pt_device *d, int64_t v, int c, const real *bias, real *x);

/* ---- half.cu ---- */
/* to [n], or to [R, C] = from[row[r]], as 16-bit floats, rounded to nearest even. as: not
 * PT_AMP_OFF */
pt_status pt_k_narrow(pt_device *d, int64_t n, pt_amp as, const real *from, uint16_t *to);
pt_status pt_k_gather_narrow(pt_device *d, int64_t r, int c, pt_amp as, const real *from,
                             const int32_t *row, uint16_t *to);

/* ---- norm.cu ---- */
/* y = (x - mean) * inv * gamma + beta, statistics of each row */
pt_status pt_k_layer_norm(pt_device *d, int64_t v, int c, const real *x, const real *gamma,
                          const real *beta, real *y, real *mean, real *inv);
pt_status pt_k_layer_norm_back(pt_device *d, int64_t v, int c, const real *x, const real *gamma,
                               const real *mean, const real *inv, const real *dy, real *dx);
/* the same with statistics given for each channel: inv[c] = 1 / sqrt(var[c] + eps) */
pt_status pt_k_frozen_inv(pt_device *d, int c, const real *var, real *inv);
pt_status pt_k_frozen_norm_back(pt_device *d, int64_t v, int c, const real *gamma, const real *inv,
                                const real *dy, real *dx);
/* dgamma[c] += sum dy * xhat, dbeta[c] += sum dy; statistics a row (per_row) or a channel. gamma's
 * sum is left out where x is NULL. tmp: pt_k_columns_room(v, c) doubles. */
size_t pt_k_columns_room(int64_t v, int c);
pt_status pt_k_norm_columns(pt_device *d, int64_t v, int c, int per_row, const real *x,
                            const real *mean, const real *inv, const real *dy, real *dgamma,
                            real *dbeta, double *tmp);

/* ---- moments.cu: of batch norm ---- */
/* out[i] = own[index[first[i]]], first and index as pt_k_unique has them */
pt_status pt_k_first_own(pt_device *d, int64_t v, const int32_t *first, const int32_t *index,
                         const uint8_t *own, uint8_t *out);
/* out: a set of net/moments.h, over the rows of x [V, C] with own != 0, and used_* [C]. tmp:
 * pt_k_moments_room(v, c) doubles. */
size_t pt_k_moments_room(int64_t v, int c);
pt_status pt_k_moments(pt_device *d, int64_t v, int c, const real *x, const uint8_t *own,
                       const real *used_mean, const real *used_inv, double *out, double *tmp);

/* ---- loss.cu ---- */
/* logp [V, K] -> dlogits [V, K] over grad_divisor, loss of each voxel over divisor; confusion [K,
 * K] counted up. smoothing: share of a point's target that is spread over all classes */
pt_status pt_k_loss(pt_device *d, int64_t v, int classes, const real *logp, const int32_t *count,
                    const real *weight, double divisor, double grad_divisor, double smoothing,
                    real *dlogits, double *loss, unsigned long long *confusion);
/* the most likely class of each point, the first of equals: out[p] for its voxel member[p] */
pt_status pt_k_predict(pt_device *d, int64_t n, int classes, const real *logp,
                       const int32_t *member, int32_t *out);
/* *out = sum of x; tmp: pt_k_sum_room(n) */
size_t pt_k_sum_room(int64_t n);
pt_status pt_k_sum(pt_device *d, int64_t n, const double *x, double *out, double *tmp);
pt_status pt_k_sum_squares(pt_device *d, int64_t n, const real *x, double *out, double *tmp);

/* ---- dropout.cu ---- */
/* x [V, C] in place: channels left out at this rate (0 <= rate < 1), the rest scaled; key [V] of
 * level 0, scene [slots]: position in the batch. Of a gradient: the same mask and scale. */
pt_status pt_k_dropout(pt_device *d, int64_t v, int c, const uint64_t *key, const int32_t *scene,
                       uint64_t seed, uint64_t step, double rate, real *x);

/* ---- adamw.cu ---- */
typedef struct pt_adamw_scalars {
    double lr, beta1, beta2, eps, decay, correction1, correction2, scale;
} pt_adamw_scalars;
pt_status pt_k_adamw(pt_device *d, int64_t n, const pt_adamw_scalars *s, const real *grad,
                     const uint8_t *decays, real *param, real *m, real *v);

/* ---- sgd.cu ---- */
typedef struct pt_sgd_scalars {
    double lr, momentum, decay, scale;
} pt_sgd_scalars;
pt_status pt_k_sgd(pt_device *d, int64_t n, const pt_sgd_scalars *s, const real *grad,
                   const uint8_t *decays, real *param, real *m);

/* ---- augment.cu: see pt_augment_points in net.h ---- */
pt_status pt_k_augment(pt_device *d, int64_t n, uint64_t seed, uint64_t step, uint32_t scene,
                       int64_t point0, float strength, float voxel, float *coord, real *feature,
                       float elastic, float colour_drop);

#ifdef __cplusplus
}
#endif
#endif
