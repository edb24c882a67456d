/* roles.c - what the columns of a file mean, by their names, and numbers by their types: for the
 * formats that name both. */
#include "read.h"
#include <math.h>
#include <strings.h>

pt_role pt_role_named(const char *column)
{
    static const struct {
        const char *name;
        pt_role role;
    } known[] = {{"x", PT_ROLE_X},
                 {"y", PT_ROLE_Y},
                 {"z", PT_ROLE_Z},
                 {"red", PT_ROLE_RED},
                 {"green", PT_ROLE_GREEN},
                 {"blue", PT_ROLE_BLUE},
                 {"r", PT_ROLE_RED},
                 {"g", PT_ROLE_GREEN},
                 {"b", PT_ROLE_BLUE},
                 {"intensity", PT_ROLE_INTENSITY},
                 {"label", PT_ROLE_CLASS},
                 {"class", PT_ROLE_CLASS},
                 {"classification", PT_ROLE_CLASS}};
    /* as CloudCompare and MeshLab write them */
    if (!strncasecmp(column, "scalar_", 7)) column += 7;
    if (!strncasecmp(column, "diffuse_", 8)) column += 8;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(column, known[i].name)) return known[i].role;
    return PT_ROLE_NONE;
}

pt_status pt_raw_set(const char *path, pt_raw *r, int64_t i, pt_role role, double x)
{
    if (role == PT_ROLE_NONE) return PT_OK;
    if (role <= PT_ROLE_Z)
        r->xyz[3 * i + role - PT_ROLE_X] = x;
    else if (role <= PT_ROLE_INTENSITY)
        r->colour[4 * i + role - PT_ROLE_RED] = (float)fmin(fmax(x, -1e30), 1e30);
    else if (!(x < PT_RAW_CLASSES) || x != floor(x))
        return pt_fail(PT_ERR_INPUT, "%s: point %lld: class %g is not a whole number below %d",
                       path, (long long)i, x, PT_RAW_CLASSES);
    else
        r->raw_class[i] = x < 0 ? PT_IGNORE : (int32_t)x;
    return PT_OK;
}

int pt_number_known(char kind, int size)
{
    if (kind == 'f') return size == 4 || size == 8;
    return (kind == 'i' || kind == 'u') && (size == 1 || size == 2 || size == 4 || size == 8);
}

double pt_number(const unsigned char *p, char kind, int size)
{
    if (kind == 'f') return size == 4 ? (double)pt_le_float(p) : pt_le_double(p);
    uint64_t u = pt_le(p, size);
    if (kind == 'u') return (double)u;
    switch (size) {
    case 1: return (int8_t)u;
    case 2: return (int16_t)u;
    case 4: return (int32_t)u;
    default: return (double)(int64_t)u;
    }
}
