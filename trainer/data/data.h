/* data.h - scenes on the host: what the readers and the generator make. */
#ifndef PT_DATA_H
#define PT_DATA_H
#include "error.h"
#include <stdint.h>

#define PT_FEATURES                                                                 \
    6 /* red green blue intensity, each 0..1; height above the scene's lowest point \
         in units of 64 voxels; 1 */
#define PT_IGNORE      (-1) /* label of a point that carries no loss */
#define PT_MAX_CLASSES 64

typedef struct pt_scene {
    char name[256];   /* base name of the file, or "room-17" */
    int64_t n;        /* points, >= 1 */
    double origin[3]; /* subtracted from the file's coordinates: the minimum of each axis */
    float voxel;      /* edge length in the scene's own units */
    float *coord;     /* [n, 3] */
    float *feature;   /* [n, PT_FEATURES] */
    int32_t *label;   /* [n] 0..classes-1 or PT_IGNORE */
} pt_scene;
void pt_scene_free(pt_scene *s); /* frees the arrays, not s; NULL is allowed */

/* A class map: raw class of a file -> training label. Text file, one "from to [name]" a line, to:
 * "ignore" or a number 0..PT_MAX_CLASSES-1, from: a class or "*" for all others, '#' comments. */
#define PT_RAW_CLASSES 65536 /* SemanticKITTI has classes of 16 bits, LAS of 8 */
typedef struct pt_class_map {
    int32_t to[PT_RAW_CLASSES]; /* label or PT_IGNORE */
    int classes;
} pt_class_map;
pt_status pt_class_map_load(const char *path, pt_class_map *out);

/* Reads a scene by the format that its ending names; a folder that holds coord.npy is a scene too.
 * out->voxel is set by the caller before. Points come in file order. map NULL: the raw class is the
 * label. A point without class, or with a negative one, is ignored. NaN and infinite coordinates,
 * truncated files, sizes the file cannot hold are PT_ERR_INPUT: file, byte, line or point, reason.
 */
pt_status pt_read_file(const char *path, const pt_class_map *map, pt_scene *out);

/* A data set: paths (file, folder, list) and "rooms:N[,min=P][,max=P]" in the order given; or
 * "shapes:FILE" alone, a text file with the sizes of the generated rooms of one batch a line. */
typedef struct pt_dataset pt_dataset;
typedef struct pt_data_options {
    const char *const *paths; /* as on the command line */
    int npaths;
    const char *class_map; /* path, or NULL: rooms bring their own labels; files need one */
    float voxel;           /* for scenes whose list entry names none; > 0 */
    int unlabelled;        /* files need no class map: nothing is learnt from them */
    int skip_bad;          /* a bad file is reported on stderr and left out */
    uint64_t seed;         /* of the generated rooms */
} pt_data_options;
pt_status pt_dataset_open(const pt_data_options *o, pt_dataset **out);
void pt_dataset_free(pt_dataset *d);
int pt_dataset_count(const pt_dataset *d);
int pt_dataset_classes(const pt_dataset *d);
int pt_dataset_skipped(const pt_dataset *d);
/* Of shapes:FILE: how many scenes batch b has, from *first; else 0: any may be together. */
int pt_dataset_batch(const pt_dataset *d, int64_t b, int *first);
/* Loads scene i; the caller frees it with pt_scene_free. */
pt_status pt_dataset_load(pt_dataset *d, int i, pt_scene *out);

/* Generated room number i of a seed: labelled floor, walls, table, chairs, pole...; sizes are heavy
 * tailed between its least and its most. Same arguments, same room, on every machine. classes 8 has
 * shelves, which are as high and as grey as cupboards but open, and doors, which are walls' colour
 * and height but stand out of them: neither height nor colour tells them apart. */
#define PT_ROOM_CLASSES 6
#define PT_ROOM_LEAST   500
typedef struct pt_room {
    int64_t least, most; /* points */
    int classes;         /* 6 or 8 */
    float voxel;
} pt_room;
pt_status pt_room_make(uint64_t seed, int i, const pt_room *r, pt_scene *out);
int64_t pt_room_points(uint64_t seed, int i, const pt_room *r); /* its size, without making it */

#endif
