/* flat.c - arrays without a header: .f32, float32 [N, 6] x y z red green blue, and .i64, int64 [N]
 * labels; both little endian, as numpy's tofile writes them. */
#include "data.h"
#include "read.h"

enum { POINT = 24, LABEL = 8 };

pt_status pt_parse_flat(const pt_part *part, pt_raw *raw)
{
    const pt_part *labels = &part[1];
    size_t n = part->n / POINT;
    if (part->n % POINT)
        return pt_bad_byte(part, n * POINT, "the file ends inside point %zu of %d bytes", n, POINT);
    if (labels->n != n * LABEL)
        return pt_bad_byte(labels, labels->n, "%g labels of %d bytes for %zu points",
                           (double)labels->n / LABEL, LABEL, n);
    pt_status st = pt_raw_alloc(part->path, raw, (int64_t)n);
    for (int64_t i = 0; st == PT_OK && i < raw->n; i++) {
        const unsigned char *p = part->bytes + POINT * i, *l = labels->bytes + LABEL * i;
        for (int a = 0; a < 3; a++) raw->xyz[3 * i + a] = (double)pt_le_float(p + 4 * a);
        for (int c = 0; c < 3; c++) raw->colour[4 * i + c] = pt_le_float(p + 12 + 4 * c);
        st = pt_raw_set(labels->path, raw, i, PT_ROLE_CLASS, pt_number(l, 'i', LABEL));
    }
    return st;
}
