/* form_integers.c - integer arithmetic and bits, by their definitions in the PTX manual, in 128-bit
 * integers and bit by bit. */
#include "formkit.h"
#include <string.h>

#define CARRY    0x9e3779b97f4a7c15ull /* is added where a carry came out */
#define IS(name) (!strcmp(f->op, name))
typedef __int128 wide;
typedef unsigned __int128 uwide;

/* ---- arithmetic ---- */
static int integer_code(const form *f, char *out, size_t room)
{
    const char *t = form_type(f, 1);
    int with_carry = f->op[strlen(f->op) - 1] == 'c' && strlen(f->op) == 4, n = 0;
    if (type_float(t) || type_half(t)) return 0;
    if (with_carry) /* comes in where the upper half of a is not zero */
        n = snprintf(out, room, "add.cc.u32 %%r9, %%r7, 0xffffffff; ");
    out += n, room -= (size_t)n;
    if (IS("neg") || IS("abs"))
        form_plain(f, "T T", out, room);
    else if (IS("sad") || IS("mad24") || IS("madc") || (IS("mad") && !form_has(f, "wide")))
        form_plain(f, "T T T T", out, room);
    else if (IS("mad"))
        form_plain(f, "W T T W", out, room);
    else if (IS("mul") && form_has(f, "wide"))
        form_plain(f, "W T T", out, room);
    else if (IS("dp2a") || IS("dp4a"))
        form_plain(f, "s32 u32 u32 s32", out, room);
    else
        form_plain(f, "T T T", out, room);
    if (form_has(f, "cc")) {
        size_t at = strlen(out);
        snprintf(out + at, room - at,
                 " addc.u32 %%r9, 0, 0; setp.ne.u32 %%p8, %%r9, 0; @%%p8 add.u64 %%rd1, %%rd1, "
                 "0x9e3779b97f4a7c15;");
    }
    return 1;
}

static int64_t element(uint64_t x, int i, int bits, int sign)
{
    uint64_t v = x >> (i * bits) & ((1ull << bits) - 1);
    return sign && v >> (bits - 1) ? (int64_t)v - (1ll << bits) : (int64_t)v;
}

static wide magnitude(wide x)
{
    return x < 0 ? -x : x;
}

static wanted integer_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1);
    int w = type_bits(t), carry_in = o->a[i] >> 32 != 0, cc = form_has(f, "cc"), out = 0;
    int as = f->n > 1 && *form_type(f, 2) == 's', bs = *t == 's';
    wide a = type_value(t, o->a[i]), b = type_value(t, o->b[i]), c = type_value(t, o->c[i]), r = 0;
    uwide ua = type_mask(t, a), ub = type_mask(t, b), uc = type_mask(t, c);
    wanted x = {0};
    if (IS("add") || IS("addc")) {
        carry_in &= IS("addc");
        r = a + b + carry_in;
        out = (int)((ua + ub + (uwide)carry_in) >> w & 1);
        if (form_has(f, "sat")) r = r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
    } else if (IS("sub") || IS("subc")) {
        int borrow = IS("subc") && !carry_in; /* the flag is the carry of a + ~b + 1 */
        r = a - b - borrow;
        out = ua >= ub + (uwide)borrow;
        if (form_has(f, "sat")) r = r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
    } else if (IS("mul") || IS("mad") || IS("madc")) {
        uwide p = (uwide)a * (uwide)b,
              part = form_has(f, "hi") ? type_mask(t, (wide)(p >> w)) : type_mask(t, (wide)p);
        if (*t == 'u') part = form_has(f, "hi") ? type_mask(t, (wide)(ua * ub >> w)) : part;
        if (form_has(f, "wide")) {
            char d[8];
            snprintf(d, sizeof d, "%c%d", *t, 2 * w);
            x.bits = type_mask(d, a * b + (IS("mad") ? type_value(d, o->c[i]) : 0));
            return x;
        }
        if (!IS("mul")) part += uc + (uwide)(IS("madc") && carry_in);
        r = (wide)part;
        out = (int)(part >> w & 1);
    } else if (IS("mul24") || IS("mad24")) {
        wide p = (wide)element(o->a[i], 0, 24, bs) * element(o->b[i], 0, 24, bs);
        r = (form_has(f, "hi") ? p >> 16 : p) + (IS("mad24") ? c : 0);
    } else if (IS("div") || IS("rem")) {
        if (!b)
            x.any = 1;
        else
            r = IS("div") ? a / b : a % b;
    } else if (IS("min"))
        r = a < b ? a : b;
    else if (IS("max"))
        r = a > b ? a : b;
    else if (IS("neg"))
        r = -a;
    else if (IS("abs"))
        r = magnitude(a);
    else if (IS("sad"))
        r = c + magnitude(a - b);
    else if (IS("dp4a")) {
        r = (int32_t)o->c[i];
        for (int k = 0; k < 4; k++) r += element(o->a[i], k, 8, as) * element(o->b[i], k, 8, bs);
        t = "u32";
    } else if (IS("dp2a")) {
        r = (int32_t)o->c[i];
        for (int k = 0; k < 2; k++)
            r += element(o->a[i], k, 16, as) * element(o->b[i], k + 2 * form_has(f, "hi"), 8, bs);
        t = "u32";
    }
    x.bits = type_mask(t, r);
    if (cc && out) x.bits += CARRY;
    return x;
}

const family form_integers = {
    " add sub addc subc mul mad madc mul24 mad24 div rem min max neg abs sad dp2a dp4a ",
    integer_code, integer_reference};

/* ---- bits ---- */
static const int luts[] = {0x80, 0xfe, 0x96, 0xca, 0x1d, 0xe8, 0x01, 0x40};

static int bits_code(const form *f, char *out, size_t room)
{
    if (IS("lop3")) {
        int n = 0;
        for (int i = 0; i < 8; i++)
            n += snprintf(out + n, room - (size_t)n,
                          "lop3.b32 %%r5, %%r2, %%r3, %%r4, %d; cvt.u64.u32 %%rd5, %%r5; "
                          "mad.lo.u64 %%rd1, %%rd1, 3, %%rd5; ",
                          luts[i]);
        return 1;
    }
    if (IS("not") || IS("cnot") || IS("brev")) return form_plain(f, "T T", out, room);
    if (IS("popc") || IS("clz") || IS("bfind")) return form_plain(f, "u32 T", out, room);
    if (IS("shl") || IS("shr")) return form_plain(f, "T T u32", out, room);
    if (IS("shf") || IS("prmt")) return form_plain(f, "u32 u32 u32 u32", out, room);
    if (IS("bfe")) return form_plain(f, "T T u32 u32", out, room);
    if (IS("bfi")) return form_plain(f, "T T T u32 u32", out, room);
    if (IS("bmsk")) return form_plain(f, "u32 u32 u32", out, room);
    if (IS("szext")) return form_plain(f, "T T u32", out, room);
    if (IS("fns")) return form_plain(f, "u32 u32 u32 s32", out, room);
    if (IS("vabsdiff4")) return form_plain(f, "u32 u32 u32 u32", out, room);
    return form_plain(f, "T T T", out, room);
}

static int bit(uint64_t x, int i)
{
    return (int)(x >> i & 1);
}

/* the loops of the manual */
static uint64_t field(uint64_t a, int pos, int len, int w, int sign)
{
    int top = pos + len - 1 < w - 1 ? pos + len - 1 : w - 1;
    int s = !sign || !len ? 0 : bit(a, top);
    uint64_t d = 0;
    for (int i = 0; i < w; i++) d |= (uint64_t)(i < len && pos + i < w ? bit(a, pos + i) : s) << i;
    return d;
}

static uint32_t nth_set(uint32_t mask, uint32_t base, int32_t offset)
{
    if (offset == 0) return base < 32 && bit(mask, (int)base) ? base : UINT32_MAX;
    int64_t count = offset < 0 ? -(int64_t)offset : offset, inc = offset < 0 ? -1 : 1;
    for (int64_t pos = base; pos >= 0 && pos < 32; pos += inc)
        if (bit(mask, (int)pos) && --count == 0) return (uint32_t)pos;
    return UINT32_MAX;
}

static uint64_t shift(const form *f, const char *t, uint64_t x, uint32_t by)
{
    int w = type_bits(t), sign = *t == 's' && bit(x, w - 1);
    uint64_t d = 0;
    for (int i = 0; i < w; i++) {
        int64_t from = IS("shl") ? (int64_t)i - by : (int64_t)i + by;
        d |= (uint64_t)(from < 0 ? 0 : from >= w ? sign : bit(x, (int)from)) << i;
    }
    return d;
}

/* The byte that stands at k: of the general form, or of a mode by the two bits n. */
static int prmt_byte(const form *f, int k, int n, int general)
{
    if (form_has(f, "f4e")) return n + k;
    if (form_has(f, "b4e")) return (n - k) & 7;
    if (form_has(f, "rc8")) return n;
    if (form_has(f, "ecl")) return k > n ? k : n;
    if (form_has(f, "ecr")) return k < n ? k : n;
    if (form_has(f, "rc16")) return 2 * (n & 1) + (k & 1);
    return general;
}

static wanted bits_reference(const form *f, const operands *o, size_t i)
{
    const char *t = form_type(f, 1);
    int w = type_bits(t);
    uint64_t a = o->a[i], b = o->b[i], c = o->c[i], x = type_mask(t, (wide)a), r = 0;
    uint32_t n = (uint32_t)b, m = (uint32_t)c;
    if (IS("and"))
        r = a & b;
    else if (IS("or"))
        r = a | b;
    else if (IS("xor"))
        r = a ^ b;
    else if (IS("not"))
        r = ~a;
    else if (IS("cnot"))
        r = x == 0;
    else if (IS("shl") || IS("shr"))
        r = shift(f, t, x, n);
    else if (IS("shf")) {
        uint64_t both = (b & UINT32_MAX) << 32 | (a & UINT32_MAX);
        uint32_t by = form_has(f, "wrap") ? m & 31 : m > 32 ? 32 : m;
        r = form_has(f, "l") ? (by == 32 ? both : both << by >> 32) : both >> by;
        if (form_has(f, "l") && by == 32) r = a;
    } else if (IS("popc") || IS("clz")) {
        if (IS("clz"))
            while (r < (uint64_t)w && !bit(x, w - 1 - (int)r)) r++;
        else
            for (int k = 0; k < w; k++) r += (uint64_t)bit(x, k);
        t = "u32";
    } else if (IS("brev"))
        for (int k = 0; k < w; k++) r |= (uint64_t)bit(x, k) << (w - 1 - k);
    else if (IS("bfind")) {
        int top = w - 1, other = *t == 's' && bit(x, w - 1);
        while (top >= 0 && bit(x, top) == other) top--;
        r = top < 0 ? UINT32_MAX : (uint32_t)(form_has(f, "shiftamt") ? w - 1 - top : top);
        t = "u32";
    } else if (IS("bfe"))
        r = field(x, (int)(n & 255), (int)(m & 255), w, *t == 's');
    else if (IS("bfi")) { /* a into b at c for the upper half of c */
        int pos = (int)(m & 255), len = (int)(c >> 32 & 255);
        r = b;
        for (int k = 0; k < len && pos + k < w; k++)
            r = (r & ~(1ull << (pos + k))) | (uint64_t)bit(a, k) << (pos + k);
    } else if (IS("prmt")) {
        t = "u32";
        for (int k = 0; k < 4; k++) {
            int pick = prmt_byte(f, k, (int)(m & 3), (int)(m >> 4 * k & 15)), from = pick & 7;
            uint64_t byte = (from < 4 ? a >> 8 * from : b >> 8 * (from - 4)) & 255;
            r |= (pick & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * k;
        }
    } else if (IS("lop3")) {
        for (int k = 0; k < 8; k++) {
            uint32_t d = 0;
            for (int j = 0; j < 32; j++)
                d |= (uint32_t)bit((uint64_t)luts[k], bit(a, j) << 2 | bit(b, j) << 1 | bit(c, j))
                     << j;
            r = r * 3 + d;
        }
        t = "u64";
    } else if (IS("bmsk")) {
        uint32_t pos = (uint32_t)a, len = n;
        if (form_has(f, "wrap")) pos &= 31, len &= 31;
        for (uint32_t k = 0; k < 32; k++)
            r |= (uint64_t)(k >= pos && (uint64_t)k < (uint64_t)pos + len) << k;
    } else if (IS("szext")) {
        uint32_t len = form_has(f, "wrap") ? n & 31 : n > 32 ? 32 : n;
        r = len ? field(x, 0, (int)len, 32, *t == 's') : 0;
    } else if (IS("fns"))
        r = nth_set((uint32_t)a, n, (int32_t)m);
    else if (IS("vabsdiff4")) {
        int sum = form_has(f, "add"), as = f->mod[1][0] == 's', bs = f->mod[2][0] == 's';
        uint32_t total = m;
        for (int k = 0; k < 4; k++) {
            int64_t d = (as ? (int64_t)(int8_t)(a >> 8 * k) : (int64_t)(uint8_t)(a >> 8 * k)) -
                        (bs ? (int64_t)(int8_t)(b >> 8 * k) : (int64_t)(uint8_t)(b >> 8 * k));
            if (d < 0) d = -d;
            total += (uint32_t)d;
            r |= (uint64_t)(d & 255) << 8 * k;
        }
        if (sum) r = total;
        t = "u32";
    }
    return (wanted){.bits = type_mask(t, (wide)r)};
}

const family form_bits = {
    " and or xor not cnot shl shr shf popc clz brev bfind bfi bfe prmt lop3 bmsk szext fns "
    "vabsdiff4 ",
    bits_code, bits_reference};
