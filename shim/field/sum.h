/* sum.h - the checksum of a fixture's events: FNV-1a, 64 bits (Fowler, Noll, Vo). */
#ifndef OP_FIELD_SUM_H
#define OP_FIELD_SUM_H
#include <stddef.h>
#include <stdint.h>

#define OP_SUM_START 14695981039346656037u

static inline uint64_t op_sum(uint64_t h, const void *data, size_t n)
{
    for (const unsigned char *p = data; n--; p++) h = (h ^ *p) * 1099511628211u;
    return h;
}

#endif
