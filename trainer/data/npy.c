/* npy.c - NPY arrays, versions 1 to 3 (numpy's description of its .npy format): a magic string, the
 * length of a header, the header, which is a Python dictionary of three entries, and the numbers in
 * C order. */
#include "npy.h"
#include "data.h"
#include <ctype.h>

typedef struct text {
    const pt_part *part;
    size_t at, end;
} text;

static void blanks(text *t)
{
    while (t->at < t->end && (t->part->bytes[t->at] == ' ' || t->part->bytes[t->at] == '\n'))
        t->at++;
}

/* Whether c comes next; then it is stepped over. */
static int next_is(text *t, char c)
{
    blanks(t);
    if (t->at == t->end || t->part->bytes[t->at] != (unsigned char)c) return 0;
    t->at++;
    return 1;
}

static int word(text *t, const char *w)
{
    size_t n = strlen(w);
    blanks(t);
    if (t->end - t->at < n || memcmp(t->part->bytes + t->at, w, n) != 0) return 0;
    t->at += n;
    return 1;
}

/* A quoted string shorter than `room` without escapes. */
static int string(text *t, char *out, size_t room)
{
    size_t n = 0;
    char quote = next_is(t, '\'') ? '\'' : next_is(t, '"') ? '"' : 0;
    if (!quote) return 0;
    while (t->at < t->end && t->part->bytes[t->at] != (unsigned char)quote && n + 1 < room)
        out[n++] = (char)t->part->bytes[t->at++];
    out[n] = 0;
    return t->at < t->end && t->part->bytes[t->at++] == (unsigned char)quote;
}

static int whole(text *t, int64_t *out)
{
    int64_t v = 0;
    blanks(t);
    if (t->at == t->end || !isdigit(t->part->bytes[t->at])) return 0;
    while (t->at < t->end && isdigit(t->part->bytes[t->at])) {
        if (v > INT64_MAX / 10 - 1) return 0;
        v = v * 10 + t->part->bytes[t->at++] - '0';
    }
    *out = v;
    return 1;
}

static pt_status read_type(text *t, pt_npy *out)
{
    char type[16];
    size_t at = t->at;
    if (!string(t, type, sizeof type))
        return pt_bad_byte(t->part, at, "the type of the numbers is not a short string");
    int size =
        type[0] && type[1] && isdigit((unsigned char)type[2]) && !type[3] ? type[2] - '0' : 0;
    if (type[0] == '>' && size > 1)
        return pt_bad_byte(t->part, at, "numbers of type %s are big endian; little ones are read",
                           type);
    if (!(type[0] == '<' || (type[0] == '|' && size == 1)) || !pt_number_known(type[1], size))
        return pt_bad_byte(t->part, at,
                           "numbers of type \"%s\", floats of 4 or 8 and integers of 1 to 8 bytes "
                           "are read",
                           type);
    out->kind = type[1];
    out->size = size;
    return PT_OK;
}

static pt_status read_order(text *t)
{
    size_t at = t->at;
    if (word(t, "False")) return PT_OK;
    if (word(t, "True"))
        return pt_bad_byte(t->part, at,
                           "the array is in Fortran order; save numpy.ascontiguousarray of it");
    return pt_bad_byte(t->part, at, "fortran_order is neither False nor True");
}

static pt_status read_shape(text *t, pt_npy *out)
{
    int64_t side[2] = {0, 1};
    int n = 0, closed = 0;
    size_t at = t->at;
    if (!next_is(t, '(')) return pt_bad_byte(t->part, at, "the shape is not a tuple");
    while (n < 2 && !(closed = next_is(t, ')'))) {
        if (!whole(t, &side[n++]))
            return pt_bad_byte(t->part, t->at, "a side that is not a whole number");
        if (!next_is(t, ',')) break;
    }
    if (!closed && !next_is(t, ')'))
        return pt_bad_byte(t->part, t->at, "arrays of one or two dimensions are read");
    if (n == 0) return pt_bad_byte(t->part, at, "a single number, not an array");
    out->rows = side[0];
    out->cols = side[1];
    return PT_OK;
}

static pt_status read_header(text *t, pt_npy *out)
{
    int seen = 0;
    if (!next_is(t, '{')) return pt_bad_byte(t->part, t->at, "the header is not a dictionary");
    while (!next_is(t, '}')) {
        char key[16];
        size_t at = t->at;
        pt_status st = PT_OK;
        int this = 0;
        if (!string(t, key, sizeof key) || !next_is(t, ':'))
            return pt_bad_byte(t->part, at, "the header is not a dictionary of short names");
        this = !strcmp(key, "descr")           ? 1
               : !strcmp(key, "fortran_order") ? 2
               : !strcmp(key, "shape")         ? 4
                                               : 0;
        if (!this || seen & this)
            return pt_bad_byte(t->part, at, "the header names \"%s\"%s", key, this ? " twice" : "");
        seen |= this;
        st = this == 1 ? read_type(t, out) : this == 2 ? read_order(t) : read_shape(t, out);
        if (st != PT_OK) return st;
        if (!next_is(t, ',')) {
            if (next_is(t, '}')) break;
            return pt_bad_byte(t->part, t->at, "the header's dictionary does not end");
        }
    }
    blanks(t);
    if (t->at != t->end) return pt_bad_byte(t->part, t->at, "text after the header's dictionary");
    if (seen != 7)
        return pt_bad_byte(t->part, t->at, "the header lacks one of descr, fortran_order, shape");
    return PT_OK;
}

pt_status pt_npy_open(const pt_part *part, pt_npy *out)
{
    const unsigned char *p = part->bytes;
    if (part->n < 10 || memcmp(p, "\x93NUMPY", 6) != 0)
        return pt_bad_byte(part, 0, "not a NPY file");
    int major = p[6], wide = major > 1 ? 4 : 2;
    if (major < 1 || major > 3)
        return pt_bad_byte(part, 6, "NPY version %d, 1 to 3 are read", major);
    size_t start = 8 + (size_t)wide;
    if (part->n < start) return pt_bad_byte(part, part->n, "truncated inside the header");
    uint64_t header = pt_le(p + 8, wide);
    if (header > part->n - start)
        return pt_bad_byte(part, 8, "truncated: a header of %llu bytes in a file of %zu",
                           (unsigned long long)header, part->n);
    text t = {part, start, start + (size_t)header};
    pt_status st = read_header(&t, out);
    if (st != PT_OK) return st;
    /* divisions, not products: the sides may be anything */
    uint64_t bytes = part->n - t.end, numbers = bytes / (unsigned)out->size;
    uint64_t rows = (uint64_t)out->rows, cols = (uint64_t)out->cols;
    if (rows && cols && (cols > numbers || rows > numbers / cols))
        return pt_bad_byte(part, t.end,
                           "truncated: %llu x %llu numbers of %d bytes are promised, %llu bytes "
                           "are there",
                           (unsigned long long)rows, (unsigned long long)cols, out->size,
                           (unsigned long long)bytes);
    if (rows * cols * (unsigned)out->size != bytes)
        return pt_bad_byte(part, t.end + rows * cols * (unsigned)out->size,
                           "bytes follow the %llu x %llu numbers that the header promises",
                           (unsigned long long)rows, (unsigned long long)cols);
    out->data = p + t.end;
    return PT_OK;
}
