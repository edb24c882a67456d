/* kitti.c - a scan of SemanticKITTI: .bin, float32 x y z remission a point, and .label, uint32 a
 * point, of which the low 16 bits are the class and the high ones the instance. */
#include "data.h"
#include "read.h"

enum { POINT = 16, LABEL = 4 };

pt_status pt_parse_kitti(const pt_part *part, pt_raw *raw)
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
        const unsigned char *p = part->bytes + POINT * i;
        for (int a = 0; a < 3; a++) raw->xyz[3 * i + a] = (double)pt_le_float(p + 4 * a);
        raw->colour[4 * i + 3] = pt_le_float(p + 12);
        raw->raw_class[i] = (int32_t)pt_le(labels->bytes + LABEL * i, 2);
    }
    return st;
}
