/* area.h - the bytes that a copy or a set writes: rows of a width, a pitch apart, in slices. */
#ifndef OP_AREA_H
#define OP_AREA_H
#include <stddef.h>

typedef struct op_area {
    void *to;
    size_t width, pitch, rows, slice, slices; /* bytes; slice: from one to the next */
} op_area;
#define LINE(to, n)           ((op_area){to, n, 0, 1, 0, 1})
#define RECT(to, pitch, w, h) ((op_area){to, w, pitch, h, 0, 1})
#define BLOCK(p, e) \
    ((op_area){(p).ptr, (e).width, (p).pitch, (e).height, (p).pitch * (p).ysize, (e).depth})

static inline size_t op_area_bytes(op_area a)
{
    return a.width * a.rows * a.slices;
}

#endif
