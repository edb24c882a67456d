/* pcd.c - PCD 0.6 and 0.7 (the format's description in the PCL documentation): a header of
 * lines, then the points as ascii, as binary records, or as binary_compressed, one packed column
 * after the other. */
#include "data.h"
#include "read.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum { MAX_FIELDS = 64, LINE = 4096, MAX_COUNT = 100000 };

typedef struct field {
    char name[32], kind; /* 'f', 'i', 'u' */
    int size;
    int64_t count; /* numbers of a point; only the first of several is looked at */
    int64_t at;    /* in a record */
    pt_role role;
    int packed; /* red, green and blue in one number */
} field;

typedef struct reader {
    const pt_part *part;
    size_t at;
    int line;
    field f[MAX_FIELDS];
    int nf, seen;                             /* header lines seen: 1 << index in `keys` */
    int64_t n, width, height, record, values; /* of a point: bytes, numbers */
} reader;

enum { VERSION, FIELDS, SIZE, TYPE, COUNT, WIDTH, HEIGHT, VIEWPOINT, POINTS, DATA, KEYS };
static const char *const keys[] = {"VERSION", "FIELDS", "SIZE",      "TYPE",   "COUNT",
                                   "WIDTH",   "HEIGHT", "VIEWPOINT", "POINTS", "DATA"};

#define bad(r, ...) bad_(r, __VA_ARGS__, "")
#define bad_(r, format, ...) \
    pt_fail(PT_ERR_INPUT, "%s: line %d: " format "%s", (r)->part->path, (r)->line, __VA_ARGS__)

/* The next line without its end; 0: none is left, or it is too long for a header. */
static int next_line(reader *r, char *out)
{
    const unsigned char *p = r->part->bytes + r->at;
    const unsigned char *eol = memchr(p, '\n', r->part->n - r->at);
    size_t n = eol ? (size_t)(eol - p) : 0;
    r->line++;
    if (!eol || n >= LINE || memchr(p, 0, n)) return 0;
    memcpy(out, p, n);
    out[n] = 0;
    r->at += n + 1;
    return 1;
}

static int whole(const char *s, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*s)) return 0;
    long long v = strtoll(s, &end, 10);
    *out = v;
    return !*end && v < INT64_MAX / 2;
}

static pt_status describe(reader *r, field *f, int key, const char *w)
{
    int64_t v;
    switch (key) {
    case FIELDS:
        snprintf(f->name, sizeof f->name, "%s", w);
        f->role = pt_role_named(w);
        f->packed = !strcasecmp(w, "rgb") || !strcasecmp(w, "rgba");
        f->count = 1;
        return PT_OK;
    case SIZE:
        if (!whole(w, &v) || v > 8) return bad(r, "SIZE %s is not 1, 2, 4 or 8", w);
        f->size = (int)v;
        return PT_OK;
    case TYPE:
        if ((w[0] != 'F' && w[0] != 'I' && w[0] != 'U') || w[1])
            return bad(r, "TYPE %s is not F, I or U", w);
        f->kind = (char)tolower((unsigned char)w[0]);
        return PT_OK;
    default:
        if (!whole(w, &v) || v < 1 || v > MAX_COUNT)
            return bad(r, "COUNT %s is not within 1..%d", w, MAX_COUNT);
        f->count = v;
        return PT_OK;
    }
}

/* FIELDS, SIZE, TYPE, COUNT: a word a field. */
static pt_status a_word_a_field(reader *r, int key, char *words)
{
    char *save = NULL;
    int n = 0;
    if (key != FIELDS && !(r->seen & 1 << FIELDS)) return bad(r, "%s before FIELDS", keys[key]);
    for (char *w = strtok_r(words, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
        if (n == (key == FIELDS ? MAX_FIELDS : r->nf))
            return bad(r, "%s has more than %d words", keys[key], n);
        pt_status st = describe(r, &r->f[n++], key, w);
        if (st != PT_OK) return st;
    }
    if (key == FIELDS)
        r->nf = n;
    else if (n < r->nf)
        return bad(r, "%s has %d words, FIELDS has %d", keys[key], n, r->nf);
    return PT_OK;
}

/* What the lines say together. */
static pt_status conclude(reader *r)
{
    static const int needed[] = {FIELDS, SIZE, TYPE, WIDTH, HEIGHT};
    int roles = 0;
    for (int i = 0; i < 5; i++)
        if (!(r->seen & 1 << needed[i])) return bad(r, "no %s before DATA", keys[needed[i]]);
    for (int i = 0; i < r->nf; i++) {
        field *f = &r->f[i];
        if (!pt_number_known(f->kind, f->size) || (f->packed && (f->size != 4 || f->count != 1)))
            return bad(r, "field %s of TYPE %c and SIZE %d", f->name, toupper(f->kind), f->size);
        f->at = r->record;
        r->record += f->size * f->count;
        r->values += f->count;
        roles |= 1 << f->role;
    }
    if ((roles >> PT_ROLE_X & 7) != 7) return bad(r, "the fields have no x, y and z");
    /* packed at best: see compressed() */
    if (r->height && r->width > (int64_t)(r->part->n * 88) / r->height)
        return bad(r, "truncated: %lld x %lld points, the file cannot hold them",
                   (long long)r->width, (long long)r->height);
    if ((r->seen & 1 << POINTS) && r->n != r->width * r->height)
        return bad(r, "%lld points, but WIDTH x HEIGHT is %lld", (long long)r->n,
                   (long long)(r->width * r->height));
    r->n = r->width * r->height;
    return PT_OK;
}

static pt_status read_header(reader *r, char *format)
{
    for (char line[LINE];;) {
        pt_status st = PT_OK;
        if (!next_line(r, line)) return bad(r, "truncated or not a PCD file: no line DATA");
        line[strcspn(line, "#\r")] = 0;
        size_t n = strcspn(line, " \t");
        char *rest = line + n + strspn(line + n, " \t");
        int key = 0;
        if (!line[strspn(line, " \t")]) continue;
        line[n] = 0;
        while (key < KEYS && strcmp(line, keys[key]) != 0) key++;
        if (key == KEYS) return bad(r, "not a line of a PCD header");
        if (r->seen & 1 << key) return bad(r, "%s twice", keys[key]);
        if (key >= FIELDS && key <= COUNT) st = a_word_a_field(r, key, rest);
        r->seen |= 1 << key;
        rest[strcspn(rest, " \t")] = 0;
        int64_t *number = key == WIDTH    ? &r->width
                          : key == HEIGHT ? &r->height
                          : key == POINTS ? &r->n
                                          : NULL;
        if (number && !whole(rest, number)) return bad(r, "%s is not a whole number", keys[key]);
        if (st == PT_OK && key == DATA) {
            snprintf(format, 32, "%.31s", rest);
            return conclude(r);
        }
        if (st != PT_OK) return st;
    }
}

static pt_status put(reader *r, pt_raw *raw, int64_t i, const field *f, double x, uint32_t bits)
{
    if (!f->packed) return pt_raw_set(r->part->path, raw, i, f->role, x);
    for (int c = 0; c < 3; c++) raw->colour[4 * i + c] = (float)(bits >> (16 - 8 * c) & 255);
    raw->full = 255;
    return PT_OK;
}

static pt_status put_bytes(reader *r, pt_raw *raw, int64_t i, const field *f,
                           const unsigned char *p)
{
    if (f->role == PT_ROLE_RED && f->kind == 'u' && f->size == 1) raw->full = 255;
    return put(r, raw, i, f, pt_number(p, f->kind, f->size), f->packed ? (uint32_t)pt_le(p, 4) : 0);
}

static pt_status binary(reader *r, pt_raw *raw)
{
    pt_status st = PT_OK;
    size_t left = r->part->n - r->at;
    if ((uint64_t)r->n != left / (uint64_t)r->record || left % (uint64_t)r->record)
        return pt_bad_byte(r->part, r->at,
                           "%lld points of %lld bytes are promised, %zu bytes are there",
                           (long long)r->n, (long long)r->record, left);
    TRY(pt_raw_alloc(r->part->path, raw, r->n));
    for (int64_t i = 0; i < r->n; i++)
        for (int k = 0; k < r->nf; k++)
            TRY(put_bytes(r, raw, i, &r->f[k],
                          r->part->bytes + r->at + i * r->record + r->f[k].at));
done:
    return st;
}

/* Two uint32, packed and unpacked bytes, then an LZF block: all of the first field, all of the
 * second, ... A copy of 3 bytes stands for at most 264: what could not come out is not allocated.
 */
static pt_status compressed(reader *r, pt_raw *raw)
{
    unsigned char *out = NULL;
    pt_status st = PT_OK;
    size_t left = r->part->n - r->at, wrong;
    const unsigned char *p = r->part->bytes + r->at;
    if (left < 8) return pt_bad_byte(r->part, r->part->n, "truncated before the packed points");
    uint64_t in = pt_le(p, 4), bytes = pt_le(p + 4, 4);
    if (in != left - 8)
        return pt_bad_byte(r->part, r->at, "%llu packed bytes are promised, %zu are there",
                           (unsigned long long)in, left - 8);
    if ((uint64_t)r->n != bytes / (uint64_t)r->record || bytes % (uint64_t)r->record ||
        bytes > in * 88)
        return pt_bad_byte(r->part, r->at + 4,
                           "%llu bytes cannot be %lld points of %lld from %llu packed bytes",
                           (unsigned long long)bytes, (long long)r->n, (long long)r->record,
                           (unsigned long long)in);
    if (!bytes) return pt_raw_alloc(r->part->path, raw, 0);
    if (!(out = malloc(bytes)))
        return pt_fail(PT_ERR_HOST, "%s: no host memory for %llu bytes", r->part->path,
                       (unsigned long long)bytes);
    if (!pt_lzf(p + 8, (size_t)in, out, (size_t)bytes, &wrong)) {
        st = pt_bad_byte(r->part, r->at + 8 + wrong, "the packed points are damaged");
        goto done;
    }
    TRY(pt_raw_alloc(r->part->path, raw, r->n));
    for (int k = 0; k < r->nf; k++) {
        const field *f = &r->f[k];
        for (int64_t i = 0; i < r->n; i++)
            TRY(put_bytes(r, raw, i, f, out + f->at * r->n + f->size * f->count * i));
    }
done:
    free(out);
    return st;
}

/* One number of the line; 0: none is left, -1: what is there is no number. */
static int number(reader *r, double *x, uint32_t *bits, const field *f)
{
    const unsigned char *p = r->part->bytes;
    char word[64], *end;
    size_t n = 0;
    while (r->at < r->part->n && (p[r->at] == ' ' || p[r->at] == '\t' || p[r->at] == '\r')) r->at++;
    if (r->at == r->part->n || p[r->at] == '\n') return 0;
    while (r->at < r->part->n && p[r->at] > ' ' && n + 1 < sizeof word)
        word[n++] = (char)p[r->at++];
    word[n] = 0;
    *x = strtod(word, &end);
    float packed = (float)*x; /* TYPE F: the colours are the bits of a float */
    if (f->packed && f->kind == 'f')
        memcpy(bits, &packed, 4);
    else if (f->packed)
        *bits = (uint32_t)strtoull(word, NULL, 10);
    return n && !*end && (r->at == r->part->n || p[r->at] <= ' ') ? 1 : -1;
}

/* A line a point. */
static pt_status ascii(reader *r, pt_raw *raw)
{
    pt_status st = PT_OK;
    const unsigned char *p = r->part->bytes;
    /* the last number needs no blank after it */
    uint64_t most = (r->part->n - r->at + 1) / 2 / (uint64_t)r->values;
    if ((uint64_t)r->n > most)
        return bad(r, "truncated: the header promises %lld points, the file cannot hold them",
                   (long long)r->n);
    TRY(pt_raw_alloc(r->part->path, raw, r->n));
    for (int64_t i = 0; i < r->n; i++) {
        r->line++;
        for (int k = 0; k < r->nf; k++)
            for (int64_t c = 0; c < r->f[k].count; c++) {
                double x;
                uint32_t bits = 0;
                int got = number(r, &x, &bits, &r->f[k]);
                if (got < 0) return bad(r, "not a number");
                if (!got)
                    return bad(r, "point %lld ends inside field %s", (long long)i, r->f[k].name);
                if (c) continue;
                if (r->f[k].role == PT_ROLE_RED && r->f[k].kind == 'u' && r->f[k].size == 1)
                    raw->full = 255;
                TRY(put(r, raw, i, &r->f[k], x, bits));
            }
        while (r->at < r->part->n && p[r->at] <= ' ' && p[r->at] != '\n') r->at++;
        if (r->at < r->part->n && p[r->at++] != '\n')
            return bad(r, "more than the %lld numbers of a point", (long long)r->values);
    }
    while (r->at < r->part->n && p[r->at] <= ' ') r->at++;
    if (r->at < r->part->n)
        return pt_bad_byte(r->part, r->at, "text after the %lld points that the header promises",
                           (long long)r->n);
done:
    return st;
}

pt_status pt_parse_pcd(const pt_part *part, pt_raw *raw)
{
    char format[32] = "";
    reader *r = calloc(1, sizeof *r);
    if (!r) return pt_fail(PT_ERR_HOST, "%s: no host memory", part->path);
    r->part = part;
    pt_status st = read_header(r, format);
    if (st == PT_OK)
        st = !strcmp(format, "ascii")               ? ascii(r, raw)
             : !strcmp(format, "binary")            ? binary(r, raw)
             : !strcmp(format, "binary_compressed") ? compressed(r, raw)
                                                    : bad(r, "DATA is not ascii, binary or "
                                                             "binary_compressed");
    free(r);
    return st;
}
