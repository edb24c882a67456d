/* sim_ranges.c - addresses that are given once: against a plain list, in a window so small that it
 * comes to its end often. */
#include "case.h"
#include "ranges.h"
#include <string.h>

enum { MEBI = 1 << 20, WINDOW = 64 * MEBI, MOST = 64, ROUNDS = 20000 };

typedef struct range {
    uint64_t from;
    size_t bytes;
} range;

static sim_ranges r;
static range live[MOST];
static int n;

static void begin(void)
{
    ck_assert_int_eq(sim_ranges_open(&r, WINDOW, WINDOW), 1);
    ck_assert_uint_eq(r.span, WINDOW);
    ck_assert_uint_eq(r.base % (2 * MEBI), 0);
}

/* The range is in the window and has its gaps. */
static void good(uint64_t from, size_t bytes, uint64_t align)
{
    ck_assert_msg(from % align == 0, "%#llx is not aligned", (unsigned long long)from);
    ck_assert_msg(from >= r.base + SIM_GAP && from + bytes + SIM_GAP <= r.base + r.span,
                  "%llu bytes at %lld of the window", (unsigned long long)bytes,
                  (long long)(from - r.base));
    for (int i = 0; i < n; i++)
        ck_assert_msg(from >= live[i].from + live[i].bytes + SIM_GAP ||
                          from + bytes + SIM_GAP <= live[i].from,
                      "%zu bytes at %#llx are too near to %zu at %#llx", bytes,
                      (unsigned long long)from, live[i].bytes, (unsigned long long)live[i].from);
}

static void found(uint64_t address)
{
    const sim_range *got = sim_ranges_find(&r, address);
    const range *want = NULL;
    for (int i = 0; i < n; i++)
        if (address - live[i].from < live[i].bytes) want = &live[i];
    ck_assert_msg(want ? got && got->from == want->from && got->bytes == want->bytes : !got,
                  "%#llx: found %#llx, not %#llx", (unsigned long long)address,
                  (unsigned long long)(got ? got->from : 0),
                  (unsigned long long)(want ? want->from : 0));
}

START_TEST(ranges_keep_their_distance_and_are_found)
{
    unsigned seed = 3;
    int refused = 0, rounds = 0;
    uint64_t last = 0;
    begin();
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1664525 + 1013904223;
        if (n == MOST || (n && seed >> 30 == 0)) {
            int k = (int)(seed >> 8) % n;
            k = k < 0 ? k + n : k;
            sim_ranges_remove(&r, live[k].from);
            live[k] = live[--n];
        } else {
            size_t bytes = 1 + (seed >> 6) % (i % 4 ? 3000 : 3 * MEBI);
            uint64_t align = i % 4 ? 512 : 2 * MEBI, from;
            from = sim_ranges_place(&r, bytes, align, NULL, NULL);
            refused += !from;
            if (!from) continue;
            good(from, bytes, align);
            rounds += from < last;
            last = from;
            live[n++] = (range){from, bytes};
        }
        for (int k = 0; k < n; k += 7) {
            found(live[k].from);
            found(live[k].from - 1);
            found(live[k].from + live[k].bytes - 1);
            found(live[k].from + live[k].bytes);
        }
        ck_assert_uint_eq(r.n, (size_t)n);
    }
    ck_assert_msg(rounds > 50, "the window came to its end %d times", rounds);
    ck_assert_msg(refused < ROUNDS / 2, "%d were refused", refused);
}
END_TEST

/* What was given comes again only when all of the window has been. */
START_TEST(an_address_comes_again_as_late_as_can_be)
{
    begin();
    uint64_t first = sim_ranges_place(&r, 512, 512, NULL, NULL), last = first, at;
    int given = 1;
    sim_ranges_remove(&r, first);
    while ((at = sim_ranges_place(&r, 512, 512, NULL, NULL)) != first) {
        ck_assert_msg(at > last, "after %d: %lld, and before it %lld", given,
                      (long long)(at - first), (long long)(last - first));
        sim_ranges_remove(&r, last = at);
        given++;
    }
    ck_assert_msg(given > WINDOW / (SIM_GAP + 1024) - 2, "%d were given in a round", given);
}
END_TEST

START_TEST(a_window_that_is_full_says_so)
{
    begin();
    while (sim_ranges_place(&r, 1000, 512, NULL, NULL)) n++;
    ck_assert_int_gt(n, WINDOW / (SIM_GAP + 1536) - 2);
    ck_assert_uint_eq(sim_ranges_place(&r, (size_t)-1, 512, NULL, NULL), 0);
    ck_assert_uint_eq(sim_ranges_place(&r, (size_t)1 << 62, 512, NULL, NULL), 0);
    uint64_t middle = r.live[n / 2].from;
    sim_ranges_remove(&r, middle + 1); /* none begins there */
    ck_assert_uint_eq(r.n, (size_t)n);
    sim_ranges_remove(&r, middle);
    ck_assert_uint_eq(sim_ranges_place(&r, 1000, 512, NULL, NULL), middle);
}
END_TEST

static const case_entry cases[] = {
#include "sim_ranges.def"
};
CASE_MAIN("sim_ranges")
