/* form_operands.c - operands at their edges, whole and as floats of every width, crossed; and
 * random ones. */
#include "formkit.h"

#define D(x) (x##ull)
static const uint64_t whole[] = {0,
                                 1,
                                 2,
                                 7,
                                 8,
                                 15,
                                 16,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 65,
                                 127,
                                 128,
                                 255,
                                 256,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7fffff,
                                 0x800000,
                                 0xffffff,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 D(0x100000000),
                                 D(0x7fffffffffffffff),
                                 D(0x8000000000000000),
                                 D(0xffffffffffffffff),
                                 D(0xffffffff80000000),
                                 D(0xffff80000000ffff),
                                 D(0x8000000080008080),
                                 D(0x0123456789abcdef)};
static const uint64_t singles[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001,
    0x33000000, 0x34000000, 0x3f000000, 0x3effffff, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001,
    0x40000000, 0x40200000, 0xc0200000, 0x40490fdb, 0x4b000001, 0x4b800001, 0x4effffff, 0x4f000000,
    0xcf000001, 0x4f7fffff, 0x5f000000, 0x5f800000, 0x7e800001, 0x7f000000, 0x7f7fffff, 0xff7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001};
static const uint64_t doubles[] = {0,
                                   D(0x8000000000000000),
                                   1,
                                   D(0x8000000000000001),
                                   D(0x000fffffffffffff),
                                   D(0x0010000000000000),
                                   D(0x8010000000000001),
                                   D(0x3690000000000000),
                                   D(0x3690000000000001),
                                   D(0x36a0000000000000),
                                   D(0x37efffffffffffff),
                                   D(0x3810000000000000),
                                   D(0x3ca0000000000000),
                                   D(0x3fe0000000000000),
                                   D(0x3fefffffffffffff),
                                   D(0x3ff0000000000000),
                                   D(0xbff0000000000000),
                                   D(0x3ff0000000000001),
                                   D(0x3ff0000010000000),
                                   D(0x3ff0000030000001),
                                   D(0x4004000000000000),
                                   D(0xc004000000000000),
                                   D(0x400921fb54442d18),
                                   D(0x41dfffffffc00000),
                                   D(0x41e0000000000000),
                                   D(0xc1e0000000200000),
                                   D(0x41efffffffe00000),
                                   D(0x41f0000000000000),
                                   D(0x4340000000000001),
                                   D(0x43e0000000000000),
                                   D(0xc3e0000000000001),
                                   D(0x43f0000000000000),
                                   D(0x47efffffefffffff),
                                   D(0x47effffff0000000),
                                   D(0x7fe0000000000000),
                                   D(0x7fefffffffffffff),
                                   D(0xffefffffffffffff),
                                   D(0x7ff0000000000000),
                                   D(0xfff0000000000000),
                                   D(0x7ff8000000000000),
                                   D(0xfff8000012345678)};
static const uint64_t halves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x0400, 0x0080, 0x007f,
                                  0x3c00, 0xbc00, 0x3c01, 0x3f80, 0x3f81, 0x3800, 0x4248, 0x7bff,
                                  0xfbff, 0x7c00, 0xfc00, 0x7f7f, 0x7f80, 0xff80, 0x7fff, 0x7e00};

static uint64_t random_word(void)
{
    static uint64_t x = D(88172645463325252);
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    return x;
}

static void cross(operands *o, const uint64_t *e, size_t n, int twice)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++, o->n++) {
            uint64_t x[3] = {e[i], e[k], e[random_word() % n]};
            for (int j = 0; twice && j < 3; j++) x[j] |= e[random_word() % n] << twice;
            o->a[o->n] = x[0], o->b[o->n] = x[1], o->c[o->n] = x[2];
        }
}

#define COUNT(e) (sizeof e / sizeof *e)
void operands_fill(operands *o)
{
    size_t room = COUNT(whole) * COUNT(whole) + COUNT(singles) * COUNT(singles) +
                  COUNT(doubles) * COUNT(doubles) + COUNT(halves) * COUNT(halves) + 3 * 600 +
                  FORM_BLOCK;
    o->a = malloc(room * 8), o->b = malloc(room * 8), o->c = malloc(room * 8);
    ck_assert(o->a && o->b && o->c);
    cross(o, whole, COUNT(whole), 0);
    cross(o, singles, COUNT(singles), 32);
    cross(o, doubles, COUNT(doubles), 0);
    cross(o, halves, COUNT(halves), 16);
    for (size_t i = 0; i < 1800 || o->n % FORM_BLOCK; i++, o->n++) {
        uint64_t x = random_word(), y = random_word(), z = random_word();
        if (i % 3 == 1) /* counts and places, as shifts and fields have them */
            y %= 70, z = (z % 70) | (random_word() % 70) << 32;
        if (i % 3 == 2) /* floats near each other */
            y = x ^ (random_word() & D(0x80000000800000ff)), z = x ^ D(0x8000000080000000);
        o->a[o->n] = x, o->b[o->n] = y, o->c[o->n] = z;
    }
}
