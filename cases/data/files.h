/* files.h - the same small scene in every format that is read, made in memory: what the cases of
 * the readers and the seeds of the fuzzer are. */
#ifndef FILES_H
#define FILES_H
#include <stddef.h>

enum { FILE_PARTS = 4, FILE_ROOM = 4096 };

typedef struct made {
    char name[64];             /* what it is, for messages */
    int parts;                 /* files; the first is the one to read */
    char file[FILE_PARTS][32]; /* their names in one folder */
    unsigned char bytes[FILE_PARTS][FILE_ROOM];
    size_t n[FILE_PARTS];
    int first_class;       /* point i has class first_class + i */
    int colour, intensity; /* whether it holds them */
    int floats;            /* coordinates may be NaN */
    int text;              /* a file without its last byte may still be whole */
} made;

/* How many there are, and number k with n points. Point i lies at (i, 2 i, i / 2), has the colour
 * (50 i, 255 - 50 i, 7) of 255 and the intensity 10 i, for n up to 5. odd: y of the last point
 * unless it is 0. */
int made_count(void);
void make(int k, int n, double odd, made *out);

/* Writes the files of m into a folder; 0: that went wrong. */
int write_made(const made *m, const char *folder);

/* Packs n bytes as LZF with every kind of item; returns the packed size, at most n + n / 32 + 1. */
size_t lzf_pack(const unsigned char *in, size_t n, unsigned char *out);

#endif
