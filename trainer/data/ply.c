/* ply.c - PLY, ascii and binary in both byte orders, both spellings of the types (Turk 1994). Only
 * the element "vertex" is kept; other elements and list properties are stepped over. */
#include "data.h"
#include "read.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PROPERTIES = 128, MAX_ELEMENTS = 32 };
typedef enum type { T_NONE, T_I8, T_U8, T_I16, T_U16, T_I32, T_U32, T_F32, T_F64 } type;
typedef struct property {
    type type, list; /* list: type of the length, T_NONE for a plain property */
    pt_role role;
} property;
typedef struct element {
    int vertex;
    int64_t n;
    property p[MAX_PROPERTIES];
    int np;
} element;
typedef struct reader {
    const char *path;
    const unsigned char *start, *at, *end;
    int line, format; /* 0 ascii, 1 little, 2 big endian */
    element *e;
    int ne;
} reader;

static type type_named(const char *s)
{
    static const char *const names[][2] = {
        {"char", "int8"}, {"uchar", "uint8"}, {"short", "int16"},   {"ushort", "uint16"},
        {"int", "int32"}, {"uint", "uint32"}, {"float", "float32"}, {"double", "float64"}};
    for (int i = 0; i < 8; i++)
        if (!strcmp(s, names[i][0]) || !strcmp(s, names[i][1])) return (type)(i + 1);
    return T_NONE;
}

static int size_of(type t)
{
    static const int size[] = {0, 1, 1, 2, 2, 4, 4, 4, 8};
    return size[t];
}

/* One header line without its end; 0: none left. */
static int next_line(reader *r, char *out, size_t room)
{
    const unsigned char *eol = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!eol) return 0;
    size_t n = (size_t)(eol - r->at);
    if (n >= room) n = room - 1;
    memcpy(out, r->at, n);
    out[n] = 0;
    while (n && (out[n - 1] == '\r' || out[n - 1] == ' ' || out[n - 1] == '\t')) out[--n] = 0;
    r->at = eol + 1;
    r->line++;
    return 1;
}

static pt_status bad(const reader *r, const char *what)
{
    return pt_fail(PT_ERR_INPUT, "%s: line %d: %s", r->path, r->line, what);
}

static pt_status read_property(reader *r, const char *line)
{
    char a[32], b[32], c[64], d[64];
    if (r->ne == 0) return bad(r, "a property before any element");
    element *e = &r->e[r->ne - 1];
    if (e->np == MAX_PROPERTIES) return bad(r, "too many properties");
    property *p = &e->p[e->np];
    if (sscanf(line, "property list %31s %31s %63s", a, b, c) == 3) {
        *p = (property){type_named(b), type_named(a), PT_ROLE_NONE};
        if (!p->type || !p->list || p->list >= T_F32)
            return bad(r, "unknown type of a list property");
    } else if (sscanf(line, "property %31s %63s", a, d) == 2) {
        *p = (property){type_named(a), T_NONE, pt_role_named(d)};
        if (!p->type) return bad(r, "unknown type of a property");
    } else
        return bad(r, "a property without type or name");
    e->np++;
    return PT_OK;
}

static pt_status read_header(reader *r)
{
    char line[1024], word[64], version[16];
    if (!next_line(r, line, sizeof line) || strcmp(line, "ply"))
        return bad(r, "not a PLY file: its first line is not ply");
    r->format = -1;
    for (;;) {
        pt_status st = PT_OK;
        if (!next_line(r, line, sizeof line))
            return bad(r, "truncated: the header has no end_header");
        if (!strcmp(line, "end_header")) break;
        if (!strncmp(line, "comment", 7) || !strncmp(line, "obj_info", 8) || !*line) continue;
        if (sscanf(line, "format %63s %15s", word, version) == 2) {
            r->format = !strcmp(word, "ascii")                  ? 0
                        : !strcmp(word, "binary_little_endian") ? 1
                        : !strcmp(word, "binary_big_endian")    ? 2
                                                                : -1;
            if (r->format < 0) return bad(r, "unknown format");
        } else if (!strncmp(line, "element ", 8)) {
            long long n;
            int read = 0;
            if (sscanf(line, "element %63s %lld%n", word, &n, &read) != 2 || n < 0 ||
                line[read + strspn(line + read, " \t")])
                return bad(r, "an element without a whole number of items");
            if (r->ne == MAX_ELEMENTS) return bad(r, "too many elements");
            r->e[r->ne++] = (element){.vertex = !strcmp(word, "vertex"), .n = n};
        } else if (!strncmp(line, "property ", 9))
            st = read_property(r, line);
        else
            return bad(r, "a line that PLY headers do not have");
        if (st != PT_OK) return st;
    }
    return r->format < 0 ? bad(r, "the header names no format") : PT_OK;
}

static int read_binary(reader *r, type t, double *out)
{
    int n = size_of(t);
    unsigned char b[8];
    uint64_t u = 0;
    if (r->end - r->at < n) return 0;
    for (int i = 0; i < n; i++) b[i] = r->at[r->format == 2 ? n - 1 - i : i];
    for (int i = n - 1; i >= 0; i--) u = u << 8 | b[i];
    r->at += n;
    float f;
    uint32_t low = (uint32_t)u;
    switch (t) {
    case T_I8: *out = (int8_t)u; break;
    case T_I16: *out = (int16_t)u; break;
    case T_I32: *out = (int32_t)u; break;
    case T_F32:
        memcpy(&f, &low, 4);
        *out = (double)f;
        break;
    case T_F64: memcpy(out, &u, 8); break;
    default: *out = (double)u; break;
    }
    return 1;
}

static int read_ascii(reader *r, double *out)
{
    char word[64];
    size_t n = 0;
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n'))
        r->line += *r->at++ == '\n';
    while (r->at<r->end && * r->at> ' ' && n < sizeof word - 1) word[n++] = (char)*r->at++;
    word[n] = 0;
    char *end;
    *out = strtod(word, &end);
    return n && !*end && (r->at == r->end || *r->at <= ' '); /* a longer word is not a number */
}

static pt_status value(reader *r, type t, int64_t row, double *out)
{
    if (r->format ? read_binary(r, t, out) : read_ascii(r, out)) return PT_OK;
    r->line += !r->format; /* it counts the line ends before; the place is the line after */
    if (!r->format && r->at < r->end) return bad(r, "not a number");
    return pt_fail(PT_ERR_INPUT, "%s: byte %td: truncated: the file ends inside item %lld", r->path,
                   r->at - r->start, (long long)row);
}

static pt_status read_element(reader *r, const element *e, pt_raw *raw)
{
    pt_status st = PT_OK;
    for (int64_t i = 0; i < e->n; i++)
        for (int k = 0; k < e->np; k++) {
            const property *p = &e->p[k];
            double x, count = 1;
            if (p->list) TRY(value(r, p->list, i, &count));
            if (!(count >= 0) || count != floor(count))
                return pt_fail(PT_ERR_INPUT, "%s: byte %td: a list of %g items", r->path,
                               r->at - r->start, count);
            for (double j = 0; j < count; j++) {
                TRY(value(r, p->type, i, &x));
                if (e->vertex) TRY(pt_raw_set(r->path, raw, i, p->role, x));
            }
        }
done:
    return st;
}

/* What follows the last item is more than the header promised. */
static pt_status nothing_left(reader *r, const element *e)
{
    while (!r->format && r->at < r->end && *r->at <= ' ') r->line += *r->at++ == '\n';
    if (r->format ? r->end - r->at < 4 : r->at == r->end)
        return PT_OK; /* a stray line end is none */
    return pt_fail(PT_ERR_INPUT,
                   "%s: byte %td: %td bytes follow the %lld points that the header promises",
                   r->path, r->at - r->start, r->end - r->at, (long long)e->n);
}

/* Smallest bytes that n items can take: a promise larger than the file is refused before memory is.
 */
static int fits(const reader *r, const element *e)
{
    int64_t least = 0;
    for (int k = 0; k < e->np; k++)
        least += r->format ? size_of(e->p[k].list ? e->p[k].list : e->p[k].type) : 2;
    if (!r->format && least) least--; /* the last number needs no blank */
    return e->n <= (int64_t)(r->end - r->at + 1) / (least ? least : 1);
}

/* The points of the first element vertex; what lies before it is stepped over. */
static pt_status read_elements(reader *r, pt_raw *raw)
{
    for (int i = 0; i < r->ne; i++) {
        const element *e = &r->e[i];
        int roles = 0;
        pt_status st = PT_OK;
        for (int k = 0; k < e->np; k++) {
            roles |= 1 << e->p[k].role;
            if (e->vertex && e->p[k].role == PT_ROLE_RED && e->p[k].type == T_U8) raw->full = 255;
        }
        if (!fits(r, e))
            return pt_fail(PT_ERR_INPUT,
                           "%s: byte %td: truncated: the header promises %lld items, the file "
                           "cannot hold them",
                           r->path, r->at - r->start, (long long)e->n);
        if (e->vertex) {
            float full = raw->full;
            if ((roles >> PT_ROLE_X & 7) != 7) return bad(r, "the vertices have no x, y and z");
            if ((st = pt_raw_alloc(r->path, raw, e->n)) != PT_OK) return st;
            raw->full = full;
        }
        st = read_element(r, e, raw);
        if (st == PT_OK && i == r->ne - 1) st = nothing_left(r, e);
        if (st != PT_OK || e->vertex) return st;
    }
    return bad(r, "no points: there is no element vertex");
}

pt_status pt_parse_ply(const pt_part *part, pt_raw *raw)
{
    reader r = {
        .path = part->path, .start = part->bytes, .at = part->bytes, .end = part->bytes + part->n};
    if (!(r.e = calloc(MAX_ELEMENTS, sizeof *r.e)))
        return pt_fail(PT_ERR_HOST, "%s: no host memory", part->path);
    pt_status st = read_header(&r);
    if (st == PT_OK) st = read_elements(&r, raw);
    free(r.e);
    return st;
}
