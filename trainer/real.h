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
#endif
