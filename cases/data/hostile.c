/* hostile.c - headers that lie or ask for what is not read, each with the words of the refusal. */
#define _GNU_SOURCE
#include "case.h"
#include "files.h"
#include "read.h"
#include <sys/stat.h>
#include <unistd.h>

/* Parses bytes of exactly this size, so that ASan sees a byte too many. */
static pt_status parse(const char *ending, const void *bytes, size_t n)
{
    char path[32];
    unsigned char *copy = malloc(n ? n : 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    snprintf(path, sizeof path, "dir/a%s", ending);
    pt_part part[PT_MAX_PARTS] = {{path, copy, n}};
    pt_raw raw = {0};
    pt_status st = pt_format_of(path)->parse(part, &raw);
    pt_raw_free(&raw);
    free(copy);
    return st;
}

static void refused(const char *ending, const void *bytes, size_t n, const char *says)
{
    char start[40];
    snprintf(start, sizeof start, "dir/a%s: ", ending);
    pt_status st = parse(ending, bytes, n);
    const char *said = pt_error_last()->message;
    ck_assert_msg(st == PT_ERR_INPUT, "accepted, though to be refused with: %s", says);
    ck_assert_msg(!strncmp(said, start, strlen(start)) && strstr(said, says),
                  "expected \"%s\" in: %s", says, said);
}

static int find(const char *name, int n, made *m)
{
    for (int k = 0; k < made_count(); k++) {
        make(k, n, 0, m);
        if (!strcmp(m->name, name)) return k;
    }
    ck_abort_msg("no file is called %s", name);
    return -1;
}

static void put(unsigned char *p, uint64_t v, int n)
{
    for (int i = 0; i < n; i++) p[i] = (unsigned char)(v >> 8 * i);
}

START_TEST(las_headers_that_lie)
{
    static const struct {
        int at, bytes;
        uint64_t value;
        const char *says;
    } lies[] = {{0, 1, 'l', "byte 0: not a LAS file"},
                {24, 1, 2, "byte 24: LAS version 2.4"},
                {25, 1, 5, "byte 24: LAS version 1.5"},
                {94, 2, 227, "byte 94: truncated: a header of LAS 1.4 has at least 375 bytes"},
                {94, 2, 0xffff, "byte 96: truncated: points begin at byte 381"},
                {96, 4, 0xffffffff, "byte 96: truncated: points begin at byte 4294967295"},
                {96, 4, 0, "byte 96: truncated: points begin at byte 0"},
                {104, 1, 11, "byte 104: point format 11, 0 to 10 are read"},
                {104, 1, 0x87, "byte 104: compressed (LAZ) points are not read; decompress"},
                {104, 1, 0x47, "byte 104: compressed (LAZ)"},
                {105, 2, 0, "byte 105: records of 0 bytes, point format 7 has at least 36"},
                {105, 2, 35, "byte 105: records of 35 bytes"},
                {105, 2, 0xffff, "byte 247: truncated: the header promises 2 points"},
                {107, 4, 0xffffffff, NULL}, /* in favour of the 64-bit count */
                {247, 8, UINT64_MAX, "byte 247: truncated: the header promises 184467440737095516"},
                {247, 8, 3, "byte 247: truncated: the header promises 3 points, the file holds 2"},
                {247, 8, 0, "no points"},
                {131, 8, 0, "byte 131: the scale of x is 0"},
                {139, 8, 0x7ff8000000000000u, "byte 139: the scale of y is nan"},
                {171, 8, 0x7ff0000000000000u, "byte 171: the offset of z is inf"}};
    static made m;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        find("LAS 1.4, point format 7, 0 extra bytes", 2, &m);
        put(m.bytes[0] + lies[i].at, lies[i].value, lies[i].bytes);
        if (lies[i].says)
            refused(".las", m.bytes[0], m.n[0], lies[i].says);
        else
            ck_assert_int_eq(parse(".las", m.bytes[0], m.n[0]), PT_OK);
    }
    find("LAS 1.4, point format 7, 0 extra bytes", 2, &m);
    m.bytes[0][104] |= 0x80;
    refused(".laz", m.bytes[0], m.n[0], "compressed (LAZ) points are not read");
}
END_TEST

/* A text with one piece of it replaced. */
static size_t changed(const made *m, const char *from, const char *to, char *out)
{
    const char *text = (const char *)m->bytes[0], *at = memmem(text, m->n[0], from, strlen(from));
    ck_assert_msg(at != NULL, "%s: there is no \"%s\"", m->name, from);
    size_t before = (size_t)(at - text), after = m->n[0] - before - strlen(from);
    memcpy(out, text, before);
    memcpy(out + before, to, strlen(to));
    memcpy(out + before + strlen(to), at + strlen(from), after);
    return before + strlen(to) + after;
}

typedef struct change {
    const char *from, *to, *says; /* says NULL: is read all the same */
} change;

static void each(const char *name, const char *ending, const change *c, size_t n)
{
    static made m;
    static char text[2 * FILE_ROOM];
    find(name, 2, &m);
    for (size_t i = 0; i < n; i++) {
        size_t size = changed(&m, c[i].from, c[i].to, text);
        if (c[i].says)
            refused(ending, text, size, c[i].says);
        else
            ck_assert_msg(parse(ending, text, size) == PT_OK, "%s -> %s: %s", c[i].from, c[i].to,
                          pt_error_last()->message);
    }
}
#define EACH(name, ending, c) each(name, ending, c, sizeof(c) / sizeof *(c))

START_TEST(ply_headers_that_lie)
{
    static const change ascii[] = {
        {"ply\n", "ply \r\n", NULL}, /* blanks at the end of lines are common */
        {"end_header\n", "end_header \n", NULL},
        {"ply\n", "plx\n", "line 1: not a PLY file"},
        {"format ascii", "format utf8", "line 2: unknown format"},
        {"format ascii 1.0\n", "", "the header names no format"},
        {"element vertex 2", "element vertex 9223372036854775807",
         "truncated: the header promises 9223372036854775807 items"},
        {"element face 1", "element face 4000000000", "truncated: the header promises 4000000000"},
        {"element vertex 2", "element vertex -1", "line 6: an element without a whole number"},
        {"element vertex 2", "element vertex 3", "truncated: the file ends inside item 2"},
        {"element vertex 2", "element vertex 1", "bytes follow the 1 points"},
        {"element vertex 2", "element vertices 2", "no points: there is no element vertex"},
        {"property float x", "property list uchar float x", "the vertices have no x, y and z"},
        {"property float x", "property quad x", "line 7: unknown type of a property"},
        {"property list uchar ushort ring", "property list float ushort ring",
         "line 10: unknown type of a list property"},
        {"property float x", "property x", "line 7: a property without type or name"},
        {"element face", "property int i\nelement face", "line 4: a property before any element"},
        {"comment made", "remark made", "line 3: a line that PLY headers do not have"},
        {"3 0 1 2\n", "-3 0 1 2\n", "a list of -3 items"},
        {"3 0 1 2\n", "1.5 0 1 2\n", "a list of 1.5 items"},
        {"3 0 1 2\n", "1e300 0 1 2\n", "the file ends inside item 0"},
        {"\n1 2 0.5", "\n1 two 0.5", "line 19: not a number"},
        {" 10 5\n", " 10 70000\n", "point 1: class 70000 is not a whole number below 65536"},
        {" 10 5\n", " 10 4.5\n", "point 1: class 4.5"},
        {" 10 5\n", " 10 nan\n", "point 1: class"}};
    static const change binary[] = {
        {"element vertex 2", "element vertex 9223372036854775807", "truncated: the header"},
        {"element vertex 2", "element vertex 4000000000", "truncated: the header promises"},
        {"element face 1", "element face 1000000", "truncated: the header promises 1000000"}};
    EACH("PLY ascii, float, uchar", ".ply", ascii);
    EACH("PLY binary_little_endian, float, uchar", ".ply", binary);
}
END_TEST

START_TEST(pcd_headers_that_lie)
{
    static const change ascii[] = {
        {"HEIGHT 1", "HEIGHT 1\r", NULL},
        {"VIEWPOINT 0 0 0 1 0 0 0\n", "", NULL},
        {"POINTS 2\n", "", NULL},
        {"VERSION 0.7\n", "VERSION 0.7\n\n# a remark\n", NULL},
        {"VERSION", "PERVERSION", "line 2: not a line of a PCD header"},
        {"DATA ascii", "DATA text", "line 11: DATA is not ascii, binary or binary_compressed"},
        {"WIDTH 2", "WIDTH 3", "line 11: 2 points, but WIDTH x HEIGHT is 3"},
        {"WIDTH 2", "WIDTH 2\nWIDTH 2", "line 8: WIDTH twice"},
        {"WIDTH 2", "WIDTH -2", "line 7: WIDTH is not a whole number"},
        {"WIDTH 2", "WIDTH 99999999999999999999", "line 7: WIDTH is not a whole number"},
        {"WIDTH 2", "WIDTH 4000000000000000000", "truncated: 4000000000000000000 x 1 points"},
        {"HEIGHT 1", "HEIGHT 4000000000000000000", "truncated: 2 x 4000000000000000000 points"},
        {"WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2",
         "WIDTH 2000\nHEIGHT 1\nPOINTS 2000", "line 10: truncated: the header promises 2000"},
        {"WIDTH 2\n", "", "no WIDTH before DATA"},
        {"FIELDS X Y Z", "FIELDS X Y Q", "the fields have no x, y and z"},
        {"FIELDS X Y Z", "FIELDS X Y Z Q", "line 4: SIZE has 8 words, FIELDS has 9"},
        {"FIELDS X Y Z", "FIELDS X Y", "line 4: SIZE has more than 7 words"},
        {"SIZE 4 8", "SIZE 4 3", "field Y of TYPE F and SIZE 3"},
        {"SIZE 4 8", "SIZE 4 2", "field Y of TYPE F and SIZE 2"},
        {"SIZE 4 8", "SIZE 4 800", "line 4: SIZE 800"},
        {"SIZE 4 8", "SIZE 4 0", "field Y of TYPE F and SIZE 0"},
        {"TYPE F F", "TYPE F X", "line 5: TYPE X is not F, I or U"},
        {"COUNT 1", "COUNT 0", "line 6: COUNT 0 is not within 1..100000"},
        {"COUNT 1", "COUNT 2000000000", "line 6: COUNT 2000000000"},
        {"COUNT 1", "COUNT 100000", "truncated: the header promises 2 points"},
        {"\n1 2 0.5", "\n1 2", "line 13: point 1 ends inside field _"},
        {"\n1 2 0.5", "\n1 2 0.5 0.5", "line 13: more than the 9 numbers of a point"},
        {"\n1 2 0.5", "\n1 2,5 0.5", "line 13: not a number"},
        {"301 0 0\n", "301 0 0\n5\n", "text after the 2 points"}};
    static const change binary[] = {
        {"WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2", "WIDTH 1\nHEIGHT 1\nPOINTS 1",
         "1 points of 25 bytes are promised, 50 bytes are there"},
        {"COUNT 1 1", "COUNT 1 100000", "2 points of 800017 bytes are promised, 50 bytes"}};
    static const change compressed[] = {{"WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2",
                                         "WIDTH 3\nHEIGHT 1\nPOINTS 3",
                                         "50 bytes cannot be 3 points of 25"}};
    static made m;
    EACH("PCD ascii, three colours", ".pcd", ascii);
    EACH("PCD binary, three colours", ".pcd", binary);
    EACH("PCD binary_compressed, three colours", ".pcd", compressed);
    /* a size of 25 times 160,000,000, for which there would be memory, from 40 packed bytes */
    static char text[2 * FILE_ROOM];
    find("PCD binary_compressed, three colours", 2, &m);
    size_t n = changed(&m, "WIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2",
                       "WIDTH 3000\nHEIGHT 1\nPOINTS 3000", text);
    unsigned char *data = (unsigned char *)memmem(text, n, "compressed\n", 11) + 11;
    put(data + 4, 3000 * 25, 4);
    refused(".pcd", text, n, "75000 bytes cannot be 3000 points of 25");
    put(data, 0xffffffff, 4);
    refused(".pcd", text, n, "4294967295 packed bytes are promised");
}
END_TEST

START_TEST(npy_headers_that_lie)
{
    static const struct {
        const char *text, *says;
    } headers[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", NULL},
        {"{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}", NULL},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
         "the array is in Fortran order"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", "neither False nor True"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "big endian"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", "numbers of type \"<f2\""},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }", "numbers of type \"|O\""},
        {"{'descr': '<U4', 'fortran_order': False, 'shape': (2, 3), }", "numbers of type \"<U4\""},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (6,), }", "not a short"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "bytes follow the 2 x 2"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "truncated: 2 x 4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }",
         "truncated: 4611686018427387904 x 4"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 4), }",
         "not a whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", "not a whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 1), }", "one or two dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "a single number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 6, }", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "expected N x 3, 4, 6 or 7"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "bytes follow the 0 x 3"},
        {"{'descr': '<f4', 'fortran_order': False, }", "lacks one of"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }", "names \"descr\" twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'x': 1}", "names \"x\""},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } 5", "text after"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", "one or two dimensions"},
        {"('descr')", "not a dictionary"}};
    unsigned char p[300];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        size_t n = strlen(headers[i].text);
        memset(p, 0, sizeof p);
        memcpy(p, "\x93NUMPY\1", 7);
        put(p + 8, n, 2);
        memcpy(p + 10, headers[i].text, n);
        if (headers[i].says)
            refused(".npy", p, n + 10 + 24, headers[i].says);
        else
            ck_assert_msg(parse(".npy", p, n + 10 + 24) == PT_OK, "%s: %s", headers[i].text,
                          pt_error_last()->message);
    }
    put(p + 8, 0xffff, 2);
    refused(".npy", p, 100, "byte 8: truncated: a header of 65535 bytes");
    p[6] = 2;
    put(p + 8, 0xffffffff, 4);
    refused(".npy", p, 100, "byte 8: truncated: a header of 4294967295 bytes");
    p[6] = 4;
    refused(".npy", p, 100, "byte 6: NPY version 4");
}
END_TEST

static const case_entry cases[] = {
#include "hostile.def"
};
CASE_MAIN("hostile")
