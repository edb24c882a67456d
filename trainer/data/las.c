/* las.c - LAS 1.0 to 1.4, point formats 0-10, with extra bytes (ASPRS LAS specification 1.4 R15).
 * Everything is read byte by byte: the format is little endian, the fields are not aligned. */
#include "data.h"
#include "read.h"
#include <math.h>

/* Where things lie in a point record (tables 7 to 17); rgb 0: no colour. Formats 4, 5, 9 and 10 are
 * 1, 3, 6 and 8 with 29 bytes of a wave packet at their end. */
static const struct layout {
    int bytes, rgb, class_at;
    unsigned char class_mask; /* formats 0-5 keep three flags above the class */
} layouts[] = {{20, 0, 15, 31},   {28, 0, 15, 31},  {26, 20, 15, 31}, {34, 28, 15, 31},
               {57, 0, 15, 31},   {63, 28, 15, 31}, {30, 0, 16, 255}, {36, 30, 16, 255},
               {38, 30, 16, 255}, {59, 0, 16, 255}, {67, 30, 16, 255}};
enum { FORMATS = sizeof layouts / sizeof *layouts };

typedef struct header {
    int format, record;
    uint64_t start, count;
    double scale[3], offset[3];
} header;

/* Byte offsets of the fields of the public header block (table 3) */
enum {
    AT_MAJOR = 24,
    AT_MINOR = 25,
    AT_HEADER_SIZE = 94,
    AT_START = 96,
    AT_FORMAT = 104,
    AT_RECORD = 105,
    AT_COUNT = 107,
    AT_SCALE = 131,
    AT_OFFSET = 155,
    AT_COUNT_64 = 247,
    SIZE_12 = 227,
    SIZE_14 = 375
};

static pt_status transform(const pt_part *f, header *h)
{
    for (int a = 0; a < 3; a++) {
        h->scale[a] = pt_le_double(f->bytes + AT_SCALE + 8 * a);
        h->offset[a] = pt_le_double(f->bytes + AT_OFFSET + 8 * a);
        if (!isfinite(h->scale[a]) || h->scale[a] == 0)
            return pt_bad_byte(f, AT_SCALE + 8 * a, "the scale of %c is %g", "xyz"[a],
                               h -> scale[a]);
        if (!isfinite(h->offset[a]))
            return pt_bad_byte(f, AT_OFFSET + 8 * a, "the offset of %c is %g", "xyz"[a],
                               h -> offset[a]);
    }
    return PT_OK;
}

static pt_status read_header(const pt_part *f, header *h)
{
    const unsigned char *p = f->bytes;
    if (f->n < 4 || memcmp(p, "LASF", 4) != 0)
        return pt_bad_byte(f, 0, "not a LAS file: it does not begin with LASF");
    if (f->n < SIZE_12)
        return pt_bad_byte(f, f->n, "truncated: a LAS header has at least %d bytes", SIZE_12);
    if (p[AT_MAJOR] != 1 || p[AT_MINOR] > 4)
        return pt_bad_byte(f, AT_MAJOR, "LAS version %d.%d, 1.0 to 1.4 are read", p[AT_MAJOR],
                           p[AT_MINOR]);
    if (p[AT_FORMAT] & 0xc0)
        return pt_bad_byte(f, AT_FORMAT,
                           "compressed (LAZ) points are not read; decompress to LAS first, with "
                           "laszip or pdal translate");
    uint64_t header_bytes = pt_le(p + AT_HEADER_SIZE, 2);
    size_t least = p[AT_MINOR] == 4 ? SIZE_14 : SIZE_12, count_at = AT_COUNT;
    h->start = pt_le(p + AT_START, 4);
    h->format = p[AT_FORMAT];
    h->record = (int)pt_le(p + AT_RECORD, 2);
    h->count = pt_le(p + AT_COUNT, 4);
    if (f->n < least || header_bytes < least)
        return pt_bad_byte(f, f->n < least ? f->n : AT_HEADER_SIZE,
                           "truncated: a header of LAS 1.%d has at least %zu bytes", p[AT_MINOR],
                           least);
    if (least == SIZE_14 && pt_le(p + AT_COUNT_64, 8)) {
        count_at = AT_COUNT_64;
        h->count = pt_le(p + AT_COUNT_64, 8);
    }
    if (h->format >= FORMATS)
        return pt_bad_byte(f, AT_FORMAT, "point format %d, 0 to %d are read", h->format,
                           FORMATS - 1);
    if (h->record < layouts[h->format].bytes)
        return pt_bad_byte(f, AT_RECORD, "records of %d bytes, point format %d has at least %d",
                           h->record, h->format, layouts[h->format].bytes);
    if (h->start < header_bytes || h->start > f->n)
        return pt_bad_byte(f, AT_START,
                           "truncated: points begin at byte %llu, the header ends at %llu and the "
                           "file at %zu",
                           (unsigned long long)h->start, (unsigned long long)header_bytes, f->n);
    uint64_t whole = (f->n - h->start) / (unsigned)h->record;
    if (h->count > whole)
        return pt_bad_byte(f, count_at,
                           "truncated: the header promises %llu points, the file holds %llu",
                           (unsigned long long)h->count, (unsigned long long)whole);
    return transform(f, h);
}

pt_status pt_parse_las(const pt_part *part, pt_raw *raw)
{
    header h = {0};
    pt_status st = read_header(part, &h);
    if (st == PT_OK) st = pt_raw_alloc(part->path, raw, (int64_t)h.count);
    if (st != PT_OK) return st;
    const struct layout *at = &layouts[h.format];
    for (int64_t i = 0; i < raw->n; i++) {
        const unsigned char *p = part->bytes + h.start + (size_t)i * (size_t)h.record;
        for (int a = 0; a < 3; a++)
            raw->xyz[3 * i + a] = (double)(int32_t)pt_le(p + 4 * a, 4) * h.scale[a] + h.offset[a];
        for (int c = 0; c < 3 && at->rgb; c++)
            raw->colour[4 * i + c] = (float)pt_le(p + at->rgb + 2 * c, 2);
        raw->colour[4 * i + 3] = (float)pt_le(p + 12, 2);
        raw->raw_class[i] = p[at->class_at] & at->class_mask;
    }
    return PT_OK;
}
