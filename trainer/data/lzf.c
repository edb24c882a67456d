/* lzf.c - unpacks LZF, the packing of PCD's binary_compressed. A block is a list of items that each
 * begin with a byte c: below 32, the c + 1 bytes that follow stand for themselves; else the item is
 * a copy from what was unpacked before: c >> 5 is its length less 2, where 7 means that one more
 * byte is to be added, and the low 5 bits of c with the byte after that are the distance less 1. */
#include "read.h"

int pt_lzf(const unsigned char *in, size_t n, unsigned char *out, size_t room, size_t *at)
{
    size_t i = 0, o = 0;
    while (i < n) {
        size_t c = in[i], length, back;
        *at = i++;
        if (c < 32) {
            length = c + 1;
            if (length > n - i || length > room - o) return 0;
            memcpy(out + o, in + i, length);
            i += length;
            o += length;
            continue;
        }
        length = (c >> 5) + 2;
        if (length == 9) {
            if (i == n) return 0;
            length += in[i++];
        }
        if (i == n) return 0;
        back = ((c & 31) << 8 | in[i++]) + 1;
        if (back > o || length > room - o) return 0;
        for (; length; length--, o++) out[o] = out[o - back]; /* may overlap: a run repeats */
    }
    *at = n;
    return o == room;
}
