/* npyscene.c - scenes as NPY arrays: a folder with coord.npy [N, 3], and if they are there
 * color.npy [N, 3], normal.npy [N, 3] and segment.npy [N] (the layout of Pointcept), or one array
 * of x y z, x y z intensity, x y z red green blue, or that and a class (that of S3DIS). */
#include "data.h"
#include "npy.h"

static pt_status shape(const pt_part *part, const pt_npy *a, int64_t rows, int64_t cols)
{
    if (a->rows == rows && a->cols == cols) return PT_OK;
    return pt_fail(PT_ERR_INPUT, "%s: an array of %lld x %lld, expected %lld x %lld", part->path,
                   (long long)a->rows, (long long)a->cols, (long long)rows, (long long)cols);
}

static pt_status column(const pt_part *part, const pt_npy *a, int col, pt_role role, pt_raw *raw)
{
    for (int64_t i = 0; i < raw->n; i++) {
        pt_status st = pt_raw_set(part->path, raw, i, role, pt_npy_at(a, i, col));
        if (st != PT_OK) return st;
    }
    return PT_OK;
}

static pt_status columns(const pt_part *part, const pt_npy *a, const pt_role *role, int n,
                         pt_raw *raw)
{
    pt_status st = PT_OK;
    for (int c = 0; st == PT_OK && c < n; c++) st = column(part, a, c, role[c], raw);
    return st;
}

static float full_of(const pt_npy *a)
{
    return a->kind == 'u' && a->size == 1 ? 255 : 0;
}

static const pt_role roles[] = {PT_ROLE_X,     PT_ROLE_Y,    PT_ROLE_Z,    PT_ROLE_RED,
                                PT_ROLE_GREEN, PT_ROLE_BLUE, PT_ROLE_CLASS};

pt_status pt_parse_npy(const pt_part *part, pt_raw *raw)
{
    static const pt_role with_intensity[] = {PT_ROLE_X, PT_ROLE_Y, PT_ROLE_Z, PT_ROLE_INTENSITY};
    pt_npy a = {0};
    pt_status st = pt_npy_open(part, &a);
    if (st != PT_OK) return st;
    if (a.cols != 3 && a.cols != 4 && a.cols != 6 && a.cols != 7)
        return pt_fail(PT_ERR_INPUT, "%s: an array of %lld x %lld, expected N x 3, 4, 6 or 7",
                       part->path, (long long)a.rows, (long long)a.cols);
    st = pt_raw_alloc(part->path, raw, a.rows);
    if (st != PT_OK) return st;
    raw->full = full_of(&a);
    return columns(part, &a, a.cols == 4 ? with_intensity : roles, (int)a.cols, raw);
}

pt_status pt_parse_npy_folder(const pt_part *part, pt_raw *raw)
{
    const pt_part *color = &part[1], *normal = &part[2], *segment = &part[3];
    pt_npy a = {0};
    pt_status st = PT_OK;
    TRY(pt_npy_open(part, &a));
    TRY(shape(part, &a, a.rows, 3));
    TRY(pt_raw_alloc(part->path, raw, a.rows));
    TRY(columns(part, &a, roles, 3, raw));
    if (color->bytes) {
        TRY(pt_npy_open(color, &a));
        TRY(shape(color, &a, raw->n, 3));
        raw->full = full_of(&a);
        TRY(columns(color, &a, roles + 3, 3, raw));
    }
    if (normal->bytes) { /* the net has no place for them; a scene that they do not fit is broken */
        TRY(pt_npy_open(normal, &a));
        TRY(shape(normal, &a, raw->n, 3));
    }
    if (segment->bytes) {
        TRY(pt_npy_open(segment, &a));
        TRY(shape(segment, &a, raw->n, 1));
        TRY(column(segment, &a, 0, PT_ROLE_CLASS, raw));
    }
done:
    return st;
}
