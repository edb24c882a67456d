/* ref.h - every kernel again, in plain C: what the cases hold the device code against. Serial, no
 * CUDA call, floating point in `wide`; inputs are the build's own `real`. Each value that rounding
 * can change comes with a scale: the sum of the absolute values that went into it, so that a case
 * can bound the error by a small multiple of scale * epsilon. Built into the cases only. */
#ifndef PT_REF_H
#define PT_REF_H
#include "kernels/kernels.h"

typedef long double wide;

/* ---- ref_keys.c ---- */
void ref_voxel_keys(int64_t n, const float *coord, const int32_t *slot, const float *voxel,
                    uint64_t *key);
void ref_coarse_keys(int64_t n, const uint64_t *fine, uint64_t *key);
void ref_sort(int64_t n, uint64_t *key, int32_t *index); /* stable */
int64_t ref_unique(int64_t n, const uint64_t *key, const int32_t *index, uint64_t *unique,
                   int32_t *first, int32_t *member); /* of sorted keys; the count */

/* ---- ref_scan.c ---- */
void ref_scan(int64_t n, const int32_t *in, int32_t *out); /* out[n] the total */
void ref_sum(int64_t n, const double *x, wide *sum, wide *scale);
void ref_sum_squares(int64_t n, const real *x, wide *sum);

/* ---- ref_voxel.c ---- */
void ref_voxel_mean(int64_t v, int64_t n, const int32_t *member, const real *feature, wide *mean,
                    wide *scale); /* member[n]: voxel of each point */
void ref_voxel_labels(int64_t v, int64_t n, int classes, const int32_t *member,
                      const int32_t *label, const uint8_t *own, int32_t *count);

/* ---- ref_map.c ---- */
void ref_neighbours(int64_t v, const uint64_t *key, int32_t *table);
void ref_children(int64_t v, const uint64_t *key, const int32_t *parent, int32_t *table);
int64_t ref_pairs(int64_t v, int64_t offsets, const int32_t *table, int32_t *a, int32_t *b);

/* ---- ref_rows.c: exact, in `real` ---- */
void ref_gather(int64_t r, int c, const real *from, const int32_t *row, real *to);
void ref_scatter_add(int64_t r, int c, const real *from, const int32_t *row, real *to);
void ref_concat(int64_t v, int ca, int cb, const real *a, const real *b, real *out);
void ref_split(int64_t v, int ca, int cb, const real *in, real *a, real *b);
void ref_add(int64_t n, const real *from, real *to);
void ref_add_bias(int64_t v, int c, const real *bias, real *x);

/* ---- ref_half.c: exact ---- */
void ref_narrow(int64_t n, pt_amp as, const real *from, uint16_t *to);

/* ---- ref_norm.c ---- */
void ref_layer_norm(int64_t v, int c, const real *x, const real *gamma, const real *beta, wide *y,
                    wide *scale);
void ref_layer_norm_back(int64_t v, int c, const real *x, const real *gamma, const real *mean,
                         const real *inv, const real *dy, wide *dx, wide *scale);
void ref_frozen_inv(int c, const real *var, wide *inv);
void ref_frozen_norm_back(int64_t v, int c, const real *gamma, const real *inv, const real *dy,
                          wide *dx);
/* adds to dgamma and dbeta */
void ref_norm_columns(int64_t v, int c, int per_row, const real *x, const real *mean,
                      const real *inv, const real *dy, wide *dgamma, wide *dbeta, wide *scale_gamma,
                      wide *scale_beta);

/* ---- ref_moments.c ---- */
void ref_first_own(int64_t v, const int32_t *first, const int32_t *index, const uint8_t *own,
                   uint8_t *out);
void ref_moments(int64_t v, int c, const real *x, const uint8_t *own, wide *n, wide *mean,
                 wide *m2);

/* ---- ref_loss.c ---- */
void ref_loss(int64_t v, int classes, const real *logp, const int32_t *count, const real *weight,
              double divisor, double smoothing, wide *dlogits, wide *scale, wide *loss,
              unsigned long long *confusion);

void ref_predict(int64_t n, int classes, const real *logp, const int32_t *member, int32_t *out);

/* ---- ref_dropout.c: exact, in place ---- */
void ref_dropout(int64_t v, int c, const uint64_t *key, const int32_t *scene, uint64_t seed,
                 uint64_t step, double rate, real *x);

/* ---- ref_adamw.c: in place; scale[n] of the parameter's change ---- */
void ref_adamw(int64_t n, const pt_adamw_scalars *s, const real *grad, const uint8_t *decays,
               wide *param, wide *m, wide *v, wide *scale);

/* ---- ref_sgd.c: in place; scale[n] of the momentum ---- */
void ref_sgd(int64_t n, const pt_sgd_scalars *s, const real *grad, const uint8_t *decays,
             wide *param, wide *m, wide *scale);

/* ---- ref_augment.c: in place ---- */
void ref_philox(uint32_t counter[4], uint32_t key0, uint32_t key1); /* counter -> four numbers */
void ref_augment(int64_t n, uint64_t seed, uint64_t step, uint32_t scene, int64_t point0,
                 float strength, float voxel, wide *coord, wide *feature, float elastic,
                 float colour_drop);

#endif
