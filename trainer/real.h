/* real.h - the precision of the build. Coordinates are float in both, so that both builds put each
 * point into the same voxel. */
#ifndef PT_REAL_H
#define PT_REAL_H
#ifdef PT_DOUBLE
typedef double real;
#define PT_REAL_NAME "double"
#else
typedef float real;
#define PT_REAL_NAME "float"
#endif

/* What the convolutions multiply as; sums, everything else and the state stay `real`. */
typedef enum pt_amp { PT_AMP_OFF, PT_AMP_FP16, PT_AMP_BF16 } pt_amp;

#endif
