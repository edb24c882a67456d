/* read.h - private to data/: what the readers share, and the table of formats. */
#ifndef PT_READ_H
#define PT_READ_H
#include "data.h"
#include <stddef.h>
#include <string.h>

#define PT_MAX_POINTS ((int64_t)1 << 30) /* of a scene */

/* The whole file in memory (malloc'ed). Regular files only. */
pt_status pt_slurp(const char *path, unsigned char **bytes, size_t *n);
/* The same of a text: a NUL byte in it is an error. */
pt_status pt_slurp_text(const char *path, unsigned char **bytes, size_t *n);

/* A file of a scene, as a reader sees it. Nothing may be read at or after bytes + n. */
typedef struct pt_part {
    const char *path;
    const unsigned char *bytes; /* NULL: an optional file that is not there */
    size_t n;
} pt_part;

/* "FILE: byte OFFSET: reason" */
#define pt_bad_byte(part, at, ...) pt_bad_byte_(part, at, __VA_ARGS__, "")
#define pt_bad_byte_(part, at, format, ...) \
    pt_fail(PT_ERR_INPUT, "%s: byte %zu: " format "%s", (part)->path, (size_t)(at), __VA_ARGS__)

/* What a reader fills before pt_finish_scene: coordinates in double, features 0..3 raw. */
typedef struct pt_raw {
    int64_t n;
    double *xyz;        /* [n, 3] */
    float *colour;      /* [n, 4] red green blue intensity, as in the file */
    int32_t *raw_class; /* [n] 0..PT_RAW_CLASSES-1; PT_IGNORE, as at first: no class is known */
    float full;         /* the brightest colour there can be; 0: to be seen from the colours */
} pt_raw;
/* n must be known to fit what the file holds. */
pt_status pt_raw_alloc(const char *path, pt_raw *r, int64_t n);
void pt_raw_free(pt_raw *r);

/* What a named column of a file is to a scene. */
typedef enum pt_role {
    PT_ROLE_NONE,
    PT_ROLE_X,
    PT_ROLE_Y,
    PT_ROLE_Z,
    PT_ROLE_RED,
    PT_ROLE_GREEN,
    PT_ROLE_BLUE,
    PT_ROLE_INTENSITY,
    PT_ROLE_CLASS
} pt_role;
pt_role pt_role_named(const char *column);
/* Puts a value of point i where its role says. A class must be a whole number; a negative one is
 * no class. */
pt_status pt_raw_set(const char *path, pt_raw *r, int64_t i, pt_role role, double x);

/* Refuses NaN and infinity by point, subtracts the origin, checks the extent against the voxel
 * size, scales colours and intensity by the file's largest, makes the features and labels. */
pt_status pt_finish_scene(const char *path, const pt_raw *r, const pt_class_map *map,
                          pt_scene *out);

/* A format: how its files are known, which other files belong to one, and its reader, which fills
 * *raw from the parts; the caller frees it, also after a failure. */
enum { PT_MAX_PARTS = 4 };
typedef struct pt_format {
    const char *ending; /* of the first part, in any case; also a whole name: "coord.npy" */
    pt_status (*parse)(const pt_part *part, pt_raw *raw);
    /* Where the other parts may lie, from the first one's folder; '*' is its name without ending */
    const char *part[PT_MAX_PARTS - 1][2];
    int needed; /* a scene without these parts is refused */
} pt_format;
extern const pt_format pt_formats[]; /* the last has no ending */
const pt_format *pt_format_of(const char *path);

pt_status pt_parse_las(const pt_part *part, pt_raw *raw);
pt_status pt_parse_ply(const pt_part *part, pt_raw *raw);
pt_status pt_parse_pcd(const pt_part *part, pt_raw *raw);
pt_status pt_parse_kitti(const pt_part *part, pt_raw *raw);
pt_status pt_parse_flat(const pt_part *part, pt_raw *raw);
pt_status pt_parse_npy(const pt_part *part, pt_raw *raw);
pt_status pt_parse_npy_folder(const pt_part *part, pt_raw *raw);
/* text is changed; it ends with a NUL byte. */
pt_status pt_class_map_parse(const char *path, char *text, pt_class_map *out);

/* Unpacks an LZF block of n bytes to exactly `room` bytes: 1, or 0 and in *at the offset in `in` of
 * what is wrong. */
int pt_lzf(const unsigned char *in, size_t n, unsigned char *out, size_t room, size_t *at);

/* Numbers of a file, little endian and not aligned. */
static inline uint64_t pt_le(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}
static inline double pt_le_double(const unsigned char *p)
{
    uint64_t bits = pt_le(p, 8);
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}
static inline float pt_le_float(const unsigned char *p)
{
    uint32_t bits = (uint32_t)pt_le(p, 4);
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* A number of a file by its kind: 'f', 'i' or 'u', of 1, 2, 4 or 8 bytes. */
int pt_number_known(char kind, int size);
double pt_number(const unsigned char *p, char kind, int size);

#endif
