/* read.h - private to data/: what the readers share. */
#ifndef PT_READ_H
#define PT_READ_H
#include "data.h"
#include <stddef.h>

#define PT_MAX_POINTS ((int64_t)1 << 30) /* of a scene */

/* The whole file in memory (malloc'ed). Regular files only. */
pt_status pt_slurp(const char *path, unsigned char **bytes, size_t *n);
/* The same of a text: a NUL byte in it is an error. */
pt_status pt_slurp_text(const char *path, unsigned char **bytes, size_t *n);

/* What a reader fills before pt_finish_scene: coordinates in double, features 0..3 raw. */
typedef struct pt_raw {
    int64_t n;
    double *xyz;        /* [n, 3] */
    float *colour;      /* [n, 4] red green blue intensity, as in the file */
    uint8_t *raw_class; /* [n] */
} pt_raw;
pt_status pt_raw_alloc(const char *path, pt_raw *r, int64_t n);
void pt_raw_free(pt_raw *r);

/* Refuses NaN and infinity by point, subtracts the origin, checks the extent against the voxel
 * size, scales colours and intensity by the file's largest, makes the features and labels. */
pt_status pt_finish_scene(const char *path, const pt_raw *r, const pt_class_map *map,
                          pt_scene *out);

#endif
