/* narrow.c - rows made 16-bit floats, in every bit as the reference in plain C has them. */
#include "case.h"
#include "kernels/ref.h"
#include <math.h>
#include <string.h>

static pt_device D;

static void ran(pt_status st)
{
    ck_assert_msg(st == PT_OK, "%s", pt_error_last()->message);
}

static void *up(const void *host, size_t bytes)
{
    void *p;
    ran(pt_mem_alloc(&D, bytes + 1, 1, "case", &p));
    ran(pt_copy_up(&D, p, host, bytes));
    return p;
}

/* Every exponent and sign, with the values in which rounding goes one way or the other. */
static int64_t values(real *x)
{
    static const float special[] = {0,
                                    65504,
                                    65519,
                                    65520,
                                    65536,
                                    3.3895314e38f,
                                    3.3961775e38f,
                                    3.4028235e38f,
                                    5.9604645e-8f,
                                    2.9802322e-8f,
                                    2.9802326e-8f};
    int64_t n = 0;
    for (uint32_t e = 0; e < 256; e++)
        for (uint32_t low = 0; low < 1 << 5; low++)
            for (int high = 0; high < 2; high++) {
                /* the last kept bit and those after it: of f16 bit 13, of bf16 bit 16 */
                uint32_t m = (low & 3) << (high ? 15 : 12) | (low >> 2 & 1) | (low >> 3 & 1) << 22,
                         bits = (low >> 4) << 31 | e << 23 | m;
                float f;
                memcpy(&f, &bits, sizeof f);
                x[n++] = f;
            }
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        x[n++] = special[i], x[n++] = -special[i];
    x[n++] = NAN, x[n++] = INFINITY, x[n++] = -INFINITY;
    return n;
}

static void same(const uint16_t *got, const uint16_t *want, int64_t n, const real *x)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(got[i] == want[i] || (isnan(x[i]) && (got[i] & 0x7fff) > 0x7c00),
                      "%a became %#x, not %#x", (double)x[i], got[i], want[i]);
}

START_TEST(each_value_is_rounded_to_the_nearest)
{
    real *x = calloc(20000, sizeof *x);
    uint16_t *want = calloc(20000, sizeof *want), *got = calloc(20000, sizeof *got);
    int64_t n = values(x);
    ran(pt_device_open(PT_ALLOC_DIRECT, &D));
    real *dx = up(x, sizeof *x * (size_t)n);
    uint16_t *dy = up(got, sizeof *got * (size_t)n);
    for (pt_amp as = PT_AMP_FP16; as <= PT_AMP_BF16; as++) {
        ran(pt_k_narrow(&D, n, as, dx, dy));
        ran(pt_copy_down(&D, got, dy, sizeof *got * (size_t)n));
        ref_narrow(n, as, x, want);
        same(got, want, n, x);
    }
    pt_mem_free(&D, dx), pt_mem_free(&D, dy);
    free(x), free(want), free(got);
}
END_TEST

START_TEST(gathered_rows_are_those_of_the_list)
{
    static const int channels[] = {1, 3, 8, 9, 32};
    enum { ROWS = 257, FROM = 100 };
    real x[FROM * 32];
    int32_t row[ROWS];
    uint16_t want[ROWS * 32], all[FROM * 32], got[ROWS * 32];
    ran(pt_device_open(PT_ALLOC_DIRECT, &D));
    for (int i = 0; i < FROM * 32; i++) x[i] = (real)sin(i * 0.37) * (real)(i % 7 ? 1 : 300);
    for (int r = 0; r < ROWS; r++) row[r] = r * 37 % FROM;
    for (size_t k = 0; k < sizeof channels / sizeof *channels; k++)
        for (pt_amp as = PT_AMP_FP16; as <= PT_AMP_BF16; as++) {
            int c = channels[k];
            real *dx = up(x, sizeof *x * (size_t)(FROM * c));
            int32_t *dr = up(row, sizeof row);
            uint16_t *dy = up(got, sizeof got);
            ran(pt_k_gather_narrow(&D, ROWS, c, as, dx, dr, dy));
            ran(pt_copy_down(&D, got, dy, sizeof *got * (size_t)(ROWS * c)));
            ref_narrow(FROM * c, as, x, all);
            for (int r = 0; r < ROWS; r++)
                memcpy(want + r * c, all + row[r] * c, sizeof *all * (size_t)c);
            ck_assert_mem_eq(got, want, sizeof *got * (size_t)(ROWS * c));
            pt_mem_free(&D, dx), pt_mem_free(&D, dr), pt_mem_free(&D, dy);
        }
}
END_TEST

static const case_entry cases[] = {
#include "narrow.def"
};
CASE_MAIN("narrow")
