/* live.c - live-byte accounting against a model, and over as much traffic as a long run has. */
#include "live.h"
#include "case.h"
#include <malloc.h>

enum { POINTERS = 300 };

static uint64_t next(uint64_t *x) /* xorshift64, Marsaglia 2003 */
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

static void *address(uint64_t i)
{
    return (void *)(uintptr_t)(0x7f0000000000u + 512 * i);
}

START_TEST(live_bytes_follow_a_model_over_random_traffic)
{
    uint64_t x = 7, size[POINTERS] = {0}, sum = 0, most = 0;
    for (int i = 0; i < 200000; i++) {
        uint64_t k = next(&x) % POINTERS;
        if (size[k]) {
            ck_assert_uint_eq(op_live_remove(&op_runtime_live, address(k), NULL), size[k]);
            sum -= size[k];
            size[k] = 0;
        } else {
            uint64_t asked = 1 + next(&x) % 5000;
            size[k] = (asked + 511) / 512 * 512;
            op_live_add(&op_runtime_live, address(k), asked);
            sum += size[k];
            most = sum > most ? sum : most;
        }
        ck_assert_uint_eq(op_live_now(&op_runtime_live), sum);
    }
    ck_assert_uint_eq(op_live_peak(&op_runtime_live, 1), most);
    ck_assert_uint_eq(op_live_peak(&op_runtime_live, 0), sum);
    ck_assert_uint_eq(op_live_remove(&op_runtime_live, address(POINTERS + 1), NULL), 0);
}
END_TEST

START_TEST(a_long_run_does_not_grow_the_table)
{
    size_t before = 0;
    for (uint64_t i = 0; i < 3000000; i++) { /* every address is new: only marks are left behind */
        op_live_add(&op_runtime_live, address(i), 512);
        if (i >= 10) op_live_remove(&op_runtime_live, address(i - 10), NULL);
        if (i == 10000) before = mallinfo2().uordblks + mallinfo2().hblkhd;
    }
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    ck_assert_msg(after <= before + 65536, "%zu bytes more for 10 live blocks", after - before);
    ck_assert_uint_eq(op_live_now(&op_runtime_live), 10 * 512);
}
END_TEST

static const case_entry cases[] = {
#include "live.def"
};
CASE_MAIN("live")
