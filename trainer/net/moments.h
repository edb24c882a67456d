/* moments.h - what batch norm learns of a batch, put together from its pieces. Pure C, in double.
 *
 * A set of one norm over c channels is 1 + 4 c numbers: n, mean [c] and M2 [c] of the voxels that
 * the piece owns (M2: sum of (x - mean)^2), then the mean [c] and 1 / sd [c] that its voxels were
 * normalised by. A voxel is owned by the piece that owns its first point, a coarse cell by the
 * piece that owns its first voxel: the halo brings whole voxels along, so that each of a batch's
 * voxels is owned once. The sets of a net's norms lie one after the other. */
#ifndef PT_MOMENTS_H
#define PT_MOMENTS_H
#include "error.h"
#include "real.h"
#include <stddef.h>
#include <stdint.h>

#define PT_NORM_EPSILON  1e-5 /* under the root */
#define PT_NORM_MOMENTUM 0.1  /* share of a batch in the running statistics */

typedef struct pt_moments {
    int norms, *channels; /* [norms] */
    size_t size;          /* numbers of a set of all norms */
    double *whole;        /* [size]: what was added up; of a norm, n, mean and M2 count */
    double *piece;        /* [pieces, size] */
    int64_t pieces, room;
} pt_moments;

static inline size_t pt_moments_size(int channels)
{
    return 1 + 4 * (size_t)channels;
}

pt_status pt_moments_open(pt_moments *m, int norms, const int *channels);
void pt_moments_close(pt_moments *m);
void pt_moments_reset(pt_moments *m); /* no piece */
/* Room for one piece more: what can fail of adding it. */
pt_status pt_moments_reserve(pt_moments *m);
/* Adds a piece, by the formula of Chan, Golub and LeVeque 1979: d = mean_b - mean_a, n = n_a + n_b,
 * mean = mean_a + d n_b / n, M2 = M2_a + M2_b + d^2 n_a n_b / n. Reserved before. */
void pt_moments_add(pt_moments *m, const double *set);

/* before, after: of each norm mean [c], then variance [c]. after = before + momentum * (batch -
 * before); the batch's variance is M2 / (n - 1), as in cuDNN. A norm of which fewer than 2 voxels
 * were trained stays as it is. */
void pt_moments_running(const pt_moments *m, double momentum, const real *before, real *after);

/* How far apart the statistics that pieces were normalised by are from those of the whole batch, of
 * the worst norm, channel and piece:
 *   mean:  |mean_piece - mean_whole| / sqrt(M2_whole / n_whole + epsilon)
 *   scale: |sd_piece / sd_whole - 1|, sd = sqrt(variance + epsilon)
 * 0 for a batch that was not split, but for rounding. In the first norm the whole batch's are those
 * of the unsplit batch; in a later one they are of the activations that the pieces made of it. */
typedef struct pt_norm_bias {
    double mean, scale;             /* over all norms */
    double first_mean, first_scale; /* of the first */
} pt_norm_bias;
pt_norm_bias pt_moments_bias(const pt_moments *m, double epsilon);

#endif
