/* timelimit.c - when a run of a sweep is said to hang: by what it has used, not by the clock. */
#include "case.h"
#include "sweep/limit.h"

/* Looks when it is asked to; how it ends of a run that uses `share` of each second, and when. */
static const char *ends(double seconds, double share, double most, double *when)
{
    op_limit l;
    double again = seconds, clock = 1000;
    const char *wrong = NULL;
    op_limit_set(&l, seconds, clock, 3);
    while (!wrong && clock - 1000 < most) {
        clock += again < 1 ? 1 : again;
        wrong = op_limit_look(&l, clock, 3 + share * (clock - 1000), &again);
    }
    *when = clock - 1000;
    return wrong;
}

START_TEST(a_run_on_a_busy_machine_has_its_processor_time)
{
    double when;
    ck_assert_ptr_null(ends(60, 0.1, 500, &when)); /* 50 s of 60, in 500 */
    ck_assert_str_eq(ends(60, 0.1, 5000, &when), "has used the processor time of its limit");
    ck_assert_double_ge(when, 600);
    ck_assert_str_eq(ends(60, 1, 5000, &when), "has used the processor time of its limit");
    ck_assert_double_ge(when, 60);
    ck_assert_double_le(when, 62);
}
END_TEST

START_TEST(a_run_that_waits_is_not_waited_for)
{
    double when;
    ck_assert_str_eq(ends(60, 0, 5000, &when), "waits, and nothing comes");
    ck_assert_double_ge(when, 60);
    ck_assert_double_le(when, 62);
    ck_assert_str_eq(ends(2, 0, 5000, &when), "waits, and nothing comes");
    ck_assert_double_le(when, 4);
}
END_TEST

START_TEST(a_run_that_hardly_gets_on_ends_long_after_its_limit)
{
    double when;
    ck_assert_str_eq(ends(60, 0.02, 50000, &when), "has long passed its limit");
    ck_assert_double_ge(when, 60 * OP_LIMIT_CLOCK);
    ck_assert_double_le(when, 60 * OP_LIMIT_CLOCK + 62);
}
END_TEST

static const case_entry cases[] = {
#include "timelimit.def"
};
CASE_MAIN("timelimit")
