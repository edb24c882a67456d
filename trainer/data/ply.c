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
typedef enum role {
    R_SKIP,
    R_X,
    R_Y,
    R_Z,
    R_RED,
    R_GREEN,
    R_BLUE,
    R_INTENSITY,
    R_CLASS,
    R_COUNT
} role;

typedef struct property {
    type type, list; /* list: type of the length, T_NONE for a plain property */
    role role;
} property;
typedef struct element {
    int vertex;
    int64_t n;
    property p[MAX_PROPERTIES];
    int np;
} element;
typedef struct reader {
    const char *path;
    const unsigned char *at, *end;
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

static role role_named(const char *s)
{
    static const struct {
        const char *name;
        role role;
    } known[] = {{"x", R_X},
                 {"y", R_Y},
                 {"z", R_Z},
                 {"red", R_RED},
                 {"green", R_GREEN},
                 {"blue", R_BLUE},
                 {"r", R_RED},
                 {"g", R_GREEN},
                 {"b", R_BLUE},
                 {"diffuse_red", R_RED},
                 {"diffuse_green", R_GREEN},
                 {"diffuse_blue", R_BLUE},
                 {"intensity", R_INTENSITY},
                 {"scalar_Intensity", R_INTENSITY},
                 {"scalar_intensity", R_INTENSITY},
                 {"label", R_CLASS},
                 {"class", R_CLASS},
                 {"classification", R_CLASS},
                 {"scalar_Classification", R_CLASS},
                 {"scalar_label", R_CLASS},
                 {"scalar_Label", R_CLASS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(s, known[i].name)) return known[i].role;
    return R_SKIP;
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
    if (n && out[n - 1] == '\r') out[n - 1] = 0;
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
        *p = (property){type_named(b), type_named(a), R_SKIP};
        if (!p->type || !p->list || p->list >= T_F32)
            return bad(r, "unknown type of a list property");
    } else if (sscanf(line, "property %31s %63s", a, d) == 2) {
        *p = (property){type_named(a), T_NONE, role_named(d)};
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
        return pt_fail(PT_ERR_INPUT, "%s: not a PLY file", r->path);
    r->format = -1;
    for (;;) {
        pt_status st = PT_OK;
        if (!next_line(r, line, sizeof line))
            return pt_fail(PT_ERR_INPUT, "%s: truncated: the header has no end_header", r->path);
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
    return r->format < 0 ? pt_fail(PT_ERR_INPUT, "%s: the header names no format", r->path) : PT_OK;
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
    if (!r->format && r->at < r->end) return bad(r, "not a number");
    return pt_fail(PT_ERR_INPUT, "%s: truncated: the file ends inside item %lld", r->path,
                   (long long)row);
}

static pt_status read_element(reader *r, const element *e, pt_raw *raw)
{
    pt_status st = PT_OK;
    for (int64_t i = 0; i < e->n; i++)
        for (int k = 0; k < e->np; k++) {
            const property *p = &e->p[k];
            double x, count = 1;
            if (p->list) TRY(value(r, p->list, i, &count));
            if (!(count >= 0)) return bad(r, "a list of negative length");
            for (double j = 0; j < count; j++) {
                TRY(value(r, p->type, i, &x));
                if (!e->vertex || p->role == R_SKIP) continue;
                if (p->role <= R_Z)
                    raw->xyz[3 * i + p->role - R_X] = x;
                else if (p->role <= R_INTENSITY)
                    raw->colour[4 * i + p->role - R_RED] = (float)x;
                else if (x >= 0 && x <= 255)
                    raw->raw_class[i] = (uint8_t)x;
                else
                    return pt_fail(PT_ERR_INPUT, "%s: point %lld: class %g is not within 0..255",
                                   r->path, (long long)i, x);
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
    return pt_fail(PT_ERR_INPUT, "%s: %lld bytes follow the %lld points that the header promises",
                   r->path, (long long)(r->end - r->at), (long long)e->n);
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

pt_status pt_read_ply(const char *path, const pt_class_map *map, pt_scene *out)
{
    unsigned char *bytes = NULL;
    size_t n = 0;
    pt_raw raw = {0};
    reader r = {.path = path};
    pt_status st = PT_OK;
    int found = 0;
    TRY(pt_slurp(path, &bytes, &n));
    r.at = bytes;
    r.end = bytes + n;
    if (!(r.e = calloc(MAX_ELEMENTS, sizeof *r.e))) {
        st = pt_fail(PT_ERR_HOST, "%s: no host memory", path);
        goto done;
    }
    TRY(read_header(&r));
    for (int i = 0; i < r.ne && !found; i++) {
        const element *e = &r.e[i];
        int roles = 0;
        for (int k = 0; k < e->np; k++) roles |= e->p[k].list ? 0 : 1 << e->p[k].role;
        if (!fits(&r, e)) {
            st = pt_fail(PT_ERR_INPUT,
                         "%s: truncated: the header promises %lld items, the file cannot hold them",
                         path, (long long)e->n);
            goto done;
        }
        if (e->vertex) {
            if ((roles >> R_X & 7) != 7) {
                st = pt_fail(PT_ERR_INPUT, "%s: the vertices have no x, y and z", path);
                goto done;
            }
            TRY(pt_raw_alloc(path, &raw, e->n));
            found = 1;
        }
        TRY(read_element(&r, e, &raw));
        if (i == r.ne - 1) TRY(nothing_left(&r, e));
    }
    if (!found) {
        st = pt_fail(PT_ERR_INPUT, "%s: no points: there is no element vertex", path);
        goto done;
    }
    TRY(pt_finish_scene(path, &raw, map, out));
done:
    free(r.e);
    free(bytes);
    pt_raw_free(&raw);
    return st;
}
