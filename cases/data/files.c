/* files.c - writers of the formats, each as small as the format's description allows. */
#include "files.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void raw(made *m, int part, const void *p, size_t n)
{
    memcpy(m->bytes[part] + m->n[part], p, n);
    m->n[part] += n;
}
static void le(made *m, int part, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) m->bytes[part][m->n[part]++] = (unsigned char)(v >> 8 * i);
}
static void real(made *m, int part, double x, int bytes, int big)
{
    float f = (float)x;
    uint64_t u = 0;
    uint32_t low;
    memcpy(&low, &f, 4);
    memcpy(&u, &x, 8);
    if (bytes == 4) u = low;
    for (int i = 0; i < bytes; i++)
        m->bytes[part][m->n[part]++] = (unsigned char)(u >> 8 * (big ? bytes - 1 - i : i));
}
#define say(m, part, ...)                                                      \
    ((m)->n[part] += (size_t)snprintf((char *)(m)->bytes[part] + (m)->n[part], \
                                      FILE_ROOM - (m)->n[part], __VA_ARGS__))

static double odd_y; /* of the last point, unless 0 */
static double coordinate(int n, int i, int a)
{
    return a == 0 ? i : a == 2 ? i * 0.5 : odd_y != 0 && i == n - 1 ? odd_y : i * 2;
}
static int colour(int i, int c)
{
    return c == 0 ? 50 * i : c == 1 ? 255 - 50 * i : 7;
}

static void las(made *m, int n, int format, int minor, int extra)
{
    static const int size[] = {20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67};
    static const int rgb[] = {0, 0, 20, 28, 0, 28, 0, 30, 30, 0, 30};
    int header = minor == 4 ? 375 : minor == 3 ? 235 : 227, wide = format > 5;
    unsigned char *p = m->bytes[0];
    snprintf(m->name, sizeof m->name, "LAS 1.%d, point format %d, %d extra bytes", minor, format,
             extra);
    strcpy(m->file[0], "a.las");
    m->first_class = wide ? 200 : 27; /* 31 is the last of 5 bits */
    m->colour = rgb[format] != 0;
    m->intensity = 1;
    memcpy(p, "LASF", 4);
    p[24] = 1, p[25] = (unsigned char)minor;
    m->n[0] = 94;
    le(m, 0, (uint64_t)header, 2);
    le(m, 0, (uint64_t)header + 6, 4); /* a gap before the points */
    m->n[0] = 104;
    le(m, 0, (uint64_t)format, 1);
    le(m, 0, (uint64_t)(size[format] + extra), 2);
    le(m, 0, wide ? 0 : (uint64_t)n, 4);
    m->n[0] = 131;
    for (int a = 0; a < 3; a++) real(m, 0, 0.25, 8, 0);
    for (int a = 0; a < 3; a++) real(m, 0, 1000, 8, 0);
    if (minor == 4) {
        m->n[0] = 247;
        le(m, 0, (uint64_t)n, 8);
    }
    m->n[0] = (size_t)header + 6;
    for (int i = 0; i < n; i++) {
        size_t start = m->n[0];
        for (int a = 0; a < 3; a++) le(m, 0, (uint64_t)(coordinate(n, i, a) * 4), 4);
        le(m, 0, 10 * (uint64_t)i, 2);
        /* formats 0-5: the flags synthetic, key point and withheld lie above the class */
        p[start + (wide ? 16 : 15)] = (unsigned char)((wide ? 0 : 0xe0) | (m->first_class + i));
        m->n[0] = start + (size_t)rgb[format];
        for (int c = 0; c < 3 && rgb[format]; c++) le(m, 0, 257 * (uint64_t)colour(i, c), 2);
        m->n[0] = start + (size_t)(size[format] + extra);
        for (int k = 1; k <= extra; k++) p[m->n[0] - (size_t)k] = 0xff;
    }
}

/* format 0 ascii, 1 little, 2 big endian; new_names: the second spelling of the types */
static void ply(made *m, int n, int format, int new_names, int wide)
{
    static const char *const formats[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    const char *u8 = new_names ? "uint8" : "uchar";
    const char *real_type =
        wide ? (new_names ? "float64" : "double") : (new_names ? "float32" : "float");
    snprintf(m->name, sizeof m->name, "PLY %s, %s, %s", formats[format], real_type, u8);
    strcpy(m->file[0], "a.ply");
    m->first_class = format ? 40 : 4; /* one digit: a shorter text has no class */
    m->colour = m->intensity = m->floats = 1;
    m->text = format == 0;
    say(m, 0, "ply\nformat %s 1.0\ncomment made\n", formats[format]);
    say(m, 0, "element face 1\nproperty list %s %s vertex_indices\n", u8,
        new_names ? "int32" : "int");
    say(m, 0, "element vertex %d\n", n);
    for (int a = 0; a < 3; a++) say(m, 0, "property %s %c\n", real_type, "xyz"[a]);
    say(m, 0, "property list %s %s ring\n", u8, new_names ? "uint16" : "ushort");
    say(m, 0, "property %s red\nproperty %s green\nproperty %s blue\n", u8, u8, u8);
    say(m, 0, "property %s intensity\nproperty %s label\nend_header\n",
        new_names ? "int16" : "short", u8);
    if (format == 0)
        say(m, 0, "3 0 1 2\n");
    else {
        le(m, 0, 3, 1);
        for (int i = 0; i < 3; i++) le(m, 0, 0, 4);
    }
    for (int i = 0; i < n; i++) {
        int class = m->first_class + i;
        if (format == 0) {
            for (int a = 0; a < 3; a++) say(m, 0, "%g ", coordinate(n, i, a));
            say(m, 0, "2 7 7 %d %d %d %d %d\n", colour(i, 0), colour(i, 1), colour(i, 2), 10 * i,
                class);
            continue;
        }
        for (int a = 0; a < 3; a++) real(m, 0, coordinate(n, i, a), wide ? 8 : 4, format == 2);
        le(m, 0, 2, 1); /* the ring: two ushorts, alike in both orders */
        le(m, 0, 0x01010101, 4);
        for (int c = 0; c < 3; c++) le(m, 0, (uint64_t)colour(i, c), 1);
        le(m, 0, format == 2 ? 10 * (uint64_t)i << 8 : 10 * (uint64_t)i, 2);
        le(m, 0, (uint64_t) class, 1);
    }
}

size_t lzf_pack(const unsigned char *in, size_t n, unsigned char *out)
{
    size_t i = 0, o = 0, plain = 0; /* plain: bytes of the item at out[o - plain - 1] */
    while (i < n) {
        size_t best = 0, back = 0;
        for (size_t d = 1; d <= i && d <= 8192; d++) {
            size_t k = 0;
            while (k < 264 && i + k < n && in[i + k] == in[i + k - d]) k++;
            if (k > best) best = k, back = d - 1;
        }
        if (best >= 3) {
            size_t length = best - 2;
            out[o++] = (unsigned char)((length < 7 ? length : 7) << 5 | back >> 8);
            if (length >= 7) out[o++] = (unsigned char)(length - 7);
            out[o++] = (unsigned char)back;
            i += best;
            plain = 0;
            continue;
        }
        if (plain == 0 || plain == 32) {
            o++;
            plain = 0;
        }
        out[o++] = in[i++];
        plain++;
        out[o - plain - 1] = (unsigned char)(plain - 1);
    }
    return o;
}

/* format 0 ascii, 1 binary, 2 packed; packed: colours in one number, as a float or an integer */
static void pcd(made *m, int n, int format, int packed, int unused)
{
    static const char *const formats[] = {"ascii", "binary", "binary_compressed"};
    unsigned char plain[FILE_ROOM];
    made columns;
    int size[8], fields = packed ? 7 : 8;
    (void)unused;
    memset(&columns, 0, sizeof columns);
    snprintf(m->name, sizeof m->name, "PCD %s, %s", formats[format],
             packed == 0   ? "three colours"
             : packed == 1 ? "rgb as a float"
                           : "rgb as an integer");
    strcpy(m->file[0], "a.pcd");
    m->first_class = 300;
    m->colour = m->floats = 1;
    m->text = format == 0;
    say(m, 0, "# .PCD v0.7\nVERSION 0.7\n");
    if (packed)
        say(m, 0,
            "FIELDS x y z rgb normal label _\nSIZE 4 8 4 4 4 2 1\nTYPE F F F %c F U U\n"
            "COUNT 1 1 1 1 3 1 2\n",
            packed == 1 ? 'F' : 'U');
    else
        say(m, 0,
            "FIELDS X Y Z Red Green Blue Classification _\nSIZE 4 8 4 1 1 1 4 1\n"
            "TYPE F F F U U U I U\nCOUNT 1 1 1 1 1 1 1 2\n");
    memcpy(size, packed ? (int[]){4, 8, 4, 4, 12, 2, 2, 0} : (int[]){4, 8, 4, 1, 1, 1, 4, 2},
           sizeof size);
    say(m, 0, "WIDTH %d\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %d\nDATA %s\n", n, n,
        formats[format]);
    for (int i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)(colour(i, 0) << 16 | colour(i, 1) << 8 | colour(i, 2));
        float as_float;
        memcpy(&as_float, &bits, 4);
        if (format == 0) {
            for (int a = 0; a < 3; a++) say(m, 0, "%g ", coordinate(n, i, a));
            if (packed == 0)
                say(m, 0, "%d %d %d", colour(i, 0), colour(i, 1), colour(i, 2));
            else if (packed == 1)
                say(m, 0, "%.9g 0 0 1", (double)as_float);
            else
                say(m, 0, "%u 0 0 1", bits);
            say(m, 0, " %d 0 0\n", m->first_class + i);
            continue;
        }
        for (int a = 0; a < 3; a++) real(&columns, 0, coordinate(n, i, a), size[a], 0);
        if (packed) {
            le(&columns, 0, bits, 4);
            le(&columns, 0, 0, 8);
            real(&columns, 0, 1, 4, 0);
        } else
            for (int c = 0; c < 3; c++) le(&columns, 0, (uint64_t)colour(i, c), 1);
        le(&columns, 0, (uint64_t)(m->first_class + i), packed ? 2 : 4);
        le(&columns, 0, 0, 2);
    }
    if (format == 1) raw(m, 0, columns.bytes[0], columns.n[0]);
    if (format != 2) return;
    size_t record = n ? columns.n[0] / (size_t)n : 0, at = 0, o = 0;
    for (int f = 0; f < fields; at += (size_t)size[f++])
        for (int i = 0; i < n; i++, o += (size_t)size[f])
            memcpy(plain + o, columns.bytes[0] + record * (size_t)i + at, (size_t)size[f]);
    size_t packed_size = lzf_pack(plain, o, columns.bytes[1]);
    le(m, 0, packed_size, 4);
    le(m, 0, o, 4);
    raw(m, 0, columns.bytes[1], packed_size);
}

static void kitti(made *m, int n, int a, int b, int c)
{
    (void)a, (void)b, (void)c;
    strcpy(m->name, "SemanticKITTI");
    strcpy(m->file[0], "000001.bin");
    strcpy(m->file[1], "000001.label");
    m->parts = 2;
    m->first_class = 252;
    m->intensity = m->floats = 1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) real(m, 0, coordinate(n, i, k), 4, 0);
        real(m, 0, i * 0.25, 4, 0);
        le(m, 1, (uint64_t)(252 + i) | 77u << 16, 4); /* instance 77 */
    }
}

static void flat(made *m, int n, int a, int b, int c)
{
    (void)a, (void)b, (void)c;
    strcpy(m->name, "float32 [N, 6] and int64 [N]");
    strcpy(m->file[0], "room.f32");
    strcpy(m->file[1], "room.i64");
    m->parts = 2;
    m->first_class = 1000;
    m->colour = m->floats = 1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) real(m, 0, coordinate(n, i, k), 4, 0);
        for (int k = 0; k < 3; k++) real(m, 0, colour(i, k), 4, 0);
        le(m, 1, (uint64_t)(1000 + i), 8);
    }
}

static void npy_header(made *m, int part, int version, const char *type, int rows, int cols)
{
    char text[200], shape[40];
    if (cols)
        snprintf(shape, sizeof shape, "(%d, %d)", rows, cols);
    else
        snprintf(shape, sizeof shape, "(%d,)", rows);
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     type, shape);
    int start = version == 1 ? 10 : 12;
    while ((start + n + 1) % 64) text[n++] = ' ';
    text[n++] = '\n';
    raw(m, part, "\x93NUMPY", 6);
    le(m, part, (uint64_t)version, 1);
    le(m, part, 0, 1);
    le(m, part, (uint64_t)n, version == 1 ? 2 : 4);
    raw(m, part, text, (size_t)n);
}

static void npy(made *m, int n, int version, int wide, int unused)
{
    (void)unused;
    snprintf(m->name, sizeof m->name, "NPY version %d, %s [N, 7]", version, wide ? "<f8" : "<f4");
    strcpy(m->file[0], "a.npy");
    m->first_class = 8;
    m->colour = m->floats = 1;
    npy_header(m, 0, version, wide ? "<f8" : "<f4", n, 7);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) real(m, 0, coordinate(n, i, k), wide ? 8 : 4, 0);
        for (int k = 0; k < 3; k++) real(m, 0, colour(i, k), wide ? 8 : 4, 0);
        real(m, 0, 8 + i, wide ? 8 : 4, 0);
    }
}

static void npy_folder(made *m, int n, int bytes, int version, int unused)
{
    static const char *const files[] = {"coord.npy", "color.npy", "normal.npy", "segment.npy"};
    (void)unused;
    snprintf(m->name, sizeof m->name, "a folder of NPY version %d, classes of %d bytes", version,
             bytes);
    for (int k = 0; k < 4; k++) strcpy(m->file[k], files[k]);
    m->parts = 4;
    m->first_class = 13;
    m->colour = m->floats = 1;
    npy_header(m, 0, version, "<f4", n, 3);
    npy_header(m, 1, version, "|u1", n, 3);
    npy_header(m, 2, version, "<f8", n, 3);
    npy_header(m, 3, version, bytes == 8 ? "<i8" : "<i4", n, bytes == 8 ? 0 : 1);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) real(m, 0, coordinate(n, i, k), 4, 0);
        for (int k = 0; k < 3; k++) le(m, 1, (uint64_t)colour(i, k), 1);
        for (int k = 0; k < 3; k++) real(m, 2, k == 2, 8, 0);
        le(m, 3, (uint64_t)(13 + i), bytes);
    }
}

static const struct {
    void (*make)(made *m, int n, int a, int b, int c);
    int a, b, c;
} table[] = {{las, 0, 0, 0}, {las, 0, 1, 0},   {las, 0, 2, 3},        {las, 1, 1, 0},
             {las, 1, 2, 0}, {las, 2, 2, 0},   {las, 3, 2, 0},        {las, 3, 4, 27},
             {las, 4, 3, 0}, {las, 5, 3, 0},   {las, 6, 4, 0},        {las, 7, 4, 0},
             {las, 7, 4, 5}, {las, 8, 4, 0},   {las, 9, 4, 0},        {las, 10, 4, 0},
             {ply, 0, 0, 0}, {ply, 0, 1, 1},   {ply, 1, 0, 0},        {ply, 1, 1, 1},
             {ply, 2, 0, 1}, {ply, 2, 1, 0},   {pcd, 0, 0, 0},        {pcd, 0, 1, 0},
             {pcd, 0, 2, 0}, {pcd, 1, 0, 0},   {pcd, 1, 1, 0},        {pcd, 2, 0, 0},
             {pcd, 2, 2, 0}, {kitti, 0, 0, 0}, {flat, 0, 0, 0},       {npy, 1, 0, 0},
             {npy, 2, 1, 0}, {npy, 3, 0, 0},   {npy_folder, 8, 1, 0}, {npy_folder, 4, 2, 0}};

int made_count(void)
{
    return (int)(sizeof table / sizeof *table);
}

void make(int k, int n, double odd, made *out)
{
    memset(out, 0, sizeof *out);
    out->parts = 1;
    odd_y = odd;
    table[k].make(out, n, table[k].a, table[k].b, table[k].c);
}

int write_made(const made *m, const char *folder)
{
    char path[600];
    for (int p = 0; p < m->parts; p++) {
        snprintf(path, sizeof path, "%s/%s", folder, m->file[p]);
        FILE *f = fopen(path, "wb");
        if (!f) return 0;
        size_t n = fwrite(m->bytes[p], 1, m->n[p], f);
        if (fclose(f) != 0 || n != m->n[p]) return 0;
    }
    return 1;
}
