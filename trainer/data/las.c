/* las.c - LAS 1.0 to 1.4, point formats 0-3 and 6-7, with extra bytes (ASPRS LAS specification 1.4
 * R15). Everything is read byte by byte: the format is little endian, the fields are not aligned.
 */
#include "data.h"
#include "read.h"
#include <stdlib.h>
#include <string.h>

static uint64_t le(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
    return v;
}

static double le_double(const unsigned char *p)
{
    uint64_t bits = le(p, 8);
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Where things lie in a point record; -1: not there. */
typedef struct layout {
    int bytes, rgb, class_at, class_mask;
} layout;

static int layout_of(int format, layout *out)
{
    static const layout known[] = {
        [0] = {20, -1, 15, 31}, [1] = {28, -1, 15, 31},  [2] = {26, 20, 15, 31},
        [3] = {34, 28, 15, 31}, [6] = {30, -1, 16, 255}, [7] = {36, 30, 16, 255}};
    if (format < 0 || format > 7 || format == 4 || format == 5) return 0;
    *out = known[format];
    return 1;
}

typedef struct header {
    int minor, format, record;
    uint64_t start, count;
    double scale[3], offset[3];
    layout at;
} header;

static pt_status read_header(const char *path, const unsigned char *p, size_t n, header *h)
{
    if (n < 4 || memcmp(p, "LASF", 4) != 0)
        return pt_fail(PT_ERR_INPUT, "%s: not a LAS file", path);
    if (n < 227)
        return pt_fail(PT_ERR_INPUT, "%s: truncated: %zu bytes, a LAS header has at least 227",
                       path, n);
    h->minor = p[25];
    if (p[24] != 1 || h->minor > 4)
        return pt_fail(PT_ERR_INPUT, "%s: LAS version %d.%d, 1.0 to 1.4 are read", path, p[24],
                       p[25]);
    uint64_t header_bytes = le(p + 94, 2);
    h->start = le(p + 96, 4);
    h->format = p[104];
    h->record = (int)le(p + 105, 2);
    h->count = le(p + 107, 4);
    if (h->minor == 4) {
        if (header_bytes < 375 || n < 375)
            return pt_fail(PT_ERR_INPUT, "%s: truncated: a LAS 1.4 header has 375 bytes", path);
        if (le(p + 247, 8)) h->count = le(p + 247, 8);
    }
    if (h->format & 0xc0)
        return pt_fail(PT_ERR_INPUT,
                       "%s: compressed (LAZ) points are not read; decompress to LAS first", path);
    if (!layout_of(h->format, &h->at))
        return pt_fail(PT_ERR_INPUT, "%s: point format %d is not read; 0-3, 6 and 7 are", path,
                       h->format);
    if (h->record < h->at.bytes)
        return pt_fail(PT_ERR_INPUT, "%s: records of %d bytes, point format %d has at least %d",
                       path, h->record, h->format, h->at.bytes);
    if (header_bytes < 227 || h->start < header_bytes || h->start > n)
        return pt_fail(PT_ERR_INPUT, "%s: truncated: points begin at byte %llu, the file has %zu",
                       path, (unsigned long long)h->start, n);
    for (int a = 0; a < 3; a++) {
        h->scale[a] = le_double(p + 131 + 8 * a);
        h->offset[a] = le_double(p + 155 + 8 * a);
    }
    if (h->count == 0) return pt_fail(PT_ERR_INPUT, "%s: no points", path);
    if (h->count > (n - h->start) / (unsigned)h->record)
        return pt_fail(PT_ERR_INPUT,
                       "%s: truncated: the header promises %llu points, the file holds %llu", path,
                       (unsigned long long)h->count,
                       (unsigned long long)((n - h->start) / (unsigned)h->record));
    return PT_OK;
}

pt_status pt_read_las(const char *path, const pt_class_map *map, pt_scene *out)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    header h = {0};
    pt_raw raw = {0};
    pt_status st = PT_OK;
    TRY(pt_slurp(path, &bytes, &n));
    TRY(read_header(path, bytes, n, &h));
    TRY(pt_raw_alloc(path, &raw, (int64_t)h.count));
    for (int64_t i = 0; i < raw.n; i++) {
        const unsigned char *p = bytes + h.start + (size_t)i * (size_t)h.record;
        for (int a = 0; a < 3; a++)
            raw.xyz[3 * i + a] = (double)(int32_t)le(p + 4 * a, 4) * h.scale[a] + h.offset[a];
        raw.colour[4 * i + 3] = (float)le(p + 12, 2);
        for (int c = 0; c < 3 && h.at.rgb >= 0; c++)
            raw.colour[4 * i + c] = (float)le(p + h.at.rgb + 2 * c, 2);
        raw.raw_class[i] = (uint8_t)(p[h.at.class_at] & h.at.class_mask);
    }
    TRY(pt_finish_scene(path, &raw, map, out));
done:
    free(bytes);
    pt_raw_free(&raw);
    return st;
}
