/* plain.h - names as a line of JSON can hold them: UTF-8, no control characters. */
#ifndef OP_PLAIN_H
#define OP_PLAIN_H
#include <stddef.h>

/* Bytes of the character at s, as Unicode's table 3-7 has them; 0: it is none, or a control. */
static inline size_t op_plain_character(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    if (*p < 0x80) return *p >= 0x20 && *p != 0x7f;
    size_t n = *p >= 0xc2 && *p <= 0xdf   ? 2
               : *p >= 0xe0 && *p <= 0xef ? 3
               : *p >= 0xf0 && *p <= 0xf4 ? 4
                                          : 0;
    unsigned lo = *p == 0xe0 ? 0xa0 : *p == 0xf0 ? 0x90 : 0x80;
    unsigned hi = *p == 0xed ? 0x9f : *p == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xbf)
        if (p[i] < lo || p[i] > hi) return 0;
    return n;
}

/* Whole characters only, as many as have room; what is none becomes "?". NULL is "". */
static inline void op_plain_text(char *to, size_t room, const char *from)
{
    size_t n = 0;
    while (from && *from) {
        size_t k = op_plain_character(from);
        if (n + (k ? k : 1) >= room) break;
        if (!k) to[n++] = '?', from++;
        while (k--) to[n++] = *from++;
    }
    to[n] = 0;
}

#endif
