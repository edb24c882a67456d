/* halfkit.c - see halfkit.h */
#include "halfkit.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

const kind half_kinds[2] = {
    {"f16",
     10,
     {0x7fff, 0xfe01, 0x7c01, 0x7c00, 0xfc00, 0,      0x8000, 1,      0x8001, 2,
      0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401, 0x1400, 0x1001, 0x3800, 0x3bff, 0x3c00,
      0xbc00, 0x3c01, 0x4248, 0x6800, 0xe801, 0x77ff, 0x7800, 0x7bfe, 0x7bff, 0xfbff},
     30},
    {"bf16",
     7,
     {0x7fff, 0xffc1, 0x7f81, 0x7f80, 0xff80, 0,      0x8000, 1,      0x8001, 2,
      0x007f, 0x807f, 0x0080, 0x8080, 0x0081, 0x1e80, 0x3b81, 0x3f00, 0x3f7f, 0x3f80,
      0xbf80, 0x3f81, 0x4049, 0x4380, 0xc381, 0x7eff, 0x7f00, 0x7f7e, 0x7f7f, 0xff7f},
     30}};

const char *text(const char *format, ...)
{
    static char all[8][400];
    static int at;
    char *s = all[at++ & 7];
    va_list ap;
    va_start(ap, format);
    vsnprintf(s, sizeof all[0], format, ap);
    va_end(ap);
    return s;
}

void same(const vector *v, size_t i, uint64_t want, const char *code)
{
    if (v->out[i] == want) return; /* an assertion writes to a file each time */
    ck_abort_msg("%s of %#llx, %#llx, %#llx gave %#llx, not %#llx", code,
                 (unsigned long long)v->a[i], (unsigned long long)(v->b ? v->b[i] : 0),
                 (unsigned long long)(v->c ? v->c[i] : 0), (unsigned long long)v->out[i],
                 (unsigned long long)want);
}

void pairs(vector *v, const kind *k)
{
    size_t i = 0, each = 8;
    vector_make(v, 65536 * each * 3 / 2);
    for (unsigned h = 0; h < 65536; h++)
        for (size_t e = 0; e < each; e++, i++)
            v->a[i] = h, v->b[i] = k->edge[(h * each + e) % k->edges];
    for (; i < v->n; i++) v->a[i] &= 0xffff, v->b[i] &= 0xffff;
}

const char *scalar(const char *op, const char *mods, const kind *k, int operands)
{
    static const char *const more[] = {"", ", %rs3", ", %rs3, %rs4"};
    return text("%s.%s%s %%rs5, %%rs2%s; cvt.u64.u16 %%rd1, %%rs5;", op, mods, k->name,
                more[operands - 1]);
}

uint64_t bits64(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}
uint64_t bits32(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

double wide_value(uint64_t u, int f64)
{
    double d;
    float f;
    uint32_t low = (uint32_t)u;
    memcpy(&d, &u, 8);
    memcpy(&f, &low, 4);
    return f64 ? d : f;
}

void all_values(vector *v)
{
    vector_make(v, 65536);
    for (unsigned h = 0; h < 65536; h++) v->a[h] = h;
}

const half_mode half_modes[4] = {
    {"rn", MPFR_RNDN}, {"rz", MPFR_RNDZ}, {"rm", MPFR_RNDD}, {"rp", MPFR_RNDU}};
